"""The session under construction: what every reader fills, and from which it takes frozen snapshots.

A snapshot costs time in proportion to what changed since the one before, apart from copying a few tuples of references:
untouched messages, calls and contexts are the same objects in both.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec import structs

from inspector.session.grown import Grown
from inspector.session.model import Call, Compaction, Context, ContextCause, Diagnostic, Message, Session

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from inspector.session.links import SessionLink
    from inspector.session.model import Block, TextSource

KEPT_DIAGNOSTICS = 100

LOOKED_AT_AGAIN = 32
"""Whoever follows a session looks for changed messages from its end, this far at least behind the last change."""


@dataclass
class OpenContext:
    """A context that may still grow; `index` is its place in `Assembly.contexts`, the rest as in `Context`."""

    index: int
    members: list[int]
    cause: ContextCause
    thread: int
    carried: int = 0
    _frozen: Context | None = field(default=None, repr=False)
    _seen: list[int] = field(default_factory=list, repr=False)

    def frozen(self) -> Context:
        """The context as it stands; the same object while nothing was added."""
        if self._frozen is None or len(self.members) < len(self._seen):
            self._seen = list(self.members)
        elif len(self.members) == len(self._seen):
            return self._frozen
        else:
            self._seen += self.members[len(self._seen) :]
        self._frozen = Context(Grown(self._seen), self.carried, self.cause, self.thread)
        return self._frozen

    def touch(self) -> None:
        """Forget the frozen form, after a change other than members added at the end."""
        self._frozen = None


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
        self.messages: list[Message] = []
        self.calls: list[Call] = []
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
        self._blocks: list[Block] = []
        self._first_blocks: list[int] = [0]
        self._first_changed = 0

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
        self._first_changed = min(self._first_changed, index)

    def add_context(self, thread: int, cause: ContextCause) -> OpenContext:
        """Begin a context, empty as yet."""
        context = OpenContext(len(self.contexts), [], cause, thread)
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
        before, count = self.messages, min(len(messages), len(self.messages))
        self.messages = [old if old is new or old == new else new for old, new in zip(before, messages, strict=False)]
        self.messages.extend(messages[count:])
        changed = (index for index in range(count) if self.messages[index] is not before[index])
        self._first_changed = min(self._first_changed, next(changed, count))
        self._growing.clear()
        self.calls = [old if old is new or old == new else new for old, new in zip(self.calls, calls, strict=False)]
        self.calls.extend(calls[len(self.calls) :])
        self.contexts, self.compactions = list(contexts), list(compactions)

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
            messages=tuple(self.messages),
            calls=tuple(self.calls),
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
        vars(session)["all_blocks"] = Grown(self._blocks)
        return session

    def _bring_up_to_date(self) -> None:
        count = len(self._first_blocks) - 1
        first = min(self._first_changed, count, *self._growing) if self._growing else min(self._first_changed, count)
        for index, blocks in self._growing.items():
            self.messages[index] = structs.replace(self.messages[index], blocks=tuple(blocks))
        self._growing.clear()
        if first < count - LOOKED_AT_AGAIN:
            # A change far behind the end would go unnoticed by those who compare messages from the end.
            for index in range(first, min(count, len(self.messages))):
                self.messages[index] = structs.replace(self.messages[index])
        del self._first_blocks[first + 1 :]
        kept = self._first_blocks[first]
        tail: list[Block] = []
        for message in self.messages[first:]:
            tail.extend(message.blocks)
            self._first_blocks.append(kept + len(tail))
        again = self._blocks[kept:]
        if len(again) <= len(tail) and all(one is other for one, other in zip(again, tail, strict=False)):
            self._blocks += tail[len(again) :]
        else:
            self._blocks = self._blocks[:kept] + tail
        self._first_changed = len(self.messages)
