"""Read the sessions of the first versions: one JSON document that is rewritten on every change.

The path is `history-session-state/session_*.json`. `chatMessages` holds the messages sent to the model, in OpenAI's
form. `timeline` holds their display form: it adds times, and replaces the messages only if a document has none. Usage
is not recorded.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from inspector.session.formats.chat import ChatMessage, ChatThread, blocks_of_chat, notice
from inspector.session.formats.copilot.records import MESSAGES, TIMELINE
from inspector.session.json.codec import compact_json
from inspector.session.json.lines import object_of
from inspector.session.json.nodes import object_nodes
from inspector.session.json.values import mapping, objects, seconds_of_any, string
from inspector.session.model import Origin, Role
from inspector.session.reader import DocumentInterpreter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.session.blocks import TextBlock
    from inspector.session.json.nodes import Node

REQUESTED, COMPLETED = "tool_call_requested", "tool_call_completed"

SPEAKERS = {"copilot": "assistant", "user": "user"}
"""Roles by type of timeline entry."""


class CopilotDocumentInterpreter(DocumentInterpreter):
    """Builds a session from such a document."""

    def take_document(self, document: Node) -> None:
        """Read the messages, or the timeline if there are none."""
        fields = document.fields()
        about = {name: fields[name].value() for name in fields if name not in (MESSAGES, TIMELINE)}
        self.builder.agent = "Copilot CLI"
        self.builder.identifier = string(about.get("sessionId"))
        self.builder.title = string(about.get("title"))
        self.builder.working_directory = string(about.get("cwd")) or string(mapping(about.get("context")).get("cwd"))
        model = string(about.get("selectedModel")) or string(about.get("model"))
        timeline = fields.items_of(TIMELINE)
        shown = [mapping(entry.value()) for entry in timeline]
        messages = fields.items_of(MESSAGES)
        kinds = Counter(string(entry.get("type")) or "(no type)" for entry in shown)
        prefix = f"{TIMELINE}:" if messages else ""
        self.builder.record_counts |= {f"{prefix}{kind}": count for kind, count in kinds.items()}
        times = _times(shown)
        returned = {string(entry.get("callId")) for entry in shown if entry.get("type") == COMPLETED}
        thread = ChatThread(self.builder)
        for entry, value in object_nodes(messages or timeline, "a message", self.builder):
            if messages:
                self.builder.record_counts[string(value.get("role")) or "(no role)"] += 1
            elif value.get("type") == REQUESTED and string(value.get("callId")) in returned:
                continue  # the result's entry repeats all of it
            spoken = _chat_messages(value, times, model)
            if thread.members and spoken[0].is_call:
                before = self.builder.messages[thread.members[-1]]
                if before.role is Role.ASSISTANT:
                    spoken[0] = replace(spoken[0], is_call=False)  # one response may be stored as several messages
            thread.add_record(spoken, Origin(entry.offset, entry.length))

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
        value, _ = object_of(record)
        return [] if value is None else blocks_of_chat(_chat_messages(value, {}, ""), origin)


def _times(shown: list[Mapping[str, Any]]) -> dict[tuple[str, str], float]:
    """Return request and completion times of calls by id."""
    found: dict[tuple[str, str], float] = {}
    for entry in shown:
        kind, time = string(entry.get("type")), seconds_of_any(entry.get("timestamp"))
        if kind in (REQUESTED, COMPLETED) and time is not None:
            found.setdefault((kind, string(entry.get("callId"))), time)
    return found


def _chat_messages(value: Mapping[str, Any], times: Mapping[tuple[str, str], float], model: str) -> list[ChatMessage]:
    """Convert a message or timeline entry to chat messages."""
    if string(value.get("role")):
        is_call = value.get("role") == "assistant"
        calls = [string(call.get("id")) for call in objects(value.get("tool_calls"))]
        asked = (times.get((REQUESTED, call)) for call in calls)
        time = seconds_of_any(value.get("timestamp")) or times.get((COMPLETED, string(value.get("tool_call_id"))))
        time = time or next((each for each in asked if each is not None), None)
        return [ChatMessage(value, time, is_call=is_call, model=model if is_call else "")]
    kind, time = string(value.get("type")), seconds_of_any(value.get("timestamp"))
    identifier = string(value.get("id"))
    if kind in SPEAKERS:
        by_name = {"role": SPEAKERS[kind], "content": string(value.get("text")) or string(value.get("content"))}
        is_call = kind == "copilot"
        return [ChatMessage(by_name, time, identifier, is_call=is_call, model=model if is_call else "")]
    if kind in (REQUESTED, COMPLETED):
        return _called(value, time, model)
    text = string(value.get("text")) or string(value.get("message")) or compact_json(dict(value))
    return [ChatMessage(notice(text), time, identifier)]


def _called(value: Mapping[str, Any], time: float | None, model: str) -> list[ChatMessage]:
    """Convert a timeline call and its result, if any."""
    call, name = string(value.get("callId")), string(value.get("name")) or string(value.get("toolTitle"))
    function = {"name": name, "arguments": value.get("arguments")}
    asked = {"role": "assistant", "tool_calls": [{"id": call, "type": "function", "function": function}]}
    made = [ChatMessage(asked, time, string(value.get("id")), is_call=True, model=model)]
    if value.get("type") == COMPLETED:
        result = value.get("result")
        text = mapping(result).get("log") or result
        phrase = text if isinstance(text, str) else "" if text is None else compact_json(text)
        is_error = mapping(result).get("type") in ("failure", "rejected", "denied", "error")
        made.append(ChatMessage({"role": "tool", "tool_call_id": call, "content": phrase, "is_error": is_error}, time))
    return made
