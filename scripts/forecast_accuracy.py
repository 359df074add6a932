"""Check the forecast of compactions against recorded sessions: `scripts/forecast_accuracy.py FOLDER ...`.

Every session is played back call by call, as `inspector live` would have shown it after each call. From half fill on,
the forecast is compared with the calls that followed until the recorded automatic compaction. A warning that a session
"compacts soon" counts once until the fill is below `REARMED` again. It is false if the session made more than
`LATE_CALLS` further calls without a compaction.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from inspector.errors import SessionError
from inspector.live.figures import LiveFigures
from inspector.live.reading import Beginning
from inspector.live.status import Attention
from inspector.replay.pricing.prices import Pricing
from inspector.session.discovery import found_in
from inspector.session.open import open_session

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from inspector.session.model import Session

WITHIN = 2
"""Largest error in calls that counts as a hit."""

LATE_CALLS = 30

REARMED = 0.7
"""Fill below which the next warning counts again."""

HORIZONS = (5, 10, 20, sys.maxsize)


class Played(NamedTuple):
    """One forecast.

    Attributes:
        left: Calls that followed until the compaction; None if there was none.
        low, middle, high: The forecast; None if there was none.
        fill: Fill of the session.
        warns: True if the session is shown as compacting soon.
        remaining: Calls that followed until the compaction or the end.
    """

    left: int | None
    low: float | None
    middle: float | None
    high: float | None
    fill: float
    warns: bool
    remaining: int


@dataclass
class Recorded:
    """A recorded session up to a call, in place of a `LiveReader`."""

    session: Session
    path: Path
    beginning: Beginning
    skipped_bytes: int = 0
    modified: float = 1e18
    is_gone: bool = False

    @property
    def file(self) -> Path:
        return self.path


def played_back(session: Session, pricing: Pricing) -> Iterator[Played]:
    """Yield the forecast after every call of the main conversation."""
    main = [call for call in session.calls if not session.contexts[call.context].thread]
    ends = [each for each in session.compactions if not each.is_partial]
    responses = [call.response for call in main]
    beginning, figures, recorded = Beginning.of(session), None, None
    for number, call in enumerate(main):
        following = next((each for each in ends if each.message > call.response), None)
        until = len(session.messages) if following is None else following.message
        limit = min(until, responses[number + 1] if number + 1 < len(main) else until)
        at = _until(session, limit)
        if recorded is None or figures is None:
            recorded = Recorded(at, session.path, beginning)
            figures = LiveFigures(pricing, recorded)  # type: ignore[arg-type]
        else:
            recorded.session = at
            figures.take()
        now = figures.last_activity
        row = figures.row(now)
        remaining = bisect_right(responses, until - 1) - number - 1
        is_automatic = following is not None and following.trigger != "manual"
        calls = None if row.forecast is None else row.forecast.calls
        yield Played(
            remaining if is_automatic else None,
            None if calls is None else calls.low,
            None if calls is None else calls.middle,
            None if calls is None else calls.high,
            row.fill if row.fill is not None and row.compacts_at.value is not None else 0.0,
            Attention.COMPACTS_SOON in row.attention(now),
            remaining,
        )


def _until(session: Session, limit: int) -> Session:
    """Return the session as it was before a message."""
    calls = [call for call in session.calls if call.response < limit]
    begun = session.contexts[: max(call.context for call in calls) + 1]
    cut = (tuple(member for member in each.members if member < limit) for each in begun)
    return replace(
        session,
        messages=session.messages[:limit],
        calls=calls,
        contexts=tuple(structs.replace(each, members=members) for each, members in zip(begun, cut, strict=True)),
        compactions=tuple(each for each in session.compactions if each.message < limit),
        side_calls=(),
    )


def share(hits: Sequence[bool]) -> str:
    return f"{100 * sum(hits) / len(hits):.0f} % of {len(hits)}" if hits else "none"


def main(arguments: Sequence[str]) -> int:
    """Play back all sessions below some folders and print a summary."""
    pricing = Pricing.load()
    sessions = known = 0
    compacted: list[tuple[str, list[Played]]] = []
    warned: list[tuple[str, Played]] = []
    without: list[str] = []
    for folder in arguments:
        for header in found_in(Path(folder), with_subagents=True):
            try:
                session = open_session(header.path)
            except SessionError:
                continue
            played = list(played_back(session, pricing))
            name = f"{session.format} {header.path.name[:24]}"
            sessions += 1
            known += any(each.fill for each in played)
            is_compacted = any(each.left is not None for each in played)
            from_half = [each for each in played if each.fill >= 0.5 and each.left is not None]
            if is_compacted and not any(each.middle is not None for each in from_half):
                without.append(name)
            elif is_compacted:
                compacted.append((name, [each for each in from_half if each.middle is not None]))
            warned += ((name, each) for each in _warnings(played))
    print(f"{sessions} sessions, {known} with a known compaction size")
    print(f"{len(compacted)} sessions compact with a forecast from half fill on; without one: {without or 'none'}")
    every = [each for _, played in compacted for each in played]
    for horizon in HORIZONS:
        near = [each for each in every if each.left is not None and each.left <= horizon]
        label = "all calls from half fill on" if horizon == sys.maxsize else f"the last {horizon} calls"
        print(f"  {label}: within {WITHIN} {share([_is_hit(each) for each in near])}; in range {share(_covers(near))}")
    ends = sum(each.left == 0 for each in every)
    leads = sorted(each.left for _, each in warned if each.left is not None)
    print(f"{ends} compactions, {len(leads)} with a warning, {median(leads or [0]):.0f} calls before at the median")
    false = [(name, each) for name, each in warned if each.remaining > LATE_CALLS]
    print(f"{len(warned)} warnings; false (more than {LATE_CALLS} calls before a compaction): {len(false)}")
    for name, each in false:
        print(f"    {name}: at fill {each.fill:.2f}, {each.remaining} calls")
    return 0


def _warnings(played: Sequence[Played]) -> Iterator[Played]:
    """Yield the first warning of each approach to the compaction size."""
    is_armed = True
    for each in played:
        if each.warns and is_armed:
            yield each
        is_armed = not each.warns and (is_armed or each.fill < REARMED)


def _is_hit(each: Played) -> bool:
    return each.middle is not None and each.left is not None and abs(each.middle - each.left) <= WITHIN


def _covers(played: Sequence[Played]) -> list[bool]:
    return [(each.low or 0) <= (each.left or 0) <= (each.high or 0) for each in played]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
