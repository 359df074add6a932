"""Read the events of OpenHands' current versions from a folder, JSONL, or a list, and the files of version 0."""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING, Any

from msgspec import structs

from inspector.errors import SessionError
from inspector.session.directory_reader import DirectoryReader
from inspector.session.files import Locator, is_folder, open_for_reading
from inspector.session.format import ContainedSession, named_sessions
from inspector.session.formats.chat import ChatMessage, ChatThread, blocks_of_chat, notice, usage_of
from inspector.session.formats.openhands import (
    CURRENT,
    QUIET,
    QUIET_ACTIONS,
    QUIET_OBSERVATIONS,
    RESULTS,
    VERSION_0,
    conversation_of,
    events_folder,
    has_history,
    number_in,
    state_of,
)
from inspector.session.json import (
    FileNode,
    ObjectDecoder,
    clean_string,
    clean_text,
    compact_json,
    count,
    lenient_json,
    mapping,
    object_nodes,
    objects,
    seconds_of_any,
    sequence,
    string,
)
from inspector.session.json_reader import JsonReader, SidecarFile
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.model import Block, BlockKind, Compaction, Origin, Role, SideCall, Usage
from inspector.session.reader import Reader, Record, RecordInterpreter
from inspector.session.sniff import Sample
from inspector.session.usage_fields import OPENHANDS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from inspector.session.blocks import TextBlock
    from inspector.session.builder import SessionBuilder
    from inspector.session.json import Node


class EventThread(ChatThread):
    """A conversation of events. It maps messages to events, because condensations refer to events."""

    def __init__(self, builder: SessionBuilder) -> None:
        super().__init__(builder)
        self._responses: dict[str, int] = {}  # the response that may receive more actions
        self._events: dict[int, list[str]] = {}
        self._summaries: set[int] = set()
        self._called: dict[int, set[str]] = {}
        self._answered: dict[int, str] = {}

    def add_event_message(self, chat: ChatMessage, origin: Origin, event: str) -> None:
        if chat.role in (Role.USER, Role.TOOL):
            # All actions of a response precede its results; gateways repeat response ids.
            self._responses.clear()
        for index in self.add_record([chat], origin):
            self._note(index, event, self._builder.messages[index].blocks)

    def is_open(self, response: str) -> bool:
        """Return True if the last message belongs to this response, so that further actions extend it."""
        return response in self._responses

    def answer(self, chat: ChatMessage, origin: Origin, event: str, response: str) -> None:
        """Add an action of a response (empty if not recorded); its actions form one message."""
        (message,) = self.messages([chat], origin)
        if self.is_open(response):
            index = self._responses[response]
            self._builder.add_blocks(index, list(message.blocks))
        else:
            index = self.put(chat, message)
            self._responses = {response: index} if response else {}
        self._note(index, event, message.blocks)

    def condense(self, chat: ChatMessage | None, origin: Origin, forgotten: Collection[str], offset: int) -> None:
        """Begin the context left by a condensation; `offset` counts the events sent before its summary."""
        gone = set(forgotten)
        left = [
            index
            for index in self.members
            if index not in self._summaries and gone.isdisjoint(self._events.get(index, ()))
        ]
        before: list[int] = []
        counted = 0
        for index in left:
            if counted >= offset:
                break
            before.append(index)
            counted += len(self._events.get(index, [""]))
        unpaired = self._unpaired(left)
        kept = [index for index in left[len(before) :] if index not in unpaired]
        before = [index for index in before if index not in unpaired]
        summary = self.messages([chat], origin)[0] if chat is not None else None
        compaction = Compaction(0, "auto", time=chat.time if chat is not None else None)
        first = self.compact(compaction, summary, kept, before)
        if summary is not None:
            self._summaries.add(first)

    def _note(self, message: int, event: str, blocks: Iterable[Block]) -> None:
        """Record the event that a message or these blocks of it came from."""
        self._events.setdefault(message, []).append(event)
        for block in blocks:
            if block.kind is BlockKind.TOOL_CALL and block.tool_call_id:
                self._called.setdefault(message, set()).add(block.tool_call_id)
            elif block.kind is BlockKind.TOOL_RESULT and block.tool_call_id:
                self._answered[message] = block.tool_call_id

    def _unpaired(self, left: Collection[int]) -> set[int]:
        """Return responses with a forgotten result, and results of calls that are not sent."""
        once, still = set(self._answered.values()), {self._answered.get(index, "") for index in left}
        cut = {index for index in left if (self._called.get(index, set()) & once) - still}
        called = {call for index in left if index not in cut for call in self._called.get(index, ())}
        return cut | {index for index in left if index in self._answered and self._answered[index] not in called}


FIELDS = ("prompt_tokens", "completion_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")


def usage_of_tokens(tokens: Mapping[str, Any]) -> Usage | None:
    """Convert a token record with cache reads in its prompt, and writes unless it is less than both."""
    prompt, output, read, written, reasoning = (count(tokens.get(name)) for name in FIELDS)
    uncached = max(prompt - read - (written if prompt >= read + written else 0), 0)
    usage = Usage(
        uncached=uncached, cache_read=read, cache_write_5m=written, output=output, reasoning=min(reasoning, output)
    )
    return OPENHANDS.check(usage.unless_zero(), tokens)


class Accumulated:
    """The last values of accumulated token counts."""

    def __init__(self) -> None:
        self._before: dict[str, int] = dict.fromkeys(FIELDS, 0)
        self._seen: set[tuple[int, ...]] = set()

    def added(self, sums: Any) -> Usage | None:
        """Return the increase since the last call; None if there is none or it covers several calls.

        Earlier values may be repeated, and not only the last ones: they add nothing.

        `per_turn_token` is the size of the latest call; if it differs from the increase, calls were missed.
        """
        tokens = mapping(sums)
        now = {name: count(tokens.get(name)) for name in FIELDS}
        if tuple(now.values()) in self._seen:
            return None
        self._seen.add(tuple(now.values()))
        new = {name: now[name] - self._before[name] for name in FIELDS}
        self._before = now
        newest = count(tokens.get("per_turn_token"))
        if any(value < 0 for value in new.values()) or not any(new.values()):
            return None
        if newest and newest != new["prompt_tokens"] + new["completion_tokens"]:
            return None
        return usage_of_tokens(new)


def chat_message(event: Mapping[str, Any]) -> ChatMessage | None:
    kind = string(event.get("kind"))
    time = seconds_of_any(event.get("timestamp"))
    identifier = string(event.get("id"))
    if kind in QUIET:
        return None
    if kind == "SystemPromptEvent":
        return ChatMessage({"role": "system", "content": _system(event)}, time, identifier)
    if kind == "MessageEvent":
        return _message(event, time)
    if kind == "ActionEvent":
        return ChatMessage(_action(event), time, string(event.get("llm_response_id")) or identifier, is_call=True)
    if kind in RESULTS:
        return ChatMessage(_result(event, kind), time, identifier)
    if kind == "Condensation":
        summary = event.get("summary")
        if not isinstance(summary, str):
            return None
        return ChatMessage({"role": "user", "content": summary}, time, identifier, is_summary=True, is_meta=True)
    text = string(event.get("detail")) or string(event.get("message")) or compact_json(dict(event))
    return ChatMessage(notice(f"{kind or 'event without a kind'}: {text}"), time, identifier)


def parts_of(content: Any) -> Any:
    """Convert content to chat content; images are stored as URL lists."""
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return string(content)
    parts: list[Any] = []
    for part in content:
        if isinstance(part, dict) and isinstance(part.get("image_urls"), list):
            parts += [{"type": "image_url", "image_url": {"url": url}} for url in part["image_urls"]]
        else:
            parts.append(part)
    return parts


def _system(event: Mapping[str, Any]) -> list[Any]:
    tools = sequence(event.get("tools"))
    phrases = [parts_of(event.get(name)) for name in ("system_prompt", "dynamic_context") if event.get(name)]
    parts = [{"type": "text", "text": compact_json(tools)}] if tools else []
    for one in phrases:
        parts += one if isinstance(one, list) else [{"type": "text", "text": one}]
    return parts


def _message(event: Mapping[str, Any], time: float | None) -> ChatMessage:
    message = mapping(event.get("llm_message"))
    content = parts_of(message.get("content"))
    further = parts_of(event.get("extended_content") or [])
    if further:
        content = [*(content if isinstance(content, list) else [{"type": "text", "text": content}]), *further]
    is_answer = event.get("source") == "agent" or message.get("role") == "assistant"
    value: dict[str, Any] = {"role": "assistant" if is_answer else "user", "content": content}
    if is_answer:
        value = {**value, **_reasoning({**event, **message})}
        value["content"] = [*value.pop("thought", []), *(content if isinstance(content, list) else [])] or content
    identifier = string(event.get("llm_response_id")) or string(event.get("id"))
    is_meta = event.get("source") in ("environment", "hook")
    return ChatMessage(value, time, identifier, is_call=is_answer, is_meta=is_meta)


def _action(event: Mapping[str, Any]) -> dict[str, Any]:
    call = mapping(event.get("tool_call"))
    function = mapping(call.get("function")) or call
    action = {name: value for name, value in mapping(event.get("action")).items() if name != "kind"}
    arguments = function.get("arguments", action)
    name = string(event.get("tool_name")) or string(function.get("name"))
    identifier = string(event.get("tool_call_id")) or string(call.get("id"))
    reported = parts_of(event.get("thought"))
    reasoning = _reasoning(event)
    return {
        "role": "assistant",
        "reasoning_content": reasoning.get("reasoning_content"),
        "content": [
            *reasoning.get("thought", []),
            *(reported if isinstance(reported, list) else [reported] if reported else []),
        ],
        "tool_calls": [{"id": identifier, "function": {"name": name, "arguments": arguments}}],
    }


def _reasoning(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return signed thinking blocks, or otherwise the reported reasoning."""
    blocks = objects(event.get("thinking_blocks"))
    if blocks:
        return {"thought": blocks}
    item = mapping(event.get("responses_reasoning_item"))
    if item:
        text = "\n".join(part if isinstance(part, str) else "" for part in sequence(item.get("summary")))
        signature = string(item.get("encrypted_content"))
        return {"thought": [{"type": "thinking", "thinking": text, "signature": signature}]}
    text = string(event.get("reasoning_content"))
    return {"reasoning_content": text} if text else {}


def _result(event: Mapping[str, Any], kind: str) -> dict[str, Any]:
    value = {"role": "tool", "tool_call_id": string(event.get("tool_call_id")), "name": string(event.get("tool_name"))}
    if kind == "AgentErrorEvent":
        return {**value, "content": string(event.get("error")), "is_error": True}
    if kind == "UserRejectObservation":
        return {**value, "content": string(event.get("rejection_reason")), "is_error": True}
    observation = mapping(event.get("observation"))
    content = next((observation[name] for name in ("content", "output", "message") if name in observation), None)
    if content is None:
        content = compact_json({name: item for name, item in observation.items() if name != "kind"})
    is_error = observation.get("is_error") is True or bool(observation.get("error"))
    return {**value, "content": parts_of(content), "is_error": is_error}


CONDENSER = "condenser"
"""Usage name of the model that writes summaries, in calls outside the conversation."""

UNSEEN = "not recorded"
"""Purpose of agent calls without an event: the call was aborted, or its event is lost."""

ZONE_STEP = 900.0
"""Step of time zone offsets in seconds."""


class OpenHandsInterpreter(RecordInterpreter):
    """Builds a session from events."""

    record_name = "an event"

    def __init__(self, identifier: str = "") -> None:
        """Initialize with the conversation's id, if known from the path."""
        super().__init__()
        self.builder.agent = "OpenHands"
        self.builder.identifier = identifier
        self._thread = EventThread(self.builder)
        self._sums: dict[str, Accumulated] = {}
        self._reported: Usage | None = None
        self._model = ""
        self._own = ""  # usage name of the agent's own model, if the state has it
        self._listed: set[str] = set()  # usage names with individually listed calls in the state

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
        chat = chat_message(mapping(lenient_json(record)[0]))
        return blocks_of_chat([chat], origin) if chat is not None else []

    def add(self, record: Record) -> None:
        event, origin = record.value, record.origin
        kind = string(event.get("kind"))
        self.builder.record_counts[kind or "(no kind)"] += 1
        if event.get("key") == "stats":
            self._note_sums(mapping(event.get("value")))
        if event.get("key") == "full_state":
            self.take_state(event.get("value"))
        chat, identifier = chat_message(event), string(event.get("id"))
        if kind == "Condensation":
            forgotten = [one for one in sequence(event.get("forgotten_event_ids")) if isinstance(one, str)]
            self._thread.condense(chat, origin, forgotten, count(event.get("summary_offset")))
        elif chat is not None and chat.is_call:
            response = string(event.get("llm_response_id"))
            if not self._thread.is_open(response):
                chat = structs.replace(chat, model=self._model, usage=self._reported)
                self._reported = None
            self._thread.answer(chat, origin, identifier, response)
        elif chat is not None:
            self._thread.add_event_message(chat, origin, identifier)

    def take_state(self, about: Any) -> None:
        """Read the conversation's state: its id, model, and the usage of each response."""
        state = mapping(about)
        model = mapping(mapping(state.get("agent")).get("llm"))
        self._model = string(model.get("model")) or self._model
        self._own = string(model.get("usage_id")) or string(model.get("service_id")) or self._own
        self.builder.identifier = string(state.get("id")) or self.builder.identifier
        self.builder.title = string(state.get("title")) or self.builder.title
        folder = mapping(state.get("workspace")).get("working_dir")
        self.builder.working_directory = string(folder) or self.builder.working_directory
        known: dict[str, deque[Mapping[str, Any]]] = {}
        listed = dict(sorted(_metrics(state.get("stats")).items(), key=lambda item: self._is_side_usage(item[0])))
        for name, metrics in listed.items():
            for one in objects(metrics.get("token_usages")):
                known.setdefault(string(one.get("response_id")), deque()).append(one)
                if not self._is_side_usage(name):
                    self.builder.window = count(one.get("context_window")) or self.builder.window
        for index, call in enumerate(self.builder.calls):
            reports = known.get(call.identifier)
            tokens = reports.popleft() if reports else {}
            usage = usage_of_tokens(tokens) or call.usage
            name = call.model or string(tokens.get("model")) or self._model
            if (usage, name) != (call.usage, call.model):
                self.builder.calls[index] = structs.replace(call, usage=usage, model=name)
        ahead = self._events_ahead(listed.values())
        answered = Counter(call.identifier for call in self.builder.calls)
        for name, metrics in listed.items():
            self._list_side_calls(name, metrics, ahead, answered)

    def _is_side_usage(self, name: str) -> bool:
        """Return True for the condenser's usage name, or any other than the agent's own."""
        return name == CONDENSER or bool(self._own and name != self._own)

    def _events_ahead(self, listed: Iterable[Mapping[str, Any]]) -> float:
        """Return the offset in seconds of event times, which are local, from those of costs, in UTC."""
        of_call = {call.identifier: call.time for call in self.builder.calls if call.identifier and call.time}
        for metrics in listed:
            for response, time in _paid(metrics):
                if response in of_call:
                    return round((of_call[response] - time) / ZONE_STEP) * ZONE_STEP
        return 0.0

    def _list_side_calls(self, name: str, metrics: Mapping[str, Any], ahead: float, answered: Counter[str]) -> None:
        """Add a model's listed calls without an event as side calls; `answered` counts the events' responses by id."""
        usages = objects(metrics.get("token_usages"))
        if not usages:
            return
        self._listed.add(name)
        side, start = self.builder.side_calls, f"{name} "
        for key in [key for key in side if key.startswith(start)]:
            del side[key]
        times = dict(_paid(metrics))
        for place, one in enumerate(usages):
            response = clean_string(one.get("response_id"))
            usage = usage_of_tokens(one)
            if answered[response] > 0:
                answered[response] -= 1
                continue
            if usage is None:
                continue
            purpose = clean_text(name) if self._is_side_usage(name) else UNSEEN
            time = times[response] + ahead if response in times else None
            model = clean_string(one.get("model")) or self._model
            side[f"{start}{place} {response}"] = SideCall(purpose, model, time, usage, response)

    def _note_sums(self, stats: Any) -> None:
        for name, metrics in _metrics(stats).items():
            usage = self._sums.setdefault(name, Accumulated()).added(metrics.get("accumulated_token_usage"))
            if usage is None:
                continue
            model = string(metrics.get("model_name"))
            if self._is_side_usage(name):
                self._add_side_call(name, clean_text(name), clean_text(model), usage)
                continue
            self._model = model or self._model
            if self._reported is not None:
                # A second report before any event means that the first call's event was not recorded.
                self._add_side_call(name, UNSEEN, clean_text(self._model), self._reported)
            self._reported = usage

    def _add_side_call(self, name: str, purpose: str, model: str, usage: Usage) -> None:
        """Add a call without an event, unless the calls of that usage name are listed individually."""
        if name not in self._listed:
            key = f"{name} {len(self.builder.side_calls)}"
            self.builder.side_calls[key] = SideCall(purpose, model, None, usage)


def _paid(metrics: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Return response ids with payment times; empty if the costs do not match the responses."""
    usages, costs = objects(metrics.get("token_usages")), objects(metrics.get("costs"))
    if len(usages) != len(costs):
        return []
    times = (seconds_of_any(cost.get("timestamp")) for cost in costs)
    responses = (clean_string(one.get("response_id")) for one in usages)
    return [(response, time) for response, time in zip(responses, times, strict=True) if response and time is not None]


def _metrics(stats: Any) -> dict[str, Mapping[str, Any]]:
    """Return the metrics by usage name; the field's name depends on the version."""
    about = mapping(stats)
    named = mapping(about.get("usage_to_metrics")) or mapping(about.get("service_to_metrics"))
    return {str(name): mapping(metrics) for name, metrics in named.items()}


def current_reader(path: Path, name: str) -> Reader:
    """Return a reader for a conversation. Raises `SessionError` if there are no events."""
    place = conversation_of(path)
    if not is_folder(place):
        if Sample(path).is_lines:
            return JsonlReader(path, name, OpenHandsInterpreter())
        return JsonReader(path, name, OpenHandsInterpreter)
    folder = events_folder(place, CURRENT)
    if folder is None:
        raise SessionError(f"{path}: no events in this directory. Give the folder of one conversation.")
    interpreter = OpenHandsInterpreter((folder.parent if folder.name == "events" else folder).name)
    state = SidecarFile(state_of(folder))
    return DirectoryReader(
        path, folder, name, lambda one: number_in(one, CURRENT), interpreter, state, interpreter.take_state
    )


OF_ACTION = frozenset({"action", "cause", "id", "llm_metrics", "message", "source", "timestamp", "tool_call_metadata"})
"""Event fields that are metadata, not arguments."""

NOT_ARGUMENTS = frozenset(
    {"action_risk", "blocking", "confirmation_state", "cwd", "final_thought", "hidden", "impl_source", "is_confirmed"}
    | {"is_input", "is_static", "keep_prompt", "kernel_init_code", "security_risk", "thought"}
)
"""Arguments of actions that the model did not provide."""


def chat_message_of_version_0(event: Mapping[str, Any], *, is_first: bool = False) -> ChatMessage | None:
    """Convert an event, None without a message. Early versions do not mark the first as the user's."""
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
        chat = chat_message_of_version_0(mapping(lenient_json(record)[0]), is_first=True)
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
        chat, identifier = chat_message_of_version_0(event, is_first=not self.builder.messages), str(event.get("id"))
        if event.get("action") == "condensation":
            args = mapping(event.get("args"))
            self._thread.condense(chat, origin, _forgotten(args), count(args.get("summary_offset")))
        elif chat is not None and chat.is_call:
            self._respond(event, chat, origin, identifier)
        elif chat is not None:
            if chat.role is Role.TOOL and not chat.value.get("tool_call_id"):
                chat = structs.replace(chat, value={**chat.value, "tool_call_id": self._last_call})
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
        chat = structs.replace(chat, value=value, usage=chat.usage if chat.usage is not None else usage)
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
    """Return a reader for a conversation. Raises `SessionError` if there are no events."""
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
    """List a results file's conversations, newest first, if it has several. Raises `SessionError`."""
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
