"""Read sessions that Goose stores in files: JSONL of old versions, and exports of one session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from inspector.session.blocks import TextBlock, text_block
from inspector.session.builder import SessionBuilder, Thread
from inspector.session.formats.goose.records import NAME, REQUESTS, is_export, is_metadata
from inspector.session.formats.goose.usage import in_metadata
from inspector.session.json.codec import clean_text, compact_json, json_in
from inspector.session.json.lines import object_of
from inspector.session.json.nodes import object_nodes
from inspector.session.json.values import clean_string, mapping, objects, seconds_of_any, sequence, string
from inspector.session.json_reader import JsonReader
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.media import media_of_all
from inspector.session.model import BlockKind, Compaction, LinkKind, Media, Message, Origin, Role, SessionLink
from inspector.session.reader import Record, RecordInterpreter
from inspector.session.sniff import Sample

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from inspector.session.json.nodes import Node
    from inspector.session.model import Block, Usage
    from inspector.session.reader import Reader


def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
    value, _ = object_of(record)
    return [] if value is None else blocks_of_goose_message(value, origin)


def blocks_of_goose_message(message: Mapping[str, Any], origin: Origin) -> list[TextBlock]:
    """Return the blocks of a message from a line, or from a row with its content as text."""
    content = _content_of(message)
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    text_kind = BlockKind.ASSISTANT_TEXT if message.get("role") == "assistant" else BlockKind.USER_TEXT
    return [_block(part, text_kind, origin.at(index)) for index, part in enumerate(sequence(content))]


def _content_of(message: Mapping[str, Any]) -> Any:
    stored = message.get("content_json")
    return json_in(stored) if isinstance(stored, str) else message.get("content")


def _block(part: Any, text_kind: BlockKind, origin: Origin) -> TextBlock:
    fields = mapping(part)
    kind = string(fields.get("type"))
    if kind == "text":
        return text_block(text_kind, clean_string(fields.get("text")), origin)
    if kind in ("thinking", "reasoning"):
        text = clean_string(fields.get("thinking")) or clean_string(fields.get("text"))
        signature = len(string(fields.get("signature")))
        return text_block(BlockKind.THINKING, text, origin, signature_characters=signature)
    if kind == "redactedThinking":
        return text_block(BlockKind.THINKING, "", origin, signature_characters=len(string(fields.get("data"))))
    if kind in REQUESTS:
        return _request(fields, origin)
    if kind == "toolResponse":
        return _response(fields, origin)
    if kind == "image":
        media, data = _images([fields])
        return text_block(BlockKind.IMAGE, "", origin, media=media, media_data=data)
    text = clean_string(fields.get("msg")) if kind == "systemNotification" else ""
    return text_block(BlockKind.OTHER, text or clean_text(compact_json(part)), origin)


def _request(fields: Mapping[str, Any], origin: Origin) -> TextBlock:
    call = mapping(fields.get("toolCall"))
    asked = mapping(call.get("value"))
    # A call that could not be parsed has an error in place of its name and arguments.
    text = compact_json(asked.get("arguments") or {}) if asked else string(call.get("error"))
    return text_block(
        BlockKind.TOOL_CALL,
        clean_text(text),
        origin,
        tool_call_id=clean_string(fields.get("id")),
        tool_name=clean_string(asked.get("name")),
        signature_characters=len(string(fields.get("thoughtSignature"))),
    )


def _response(fields: Mapping[str, Any], origin: Origin) -> TextBlock:
    result = mapping(fields.get("toolResult"))
    value = result.get("value")
    items = sequence(value) or sequence(mapping(value).get("content"))
    sent = [item for item in objects(items) if _is_for_model(item)]
    texts = [_item_text(item) for item in sent if item.get("type") != "image"]
    if "error" in result:
        texts.append(string(result.get("error")))
    media, data = _images(sent)
    return text_block(
        BlockKind.TOOL_RESULT,
        clean_text("\n".join(texts)),
        origin,
        tool_call_id=clean_string(fields.get("id")),
        is_error=result.get("status") == "error" or bool(mapping(value).get("isError")),
        media=media,
        media_data=data,
        plain_text=not media and len(texts) < 2,
    )


def _is_for_model(item: Mapping[str, Any]) -> bool:
    """Return True if an item of a result is sent. Tools often return one for display and one for the model."""
    audience = mapping(item.get("annotations")).get("audience")
    return not isinstance(audience, list) or not audience or "assistant" in audience


def _item_text(item: Mapping[str, Any]) -> str:
    if isinstance(item.get("text"), str):
        return string(item["text"])
    resource = mapping(item.get("resource"))
    return string(resource["text"]) if isinstance(resource.get("text"), str) else compact_json(item)


def _images(items: list[Any]) -> tuple[tuple[Media, ...], tuple[bytes, ...]]:
    images = (item for item in objects(items) if item.get("type") == "image")
    return media_of_all((clean_string(item.get("mimeType")), string(item.get("data"))) for item in images)


ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}

SUBAGENT = "subagent_session_id"
"""Result field of `delegate`, and later `load`, with the subagent's session."""

CONTINUE_PREFIX = "Your context was compacted"
"""First words of the message after a summary."""


class GooseMessage(Struct, frozen=True, gc=False):
    """A parsed message.

    Attributes:
        role: Its role.
        blocks: Its parts.
        time: Seconds since the epoch, or None.
        identifier: Its id; empty if it has none.
        for_model: True if visible to the model.
        for_person: True if visible to the user.
        usage: Reported usage of the response that ends here, or None.
        model: The model that responded, if the message names it.
        response: Id shared by the rows of a response; empty if not recorded.
        subagents: The tool calls that started a subagent and have their results here, each with the subagent's session.
    """

    role: Role
    blocks: tuple[Block, ...]
    time: float | None
    identifier: str = ""
    for_model: bool = True
    for_person: bool = True
    usage: Usage | None = None
    model: str = ""
    response: str = ""
    subagents: tuple[tuple[str, str], ...] = ()

    @property
    def is_spoken(self) -> bool:
        """True if it has content that can be sent."""
        return self.role is not Role.OTHER and any(block.kind is not BlockKind.OTHER for block in self.blocks)

    @property
    def goes_on(self) -> bool:
        """True for the prompt to continue after a summary."""
        is_hidden = self.role is Role.ASSISTANT and not self.for_person
        return is_hidden and bool(self.blocks) and self.blocks[0].preview.startswith(CONTINUE_PREFIX)


def goose_message(message: Mapping[str, Any], origin: Origin) -> GooseMessage:
    about = message.get("metadata")
    if isinstance(message.get("metadata_json"), str):
        about = json_in(message["metadata_json"])
    marks = mapping(about)
    inference = mapping(marks.get("inference"))
    return GooseMessage(
        role=ROLES.get(string(message.get("role")), Role.OTHER),
        blocks=tuple(made.block for made in blocks_of_goose_message(message, origin)),
        time=seconds_of_any(message.get("created") or message.get("created_timestamp")),
        identifier=string(message.get("id")) or string(message.get("message_id")) or origin.locator,
        for_model=marks.get("agentVisible") is not False,
        for_person=marks.get("userVisible") is not False,
        usage=in_metadata(marks.get("usage")),
        model=clean_string(inference.get("resolvedModel")) or clean_string(inference.get("requestedModel")),
        response=string(message.get("message_id")) or string(message.get("id")),
        subagents=tuple(_subagents(_content_of(message))),
    )


def _subagents(content: Any) -> Iterator[tuple[str, str]]:
    for part in objects(content):
        if part.get("type") == "toolResponse":
            value = mapping(mapping(part.get("toolResult")).get("value"))
            session = clean_string(mapping(value.get("_meta")).get(SUBAGENT))
            if session:
                yield clean_string(part.get("id")), session


def fill(builder: SessionBuilder, entries: Sequence[GooseMessage], model: str = "") -> None:
    starts = {index for index in range(len(entries)) if _begins_again(entries, index)}
    last = max(starts, default=0)
    thread, names = Thread(builder), dict[str, str]()
    index = 0
    while index < len(entries):
        entry = _named(entries[index], names)
        index += 1
        if index - 1 in starts:
            thread.compact(Compaction(0, time=entry.time), _message(entry, is_summary=True))
            continue
        is_sent = entry.is_spoken and (entry.for_model or index - 1 < last)
        if not is_sent or entry.role is not Role.ASSISTANT or entry.goes_on:
            thread.add(_message(entry, is_sent=is_sent), is_sent=is_sent)
            continue
        # Consecutive assistant messages form one response, which ends at its usage if recorded.
        while index < len(entries) and _continues(entry, entries[index], is_now=index >= last):
            following = _named(entries[index], names)
            entry = structs.replace(
                entry,
                blocks=entry.blocks + following.blocks,
                usage=following.usage or entry.usage,
                model=following.model or entry.model,
            )
            index += 1
        thread.respond(_message(entry), model=entry.model or model, usage=entry.usage)
    _link_subagents(builder, entries)


def _link_subagents(builder: SessionBuilder, entries: Sequence[GooseMessage]) -> None:
    """Link each subagent with the call that started it; later calls only check its progress."""
    started: dict[str, str] = {}
    for entry in entries:
        for call, session in entry.subagents:
            started.setdefault(session, call)
    for session, call in started.items():
        builder.link(SessionLink(LinkKind.SUBAGENT, session, None, call))


def _continues(begun: GooseMessage, entry: GooseMessage, *, is_now: bool) -> bool:
    if begun.usage is not None and not (entry.response and entry.response == begun.response):
        return False
    is_sent = entry.is_spoken and (entry.for_model or not is_now)
    return is_sent and entry.role is Role.ASSISTANT and not entry.goes_on


def _begins_again(entries: Sequence[GooseMessage], index: int) -> bool:
    """Return True for the summary left by a compaction."""
    entry = entries[index]
    if entry.role is not Role.USER or entry.for_person or not entry.is_spoken:
        return False
    following = entries[index + 1] if index + 1 < len(entries) else None
    if following is not None and following.goes_on:
        return True
    before = next((entries[place] for place in range(index - 1, -1, -1) if entries[place].is_spoken), None)
    return entry.for_model and before is not None and not before.for_model


def _named(entry: GooseMessage, names: dict[str, str]) -> GooseMessage:
    """Add tool names to an entry's results."""
    for block in entry.blocks:
        if block.kind is BlockKind.TOOL_CALL:
            names[block.tool_call_id] = block.tool_name
    if not any(block.kind is BlockKind.TOOL_RESULT for block in entry.blocks):
        return entry
    blocks = tuple(
        structs.replace(block, tool_name=names.get(block.tool_call_id, ""))
        if block.kind is BlockKind.TOOL_RESULT
        else block
        for block in entry.blocks
    )
    return structs.replace(entry, blocks=blocks)


def _message(entry: GooseMessage, *, is_sent: bool = True, is_summary: bool = False) -> Message:
    return Message(
        role=entry.role if is_sent else Role.OTHER,
        blocks=entry.blocks,
        time=entry.time,
        identifier=entry.identifier,
        is_meta=is_sent and not entry.for_person and not is_summary,
        is_summary=is_summary,
    )


class GooseInterpreter(RecordInterpreter):
    """Builds a session from lines (session metadata and messages) or an export."""

    def __init__(self) -> None:
        super().__init__()
        self._entries: list[GooseMessage] = []
        self._is_settled = True

    def add(self, record: Record) -> None:
        if is_metadata(record.value):
            self.builder.record_counts["metadata"] += 1
            describe(record.value, self.builder)
            return
        self.builder.record_counts[string(record.value.get("role")) or "(no role)"] += 1
        self._entries.append(goose_message(record.value, record.origin))
        self._is_settled = False

    def take_document(self, document: Node) -> None:
        fields = document.fields()
        describe({name: field.value() for name, field in fields.items() if name != "conversation"}, self.builder)
        entries = []
        items = fields.items_of("conversation")
        for item, value in object_nodes(items, "a message", self.builder):
            self.builder.record_counts[string(value.get("role")) or "(no role)"] += 1
            entries.append(goose_message(value, Origin(item.offset, item.length)))
        model = mapping(fields.value_of("model_config")).get("model_name")
        if parent := string(fields.value_of("parent_session_id")):
            self.builder.link(SessionLink(LinkKind.PARENT, parent))
        fill(self.builder, entries, string(model))

    def settle(self) -> None:
        """Rebuild all messages: their visibility depends on later ones."""
        if not self._is_settled:
            made = SessionBuilder()
            fill(made, self._entries)
            self.builder.replace_all(made.messages, made.calls, made.contexts, made.compactions)
            self._is_settled = True

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
        return blocks_of_record(record, origin)


def file_reader(path: Path) -> Reader:
    sample = Sample(path)
    if sample.is_lines and not is_export(sample.records[0]):
        return JsonlReader(path, NAME, GooseInterpreter())
    return JsonReader(path, NAME, GooseInterpreter)


def describe(about: Mapping[str, Any], builder: SessionBuilder) -> None:
    builder.agent = "Goose"
    builder.identifier = string(about.get("id")) or builder.identifier
    builder.title = string(about.get("name")) or string(about.get("description")) or builder.title
    builder.working_directory = string(about.get("working_dir")) or builder.working_directory
