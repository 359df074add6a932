"""Putting stored messages together: a step of the model is a message, and so are the results that answer it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from inspector.session.assembly import Assembly
from inspector.session.formats.opencode.clearings import clearings_of
from inspector.session.formats.opencode.stored import Stored
from inspector.session.formats.opencode.views import ABORTED, COMPACTION, MessageView, PartView, SessionView
from inspector.session.links import LinkKind, SessionLink
from inspector.session.model import Compaction, ContextCause, Role
from inspector.session.threads import Thread

if TYPE_CHECKING:
    from collections.abc import Sequence


def fill(assembly: Assembly, session: SessionView, stored: Sequence[Stored]) -> None:
    """Fill an assembly from a whole session."""
    assembly.identifier = session.identifier
    assembly.title = session.title
    assembly.working_directory = session.directory
    assembly.agent = f"OpenCode {session.version}".strip()
    if session.parent:
        assembly.link(SessionLink(LinkKind.PARENT, session.parent))
    for started in (part.subagent for one in stored for part in one.parts):
        if started is not None:
            assembly.link(started)
    roles = Counter(one.message.role for one in stored)
    kinds = Counter(part.kind for one in stored for part in one.parts)
    assembly.record_counts |= {f"message:{role.value}": count for role, count in roles.items()}
    assembly.record_counts |= {f"part:{kind or '(no type)'}": count for kind, count in kinds.items()}
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
        for one in stored:
            self._first[one.message.identifier] = len(self._assembly.messages)
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


def _take_back(assembly: Assembly, conversation: Conversation, session: SessionView, stored: Sequence[Stored]) -> None:
    """Mark what was taken back, and end with the context that is left."""
    place = next((at for at, one in enumerate(stored) if one.message.identifier == session.reverted_message), None)
    if place is None:
        return
    left = list(stored[:place])
    if session.reverted_part:
        before = [part for part in stored[place].parts if part.identifier < session.reverted_part]
        left += [Stored(stored[place].message, before)] if before else []
    # The messages that are left are the first ones, with the same indices, whatever comes behind them.
    alone = Assembly()
    remaining = Conversation(alone)
    remaining.add_all(left)
    count = len(alone.messages)
    for index in range(count, len(assembly.messages)):
        assembly.replace_message(index, is_abandoned=True)
    conversation.thread.begin(ContextCause.REWIND, remaining.thread.members)
