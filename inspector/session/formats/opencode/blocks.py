"""From one stored part to its blocks, with their texts: what the model is sent for it.

As `packages/opencode/src/session/message-v2.ts` of the project turns parts into messages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inspector.session.blocks import TextBlock, text_block
from inspector.session.json.codec import clean_text, compact_json, lenient_json
from inspector.session.json.values import clean_string, count, mapping, objects, seconds_of_any, string
from inspector.session.media import media_of_data_url
from inspector.session.model import BlockKind, LinkKind, Media, Origin, Role, SessionLink, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inspector.session.model import Block


TEXT_KIND = {Role.USER: BlockKind.USER_TEXT, Role.ASSISTANT: BlockKind.ASSISTANT_TEXT}

COMPACTION_PROMPT = "What did we do so far?"
SUBTASK_PROMPT = "The following tool was executed by the user"

ERROR, MESSAGE = "error", "message/"
"""By its locator a block is told to be of a message, not of a part."""

QUIET = frozenset({"agent", "patch", "snapshot", "step-finish", "step-start"})
"""Types of which the model is sent nothing."""

SENT_AS_TEXT = ("text/plain", "application/x-directory")
"""Attached files of these types stand as texts of their own beside the part that names them."""

SIGNATURES = frozenset({"encryptedcontent", "reasoningencryptedcontent", "reasoningopaque", "signature"})
"""Fields of a reasoning part's metadata, without underscores, that hold it encrypted or signed."""


def blocks_of_record(record: bytes, origin: Origin, /) -> Sequence[TextBlock]:
    """The blocks of a part, or of a message's error, that is read again."""
    value = lenient_json(record)[0]
    if not isinstance(value, dict):
        return []
    first = origin.at(0)
    if origin.locator == ERROR or origin.locator.startswith(MESSAGE):
        return blocks_of_error(value, first)
    return blocks_of_part(value, Role.USER, first)


def blocks_of_error(info: Mapping[str, Any], origin: Origin) -> list[TextBlock]:
    """What a message says of an error, as a notice."""
    error = mapping(info.get("error"))
    if not error:
        return []
    said = mapping(error.get("data")).get("message") or error.get("message")
    text = f"{string(error.get('name')) or 'error'}: {said if isinstance(said, str) else compact_json(dict(error))}"
    return [text_block(BlockKind.OTHER, clean_text(text), origin)]


def blocks_of_part(value: Mapping[str, Any], role: Role, origin: Origin) -> list[TextBlock]:
    """The blocks of one part: one, two for a tool that has returned, none for what is not for the model.

    Args:
        value: The part.
        role: Of its message.
        origin: Where it is stored.
    """
    kind = string(value.get("type"))
    if kind in QUIET:
        return []
    if kind == "tool":
        return _tool(value, origin)
    if kind == "reasoning":
        text = clean_string(value.get("text"))
        signature = _signature_characters(value.get("metadata"))
        return [text_block(BlockKind.THINKING, text, origin, signature_characters=signature)]
    if kind == "file":
        return [_file(value, origin)]
    if kind == "text":
        is_sent = value.get("ignored") is not True
        spoken = TEXT_KIND.get(role, BlockKind.OTHER) if is_sent else BlockKind.OTHER
        return [text_block(spoken, clean_string(value.get("text")), origin)]
    if kind in ("compaction", "subtask"):
        return [text_block(BlockKind.USER_TEXT, COMPACTION_PROMPT if kind == "compaction" else SUBTASK_PROMPT, origin)]
    return [text_block(BlockKind.OTHER, clean_text(compact_json(dict(value))), origin)]


def cleared_at(value: Mapping[str, Any]) -> float | None:
    """When a tool's result was cleared, in seconds since the epoch; None where it was not.

    Where it was and no time says when, it is taken to have been cleared once it was there.
    """
    times = mapping(mapping(value.get("state")).get("time"))
    if not times.get("compacted"):
        return None
    return seconds_of_any(times["compacted"]) or seconds_of_any(times.get("end")) or 0.0


def subagent_of_part(value: Mapping[str, Any]) -> SessionLink | None:
    """The session that a tool's call started; None for any other part."""
    state = mapping(value.get("state"))
    metadata = mapping(state.get("metadata"))
    started = string(metadata.get("sessionId")) or string(metadata.get("sessionID"))
    if value.get("type") != "tool" or not started:
        return None
    call = string(value.get("callID")) or string(value.get("id"))
    given = mapping(state.get("input"))
    title = string(given.get("description")) or string(given.get("subagent_type")) or string(state.get("title"))
    return SessionLink(LinkKind.SUBAGENT, clean_text(started), None, clean_text(call), clean_text(title))


def _tool(value: Mapping[str, Any], origin: Origin) -> list[TextBlock]:
    state, name = mapping(value.get("state")), string(value.get("tool"))
    call = string(value.get("callID")) or string(value.get("id"))
    given = state.get("input")
    text = clean_text(compact_json({} if given is None else given))
    made = [text_block(BlockKind.TOOL_CALL, text, origin, tool_call_id=call, tool_name=name)]
    status = state.get("status")
    if status not in ("completed", "error"):
        return made
    returned = state.get("output")
    if status == "error":
        partial = mapping(state.get("metadata"))
        is_partial = partial.get("interrupted") is True and isinstance(partial.get("output"), str)
        returned = partial.get("output") if is_partial else state.get("error")
    media, data = _attachments(state)
    shown = text_block(
        BlockKind.TOOL_RESULT,
        clean_text(returned if isinstance(returned, str) else "" if returned is None else compact_json(returned)),
        origin.at(origin.part + 1),
        tool_call_id=call,
        tool_name=name,
        is_error=status == "error",
        media=media,
        media_data=data,
        plain_text=not media,
    )
    return [*made, shown]


def _attachments(state: Mapping[str, Any]) -> tuple[tuple[Media, ...], tuple[bytes, ...]]:
    urls = [string(attached.get("url")) for attached in objects(state.get("attachments"))]
    return tuple(media_of_data_url(url) for url in urls), tuple(url.encode(errors="replace") for url in urls)


def _file(value: Mapping[str, Any], origin: Origin) -> TextBlock:
    kind, url = string(value.get("mime")), string(value.get("url"))
    if kind in SENT_AS_TEXT:
        return text_block(BlockKind.OTHER, clean_text(string(value.get("filename")) or url), origin)
    media = media_of_data_url(url)
    shown = Media(media.media_type or kind, media.size_bytes, media.width, media.height)
    what = BlockKind.IMAGE if kind.startswith("image/") else BlockKind.DOCUMENT
    return text_block(what, "", origin, media=(shown,), media_data=(url.encode(errors="replace"),))


def _signature_characters(metadata: object) -> int:
    """The length of the longest signature or encrypted text that providers' metadata hold."""
    found = 0
    for fields in mapping(metadata).values():
        for name, value in mapping(fields).items():
            if name.replace("_", "").lower() in SIGNATURES and isinstance(value, str):
                found = max(found, len(value))
    return found


def usage_of(tokens: object) -> Usage | None:
    """Stored tokens as ours; None where there are none, as for a response that was broken off.

    `input` leaves out what the cache held. `output` leaves out reasoning in records that have a `total`; before there
    was one, it included it.
    """
    stored = mapping(tokens)
    cache = mapping(stored.get("cache"))
    reasoning, output = count(stored.get("reasoning")), count(stored.get("output"))
    is_apart = count(stored.get("total")) > 0
    return Usage(
        uncached=count(stored.get("input")),
        cache_read=count(cache.get("read")),
        cache_write_5m=count(cache.get("write")),
        output=output + reasoning if is_apart else max(output, reasoning),
        reasoning=reasoning,
    ).unless_zero()


STEP_START, STEP_FINISH, COMPACTION = "step-start", "step-finish", "compaction"

ABORTED = "MessageAbortedError"


@dataclass(frozen=True)
class OpenCodePart:
    """One part.

    Attributes:
        identifier: Its id.
        kind: Its type.
        spoken: The blocks it adds to its message.
        results: The tool results it adds behind it.
        cleared: When its result was cleared, None where it was not.
        usage: What was reported at the end of a step.
        kept_from: The id of the first message that a compaction keeps; empty for none.
        is_auto: A compaction that nobody asked for.
        is_synthetic: A text that nobody typed.
        subagent: The session that a call of a tool started.
    """

    identifier: str
    kind: str
    spoken: tuple[Block, ...] = ()
    results: tuple[Block, ...] = ()
    cleared: float | None = None
    usage: Usage | None = None
    kept_from: str = ""
    is_auto: bool = False
    is_synthetic: bool = False
    subagent: SessionLink | None = None

    @property
    def has_content(self) -> bool:
        """Whether a message that was broken off is still sent for the sake of this part."""
        return self.kind not in (STEP_START, "reasoning")


@dataclass(frozen=True)
class OpenCodeMessage:
    """One message, without its parts.

    Attributes:
        identifier: Its id.
        role: Who it speaks for.
        created: Seconds since the epoch, or None.
        completed: When the response was whole, or None.
        model: The model that answered.
        usage: What was reported for it.
        is_summary: It is the answer to a request for a summary.
        is_finished: The response is complete.
        parent: The message it answers.
        error: The name of what went wrong; empty for nothing.
        notice: What went wrong, as a block.
    """

    identifier: str
    role: Role
    created: float | None = None
    completed: float | None = None
    model: str = ""
    usage: Usage | None = None
    is_summary: bool = False
    is_finished: bool = False
    parent: str = ""
    error: str = ""
    notice: tuple[Block, ...] = ()

    @property
    def call_identifier(self) -> str:
        """What a response has in common with its copies: its times, since a fork gives it another id."""
        return self.identifier if self.completed is None else f"{self.created} to {self.completed}"


@dataclass(frozen=True)
class OpenCodeInfo:
    """What is known of a session besides its messages.

    Attributes:
        identifier: Its id.
        title: What OpenCode calls it.
        directory: Where it worked.
        version: Of the program that began it.
        parent: The session that started it as a subagent; empty for none.
        reverted_message: The first message that was taken back; empty for none.
        reverted_part: The first part of it that was, where not the whole message was.
        created: When it began, seconds since the epoch, or None. What was said before was copied by a fork.
        modified: Seconds since the epoch.
    """

    identifier: str = ""
    title: str = ""
    directory: str = ""
    version: str = ""
    parent: str = ""
    reverted_message: str = ""
    reverted_part: str = ""
    created: float | None = None
    modified: float = 0.0


def info_of(info: Mapping[str, Any]) -> OpenCodeInfo:
    """A session as exports and files hold it."""
    revert, time = mapping(info.get("revert")), mapping(info.get("time"))
    return OpenCodeInfo(
        identifier=string(info.get("id")),
        title=string(info.get("title")),
        directory=string(info.get("directory")),
        version=string(info.get("version")),
        parent=string(info.get("parentID")),
        reverted_message=string(revert.get("messageID")),
        reverted_part=string(revert.get("partID")),
        created=seconds_of_any(time.get("created")),
        modified=seconds_of_any(time.get("updated")) or 0.0,
    )


def message_of(info: Mapping[str, Any], identifier: str, created: float | None, origin: Origin) -> OpenCodeMessage:
    """A message.

    Args:
        info: What is stored of it.
        identifier: Its id.
        created: When it was, where that is stored beside it.
        origin: Where it is stored.
    """
    time, error = mapping(info.get("time")), mapping(info.get("error"))
    model = info.get("modelID") or mapping(info.get("model")).get("modelID")
    return OpenCodeMessage(
        identifier=identifier or string(info.get("id")),
        role={"user": Role.USER, "assistant": Role.ASSISTANT}.get(string(info.get("role")), Role.OTHER),
        created=created if created is not None else seconds_of_any(time.get("created")),
        completed=seconds_of_any(time.get("completed")),
        model=string(model),
        usage=usage_of(info.get("tokens")),
        # On a user message, `summary` holds what was changed in its turn.
        is_summary=info.get("summary") is True,
        is_finished=bool(info.get("finish")) or bool(time.get("completed")),
        parent=string(info.get("parentID")),
        error=string(error.get("name")) or ("error" if error else ""),
        notice=tuple(block for block, _ in blocks_of_error(info, origin)),
    )


def part_of(value: Mapping[str, Any], identifier: str, role: Role, origin: Origin) -> OpenCodePart:
    """A part.

    Args:
        value: What is stored of it.
        identifier: Its id.
        role: Of its message.
        origin: Where it is stored.
    """
    blocks = [block for block, _ in blocks_of_part(value, role, origin)]
    return OpenCodePart(
        identifier=identifier or string(value.get("id")),
        kind=string(value.get("type")),
        spoken=tuple(block for block in blocks if block.kind is not BlockKind.TOOL_RESULT),
        results=tuple(block for block in blocks if block.kind is BlockKind.TOOL_RESULT),
        cleared=cleared_at(value),
        usage=usage_of(value.get("tokens")) if value.get("type") == STEP_FINISH else None,
        kept_from=string(value.get("tail_start_id")),
        is_auto=value.get("auto") is True,
        is_synthetic=value.get("synthetic") is True,
        subagent=subagent_of_part(value),
    )
