"""Build a session from stored messages; each step of a response becomes a message, followed by its results."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from inspector.session.builder import SessionBuilder, Thread
from inspector.session.formats.opencode.blocks import (
    ABORTED,
    COMPACTION,
    STEP_START,
    OpenCodeInfo,
    OpenCodeMessage,
    OpenCodePart,
)
from inspector.session.model import Compaction, ContextCause, LinkKind, Message, Role, SessionLink

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from inspector.session.model import Block, Usage


class Step(NamedTuple):
    """A call's response and its results; either message may be empty."""

    response: Message
    results: Message
    usage: Usage | None


@dataclass(frozen=True, eq=False)
class MessageWithParts:
    """A message with its parts, in order.

    The derived messages are cached, so rebuilding the session reuses them.

    Attributes:
        message: The message.
        parts: Its parts.
        is_inherited: True if a fork copied it from another session.
    """

    message: OpenCodeMessage
    parts: Sequence[OpenCodePart]
    is_inherited: bool = False

    @classmethod
    def of(cls, message: OpenCodeMessage, parts: Sequence[OpenCodePart], session: OpenCodeInfo) -> MessageWithParts:
        """Combine a message and its parts. Copies in a fork have new ids but keep their times."""
        began, created = session.created, message.created
        return cls(message, parts, began is not None and created is not None and created < began)

    @cached_property
    def spoken(self) -> Message:
        """The message as sent, if it is not a response."""
        blocks = [block for part in self.parts for block in part.spoken]
        is_typed = any(part.spoken and not part.is_synthetic and part.kind != COMPACTION for part in self.parts)
        return self._made(self.message.role, blocks, is_meta=not is_typed)

    @cached_property
    def notice(self) -> Message:
        """The error as a message."""
        return self._made(Role.OTHER, self.message.notice)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """A response's steps, each with one call.

        The message's usage repeats its last step's, and is used only if no step reports usage.
        """
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
    """Combine messages with their parts, by message id. Unreadable ones become diagnostics.

    Args:
        builder: Receives the diagnostics.
        session: The session.
        messages: The messages by id, None for an unreadable one.
        parts_of: Returns a message's parts by id, None for an unreadable one.
        known: The previous result; unchanged messages are reused.
    """
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
    """Fill a builder from a whole session."""
    builder.identifier = session.identifier
    builder.title = session.title
    builder.working_directory = session.directory
    builder.agent = f"{agent} {session.version}".strip()
    if session.parent:
        builder.link(SessionLink(LinkKind.PARENT, session.parent))
    for started in (part.subagent for one in stored for part in one.parts):
        if started is not None:
            builder.link(started)
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
        for part in one.parts:
            if part.kind == COMPACTION:
                self._compacting[one.message.identifier] = part
        if one.spoken.blocks:
            self.add(one.spoken, is_sent=one.message.role is Role.USER)

    def _respond(self, one: MessageWithParts) -> None:
        message = one.message
        is_sent = not message.error or (message.error == ABORTED and any(part.has_content for part in one.parts))
        if message.notice:
            self.add(one.notice, is_sent=False)
        is_summary = message.is_summary and message.is_finished and not message.error
        for response, results, usage in one.steps:
            if not response.blocks and usage is None:
                continue
            index = self.respond(
                response,
                model=message.model,
                usage=usage,
                identifier=message.call_identifier,
                is_sent=is_sent and not is_summary,
            )
            if results.blocks:
                self.add(results, is_sent=is_sent)
            if is_summary:
                self._begin_compacted(message, index)
                is_summary = False
            if usage is not None:
                self._tokens = usage.prompt + usage.output

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
