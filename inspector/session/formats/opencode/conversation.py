"""Putting stored messages together: a step of the model is a message, and so are the results that answer it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from inspector.session.assembly import Assembly
from inspector.session.formats.opencode.clearings import clearings_of
from inspector.session.formats.opencode.views import ABORTED, COMPACTION, STEP_START, MessageView, PartView, SessionView
from inspector.session.model import Compaction, ContextCause, Message, Role
from inspector.session.threads import Thread

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from inspector.session.model import Block, Usage


class Stored(NamedTuple):
    """A message with its parts, in order."""

    message: MessageView
    parts: Sequence[PartView]


def fill(assembly: Assembly, session: SessionView, stored: Sequence[Stored]) -> None:
    """Fill an assembly from a whole session."""
    assembly.identifier = session.identifier
    assembly.title = session.title
    assembly.working_directory = session.directory
    assembly.agent = f"OpenCode {session.version}".strip()
    for message, parts in stored:
        assembly.record_counts[f"message:{message.role.value}"] += 1
        for part in parts:
            assembly.record_counts[f"part:{part.kind or '(no type)'}"] += 1
    conversation = Conversation(assembly)
    conversation.add_all(stored)
    assembly.compactions.extend(clearings_of(stored, assembly.messages))
    assembly.compactions.sort(key=lambda compaction: compaction.message)
    if session.reverted_message:
        _take_back(assembly, conversation, session, stored)


class Conversation:
    """Takes messages in order and fills an assembly.

    Attributes:
        thread: The conversation they make up.
    """

    def __init__(self, assembly: Assembly) -> None:
        """Begin."""
        self._assembly = assembly
        self.thread = Thread(assembly)
        self._first: dict[str, int] = {}
        self._compacting: dict[str, PartView] = {}
        self._tokens: int | None = None

    def add_all(self, stored: Sequence[Stored]) -> None:
        """Take all messages."""
        for message, parts in stored:
            self._first[message.identifier] = len(self._assembly.messages)
            if message.role is Role.ASSISTANT:
                self._respond(message, parts)
            else:
                self._speak(message, parts)

    def _speak(self, message: MessageView, parts: Sequence[PartView]) -> None:
        for part in parts:
            if part.kind == COMPACTION:
                self._compacting[message.identifier] = part
        blocks = [block for part in parts for block in part.spoken]
        if blocks:
            is_typed = any(part.spoken and not part.is_synthetic and part.kind != COMPACTION for part in parts)
            made = self._message(message, message.role, blocks, is_meta=not is_typed)
            self.thread.add(made, is_sent=message.role is Role.USER)

    def _respond(self, message: MessageView, parts: Sequence[PartView]) -> None:
        is_sent = not message.error or (message.error == ABORTED and any(part.has_content for part in parts))
        if message.notice:
            self.thread.add(self._message(message, Role.OTHER, message.notice), is_sent=False)
        steps = list(steps_of(message, parts))
        is_summary = message.is_summary and message.is_finished and not message.error
        for spoken, results, usage in steps:
            if not spoken and usage is None:
                continue
            response = self._message(message, Role.ASSISTANT, spoken, is_summary=message.is_summary)
            index = self.thread.respond(response, model=message.model, usage=usage, is_sent=is_sent and not is_summary)
            if results:
                self.thread.add(self._message(message, Role.TOOL, results), is_sent=is_sent)
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
        self._assembly.compactions.append(
            Compaction(
                message=summary,
                trigger="" if request is None else "auto" if request.is_auto else "manual",
                tokens_before=self._tokens,
                time=message.created,
            )
        )
        members = [*before, summary, *kept]
        self.thread.begin(ContextCause.COMPACTION, members, len(members) if kept else len(before))

    def _message(
        self,
        message: MessageView,
        role: Role,
        blocks: Sequence[Block],
        *,
        is_meta: bool = False,
        is_summary: bool = False,
    ) -> Message:
        return Message(
            role=role,
            blocks=tuple(blocks),
            time=message.created,
            identifier=message.identifier,
            is_meta=is_meta,
            is_summary=is_summary,
        )


def steps_of(
    message: MessageView, parts: Sequence[PartView]
) -> Iterator[tuple[list[Block], list[Block], Usage | None]]:
    """The steps of a response, each one call: what the model said, the results that came back, and its usage.

    A message says of its usage what its last step does, and alone says it where steps do not.
    """
    starts = [place for place, part in enumerate(parts) if part.kind == STEP_START]
    # What stands before the first step belongs to it.
    bounds = [0, *(place for place in starts[1:]), len(parts)]
    reported = [part.usage for part in parts if part.usage is not None]
    for number, (start, end) in enumerate(pairwise(bounds)):
        step = parts[start:end]
        usage = next((part.usage for part in step if part.usage is not None), None)
        if usage is None and number == len(bounds) - 2 and not reported:
            usage = message.usage
        spoken = [block for part in step for block in part.spoken]
        yield spoken, [block for part in step for block in part.results], usage


def _take_back(assembly: Assembly, conversation: Conversation, session: SessionView, stored: Sequence[Stored]) -> None:
    """Mark what was taken back, and end with the context that is left."""
    place = next((at for at, (message, _) in enumerate(stored) if message.identifier == session.reverted_message), None)
    if place is None:
        return
    left = list(stored[:place])
    message, parts = stored[place]
    if session.reverted_part:
        before = [part for part in parts if part.identifier < session.reverted_part]
        left += [Stored(message, before)] if before else []
    # The messages that are left are the first ones, with the same indices, whatever comes behind them.
    alone = Assembly()
    remaining = Conversation(alone)
    remaining.add_all(left)
    count = len(alone.messages)
    for index in range(count, len(assembly.messages)):
        assembly.replace_message(index, is_abandoned=True)
    conversation.thread.begin(ContextCause.REWIND, remaining.thread.members)
