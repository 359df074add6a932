"""Surcharges and discounts missing from the bundled table, each with its source and the date it was read.

The table's own price for a term takes precedence, so an entry is ignored as soon as the installed table has one.

The user's price file overrides all of them: its `[terms]` has factors by term, and `web_search` and `code_execution` in
dollars.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from inspector.tokens.model_names import model_version, parse_model_name

if TYPE_CHECKING:
    from collections.abc import Callable

WEB_SEARCH = "web_search"
"""Key of a price file for the price of a web search."""

WEB_SEARCHES = "web searches"

CODE_EXECUTION = "code_execution"
"""Key of a price file for the price of a code execution, which has no other source.

Anthropic bills container time, beyond 1,550 free hours a month and not at all alongside web searches, and no response
reports how long it ran (Anthropic, code execution tool, usage and pricing, 2026-09-04).
"""

CODE_RUNS = "code execution"


class Surcharge(NamedTuple):
    """A provider's factor for a billing term.

    Attributes:
        provider: As the price table names it.
        term: The term.
        factor: Factor on every token price.
        applies: Predicate on the model's name.
        source: Source, with the date it was read.
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


def _is_one_of(*models: str) -> Callable[[str], bool]:
    return lambda model: parse_model_name(model).name.replace(".", "-") in models


def _is_any(model: str) -> bool:  # noqa: ARG001  the batch price does not depend on it
    return True


SURCHARGES = (
    Surcharge("anthropic", "batch", 0.5, _is_any, "Anthropic, pricing, batch processing: 50 % off (2026-09-04)"),
    Surcharge("openai", "batch", 0.5, _is_any, "OpenAI, pricing, Batch API: 50 % off (2026-09-04)"),
    Surcharge(
        "anthropic",
        "us",
        1.1,
        _is_from_4_6_on,
        "Anthropic, pricing, data residency: US-only inference, from Claude 4.6 on (2026-09-04)",
    ),
    Surcharge(
        "anthropic",
        "fast",
        6.0,
        _is_one_of("claude-opus-4-6", "claude-opus-4-7"),
        "Octavus and OpenRouter on Anthropic's fast mode: $30 and $150 for Opus 4.6 and 4.7 (2026-11-28)",
    ),
    Surcharge(
        "openai",
        "ultrafast",
        6.0,
        _is_one_of("gpt-6-astra", "gpt-6-1-sol"),
        "OpenAI, Ultrafast: 6 times the standard price of GPT-6 Astra and GPT-6.1 Sol (2026-11-28)",
    ),
)

SEARCH_PRICES = {"anthropic": 0.01}
"""Dollars per web search by provider, for models without a price in the table.

Anthropic, pricing, web search tool: $10 for 1,000 searches (2026-09-04).
"""

DISCOUNTED = frozenset({"batch", "flex"})
"""Discounted terms: without a known price, the standard price is an upper bound."""


def surcharge(provider: str, model: str, term: str) -> float | None:
    """Return the factor of a term, or None if there is no entry."""
    found = (each for each in SURCHARGES if (each.provider, each.term) == (provider, term) and each.applies(model))
    return next((each.factor for each in found), None)
