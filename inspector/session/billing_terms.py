"""What a call is billed by besides its model, its date and its tokens, as responses say it.

Anthropic's usage names `speed`, `service_tier`, `inference_geo` and, below `server_tool_use`, how often its own tools
were used; an OpenAI response names `service_tier`. The usual, in whatever word, is left out: most calls have no terms.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

USUAL = frozenset({"", "standard", "default", "auto", "standard_only", "not_available", "global", "none", "null"})
"""Words for what every call has that nobody asked anything else for."""

SERVICE_TIER = "service_tier"
"""In which a response of OpenAI's names the tier it was served by."""

LONGEST_WORD = 24
_NOT_IN_WORDS = re.compile(r"[^a-z0-9._-]+")
MOST_SEARCHES = 10_000


class BillingTerms(NamedTuple):
    """The terms of a call, empty where they are the usual ones.

    Attributes:
        speed: `fast`.
        tier: `batch`, `flex`, `priority`.
        region: Where it was to be worked out, where that costs something: `us`.
        web_searches: Searches the provider made for it.
    """

    speed: str = ""
    tier: str = ""
    region: str = ""
    web_searches: int = 0

    @property
    def code(self) -> str:
        """All of it in one word, to be kept with a call; empty for the usual."""
        return "" if self == USUAL_TERMS else f"{self.speed}/{self.tier}/{self.region}/{self.web_searches}"

    @property
    def label(self) -> str:
        """What is not the usual, for people: `fast, us, 3 web searches`."""
        searches = "1 web search" if self.web_searches == 1 else f"{self.web_searches:,} web searches"
        return ", ".join(filter(None, (self.speed, self.tier, self.region, searches if self.web_searches else "")))

    @classmethod
    def of_code(cls, code: str) -> BillingTerms:
        """The terms that a code says."""
        if not code:
            return USUAL_TERMS
        speed, tier, region, searches = code.split("/")
        return cls(speed, tier, region, int(searches))


USUAL_TERMS = BillingTerms()


def terms_of(usage: object, service_tier: object = None) -> BillingTerms:
    """The terms that a response's usage says, and the service tier that may stand beside it."""
    said: Mapping[str, Any] = usage if isinstance(usage, dict) else {}
    tools = said.get("server_tool_use")
    return BillingTerms(
        word_of(said.get("speed")),
        word_of(said.get("service_tier")) or word_of(service_tier),
        word_of(said.get("inference_geo")),
        searches_of(tools.get("web_search_requests") if isinstance(tools, dict) else None),
    )


def word_of(value: object) -> str:
    """A word as it is compared; empty for the usual and for what is none."""
    word = _NOT_IN_WORDS.sub("-", value.strip().lower())[:LONGEST_WORD] if isinstance(value, str) else ""
    return "" if word in USUAL else word


def searches_of(value: object) -> int:
    """A number of searches; none where it is no number there can be."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MOST_SEARCHES else 0
