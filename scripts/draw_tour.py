"""The tour of `inspector demo --play` as an animated picture, recorded from the running app.

It plays in any browser, fetches nothing, and shows its first frame if animations are off. The result does not depend on
timing: the agent writes on command, and every frame shows an idle screen.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from drawing import MOST_SECONDS, SECONDS_BETWEEN_LOOKS, at_rest, picture_at_rest

from inspector.cli.demo import FIRST, TOUR_BEGINNING, sample_named
from inspector.session.open import open_session
from inspector.settings import Settings
from inspector.ui.tour import STEPS as ALL_STEPS
from inspector.ui.tour import Tour, TouringApp

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.pilot import Pilot

SIZE = (110, 32)

STEPS = ALL_STEPS[1:]
"""The running agents of the first step differ in every recording."""

SPEED = 20.0
"""Speed of the tour's waits; it does not affect how long frames are shown."""

MOVING = {1: 3, 5: 3}
"""Steps with movement, and the number of their frames besides the last."""

SECONDS_OF_MOVING = 0.7

SECONDS_AT_THE_END = 10.0
"""Duration of the final plan before the animation restarts."""

WATCHED = 1
"""The step in which the agent is watched at work, until its context is compacted."""

LINES_A_FRAME = 40
"""Lines that the agent writes between two frames."""

RESTS_A_FRAME = 5
"""Moves of a limit between two frames."""


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


class ScriptedAgent:
    """A copy of a session that grows on command."""

    def __init__(self, source: Path, folder: Path) -> None:
        self._lines = source.read_bytes().splitlines(keepends=True)
        self.path = folder / source.name
        self.path.write_bytes(b"")
        self.write(round(len(self._lines) * TOUR_BEGINNING))

    @property
    def is_at_work(self) -> bool:
        """True if there are more lines to write."""
        return bool(self._lines)

    def write(self, lines: int | None = None) -> None:
        """Append the next lines; all remaining ones by default."""
        count = len(self._lines) if lines is None else lines
        with self.path.open("ab") as file:
            file.write(b"".join(self._lines[:count]))
        del self._lines[:count]


class PacedTour(Tour):
    """A tour that waits for results, never for a time."""

    def __init__(self, tour: Tour, pilot: Pilot[None], agent: ScriptedAgent) -> None:
        super().__init__(tour.app, ())
        self.own_keys = tour.own_keys
        self.moving: list[str] = []
        """Frames of movement since the last read."""
        self.pilot = pilot
        self._agent = agent
        self._step = self._rests = 0

    async def begin(self, step: int) -> None:
        """Go on to a step: the agent begins in the first, and is done when it was watched."""
        self._step = step
        self.moving.clear()
        await at_rest(self.pilot)
        if step == 0:
            await self.grow(LINES_A_FRAME)
        elif step == WATCHED + 1:
            await self.grow()

    async def rest(self, seconds: float) -> None:
        """Show the result of the last action; take a frame if it is due."""
        del seconds
        await at_rest(self.pilot, 0)
        self._rests += 1
        if self._step in MOVING and self._rests % RESTS_A_FRAME == 0:
            self.moving.append(await picture_at_rest(self.pilot))

    async def until(self, fact: Callable[[], object], patience: float = MOST_SECONDS) -> None:
        """Wait for something however long it takes; while it is watched, the agent goes on writing until then."""
        while self._step == WATCHED and not fact() and self._agent.is_at_work:
            await self.grow(LINES_A_FRAME)
            self.moving.append(await picture_at_rest(self.pilot))
        await super().until(fact, max(patience, MOST_SECONDS))

    async def grow(self, lines: int | None = None) -> None:
        """Let the agent write lines, all remaining ones by default, and wait until they are shown."""
        self._agent.write(lines)
        written = len(open_session(self._agent.path).messages)
        controller = self.screen.controller
        await super().until(
            lambda: controller.session is not None and len(controller.session.messages) == written, MOST_SECONDS
        )
        await at_rest(self.pilot)


class DrawnTour:
    """The tour, played in a temporary folder, and its frames."""

    def __init__(self, folder: Path) -> None:
        self.frames = Frames()
        self._agent = ScriptedAgent(sample_named(FIRST).path, folder)
        self._paced: PacedTour | None = None
        self._pilot: asyncio.Future[Pilot[None]] = asyncio.Future()

    async def play(self) -> None:
        """Play all of it.

        Raises:
            RuntimeError: It ended before its last step.
        """
        steps = [replace(step, seconds=0, act=partial(self._act, number)) for number, step in enumerate(STEPS)]
        app = TouringApp(self._agent.path, steps, speed=SPEED, settings=Settings(), seen=self._seen)
        async with app.run_test(size=SIZE) as pilot:
            self._pilot.set_result(pilot)
            await pilot.pause()
            while app.is_touring:
                await pilot.pause(SECONDS_BETWEEN_LOOKS)
        if len(self.frames.pictures) < len(STEPS):
            raise RuntimeError(f"the tour ended early: {len(self.frames.pictures)} pictures of {len(STEPS)} steps")

    async def _act(self, number: int, tour: Tour) -> None:
        if self._paced is None:
            self._paced = PacedTour(tour, await self._pilot, self._agent)
        await self._paced.begin(number)
        act = STEPS[number].act
        if act is not None:
            await act(self._paced)

    async def _seen(self, number: int) -> None:
        kept, moving = MOVING.get(number, 0), [] if self._paced is None else self._paced.moving
        for place in range(kept):
            self.frames.add(moving[(place + 1) * len(moving) // (kept + 2)], SECONDS_OF_MOVING)
        seconds = SECONDS_AT_THE_END if number == len(STEPS) - 1 else STEPS[number].seconds
        self.frames.add(await picture_at_rest(await self._pilot), seconds)


async def frames() -> Frames:
    """Record the frames of the tour."""
    with tempfile.TemporaryDirectory() as folder:
        tour = DrawnTour(Path(folder))
        await tour.play()
    return tour.frames


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
    """Shorten a picture's names, and remove parts that only readers of its source need."""
    picture = re.sub(r"<!--.*?-->", "", picture, flags=re.DOTALL)
    picture = re.sub(r"<clipPath.*?</clipPath>", "", picture, flags=re.DOTALL)
    picture = re.sub(r' clip-path="[^"]*"| shape-rendering="crispEdges"', "", picture)
    picture = re.sub(r"terminal-\d+", f"t{number}", picture)
    picture = re.sub(r"<text[^>]*>(?:&#160;|\s)*</text>", "", picture)
    return re.sub(r">\s+<", "><", picture).strip()
