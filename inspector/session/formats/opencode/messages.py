"""Putting stored messages together: a step of the model is a message, and so are the results that answer it."""

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
    MessageView,
    PartView,
    SessionView,
)
from inspector.session.model import Compaction, ContextCause, LinkKind, Message, Role, SessionLink

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.session.model import Block, Usage


class Step(NamedTuple):
    """One call's response and the results that came back; either message may hold nothing."""

    response: Message
    results: Message
    usage: Usage | None


@dataclass(frozen=True, eq=False)
class Stored:
    """A message with its parts, in order.

    What is made of them is made once, however often the session is put together anew.
    """

    message: MessageView
    parts: Sequence[PartView]

    @cached_property
    def spoken(self) -> Message:
        """What was said, for a message that is no response."""
        blocks = [block for part in self.parts for block in part.spoken]
        is_typed = any(part.spoken and not part.is_synthetic and part.kind != COMPACTION for part in self.parts)
        return _message(self.message, self.message.role, blocks, is_meta=not is_typed)

    @cached_property
    def notice(self) -> Message:
        """What went wrong."""
        return _message(self.message, Role.OTHER, self.message.notice)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """A response's steps, each one call.

        A message says of its usage what its last step does, and alone says it where steps do not.
        """
        message, parts = self.message, self.parts
        starts = [place for place, part in enumerate(parts) if part.kind == STEP_START]
        # What stands before the first step belongs to it.
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
            response = _message(message, Role.ASSISTANT, spoken, is_summary=message.is_summary)
            steps.append(Step(response, _message(message, Role.TOOL, results), usage))
        return tuple(steps)


def _message(
    message: MessageView, role: Role, blocks: Sequence[Block], *, is_meta: bool = False, is_summary: bool = False
) -> Message:
    return Message(
        role=role,
        blocks=tuple(blocks),
        time=message.created,
        identifier=message.identifier,
        is_meta=is_meta,
        is_summary=is_summary,
    )


TOGETHER_SECONDS = 1.0
"""Parts that were cleared at once are marked one after the other; each carries the time of its own mark."""


def clearings_of(stored: Sequence[Stored], messages: Sequence[Message]) -> list[Compaction]:
    """The clearings, in order: each takes effect with the first message that came after it."""
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


def fill(builder: SessionBuilder, session: SessionView, stored: Sequence[Stored]) -> None:
    """Fill a builder from a whole session."""
    builder.identifier = session.identifier
    builder.title = session.title
    builder.working_directory = session.directory
    builder.agent = f"OpenCode {session.version}".strip()
    if session.parent:
        builder.link(SessionLink(LinkKind.PARENT, session.parent))
    for started in (part.subagent for one in stored for part in one.parts):
        if started is not None:
            builder.link(started)
    roles = Counter(one.message.role for one in stored)
    kinds = Counter(part.kind for one in stored for part in one.parts)
    builder.record_counts |= {f"message:{role.value}": count for role, count in roles.items()}
    builder.record_counts |= {f"part:{kind or '(no type)'}": count for kind, count in kinds.items()}
    conversation = OpenCodeSession(builder)
    conversation.add_all(stored)
    builder.compactions.extend(clearings_of(stored, builder.messages))
    builder.compactions.sort(key=lambda compaction: compaction.message)
    if session.reverted_message:
        _take_back(builder, conversation, session, stored)


class OpenCodeSession:
    """Takes messages in order and fills a builder.

    Attributes:
        thread: The conversation they make up.
    """

    def __init__(self, builder: SessionBuilder) -> None:
        """Begin."""
        self._builder = builder
        self.thread = Thread(builder)
        self._first: dict[str, int] = {}
        self._compacting: dict[str, PartView] = {}
        self._tokens: int | None = None

    def add_all(self, stored: Sequence[Stored]) -> None:
        """Take all messages."""
        for one in stored:
            self._first[one.message.identifier] = len(self._builder.messages)
            if one.message.role is Role.ASSISTANT:
                self._respond(one)
            else:
                self._speak(one)

    def _speak(self, one: Stored) -> None:
        for part in one.parts:
            if part.kind == COMPACTION:
                self._compacting[one.message.identifier] = part
        if one.spoken.blocks:
            self.thread.add(one.spoken, is_sent=one.message.role is Role.USER)

    def _respond(self, one: Stored) -> None:
        message = one.message
        is_sent = not message.error or (message.error == ABORTED and any(part.has_content for part in one.parts))
        if message.notice:
            self.thread.add(one.notice, is_sent=False)
        is_summary = message.is_summary and message.is_finished and not message.error
        for response, results, usage in one.steps:
            if not response.blocks and usage is None:
                continue
            index = self.thread.respond(response, model=message.model, usage=usage, is_sent=is_sent and not is_summary)
            if results.blocks:
                self.thread.add(results, is_sent=is_sent)
            if is_summary:
                self._compact(message, index)
                is_summary = False
            if usage is not None:
                self._tokens = usage.prompt + usage.output

    def _compact(self, message: MessageView, summary: int) -> None:
        """Begin the context that a summary leaves: what asked for it, the summary, and what was kept behind it."""
        request = self._compacting.get(message.parent)
        asked = self._first.get(message.parent) if request is not None else None
        known = self.thread.members
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
        self.thread.begin(ContextCause.COMPACTION, members, len(members) if kept else len(before))


def _take_back(
    builder: SessionBuilder, conversation: OpenCodeSession, session: SessionView, stored: Sequence[Stored]
) -> None:
    """Mark what was taken back, and end with the context that is left."""
    place = next((at for at, one in enumerate(stored) if one.message.identifier == session.reverted_message), None)
    if place is None:
        return
    left = list(stored[:place])
    if session.reverted_part:
        before = [part for part in stored[place].parts if part.identifier < session.reverted_part]
        left += [Stored(stored[place].message, before)] if before else []
    # The messages that are left are the first ones, with the same indices, whatever comes behind them.
    alone = SessionBuilder()
    remaining = OpenCodeSession(alone)
    remaining.add_all(left)
    count = len(alone.messages)
    for index in range(count, len(builder.messages)):
        builder.replace_message(index, is_abandoned=True)
    conversation.thread.begin(ContextCause.REWIND, remaining.thread.members)
