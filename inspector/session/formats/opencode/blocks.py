"""Convert a stored part to blocks with the texts sent to the model.

Follows `packages/opencode/src/session/message-v2.ts`, which converts parts to messages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.session.blocks import TextBlock, text_block
from inspector.session.json.codec import clean_text, compact_json, lenient_json
from inspector.session.json.values import amount, clean_string, count, mapping, objects, seconds_of_any, string
from inspector.session.media import media_of_data_url
from inspector.session.model import BlockKind, LinkKind, Media, Origin, Role, SessionLink, Usage
from inspector.session.usage_fields import OPENCODE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inspector.session.model import Block


TEXT_KIND = {Role.USER: BlockKind.USER_TEXT, Role.ASSISTANT: BlockKind.ASSISTANT_TEXT}

COMPACTION_PROMPT = "What did we do so far?"
SUBTASK_PROMPT = "The following tool was executed by the user"

ERROR, MESSAGE = "error", "message/"
"""Locators of blocks from a message instead of a part."""

SENT = frozenset({"compaction", "file", "reasoning", "retry", "subtask", "text", "tool"})
"""Part types that form prompts."""

QUIET = frozenset({"agent", "patch", "snapshot", "step-finish", "step-start"})
"""Part types that are not sent."""

SENT_AS_TEXT = ("text/plain", "application/x-directory")
"""Attachments of these types are sent as separate text parts."""

SIGNATURES = frozenset({"encryptedcontent", "reasoningencryptedcontent", "reasoningopaque", "signature"})
"""Metadata fields of reasoning parts, without underscores, with encrypted or signed reasoning."""


def blocks_of_record(record: bytes, origin: Origin, /) -> Sequence[TextBlock]:
    """Parse the blocks of a stored part or a message's error, when its text is read again."""
    value = lenient_json(record)[0]
    if not isinstance(value, dict):
        return []
    first = origin.at(0)
    if origin.locator == ERROR or origin.locator.startswith(MESSAGE):
        return blocks_of_error(value, first)
    return blocks_of_part(value, Role.USER, first)


def blocks_of_error(info: Mapping[str, Any], origin: Origin) -> list[TextBlock]:
    """Build a notice from a message's error."""
    error = mapping(info.get("error"))
    if not error:
        return []
    given = mapping(error.get("data")).get("message") or error.get("message")
    text = f"{string(error.get('name')) or 'error'}: {given if isinstance(given, str) else compact_json(dict(error))}"
    return [text_block(BlockKind.OTHER, clean_text(text), origin)]


def blocks_of_part(value: Mapping[str, Any], role: Role, origin: Origin) -> list[TextBlock]:
    """Return the blocks of a part: usually one, two for a completed tool call, none if it is not sent."""
    kind = string(value.get("type"))
    if kind in QUIET:
        return []
    if kind == "tool":
        return _tool(value, origin)
    if kind == "reasoning":
        text = clean_string(value.get("text"))
        signature = signature_characters(value.get("metadata"))
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
    """Return the time a tool result was cleared, in seconds since the epoch; None if it was not.

    Without a valid time, the time of the result is used.
    """
    times = mapping(mapping(value.get("state")).get("time"))
    if not times.get("compacted"):
        return None
    return seconds_of_any(times["compacted"]) or seconds_of_any(times.get("end")) or 0.0


def subagent_of_part(value: Mapping[str, Any]) -> SessionLink | None:
    """Link the session started by a tool call; None for other parts."""
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


def signature_characters(metadata: object) -> int:
    """Return the length of the longest signature or encrypted text in a provider's metadata."""
    found = 0
    for fields in mapping(metadata).values():
        for name, value in mapping(fields).items():
            if name.replace("_", "").lower() in SIGNATURES and isinstance(value, str):
                found = max(found, len(value))
    return found


class RecordedUsage(NamedTuple):
    """Token counts and cost as recorded for one message or a whole session.

    Attributes:
        input: Prompt tokens without cache reads and writes.
        output: Response tokens, with or without reasoning.
        reasoning: Reasoning tokens.
        read: Prompt tokens read from the cache.
        write: Prompt tokens written to the cache.
        cost: Dollars as computed by OpenCode; 0 if it has no price.
    """

    input: int = 0
    output: int = 0
    reasoning: int = 0
    read: int = 0
    write: int = 0
    cost: float = 0.0

    @classmethod
    def of(cls, tokens: object, cost: object) -> RecordedUsage:
        stored = mapping(tokens)
        cache = mapping(stored.get("cache"))
        return cls(
            count(stored.get("input")),
            count(stored.get("output")),
            count(stored.get("reasoning")),
            count(cache.get("read")),
            count(cache.get("write")),
            amount(cost),
        )

    @property
    def tokens(self) -> tuple[int, ...]:
        return self[:5]

    def plus(self, other: RecordedUsage, sign: int = 1) -> RecordedUsage:
        counts = [mine + sign * theirs for mine, theirs in zip(self.tokens, other.tokens, strict=True)]
        return RecordedUsage(*counts)._replace(cost=self.cost + sign * other.cost)

    def minus(self, other: RecordedUsage) -> RecordedUsage:
        return self.plus(other, -1)

    def usage(self, *, excludes_reasoning: bool) -> Usage | None:
        """Convert to usage, None if all counts are 0; `excludes_reasoning` if `output` excludes reasoning."""
        return Usage(
            uncached=self.input,
            cache_read=self.read,
            cache_write_5m=self.write,
            output=self.output + self.reasoning if excludes_reasoning else max(self.output, self.reasoning),
            reasoning=self.reasoning,
        ).unless_zero()


NO_USAGE = RecordedUsage()


def usage_of(tokens: object, *, excludes_reasoning: bool = False) -> Usage | None:
    """Convert stored token counts; None if there are none, as for an aborted response.

    `output` includes reasoning in versions 1.2.20 to 1.2.26 and excludes it from 1.4.3 on; `total` shows which, also
    where it leaves out cached tokens. Older records have no total and include it, those of OpenCode 2 exclude it.

    Args:
        tokens: The counts.
        excludes_reasoning: True if `output` excludes reasoning in counts without a total.
    """
    recorded, total = RecordedUsage.of(tokens, 0), count(mapping(tokens).get("total"))
    whole = recorded.input + recorded.read + recorded.write
    if total:
        excludes_reasoning = total not in (whole + recorded.output, recorded.input + recorded.output)
    return OPENCODE.check(recorded.usage(excludes_reasoning=excludes_reasoning), tokens)


STEP_START, STEP_FINISH, COMPACTION = "step-start", "step-finish", "compaction"

ABORTED = "MessageAbortedError"

OWN_AGENTS = frozenset({"compaction", "title", "summary"})
"""Agents of OpenCode's own requests, which have their own system prompt and no tools."""


def _purpose(info: Mapping[str, Any]) -> str:
    """Return the purpose of a request outside the conversation; empty for the conversation's own."""
    agent = string(info.get("mode")) or string(info.get("agent"))
    if info.get("summary") is True:
        return COMPACTION
    return agent if agent in OWN_AGENTS else ""


@dataclass(frozen=True)
class OpenCodePart:
    """A parsed part.

    Attributes:
        identifier: Its id.
        kind: Its type.
        spoken: The blocks it adds to its message.
        results: The tool results it adds after the message.
        cleared: Time its result was cleared, None if it was not.
        usage: Usage reported at the end of a step.
        kept_from: Id of the first message that a compaction keeps; empty for none.
        is_auto: True for an automatic compaction.
        is_synthetic: True for text not typed by the user.
        subagent: The session started by a tool call.
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
        """True if an aborted message with this part is still sent."""
        return self.kind not in (STEP_START, "reasoning")


@dataclass(frozen=True)
class OpenCodeMessage:
    """A parsed message without its parts.

    Attributes:
        identifier: Its id.
        role: Its role.
        created: Seconds since the epoch, or None.
        completed: End of the response in seconds since the epoch, or None.
        model: The model that responded.
        usage: Reported usage.
        is_summary: True for the response to a summary request.
        is_finished: True for a complete response.
        parent: Id of the message it responds to.
        error: Name of its error; empty for none.
        notice: Its error as a block.
        purpose: Purpose of its request if it is outside the conversation: `compaction`, `title`; otherwise empty.
        recorded: Token counts and cost as recorded.
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
    purpose: str = ""
    recorded: RecordedUsage = NO_USAGE

    @property
    def call_identifier(self) -> str:
        """Identifier shared with copies of the response: its times, because a fork changes the id."""
        return self.identifier if self.completed is None else f"{self.created} to {self.completed}"


@dataclass(frozen=True)
class OpenCodeInfo:
    """Metadata of a session.

    Attributes:
        identifier: Its id.
        title: Its title in OpenCode.
        directory: Its working directory.
        version: Version of the program that began it.
        parent: The session that started it as a subagent; empty for none.
        reverted_message: First message taken back; empty for none.
        reverted_part: First part of that message taken back; empty for the whole message.
        created: Start in seconds since the epoch, or None. Older messages were copied by a fork.
        modified: Seconds since the epoch.
        origin: The session it was forked from; empty for none.
        boundary: Last message copied from the origin; empty if not recorded.
        recorded: Totals recorded for the session, or None: all its requests, including those without a message.
        children: Sessions it started as subagents.
        is_second: True for a session in the tables of OpenCode 2.
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
    origin: str = ""
    boundary: str = ""
    recorded: RecordedUsage | None = None
    children: tuple[str, ...] = ()
    is_second: bool = False


def info_of(info: Mapping[str, Any]) -> OpenCodeInfo:
    revert, time = mapping(info.get("revert")), mapping(info.get("time"))
    return OpenCodeInfo(
        identifier=string(info.get("id")),
        title=string(info.get("title")),
        directory=string(info.get("directory")) or string(mapping(info.get("location")).get("directory")),
        version=string(info.get("version")),
        parent=string(info.get("parentID")),
        reverted_message=string(revert.get("messageID")),
        reverted_part=string(revert.get("partID")),
        created=seconds_of_any(time.get("created")),
        modified=seconds_of_any(time.get("updated")) or 0.0,
    )


def message_of(info: Mapping[str, Any], identifier: str, created: float | None, origin: Origin) -> OpenCodeMessage:
    """Parse a message; `created` is its time if stored separately."""
    time, error = mapping(info.get("time")), mapping(info.get("error"))
    model = info.get("modelID") or mapping(info.get("model")).get("modelID")
    role = {"user": Role.USER, "assistant": Role.ASSISTANT}.get(string(info.get("role")), Role.OTHER)
    return OpenCodeMessage(
        identifier=identifier or string(info.get("id")),
        role=role,
        created=created if created is not None else seconds_of_any(time.get("created")),
        completed=seconds_of_any(time.get("completed")),
        model=string(model),
        usage=usage_of(info.get("tokens")),
        # On a user message, `summary` holds the changes made in its turn.
        is_summary=info.get("summary") is True,
        is_finished=bool(info.get("finish")) or bool(time.get("completed")),
        parent=string(info.get("parentID")),
        error=string(error.get("name")) or ("error" if error else ""),
        notice=tuple(block for block, _ in blocks_of_error(info, origin)),
        purpose=_purpose(info) if role is Role.ASSISTANT else "",
        recorded=RecordedUsage.of(info.get("tokens"), info.get("cost")),
    )


def part_of(value: Mapping[str, Any], identifier: str, role: Role, origin: Origin) -> OpenCodePart:
    """Parse a part; `role` is the role of its message."""
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
