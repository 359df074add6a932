"""Borrow a token calibration from a related session, for sessions with too little reported usage.

A subagent's file often has a handful of calls. Its parent, found by the ids and the location of its file, used the same
program and usually the same model; the same is true for the session that it continues. These are other files, so only
their first megabytes are read, and only after the session itself is counted.
"""

from __future__ import annotations

import collections
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.engine.prompt_edits import PromptEdits
from inspector.replay.engine.prompt_layout import PromptLayout
from inspector.replay.engine.recorded_calls import deduplicated_prompts, recorded_calls
from inspector.replay.engine.renderer import Renderer
from inspector.replay.engine.simulation import PromptSizes, plan_edits
from inspector.replay.engine.token_scale import CalibrationSource, calibrate_session
from inspector.session.errors import SessionError
from inspector.session.files import Locator
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.model import LinkKind
from inspector.session.open import open_reader
from inspector.session.related import locate
from inspector.session.sqlite import SqliteReader
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from inspector.tokens.model_fit import LEAST_CALLS
from inspector.tokens.token_table import count_session

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from inspector.session.model import Session, SessionLink
    from inspector.tokens.calibration import BorrowedCalibration
    from inspector.tokens.counter import Counter
    from inspector.tokens.token_table import TokenTable

MOST_BYTES = 4 << 20
"""Maximum bytes to read of a file: some hundred calls of Claude Code; a fit needs ten, and is good with thirty."""

_GROWN = 1.5
"""Growth factor after which a file without a usable fit is read again."""

_MOST_REMEMBERED = 256

_CALIBRATION_LINKS = (LinkKind.PARENT, LinkKind.CONTINUED)
"""Links to follow, in this order."""


def calibration_source_of(history: History, table: TokenTable) -> CalibrationSource | None:
    """Find the session to borrow a fit from; None if this one needs none, or there is none.

    Args:
        history: The session's columns.
        table: Its token counts. While they are estimates, no search is done, so that first figures are not delayed.
    """
    links = _links_to_lenders(history.session)
    if not links or not table.is_complete or not _needs_one(history):
        return None
    for link in links:
        path = locate(history.session, link)
        fits = _BORROWED.fits_of(path, table.counter) if path is not None else ()
        if fits:
            return CalibrationSource(link.kind, link.identifier, fits)
    return None


def calibration_files(session: Session) -> tuple[Path, ...]:
    """Return the files a session's fit may depend on, existing or not; usually none."""
    reported = collections.Counter(call.model for call in session.calls if call.usage is not None and call.usage.prompt)
    if max(reported.values(), default=0) >= LEAST_CALLS:
        return ()
    paths = (locate(session, link) or link.path for link in _links_to_lenders(session))
    files = dict.fromkeys(Locator.of(path).file for path in paths if path is not None)
    return tuple(file for file in files if file not in session.files)


def _links_to_lenders(session: Session) -> list[SessionLink]:
    return [link for kind in _CALIBRATION_LINKS for link in session.links if link.kind is kind]


def _needs_one(history: History) -> bool:
    """Return True if the most-used model has too few reported calls for a fit."""
    reported = deduplicated_prompts(history) > 0
    models = recorded_calls(history).models
    counts = np.bincount(models.code[reported], minlength=1)
    return int(counts.max()) < LEAST_CALLS


@dataclass(frozen=True)
class _BorrowedCalibrations:
    """Cache of fits from other files, for the lifetime of the process.

    Attributes:
        known: File size and fits by file and vocabulary.
    """

    known: dict[tuple[Path, str], tuple[int, tuple[BorrowedCalibration, ...]]] = field(default_factory=dict)

    def fits_of(self, path: Path, counter: Counter) -> tuple[BorrowedCalibration, ...]:
        """Return the fits from the beginning of a session; empty if it has too little data or cannot be read."""
        try:
            size = Locator.of(path).file.stat().st_size
        except OSError:
            return ()
        key = (path, counter.name)
        before, fits = self.known.get(key, (0, ()))
        # A file that grows while its subagents run is not read again for every line.
        if fits or (before and (min(size, MOST_BYTES) < _GROWN * before)):
            return fits
        fits = _fitted(path, size, counter)
        if len(self.known) >= _MOST_REMEMBERED:
            self.known.pop(next(iter(self.known)), None)
        self.known[key] = (max(size, 1), fits)
        return fits


_BORROWED = _BorrowedCalibrations()


def _fitted(path: Path, size: int, counter: Counter) -> tuple[BorrowedCalibration, ...]:
    try:
        session = _beginning(path, size)
    except (SessionError, OSError):
        return ()
    if session is None or len(session.calls) < LEAST_CALLS:
        return ()
    table = collections.deque(count_session(session, counter), maxlen=1).pop()
    history = History.of(session)
    fits = calibrate_session(history, table, _removed(history, table)).own_fits
    return tuple(fit._replace(is_from_other_session=True) for fit in fits)


def _removed(history: History, table: TokenTable) -> NDArray[np.int64]:
    """Return the counted tokens the agent itself had cleared by each call, including the next one. int64."""
    layout = PromptLayout.of(history, table.tokens)
    nothing = np.zeros(history.call_count + 1)
    edits = plan_edits(history, Renderer(history, table), Plan(), PromptSizes(nothing, nothing))
    return PromptEdits.of(layout, edits).removed


def _beginning(path: Path, size: int) -> Session | None:
    """Read the beginning of a session; None if it can only be read whole and is too large."""
    reader = open_reader(path)
    if not isinstance(reader, JsonlReader | SqliteReader) and size > MOST_BYTES:
        return None
    for done, _ in reader.load():
        if isinstance(reader, JsonlReader) and done >= MOST_BYTES:
            break
    return reader.snapshot()
