"""Read ATIF, the Agent Trajectory Interchange Format of the Harbor framework, versions 1.0 to 1.8.

Specified by `harbor/models/trajectories` in the harbor package and by the models in the atif package.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from inspector.session.files import is_file
from inspector.session.format import Format
from inspector.session.formats.chat import TOOLS, ChatMessage, ChatThread, blocks_of_chat, blocks_of_definition, notice
from inspector.session.json import (
    clean_text,
    count,
    lenient_json,
    mapping,
    object_nodes,
    objects,
    seconds_of_any,
    string,
)
from inspector.session.json_reader import JsonReader, LinkedDocument, LinkedDocuments
from inspector.session.model import Compaction, ContextCause, LinkKind, Message, Origin, Role, SessionLink, Usage
from inspector.session.reader import DocumentInterpreter, Reader
from inspector.session.usage_fields import ATIF

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from inspector.session.blocks import TextBlock
    from inspector.session.builder import SessionBuilder
    from inspector.session.json import Fields, Node
    from inspector.session.sniff import Sample


def is_trajectory(value: Any) -> bool:
    """Return True for a trajectory: by its schema version, or by steps specific to this format."""
    about = mapping(value)
    if not isinstance(about.get("steps"), list):
        return False
    if string(about.get("schema_version")).upper().startswith("ATIF"):
        return True
    steps = objects(about["steps"][:20])
    return "agent" in about and bool(steps) and all("step_id" in step and "source" in step for step in steps)


CONTINUATION = re.compile(r"(?P<name>.+)\.cont-\d+(?P<suffix>\.json)")
"""File names that Harbor gives to continued trajectories."""


class AtifFormat(Format):
    """Harbor trajectories."""

    name = "atif"
    title = "ATIF (Harbor trajectories)"
    exact = "tokens of every step with one call and metrics"

    def recognize(self, sample: Sample) -> str:
        document = sample.only_value
        if not is_trajectory(document):
            return ""
        version = string(document.get("schema_version")) or "ATIF (no version)"
        return f"a JSON document with schema {version} and {len(document['steps'])} steps"

    def reader(self, path: Path) -> Reader:
        linked = LinkedDocuments()
        return JsonReader(path, self.name, lambda: AtifInterpreter(path, linked), linked=linked)

    def is_copy(self, path: Path) -> bool:
        """Return True for a continuation, which is read with the trajectory it continues."""
        found = CONTINUATION.fullmatch(path.name)
        return found is not None and is_file(path.with_name(f"{found['name']}{found['suffix']}"))


SPEAKERS = {"system": "system", "user": "user", "agent": "assistant"}


def chat_messages(step: Mapping[str, Any], model: str = "") -> list[ChatMessage]:
    """Return a step's messages in order. A copied step is a call if marked as one and with usage."""
    time = seconds_of_any(step.get("timestamp"))
    is_copied = step.get("is_copied_context") is True
    role = SPEAKERS.get(string(step.get("source")))
    if role is None:
        return [ChatMessage(notice(f"step with unknown source: {content_of(step.get('message'))}"), time)]
    value: dict[str, Any] = {"role": role, "content": content_of(step.get("message"))}
    calls = objects(step.get("tool_calls")) if role == "assistant" else []
    if role == "assistant":
        value["content"] = value["content"] or None
        value["reasoning_content"] = string(step.get("reasoning_content")) or None
        value["tool_calls"] = [_call(call) for call in calls]
    is_counted = not is_copied or (step.get("llm_call_count") == 1 and bool(mapping(step.get("metrics"))))
    is_call = role == "assistant" and step.get("llm_call_count") != 0 and is_counted
    parts = [
        ChatMessage(
            value,
            time,
            is_call=is_call,
            model=string(step.get("model_name")) or model,
            usage=usage_of(step) if is_call else None,
            is_inherited=is_copied,
        )
    ]
    is_silent = not value["content"] and not value.get("tool_calls") and not value.get("reasoning_content")
    if is_silent and not is_call and step.get("observation"):
        parts = []
    results = objects(mapping(step.get("observation")).get("results"))
    is_ordered = len(results) == len(calls) and not any(result.get("source_call_id") for result in results)
    for place, result in enumerate(results):
        own = calls[place : place + 1] if is_ordered else calls
        parts.append(ChatMessage(_result(result, own, role), time, is_inherited=is_copied))
    return parts


def content_of(message: Any) -> Any:
    """Convert a message to chat content. Images and audio are files next to the trajectory."""
    if not isinstance(message, list):
        return string(message)
    parts = []
    for part in objects(message):
        source = mapping(part.get("source"))
        if part.get("type") in ("image", "audio"):
            place = {"media_type": source.get("media_type"), "url": string(source.get("path"))}
            parts.append({"type": "image" if part["type"] == "image" else "document", "source": place})
        else:
            parts.append(part)
    return parts


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": call.get("function_name"), "arguments": call.get("arguments", {})}
    return {"id": call.get("tool_call_id"), "function": function}


def _result(result: Mapping[str, Any], calls: list[dict[str, Any]], role: str) -> dict[str, Any]:
    """Convert a tool result. Without a call id it belongs to the only call in `calls`, if there is just one."""
    content = content_of(result.get("content"))
    call = string(result.get("source_call_id"))
    if not call and len(calls) == 1:
        call = string(calls[0].get("tool_call_id"))
    if not call and role != "assistant":
        return {"role": role, "content": content}
    return {"role": "tool", "tool_call_id": call, "content": content}


def usage_of(step: Mapping[str, Any]) -> Usage | None:
    """Return a step's usage, with cache reads in its prompt; None for several calls: they cannot be separated."""
    metrics = mapping(step.get("metrics"))
    if not metrics or is_aggregate(step):
        return None
    extra = mapping(metrics.get("extra"))
    prompt, read = count(metrics.get("prompt_tokens")), count(metrics.get("cached_tokens"))
    written = count(extra.get("cache_creation_input_tokens")) or count(extra.get("cache_write_tokens"))
    hour = count(mapping(extra.get("cache_creation")).get("ephemeral_1h_input_tokens"))
    written = min(max(written, hour), max(prompt - read, 0))
    usage = Usage(
        uncached=max(prompt - read - written, 0),
        cache_read=read,
        cache_write_5m=max(written - hour, 0),
        cache_write_1h=min(hour, written),
        output=count(metrics.get("completion_tokens")),
        reasoning=count(extra.get("reasoning_tokens")) or count(extra.get("reasoning_output_tokens")),
    )
    return ATIF.check(usage.unless_zero(), metrics)


def is_aggregate(step: Mapping[str, Any]) -> bool:
    """Return True if a step's metrics cover several calls."""
    return count(step.get("llm_call_count")) > 1


def count_step(builder: SessionBuilder, step: Mapping[str, Any]) -> None:
    builder.record_counts[f"step:{string(step.get('source')) or '(no source)'}"] += 1


MessageKey = tuple[Role, tuple[bytes, ...]]


def begin_continuation(
    builder: SessionBuilder, chat: ChatThread, tools: Node | None, steps: list[Node], file: int
) -> int:
    """Begin the context of a continuation; return how many of its copied steps the trajectory has already."""
    known: dict[MessageKey, list[int]] = {}
    for index, message in enumerate(builder.messages):
        if message.thread == chat.number:
            known.setdefault(_message_key(message), []).append(index)
    copied: list[Message] = []
    if (defining := chat.tool_definitions(tools, file)) is not None:
        copied.append(defining)
    taken = 0
    for item in steps:
        step = item.value()
        if not isinstance(step, dict) or step.get("is_copied_context") is not True:
            break
        count_step(builder, step)
        parts = chat.messages(chat_messages(step), Origin(item.offset, item.length, 0, file))
        copied += [message for message in parts if message.role is not Role.OTHER]
        taken += 1
    first = len(builder.messages)
    members = []
    for message in copied:
        places = known.get(_message_key(message))
        members.append(places.pop(0) if places else chat.add(message, is_sent=False))
    chat.begin(ContextCause.COMPACTION, members)
    builder.compactions.append(Compaction(first, trigger="continuation"))
    return taken


def _message_key(message: Message) -> MessageKey:
    return message.role, tuple(block.digest for block in message.blocks)


MOST_DEPTH = 8
"""Nesting limit; deeper subagents are skipped."""

CONTINUED = "continued_trajectory_ref"


class AtifInterpreter(DocumentInterpreter):
    """Builds a session from a trajectory."""

    def __init__(self, path: Path, linked: LinkedDocuments) -> None:
        """Initialize with the trajectory file, next to which subagents are searched, and its continuations."""
        super().__init__()
        self._path = path
        self._linked = linked

    def take_document(self, document: Node) -> None:
        fields = document.fields()
        agent = mapping(fields.value_of("agent"))
        self.builder.agent = " ".join(filter(None, (string(agent.get("name")), string(agent.get("version")))))
        _Trajectories(self.builder, self._path, self._linked).add(document, 0)

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
        value = lenient_json(record)[0]
        if origin.locator == TOOLS:
            return blocks_of_definition(value, record, origin.offset, origin.length, TOOLS)
        if isinstance(value, str):
            return blocks_of_chat([_continued(value)], origin)
        return blocks_of_chat(chat_messages(mapping(value)), origin)


def _continued(path: str) -> ChatMessage:
    return ChatMessage(notice(clean_text(f"continued in {path}")))


class _Trajectories:
    """Adds trajectories to a session, each as a separate conversation."""

    def __init__(self, builder: SessionBuilder, path: Path, others: LinkedDocuments) -> None:
        self._builder = builder
        self._path = path
        self._folder = path.parent
        self._others = others
        self._count = 0

    def add(self, node: Node, depth: int, file: int = 0) -> None:
        fields = node.fields()
        chat = ChatThread(self._builder, self._count)
        self._count += 1
        if depth == 0:
            names = [string(fields[name].value()) for name in ("session_id", "trajectory_id") if name in fields]
            self._builder.identifier = next(filter(None, names), "")
        if (defining := chat.tool_definitions(_agent(fields).get("tool_definitions"), file)) is not None:
            chat.add(defining)
        self._steps(fields.items_of("steps"), chat, _model(fields), file)
        self._subagents(fields, depth, file)
        seen = {self._path.resolve()}
        while CONTINUED in fields and isinstance(place := fields[CONTINUED].value(), str) and place:
            following = self._following(place, seen) if depth == 0 else None
            if following is None:
                there = fields[CONTINUED]
                chat.add_record([_continued(place)], Origin(there.offset, there.length, 0, file))
                break
            file, fields = following.number, following.node.fields()
            self._builder.record_counts["continuation"] += 1
            steps = fields.items_of("steps")
            first = begin_continuation(self._builder, chat, _agent(fields).get("tool_definitions"), steps, file)
            self._steps(steps[first:], chat, _model(fields), file, is_continued=True)
            self._subagents(fields, depth, file)

    def _following(self, place: str, seen: set[Path]) -> LinkedDocument | None:
        """Open the continuation file if it is in the trajectory's folder or below."""
        if "://" in place or "\x00" in place:
            return None
        path = (self._folder / place).resolve()
        if path in seen or not path.is_relative_to(self._folder.resolve()):
            return None
        seen.add(path)
        found = self._others.open(path)
        return found if found is not None and is_trajectory(found.node.value()) else None

    def _subagents(self, fields: Fields, depth: int, file: int) -> None:
        for one in fields.items_of("subagent_trajectories"):
            if depth < MOST_DEPTH:
                self.add(one, depth + 1, file)
            else:
                self._builder.diagnose("subagents nested too deeply", 0, max(one.offset, 0), skipped=True)

    def _steps(
        self, items: list[Node], chat: ChatThread, model: str, file: int = 0, *, is_continued: bool = False
    ) -> None:
        copied: list[int] | None = None if is_continued else []
        for item, step in object_nodes(items, "a step", self._builder):
            count_step(self._builder, step)
            if is_aggregate(step) and step.get("metrics"):
                reason = "metrics of several calls combined, which cannot be separated"
                self._builder.diagnose(reason, 0, max(item.offset, 0), skipped=False)
            is_copied = step.get("is_copied_context") is True
            if copied and not is_copied:
                _continue(self._builder, chat, copied[0])
                copied = None
            added = chat.add_record(chat_messages(step, model), Origin(item.offset, item.length, 0, file))
            self._link(step)
            if copied is not None and is_copied:
                copied += added
            elif string(step.get("source")) != "system":
                copied = None

    def _link(self, step: Mapping[str, Any]) -> None:
        """Link the subagent files started by a step. Embedded subagents are read with this file."""
        for result in objects(mapping(step.get("observation")).get("results")):
            for reference in objects(result.get("subagent_trajectory_ref")):
                place = string(reference.get("trajectory_path"))
                name = string(reference.get("trajectory_id")) or string(reference.get("session_id")) or place
                if place and name:
                    path = self._folder / place if "://" not in place and "\x00" not in place else None
                    call = string(result.get("source_call_id"))
                    self._builder.link(SessionLink(LinkKind.SUBAGENT, name, path, call))


def _agent(fields: Fields) -> Fields:
    return fields.fields_of("agent")


def _model(fields: Fields) -> str:
    return string(_agent(fields).value_of("model_name"))


def _continue(builder: SessionBuilder, chat: ChatThread, first: int) -> None:
    """Begin a new context after the steps copied from a compacted trajectory."""
    chat.begin(ContextCause.COMPACTION, list(chat.members))
    builder.compactions.append(Compaction(first, trigger="continuation"))


FORMATS = (AtifFormat(),)
