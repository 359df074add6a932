"""The session under construction: filled by interpreters, snapshotted by readers.

A snapshot costs time in proportion to the changes since the previous one: unchanged messages, calls and contexts are
the same objects in both.
"""

from __future__ import annotations

import os
import sys
from array import array
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from inspector.session.model import (
    BlockKind,
    Call,
    Compaction,
    Context,
    ContextCause,
    Diagnostic,
    Message,
    Role,
    Session,
    ignored_usage,
)
from inspector.session.snapshot_list import SnapshotList

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from inspector.session.model import Block, RecordedTotals, ReportedMiss, SessionLink, SideCall, TextSource, Usage


KEPT_DIAGNOSTICS = 100

MESSAGES_VARIABLE = "INSPECTOR_MESSAGES"
DEFAULT_MESSAGES = 200_000
"""Limit on the messages of a session, each of which takes about a kilobyte; long sessions have tens of thousands."""


class SessionBuilder:
    """The part of a session that has been read so far.

    Attributes:
        messages: Messages so far; blocks still being added are merged in by a snapshot.
        links: Related sessions, unique by kind, call and id.
        side_calls: Requests outside the conversation, by unique key.
        side_files: As in `Session`, without duplicates.
        current_diagnostics: Diagnostics of the current state, recomputed for every snapshot.
        most_messages: Limit on the messages read.
    """

    def __init__(self) -> None:
        self.messages: SnapshotList[Message] = SnapshotList()
        self.calls: SnapshotList[Call] = SnapshotList()
        self.contexts: list[OpenContext] = []
        self.compactions: list[Compaction] = []
        self.record_counts: Counter[str] = Counter()
        self.title = ""
        self.agent = ""
        self.identifier = ""
        self.working_directory = ""
        self.window: int | None = None
        self.links: dict[tuple[str, str, str], SessionLink] = {}
        self.side_calls: dict[str, SideCall] = {}
        self.side_files: dict[Path, None] = {}
        self.recorded_totals: list[RecordedTotals] = []
        self.current_diagnostics: tuple[Diagnostic, ...] = ()
        self._diagnostics: list[Diagnostic] = []
        self._skipped = 0
        self._empty: tuple[int, int, int] | None = None
        """Number of empty records, and the line and offset of the first."""
        self._left_out: tuple[int, int, int] | None = None
        """Number of records after the last message of a session at its limit, and the line and offset of the first."""
        self.most_messages = limit_of(MESSAGES_VARIABLE, DEFAULT_MESSAGES)
        self._growing: dict[int, list[Block]] = {}
        self._blocks: SnapshotList[Block] = SnapshotList()
        self._first_blocks = array("q", [0])

    def add_message(self, message: Message) -> int:
        self.messages.append(message)
        return len(self.messages) - 1

    def add_blocks(self, index: int, blocks: list[Block]) -> None:
        growing = self._growing.get(index)
        if growing is None:
            growing = self._growing[index] = list(self.messages[index].blocks)
        growing.extend(blocks)

    def complete_messages(self) -> list[Message]:
        """Return the messages so far, including all added blocks."""
        self._flush()
        return self.messages

    def replace_message(self, index: int, **changes: object) -> None:
        """Change attributes of a message other than its blocks."""
        self.messages[index] = structs.replace(self.messages[index], **changes)

    def add_context(self, thread: int, cause: ContextCause) -> OpenContext:
        context = OpenContext(len(self.contexts), SnapshotList(), cause, thread)
        self.contexts.append(context)
        return context

    def replace_all(
        self,
        messages: Sequence[Message],
        calls: Sequence[Call],
        contexts: Sequence[OpenContext],
        compactions: Sequence[Compaction],
    ) -> None:
        """Replace all, for records that change; equal items stay. Contexts are in the order of `index`."""
        self._growing.clear()
        self.messages[:], self.calls[:] = messages, calls
        self.contexts, self.compactions = list(contexts), list(compactions)

    def reuse(self, before: Session) -> None:
        """Share message objects with an earlier snapshot when they are equal."""
        messages = SnapshotList(before.messages)
        messages.snapshot()
        messages[:] = self.complete_messages()
        self.messages = messages

    def _counted_records(self) -> Iterator[Diagnostic]:
        if self._left_out:
            count, line, offset = self._left_out
            read = f"{len(self.messages):,} messages"
            reason = f"{_records(count)} left out after {read}; {MESSAGES_VARIABLE} sets the limit"
            yield Diagnostic(reason, line, offset, skipped=True, loses_usage=True)
        if self._empty:
            count, line, offset = self._empty
            yield Diagnostic(_records(count, "empty "), line, offset, skipped=True)

    def skip_empty(self, count: int, line: int, offset: int) -> None:
        """Count empty records in a row, which are one diagnostic per session."""
        self._skipped += count
        before, first_line, first_offset = self._empty or (0, line, offset)
        self._empty = before + count, first_line, first_offset

    @property
    def is_full(self) -> bool:
        """True if the session has as many messages as are read: pass the following records to `leave_out`."""
        return len(self.messages) >= self.most_messages

    def leave_out(self, count: int, line: int, offset: int) -> None:
        """Count records in a row that are not read, which are one diagnostic per session."""
        self._skipped += count
        before, first_line, first_offset = self._left_out or (0, line, offset)
        self._left_out = before + count, first_line, first_offset

    def diagnose(self, reason: str, line: int, offset: int, *, skipped: bool, loses_usage: bool = False) -> None:
        self._skipped += skipped
        if len(self._diagnostics) < KEPT_DIAGNOSTICS:
            self._diagnostics.append(Diagnostic(reason, line, offset, skipped, loses_usage))

    def link(self, link: SessionLink) -> None:
        """Add a related session; a repeated link replaces the earlier one."""
        self.links[link.kind, link.tool_call_id, link.identifier] = link

    def snapshot(
        self,
        format_name: str,
        path: Path,
        texts: TextSource,
        files: tuple[Path, ...],
        unfinished: Diagnostic | None = None,
    ) -> Session:
        """Return an immutable snapshot. `unfinished` reports a last record that may still be completed."""
        self._flush()
        calls, side_calls = self.calls.snapshot(), tuple(self.side_calls.values())
        ignored = ignored_usage(calls, side_calls)
        diagnostics = [
            *(_ignored_field(name, count) for name, count in ignored.items()),
            *self._counted_records(),
            *self._diagnostics,
            *self.current_diagnostics,
            *([unfinished] if unfinished is not None else []),
        ]
        session = Session(
            format=format_name,
            path=path,
            identifier=self.identifier or path.stem,
            messages=self.messages.snapshot(),
            calls=calls,
            contexts=tuple(context.frozen() for context in self.contexts),
            texts=texts,
            compactions=tuple(self.compactions),
            diagnostics=tuple(diagnostics[:KEPT_DIAGNOSTICS]),
            skipped_records=self._skipped
            + sum(one.skipped for one in self.current_diagnostics)
            + (unfinished is not None),
            record_counts=dict(self.record_counts),
            title=self.title,
            agent=self.agent,
            working_directory=self.working_directory,
            window=self.window,
            files=files,
            links=tuple(self.links.values()),
            side_calls=side_calls,
            side_files=tuple(self.side_files),
            recorded_totals=tuple(self.recorded_totals),
        )
        # Reuse the previous snapshot's blocks: `Session` would recompute them from all messages.
        vars(session)["all_blocks"] = self._blocks.snapshot()
        vars(session)["ignored_usage"] = ignored
        return session

    def _flush(self) -> None:
        for index, blocks in self._growing.items():
            self.messages[index] = structs.replace(self.messages[index], blocks=tuple(blocks))
        self._growing.clear()
        first = self.messages.unchanged
        del self._first_blocks[first + 1 :]
        kept = self._first_blocks[first]
        tail: list[Block] = []
        for message in self.messages[first:]:
            tail.extend(message.blocks)
            self._first_blocks.append(kept + len(tail))
        self._blocks[kept:] = tail


def limit_of(variable: str, default: int) -> int:
    """Return a limit from an environment variable, or the default if it is not a number."""
    given = os.environ.get(variable, "")
    return int(given) if given.isascii() and given.isdigit() and 0 < len(given) < 10 else default


def _records(count: int, kind: str = "") -> str:
    return f"{count:,} {kind}record{'' if count == 1 else 's'}"


def _ignored_field(name: str, count: int) -> Diagnostic:
    reports = "1 usage report" if count == 1 else f"{count:,} usage reports"
    return Diagnostic(f"unknown field {name} in {reports}: totals are lower bounds", skipped=False)


@dataclass
class OpenContext:
    """A context that may still grow; `index` is its position in `SessionBuilder.contexts`, the rest as in `Context`."""

    index: int
    members: SnapshotList[int]
    cause: ContextCause
    thread: int
    retained: int = 0
    _frozen: Context | None = field(default=None, repr=False)

    def frozen(self) -> Context:
        """Return an immutable copy; the same object while nothing changed."""
        now = Context(self.members.snapshot(), self.retained, self.cause, self.thread)
        if self._frozen is None or self._frozen != now:
            self._frozen = now
        return self._frozen


class Thread:
    """The conversation of a session or of an inline subagent. `context`: the growing context; None before the first."""

    def __init__(self, builder: SessionBuilder, number: int = 0) -> None:
        self._builder = builder
        self.number = number
        self.context: OpenContext | None = None
        self._model = ""

    @property
    def members(self) -> list[int]:
        return self.context.members if self.context is not None else []

    def add(self, message: Message, *, is_sent: bool = True) -> int:
        """Append a message and return its index."""
        index = self._builder.add_message(message)
        if is_sent:
            self.open_context().members.append(index)
        return index

    def respond(
        self,
        message: Message,
        *,
        model: str = "",
        usage: Usage | None = None,
        identifier: str = "",
        is_sent: bool = True,
        miss: ReportedMiss | None = None,
        thinking: str = "",
        betas: str | None = None,
        terms: str = "",
    ) -> int:
        """Append a model's response and its call; return the message's index.

        Without model and usage, tokens are estimated, at the price of the model so far: the record is damaged.
        """
        if not model and usage is None:
            model = self._model
        self._model = model or self._model
        context = self.open_context()
        model = sys.intern(model)
        prompt_messages = len(context.members)
        index = self.add(message, is_sent=is_sent)
        self._builder.calls.append(
            Call(
                index,
                context.index,
                prompt_messages,
                model,
                message.time,
                usage,
                identifier or message.identifier,
                miss,
                thinking,
                betas,
                terms,
            )
        )
        return index

    def add_call(self, index: int, prompt_messages: int, **fields: str) -> None:
        """Add the call of a message in the current context that was added without one."""
        message = self._builder.messages[index]
        context = self.open_context().index
        call = Call(index, context, prompt_messages, time=message.time, identifier=message.identifier)
        self._builder.calls.append(structs.replace(call, **fields))

    def begin(self, cause: ContextCause, members: Iterable[int] = (), retained: int | None = None) -> OpenContext:
        """Begin a new context. `retained`: number of members kept from the previous context; all if None."""
        self.context = self._builder.add_context(self.number, cause)
        self.context.members.extend(members)
        self.context.retained = len(self.context.members) if retained is None else retained
        return self.context

    def compact(
        self, compaction: Compaction, summary: Message | None, kept: Iterable[int] = (), before: Iterable[int] = ()
    ) -> int:
        """Begin the context after a compaction, whose index is set: `before` (system text), summary, `kept`."""
        before, kept = list(before), list(kept)
        first = len(self._builder.messages)
        if summary is not None and any(block.kind is not BlockKind.THINKING for block in summary.blocks):
            # The thinking of the summarizer is not sent.
            texts = tuple(block for block in summary.blocks if block.kind is not BlockKind.THINKING)
            summary = structs.replace(summary, blocks=texts)
        # A summary always belongs to the context it begins, unlike messages that are only shown.
        own = [self._builder.add_message(summary)] if summary is not None else []
        members = [*before, *own, *kept]
        self.begin(ContextCause.COMPACTION, members, len(members) if kept else len(before))
        self._builder.compactions.append(structs.replace(compaction, message=first))
        return first

    def note_model(self, model: str) -> None:
        """Set the model of calls without one: some recorded conversations name the model only once."""
        for index, call in enumerate(self._builder.calls):
            if not call.model and self._builder.contexts[call.context].thread == self.number:
                self._builder.calls[index] = structs.replace(call, model=model)

    def open_context(self) -> OpenContext:
        if self.context is None:
            self.context = self._builder.add_context(self.number, ContextCause.START)
        return self.context


class ToolNames(dict[str, str]):
    """Tool names by call id."""

    def note(self, blocks: Iterable[Block]) -> None:
        for block in blocks:
            if block.kind is BlockKind.TOOL_CALL:
                self[block.tool_call_id] = block.tool_name


class _Called(NamedTuple):
    """A call: its recorded id, its unique id, and its tool."""

    recorded: str
    identifier: str
    tool: str


class CallMatcher:
    """Matches the calls and results of one conversation, in order.

    A call keeps its id, unless the id is missing or belongs to another call without a result; then it gets a new one.
    A result belongs to the first call with its id that has no result yet. A result without an id belongs to the first
    call without one, preferably of the tool it names.
    """

    def __init__(self, *, are_ids_left_out: bool = False) -> None:
        """Start without calls. `are_ids_left_out`: a result without an id may answer a call that has one."""
        self._are_ids_left_out = are_ids_left_out
        self._open: list[_Called] = []
        self._latest: dict[str, _Called] = {}
        self._given: set[str] = set()
        self._is_answered = False

    def paired(self, role: Role, blocks: Iterable[Block]) -> tuple[Block, ...]:
        """Return the blocks of the next message: calls with unique ids, results with the ids of their calls."""
        if role is Role.ASSISTANT and self._is_answered:
            self._open.clear()  # calls still open here get no result
        self._is_answered = role is not Role.ASSISTANT
        return tuple(self._paired(block) for block in blocks)

    def _paired(self, block: Block) -> Block:
        if block.kind is BlockKind.TOOL_CALL:
            called = _Called(block.tool_call_id, self._identifier(block.tool_call_id), block.tool_name)
            self._open.append(called)
            self._latest[called.recorded] = called
        elif block.kind is BlockKind.TOOL_RESULT:
            found = self._answered(block)
            if found is None:
                return block
            called = found
        else:
            return block
        if (called.identifier, called.tool) == (block.tool_call_id, block.tool_name):
            return block
        return structs.replace(block, tool_call_id=called.identifier, tool_name=called.tool)

    def _identifier(self, recorded: str) -> str:
        if recorded and all(call.recorded != recorded for call in self._open):
            return recorded
        number = 1 if not recorded else 2
        while (name := f"{recorded or 'call'}-{number}") in self._given or name in self._latest:
            number += 1
        self._given.add(name)
        return name

    def _answered(self, result: Block) -> _Called | None:
        recorded = result.tool_call_id
        waiting = [call for call in self._open if call.recorded == recorded]
        if not recorded and not waiting and self._are_ids_left_out:
            waiting = self._open
        if not waiting:
            return self._latest.get(recorded) if recorded else None
        named = [call for call in waiting if call.tool == result.tool_name] if not recorded else []
        found = (named or waiting)[0]
        self._open.remove(found)
        return found
