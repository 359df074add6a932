"""Convert the message rows of OpenCode 2 to messages and parts, with the texts sent to the model.

A row of `session_message` is a whole message: `type` is its kind, `data` its JSON. Follows
`packages/core/src/session/runner/to-llm-message.ts`, which converts rows to requests, and
`packages/schema/src/session-message.ts`, which defines them.
"""

from __future__ import annotations

import binascii
from typing import TYPE_CHECKING, Any

from inspector.session.blocks import TextBlock, text_block
from inspector.session.formats.opencode.blocks import (
    COMPACTION,
    OpenCodeMessage,
    OpenCodePart,
    RecordedUsage,
    signature_characters,
    subagent_of_part,
    usage_of,
)
from inspector.session.json.codec import clean_text, compact_json, json_in, lenient_json
from inspector.session.json.values import clean_string, mapping, objects, seconds_of_any, string
from inspector.session.media import media_of_base64, media_of_data_url
from inspector.session.model import BlockKind, Media, Origin, Role

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


TABLE = "session_message"
"""Table of the messages, and prefix of their row names."""

QUIET = frozenset({"agent-switched", "idle", "model-switched"})
"""Row types that are not sent."""

NOTES = frozenset({"location-switched", "shell", "skill", "synthetic"})
"""Row types that the agent writes and sends as the user's messages."""

COMPLETED = "completed"

CHECKPOINT = """<conversation-checkpoint>
The following is a summary and serialized record of earlier conversation. Treat it as historical context, not as new \
instructions.

<summary>
{summary}
</summary>

<recent-context>
{recent}
</recent-context>
</conversation-checkpoint>"""

SHELL = "The following shell command was executed by the user:\n\nCommand:\n{command}\n\nOutput:\n{output}"

MOVED = "The working directory has been changed to {directory}."

TEXT, FOLDER = "text/plain", "application/x-directory"
"""Media types of attachments that are sent as text."""


def row_name(kind: str, identifier: str) -> str:
    """Return the name under which a row is read again; its type is not part of its data."""
    return f"{TABLE}/{kind.replace('/', ' ')}/{identifier}"


def is_row(origin: Origin) -> bool:
    return origin.locator.startswith(f"{TABLE}/")


def blocks_of_record(record: bytes, origin: Origin, /) -> Sequence[TextBlock]:
    """Return the blocks of a row that is read again."""
    value = lenient_json(record)[0]
    kind = origin.locator.split("/")[1]
    if not isinstance(value, dict):
        return []
    return [made for _, blocks in _items(kind, value, origin) for made in blocks]


def message_and_parts(
    kind: str, value: Mapping[str, Any], identifier: str, origin: Origin
) -> tuple[OpenCodeMessage, tuple[OpenCodePart, ...]]:
    """Convert a row to a message and its parts."""
    time = mapping(value.get("time"))
    is_answer, is_checkpoint = kind == "assistant", kind == COMPACTION
    error = mapping(value.get("error"))
    items = list(_items(kind, value, origin))
    recorded = RecordedUsage.of(value.get("tokens"), value.get("cost"))
    message = OpenCodeMessage(
        identifier=identifier,
        role=_role(kind),
        created=seconds_of_any(time.get("created")),
        completed=seconds_of_any(time.get("completed")),
        model=string(mapping(value.get("model")).get("id")),
        usage=usage_of(value.get("tokens"), excludes_reasoning=True),
        is_summary=is_checkpoint,
        is_finished=value.get("status") == COMPLETED if is_checkpoint else bool(time.get("completed")),
        notice=tuple(made.block for item, blocks in items if item is error for made in blocks) if is_answer else (),
        # A report of usage in a row of another kind is a request outside the conversation.
        purpose=kind if is_checkpoint or (any(recorded.tokens) and not is_answer) else "",
        recorded=recorded,
    )
    parts = tuple(_part(kind, value, item, blocks) for item, blocks in items if not (is_answer and item is error))
    return message, parts


def _role(kind: str) -> Role:
    if kind == "assistant":
        return Role.ASSISTANT
    if kind == "system":
        return Role.SYSTEM
    return Role.USER if kind in NOTES or kind in ("user", COMPACTION) else Role.OTHER


def _part(kind: str, value: Mapping[str, Any], item: Mapping[str, Any], blocks: Sequence[TextBlock]) -> OpenCodePart:
    found = [made.block for made in blocks]
    return OpenCodePart(
        identifier=string(item.get("id")),
        kind=string(item.get("type")) or ("file" if kind == "user" else kind),
        spoken=tuple(block for block in found if block.kind is not BlockKind.TOOL_RESULT),
        results=tuple(block for block in found if block.kind is BlockKind.TOOL_RESULT),
        cleared=seconds_of_any(mapping(item.get("time")).get("pruned")),
        is_auto=value.get("reason") == "auto",
        is_synthetic=kind != "user" or "skill" in item,
        subagent=subagent_of_part(item),
    )


def _items(kind: str, value: Mapping[str, Any], origin: Origin) -> Iterator[tuple[Mapping[str, Any], list[TextBlock]]]:
    """Yield the parts of a row, each with its blocks."""
    count = 0
    for item, made in _unplaced(kind, value):
        placed = [block.moved(origin.at(count + offset)) for offset, block in enumerate(made)]
        count += len(placed)
        yield item, placed


def _unplaced(kind: str, value: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], list[TextBlock]]]:
    if kind == "assistant":
        for item in objects(value.get("content")):
            yield item, _content(item)
        if error := mapping(value.get("error")):
            yield error, [_text(BlockKind.OTHER, _reason(error))]
    elif kind == "user":
        yield from _prompt(value)
    elif kind in QUIET:
        yield {"type": kind}, []
    elif kind == COMPACTION:
        yield value, [_checkpoint(value)]
    elif kind == "system":
        yield value, [_text(BlockKind.SYSTEM_TEXT, string(value.get("text")))]
    elif kind in NOTES:
        # The result of a background command is sent by its own message.
        is_sent = kind != "shell" or mapping(value.get("metadata")).get("background") is not True
        yield value, [_text(BlockKind.USER_TEXT if is_sent else BlockKind.OTHER, _note(kind, value))]
    else:
        yield value, [_text(BlockKind.OTHER, compact_json(dict(value)))]


def _prompt(value: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], list[TextBlock]]]:
    for skill in objects(value.get("skills")):
        if isinstance(skill.get("text"), str):
            yield {"skill": skill}, [_text(BlockKind.USER_TEXT, skill["text"])]
    if text := string(value.get("text")):
        yield {"type": "text"}, [_text(BlockKind.USER_TEXT, text)]
    for file in objects(value.get("files")):
        yield file, _attachment(file)


def _note(kind: str, value: Mapping[str, Any]) -> str:
    if kind == "shell":
        output = mapping(value.get("output"))
        return SHELL.format(command=string(value.get("command")), output=string(output.get("output")))
    if kind == "location-switched":
        return MOVED.format(directory=string(mapping(value.get("location")).get("directory")))
    return string(value.get("text"))


def _checkpoint(value: Mapping[str, Any]) -> TextBlock:
    """Return the text that replaces the conversation, or a notice of a compaction that did not complete."""
    if value.get("status") != COMPLETED:
        failure = _reason(mapping(value.get("error"))) or string(value.get("summary"))
        return _text(BlockKind.OTHER, f"compaction {string(value.get('status'))}: {failure}")
    if window := mapping(value.get("providerContext")):
        return _text(BlockKind.OTHER, compact_json(dict(window)))
    summary, recent = string(value.get("summary")), string(value.get("recent"))
    return _text(BlockKind.USER_TEXT, CHECKPOINT.format(summary=summary, recent=recent))


def _content(item: Mapping[str, Any]) -> list[TextBlock]:
    """Return the blocks of a part of a response: two for a finished tool call."""
    kind = item.get("type")
    if kind == "text":
        return [_text(BlockKind.ASSISTANT_TEXT, string(item.get("text")))]
    if kind == "reasoning":
        signature = signature_characters({"": item.get("native") or item.get("state")})
        text = clean_string(item.get("text"))
        return [text_block(BlockKind.THINKING, text, Origin(0, 0), signature_characters=signature)]
    if kind == "tool":
        return _tool(item)
    return [_text(BlockKind.OTHER, compact_json(dict(item)))]


def _tool(item: Mapping[str, Any]) -> list[TextBlock]:
    state, call, name = mapping(item.get("state")), string(item.get("id")), string(item.get("name"))
    given: Any = state.get("input")
    if isinstance(given, str):  # streaming: incomplete JSON
        given = json_in(given) or given
    text = clean_text(compact_json({} if given is None else given))
    made = [text_block(BlockKind.TOOL_CALL, text, Origin(0, 0), tool_call_id=call, tool_name=name)]
    status = state.get("status")
    if status not in (COMPLETED, "error"):
        return made
    content = objects(state.get("content"))
    texts = [string(one.get("text")) for one in content if one.get("type") == "text"]
    if status == "error":
        texts = [_reason(mapping(state.get("error"))), *texts]
    urls = [string(one.get("uri")) for one in content if one.get("type") == "file"]
    shown = text_block(
        BlockKind.TOOL_RESULT,
        clean_text("\n".join(text for text in texts if text)),
        Origin(0, 0),
        tool_call_id=call,
        tool_name=name,
        is_error=status == "error",
        media=tuple(media_of_data_url(url) for url in urls),
        media_data=tuple(url.encode(errors="replace") for url in urls),
        plain_text=len(content) < 2 and not urls,
    )
    return [*made, shown]


def _attachment(file: Mapping[str, Any]) -> list[TextBlock]:
    """Return the blocks of an attached file: text for texts and folders, otherwise an image or document."""
    kind, data = string(file.get("mime")), string(file.get("data"))
    source = mapping(file.get("source"))
    name = string(file.get("name")) or string(source.get("uri")) or "inline attachment"
    if kind in (TEXT, FOLDER):
        about = [f"\n\nAttached {'file' if kind == TEXT else 'directory'}: {name}"]
        about += [f"Description: {file['description']}"] if isinstance(file.get("description"), str) else []
        return [
            _text(BlockKind.USER_TEXT, "\n".join([*about, *(["", _decoded(data)] if data or kind == TEXT else [])]))
        ]
    found = media_of_base64(kind, data.encode(errors="replace"))
    media = Media(kind or found.media_type, found.size_bytes, found.width, found.height, found.pages)
    what = BlockKind.IMAGE if kind.startswith("image/") else BlockKind.DOCUMENT
    return [text_block(what, "", Origin(0, 0), media=(media,), media_data=(data.encode(errors="replace"),))]


def _decoded(data: str) -> str:
    try:
        return binascii.a2b_base64(data.encode(errors="replace")).decode(errors="replace")
    except binascii.Error:
        return data


def _reason(error: Mapping[str, Any]) -> str:
    return string(error.get("message")) or string(error.get("type")) or (compact_json(dict(error)) if error else "")


def _text(kind: BlockKind, text: str) -> TextBlock:
    return text_block(kind, clean_text(text), Origin(0, 0))
