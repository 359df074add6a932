"""What workers tell the screen. Everything in a message is frozen; whoever handles one owns the state it changes.

A message is equal to itself alone, and says its name where it is logged: comparing or telling all that a session holds
would take longer than showing it.

`generation` tells what a result belongs to: results of a generation that has passed are dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from inspector.replay.analysis.forecast import RunProjection
    from inspector.session.follow import Follower
    from inspector.session.model import Session
    from inspector.strategies.history.history import History
    from inspector.strategies.plan import Plan
    from inspector.tokens.token_table import TokenTable
    from inspector.ui.controller.saved_state import SessionState
    from inspector.ui.outcome import Outcome
    from inspector.ui.plan.difference import Rival
    from inspector.ui.plan.risks import Risks
    from inspector.ui.plan.sizes import PlanSizes
    from inspector.ui.timeline.rows import Rows


@dataclass(eq=False, repr=False)
class LoadProgress(Message):
    """A file is being read.

    Attributes:
        generation: Which opening of a file.
        done: Bytes read.
        total: Bytes there are.
    """

    generation: int
    done: int
    total: int

    def can_replace(self, message: Message) -> bool:
        """Only the newest counts."""
        return isinstance(message, LoadProgress)


@dataclass(eq=False, repr=False)
class SessionLoaded(Message):
    """A session, or the part of it read so far, with estimated sizes.

    Attributes:
        generation: Which opening of a file.
        session: What was read.
        history: Its columns.
        rows: Its rows.
        table: Its tokens, estimated.
        plan: The plan to begin with; None with a part of a session.
        follower: Reads what is added; None with a part of a session.
        kept: How the session was left the last time; None with a part of a session.
        changed: When its file was last written to, seconds since the epoch; None while unknown.
    """

    generation: int
    session: Session
    history: History
    rows: Rows
    table: TokenTable
    plan: Plan | None = None
    follower: Follower | None = None
    kept: SessionState | None = None
    changed: float | None = None


@dataclass(eq=False, repr=False)
class SessionAwaited(Message):
    """There is nothing to read yet at the path.

    Attributes:
        generation: Which opening of a file.
        reason: Why, in a few words.
    """

    generation: int
    reason: str


@dataclass(eq=False, repr=False)
class LoadFailed(Message):
    """A file cannot be read.

    Attributes:
        generation: Which opening of a file.
        reason: What, where, and what to do, in one line; may hold session text.
        is_folder: It is a folder, whose sessions can be listed.
    """

    generation: int
    reason: str
    is_folder: bool = False


@dataclass(eq=False, repr=False)
class TokensCounted(Message):
    """Tokens as far as they have been counted.

    Attributes:
        generation: Which opening of a file.
        session: Whose tokens.
        table: The counts.
        fraction: How much of the text was counted.
        is_final: Nothing is left to count, or counting was stopped.
    """

    generation: int
    session: Session
    table: TokenTable
    fraction: float
    is_final: bool


@dataclass(eq=False, repr=False)
class ReplayReady(Message):
    """A plan was replayed.

    Attributes:
        generation: Which request it answers.
        outcome: What it came to.
    """

    generation: int
    outcome: Outcome


@dataclass(eq=False, repr=False)
class ProjectionReady(Message):
    """How far what a plan saves over many runs may be off.

    Attributes:
        outcome: The replay it is about.
        projection: One run and many; None where a price is missing.
    """

    outcome: Outcome
    projection: RunProjection | None


@dataclass(eq=False, repr=False)
class RisksFound(Message):
    """It is known what may go wrong with a plan.

    Attributes:
        outcome: The replay it is about.
        risks: What was found.
    """

    outcome: Outcome
    risks: Risks


@dataclass(eq=False, repr=False)
class PlanSizesFound(Message):
    """The sizes a plan's limits are about are known.

    Attributes:
        outcome: The replay they belong to.
        sizes: What was found.
    """

    outcome: Outcome
    sizes: PlanSizes


@dataclass(eq=False, repr=False)
class RivalReplayed(Message):
    """It is known what the plan put aside would come to.

    Attributes:
        outcome: The replay it is compared with.
        rival: What came of it.
    """

    outcome: Outcome
    rival: Rival


@dataclass(eq=False, repr=False)
class RowsFound(Message):
    """Rows match a query.

    Attributes:
        generation: Which search.
        rows: Those found so far, rising.
        fraction: How much was looked at, 0 to 1.
        of: Among which rows.
    """

    generation: int
    rows: NDArray[np.int32]
    fraction: float
    of: Rows


@dataclass(eq=False, repr=False)
class SessionAppended(Message):
    """The session's file holds something else, mostly more.

    Attributes:
        generation: Which opening of a file.
        session: The session now.
        history: Its columns.
        rows: Its rows.
        is_new: The file was written anew: nothing that was known of it holds.
        changed: When it was last written to, seconds since the epoch; None while unknown.
        shown: Set once it is on the screen; nothing more is read before, however fast the file grows.
    """

    generation: int
    session: Session
    history: History
    rows: Rows
    is_new: bool
    changed: float | None
    shown: Event = field(default_factory=Event)


@dataclass(eq=False, repr=False)
class FileChanged(Message):
    """Something became of the followed file.

    Attributes:
        generation: Which opening of a file.
        state: `live`, `vanished`, `replaced` or `unreadable`.
        notice: One line for people, empty for none; may hold a path.
    """

    generation: int
    state: str
    notice: str = ""


@dataclass(eq=False, repr=False)
class WorkFailed(Message):
    """A worker came to grief.

    Attributes:
        what: What it was doing.
        reason: What went wrong, in one line.
    """

    what: str
    reason: str
