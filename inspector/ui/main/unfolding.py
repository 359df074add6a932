"""Unfolding subagents that have a file of their own: their rows appear below the call that started them."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from textual import on
from textual.worker import get_current_worker

from inspector.ui.controller.subagent_reading import SubagentRead, read_subagent
from inspector.ui.main.viewing import Viewing

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from inspector.ui.timeline.rows import Rows
    from inspector.ui.timeline.subagents import Key, Started, Subagent

READING = "reading…"


class Unfolding(Viewing):
    """A session screen that shows its subagents' sessions among its rows; none of their tokens is in its prompts."""

    _open_subagents: frozenset[Key] = frozenset()
    _read: Mapping[Key, Subagent] = MappingProxyType({})
    _problems: Mapping[Key, str] = MappingProxyType({})
    _family = 0
    _rows_shown: tuple[tuple[object, ...], Rows] | None = None

    def forget(self, path: Path) -> None:
        """Know nothing any more, and of another file."""
        for key in self._open_subagents | self._read.keys():
            self.workers.cancel_group(self, _group(key))
        self._family += 1
        self._open_subagents, self._read, self._problems, self._rows_shown = frozenset(), {}, {}, None
        super().forget(path)

    def rows_to_show(self) -> Rows | None:
        """The session's rows, those of unfolded subagents among them."""
        rows = super().rows_to_show()
        if rows is None or not rows.subagent_rows:
            return rows
        about = (rows, self._open_subagents, self._read, self._problems)
        if self._rows_shown is None or any(old is not new for old, new in zip(self._rows_shown[0], about, strict=True)):
            from inspector.ui.timeline.subagents import unfolded

            opened = {key: subagent for key, subagent in self._read.items() if key in self._open_subagents}
            self._rows_shown = (about, unfolded(rows, opened, self._problems))
        return self._rows_shown[1]

    def fold_subagent(self, index: int, folded: bool | None) -> None:
        """Fold or unfold a subagent, of this session or of one of its subagents.

        Args:
            index: A row that stands for it, or is one of its own.
            folded: Fold it, or unfold it; None for whichever it is not.
        """
        from inspector.ui.timeline.subagents import started_at

        started = None if self.view is None else started_at(self.view.rows, index)
        if started is None:
            return
        key = started.key
        is_open = key in self._open_subagents
        folds = is_open if folded is None else folded
        if folds is not is_open:
            return
        if folds:
            self._open_subagents -= {key}
        else:
            self._open_subagents |= {key}
            if key not in self._read:
                self._problems = {**self._problems, key: READING}
                self._read_subagent(started)
        self.show_subagents()

    def show_subagents(self) -> None:
        """Show the rows with other subagents unfolded."""
        self.show_timeline()
        self.show_detail()
        self.show_standing()

    def _read_subagent(self, started: Started) -> None:
        key, link, session = started
        generation = self._family
        counter = None if self.table is None else self.table.counter

        def work() -> None:
            worker = get_current_worker()

            def tell(subagent: Subagent | None, problem: str) -> None:
                self.post_message(SubagentRead(generation, key, subagent, problem))

            read_subagent(session, link, counter, tell, lambda: worker.is_cancelled)

        self._work(work, _group(key), "read a subagent's session")

    @on(SubagentRead)
    def _subagent_read(self, message: SubagentRead) -> None:
        if message.generation != self._family:
            return
        others = {key: problem for key, problem in self._problems.items() if key != message.key}
        if message.subagent is not None:
            self._read, self._problems = {**self._read, message.key: message.subagent}, others
        else:
            self._problems = {**others, message.key: message.problem}
            self._open_subagents -= {message.key}
        self.show_subagents()


def _group(key: Key) -> str:
    return f"subagent {key}"
