"""Kinds of changes to an open session, and their listeners."""

from __future__ import annotations

from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Change(Enum):
    """Controller attributes that changed."""

    FORGOTTEN = auto()
    """All: another file is about to be opened."""
    PROGRESS = auto()
    """`progress`: work advanced or finished."""
    STATE = auto()
    """`state`: state of the file."""
    SESSION = auto()
    """`session`, `history`, `rows` or `table`: new rows, counts or metadata."""
    READY = auto()
    """The whole file was read for the first time; `kept` has the saved state."""
    PLAN = auto()
    """`plans`: the current plan, its letter or its name."""
    EDITED = auto()
    """`plans`, by the user; the change should be saved."""
    REPLAYING = auto()
    """`replays.is_long`."""
    OUTCOME = auto()
    """`outcome`: a replay finished."""
    CALL = auto()
    """`call` and with it `outcome`: another call was selected."""
    COSTS = auto()
    """`projection`, `terms` or `runs_per_day`: savings over many runs."""
    RISKS = auto()
    """`risks`."""
    SIZES = auto()
    """`sizes`: sizes of the results that each limit applies to."""
    OTHER_RESULT = auto()
    """`other_result`: result of the other plan."""
    ANSWERS = auto()
    """`answers` or `subagent_costs`: spending, cache misses, the best plan, or the costs of subagents."""
    SUBAGENTS = auto()
    """`subagents`: one was folded or unfolded, or more was read."""
    SHOWN = auto()
    """Display options of the session; published by the panes."""


class ChangeListeners:
    """Notifies listeners in the order of their registration."""

    def __init__(self) -> None:
        self._listeners: list[Mapping[Change, Callable[[], object]]] = []

    def listen(self, wanted: Mapping[Change, Callable[[], object]]) -> Callable[[], None]:
        """Register callbacks by kind of change.

        Returns:
            A function that removes them.
        """
        self._listeners.append(wanted)
        return partial(self._listeners.remove, wanted)

    def publish(self, change: Change) -> None:
        for wanted in tuple(self._listeners):
            if change in wanted:
                wanted[change]()
