"""The session under construction: what every reader fills, and from which it takes frozen snapshots.

A snapshot costs time in proportion to what changed since the one before: untouched messages, calls and contexts are
the same objects in both.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec import structs

from inspector.session.grown import Growing
from inspector.session.model import Call, Compaction, Context, ContextCause, Diagnostic, Message, Session
from inspector.session.reuse import reused

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from inspector.session.links import SessionLink
    from inspector.session.model import Block, TextSource

KEPT_DIAGNOSTICS = 100


@dataclass
class OpenContext:
    """A context that may still grow; `index` is its place in `Assembly.contexts`, the rest as in `Context`."""

    index: int
    members: Growing[int]
    cause: ContextCause
    thread: int
    carried: int = 0
    _frozen: Context | None = field(default=None, repr=False)

    def frozen(self) -> Context:
        """The context as it stands; the same object while nothing of it changed."""
        now = Context(self.members.state(), self.carried, self.cause, self.thread)
        if self._frozen is None or self._frozen != now:
            self._frozen = now
        return self._frozen


class Assembly:
    """What has been read of a session so far.

    Attributes:
        messages: So far; those with blocks still being added are brought up to date by a snapshot.
        calls: So far.
        contexts: So far.
        compactions: So far.
        record_counts: Records by kind.
        title, agent, identifier, working_directory, window: As in `Session`.
        links: Other sessions that belong to this one, each once, by kind, call and id.
    """

    def __init__(self) -> None:
        self.messages: Growing[Message] = Growing()
        self.calls: Growing[Call] = Growing()
        self.contexts: list[OpenContext] = []
        self.compactions: list[Compaction] = []
        self.record_counts: Counter[str] = Counter()
        self.title = ""
        self.agent = ""
        self.identifier = ""
        self.working_directory = ""
        self.window: int | None = None
        self.links: dict[tuple[str, str, str], SessionLink] = {}
        self._diagnostics: list[Diagnostic] = []
        self._skipped = 0
        self._growing: dict[int, list[Block]] = {}
        self._blocks: Growing[Block] = Growing()
        self._first_blocks: list[int] = [0]

    def add_message(self, message: Message) -> int:
        """Add a message at the end; its index."""
        self.messages.append(message)
        return len(self.messages) - 1

    def add_blocks(self, index: int, blocks: list[Block]) -> None:
        """Add blocks to the end of a message."""
        growing = self._growing.get(index)
        if growing is None:
            growing = self._growing[index] = list(self.messages[index].blocks)
        growing.extend(blocks)

    def grown(self) -> list[Message]:
        """The messages so far, with all the blocks that were added to them."""
        self._bring_up_to_date()
        return self.messages

    def replace_message(self, index: int, **changes: object) -> None:
        """Change attributes of a message other than its blocks."""
        self.messages[index] = structs.replace(self.messages[index], **changes)

    def add_context(self, thread: int, cause: ContextCause) -> OpenContext:
        """Begin a context, empty as yet."""
        context = OpenContext(len(self.contexts), Growing(), cause, thread)
        self.contexts.append(context)
        return context

    def put(
        self,
        messages: Sequence[Message],
        calls: Sequence[Call],
        contexts: Sequence[OpenContext],
        compactions: Sequence[Compaction],
    ) -> None:
        """Take what was worked out anew in the place of everything so far.

        For formats whose records change or go: what is equal stays the same object. `contexts` have to be in the order
        of their `index`.
        """
        self.messages, self.calls = Growing(reused(messages, self.messages)), Growing(reused(calls, self.calls))
        self._growing.clear()
        self.contexts, self.compactions = list(contexts), list(compactions)

    def reuse(self, before: Session) -> None:
        """Have messages that are equal to those of an earlier snapshot be the same objects."""
        self.messages = Growing(reused(self.grown(), before.messages))

    def diagnose(self, reason: str, line: int, offset: int, *, skipped: bool) -> None:
        """Note something that could not be read as it should."""
        self._skipped += skipped
        if len(self._diagnostics) < KEPT_DIAGNOSTICS:
            self._diagnostics.append(Diagnostic(reason, line, offset, skipped))

    def link(self, link: SessionLink) -> None:
        """Note a session that belongs to this one; the same one noted again takes the place of the first."""
        self.links[link.kind, link.tool_call_id, link.identifier] = link

    def snapshot(
        self,
        format_name: str,
        path: Path,
        texts: TextSource,
        files: tuple[Path, ...],
        unfinished: Diagnostic | None = None,
    ) -> Session:
        """What has been read so far, frozen.

        Args:
            format_name: The format's name.
            path: What was opened.
            texts: Reads texts again.
            files: What was read.
            unfinished: A last record that is not complete, and may still become so.
        """
        self._bring_up_to_date()
        diagnostics = self._diagnostics if unfinished is None else [*self._diagnostics, unfinished][:KEPT_DIAGNOSTICS]
        session = Session(
            format=format_name,
            path=path,
            identifier=self.identifier or path.stem,
            messages=self.messages.state(),
            calls=self.calls.state(),
            contexts=tuple(context.frozen() for context in self.contexts),
            texts=texts,
            compactions=tuple(self.compactions),
            diagnostics=tuple(diagnostics),
            skipped_records=self._skipped + (unfinished is not None),
            record_counts=dict(self.record_counts),
            title=self.title,
            agent=self.agent,
            working_directory=self.working_directory,
            window=self.window,
            files=files,
            links=tuple(self.links.values()),
        )
        # What `Session` would work out from all messages is known here from the snapshot before.
        vars(session)["all_blocks"] = self._blocks.state()
        return session

    def _bring_up_to_date(self) -> None:
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
