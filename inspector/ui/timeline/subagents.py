"""Subagents with a file of their own: the rows that stand for them, and what was read of those that were opened."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import one_line
from inspector.session.model import BlockKind, LinkKind
from inspector.strategies.core.rendition import Action
from inspector.ui.timeline.tokens import BlockAmount

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from inspector.session.model import Session, SessionLink
    from inspector.strategies.history.history import History
    from inspector.tokens.token_table import TokenTable
    from inspector.ui.timeline.rows import Rows

    Key = tuple[tuple[str, int], ...]

LONGEST_TITLE: Final = 36


@dataclass(frozen=True, eq=False)
class Subagent:
    """What was read of a subagent's session; it may be growing.

    Attributes:
        session: The session.
        rows: Its rows; among them those of subagents it started itself, where they are unfolded.
        table: Its tokens, estimated at first.
    """

    session: Session
    rows: Rows
    table: TokenTable

    @property
    def tokens(self) -> int:
        """Tokens of all its blocks, each once."""
        return int(self.table.tokens.sum(dtype=np.int64))

    def amount(self, row: int) -> BlockAmount:
        """What one of its rows comes to: nothing of it is in a prompt of the session that started it."""
        block = int(self.rows.block[row])
        if not self.rows.is_block[row] or block >= len(self.table.tokens):
            return BlockAmount(0, 0, False, Action.WHOLE)
        is_estimated = self.table.counter.is_exact_tokenizer and not self.table.block_columns.counted()[block]
        return BlockAmount(int(self.table.tokens[block]), 0, False, Action.WHOLE, is_estimated)


@dataclass(frozen=True, slots=True)
class SubagentRow:
    """A row that stands for a subagent, below the call that started it.

    Attributes:
        block: The call.
        link: Leads to the subagent's session.
        key: What it is known by while the session grows: the call, and which of the call's subagents it is. Of a
            subagent's subagent, what that one is known by comes before it.
    """

    block: int
    link: SessionLink
    key: Key

    def label(self, subagent: Subagent | None, problem: str = "") -> str:
        """What the row says, safe to show.

        Args:
            subagent: What was read of it; None before it was opened.
            problem: Why it cannot be opened; empty where nothing is wrong.
        """
        parts = [f"subagent: {one_line(self.link.title or self.link.identifier, LONGEST_TITLE)}"]
        if subagent is not None:
            about = "" if subagent.table.is_complete else "about "
            parts.append(ON_SCREEN.plural(len(subagent.session.messages), "message"))
            parts.append(f"{about}{ON_SCREEN.short(subagent.tokens)} tokens of its own")
        if problem:
            parts.append(one_line(problem))
        elif subagent is None:
            parts.append("→ unfolds it")
        return " · ".join(parts)


def subagent_rows(history: History) -> tuple[SubagentRow, ...]:
    """The subagents of a session whose calls are in it, in order of these calls."""
    started: dict[str, list[SessionLink]] = {}
    for link in history.session.links:
        if link.kind is LinkKind.SUBAGENT and link.tool_call_id:
            started.setdefault(link.tool_call_id, []).append(link)
    if not started:
        return ()
    blocks, placed = history.session.all_blocks, []
    for index in np.flatnonzero(history.kind == BlockKind.TOOL_CALL).tolist():
        call = blocks[index].tool_call_id
        links = started.pop(call, ())
        placed += [SubagentRow(index, link, ((call, number),)) for number, link in enumerate(links)]
        if not started:
            break
    return tuple(placed)


class SubagentPlace(NamedTuple):
    """A subagent as a row leads to it.

    Attributes:
        key: What it is known by.
        link: Leads to its session.
        session: The session that started it.
    """

    key: Key
    link: SessionLink
    session: Session


def started_at(rows: Rows, index: int) -> SubagentPlace | None:
    """The subagent that a row stands for, or is of: the innermost; None for a row of the session itself."""
    place, inner = int(rows.subagent[index]), int(rows.inner[index])
    if place < 0:
        return None
    row, subagent = rows.subagent_rows[place], rows.opened.get(place)
    within = started_at(subagent.rows, inner) if subagent is not None and inner >= 0 else None
    if within is not None:
        return within._replace(key=row.key + within.key)
    return SubagentPlace(row.key, row.link, rows.history.session)


def opened_within(rows: Rows, within: Key = ()) -> Iterator[tuple[Key, Subagent]]:
    """Every subagent whose rows are among these, those of subagents' subagents too, and what each is known by."""
    for place, subagent in rows.opened.items():
        key = within + rows.subagent_rows[place].key
        yield key, subagent
        yield from opened_within(subagent.rows, key)


def unfolded(rows: Rows, opened: Mapping[Key, Subagent], problems: Mapping[Key, str], within: Key = ()) -> Rows:
    """Rows with those of some subagents below the rows that stand for them, and so on inwards.

    Args:
        rows: Rows without any of them.
        opened: What was read of the subagents to be shown, by what they are known by.
        problems: Why others are not shown, by what they are known by.
        within: What the subagent is known by whose rows these are; empty for those of the session itself.
    """
    keys = [within + row.key for row in rows.subagent_rows]
    shown = [
        (place, replace(each, rows=unfolded(each.rows, opened, problems, key)))
        for place, key in enumerate(keys)
        if (each := opened.get(key)) is not None
    ]
    told = {place: problems[key] for place, key in enumerate(keys) if key in problems}
    if told:
        rows = replace(rows, told=told)
    if not shown:
        return rows
    stands = {int(rows.subagent[row]): row for row in np.flatnonzero(rows.subagent >= 0).tolist()}
    after = np.concatenate([np.full(len(each.rows), stands[place] + 1, dtype=np.int64) for place, each in shown])

    def inserted(column: NDArray[np.int32], values: list[NDArray[np.int32]]) -> NDArray[np.int32]:
        return np.insert(column, after, np.concatenate(values))

    def same(value: int, each: Subagent) -> NDArray[np.int32]:
        return np.full(len(each.rows), value, dtype=np.int32)

    return replace(
        rows,
        block=inserted(rows.block, [same(rows.subagent_rows[place].block, each) for place, each in shown]),
        boundary=inserted(rows.boundary, [same(-1, each) for _, each in shown]),
        subagent=inserted(rows.subagent, [same(place, each) for place, each in shown]),
        inner=inserted(rows.inner, [np.arange(len(each.rows), dtype=np.int32) for _, each in shown]),
        opened=dict(shown),
    )
