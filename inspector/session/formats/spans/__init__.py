"""Read OpenTelemetry: spans of model requests in the GenAI or OpenInference conventions, from any program.

Accepts OTLP JSON exports, as one document or one export per line (the collector's file exporter), and the flat lines of
the JavaScript SDK written by Copilot.

Sources: the GenAI semantic conventions (open-telemetry/semantic-conventions-genai 0.1, where every `gen_ai.*` attribute
is in development, and the earlier names of 1.36), OpenInference's semantic conventions (Arize-ai/openinference), the
JSON encoding of OTLP, and, for the flat lines of the JavaScript SDK exported by Copilot, the reader of
junhoyeo/tokscale (`sessions/copilot.rs`).
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import partial
from json import JSONDecoder
from typing import TYPE_CHECKING, Any

from inspector.session.files import Locator, is_file
from inspector.session.format import ContainedSession, Format, editor_folders
from inspector.session.json import Node, count, json_in, mapping, objects, seconds_of_any, sequence, string
from inspector.session.model import Usage
from inspector.session.usage_fields import SPANS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from inspector.session.reader import Reader
    from inspector.session.sniff import Sample


EXPORTS = (
    ("resourceSpans", ("scopeSpans", "instrumentationLibrarySpans"), "spans"),
    ("resourceLogs", ("scopeLogs", "instrumentationLibraryLogs"), "logRecords"),
)
"""Paths from an OTLP export to its spans and log records."""

OPERATIONS = frozenset({"chat", "generate_content", "text_completion", "responses"})
"""Values of `gen_ai.operation.name` for a single model request."""

NAME = "gen_ai.operation.name"

OI_KIND = "openinference.span.kind"

DETAILS = "gen_ai.client.inference.operation.details"

TURN = "copilot_chat.agent.turn"

CLAUDE_CODE = "claude_code.llm_request"

SESSION_IDS = (
    "copilot_chat.chat_session_id",
    "copilot_chat.session_id",
    "gen_ai.conversation.id",
    "session.id",
    "github.copilot.interaction_id",
)
"""Attributes with the session id, most reliable first: the conversation id of Copilot's requests is per request."""

PARENT_SESSION = "copilot_chat.parent_chat_session_id"

LABEL = "copilot_chat.debug_log_label"

SIDE_LABELS = frozenset({"title", "categorization"})
"""Labels of requests outside the conversation."""

TOOL_RESULT = "gen_ai.tool.call.result"

CUT = re.compile(r"\.\.\.\[truncated, original \d+ chars\]\Z")
"""Matches the end of a value that Copilot truncated at 64,000 characters (`truncateForOTel`)."""

MODELS = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "model")

RESPONSES = ("gen_ai.response.id", "request_id")


class SpanRecordKind(IntEnum):
    """Kinds of records that describe a request, most reliable first; per trace only the first kind present counts."""

    SPAN = 0
    """The span of one request."""
    DETAILS = 1
    """The log record of one request, which may have messages missing from its span."""
    TURN = 2
    """The log record of an agent's turn."""
    AGENT = 3
    """The span of a whole agent, with the totals of its requests."""


def leaves(node: Node) -> Iterator[Node]:
    """Yield the spans and log records in a record: itself, or the ones in an export."""
    fields = node.fields()
    exports = [(name, scopes, items) for name, scopes, items in EXPORTS if name in fields]
    if not exports:
        yield node
    for name, scopes, items in exports:
        for resource in fields[name].items():
            inside = resource.fields()
            for scope in scopes:
                for each in inside.items_of(scope):
                    yield from each.fields().items_of(items)


def attributes_of(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record's attributes, from an object or from OTLP's list of keys and typed values."""
    found = value.get("attributes")
    if isinstance(found, dict):
        return found
    return {string(one.get("key")): _plain(one.get("value")) for one in objects(found)}


def _plain(value: Any, depth: int = 0) -> Any:
    """Convert a typed OTLP value to JSON."""
    if not isinstance(value, dict) or depth > 20:
        return value
    if "intValue" in value:
        text = value["intValue"]
        return int(text) if isinstance(text, str) and text.lstrip("-").isdigit() and len(text) < 20 else text
    for name in ("stringValue", "doubleValue", "boolValue"):
        if name in value:
            return value[name]
    if "arrayValue" in value:
        return [_plain(one, depth + 1) for one in sequence(mapping(value["arrayValue"]).get("values"))]
    if "kvlistValue" in value:
        pairs = objects(mapping(value["kvlistValue"]).get("values"))
        return {string(one.get("key")): _plain(one.get("value"), depth + 1) for one in pairs}
    return None


def record_kind_of(value: Mapping[str, Any], attributes: Mapping[str, Any]) -> SpanRecordKind | None:
    """Classify a record; None if it does not describe a request."""
    event = string(attributes.get("event.name")) or string(value.get("eventName"))
    body = value.get("body", value.get("_body"))
    reported = string(mapping(body).get("stringValue")) or string(body)
    if event == DETAILS or reported.startswith("GenAI inference:"):
        return SpanRecordKind.DETAILS
    if event == TURN or reported.startswith(TURN):
        return SpanRecordKind.TURN
    if "spanId" not in value and "spanContext" not in value and value.get("type") != "span":
        return None
    if event or "logRecord" in value:
        return None
    name, operation = string(value.get("name")), string(attributes.get(NAME))
    if operation in OPERATIONS or attributes.get(OI_KIND) == "LLM" or name == CLAUDE_CODE:
        return SpanRecordKind.SPAN
    if operation == "invoke_agent" or (not operation and name.startswith("invoke_agent ")):
        return SpanRecordKind.AGENT
    if not operation and name.startswith("chat ") and usage_of(attributes) is not None:
        return SpanRecordKind.SPAN
    return None


def describes_request(value: Mapping[str, Any]) -> bool:
    """Return True for a span or log record about models, or an export."""
    if any(isinstance(value.get(name), list) for name, _, _ in EXPORTS):
        return True
    attributes = attributes_of(value)
    if not attributes:
        return False
    return record_kind_of(value, attributes) is not None or any(
        key.startswith(("gen_ai.", "copilot_chat.", "openinference.")) for key in attributes
    )


def trace_of(value: Mapping[str, Any]) -> str:
    return string(value.get("traceId")) or string(mapping(value.get("spanContext")).get("traceId"))


def span_of(value: Mapping[str, Any]) -> str:
    return string(value.get("spanId")) or string(mapping(value.get("spanContext")).get("spanId"))


def parent_of(value: Mapping[str, Any]) -> str:
    """Return the id of the parent span; empty if there is none."""
    context = mapping(value.get("parentSpanContext"))
    return string(value.get("parentSpanId")) or string(context.get("spanId"))


NANOSECONDS = 1e15
"""Threshold above which a timestamp is in nanoseconds."""

_TIMES = ("startTimeUnixNano", "startTime", "timeUnixNano", "hrTime", "time", "timestamp", "observedTimeUnixNano")


def time_of(value: Mapping[str, Any]) -> float | None:
    """Return the start in seconds since the epoch, from nanoseconds, a pair of seconds and nanoseconds, or ISO 8601."""
    for name in _TIMES:
        found = value.get(name)
        if isinstance(found, list) and len(found) == 2 and all(isinstance(one, (int, float)) for one in found):
            return seconds_of_any(found[0] + found[1] / 1e9)
        if isinstance(found, str) and found.isdigit() and len(found) < 25:
            found = int(found)
        if isinstance(found, (int, float)) and not isinstance(found, bool) and found > NANOSECONDS:
            found /= 1e9
        if found and (time := seconds_of_any(found)) is not None:
            return time
    return None


def first_of(attributes: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """Return the first of the named attributes with a text; empty if there is none."""
    return next((found for name in names if (found := string(attributes.get(name)))), "")


def usage_of(attributes: Mapping[str, Any]) -> Usage | None:
    """Return the usage of a request; None if none is reported.

    `gen_ai.usage.input_tokens` and OpenInference's `llm.token_count.prompt` include cache tokens. Programs that forward
    Anthropic's counts exclude them, recognizable by a value below cache reads plus writes.
    """
    if "cache_read_tokens" in attributes and "input_tokens" in attributes:
        # Claude Code's own names for Anthropic's counts.
        read, written = count(attributes["cache_read_tokens"]), count(attributes.get("cache_creation_tokens"))
        plain = count(attributes["input_tokens"])
        usage = Usage(plain, read, written, output=count(attributes.get("output_tokens")))
        return SPANS.check(usage.unless_zero(), attributes)
    read = _first_count(attributes, "gen_ai.usage.cache_read.input_tokens", "llm.token_count.prompt_details.cache_read")
    written = _first_count(
        attributes,
        "gen_ai.usage.cache_write.input_tokens",
        "gen_ai.usage.cache_creation.input_tokens",
        "llm.token_count.prompt_details.cache_write",
    )
    prompt = _first_count(
        attributes, "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"
    )
    output = _first_count(
        attributes, "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"
    )
    reasoning = _first_count(
        attributes,
        "gen_ai.usage.reasoning.output_tokens",
        "gen_ai.usage.reasoning_tokens",
        "llm.token_count.completion_details.reasoning",
    )
    usage = Usage.of_prompt(prompt, read, written, output, reasoning)
    return SPANS.check(usage.unless_zero(), attributes)


def _first_count(attributes: Mapping[str, Any], *names: str) -> int:
    for name in names:
        value = attributes.get(name)
        if isinstance(value, str) and value.isdigit() and len(value) < 17:
            value = int(value)
        if count(value):
            return count(value)
    return 0


def is_tool(attributes: Mapping[str, Any]) -> bool:
    """Return True for a tool span with a result."""
    return attributes.get(NAME) == "execute_tool" and isinstance(attributes.get(TOOL_RESULT), str)


def whole_items(text: str) -> list[Any]:
    """Return the complete items of a truncated JSON array."""
    found: list[Any] = []
    decoder = JSONDecoder()
    rest = text.lstrip()
    while rest[:1] in ("[", ","):
        rest = rest[1:].lstrip()
        try:
            value, end = decoder.raw_decode(rest)
        except (ValueError, RecursionError):
            break
        found.append(value)
        rest = rest[end:].lstrip()
    return found


def structured(value: Any) -> Any:
    """Decode a value that may be a JSON string."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        if CUT.search(value[-60:]):
            return whole_items(value)
        found = json_in(value)
        return value if found is None else found
    return value


class SpanFormat(Format):
    """Spans and log records."""

    name = "otel"
    title = "OpenTelemetry (GenAI and OpenInference spans)"
    exact = "tokens of every request with counts in its span or log record"

    def recognize(self, sample: Sample) -> str:
        if sample.is_directory:
            return ""
        if sample.is_lines:
            found = sum(describes_request(record) for record in sample.records)
            return (
                f"{found} of the first {len(sample.records)} lines are OpenTelemetry records of model requests"
                if found
                else ""
            )
        document = sample.document
        if isinstance(document, dict) and describes_request(document):
            return "a JSON document with an OpenTelemetry export"
        if isinstance(document, list) and any(
            isinstance(one, dict) and describes_request(one) for one in document[:50]
        ):
            return "a JSON document with OpenTelemetry spans of model requests"
        return ""

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.spans.reader import span_reader

        return span_reader(path, self.name)


TABLES: Mapping[str, frozenset[str]] = {
    "spans": frozenset(
        {"span_id", "trace_id", "chat_session_id", "conversation_id", "operation_name", "start_time_ms"}
    ),
    "span_attributes": frozenset({"span_id", "key", "value"}),
}
"""Tables and columns of Copilot's span database."""

TRACES = "agent-traces.db"


class CopilotTraceFormat(Format):
    """Copilot's span database in VS Code."""

    name = "copilot-traces"
    title = "VS Code Copilot Chat (agent-traces.db)"
    where = f"{TRACES} in globalStorage/github.copilot-chat of VS Code and its forks"
    exact = "tokens of every request, including cache reads"

    def recognize(self, sample: Sample) -> str:
        if sample.is_directory or not sample.is_database or not sample.has_tables(TABLES):
            return ""
        return "a database with Copilot's span tables"

    def homes(self) -> tuple[Path, ...]:
        folders = [folder / "User" / "globalStorage" / "github.copilot-chat" for folder in editor_folders()]
        return (folders[0] / TRACES, *(folder / TRACES for folder in folders[1:] if is_file(folder / TRACES)))

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.spans.reader import TraceRows
        from inspector.session.sqlite import SqliteReader

        return SqliteReader(path, self.name, TraceRows(Locator.of(path).session))

    def contained_sessions(self, path: Path) -> Sequence[ContainedSession]:
        from inspector.session.formats.spans.reader import sessions_inside
        from inspector.session.sqlite import read_database

        return read_database(path, partial(sessions_inside, path))

    def locate(self, path: Path, identifier: str) -> Path | None:
        found = self.contained_sessions(Locator.of(path).file)
        return next((one.path for one in found if one.identifier == identifier), None)


FORMATS = (SpanFormat(), CopilotTraceFormat())
