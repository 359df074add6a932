"""Build a session from stored messages; each step of a response becomes a message, followed by its results.

Follows `packages/opencode/src/session/message-v2.ts`, which converts parts to messages.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from inspector.session.blocks import TextBlock, text_block
from inspector.session.builder import SessionBuilder, Thread
from inspector.session.json import (
    amount,
    clean_string,
    clean_text,
    compact_json,
    count,
    lenient_json,
    mapping,
    objects,
    seconds_of_any,
    string,
)
from inspector.session.media import media_of_data_url
from inspector.session.model import (
    BlockKind,
    Compaction,
    ContextCause,
    LinkKind,
    Media,
    Message,
    Origin,
    RecordedTotals,
    Role,
    SessionLink,
    SideCall,
    Usage,
)
from inspector.session.usage_fields import OPENCODE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

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
    value = lenient_json(record)[0]
    if not isinstance(value, dict):
        return []
    first = origin.at(0)
    if origin.locator == ERROR or origin.locator.startswith(MESSAGE):
        return blocks_of_error(value, first)
    return blocks_of_part(value, Role.USER, first)


def blocks_of_error(info: Mapping[str, Any], origin: Origin) -> list[TextBlock]:
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
    """Return when a tool result was cleared in seconds since the epoch, by default its own time; None if not."""
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
    """Recorded counts of a message or session: input without cache, output, dollars (0 without a price)."""

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
        spoken: The blocks it adds to its message.
        results: The tool results it adds after the message.
        cleared: Time its result was cleared, None if it was not.
        kept_from: Id of the first message that a compaction keeps; empty for none.
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
        is_summary: True for the response to a summary request.
        parent: Id of the message it responds to.
        error: Name of its error; empty for none.
        notice: Its error as a block.
        purpose: Purpose of its request if it is outside the conversation: `compaction`, `title`; otherwise empty.
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
        parent: The session that started it as a subagent; empty for none.
        reverted_message: First message taken back; empty for none.
        reverted_part: First part of that message taken back; empty for the whole message.
        created: Start in seconds since the epoch, or None. Older messages were copied by a fork.
        origin: The session it was forked from; empty for none.
        boundary: Last message copied from the origin; empty if not recorded.
        recorded: Totals recorded for the session, or None: all its requests, including those without a message.
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


class Step(NamedTuple):
    """A call's response and its results; either message may be empty."""

    response: Message
    results: Message
    usage: Usage | None


@dataclass(frozen=True, eq=False)
class MessageWithParts:
    """A message with its parts. Derived messages are cached, so a rebuilt session reuses them."""

    message: OpenCodeMessage
    parts: Sequence[OpenCodePart]
    is_inherited: bool = False

    @classmethod
    def of(
        cls,
        message: OpenCodeMessage,
        parts: Sequence[OpenCodePart],
        session: OpenCodeInfo,
        is_inherited: bool | None = None,
    ) -> MessageWithParts:
        """Combine a message and its parts. Older times show a fork's copies unless `is_inherited` is known."""
        if is_inherited is None:
            began, created = session.created, message.created
            is_inherited = began is not None and created is not None and created < began
        return cls(message, parts, is_inherited)

    @cached_property
    def spoken(self) -> Message:
        """The message as sent, if it is not a response."""
        blocks = [block for part in self.parts for block in part.spoken]
        is_typed = any(part.spoken and not part.is_synthetic and part.kind != COMPACTION for part in self.parts)
        is_summary = self.message.is_summary and self.message.is_finished
        return self._made(self.message.role, blocks, is_meta=not is_typed, is_summary=is_summary)

    @cached_property
    def notice(self) -> Message:
        return self._made(Role.OTHER, self.message.notice)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """A response's steps, each with one call. The message's usage counts only if no step has any."""
        message, parts = self.message, self.parts
        starts = [place for place, part in enumerate(parts) if part.kind == STEP_START]
        # Parts before the first step belong to it.
        bounds = [0, *starts[1:], len(parts)]
        is_reported = any(part.usage is not None for part in parts)
        steps = []
        for start, end in pairwise(bounds):
            step = parts[start:end]
            usage = next((part.usage for part in step if part.usage is not None), None)
            if end == len(parts) and not is_reported:
                usage = message.usage
            spoken = [block for part in step for block in part.spoken]
            results = [block for part in step for block in part.results]
            response = self._made(Role.ASSISTANT, spoken, is_summary=message.is_summary)
            steps.append(Step(response, self._made(Role.TOOL, results), usage))
        return tuple(steps)

    def _made(self, role: Role, blocks: Sequence[Block], *, is_meta: bool = False, is_summary: bool = False) -> Message:
        return Message(
            role=role,
            blocks=tuple(blocks),
            time=self.message.created,
            identifier=self.message.identifier,
            is_meta=is_meta,
            is_summary=is_summary,
            is_inherited=self.is_inherited,
        )


TOGETHER_SECONDS = 1.0
"""Time span of one clearing: its parts are marked one after another, each with its own time."""


def clearings_of(stored: Sequence[MessageWithParts], messages: Sequence[Message]) -> list[Compaction]:
    """Return the clearings in order; each takes effect at the first message after it."""
    marks = sorted(
        (part.cleared, block.tool_call_id)
        for one in stored
        for part in one.parts
        if part.cleared is not None
        for block in part.results
    )
    found: list[tuple[float, list[str]]] = []
    last = float("-inf")
    for time, call in marks:
        if time - last > TOGETHER_SECONDS:
            found.append((time, []))
        found[-1][1].append(call)
        last = time
    return [
        Compaction(_first_after(messages, time), trigger="auto", cleared_tool_call_ids=tuple(calls), time=time)
        for time, calls in found
    ]


def _first_after(messages: Sequence[Message], time: float) -> int:
    for index, message in enumerate(messages):
        if message.time is not None and message.time >= time:
            return index
    return len(messages)


def with_parts(
    builder: SessionBuilder,
    session: OpenCodeInfo,
    messages: Iterable[tuple[str, OpenCodeMessage | None]],
    parts_of: Callable[[str], Iterable[tuple[str, OpenCodePart | None]]],
    known: Mapping[str, MessageWithParts],
) -> dict[str, MessageWithParts]:
    """Combine messages with their parts by id. Unreadable ones (None) are diagnosed, unchanged ones reused."""
    found: dict[str, MessageWithParts] = {}
    for identifier, message in messages:
        if message is None:
            builder.diagnose(f"message {identifier} cannot be read", 0, 0, skipped=True)
            continue
        parts = []
        for name, part in parts_of(identifier):
            if part is not None:
                parts.append(part)
            else:
                builder.diagnose(f"part {name} cannot be read", 0, 0, skipped=True)
        before = known.get(identifier)
        is_same = (
            before is not None and before.message is message and list(map(id, before.parts)) == list(map(id, parts))
        )
        found[identifier] = before if before is not None and is_same else MessageWithParts.of(message, parts, session)
    return found


def fill(
    builder: SessionBuilder, session: OpenCodeInfo, stored: Sequence[MessageWithParts], agent: str = "OpenCode"
) -> None:
    builder.identifier = session.identifier
    builder.title = session.title
    builder.working_directory = session.directory
    builder.agent = f"{agent} {session.version}".strip()
    if session.parent:
        builder.link(SessionLink(LinkKind.PARENT, session.parent))
    if session.origin:
        builder.link(SessionLink(LinkKind.CONTINUED, session.origin))
    started = [part.subagent for one in stored for part in one.parts if part.subagent is not None]
    named = {link.identifier for link in started}
    unnamed = [SessionLink(LinkKind.SUBAGENT, child) for child in session.children if child not in named]
    for link in (*started, *unnamed):
        builder.link(link)
    roles = Counter(one.message.role for one in stored)
    kinds = Counter(part.kind for one in stored for part in one.parts)
    builder.record_counts |= {f"message:{role.value}": count for role, count in roles.items()}
    builder.record_counts |= {f"part:{kind or '(no type)'}": count for kind, count in kinds.items()}
    conversation = OpenCodeThread(builder)
    conversation.add_all(stored)
    builder.compactions.extend(clearings_of(stored, builder.messages))
    builder.compactions.sort(key=lambda compaction: compaction.message)
    if session.reverted_message:
        _take_back(builder, conversation, session, stored)
    _add_totals(builder, session, stored)


TITLE_TOKENS = 10_000
"""Largest prompt of a title request: OpenCode 2 limits its text to 8,000 characters."""


def _add_totals(builder: SessionBuilder, session: OpenCodeInfo, stored: Sequence[MessageWithParts]) -> None:
    """Add the recorded cost, and the requests that are only in the session's totals.

    OpenCode 2 has no message for the request of a title, for a compaction in older versions, and for steps that a
    revert deleted. Their model is not recorded; titles are generated by the session's model or a smaller one.
    """
    own = copied = NO_USAGE
    for one in stored:
        if one.is_inherited:
            copied = copied.plus(one.message.recorded)
        else:
            own = own.plus(one.message.recorded)
    cost = own.cost
    left = _unlisted(session, own, copied)
    if left is not None:
        cost += max(left.cost, 0.0)
        models = Counter(call.model for call in builder.calls)
        model = models.most_common(1)[0][0] if models else ""
        is_title = left.input + left.read + left.write <= TITLE_TOKENS
        purpose = "title" if is_title else "title, deleted steps"
        usage = left.usage(excludes_reasoning=True)
        identifier = f"{session.identifier} unlisted"
        requests = 1 if is_title else 0
        made = SideCall(purpose, model, session.created, usage, identifier, requests=requests)
        builder.side_calls["unlisted"] = made
    if cost > 0:
        first = sum(builder.messages[call.response].is_inherited for call in builder.calls)
        sides = [
            (each.model, each.usage)
            for each in builder.side_calls.values()
            if each.usage is not None and not (each.response >= 0 and builder.messages[each.response].is_inherited)
        ]
        builder.recorded_totals.append(
            RecordedTotals(
                "message cost",
                cost_usd=cost,
                requests=len(builder.calls) - first + len(sides),
                first_call=first,
                end_call=len(builder.calls),
                side_usages=tuple(sides),
            )
        )


def _unlisted(session: OpenCodeInfo, own: RecordedUsage, copied: RecordedUsage) -> RecordedUsage | None:
    """Return the session's totals that no message reports, or None. Some copies keep the original's totals."""
    if session.recorded is None or session.recorded.tokens == copied.tokens:
        return None
    for listed in (own.plus(copied), own):
        left = session.recorded.minus(listed)
        if min(left.tokens) >= 0:
            return left if any(left.tokens) else None
    return None


class OpenCodeThread(Thread):
    """A conversation built from stored messages in order."""

    def __init__(self, builder: SessionBuilder) -> None:
        super().__init__(builder)
        self._first: dict[str, int] = {}
        self._compacting: dict[str, OpenCodePart] = {}
        self._tokens: int | None = None

    def add_all(self, stored: Sequence[MessageWithParts]) -> None:
        for one in stored:
            self._first[one.message.identifier] = len(self._builder.messages)
            if one.message.role is Role.ASSISTANT:
                self._respond(one)
            else:
                self._speak(one)

    def _speak(self, one: MessageWithParts) -> None:
        if one.message.purpose == COMPACTION:
            self._compact(one)
            return
        for part in one.parts:
            if part.kind == COMPACTION:
                self._compacting[one.message.identifier] = part
        index = -1
        if one.spoken.blocks:
            index = self.add(one.spoken, is_sent=one.message.role in (Role.USER, Role.SYSTEM))
        self._bill(one.message, one.message.usage, index)

    def _respond(self, one: MessageWithParts) -> None:
        message = one.message
        is_sent = not message.error or (message.error == ABORTED and any(part.has_content for part in one.parts))
        if message.notice:
            self.add(one.notice, is_sent=False)
        is_summary = message.is_summary and message.is_finished and not message.error
        for response, results, usage in one.steps:
            if not response.blocks and usage is None:
                continue
            if message.purpose:
                index = self._add_side_response(response, usage, message)
            else:
                identifier = message.call_identifier
                index = self.respond(response, model=message.model, usage=usage, identifier=identifier, is_sent=is_sent)
                self._tokens = usage.prompt + usage.output if usage is not None else self._tokens
            if results.blocks:
                self.add(results, is_sent=is_sent)
            if is_summary:
                self._begin_compacted(message, index)
                is_summary = False

    def _add_side_response(self, response: Message, usage: Usage | None, message: OpenCodeMessage) -> int:
        """Add the response to a request outside the conversation, its thinking as a separate message."""
        spoken = tuple(block for block in response.blocks if block.kind is not BlockKind.THINKING)
        thought = tuple(block for block in response.blocks if block.kind is BlockKind.THINKING)
        if spoken and thought:
            self.add(structs.replace(response, role=Role.OTHER, blocks=thought, is_summary=False), is_sent=False)
            response = structs.replace(response, blocks=spoken)
        index = self.add(response, is_sent=False)
        self._bill(message, usage, index)
        return index

    def _bill(self, message: OpenCodeMessage, usage: Usage | None, index: int) -> None:
        """Add a side request reported by the record of a message."""
        if usage is None:
            return
        key = f"{message.identifier} {index}"
        self._builder.side_calls[key] = SideCall(
            message.purpose or "request",
            message.model,
            message.created,
            usage,
            message.call_identifier,
            response=index,
        )

    def _compact(self, one: MessageWithParts) -> None:
        """Begin the context left by a compaction of OpenCode 2: only its checkpoint; a failed one is only shown."""
        message = one.message
        if not message.is_finished:
            index = self.add(one.spoken, is_sent=False)
        else:
            is_auto = any(part.is_auto for part in one.parts)
            compaction = Compaction(
                0, "auto" if is_auto else "manual", tokens_before=self._tokens, time=message.created
            )
            index = self.compact(compaction, one.spoken)
        self._bill(message, message.usage, index)

    def _begin_compacted(self, message: OpenCodeMessage, summary: int) -> None:
        """Begin the context left by a compaction: its request, the summary, and the messages kept after it."""
        request = self._compacting.get(message.parent)
        asked = self._first.get(message.parent) if request is not None else None
        known = self.members
        kept: list[int] = []
        if request is not None and request.kept_from in self._first:
            end = asked if asked is not None else summary
            kept = [index for index in known if self._first[request.kept_from] <= index < end]
        before = [asked] if asked is not None and asked in known else []
        self._builder.compactions.append(
            Compaction(
                message=summary,
                trigger="" if request is None else "auto" if request.is_auto else "manual",
                tokens_before=self._tokens,
                time=message.created,
            )
        )
        members = [*before, summary, *kept]
        self.begin(ContextCause.COMPACTION, members, len(members) if kept else len(before))


def _take_back(
    builder: SessionBuilder, conversation: OpenCodeThread, session: OpenCodeInfo, stored: Sequence[MessageWithParts]
) -> None:
    """Mark the reverted messages as abandoned and begin a context without them."""
    place = next((at for at, one in enumerate(stored) if one.message.identifier == session.reverted_message), None)
    if place is None:
        return
    left = list(stored[:place])
    if session.reverted_part:
        before = [part for part in stored[place].parts if part.identifier < session.reverted_part]
        left += [MessageWithParts.of(stored[place].message, before, session)] if before else []
    # The remaining messages are the first ones and have the same indices.
    alone = SessionBuilder()
    remaining = OpenCodeThread(alone)
    remaining.add_all(left)
    count = len(alone.messages)
    for index in range(count, len(builder.messages)):
        builder.replace_message(index, is_abandoned=True)
    conversation.begin(ContextCause.REWIND, remaining.members)
