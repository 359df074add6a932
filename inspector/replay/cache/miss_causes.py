"""Causes of prompt cache misses, with labels and how to prevent each.

The names are those of Claude Code's status line (`prompt_cache.miss_causes`,
https://code.claude.com/docs/en/statusline#prompt-cache-fields) where it has one. It counts compactions and clearing as
expected and names no cause for them; here they have names, as do first requests and a plan's edits.
"""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from inspector.session.billing_terms import BillingTerms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.session.model import Call

MISS_SHARE, MISS_TOKENS = 0.05, 2_000
"""Thresholds of a cache miss: unread share of the readable prefix, and unread tokens. Both must be reached.

Claude Code uses the same thresholds.
"""


class MissCause(StrEnum):
    """Cause of a cache miss."""

    FIRST_REQUEST = "first_request"
    COMPACTION = "compaction"
    CLEARING = "clearing"
    REWIND = "rewind"
    PLAN_EDIT = "plan_edit"
    MESSAGES_REWRITTEN = "messages_rewritten"
    MODEL_CHANGED = "model_changed"
    SYSTEM_PROMPT_CHANGED = "system_prompt_changed"
    TOOLS_CHANGED = "tools_changed"
    BETAS_CHANGED = "betas_changed"
    THINKING_CHANGED = "thinking_changed"
    OUTPUT_FORMAT_CHANGED = "output_format_changed"
    CACHE_KEY_CHANGED = "cache_key_changed"
    SERVICE_TIER_CHANGED = "service_tier_changed"
    TTL_EXPIRED_5M = "ttl_expired_5m"
    TTL_EXPIRED_1H = "ttl_expired_1h"
    TTL_EXPIRED = "ttl_expired"
    RESUMED = "resumed"
    BELOW_MINIMUM = "below_minimum"
    LOOK_BACK = "look_back"
    LIKELY_SERVER_SIDE = "likely_server_side"
    UNKNOWN = "unknown"

    @property
    def label(self) -> str:
        """Short description, such as `the 5-minute cache expired`."""
        return _WORDS[self].label

    @property
    def short(self) -> str:
        """One or two words for tables, such as `expired (5 min)`."""
        return _WORDS[self].short

    @property
    def prevention(self) -> str:
        """Prevention as an imperative; empty if nothing would help."""
        return _WORDS[self].prevention

    @property
    def is_avoidable(self) -> bool:
        """True if a known action would have prevented it. Server-side evictions count as unavoidable."""
        return bool(self.prevention) and self is not MissCause.LIKELY_SERVER_SIDE

    @property
    def is_expected(self) -> bool:
        """True if the cache had to be written anyway."""
        return self in _EXPECTED


class _Words(NamedTuple):
    label: str
    short: str
    prevention: str = ""


_EXPECTED = frozenset({MissCause.FIRST_REQUEST, MissCause.COMPACTION, MissCause.CLEARING})

_COME_BACK = "return sooner, or use the one-hour cache"

_WORDS: Mapping[MissCause, _Words] = MappingProxyType(
    {
        MissCause.FIRST_REQUEST: _Words("the first request of a conversation", "first request"),
        MissCause.COMPACTION: _Words("the conversation was compacted", "compaction"),
        MissCause.CLEARING: _Words("the agent cleared old tool results", "clearing"),
        MissCause.REWIND: _Words("the conversation was rewound to an earlier message", "rewind"),
        MissCause.PLAN_EDIT: _Words(
            "the plan edited text that was already sent",
            "plan edit",
            "cut in batches, or before the result is first sent",
        ),
        MissCause.MESSAGES_REWRITTEN: _Words(
            "messages that were already sent changed", "rewritten", "do not edit messages that were sent"
        ),
        MissCause.MODEL_CHANGED: _Words(
            "the model changed", "model changed", "switch models at the start, or right after a compaction"
        ),
        MissCause.SYSTEM_PROMPT_CHANGED: _Words(
            "the system prompt changed", "system prompt", "move changing content out of the system prompt"
        ),
        MissCause.TOOLS_CHANGED: _Words(
            "the tools changed", "tools changed", "connect tools before the conversation starts"
        ),
        MissCause.BETAS_CHANGED: _Words(
            "the API's beta features changed", "betas changed", "enable features that need other betas at the start"
        ),
        MissCause.THINKING_CHANGED: _Words(
            "the thinking level or effort changed", "thinking changed", "set the thinking level at the start"
        ),
        MissCause.OUTPUT_FORMAT_CHANGED: _Words(
            "the output format or the verbosity changed",
            "output format",
            "keep the output format, its schema and the verbosity of a conversation",
        ),
        MissCause.CACHE_KEY_CHANGED: _Words(
            "the cache key changed", "cache key", "send one `prompt_cache_key` with all requests of a conversation"
        ),
        MissCause.SERVICE_TIER_CHANGED: _Words(
            "the service tier changed", "service tier", "set the service tier at the start"
        ),
        MissCause.TTL_EXPIRED_5M: _Words("the 5-minute cache expired", "expired (5 min)", _COME_BACK),
        MissCause.TTL_EXPIRED_1H: _Words(
            "the 1-hour cache expired",
            "expired (1 h)",
            "compact before a long pause, or start a new conversation after it",
        ),
        MissCause.TTL_EXPIRED: _Words(
            "the cache expired", "expired", "return sooner, or use longer retention if the provider offers it"
        ),
        MissCause.RESUMED: _Words(
            "the session was resumed or forked", "resumed", "continue in the session that is open"
        ),
        MissCause.BELOW_MINIMUM: _Words("the previous prompt was too short to cache", "prompt too short"),
        MissCause.LOOK_BACK: _Words(
            "more new blocks than the cache lookback covers",
            "look-back",
            "set a cache breakpoint at least every 20 blocks",
        ),
        MissCause.LIKELY_SERVER_SIDE: _Words(
            "probably evicted, or routed to another server: the file shows no other cause",
            "evicted (likely)",
            "in your own code: send a cache key, or cache explicitly, if the provider supports it",
        ),
        MissCause.UNKNOWN: _Words("unknown: the file shows no cause", "unknown"),
    }
)


def setting_changed(before: Call, now: Call) -> MissCause | None:
    """Return the changed request setting that invalidates the cache, None if none is recorded."""
    if before.betas is not None and now.betas is not None and before.betas != now.betas:
        return MissCause.BETAS_CHANGED
    if before.thinking and now.thinking and before.thinking != now.thinking:
        return MissCause.THINKING_CHANGED
    if _served_as(before) != _served_as(now):
        return MissCause.SERVICE_TIER_CHANGED
    return None


def _served_as(call: Call) -> tuple[str, str]:
    """Return speed and service tier. Anthropic assigns the tier itself, and all tiers share a cache."""
    terms = BillingTerms.of_code(call.terms)
    return terms.speed, "" if "claude" in call.model.lower() else terms.tier
