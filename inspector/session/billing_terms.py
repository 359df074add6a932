"""Billing terms of a call other than model, date and text tokens, as reported in the response.

Anthropic's usage has `speed`, `service_tier`, `inference_geo` and, below `server_tool_use`, the number of uses of its
own tools. An OpenAI response has `service_tier`. Audio, image and video tokens are listed separately: in the details of
OpenAI's usage, by modality in Gemini's. Default values, under any name, are dropped: most calls have no terms.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.session.json import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

USUAL = frozenset({"", "standard", "default", "auto", "standard_only", "not_available", "global", "none", "null"})
"""Values that mean the default terms."""

SERVICE_TIER = "service_tier"
"""Field of an OpenAI response that names the service tier."""

LONGEST_WORD = 24
_NOT_IN_WORDS = re.compile(r"[^a-z0-9._-]+")
MOST_USES = 10_000
"""Upper limit on plausible uses of a provider's own tool in one call."""

INPUT, CACHE_READ, OUTPUT = "input", "cache_read", "output"
MEDIA = ("audio", "image", "video")
_PROMPT_DETAILS = ("prompt_tokens_details", "input_tokens_details", "input_token_details", "promptTokensDetails")
_CACHED_DETAILS = ("cached_tokens_details", "cache_tokens_details", "cacheTokensDetails")
_OUTPUT_DETAILS = (
    "completion_tokens_details",
    "output_tokens_details",
    "output_token_details",
    "candidates_tokens_details",
    "candidatesTokensDetails",
)
_MOST_TOKENS = 1 << 40


class MediaTokens(NamedTuple):
    """Audio, image or video tokens of a call, part of its tokens. `served`: `input`, `cache_read` or `output`."""

    kind: str
    served: str
    tokens: int


class BillingTerms(NamedTuple):
    """Billing terms of a call, empty for the defaults: `fast`, `batch`, `flex`, `priority`, region `us`."""

    speed: str = ""
    tier: str = ""
    region: str = ""
    web_searches: int = 0
    code_runs: int = 0
    media: tuple[MediaTokens, ...] = ()

    @property
    def code(self) -> str:
        """The terms as one string, stored with a call; empty for the defaults."""
        if self == DEFAULT_TERMS:
            return ""
        media = "+".join(f"{kind}.{served}.{tokens}" for kind, served, tokens in self.media)
        return f"{self.speed}/{self.tier}/{self.region}/{self.web_searches}/{self.code_runs}/{media}"

    @property
    def label(self) -> str:
        """The non-default terms for display: `fast, us, 3 web searches`."""
        searches = "1 web search" if self.web_searches == 1 else f"{self.web_searches:,} web searches"
        runs = "1 code execution" if self.code_runs == 1 else f"{self.code_runs:,} code executions"
        kinds = dict.fromkeys(each.kind for each in self.media)
        parts = (
            self.speed,
            self.tier,
            self.region,
            searches if self.web_searches else "",
            runs if self.code_runs else "",
            *(f"{kind} tokens" for kind in kinds),
        )
        return ", ".join(filter(None, parts))

    @classmethod
    def of_code(cls, code: str) -> BillingTerms:
        if not code:
            return DEFAULT_TERMS
        speed, tier, region, searches, runs, media = code.split("/")
        parts = (each.split(".") for each in media.split("+") if each)
        phrases = tuple(MediaTokens(kind, served, int(tokens)) for kind, served, tokens in parts)
        return cls(speed, tier, region, int(searches), int(runs), phrases)


DEFAULT_TERMS = BillingTerms()


def first_tier(*values: object) -> str:
    """Return the service tier that was recorded closest to the response: the first value that is a string."""
    return next((value for value in values if isinstance(value, str) and value), "")


def requested_tier(options: object) -> object:
    """Return the service tier in the options of all requests of a run: a field, or part of the extra body."""
    by_name: Mapping[str, Any] = options if isinstance(options, dict) else {}
    extra = by_name.get("extra_body")
    return by_name.get(SERVICE_TIER) or (extra.get(SERVICE_TIER) if isinstance(extra, dict) else None)


def parse_billing_terms(usage: object, service_tier: object = None) -> BillingTerms:
    """Return the terms in a response's usage and in its separate service tier."""
    by_name: Mapping[str, Any] = usage if isinstance(usage, dict) else {}
    tools = by_name.get("server_tool_use")
    tools = tools if isinstance(tools, dict) else {}
    return BillingTerms(
        normalized_value(by_name.get("speed")),
        normalized_value(by_name.get("service_tier")) or normalized_value(service_tier),
        normalized_value(by_name.get("inference_geo")),
        use_count(tools.get("web_search_requests")),
        use_count(tools.get("code_execution_requests")),
        media_of(by_name),
    )


def media_of(usage: Mapping[str, Any]) -> tuple[MediaTokens, ...]:
    """Return the media tokens of a usage: from OpenAI's details or Gemini's modalities."""
    prompts = _details(usage, _PROMPT_DETAILS)
    cached = _details(usage, _CACHED_DETAILS) or _details(prompts if isinstance(prompts, dict) else {}, _CACHED_DETAILS)
    outputs = _details(usage, _OUTPUT_DETAILS)
    return tuple(_media_of(prompts, cached, outputs))


def _media_of(prompts: object, cached: object, outputs: object) -> Iterator[MediaTokens]:
    for kind in MEDIA:
        inside, read, reported = (_tokens_of(details, kind) for details in (prompts, cached, outputs))
        read = min(read, inside)
        for served, tokens in ((INPUT, inside - read), (CACHE_READ, read), (OUTPUT, reported)):
            if tokens:
                yield MediaTokens(kind, served, tokens)


def _details(usage: Mapping[str, Any], names: tuple[str, ...]) -> object:
    return next((usage[name] for name in names if usage.get(name)), None)


def _tokens_of(details: object, kind: str) -> int:
    """Return the tokens of one kind in some details: under a separate key, or as a Gemini modality."""
    if isinstance(details, dict):
        return _tokens(details.get(f"{kind}_tokens", details.get(kind)))
    if not isinstance(details, list):
        return 0
    of_kind = (each for each in details if isinstance(each, dict) and str(each.get("modality")).lower() == kind)
    return sum(_tokens(each.get("tokenCount", each.get("token_count"))) for each in of_kind)


def _tokens(value: object) -> int:
    found = count(value)
    return found if found <= _MOST_TOKENS else 0


def normalized_value(value: object) -> str:
    """Normalize a value for comparison; return an empty string for a default or a non-string."""
    word = _NOT_IN_WORDS.sub("-", value.strip().lower())[:LONGEST_WORD] if isinstance(value, str) else ""
    return "" if word in USUAL else word


def use_count(value: object) -> int:
    """Return the number of uses of a provider's tool, or 0 if the value is implausible."""
    found = count(value)
    return found if found <= MOST_USES else 0
