"""Putting the rows of a conversation together, copies of what was kept counted once."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.session.formats.hermes.lineage import generations, handed_on
from inspector.session.model import Compaction, ContextCause, Message, Role
from inspector.session.threads import Thread
from inspector.session.values import string

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.session.assembly import Assembly
    from inspector.session.formats.hermes.entries import Entry
    from inspector.session.model import Block


class Part(NamedTuple):
    """One session of a conversation.

    Attributes:
        model: The model's name.
        started: When it began, seconds since the epoch, or None.
        system: The block with its system text, or none.
        entries: Its messages, in order.
    """

    model: str
    started: float | None
    system: tuple[Block, ...]
    entries: Sequence[Entry]


class Conversation:
    """Takes the sessions of a conversation in order and fills an assembly."""

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        self._thread = Thread(assembly)
        self._entries: list[Entry | None] = []  # of every message, none of those with system text
        self._system: int | None = None
        self._has_rewound = False

    def add(self, part: Part) -> None:
        """Add a session."""
        is_first = self._thread.context is None
        self._instruct(part.system)
        for number, entries in enumerate(generations(part.entries)):
            rest = entries
            if not (is_first and number == 0):
                count = handed_on(entries, part.started if number == 0 else None)
                self._hand_on(entries[:count])
                rest = entries[count:]
            for entry in rest:
                self._add(entry, part.model)
        self._leave_behind()

    def _instruct(self, blocks: tuple[Block, ...]) -> None:
        if not blocks:
            return
        if self._system is None or self._assembly.messages[self._system].blocks[0].digest != blocks[0].digest:
            self._system = self._new(Message(Role.SYSTEM, blocks), None)
        if self._thread.context is None:
            self._thread.begin(ContextCause.START, [self._system], 0)

    def _new(self, message: Message, entry: Entry | None) -> int:
        self._entries.append(entry)
        return self._assembly.add_message(message)

    def _hand_on(self, entries: Sequence[Entry]) -> None:
        """Begin the context that a compaction leaves: what is there already is not added again."""
        before = self._thread.members
        known = [self._entries[member] for member in before]
        keys = [None if entry is None else entry.key for entry in known]
        place, members, carried = 0, [], 0
        if self._system is not None:
            members.append(self._system)
            carried = int(self._system in before)
        first = len(self._assembly.messages)
        summary: int | None = None
        for entry in entries:
            found = next((at for at in range(place, len(before)) if keys[at] == entry.key), None)
            if found is not None and not entry.is_summary:
                place = found + 1
                members.append(before[found])
                carried = len(members)
                continue
            index = self._new(entry.message(), entry)
            if entry.role is not Role.OTHER:
                members.append(index)
            if entry.is_summary and summary is None:
                summary = index
        self._thread.begin(ContextCause.COMPACTION, members, carried)
        message = first if summary is None else summary
        time = next((entry.time for entry in entries if entry.is_summary), None)
        self._assembly.compactions.append(Compaction(message, time=time))

    def _add(self, entry: Entry, model: str) -> None:
        is_rewound = not entry.is_active and not entry.is_compacted
        if not is_rewound:
            self._leave_behind()
        if entry.is_summary:
            self._assembly.compactions.append(Compaction(len(self._assembly.messages), time=entry.time))
        self._entries.append(entry)
        self._has_rewound = self._has_rewound or is_rewound
        message = entry.message(is_abandoned=is_rewound)
        if entry.role is Role.ASSISTANT and not entry.is_summary:
            self._thread.respond(message, model=model)
        else:
            self._thread.add(message, is_sent=entry.role is not Role.OTHER)

    def _leave_behind(self) -> None:
        """Go on without the messages that were taken back, if there are any."""
        if not self._has_rewound:
            return
        self._has_rewound = False
        members = self._thread.members
        kept = [member for member in members if not self._assembly.messages[member].is_abandoned]
        if len(kept) < len(members):
            self._thread.begin(ContextCause.REWIND, kept)


def fill(assembly: Assembly, sessions: Sequence[dict[str, Any]], parts: Sequence[Part]) -> None:
    """Fill an assembly from the sessions that make up a conversation.

    Args:
        assembly: What to fill.
        sessions: Their rows, in order.
        parts: What was read of each of them.
    """
    assembly.agent = "Hermes"
    for row in sessions:
        assembly.record_counts["session"] += 1
        assembly.identifier = assembly.identifier or string(row.get("id"))
        assembly.title = string(row.get("title")) or assembly.title
        assembly.working_directory = string(row.get("cwd")) or assembly.working_directory
    conversation = Conversation(assembly)
    for part in parts:
        for role, count in Counter(entry.role for entry in part.entries).items():
            assembly.record_counts[f"message:{role.value}"] += count
        conversation.add(part)
