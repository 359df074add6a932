"""Automatic tour: it presses keys and drags a limit like a user, with captions.

The steps are at the end of the module. Any key or click ends it, and the user continues from there.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from inspector.session.model import ContextCause
from inspector.ui.app import InspectorApp
from inspector.ui.main.screen import InspectScreen
from inspector.ui.plan.panel import StrategyToggle

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from textual.worker import Worker

    from inspector.settings import Settings


class Caption(Widget):
    """Caption line: `▶ 3 of 9 · any key takes over  text`."""

    DEFAULT_CSS = """
    Caption {
        dock: bottom;
        height: 2;
        width: 1fr;
        padding: 0 1;
        background: $primary 25%;
        & > .caption--place { color: $text-muted; }
        & > .caption--key { color: $accent; text-style: bold; }
        &:ansi { background: ansi_default; text-style: reverse; }
        &:nocolor { text-style: reverse; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"caption--place", "caption--key"}

    place: reactive[str] = reactive("")
    """Progress of the tour."""
    text: reactive[str] = reactive("")
    """The caption; keys are in backquotes."""

    def render(self) -> Content:
        place = f"▶ {self.place} · {TAKES_OVER}  " if self.place else "▶ "
        return Content.assemble((place, self.get_visual_style("caption--place")), *self._words())

    def _words(self) -> Sequence[Content]:
        key = self.get_visual_style("caption--key")
        return [
            Content.styled(part, key) if number % 2 else Content(part)
            for number, part in enumerate(self.text.split("`"))
        ]


TAKES_OVER: Final = "any key takes over"
"""Shown while the tour runs."""

LOOK: Final = 0.05
SHORT_PATIENCE: Final = 4.0
"""Timeout in seconds for the running agents."""
MOST_PATIENCE: Final = 12.0
"""Timeout in seconds for a change on the screen, after which the tour continues."""

LONG_PATIENCE: Final = 25.0
"""Timeout for comparing all plans, on which the end of the tour depends."""

LAST_WORD: Final = "You have control now. `?` lists the keys, `w s` saves the plan, `w e` exports it, `q` quits."
SECONDS_OF_LAST_WORD: Final = 12.0

LEAVING: Final = ("q", "ctrl+q", "ctrl+c")
"""Keys that keep their function in addition to ending the tour."""


@dataclass(frozen=True, slots=True)
class TourStep:
    """One step of the tour.

    Attributes:
        text: Caption; keys are in backquotes.
        seconds: Time to look at the result.
        act: Action to perform; None to only look.
    """

    text: str
    seconds: float
    act: Callable[[Tour], Awaitable[None]] | None = None


class Tour:
    """Plays steps on a running app.

    Args:
        app: The app.
        steps: Steps to play.
        speed: Speed factor; 2 is twice as fast.
        seen: Called with each finished step, to take pictures.
    """

    def __init__(
        self,
        app: InspectorApp,
        steps: Sequence[TourStep],
        speed: float = 1.0,
        seen: Callable[[int], Awaitable[None]] | None = None,
    ) -> None:
        self.app = app
        self.own_keys: list[events.Event] = []
        """Keys sent to the app that it has not processed yet."""
        self._steps = steps
        self._speed = speed
        self._seen = seen

    @property
    def screen(self) -> InspectScreen:
        """The main screen, even below other screens."""
        return next(screen for screen in self.app.screen_stack if isinstance(screen, InspectScreen))

    async def play(self) -> None:
        """Play every step, then show the last caption."""
        await self.until(self._is_replayed)
        for number, step in enumerate(self._steps):
            await self.say(step.text, f"{number + 1} of {len(self._steps)}")
            if step.act is not None:
                await step.act(self)
                await self.say(step.text, f"{number + 1} of {len(self._steps)}")
            await self.rest(0.2)
            if self._seen is not None:
                await self._seen(number)
            await self.rest(step.seconds)

    def _is_replayed(self) -> bool:
        stack = self.app.screen_stack
        return any(isinstance(screen, InspectScreen) and screen.controller.outcome is not None for screen in stack)

    async def say(self, text: str, place: str) -> None:
        """Show a caption on the current screen."""
        screen = self.app.screen
        caption = next(iter(screen.query(Caption)), None)
        if caption is None:
            caption = Caption()
            await screen.mount(caption)
        caption.place, caption.text = place, text

    async def rest(self, seconds: float) -> None:
        """Wait, scaled by the tour's speed."""
        await asyncio.sleep(seconds / self._speed)

    async def until(self, fact: Callable[[], object], patience: float = MOST_PATIENCE) -> None:
        """Wait for a condition, with a timeout."""
        end = monotonic() + patience
        while not fact() and monotonic() < end:
            await asyncio.sleep(LOOK)

    async def press(self, *keys: str, pause: float = 0.35) -> None:
        """Press keys, with a pause after each."""
        for key in keys:
            event = events.Key(key, key if len(key) == 1 else None)
            self.own_keys.append(event)
            self.app.post_message(event)
            await self.rest(pause)

    async def settled(self) -> None:
        """Wait until the newest plan is shown."""
        session = self.screen.controller
        await self.until(lambda: session.outcome is not None and session.outcome.plan == session.plan)

    async def drag(self, entry: int, parameter: str, values: Sequence[float], pause: float = 0.09) -> None:
        """Drag a strategy's limit through some values, and release it at the last one."""
        from inspector.ui.plan.controls import LimitSlider

        sliders = self.screen.query(LimitSlider)
        slider = next((each for each in sliders if (each.entry, each.parameter.name) == (entry, parameter)), None)
        if slider is None:
            return
        slider.focus()
        for value in values:
            slider.choose(round(value), is_final=False)
            await self.rest(pause)
        slider.choose(round(values[-1]))
        await self.settled()


class TouringApp(InspectorApp):
    """App that plays a tour until a key is pressed or the mouse is used."""

    def __init__(
        self,
        paths: Path | Sequence[Path],
        steps: Sequence[TourStep],
        *,
        speed: float = 1.0,
        settings: Settings | None = None,
        folders: Sequence[Path] | None = None,
        seen: Callable[[int], Awaitable[None]] | None = None,
    ) -> None:
        """Create the app.

        Args:
            paths: See `InspectorApp`.
            steps: Steps to play.
            speed: Speed factor.
            settings: See `InspectorApp`.
            folders: See `InspectorApp`.
            seen: Called after each step, once it is painted.
        """
        super().__init__(paths, settings=settings, folders=folders)
        self._tour = Tour(self, steps, speed, seen)
        self._playing: Worker[None] | None = None

    @property
    def is_touring(self) -> bool:
        return self._playing is not None

    def on_mount(self) -> None:
        self._playing = self.run_worker(self._play(), group="tour", description="play the tour", exit_on_error=False)

    async def _play(self) -> None:
        await self._tour.play()
        await self._end()

    async def _end(self) -> None:
        self._playing = None
        for screen in self.screen_stack:
            if screen is not self.screen:
                await screen.query(Caption).remove()
        await self._tour.say(LAST_WORD, "")
        self.set_timer(SECONDS_OF_LAST_WORD, self._hush)

    async def _hush(self) -> None:
        for screen in self.screen_stack:
            await screen.query(Caption).remove()

    async def on_event(self, event: events.Event) -> None:
        """End the tour at any user input. Keys that quit still quit."""
        touched = isinstance(event, events.Key | events.MouseDown | events.MouseScrollDown | events.MouseScrollUp)
        if touched and any(event is key for key in self._tour.own_keys):
            self._tour.own_keys.remove(event)
        elif self._playing is not None and touched and not event.is_forwarded:
            self._playing.cancel()
            await self._end()
            if not (isinstance(event, events.Key) and event.key in LEAVING):
                return
        await super().on_event(event)


CURRENT_MODEL: Final = "claude-opus-5-5"
"""Model of the last step: its cache reads cost 0.05 of input, those of the sample's model 0.1."""

LIMIT = "data"
"""The limit to drag: the sample's agent reads files more than anything else."""


async def _see_all(tour: Tour) -> None:
    """Show the running agents, and wait until they are read."""
    from inspector.ui.live.screen import LiveScreen

    def is_shown() -> bool:
        screen = tour.app.screen
        return isinstance(screen, LiveScreen) and bool(screen.table.sessions)

    await tour.press("l", pause=0.5)
    await tour.until(is_shown, SHORT_PATIENCE)


async def _follow(tour: Tour) -> None:
    """Follow the end of the timeline. The sample's records are too old to be detected as live."""
    if tour.app.screen is not tour.screen:
        await tour.press("escape", pause=0.3)
        await tour.until(lambda: tour.app.screen is tour.screen)
    await tour.press("end")


async def _watch(tour: Tour) -> None:
    """Wait until a context was filled and compacted, or the agent is done."""
    controller = tour.screen.controller

    def is_compacted() -> bool:
        session = controller.session
        return session is not None and any(each.cause is ContextCause.COMPACTION for each in session.contexts)

    await tour.until(is_compacted)
    await tour.rest(1.5)


async def _look_back(tour: Tour) -> None:
    await tour.press("shift+left", pause=1.2)
    await tour.press("left_square_bracket", "left_square_bracket", "right_square_bracket", pause=0.5)


async def _ask_why(tour: Tour) -> None:
    from inspector.ui.misses.screen import MissesScreen

    def is_explained() -> bool:
        screen = tour.app.screen
        return isinstance(screen, MissesScreen) and screen.found is not None

    await tour.press("end", "M", pause=0.5)
    await tour.until(is_explained)


async def _switch_on(tour: Tour) -> None:
    await tour.press("escape", pause=0.3)
    await tour.until(lambda: tour.app.screen is tour.screen)
    await tour.press("1")
    await tour.settled()


async def _drag(tour: Tour) -> None:
    await tour.press("p")
    await tour.until(lambda: isinstance(tour.app.focused, StrategyToggle))
    higher = [400 * 1.22**step for step in range(1, 16)]
    lower = [higher[-1] * 0.8**step for step in range(1, 14)]
    await tour.drag(0, LIMIT, [*higher, *lower])


async def _see_a_cut(tour: Tour) -> None:
    await tour.press("p", "home", pause=0.2)
    await tour.press("g", pause=0.5)
    await tour.until(lambda: tour.app.screen is not tour.screen)
    await tour.press("x", pause=0.5)
    await tour.until(lambda: tour.app.screen is tour.screen)
    await tour.press("n", pause=0.8)


async def _compare(tour: Tour) -> None:
    from inspector.ui.compare.screen import CompareScreen

    def is_compared() -> bool:
        screen = tour.app.screen
        return isinstance(screen, CompareScreen) and screen.is_complete

    await tour.press("c", pause=0.5)
    await tour.until(is_compared, LONG_PATIENCE)


async def _take(tour: Tour) -> None:
    await tour.press("asterisk", pause=0.4)
    await tour.until(lambda: tour.app.screen is tour.screen)
    await tour.settled()
    await _assessed(tour)


async def _assessed(tour: Tour) -> None:
    """Wait for the range of the monthly figure and the risks, which are computed after the plan is shown."""
    session = tour.screen.controller
    await tour.until(lambda: session.projection is not None and session.risks is not None)


async def _price_as(tour: Tour) -> None:
    session = tour.screen.controller
    await tour.press("z", pause=0.6)
    await tour.until(lambda: tour.app.screen is not tour.screen)
    await tour.press("m", pause=0.4)
    await tour.until(lambda: tour.app.screen.query("Input"))
    await tour.press(*CURRENT_MODEL, pause=0.04)
    await tour.press("enter", pause=0.2)
    await tour.until(lambda: session.outcome is not None and session.outcome.inputs.other_model == CURRENT_MODEL)
    await _assessed(tour)


async def _tune(tour: Tour) -> None:
    from inspector.ui.tune.screen import TuneScreen

    def is_weighed() -> bool:
        screen = tour.app.screen
        return isinstance(screen, TuneScreen) and bool(screen.ranking.spreads) and screen.status.progress is None

    await tour.press("t", pause=0.8)
    await tour.until(is_weighed)


async def _leave_tune(tour: Tour) -> None:
    await tour.press("escape", pause=0.3)
    await _compare(tour)


STEPS: Sequence[TourStep] = (
    TourStep(
        "`l` shows every running agent, the most urgent first. One fills up: soon it compacts its context.", 4, _see_all
    ),
    TourStep(
        "An agent at work. Each row is a part of its context, each bar shows how many tokens it takes.", 2, _follow
    ),
    TourStep("Every call sends the whole context again. It fills up until it is compacted (▲).", 1, _watch),
    TourStep("`[` and `]` go to another call and show the context as the model saw it then.", 1.5, _look_back),
    TourStep("`M` explains the cost: calls that missed the prompt cache, and how to avoid that.", 3, _ask_why),
    TourStep(
        "`1` switches a strategy on. It cuts results that the model has already answered. ░ is cut.", 2.5, _switch_on
    ),
    TourStep("`p` goes to the plan. Drag a limit, and every call is replayed, including cache misses.", 1.5, _drag),
    TourStep("`g x` goes to a cut: the text that is left, the text that is gone, and the rule.", 1.5, _see_a_cut),
    TourStep("`t` opens the limit with the largest effect: the cost over its whole range, and the knee.", 2.5, _tune),
    TourStep("`c` replays every strategy and built-in plan. ★ marks the best one that has been tried.", 3, _leave_tune),
    TourStep("`*` uses it. The saving below is net of results that the agent is expected to fetch again.", 4, _take),
    TourStep(
        "`z m` prices it as a newer model, where cache reads cost less: it saves less, and still pays.", 5, _price_as
    ),
)
"""Steps in order, with reading times in seconds at speed 1. The whole tour takes less than a minute."""
