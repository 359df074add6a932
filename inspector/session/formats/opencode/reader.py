"""Build a session from stored messages; each step of a response becomes a message, followed by its results."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from inspector.session.builder import SessionBuilder, Thread
from inspector.session.formats.opencode.blocks import (
    ABORTED,
    COMPACTION,
    NO_USAGE,
    STEP_START,
    OpenCodeInfo,
    OpenCodeMessage,
    OpenCodePart,
    RecordedUsage,
)
from inspector.session.model import (
    BlockKind,
    Compaction,
    ContextCause,
    LinkKind,
    Message,
    RecordedTotals,
    Role,
    SessionLink,
    SideCall,
)

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
    def of(
        cls,
        message: OpenCodeMessage,
        parts: Sequence[OpenCodePart],
        session: OpenCodeInfo,
        is_inherited: bool | None = None,
    ) -> MessageWithParts:
        """Combine a message and its parts.

        Copies in a fork have new ids but keep their times, which show them unless `is_inherited` is known.
        """
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
    """Return the part of the session's recorded totals that no message reports; None if there is none.

    A fork's totals start at zero, but some copies of a session keep its totals.
    """
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
