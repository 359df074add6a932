"""Kinds of changes of an open session, and the listeners that are told of them."""

from __future__ import annotations

from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Change(Enum):
    """What has become something else: attributes of the controller."""

    FORGOTTEN = auto()
    """Everything: another file is to be opened."""
    PROGRESS = auto()
    """`progress`: work goes on, or is done."""
    STATE = auto()
    """`state`: what is known of the file."""
    SESSION = auto()
    """`session`, `history`, `rows` or `table`: there are other rows, counts or facts."""
    READY = auto()
    """All of the file was read for the first time; `kept` says how the session was left."""
    PLAN = auto()
    """`plans`: the plan on the screen, its letter or its name."""
    EDITED = auto()
    """`plans`: by the user, who should find it so the next time."""
    REPLAYING = auto()
    """`replays.is_long`."""
    OUTCOME = auto()
    """`outcome`: a replay came back."""
    CALL = auto()
    """`call`, and `outcome` with it: another call is looked at."""
    COSTS = auto()
    """`projection`, `terms` or `runs_per_day`: what the plan saves over many runs."""
    RISKS = auto()
    """`risks`."""
    SIZES = auto()
    """`sizes`: how large the results are that each limit is about."""
    RIVAL = auto()
    """`rival`: what the other plan would come to."""
    ANSWERS = auto()
    """`answers`: where the money went, why the cache was missed, or which plan would save most of it."""
    SUBAGENTS = auto()
    """`subagents`: others are unfolded, or more of them was read."""
    SHOWN = auto()
    """What is shown of the session, and how; told by those who show it."""


class ChangeListeners:
    """Tells of changes. Who listens first is told first."""

    def __init__(self) -> None:
        self._listeners: list[Mapping[Change, Callable[[], object]]] = []

    def listen(self, wanted: Mapping[Change, Callable[[], object]]) -> Callable[[], None]:
        """Have something called after each change of a kind.

        Returns:
            What ends it.
        """
        self._listeners.append(wanted)
        return partial(self._listeners.remove, wanted)

    def publish(self, change: Change) -> None:
        """Tell those who listen."""
        for wanted in tuple(self._listeners):
            if change in wanted:
                wanted[change]()
