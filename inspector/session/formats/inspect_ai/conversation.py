"""Putting a sample together: from the requests that its events hold, or from its messages where it has no events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import structs

from inspector.session.decoding import lenient_json
from inspector.session.formats.chat import chat_blocks
from inspector.session.formats.inspect_ai.messages import Attachments, chat_message, usage_of
from inspector.session.formats.inspect_ai.samples import name_of_sample, title_of
from inspector.session.formats.plain.conversation import Entry, PlainConversation
from inspector.session.formats.plain.entries import TOOLS, blocks_beside, role_of
from inspector.session.formats.plain.shapes import Request
from inspector.session.model import Compaction, ContextCause, Origin, Role
from inspector.session.times import seconds_of_any
from inspector.session.values import count_or_none, mapping, sequence, string

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inspector.session.assembly import Assembly
    from inspector.session.blocks import TextBlock
    from inspector.session.formats.plain.entries import Names
    from inspector.session.nodes import Node


class SampleConversation(PlainConversation):
    """Takes the requests of a sample in order and fills an assembly."""

    counts_entries = False

    def __init__(self, assembly: Assembly, attachments: Attachments) -> None:
        """Begin.

        Args:
            assembly: What to fill.
            attachments: What was moved out of the messages.
        """
        super().__init__(assembly)
        self._attachments = attachments

    def _entries(self, node: Node, about: dict[str, Any], names: Names) -> list[Entry]:  # noqa: ARG002  # results name their tool
        value = node.value()
        if not isinstance(value, dict):
            self._assembly.diagnose("not a message", 0, max(node.offset, 0), skipped=True)
            return []
        message = chat_message(mapping(self._attachments.resolved(value)))
        (blocks,) = chat_blocks([message], Origin(node.offset, node.length))
        return [Entry(node, role_of(message), blocks, {**about, "id": string(value.get("id"))})]

    def add_rest(self, messages: Sequence[Node]) -> None:
        """Add what stands behind the last answer: results that no later request has sent yet."""
        if not self._assembly.calls:
            return
        call = self._assembly.calls[-1]
        answer = self._assembly.messages[call.response].identifier
        ids = [string(node.fields()["id"].value()) if "id" in node.fields() else "" for node in messages]
        if not answer or answer not in ids:
            return
        number = self._assembly.contexts[call.context].thread
        thread = next(one for one in self._threads if one.number == number)
        for node in messages[ids.index(answer) + 1 :]:
            for entry in self._entries(node, {}, thread.names):
                if entry.role is not Role.ASSISTANT:
                    self._append(thread, entry, is_call=False)


def blocks_again(record: bytes, origin: Origin, attachments: Attachments) -> list[TextBlock]:
    """The blocks of a message that is read again."""
    value = lenient_json(record)[0]
    if origin.locator == TOOLS:
        return blocks_beside(value, record, origin.offset, origin.length, TOOLS)
    (blocks,) = chat_blocks([chat_message(mapping(attachments.resolved(mapping(value))))], origin)
    return blocks


def interpret_sample(sample: Node, header: Mapping[str, Any], assembly: Assembly, attachments: Attachments) -> None:
    """Fill an assembly from a sample.

    Args:
        sample: The sample.
        header: What the log says of the evaluation.
        assembly: What to fill.
        attachments: Filled with what was moved out of the messages.
    """
    fields = sample.fields()
    about = mapping(header.get("eval"))
    value: dict[str, Any] = {name: fields[name].value() for name in ("id", "epoch") if name in fields}
    version = string(mapping(about.get("packages")).get("inspect_ai"))
    assembly.agent = " ".join(filter(None, ("Inspect", version)))
    assembly.title = title_of(string(about.get("task_display_name")) or string(about.get("task")), value)
    assembly.identifier = name_of_sample(value)
    # Logs of 2024 keep the events and what was moved out of them in a transcript.
    transcript = fields["transcript"].fields() if "transcript" in fields else {}
    moved = fields.get("attachments") or transcript.get("content")
    attachments.use(moved.fields() if moved is not None else {})
    conversation = SampleConversation(assembly, attachments)
    pool = _pool(fields)
    compacted: Mapping[str, Any] | None = None
    events = fields.get("events") or transcript.get("events")
    for item in events.items() if events is not None else ():
        event = item.fields()
        kind = string(event["event"].value()) if "event" in event else ""
        assembly.record_counts[f"event:{kind or '(no kind)'}"] += 1
        if kind == "compaction":
            compacted = mapping(item.value())
        if kind == "model":
            contexts, first = len(assembly.contexts), len(assembly.messages)
            conversation.add_request(_request(event, pool))
            if compacted is not None and len(assembly.contexts) > contexts:
                _note_compaction(assembly, compacted, first)
                compacted = None
    messages = fields["messages"].items() if "messages" in fields else []
    if messages:
        assembly.record_counts["message"] += len(messages)
    conversation.add_rest(messages)
    if not assembly.calls and messages:
        assembly.put((), (), (), ())
        SampleConversation(assembly, attachments).add_request(Request(messages, about={"model": about.get("model")}))
    attachments.release()


def _pool(fields: Mapping[str, Node]) -> list[Node]:
    """The messages that events refer to by their place."""
    if "message_pool" in fields:
        return fields["message_pool"].items()
    data = fields["events_data"].fields() if "events_data" in fields else {}
    return data["messages"].items() if "messages" in data else []


def _request(event: Mapping[str, Node], pool: list[Node]) -> Request:
    messages = event["input"].items() if "input" in event else []
    for ends in sequence(event["input_refs"].value()) if "input_refs" in event else ():
        if isinstance(ends, list) and len(ends) == 2 and all(isinstance(end, int) and end >= 0 for end in ends):
            messages = [*messages, *pool[ends[0] : ends[1]]]
    output = event["output"].fields() if "output" in event else {}
    choices = output["choices"].items() if "choices" in output else []
    response = choices[0].fields().get("message") if choices else None
    model = string(output["model"].value()) if "model" in output else ""
    reply: dict[str, Any] = {
        "model": model or (string(event["model"].value()) if "model" in event else ""),
        "timestamp": event["timestamp"].value() if "timestamp" in event else None,
        "usage": _plain_usage(output["usage"].value() if "usage" in output else None),
    }
    return Request(messages, None, event.get("tools"), response, reply, {})


def _plain_usage(reported: Any) -> dict[str, Any] | None:
    """What was reported, in the words of Anthropic's API."""
    usage = usage_of(reported)
    if usage is None:
        return None
    return {
        "input_tokens": usage.uncached,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": usage.cache_write_5m,
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


def _note_compaction(assembly: Assembly, event: Mapping[str, Any], first: int) -> None:
    """The context that a request began after a compaction is what it left."""
    context = assembly.contexts[-1]
    context.cause = ContextCause.COMPACTION
    time = seconds_of_any(event.get("timestamp"))
    before, after = count_or_none(event.get("tokens_before")), count_or_none(event.get("tokens_after"))
    assembly.compactions.append(Compaction(first, string(event.get("type")) or "auto", before, after, time=time))
    if first < len(assembly.messages) and len(context.members) > context.carried:
        index = context.members[context.carried]
        if string(event.get("type")) == "summary" and index >= first:
            assembly.messages[index] = structs.replace(assembly.messages[index], is_summary=True)
