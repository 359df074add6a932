"""Which other session's fit a session borrows that reports too little for its own.

A subagent's file is often a handful of calls. Its parent, found by the ids and the place of its file, asked the same
program and mostly the same model; so did the session that it goes on from. Both are other files: no more than the first
megabytes of one are read, which is where a program begins as it goes on, and only once the session itself is counted.
"""

from __future__ import annotations

import collections
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.engine.measured_prompts import measured_prompts
from inspector.replay.engine.plan_edits import plan_edits
from inspector.replay.engine.prompt_edits import PromptEdits
from inspector.replay.engine.prompt_layout import PromptLayout
from inspector.replay.engine.recorded_calls import recorded_calls
from inspector.replay.engine.renderer import Renderer
from inspector.replay.engine.simulation import PromptSizes
from inspector.replay.engine.token_scale import Lender, calibrate_session
from inspector.session.errors import SessionError
from inspector.session.files import Locator
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.model import LinkKind
from inspector.session.open import open_reader
from inspector.session.related import locate
from inspector.session.sqlite_reader import SqliteReader
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from inspector.tokens.model_fit import LEAST_CALLS
from inspector.tokens.token_table import count_session

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from inspector.session.model import Session, SessionLink
    from inspector.tokens.calibration import LentFit
    from inspector.tokens.counter import Counter
    from inspector.tokens.token_table import TokenTable

MOST_BYTES = 4 << 20
"""So much of a file is read. It holds some hundred calls of Claude Code; a fit needs ten, and is good with thirty."""

_GROWN = 1.5
"""A session that had no fit to lend is looked at again when its file has become so many times as large."""

_MOST_REMEMBERED = 256

_LENDERS = (LinkKind.PARENT, LinkKind.CONTINUED)
"""Whose fit is borrowed: the parent's first."""


def lender_of(history: History, table: TokenTable) -> Lender | None:
    """The session whose fit this one borrows; None where it needs none, or where none is found.

    Args:
        history: The session's columns.
        table: Its token counts. While they are estimates nothing is looked for: first figures do not wait for a file.
    """
    links = _links_to_lenders(history.session)
    if not links or not table.is_complete or not _needs_one(history):
        return None
    for link in links:
        path = locate(history.session, link)
        fits = _LENT.fits_of(path, table.counter) if path is not None else ()
        if fits:
            return Lender(link.kind, link.identifier, fits)
    return None


def files_of_lenders(session: Session) -> tuple[Path, ...]:
    """The files that a session's figures may depend on for its fit, whether or not they are there; mostly none."""
    reported = collections.Counter(call.model for call in session.calls if call.usage is not None and call.usage.prompt)
    if max(reported.values(), default=0) >= LEAST_CALLS:
        return ()
    paths = (locate(session, link) or link.path for link in _links_to_lenders(session))
    files = dict.fromkeys(Locator.of(path).file for path in paths if path is not None)
    return tuple(file for file in files if file not in session.files)


def _links_to_lenders(session: Session) -> list[SessionLink]:
    return [link for kind in _LENDERS for link in session.links if link.kind is kind]


def _needs_one(history: History) -> bool:
    """Whether the model with most reported calls has too few for a fit."""
    reported = measured_prompts(history) > 0
    models = recorded_calls(history).models
    counts = np.bincount(models.code[reported], minlength=1)
    return int(counts.max()) < LEAST_CALLS


@dataclass(frozen=True)
class _LentFits:
    """What was found for files that lent something, as long as the program runs.

    Attributes:
        known: By file and vocabulary, the bytes it had and what was fitted.
    """

    known: dict[tuple[Path, str], tuple[int, tuple[LentFit, ...]]] = field(default_factory=dict)

    def fits_of(self, path: Path, counter: Counter) -> tuple[LentFit, ...]:
        """What the beginning of a session shows; nothing where it shows too little, or cannot be read."""
        try:
            size = Locator.of(path).file.stat().st_size
        except OSError:
            return ()
        key = (path, counter.name)
        before, fits = self.known.get(key, (0, ()))
        # One that grows while its subagents work is not read again for every line.
        if fits or (before and (min(size, MOST_BYTES) < _GROWN * before)):
            return fits
        fits = _fitted(path, size, counter)
        if len(self.known) >= _MOST_REMEMBERED:
            self.known.pop(next(iter(self.known)), None)
        self.known[key] = (max(size, 1), fits)
        return fits


_LENT = _LentFits()


def _fitted(path: Path, size: int, counter: Counter) -> tuple[LentFit, ...]:
    try:
        session = _beginning(path, size)
    except (SessionError, OSError):
        return ()
    if session is None or len(session.calls) < LEAST_CALLS:
        return ()
    table = collections.deque(count_session(session, counter), maxlen=1).pop()
    history = History.of(session)
    fits = calibrate_session(history, table, _removed(history, table)).own_fits
    return tuple(fit._replace(is_elsewhere=True) for fit in fits)


def _removed(history: History, table: TokenTable) -> NDArray[np.int64]:
    """Per call, the next one included, counted tokens that the agent itself had cleared by then. int64."""
    layout = PromptLayout.of(history, table.tokens)
    nothing = np.zeros(history.call_count + 1)
    edits = plan_edits(history, Renderer(history, table), Plan(), PromptSizes(nothing, nothing))
    return PromptEdits.of(layout, edits).removed


def _beginning(path: Path, size: int) -> Session | None:
    """The first of a session; None where it could only be read whole, and is too large for that."""
    reader = open_reader(path)
    if not isinstance(reader, JsonlReader | SqliteReader) and size > MOST_BYTES:
        return None
    for done, _ in reader.load():
        if isinstance(reader, JsonlReader) and done >= MOST_BYTES:
            break
    return reader.snapshot()
