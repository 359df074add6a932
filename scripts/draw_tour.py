"""Draw the tour of `inspector demo --play` into docs/demo.svg, an animation made from the running app.

It plays in any browser, fetches nothing, and shows its first frame where animations are off: `draw_tour.py [FILE]`.
"""

from __future__ import annotations

import asyncio
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

from inspector.cli.demo import FIRST, TOUR_BEGINNING, TOUR_SECONDS, sample_named
from inspector.cli.fake_agent import FakeAgent
from inspector.ui.screenshots import picture_of_screen
from inspector.ui.settings import Settings
from inspector.ui.tour import STEPS, TouringApp

ROOT = Path(__file__).resolve().parent.parent

SIZE = (110, 32)

SPEED = 2.5

MOVING = {1: 3, 4: 3}
"""Steps in which something moves, and how many frames of it are kept besides the last."""

SECONDS_OF_MOVING = 0.7

SECONDS_AT_THE_END = 10.0
"""How long the plan it ends on is shown before it all begins again."""


@dataclass
class Frames:
    """Pictures and how long each is shown, in seconds."""

    pictures: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def add(self, picture: str, seconds: float) -> None:
        """Another one, unless it looks like the last."""
        if not self.pictures or picture != self.pictures[-1]:
            self.pictures.append(picture)
            self.seconds.append(seconds)


async def frames() -> Frames:
    """The tour, picture by picture."""
    found = Frames()
    moving: list[str] = []
    step = 0

    async def seen(number: int) -> None:
        nonlocal step
        kept = MOVING.get(number, 0)
        for place in range(kept):
            if moving:
                found.add(moving[(place + 1) * len(moving) // (kept + 2)], SECONDS_OF_MOVING)
        is_last = number == len(STEPS) - 1
        found.add(picture_of_screen(app), SECONDS_AT_THE_END if is_last else STEPS[number].seconds)
        moving.clear()
        step = number + 1

    with FakeAgent(sample_named(FIRST).path, TOUR_BEGINNING, TOUR_SECONDS / SPEED) as growing:
        app = TouringApp(growing.path, STEPS, speed=SPEED, settings=Settings(), seen=seen)
        async with app.run_test(size=SIZE) as pilot:
            await pilot.pause()
            while app.is_touring:
                await asyncio.sleep(0.1)
                if step in MOVING:
                    moving.append(picture_of_screen(app))
    return found


def animated(shown: Frames) -> str:
    """All frames in one picture, each visible in its turn."""
    total = sum(shown.seconds)
    match = re.search(r'viewBox="([^"]*)"', shown.pictures[0])
    if match is None:
        raise ValueError("a picture without a size")
    begins = 0.0
    styles, groups = [], []
    for number, (picture, seconds) in enumerate(zip(shown.pictures, shown.seconds, strict=True)):
        first, last = 100 * begins / total, 100 * (begins + seconds) / total
        before = f"0%{{visibility:hidden}}{first:.2f}%{{visibility:visible}}" if number else "0%{visibility:visible}"
        after = f"{last:.2f}%{{visibility:hidden}}100%{{visibility:hidden}}" if last < 100 else ""
        styles.append(f"@keyframes shown-{number}{{{before}{after}}}")
        styles.append(f".frame-{number}{{animation:shown-{number} {total:.1f}s step-end infinite}}")
        hidden = ' visibility="hidden"' if number else ""
        groups.append(f'<g class="frame-{number}"{hidden}>{_small(picture, number)}</g>')
        begins += seconds
    style = "\n".join(styles)
    body = "\n".join(groups)
    return (
        f'<svg viewBox="{match[1]}" xmlns="http://www.w3.org/2000/svg">\n<style>\n{style}\n</style>\n{body}\n</svg>\n'
    )


def _small(picture: str, number: int) -> str:
    """A picture with short names, and without what only people who read its source need."""
    picture = re.sub(r"<!--.*?-->", "", picture, flags=re.DOTALL)
    picture = re.sub(r"<clipPath.*?</clipPath>", "", picture, flags=re.DOTALL)
    picture = re.sub(r' clip-path="[^"]*"| shape-rendering="crispEdges"', "", picture)
    picture = re.sub(r"terminal-\d+", f"t{number}", picture)
    picture = re.sub(r"<text[^>]*>(?:&#160;|\s)*</text>", "", picture)
    return re.sub(r">\s+<", "><", picture).strip()


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "demo.svg"
    target.write_text(animated(asyncio.run(frames())), encoding="utf-8")
    print(f"{target}: {target.stat().st_size:,} bytes")
