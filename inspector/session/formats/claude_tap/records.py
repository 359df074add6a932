"""Recognize claude-tap records, resolve their deduplicated parts and extract their exchanges."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from inspector.session.formats.claude_trace.exchanges import HttpExchange
from inspector.session.formats.responses.records import ENDED
from inspector.session.json.nodes import Fields
from inspector.session.json.values import mapping, string

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from inspector.session.json.nodes import Node

BUNDLE = "__claude_tap_compact_trace__"

COMPACT = "__claude_tap_compact_record__"

REFERENCE = "__claude_tap_blob_ref__"

LONGEST_REFERENCE = 2_000
"""Limit in bytes; longer values are not parsed as references."""

REQUEST_EVENT = "response.create"
"""Type of a request over a WebSocket."""

ERROR, FAILED = "error", "response.failed"
"""Event types of a failed request."""


def is_bundle(value: object) -> bool:
    found = mapping(value)
    return BUNDLE in found and isinstance(found.get("records"), list)


def is_record(value: object) -> bool:
    found = mapping(value)
    if COMPACT in found:
        return isinstance(found.get("record"), dict)
    request, response = mapping(found.get("request")), found.get("response")
    reported = any(name in found for name in ("request_id", "turn", "duration_ms"))
    return reported and isinstance(request.get("path"), str) and "method" in request and isinstance(response, dict)


def reference_in(node: Node) -> str:
    """Return the hash of a referenced part; empty if the value is not a reference."""
    if node.length > LONGEST_REFERENCE or REFERENCE.encode() not in (raw := node.raw()) or not raw.startswith(b"{"):
        return ""
    return string(mapping(mapping(node.value()).get(REFERENCE)).get("hash"))


class LinkedNode:
    """A value with parts that may be references."""

    def __init__(self, inner: Node, linked: Callable[[str], Node | None]) -> None:
        """Initialize, resolving the value if it is a reference; `linked` returns a part by hash, None if missing."""
        found = reference_in(inner)
        self._inner = (linked(found) or inner) if found else inner
        self._linked = linked
        self.offset, self.length = self._inner.offset, self._inner.length

    def value(self) -> Any:
        """Return the value, with nested references unresolved."""
        return self._inner.value()

    def raw(self) -> bytes:
        """Return the value as JSON, with nested references unresolved."""
        return self._inner.raw()

    def fields(self) -> Fields:
        return Fields({name: LinkedNode(node, self._linked) for name, node in self._inner.fields().items()})

    def items(self) -> list[Node]:
        return [LinkedNode(node, self._linked) for node in self._inner.items()]


def exchanges_in(record: Node) -> Iterator[HttpExchange]:
    """Yield the exchanges of a record; a WebSocket may have carried several."""
    fields = record.fields()
    if COMPACT in fields:
        fields = fields.fields_of("record")
    request, response = fields.fields_of("request"), fields.fields_of("response")
    address, headers = string(request.value_of("path")), mapping(request.value_of("headers"))
    time = fields.value_of("timestamp")
    asked = [one for one in request.items_of("ws_events") if one.fields().value_of("type") == REQUEST_EVENT]
    answers = list(_answers(response.items_of("ws_events")))
    if len(asked) > 1 and answers:
        # The last request may have no response, and the first response may belong to a request in the record before.
        spare = max(len(answers) - len(asked), 0)
        for request_node, events in zip_longest([*[None] * spare, *asked], answers):
            yield HttpExchange(address, request_node, None, headers, time, events or ())
        return
    body = response.get("body")
    has_body = body is not None and body.value() is not None
    events = [] if has_body else [event for answer in answers for event in answer]
    yield HttpExchange(address, request.get("body"), body if has_body else None, headers, time, events)


def _answers(events: Sequence[Node]) -> Iterator[list[Node]]:
    """Group events by response. Events after a response's end stay with it unless they begin another one.

    A failed response ends twice: with an error event and with a failed response event.
    """
    answer: list[Node] = []
    ended = ""
    for event in events:
        kind = string(event.fields().value_of("type"))
        if ended and kind.startswith("response.") and (ended, kind) != (ERROR, FAILED):
            yield answer
            answer, ended = [], ""
        answer.append(event)
        if kind in ENDED or kind == ERROR:
            ended = kind
    if answer:
        yield answer
