"""Sample uses of earlier results from recorded sessions, with both places, for review.

    python scripts/draw_needs.py FOLDER [--each 30] [--seed 20]

Samples this many uses of every kind, uniformly over all sessions below the folder, or fewer if there are not enough.
The criteria and the results are in `docs/evidence.md`. Prints texts of the sessions: do not publish them.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path
from typing import NamedTuple

from inspector.errors import InspectorError
from inspector.replay.analysis.reuse import NeedKind, find_reuse
from inspector.safe_text import one_line
from inspector.session.discovery import sessions_in
from inspector.session.open import open_session
from inspector.strategies.history.history import History

AROUND = 160
MOST = 400


class Case(NamedTuple):
    """A use, and both places."""

    kind: NeedKind
    path: Path
    call: int
    result: str
    use: str


def cases_of(path: Path) -> list[Case]:
    """Every use a session shows."""
    history = History.of(open_session(path))
    session, uses = history.session, find_reuse(history)

    def excerpt(block: int, start: int, stop: int) -> str:
        text, found = session.text(session.blocks[block]), session.blocks[block]
        there = text[start:stop]
        there = there if len(there) <= MOST else f"{there[: MOST // 2]} … {there[-MOST // 2 :]}"
        shown = f"{text[max(start - AROUND, 0) : start]}«{there}»{text[stop : stop + AROUND]}"
        return f"[{found.tool_name or found.kind.label}] {one_line(shown)}"

    columns = zip(*(getattr(uses, name).tolist() for name in uses.__dataclass_fields__), strict=True)
    return [
        Case(NeedKind(kind), path, call, excerpt(block, start, stop), excerpt(use, use_start, use_stop))
        for kind, block, start, stop, call, use, use_start, use_stop in columns
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--each", type=int, default=30, help="samples of every kind")
    parser.add_argument("--seed", type=int, default=20)
    given = parser.parse_args()
    cases: list[Case] = []
    for path in sorted(each.path for each in sessions_in(given.folder)):
        try:
            cases += cases_of(path)
        except InspectorError as error:
            print(f"{path}: {error}")
    for kind in NeedKind:
        mine = [case for case in cases if case.kind is kind]
        drawn = random.Random(given.seed).sample(mine, min(given.each, len(mine)))  # noqa: S311  no secret is drawn
        print(f"== {kind.label}: {len(drawn)} of {len(mine)}")
        for number, case in enumerate(drawn, 1):
            print(f"\n{kind.label} {number}  {case.path.name} call {case.call + 1}\n  R {case.result}\n  U {case.use}")


if __name__ == "__main__":
    main()
