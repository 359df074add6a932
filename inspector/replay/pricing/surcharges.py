"""What terms of a call cost that the bundled table has no price for, each with where that is said and when it was read.

The user's price file comes before all of it: its `[terms]` has factors by the term's word, and `web_search` and
`code_execution` in dollars.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from inspector.tokens.model_names import model_version, parse_model_name

if TYPE_CHECKING:
    from collections.abc import Callable

WEB_SEARCH = "web_search"
"""Names in a price file what a search costs."""

WEB_SEARCHES = "web searches"

CODE_EXECUTION = "code_execution"
"""Names in a price file what it costs to have a piece of code run. Nothing else does: Anthropic bills the time of a
container, beyond 1,550 free hours a month and not at all beside web searches, and no response says how long it ran
(Anthropic, code execution tool, usage and pricing, 2026-09-04)."""

CODE_RUNS = "code execution"


class Surcharge(NamedTuple):
    """What a provider takes for a term.

    Attributes:
        provider: As the price table names it.
        term: The term's word.
        factor: What every price of a token is multiplied by.
        applies: Whether it does, to a model by its name.
        source: Where that is said, and when it was read.
    """

    provider: str
    term: str
    factor: float
    applies: Callable[[str], bool]
    source: str


def _is_from_4_6_on(model: str) -> bool:
    name = parse_model_name(model).name
    versions = (model_version(name, family) for family in ("opus", "sonnet", "haiku", "fable", "mythos"))
    return any(version is not None and version >= (4, 6) for version in versions)


def _is_any(model: str) -> bool:  # noqa: ARG001  the price of a batch does not depend on it
    return True


SURCHARGES = (
    Surcharge("anthropic", "batch", 0.5, _is_any, "Anthropic, pricing, batch processing: half of it (2026-09-04)"),
    Surcharge("openai", "batch", 0.5, _is_any, "OpenAI, pricing, Batch API: half of it (2026-09-04)"),
    Surcharge(
        "anthropic",
        "us",
        1.1,
        _is_from_4_6_on,
        "Anthropic, pricing, data residency: inference in the US alone, from Claude 4.6 on (2026-09-04)",
    ),
)

SEARCH_PRICES = {"anthropic": 0.01}
"""Dollars of a web search by provider, for models the table has none for.

Anthropic, pricing, web search tool: $10 for 1,000 searches (2026-09-04)."""

LESS = frozenset({"batch", "flex"})
"""Terms that are had for less: without a price for them, what a call cost is no more than is said."""


def surcharge(provider: str, model: str, term: str) -> float | None:
    """The factor of a term; None where nothing says one."""
    found = (each for each in SURCHARGES if (each.provider, each.term) == (provider, term) and each.applies(model))
    return next((each.factor for each in found), None)
