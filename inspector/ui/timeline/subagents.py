"""Subagents' rows within the rows of the session that started them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from inspector.session.model import Session, SessionLink
    from inspector.ui.timeline.rows import Key, Rows, Subagent


class SubagentPlace(NamedTuple):
    """A subagent as reached from a row.

    Attributes:
        key: Stable identity.
        link: Link to its session.
        session: The session that started it.
    """

    key: Key
    link: SessionLink
    session: Session


def started_at(rows: Rows, index: int) -> SubagentPlace | None:
    """Return the innermost subagent of a heading or inner row; None for a row of the session itself."""
    place, inner = int(rows.subagent[index]), int(rows.inner[index])
    if place < 0:
        return None
    row, subagent = rows.subagent_rows[place], rows.opened.get(place)
    within = started_at(subagent.rows, inner) if subagent is not None and inner >= 0 else None
    if within is not None:
        return within._replace(key=row.key + within.key)
    return SubagentPlace(row.key, row.link, rows.history.session)


def opened_within(rows: Rows, within: Key = ()) -> Iterator[tuple[Key, Subagent]]:
    """Yield every unfolded subagent with its key, including nested ones."""
    for place, subagent in rows.opened.items():
        key = within + rows.subagent_rows[place].key
        yield key, subagent
        yield from opened_within(subagent.rows, key)


def unfolded(rows: Rows, opened: Mapping[Key, Subagent], problems: Mapping[Key, str], within: Key = ()) -> Rows:
    """Insert unfolded subagents' rows below their heading rows, recursively.

    `within` is the key of the subagent that `rows` belongs to, empty for the session itself.
    """
    keys = [within + row.key for row in rows.subagent_rows]
    shown = [
        (place, replace(each, rows=unfolded(each.rows, opened, problems, key)))
        for place, key in enumerate(keys)
        if (each := opened.get(key)) is not None
    ]
    by_name = {place: problems[key] for place, key in enumerate(keys) if key in problems}
    if by_name:
        rows = replace(rows, problems=by_name)
    if not shown:
        return rows
    row_of = {int(rows.subagent[row]): row for row in np.flatnonzero(rows.subagent >= 0).tolist()}
    after = np.concatenate([np.full(len(each.rows), row_of[place] + 1, dtype=np.int64) for place, each in shown])

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
