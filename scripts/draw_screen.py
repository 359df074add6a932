"""Draw the screen on a sample session into docs/screen.svg, from the running app: `draw_screen.py [FILE]`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from inspector.strategies.plan import Plan
from inspector.ui.headless import running_session, settled
from inspector.ui.screenshots import picture_of_screen

ROOT = Path(__file__).resolve().parent.parent

SESSION = ROOT / "sample_sessions" / "coding-agent.jsonl"

PLAN = ("tiered-stale:tool-set=coding",)

SIZE = (132, 42)

KEYS = ("shift+left", "home", "g", "x", *("n",) * 18, "z", "l")
"""To a long result that was cut, with bars in ratios, so that short rows are seen beside it."""


async def drawn() -> str:
    """The screen as SVG, in the reader's own fonts: nothing is fetched to show it."""
    async with running_session(SESSION, Plan.from_specs(list(PLAN)), SIZE) as pilot:
        for key in KEYS:
            await pilot.press(key)
            await settled(pilot)
        return picture_of_screen(pilot.app)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "screen.svg"
    target.write_text(asyncio.run(drawn()), encoding="utf-8")
    print(f"{target}: {target.stat().st_size:,} bytes")
