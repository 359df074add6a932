"""Read the files of OpenHands version 0: event folders, trajectories, and evaluation results."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from inspector.session.directory_reader import DirectoryReader
from inspector.session.errors import SessionError
from inspector.session.files import Locator, is_folder, open_for_reading
from inspector.session.format import ContainedSession, named_sessions
from inspector.session.formats.chat import ChatMessage, blocks_of_chat, notice, usage_of
from inspector.session.formats.openhands.reader import Accumulated, EventThread
from inspector.session.formats.openhands.records import (
    QUIET_ACTIONS,
    QUIET_OBSERVATIONS,
    VERSION_0,
    events_folder,
    has_history,
    number_in,
)
from inspector.session.json.codec import compact_json, lenient_json
from inspector.session.json.lines import ObjectDecoder
from inspector.session.json.nodes import FileNode, object_nodes
from inspector.session.json.values import count, mapping, objects, seconds_of_any, sequence, string
from inspector.session.json_reader import JsonReader
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.model import Origin, Role
from inspector.session.reader import Record, RecordInterpreter
from inspector.session.sniff import Sample

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from inspector.session.blocks import TextBlock
    from inspector.session.builder import SessionBuilder
    from inspector.session.json.nodes import Node
    from inspector.session.reader import Reader


OF_ACTION = frozenset({"action", "cause", "id", "llm_metrics", "message", "source", "timestamp", "tool_call_metadata"})
"""Event fields that are metadata, not arguments."""

NOT_ARGUMENTS = frozenset(
    {"action_risk", "blocking", "confirmation_state", "cwd", "final_thought", "hidden", "impl_source", "is_confirmed"}
    | {"is_input", "is_static", "keep_prompt", "kernel_init_code", "security_risk", "thought"}
)
"""Arguments of actions that the model did not provide."""


def chat_message(event: Mapping[str, Any], *, is_first: bool = False) -> ChatMessage | None:
    """Convert an event to a chat message; None if it has none.

    Args:
        event: The event.
        is_first: True for the first event. Early versions do not mark its message as the user's.
    """
    time = seconds_of_any(event.get("timestamp"))
    if isinstance(event.get("observation"), str):
        return _observation(event, time)
    action = string(event.get("action"))
    args = mapping(event.get("args")) or {name: value for name, value in event.items() if name not in OF_ACTION}
    if action in QUIET_ACTIONS:
        return None
    if action == "system":
        tools = sequence(args.get("tools"))
        parts = [{"type": "text", "text": compact_json(tools)}] if tools else []
        return ChatMessage({"role": "system", "content": [*parts, _text(args.get("content"))]}, time)
    if action == "condensation":
        summary = args.get("summary")
        if not isinstance(summary, str):
            return None
        return ChatMessage({"role": "user", "content": summary}, time, is_summary=True, is_meta=True)
    source = string(event.get("source"))
    if action == "message" and (source == "user" or (is_first and not source)):
        urls = sequence(args.get("image_urls")) or sequence(args.get("images_urls"))
        images = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
        content = [_text(args.get("content")), *images] if images else string(args.get("content"))
        return ChatMessage({"role": "user", "content": content}, time)
    if not action or source in ("user", "environment"):
        return ChatMessage(notice(string(event.get("message")) or compact_json(dict(event))), time)
    return _answer(event, action, args, time)


MOST_FORGOTTEN = 1 << 20


def response_of(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the model response behind an action; empty if not recorded."""
    return mapping(mapping(event.get("tool_call_metadata")).get("model_response"))


def call_id(event: Mapping[str, Any]) -> str:
    own = string(mapping(event.get("tool_call_metadata")).get("tool_call_id"))
    number = event.get("cause") if isinstance(event.get("observation"), str) else event.get("id")
    return own or (f"event-{number}" if isinstance(number, int) else "")


def _answer(event: Mapping[str, Any], action: str, args: Mapping[str, Any], time: float | None) -> ChatMessage:
    response = response_of(event)
    reported = mapping(mapping(next(iter(objects(response.get("choices"))), {})).get("message"))
    value: dict[str, Any] = {
        "role": "assistant",
        "reasoning_content": string(reported.get("reasoning_content")) or None,
    }
    if action == "message":
        value["content"] = string(args.get("content"))
    else:
        thought = args.get("thought")
        text = string(thought) if not isinstance(thought, dict) else string(thought.get("text"))
        value["content"] = text or None
        value["tool_calls"] = [{"id": call_id(event), "function": _function(event, action, args, reported)}]
    return ChatMessage(
        value,
        time,
        identifier=string(response.get("id")),
        is_call=True,
        model=string(response.get("model")),
        usage=usage_of(response.get("usage")),
    )


def _function(
    event: Mapping[str, Any], action: str, args: Mapping[str, Any], function: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return the call as made by the model if recorded, otherwise the resulting action."""
    for call in objects(function.get("tool_calls")):
        if call.get("id") == call_id(event) and isinstance(call.get("function"), dict):
            return mapping(call["function"])
    name = string(mapping(event.get("tool_call_metadata")).get("function_name")) or action
    return {"name": name, "arguments": {key: value for key, value in args.items() if key not in NOT_ARGUMENTS}}


def _observation(event: Mapping[str, Any], time: float | None) -> ChatMessage | None:
    kind = string(event.get("observation"))
    if kind in QUIET_OBSERVATIONS:
        return None
    if kind in ("condense", "recall"):
        return ChatMessage(notice(string(event.get("message")) or string(event.get("content")) or kind), time)
    extras = mapping(event.get("extras"))
    urls = sequence(event.get("image_urls")) or sequence(extras.get("image_urls"))
    images = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    text = string(event.get("content"))
    content: Any = [{"type": "text", "text": text}, *images] if images else text
    value = {"role": "tool", "tool_call_id": call_id(event), "content": content, "is_error": kind == "error"}
    return ChatMessage(value, time)


def _text(value: Any) -> dict[str, Any]:
    return {"type": "text", "text": string(value)}


class OpenHands0Interpreter(RecordInterpreter):
    """Builds a session from events or a whole conversation."""

    record_name = "an event"

    def __init__(self, builder: SessionBuilder | None = None) -> None:
        super().__init__(builder)
        self.builder.agent = "OpenHands"
        self._thread = EventThread(self.builder)
        self._sums = Accumulated()
        self._count = 0
        self._last_call = ""

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
        # The first message is attributed to the user, and only user messages have images.
        chat = chat_message(mapping(lenient_json(record)[0]), is_first=True)
        return blocks_of_chat([chat], origin) if chat is not None else []

    def take_document(self, document: Node) -> None:
        """Read a list of events, or an object with its history."""
        value = document.value()
        if not isinstance(value, dict):
            super().take_document(document)
            return
        self.add_history(document, value)
        self.builder.identifier = name_of(value, 0) if name_of(value, 0) != "line-0" else ""

    def add_history(self, node: Node, value: Mapping[str, Any]) -> None:
        self.builder.title = string(mapping(value.get("issue")).get("title"))
        fields = node.fields()
        events = _events(fields.items_of("history"))
        for item, event in object_nodes(events, self.record_name, self.builder):
            self.add(Record(event, item.raw(), item.offset))

    def add(self, record: Record) -> None:
        event, origin = record.value, record.origin
        self._count += 1
        observation = event.get("observation")
        name = f"observation:{observation}" if isinstance(observation, str) else f"action:{event.get('action')}"
        self.builder.record_counts[name] += 1
        chat, identifier = chat_message(event, is_first=not self.builder.messages), str(event.get("id"))
        if event.get("action") == "condensation":
            args = mapping(event.get("args"))
            self._thread.condense(chat, origin, _forgotten(args), count(args.get("summary_offset")))
        elif chat is not None and chat.is_call:
            self._respond(event, chat, origin, identifier)
        elif chat is not None:
            if chat.role is Role.TOOL and not chat.value.get("tool_call_id"):
                chat = replace(chat, value={**chat.value, "tool_call_id": self._last_call})
            self._thread.add_event_message(chat, origin, identifier)

    def _respond(self, event: Mapping[str, Any], chat: ChatMessage, origin: Origin, identifier: str) -> None:
        """Add an action of a response. Early versions have no call ids; results are matched by order."""
        value = dict(chat.value)
        if value.get("tool_calls"):
            self._last_call = call_id(event) or f"event-{self._count}"
            (call,) = value["tool_calls"]
            value["tool_calls"] = [{**call, "id": self._last_call}]
        usage = self._sums.added(mapping(event.get("llm_metrics")).get("accumulated_token_usage"))
        response = string(response_of(event).get("id"))
        if self._thread.is_open(response):
            value["reasoning_content"] = None
        chat = replace(chat, value=value, usage=chat.usage if chat.usage is not None else usage)
        self._thread.answer(chat, origin, identifier, response)


def _forgotten(args: Mapping[str, Any]) -> list[str]:
    """Return the ids of forgotten events, listed individually or as a range."""
    named = [str(one) for one in sequence(args.get("forgotten_event_ids"))]
    first, last = args.get("forgotten_events_start_id"), args.get("forgotten_events_end_id")
    if not named and isinstance(first, int) and isinstance(last, int):
        return [str(one) for one in range(first, min(last, first + MOST_FORGOTTEN) + 1)]
    return named


class Lines0Interpreter(RecordInterpreter):
    """Builds a session from lines: events of one conversation, or whole conversations with one selected."""

    def __init__(self, session: str = "") -> None:
        """Initialize with a conversation's name; if empty, the last (newest) conversation is selected."""
        super().__init__()
        self._session = session
        self._events: OpenHands0Interpreter | None = None
        self._chosen: Record | None = None
        self._counted: Counter[str] = Counter()
        self._is_settled = True

    blocks_of_record = staticmethod(OpenHands0Interpreter.blocks_of_record)

    def add(self, record: Record) -> None:
        if has_history(record.value):
            self.builder.record_counts["conversation"] += 1
            if self._session in ("", name_of(record.value, record.line)):
                self._chosen, self._is_settled = record, False
            return
        self._events = self._events or OpenHands0Interpreter(self.builder)
        self._events.add(record)

    def settle(self) -> None:
        if self._is_settled or self._chosen is None:
            return
        counts = self.builder.record_counts
        chosen, fresh = self._chosen, OpenHands0Interpreter()
        fresh.add_history(FileNode(chosen.data, chosen.offset), chosen.value)
        made = fresh.builder
        self.builder.replace_all(made.complete_messages(), made.calls, made.contexts, made.compactions)
        self.builder.identifier = name_of(chosen.value, chosen.line)
        self.builder.agent, self.builder.title = made.agent, made.title
        counts.subtract(self._counted)
        counts.update(made.record_counts)
        self._counted = made.record_counts
        for name in [name for name, left in counts.items() if not left]:
            del counts[name]
        self._is_settled = True


def reader_0(path: Path, name: str) -> Reader:
    """Return a reader for a conversation.

    Raises:
        SessionError: There are no events.
    """
    locator = Locator.of(path)
    if not is_folder(locator.file):
        if Sample(locator.file).is_lines:
            if locator.session and locator.session not in {
                one.identifier for one in conversations_inside(locator.file)
            }:
                raise SessionError(
                    f"{path}: no conversation {locator.session}. Give only the path to open the last one."
                )
            return JsonlReader(path, name, Lines0Interpreter(locator.session))
        return JsonReader(path, name, OpenHands0Interpreter)
    folder = events_folder(path, VERSION_0)
    if folder is None:
        raise SessionError(f"{path}: no events in this directory. Give the folder of one conversation.")
    interpreter = OpenHands0Interpreter()
    interpreter.builder.identifier = (folder.parent if folder.name == "events" else folder).name
    return DirectoryReader(path, folder, name, lambda one: number_in(one, VERSION_0), interpreter)


def conversations_inside(path: Path) -> Sequence[ContainedSession]:
    """List the conversations of a results file, newest first; empty if it has at most one.

    Raises:
        SessionError: The file cannot be read.
    """
    if not Sample(path).is_lines or not any(map(has_history, Sample(path).records)):
        return ()
    titles = []
    with open_for_reading(path) as file:
        data = file.read()
    for line in ObjectDecoder().lines(data):
        if line.value is not None and has_history(line.value):
            title = string(mapping(line.value.get("issue")).get("title"))
            titles.append((name_of(line.value, line.number + 1), title))
    return named_sessions(path, titles)


def name_of(value: Mapping[str, Any], line: int) -> str:
    """Return the name of a conversation in a results file."""
    number = mapping(value.get("issue")).get("number")
    named = string(value.get("instance_id")) or (f"issue-{number}" if isinstance(number, int) else "")
    return named.replace("/", "-") or f"line-{line}"


def _events(items: Sequence[Node]) -> Iterator[Node]:
    """Yield the events of a history; early versions nest each action and its observation in a pair."""
    for item in items:
        inner = item.items()
        if inner:
            yield from inner
        else:
            yield item
