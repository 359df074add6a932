"""Fields of usage reports, by format: which ones are counted, and which ones are left out with a reason.

This rule decides which totals are called exact. A reader passes every usage report through `UsageFields.check`; a
number in a field on neither list is part of the bill but not counted. Its name goes to `Usage.ignored`, and from there
to the session's diagnostics and to the certainty of every total.
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from math import isfinite
from typing import TYPE_CHECKING, Any

from msgspec import DecodeError, Struct, field, json, structs

from inspector.session.json import decode_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from inspector.session.model import Usage

LONGEST_FIELD = 60
"""Maximum characters of a field's name in a diagnostic."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.:-]+")


def excludes_reasoning(total: int, prompts: Iterable[int], output: int, reasoning: int) -> bool:
    """Return True if a report's output excludes its reasoning tokens: the sum with them equals the reported total.

    Args:
        total: The reported total, 0 for none.
        prompts: Sizes of the prompt that the total may include, most likely first.
    """
    if not total or not reasoning:
        return False
    for prompt in prompts:
        if total in (prompt + output, prompt + output + reasoning):
            return total != prompt + output
    return False


class UsageFields(Struct, frozen=True, dict=True):
    """The known fields of one kind of usage report. A field inside another is written as `outer.inner`.

    Attributes:
        counted: Fields that counts or billing terms include, or that repeat their sum.
        harmless: Fields that do not change the bill, with the reason; all fields inside them are included.
        types: Known values of `type` for the entries of a list; an entry of another type is a request of unknown kind.
        about: Pattern of names that report usage, for records that hold other numbers too; None for all names.
    """

    counted: frozenset[str]
    harmless: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, frozenset[str]] = field(default_factory=dict)
    about: re.Pattern[str] | None = None

    @cached_property
    def _known(self) -> frozenset[str]:
        return self.counted | self.harmless.keys()

    def ignored(self, reported: object) -> tuple[str, ...]:
        """Return the fields of a report that hold a number but are not counted, without duplicates."""
        if not isinstance(reported, dict):
            return ()
        return tuple(dict.fromkeys(self._ignored(reported, "")))

    def check(self, usage: Usage | None, reported: object) -> Usage | None:
        """Return the usage with the names of its report's uncounted fields."""
        if usage is None or not (names := self.ignored(reported)):
            return usage
        return structs.replace(usage, ignored=tuple(dict.fromkeys((*usage.ignored, *names))))

    def _ignored(self, fields: Mapping[str, Any], outer: str) -> Iterator[str]:
        for name, value in fields.items():
            path = f"{outer}{name}"
            if path in self._known or (self.about is not None and not outer and not self.about.search(path)):
                continue
            if isinstance(value, dict):
                yield from self._ignored(value, f"{path}.")
            elif isinstance(value, list):
                for entry in value:
                    if isinstance(entry, dict):
                        yield from self._of_entry(entry, path)
            elif _is_number(value):
                yield _shown(path)

    def _of_entry(self, entry: Mapping[str, Any], path: str) -> Iterator[str]:
        kind = entry.get("type")
        if path in self.types and isinstance(kind, str) and kind not in self.types[path]:
            yield _shown(f"{path}:{kind}")
        yield from self._ignored(entry, f"{path}.")


def _shown(path: str) -> str:
    return _NOT_IN_NAMES.sub("-", path)[:LONGEST_FIELD]


def _is_number(value: object) -> bool:
    """Return True for a number other than 0, including one in quotes."""
    if isinstance(value, str):
        try:
            value = float(value) if len(value) <= LONGEST_FIELD else 0
        except ValueError:
            return False
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value != 0 and isfinite(value)


class LineCheck:
    """Checks the usage in lines that a reader decodes into structs without unknown fields.

    It examines only the text of the usage object; reports that differ only in their numbers are checked once.
    """

    def __init__(self, fields: UsageFields, *names: str) -> None:
        """Create a check of the object at the path `names`; the last name is `usage`."""
        self._fields = fields
        self._names = names
        self._is_known = lru_cache(256)(self._has_only_known)

    def ignored(self, line: bytes) -> tuple[str, ...]:
        """Return the fields of a line's usage that hold a number but are not counted."""
        start = line.rfind(_USAGE)
        if start < 0:
            return ()
        start += len(_USAGE)
        if self._is_known(_NUMBERS.sub(b":1", line[start : _object_end(line, start)])):
            return ()
        found, _ = decode_json(line)
        for name in self._names:
            found = found.get(name) if isinstance(found, dict) else None
        return self._fields.ignored(found)

    def _has_only_known(self, shape: bytes) -> bool:
        try:
            return not self._fields.ignored(json.decode(shape))
        except (DecodeError, UnicodeDecodeError):
            return False


_USAGE = b'"usage":'

_NUMBERS = re.compile(rb": ?[1-9][0-9]*")
"""Matches numbers, but no digits of names such as `ephemeral_5m_input_tokens`, which would become unknown."""


def _object_end(line: bytes, start: int) -> int:
    """Return the end of the object that begins at a position; the end of the line if it is incomplete."""
    depth, end = 0, start
    while following := line.find(b"}", end) + 1:
        depth += line.count(b"{", end, following) - 1
        end = following
        if depth <= 0:
            return end
    return len(line)


_SUM = "a sum of counted fields"
_COST = "the agent's own cost, computed from the counted fields"
_PART = "a part of a counted field"
_TIME = "a duration"
_SIZE = "the size of the context, not a request"

_ANTHROPIC_COUNTS = (
    *("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
    *("cache_creation.ephemeral_5m_input_tokens", "cache_creation.ephemeral_1h_input_tokens"),
    *("server_tool_use.web_search_requests", "server_tool_use.code_execution_requests"),
)
_ANTHROPIC_HARMLESS = {
    "server_tool_use.web_fetch_requests": "fetches cost nothing but their tokens (Anthropic, web fetch tool)",
    "output_tokens_details": _PART,
}
_ITERATIONS = frozenset({"message", "advisor_message", "compaction", "fallback_message"})


def _inside(outer: str, names: Mapping[str, str]) -> dict[str, str]:
    return {f"{outer}.{name}": reason for name, reason in names.items()}


ANTHROPIC = UsageFields(
    frozenset((*_ANTHROPIC_COUNTS, *(f"iterations.{name}" for name in _ANTHROPIC_COUNTS))),
    {**_ANTHROPIC_HARMLESS, **_inside("iterations", _ANTHROPIC_HARMLESS)},
    types={"iterations": _ITERATIONS},
)

_PROMPT_DETAILS = ("prompt_tokens_details", "input_tokens_details", "input_token_details")
_OUTPUT_DETAILS = ("completion_tokens_details", "output_tokens_details", "output_token_details")
_MEDIA_PARTS = ("audio_tokens", "image_tokens", "video_tokens", "text_tokens")
_CACHED_PARTS = ("cached_tokens_details", "cache_tokens_details")

API = UsageFields(
    ANTHROPIC.counted
    | {"prompt_tokens", "completion_tokens", "cached_tokens", "prompt_cache_hit_tokens"}
    | {f"{outer}.{name}" for outer in (*_PROMPT_DETAILS, *_OUTPUT_DETAILS, *_CACHED_PARTS) for name in _MEDIA_PARTS}
    | {f"{outer}.{inner}.{name}" for outer in _PROMPT_DETAILS for inner in _CACHED_PARTS for name in _MEDIA_PARTS}
    | {f"{outer}.cached_tokens" for outer in _PROMPT_DETAILS}
    | {f"{outer}.{name}" for outer in _PROMPT_DETAILS for name in ("cache_creation_tokens", "cache_write_tokens")}
    | {f"{outer}.reasoning_tokens" for outer in _OUTPUT_DETAILS}
    # Google's counts, converted by `google_content`.
    | {"promptTokenCount", "toolUsePromptTokenCount", "candidatesTokenCount", "thoughtsTokenCount"}
    | {"cachedContentTokenCount"},
    {
        **ANTHROPIC.harmless,
        **dict.fromkeys(("total_tokens", "totalTokenCount", "input_tokens_total", "reasoning_tokens"), _SUM),
        "prompt_cache_miss_tokens": _PART,
        **dict.fromkeys(("cost", "cost_details", "total_cost", "estimated_cost", "cost_in_usd_ticks"), _COST),
        **dict.fromkeys(("prompt_time", "completion_time", "queue_time", "total_time"), _TIME),
        **dict.fromkeys(
            ("promptTokensDetails", "candidatesTokensDetails", "cacheTokensDetails", "toolUsePromptTokensDetails"),
            "the counts by modality; media are billing terms",
        ),
        **{f"{outer}.accepted_prediction_tokens": _PART for outer in _OUTPUT_DETAILS},
        **{f"{outer}.rejected_prediction_tokens": "included in the output" for outer in _OUTPUT_DETAILS},
    },
    types=ANTHROPIC.types,
)

CONVERSE = UsageFields(
    frozenset(
        {"inputTokens", "outputTokens", "cacheReadInputTokens", "cacheReadInputTokenCount"}
        | {"cacheWriteInputTokens", "cacheWriteInputTokenCount", "cacheDetails.inputTokens"}
    ),
    {"totalTokens": _SUM, "serverToolUsage": "use counts without a price"},
)

CODEX = UsageFields(
    frozenset(
        {"input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens"}
        | {"reasoning_output_tokens"}
    ),
    {"total_tokens": _SUM, "codex_rollout_budget_units": "units of a budget set by the user, derived from the counts"},
)

PI = UsageFields(
    frozenset({"input", "output", "cacheRead", "cacheWrite", "reasoning", "reasoningTokens"}),
    {
        **dict.fromkeys(("totalTokens", "total"), _SUM),
        "cost": _COST,
        "cacheWrite1h": _PART,
    },
)

CLINE = UsageFields(
    frozenset(
        {"inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"}
        | {"tokens.cached", "tokens.prompt", "tokens.completion"}
    ),
    {"cost": _COST, "totalCost": _COST, "tokens.total": _SUM, "thoughtsTokenCount": _PART},
)

CLINE_SHOWN = UsageFields(
    frozenset({"tokensIn", "tokensOut", "cacheReads", "cacheWrites"}),
    {"cost": _COST, "totalCost": _COST, "contextTokens": _SIZE},
    about=re.compile("token|cache|cost", re.IGNORECASE),
)

GEMINI = UsageFields(frozenset({"input", "output", "cached", "thoughts", "tool"}), {"total": _SUM})

QWEN = UsageFields(
    frozenset({"promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "cachedContentTokenCount"}),
    {
        "totalTokenCount": _SUM,
        **dict.fromkeys(
            ("promptTokensDetails", "candidatesTokensDetails", "cacheTokensDetails"),
            "the counts by modality; media are billing terms",
        ),
    },
)

HARNESS = UsageFields(
    frozenset({"inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens", "reasoningTokens"}),
    {"totalTokens": _SUM},
)

GROK = UsageFields(
    frozenset({"input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"}),
    {"total_tokens": _SUM, "reasoning_tokens": _PART, "output_tokens_details": _PART, "cost_in_usd_ticks": _COST},
)

GROK_LOG = UsageFields(
    frozenset({"prompt_tokens", "cached_prompt_tokens", "completion_tokens", "reasoning_tokens"}),
    {"total_tokens": _SUM},
    about=re.compile("token", re.IGNORECASE),
)

ATIF = UsageFields(
    frozenset(
        {"prompt_tokens", "completion_tokens", "cached_tokens"}
        | {"extra.cache_creation_input_tokens", "extra.cache_write_tokens", "extra.reasoning_tokens"}
        | {"extra.reasoning_output_tokens", "extra.cache_creation.ephemeral_1h_input_tokens"}
        | {"extra.cache_creation.ephemeral_5m_input_tokens"}
    ),
    {
        "cost_usd": _COST,
        "logprobs": "probabilities of the output",
        **{f"extra.{name}": "repeats a counted field" for name in ("cache_read_input_tokens", "input_tokens")},
        **{f"extra.{name}": "repeats a counted field" for name in ("output_tokens", "cached_input_tokens")},
        **dict.fromkeys(("extra.total_tokens", "extra.cost", "extra.total_cost"), _SUM),
        "extra.server_tool_use.web_fetch_requests": _ANTHROPIC_HARMLESS["server_tool_use.web_fetch_requests"],
    },
)

OPENHANDS = UsageFields(
    frozenset({"prompt_tokens", "completion_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens"}),
    {"per_turn_token": _SUM, "context_window": _SIZE},
)

INSPECT = UsageFields(
    frozenset(
        {"input_tokens", "output_tokens", "input_tokens_cache_read", "input_tokens_cache_write"} | {"reasoning_tokens"}
    ),
    {"total_tokens": _SUM, "total_cost": _COST},
)

KIMI_CODE = UsageFields(frozenset({"inputOther", "inputCacheRead", "inputCacheCreation", "output"}))

KIMI_CLI = UsageFields(frozenset({"input_other", "input_cache_read", "input_cache_creation", "output"}))

GOOSE = UsageFields(
    frozenset({"inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"}),
    {"totalTokens": _SUM, "cost": _COST},
    about=re.compile("token|cost", re.IGNORECASE),
)

NATIVE = UsageFields(frozenset({"uncached", "cache_read", "cache_write_5m", "cache_write_1h", "output", "reasoning"}))

OPENCODE = UsageFields(frozenset({"input", "output", "reasoning", "cache.read", "cache.write"}), {"total": _SUM})

COPILOT = UsageFields(
    frozenset({"outputTokens"}),
    {"reasoningTokens": _PART},
    about=re.compile("token|nanoaiu|premiumrequest", re.IGNORECASE),
)

VSCODE = UsageFields(
    frozenset({"promptTokens", "completionTokens", "outputTokens"}),
    {
        "maxInputTokens": _SIZE,
        "maxOutputTokens": _SIZE,
        "promptTokenDetails": "shares of the prompt in percent",
        "reasoningTokens": _PART,
    },
    about=re.compile("token", re.IGNORECASE),
)

SPANS = UsageFields(
    frozenset(
        {f"gen_ai.usage.{name}" for name in ("input_tokens", "output_tokens", "prompt_tokens", "completion_tokens")}
        | {f"gen_ai.usage.{name}.input_tokens" for name in ("cache_read", "cache_write", "cache_creation")}
        | {"gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens"}
        | {f"llm.token_count.{name}" for name in ("prompt", "completion", "completion_details.reasoning")}
        | {f"llm.token_count.prompt_details.{name}" for name in ("cache_read", "cache_write")}
        | {"input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens"}
    ),
    {
        **dict.fromkeys(("gen_ai.usage.total_tokens", "llm.token_count.total", "llm.usage.total_tokens"), _SUM),
        **dict.fromkeys(("gen_ai.usage.cost", "llm.cost.total", "operation.cost"), _COST),
        "gen_ai.usage.cache_read_input_tokens": "repeats a counted field",
        "gen_ai.usage.cache_creation_input_tokens": "repeats a counted field",
    },
    about=re.compile(r"^gen_ai\.usage\.|^llm\.token_count\.|^(input|output|cache_\w+)_tokens$"),
)
