"""Cost of a session by the published rules of another counter, ccusage, independent of the program's code.

ccusage (github.com/ryoppippi/ccusage at 5816e640, June 2026) finds files automatically and prices them by LiteLLM's
table. For Claude Code a response counts once per pair of message id and request id, using the line with the most usage;
one-hour cache writes cost twice the input; tokens of a kind beyond 200,000 in one response pay the higher rate, those
below it do not; a fast response costs the model's multiple. For Codex every report counts unless it repeats another in
time and numbers, at one price for all prompt lengths. For pi and OpenCode a total larger than its parts covers the
missing parts. For Gemini CLI tool output is input, and thoughts are output. It runs in its `calculate` cost mode, which
ignores costs in the file.

Files that it does not read (Cline, Copilot CLI, OpenHands, Inspect, logs of OpenAI's API) are counted here in the same
simple way, by the keys in their own documentation, with the same prices.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

LONG = 200_000
HOUR = 2.0
FAST = {"claude-opus-4-6": 6.0, "claude-opus-4-7": 6.0, "claude-opus-4-8": 2.0}
"""Multiples of fast responses, ccusage's `fast-multiplier-overrides.json`."""


class Price(NamedTuple):
    """Dollars for a million tokens, and for those of a kind beyond 200,000 in one response."""

    input: float
    output: float
    cache_read: float
    cache_write: float
    above: tuple[float, float, float, float] | None = None


_OPUS = Price(5, 25, 0.5, 6.25)
_SONNET = Price(3, 15, 0.3, 3.75)
_SONNET_4 = Price(3, 15, 0.3, 3.75, (6, 22.5, 0.6, 7.5))
LITELLM = {
    "claude-fable-5": Price(10, 50, 1, 12.5),
    "claude-haiku-4-5": Price(1, 5, 0.1, 1.25),
    "claude-opus-4-5": _OPUS,
    "claude-opus-4-6": _OPUS,
    "claude-opus-4-8": _OPUS,
    "claude-opus-4.8-fast": Price(10, 50, 1, 12.5),
    "claude-sonnet-4": _SONNET_4,
    "claude-sonnet-4-6": _SONNET,
    "claude-sonnet-4.6": _SONNET,
    "claude-sonnet-5": Price(2, 10, 0.2, 2.5),
    "deepseek-chat": Price(0.28, 0.42, 0.028, 0.35),
    "gemini-3-flash-preview": Price(0.5, 3, 0.05, 0.625),
    "gpt-4o-mini": Price(0.15, 0.6, 0.075, 0.1875),
    "gpt-5": Price(1.25, 10, 0.125, 1.5625),
    "gpt-5-codex": Price(1.25, 10, 0.125, 1.5625),
    "gpt-5.4": Price(2.5, 15, 0.25, 3.125),
    "gpt-5.5": Price(5, 30, 0.5, 6.25),
    "minimax-m2.7": Price(0.3, 1.2, 0.06, 0.375),
    "voxtral-small-24b-2507": Price(0.1, 0.4, 0.01, 0.125),
}
"""LiteLLM 1.110.2, `model_prices_and_context_window_backup.json`, read on 25 November 2026.

For Claude Sonnet 4, which it does not list under this name any more, and where it has no price of a write, ccusage's:
1.25 times the input.
"""


class Counted(NamedTuple):
    """A response's tokens as this counter takes them."""

    model: str
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0
    is_fast: bool = False

    @property
    def total(self) -> int:
        """All of them."""
        return self.input + self.output + self.cache_read + self.cache_write + self.cache_write_1h


class Count(NamedTuple):
    """Totals of a session.

    Attributes:
        responses: Number of responses.
        prompt: Their prompt tokens.
        output: Their response tokens.
        usd: Dollars; responses of models without a price cost nothing, as in ccusage.
        unpriced: Models without a price.
        is_read: ccusage reads files of this format.
    """

    responses: int
    prompt: int
    output: int
    usd: float
    unpriced: tuple[str, ...]
    is_read: bool


def price_of(model: str) -> Price | None:
    """Return the price of the longest name in the table that the model's name holds, followed by no other version."""
    name = model.rsplit("/", 1)[-1].lower()
    known = [key for key in LITELLM if name.startswith(key) and not _is_version(key, name[len(key) :])]
    return LITELLM[max(known, key=len)] if known else None


def _is_version(key: str, rest: str) -> bool:
    """Return True if a name that ends in a digit continues with a version number, not a date."""
    digits = rest[1:].split("-", 1)[0]
    return key[-1].isdigit() and rest[:1] in "-." and digits.isdigit() and len(digits) != len("20260101")


def cost_of(counted: Counted) -> float | None:
    """Dollars of a response, tiers by kind of token; None without a price."""
    price = price_of(counted.model)
    if price is None:
        return None
    rates = (price.input, price.output, price.cache_read, price.cache_write, price.input * HOUR)
    above = (*price.above, price.above[0] * HOUR) if price.above else rates
    tokens = (counted.input, counted.output, counted.cache_read, counted.cache_write, counted.cache_write_1h)
    dollars = sum(
        min(count, LONG) * rate + max(count - LONG, 0) * more
        for count, rate, more in zip(tokens, rates, above, strict=True)
    )
    multiple = next((times for name, times in FAST.items() if name in counted.model), 1.0) if counted.is_fast else 1.0
    return dollars * multiple / 1_000_000


def count(path: Path, name: str) -> Count | None:
    """Count a file of the format of that name; None for one that is not counted here, or reports nothing.

    Raises:
        OSError: It cannot be read.
    """
    how = READ.get(name) or NOT_READ.get(name)
    if how is None:
        return None
    try:
        found = [each for each in how(path) if each.total]
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    if not found:
        return None
    costs = [cost_of(each) for each in found]
    return Count(
        len(found),
        sum(each.total - each.output for each in found),
        sum(each.output for each in found),
        sum(cost for cost in costs if cost is not None),
        tuple(dict.fromkeys(each.model for each, cost in zip(found, costs, strict=True) if cost is None)),
        name in READ,
    )


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        for line in file:
            if line.strip():
                value = json.loads(line)
                if isinstance(value, dict):
                    yield value


def _claude_code(path: Path) -> Iterable[Counted]:
    best: dict[Any, tuple[bool, Counted]] = {}
    for number, record in enumerate(_lines(path)):
        message = record.get("message")
        usage = message.get("usage") if isinstance(message, dict) else None
        if not isinstance(message, dict) or not usage or "timestamp" not in record:
            continue
        split = usage.get("cache_creation")
        short, hour = usage.get("cache_creation_input_tokens") or 0, 0
        if split:
            short, hour = split["ephemeral_5m_input_tokens"], split["ephemeral_1h_input_tokens"]
        read, fast = usage.get("cache_read_input_tokens") or 0, usage.get("speed") == "fast"
        counted = Counted(
            message.get("model") or "", usage["input_tokens"], usage["output_tokens"], read, short, hour, fast
        )
        is_sidechain = record.get("isSidechain") is True
        key = (message["id"], record.get("requestId")) if message.get("id") else number
        known = best.get(key)
        if (
            known is None
            or (known[0] and not is_sidechain)
            or (known[0] == is_sidechain and counted.total > known[1].total)
        ):
            best[key] = (is_sidechain, counted)
    return [counted for _, counted in best.values()]


def _codex(path: Path) -> Iterable[Counted]:
    return [counted for counted, _ in _codex_reports(path)]


def repeated_reports(path: Path) -> list[Counted]:
    """Return reports of a Codex session that ccusage counts although their running total did not grow.

    Codex repeats its newest report when a turn ends or is compacted; only the time differs.
    """
    return [counted for counted, is_repeated in _codex_reports(path) if is_repeated]


def _codex_reports(path: Path) -> Iterator[tuple[Counted, bool]]:
    model, seen, before = "gpt-5", set(), {}
    for record in _lines(path):
        payload = record.get("payload") or {}
        if record.get("type") == "turn_context":
            model = payload.get("model") or model
        info = payload.get("info") or {}
        if record.get("type") != "event_msg" or payload.get("type") != "token_count" or not info:
            continue
        whole = info.get("total_token_usage") or {}
        last = info.get("last_token_usage") or {key: max(whole[key] - before.get(key, 0), 0) for key in whole}
        is_repeated, before = bool(whole) and whole == before, whole or before
        key = (record["timestamp"], model, *sorted(last.items()))
        if key not in seen:
            seen.add(key)
            cached = min(last.get("cached_input_tokens", 0), last["input_tokens"])
            yield Counted(model, last["input_tokens"] - cached, last["output_tokens"], cached), is_repeated


def _pi(path: Path) -> Iterable[Counted]:
    for record in _lines(path):
        message = record.get("message") or {}
        usage = message.get("usage")
        if record.get("type", "message") == "message" and message.get("role") == "assistant" and usage:
            parts = [usage.get(key, 0) for key in ("input", "output", "cacheRead", "cacheWrite")]
            parts[1] += max(usage.get("totalTokens", 0) - sum(parts), 0)
            yield Counted(message.get("model") or "", *parts)


def _opencode(path: Path) -> Iterable[Counted]:
    for message in json.loads(path.read_bytes())["messages"]:
        tokens = message["info"].get("tokens")
        if tokens:
            cache = tokens.get("cache") or {}
            parts = [tokens.get("input", 0), tokens.get("output", 0), cache.get("read", 0), cache.get("write", 0)]
            parts[1] += max(tokens.get("total", 0) - sum(parts), 0)
            yield Counted(message["info"]["modelID"], *parts)


def _gemini(path: Path) -> Iterable[Counted]:
    for record in json.loads(path.read_bytes())["messages"]:
        tokens = record.get("tokens") if record.get("type") == "gemini" else None
        if tokens:
            cached = tokens.get("cached", 0)
            said = tokens.get("output", 0) + tokens.get("thoughts", 0)
            yield Counted(record["model"], tokens["input"] - cached + tokens.get("tool", 0), said, cached)


def _cline(path: Path) -> Iterable[Counted]:
    for message in json.loads(path.read_bytes())["messages"]:
        metrics = message.get("metrics")
        if metrics:
            read, written = metrics.get("cacheReadTokens", 0), metrics.get("cacheWriteTokens", 0)
            model = message.get("modelInfo", {}).get("id", "")
            yield Counted(model, metrics["inputTokens"] - read - written, metrics["outputTokens"], read, written)


def _openhands(path: Path) -> Iterable[Counted]:
    if path.is_dir():
        stats = json.loads((path / "base_state.json").read_bytes())["stats"]
        every = list((stats.get("usage_to_metrics") or stats["service_to_metrics"]).values())
    else:
        sums = [record["value"] for record in _lines(path) if record.get("key") == "stats"]
        every = [
            {"token_usages": [metrics["accumulated_token_usage"]]} for metrics in sums[-1]["usage_to_metrics"].values()
        ]
    for metrics in every:
        for one in metrics["token_usages"] or ():
            read, written = one["cache_read_tokens"], one["cache_write_tokens"]
            plain = one["prompt_tokens"] - read
            yield Counted(
                one["model"], plain - written if plain >= written else plain, one["completion_tokens"], read, written
            )


def _copilot(path: Path) -> Iterable[Counted]:
    for record in _lines(path):
        if record["type"] == "assistant.message":
            yield Counted(record["data"].get("model") or "", output=record["data"].get("outputTokens") or 0)


def _inspect(path: Path) -> Iterable[Counted]:
    for sample in json.loads(path.read_bytes())["samples"]:
        for event in sample["events"]:
            usage = (event.get("output") or {}).get("usage") if event["event"] == "model" else None
            if usage:
                read = usage.get("input_tokens_cache_read") or 0
                yield Counted(event["output"]["model"], usage["input_tokens"] - read, usage["output_tokens"], read)


def _openai_chat(path: Path) -> Iterable[Counted]:
    response = json.loads(path.read_bytes())["response"]
    usage = response["usage"]
    read = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    yield Counted(response["model"], usage["prompt_tokens"] - read, usage["completion_tokens"], read)


READ: dict[str, Callable[[Path], Iterable[Counted]]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "gemini-cli": _gemini,
    "opencode": _opencode,
    "pi": _pi,
}
"""Formats that ccusage reads, of those the sessions at hand have."""

NOT_READ: dict[str, Callable[[Path], Iterable[Counted]]] = {
    "cline": _cline,
    "copilot-cli": _copilot,
    "inspect": _inspect,
    "openai-chat": _openai_chat,
    "openhands": _openhands,
}
