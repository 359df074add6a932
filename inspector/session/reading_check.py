"""Check readers for `inspector check`: totals counted independently, and a followed session equal to a loaded one.

Users run these checks on their own files, so they are part of the program. The independent count shares no code with
the readers: files are parsed with the standard library, and repeated records are recognized by the one key that the
format documents. Only totals are computed, not the usage of single calls.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.errors import SessionError
from inspector.session.files import Locator, is_folder, temporary_folder
from inspector.session.follow import Follower
from inspector.session.model import NO_MESSAGE, Session
from inspector.session.open import open_session
from inspector.session.sniff import Sample
from inspector.session.sqlite import read_database

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path


class UsageTotals(NamedTuple):
    """Token totals of a session. `prompt`: prompt tokens, including cache reads and writes."""

    prompt: int = 0
    cache_read: int = 0
    output: int = 0


def totals_of(session: Session) -> UsageTotals:
    """Return the totals of a session as read, including side calls with a record of their own."""
    sides = [call for call in session.side_calls if call.purpose != NO_MESSAGE]
    every = [call.usage for call in session.calls] + [call.usage for call in sides]
    reported = [usage for usage in every if usage is not None]
    return UsageTotals(
        sum(usage.prompt for usage in reported),
        sum(usage.cache_read for usage in reported),
        sum(usage.output for usage in reported),
    )


def independent_totals(session: Session) -> UsageTotals | None:
    """Return the totals in the file, None for unsupported formats. Raises `OSError` if it cannot be read."""
    counts = _COUNTS.get(session.format)
    file = Locator.of(session.path).file
    is_row = session.format in _ROWS and _is_database(file)
    if counts is None or (Locator.of(session.path).session and not is_row):
        return None
    try:
        if is_row:
            reports = list(read_database(file, partial(_ROWS[session.format], session.identifier)))
        else:
            reports = list(counts(session.path))
    except SessionError:
        return None  # busy
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return None  # damaged file; its reader reports that
    # An empty result means another variant of the format.
    return UsageTotals(*(sum(column) for column in zip(*reports, strict=True))) if reports else None


def _is_database(path: Path) -> bool:
    if is_folder(path):
        return False
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)


def _claude_code(path: Path) -> Iterable[UsageTotals]:
    """Return the last non-empty report per response, and the iterations that its totals exclude.

    Gateways repeat ids. Lines of one response have equal prompt counts and no user's line of the same conversation
    between them; with a request id, one of the two is enough. Synthetic notices are left out.
    """
    reports: list[list[UsageTotals]] = []
    last: dict[Any, tuple[int, int, Any]] = {}
    asked: dict[Any, int] = {}
    streaming: dict[Any, str] = {}
    for record in _lines(path):
        conversation = record.get("agentId") or record.get("parent_tool_use_id")
        event = record.get("event") or {}
        if event.get("type") == "message_start":
            streaming[conversation] = event["message"]["id"]
        elif (
            event.get("type") == "message_delta" and (key := (streaming.get(conversation), None, conversation)) in last
        ):
            report = reports[last[key][0]]
            report[0] = report[0]._replace(output=event["usage"]["output_tokens"])
        turn = asked[conversation] = asked.get(conversation, 0) + (record.get("type") == "user")
        message = record.get("message") or {}
        usage = message.get("usage") or {}
        if record.get("type") != "assistant" or message.get("model") == "<synthetic>" or not usage:
            continue
        found = _anthropic_totals(usage)
        if not any(found):
            continue
        request, prompt = record.get("requestId"), found[:2]
        key = message.get("id") or record["uuid"], request, conversation
        place, last_turn, last_prompt = last.get(key, (len(reports), turn, prompt))
        equal = (turn == last_turn, prompt == last_prompt)
        if not (any(equal) if request else all(equal)):
            place = len(reports)
        last[key] = place, turn, prompt
        separate = [one for one in usage.get("iterations") or () if one.get("type") in _SEPARATE]
        reports[place : place + 1] = [[found, *map(_anthropic_totals, separate)]]
    return [one for report in reports for one in report]


def _anthropic_totals(usage: dict[str, Any]) -> UsageTotals:
    read, written = usage.get("cache_read_input_tokens") or 0, usage.get("cache_creation_input_tokens") or 0
    return UsageTotals((usage.get("input_tokens") or 0) + read + written, read, usage.get("output_tokens") or 0)


def _codex(path: Path) -> Iterable[UsageTotals]:
    """Yield the record of every response id, and the last report of every distinct total that has no record."""
    records = list(_lines(path))
    header = next((record["payload"] for record in records if record["type"] == "session_meta"), None)
    if header is None:
        return []  # a printed stream
    others = {record["payload"].get("id") for record in records if record["type"] == "session_meta"} - {header["id"]}
    origins = others | ({header.get("forked_from_id")} - {None})
    first_own = header.get("subagent_history_start_ordinal") or 0
    if not first_own and origins:
        root = next((folder for folder in path.parents if folder.name == "sessions"), path.parent)
        files = [file for origin in origins for file in root.rglob(f"rollout-*{origin}.jsonl")]
        known = {key for file in files for key in _codex_reports(_lines(file))}
        if not files:  # copies have the time of the fork
            copied = {record.get("timestamp") for record in records[:2]}
            known = set(_codex_reports(one for one in records if one.get("timestamp") in copied))
    else:
        known = set(_codex_reports(record for record in records if record.get("ordinal", first_own) < first_own))
    found = {key: usage for key, usage in _codex_reports(records).items() if key not in known}
    recorded = Counter(usage for (kind, _), usage in found.items() if kind == "record")
    counted = Counter(usage for (kind, _), usage in found.items() if kind == "event")
    return [*recorded.elements(), *(counted - recorded).elements()]


def _codex_reports(records: Iterable[dict[str, Any]]) -> dict[tuple[str, str], UsageTotals]:
    """Return the usage of every response id and of every total, in the first line that reports it."""
    found: dict[tuple[str, str], UsageTotals] = {}
    for record in records:
        payload = record.get("payload") or {}
        key, usage = ("record", str(payload.get("response_id"))), payload.get("usage") or {}
        if payload.get("type") == "token_count" and payload.get("info"):
            info = payload["info"]
            key, usage = ("event", str(info.get("total_token_usage"))), info["last_token_usage"]
        elif record.get("type") != "token_usage_record":
            continue
        counts = (int(usage.get(name) or 0) for name in ("input_tokens", "cached_input_tokens", "output_tokens"))
        found.setdefault(key, UsageTotals(*counts))
    return found


def _pi(path: Path) -> Iterable[UsageTotals]:
    """Yield the usage of every response on every branch."""
    for record in _lines(path):
        usage = (record.get("message") or {}).get("usage") if record.get("type") == "message" else None
        if usage:
            read, output = usage.get("cacheRead", 0), usage.get("output", 0)
            prompt = usage.get("input", 0) + read + usage.get("cacheWrite", 0)
            reasoning = usage.get("reasoning") or usage.get("reasoningTokens") or 0
            excludes_reasoning = usage.get("totalTokens") == prompt + output + reasoning
            yield UsageTotals(prompt, read, output + reasoning if excludes_reasoning else output)


def _gemini(path: Path) -> Iterable[UsageTotals]:
    """Yield the last tokens per record id: thoughts count as output, tool tokens as input."""
    text = path.read_bytes()
    try:
        records = json.loads(text)["messages"]
    except ValueError:
        records = [json.loads(line) for line in text.splitlines() if line.strip()]
    of_record = {record["id"]: record["tokens"] for record in records if record.get("id") and record.get("tokens")}
    for tokens in of_record.values():
        yield UsageTotals(
            tokens.get("input", 0) + tokens.get("tool", 0),
            tokens.get("cached", 0),
            tokens.get("output", 0) + tokens.get("thoughts", 0),
        )


def _opencode(path: Path) -> Iterable[UsageTotals]:
    """Return the usage of an export's messages, and of OpenCode 2 the part of the totals that no message reports."""
    export = json.loads(path.read_bytes())
    is_later = any("info" not in message for message in export["messages"])
    reports = [tokens for message in export["messages"] if (tokens := message.get("info", message).get("tokens"))]
    found = [_opencode_totals(tokens, excludes_reasoning=is_later) for tokens in reports]
    if is_later and export["info"].get("tokens"):
        columns = zip(*map(_opencode_counts, reports), strict=True)
        listed = [sum(column) for column in columns] or [0] * 5
        left = [total - known for total, known in zip(_opencode_counts(export["info"]["tokens"]), listed, strict=True)]
        if min(left) >= 0:
            found.append(UsageTotals(left[0] + left[3] + left[4], left[3], left[1] + left[2]))
    return found


def _opencode_counts(tokens: dict[str, Any]) -> list[int]:
    cache = tokens.get("cache") or {}
    counts = [tokens.get(name, 0) for name in ("input", "output", "reasoning")]
    return [*counts, cache.get("read", 0), cache.get("write", 0)]


def _opencode_totals(tokens: dict[str, Any], *, excludes_reasoning: bool = False) -> UsageTotals:
    """Parse token counts: a total shows whether the output includes reasoning; without one, OpenCode 2 excludes it."""
    cache = tokens.get("cache") or {}
    read, output, reasoning = cache.get("read", 0), tokens.get("output", 0), tokens.get("reasoning", 0)
    prompt, total = tokens.get("input", 0) + read + cache.get("write", 0), tokens.get("total")
    if total:
        excludes_reasoning = total not in (prompt + output, tokens.get("input", 0) + output)
    return UsageTotals(prompt, read, output + reasoning if excludes_reasoning else max(output, reasoning))


def _opencode_rows(identifier: str, connection: sqlite3.Connection) -> Iterable[UsageTotals]:
    """Return the usage of a session's rows, each id once, and the part of its totals that no row reports."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    session = None
    if "session_v2" in tables:
        names = "time_created, fork_session_id, tokens_input, tokens_output, tokens_reasoning, tokens_cache_read,"
        query = f"SELECT {names} tokens_cache_write FROM session_v2 WHERE id = ?"  # noqa: S608  # constants
        session = connection.execute(query, (identifier,)).fetchone()
    rows: dict[str, tuple[dict[str, Any], bool]] = {}
    for table in ("message", "session_message"):
        if table in tables and (session or not rows):
            query = f"SELECT id, data FROM {table} WHERE session_id = ?"  # noqa: S608  # one of two names
            for name, text in connection.execute(query, (identifier,)).fetchall():
                rows.setdefault(name, (json.loads(text), table != "message"))
    found = [
        _opencode_totals(data["tokens"], excludes_reasoning=later)
        for data, later in rows.values()
        if data.get("tokens")
    ]
    if session is not None:
        began = session[0] if session[1] else 0
        listed, copied = [0] * 5, [0] * 5
        for data, _ in rows.values():
            sums = listed if data["time"]["created"] >= began else copied
            sums[:] = map(int.__add__, sums, _opencode_counts(data.get("tokens") or {}))
        left = [total - known for total, known in zip(session[2:], listed, strict=True)]
        if min(left) >= 0 and list(session[2:]) != copied:
            found.append(UsageTotals(left[0] + left[3] + left[4], left[3], left[1] + left[2]))
    return found


def _openhands(path: Path) -> Iterable[UsageTotals]:
    """Yield the usage of every response in the base state; add cache writes if the prompt excludes them."""
    if not is_folder(path):
        raise ValueError
    stats = json.loads((path / "base_state.json").read_bytes()).get("stats") or {}
    for metrics in (stats.get("usage_to_metrics") or stats.get("service_to_metrics") or {}).values():
        for one in metrics.get("token_usages") or ():
            read, written = one["cache_read_tokens"], one["cache_write_tokens"]
            prompt = one["prompt_tokens"]
            yield UsageTotals(prompt if prompt >= read + written else prompt + written, read, one["completion_tokens"])


def _cline(path: Path) -> Iterable[UsageTotals]:
    for message in json.loads(path.read_bytes())["messages"]:
        metrics = message.get("metrics")
        if metrics:
            read = metrics.get("cacheReadTokens", 0)
            yield UsageTotals(metrics.get("inputTokens", 0), read, metrics.get("outputTokens", 0))


def _atif(path: Path) -> Iterable[UsageTotals]:
    """Yield the metrics of the agent's own steps."""
    for step in json.loads(path.read_bytes())["steps"]:
        metrics = step.get("metrics") or {}
        if metrics and not step.get("is_copied_context"):
            yield UsageTotals(
                metrics.get("prompt_tokens") or 0,
                metrics.get("cached_tokens") or 0,
                metrics.get("completion_tokens") or 0,
            )


def _own(path: Path) -> Iterable[UsageTotals]:
    """Yield the usage of responses and side calls in the native format; repeated side calls replace earlier ones."""
    others: dict[Any, UsageTotals] = {}
    for number, line in enumerate(_lines(path)):
        usage = line.get("usage")
        if not usage or line.get("inherited"):
            continue
        read, written = usage.get("cache_read", 0), usage.get("cache_write_5m", 0) + usage.get("cache_write_1h", 0)
        found = UsageTotals(usage.get("uncached", 0) + read + written, read, usage.get("output", 0))
        if line.get("type") == "side_call":
            others[line.get("id") or number] = found
        elif line.get("role") == "assistant":
            yield found
    yield from others.values()


def _qwen(path: Path) -> Iterable[UsageTotals]:
    """Return the last usage per record id; thoughts are part of the output unless the total shows otherwise."""
    of_record: dict[str, UsageTotals] = {}
    for record in _lines(path):
        usage = record.get("usageMetadata")
        if record.get("type") != "assistant" or not usage or record.get("forkedFrom"):
            continue
        prompt, output, thoughts = (
            usage.get(name) or 0 for name in ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount")
        )
        if usage.get("totalTokenCount") == prompt + output + thoughts:
            output += thoughts
        of_record[record["uuid"]] = UsageTotals(prompt, usage.get("cachedContentTokenCount") or 0, output)
    return of_record.values()


def _kimi_code(path: Path) -> Iterable[UsageTotals]:
    """Return every `usage.record`, which repeats the report at the end of a step; in a fork, only its own."""
    found: list[UsageTotals] = []
    for record in _lines(path):
        if record.get("type") == "forked":
            found.clear()
        elif record.get("type") == "usage.record":
            found.append(_kimi_totals(record["usage"], ("inputOther", "inputCacheRead", "inputCacheCreation")))
    return found


def _kimi_cli(path: Path) -> Iterable[UsageTotals]:
    """Yield every status with usage, including statuses of subagents without a separate file."""
    for line in _lines(path):
        message = line.get("message") or {}
        agent = ""
        while message.get("type") == "SubagentEvent":
            agent = message["payload"].get("agent_id") or agent
            message = message["payload"]["event"]
        if agent and (path.parent / "subagents" / agent / "wire.jsonl").is_file():
            continue
        usage = (message.get("payload") or {}).get("token_usage") if message.get("type") == "StatusUpdate" else None
        if usage:
            yield _kimi_totals(usage, ("input_other", "input_cache_read", "input_cache_creation"))


def _kimi_totals(usage: dict[str, Any], names: tuple[str, str, str]) -> UsageTotals:
    plain, read, written = (usage.get(name) or 0 for name in names)
    return UsageTotals(plain + read + written, read, usage.get("output") or 0)


def _vscode(path: Path) -> Iterable[UsageTotals]:
    """Yield the last report per request id of a chat after applying its operations, and its summaries' usage."""
    chat: Any = {}
    requests: dict[str, dict[str, Any]] = {}
    whole = json.loads(path.read_bytes()) if path.suffix == ".json" else None
    for line in [{"kind": 0, "v": whole}] if whole is not None else _lines(path):
        if line["kind"] == 0:
            chat = line["v"]
            requests.clear()
        else:
            *way, last = line["k"]
            at = chat
            for key in way:
                at = at[key]
            if line["kind"] == 2:
                array = at.setdefault(last, []) if isinstance(at, dict) else at[last]
                del array[line.get("i", len(array)) :]
                array.extend(line.get("v") or [])
            elif line["kind"] == 3:
                at.pop(last)
            else:
                at[last] = line["v"]
        requests.update({request["requestId"]: request for request in chat["requests"]})
    for request in requests.values():
        metadata = (request.get("result") or {}).get("metadata") or {}
        prompt = request.get("promptTokens") or metadata.get("promptTokens") or 0
        yield UsageTotals(prompt, 0, request.get("completionTokens") or metadata.get("outputTokens") or 0)
        for summary in metadata.get("summaries") or []:
            if usage := summary.get("usage"):
                read = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
                yield UsageTotals(usage["prompt_tokens"], read, usage["completion_tokens"])


def _reported(usage: Any) -> UsageTotals | None:
    """Parse usage of the Anthropic API (input excludes cached tokens) or of OpenAI; None if there is none."""
    if not isinstance(usage, dict):
        return None
    details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details") or {}
    output = usage.get("completion_tokens") or usage.get("output_tokens") or 0
    reasoning = (usage.get("completion_tokens_details") or {}).get("reasoning_tokens") or 0
    if usage.get("total_tokens") == (usage.get("prompt_tokens") or 0) + output + reasoning:
        output += reasoning
    if "prompt_tokens" in usage or "input_tokens_details" in usage:
        prompt = usage.get("prompt_tokens") or usage.get("input_tokens") or 0
        return UsageTotals(prompt, details.get("cached_tokens") or 0, output)
    read, written = usage.get("cache_read_input_tokens") or 0, usage.get("cache_creation_input_tokens") or 0
    return UsageTotals((usage.get("input_tokens") or 0) + read + written, read, output)


def _requests(usage: Any) -> list[UsageTotals]:
    """Return the usage of a response, and the iterations that it excludes."""
    iterations = (usage.get("iterations") or ()) if isinstance(usage, dict) else ()
    separate = [_reported(one) for one in iterations if one.get("type") in _SEPARATE]
    return [one for one in (_reported(usage), *separate) if one is not None]


def _answered(text: str) -> list[UsageTotals]:
    """Parse the usage in a response body: JSON, or stream events, where later events add fields."""
    if text.lstrip().startswith("{"):
        return _requests(json.loads(text).get("usage"))
    usage: dict[str, Any] = {}
    for line in text.splitlines():
        data = line.removeprefix("data:").strip()
        if not line.startswith("data:") or not data.startswith("{"):
            continue
        event = json.loads(data)
        for holder in (event, event.get("message"), event.get("response")):
            found = holder.get("usage") if isinstance(holder, dict) else None
            usage |= {name: value for name, value in (found or {}).items() if value}
    return _requests(usage)


_SEPARATE = ("advisor_message", "compaction")
"""Iterations that the totals of an Anthropic response exclude."""

_ASKED = ("/messages", "/chat/completions", "/responses", "/invoke", "/invoke-with-response-stream")


def _har(path: Path) -> Iterable[UsageTotals]:
    """Yield the usage of responses from model endpoints; raise ValueError for encoded bodies and Google's API."""
    for entry in json.loads(path.read_bytes())["log"]["entries"]:
        address = entry["request"]["url"].partition("?")[0].rstrip("/")
        content = entry["response"].get("content") or {}
        if address.endswith("enerateContent"):
            raise ValueError
        if not address.endswith(_ASKED) or not content.get("text"):
            continue
        if content.get("encoding") or content["text"].startswith("["):
            raise ValueError
        yield from _answered(content["text"])


def _claude_tap(path: Path) -> Iterable[UsageTotals]:
    """Yield the usage of responses in lines or a bundle; raise ValueError for web sockets (several responses)."""
    data = path.read_bytes()
    try:
        records = json.loads(data)["records"]
    except ValueError:
        records = [json.loads(line) for line in data.splitlines() if line.strip()]
    for one in records:
        record = one.get("record", one)
        if record.get("transport") == "websocket":
            raise ValueError
        address = record["request"]["path"].partition("?")[0].rstrip("/")
        if address.endswith("enerateContent"):
            raise ValueError
        body = record["response"].get("body")
        if isinstance(body, dict) and address.endswith(_ASKED):
            yield from _requests(body.get("usage"))


def _grok(path: Path) -> Iterable[UsageTotals]:
    """Return the last report per response id in the update file.

    Without one, use the log of all sessions if it has as many responses as the history. Raise ValueError if the log has
    responses that are not in the reports.
    """
    folder = path if is_folder(path) else path.parent
    of_response: dict[Any, UsageTotals] = {}
    updates = folder / "updates.jsonl"
    for number, record in enumerate(_lines(updates) if updates.is_file() else ()):
        update = (record.get("params") or {}).get("update") or {}
        found = _reported(update.get("usage")) if update.get("sessionUpdate") == "response_completed" else None
        if found is not None:
            # Gateways repeat ids.
            of_response[update.get("message_id") or number, found[:2]] = found
    logged = list(_grok_log(folder))
    if of_response and not set(logged) - set(of_response.values()):
        return of_response.values()
    answers = sum("assistant" in (row.get("type"), row.get("role")) for row in _lines(folder / "chat_history.jsonl"))
    if of_response or len(logged) != answers:
        raise ValueError
    return logged


def _grok_log(folder: Path) -> Iterator[UsageTotals]:
    """Yield the reports on this session in the log three folders above; the folder name is the session id."""
    log = folder.absolute().parent.parent.parent / "logs" / "unified.jsonl"
    for line in log.read_text(errors="replace").splitlines() if log.is_file() else ():
        if folder.name in line and "inference_done" in line:
            record = json.loads(line)
            by_name = record.get("ctx") or {}
            if record.get("sid") == folder.name and by_name.get("prompt_tokens") is not None:
                yield UsageTotals(
                    by_name["prompt_tokens"], by_name["cached_prompt_tokens"], by_name["completion_tokens"]
                )


def _deepseek_harness(path: Path) -> Iterable[UsageTotals]:
    """Yield the usage of requests not copied by a fork: from a step's message, its stream or its last chunk."""
    chunk: Any = None
    seeds = 0
    for event in _lines(path):
        kind, data = event["type"], event.get("data") or {}
        seeds = event.get("seedLength", seeds) if kind == "session" else seeds
        if event.get("seq", seeds) < seeds:
            continue
        usage = None
        if kind == "assistant/chunk":
            chunk = data["chunk"].get("usage") or chunk
        elif kind in ("assistant/message", "assistant/attempt"):
            stream = [one["chunk"].get("usage") for one in data.get("stream") or () if "chunk" in one]
            usage, chunk = chunk or data.get("usage") or next(filter(None, reversed(stream)), None), None
        elif kind in ("llm/retry-started", "step/end"):
            usage, chunk = chunk, None
        elif kind == "compaction/summary" or kind.endswith("-llm-request"):
            usage = data.get("usage")
        if usage:
            read, written = usage.get("cacheReadTokens", 0), usage.get("cacheWriteTokens", 0)
            yield UsageTotals(usage["inputTokens"] + read + written, read, usage["outputTokens"])


_COUNTS: dict[str, Callable[[Path], Iterable[UsageTotals]]] = {
    "atif": _atif,
    "claude-code": _claude_code,
    "claude-tap": _claude_tap,
    "cline": _cline,
    "codex": _codex,
    "deepseek-harness": _deepseek_harness,
    "gemini-cli": _gemini,
    "grok-build": _grok,
    "har": _har,
    "inspector-lines": _own,
    "opencode": _opencode,
    "kimi-cli": _kimi_cli,
    "kimi-code": _kimi_code,
    "openhands": _openhands,
    "pi": _pi,
    "qwen-code": _qwen,
    "vscode-chat": _vscode,
}

_ROWS: dict[str, Callable[[str, sqlite3.Connection], Iterable[UsageTotals]]] = {"opencode": _opencode_rows}

COUNTED = tuple(_COUNTS)


EVENTS = "events"

MOST_BYTES = 1 << 26

MOST_STEPS = 200
"""Maximum number of steps in which a folder of events grows."""

COMPARED = (
    *("messages", "calls", "contexts", "compactions", "side_calls"),
    *("recorded_totals", "diagnostics", "record_counts", "links"),
)

LONG_AGO = 1_000_000_000
"""Modification time of a file that has not changed for a long time."""


def compare_followed(path: Path) -> str:
    """Compare a session with one that is followed while its file or folder of events is written in steps.

    The copy grows in a temporary folder. Documents and databases are skipped because they are reread on each change.

    Returns:
        Names of the attributes that differ; empty if the sessions are equal or the check was skipped.

    Raises:
        TemporaryFolderError: A temporary copy cannot be written.
    """
    file, session = Locator.of(path)
    try:
        if is_folder(file):
            steps = _grown_folder if is_folder(file / EVENTS) else None
        else:
            steps = _grown_file if file.stat().st_size <= MOST_BYTES and Sample(file).is_lines else None
        if steps is None:
            return ""
        with temporary_folder() as folder:
            copy = folder / file.name
            named = Locator(copy, session).path
            follower: Follower | None = None
            for _ in steps(file, copy):
                if follower is None:
                    follower = _follower(named)
                else:
                    follower.poll()
            if follower is None:
                return ""
            follower.poll()
            follower.poll()
            return _difference(follower.session, open_session(named))
    except (OSError, SessionError):
        return ""


def _follower(path: Path) -> Follower | None:
    try:
        return Follower(path)
    except SessionError:
        return None  # not enough data yet


def _difference(followed: Session, loaded: Session) -> str:
    return ", ".join(name for name in COMPARED if getattr(followed, name) != getattr(loaded, name))


def _grown_file(source: Path, copy: Path) -> Iterator[None]:
    """Write a file of lines in four parts, two of which end within a line."""
    data = source.read_bytes()
    middle = data.find(b"\n", len(data) // 2) + 1
    done = 0
    for end in (len(data) // 5, middle, 4 * len(data) // 5, len(data)):
        if end > done:
            with copy.open("ab") as file:
                file.write(data[done:end])
            os.utime(copy, (LONG_AGO, LONG_AGO + end))
            done = end
            yield


def _grown_folder(source: Path, copy: Path) -> Iterator[None]:
    """Write everything except the events, then event by event."""
    shutil.copytree(source, copy, ignore=lambda folder, names: names if folder.endswith(f"/{EVENTS}") else ())
    names = sorted(os.listdir(source / EVENTS))  # noqa: PTH208  # names alone are wanted
    step = max(len(names) // MOST_STEPS, 1)
    for start in range(0, len(names), step):
        for name in names[start : start + step]:
            if (source / EVENTS / name).is_file():
                shutil.copyfile(source / EVENTS / name, copy / EVENTS / name)
        yield
