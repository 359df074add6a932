"""Draw the pictures of the walk-throughs in docs/: `python scripts/draw_walks.py`, each a real screen."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import NamedTuple

from inspector.strategies.plan import Plan
from inspector.ui.headless import running_session, settled
from inspector.ui.screenshots import picture_of_screen

ROOT = Path(__file__).resolve().parent.parent

SESSION = ROOT / "sample_sessions" / "coding-agent.jsonl"

SIZE = (112, 34)


class Walk(NamedTuple):
    """One picture.

    Attributes:
        name: Of the file in docs/, without its ending.
        plan: Strategies that are on.
        keys: What is pressed first.
    """

    name: str
    plan: tuple[str, ...]
    keys: tuple[str, ...]


WALKS = (
    Walk("walk-misses", (), ("M",)),
    Walk("walk-compare", (), ("c",)),
)


async def drawn(walk: Walk) -> str:
    """The screen as SVG, in the reader's own fonts: nothing is fetched to show it."""
    plan = Plan.from_specs(list(walk.plan)) if walk.plan else None
    async with running_session(SESSION, plan, SIZE) as pilot:
        for key in walk.keys:
            await pilot.press(key)
            await settled(pilot)
        await settled(pilot)
        return picture_of_screen(pilot.app)


def main() -> None:
    """Draw all of them."""
    for walk in WALKS:
        target = ROOT / "docs" / f"{walk.name}.svg"
        target.write_text(asyncio.run(drawn(walk)), encoding="utf-8")
        print(f"{target.relative_to(ROOT)}: {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
