"""A tour that plays by itself: it presses keys and drags a limit as a person would, and says what is to be seen.

The steps stand at the end. Whoever touches a key or the mouse ends it, and goes on from where it stands.
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
from inspector.ui.plan.entry import StrategyToggle

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from textual.worker import Worker

    from inspector.ui.settings import Settings


class Caption(Widget):
    """`▶ 3 of 9 · any key takes over  text`."""

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
    """How far the tour is."""
    text: reactive[str] = reactive("")
    """What is said; keys stand between backquotes."""

    def render(self) -> Content:
        """The place, what ends the tour, and the words."""
        place = f"▶ {self.place} · {TAKES_OVER}  " if self.place else "▶ "
        return Content.assemble((place, self.get_visual_style("caption--place")), *self._words())

    def _words(self) -> Sequence[Content]:
        key = self.get_visual_style("caption--key")
        return [
            Content.styled(part, key) if number % 2 else Content(part)
            for number, part in enumerate(self.text.split("`"))
        ]


TAKES_OVER: Final = "any key takes over"
"""Said as long as the tour goes on."""

LOOK: Final = 0.05
MOST_PATIENCE: Final = 12.0
"""Seconds something on the screen may take before the tour goes on without it."""

LONG_PATIENCE: Final = 25.0
"""The same for comparing all plans, on which the tour's end depends."""

LAST_WORD: Final = "The keys are yours. `?` says what they do here, `w s` saves the plan, `w e` exports it, `q` leaves."
SECONDS_OF_LAST_WORD: Final = 12.0

LEAVING: Final = ("q", "ctrl+q", "ctrl+c")
"""Keys that do what they always do, and not only end the tour."""


@dataclass(frozen=True, slots=True)
class TourStep:
    """Something that is shown.

    Attributes:
        text: What is said meanwhile; keys stand between backquotes.
        seconds: How long it is looked at when it is done.
        act: What is done; None for nothing but looking.
    """

    text: str
    seconds: float
    act: Callable[[Tour], Awaitable[None]] | None = None


class Tour:
    """Plays steps on a running app.

    Args:
        app: The app.
        steps: What is played.
        speed: How much faster than for reading; 2 is twice as fast.
        seen: Told after every step that it stands on the screen, for pictures of it.
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
        """Keys pressed that the app has not seen yet."""
        self._steps = steps
        self._speed = speed
        self._seen = seen

    @property
    def screen(self) -> InspectScreen:
        """The main screen, whatever is shown over it."""
        return next(screen for screen in self.app.screen_stack if isinstance(screen, InspectScreen))

    async def play(self) -> None:
        """Play every step, and say the last word."""
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
        """Show words on whatever screen is shown."""
        screen = self.app.screen
        caption = next(iter(screen.query(Caption)), None)
        if caption is None:
            caption = Caption()
            await screen.mount(caption)
        caption.place, caption.text = place, text

    async def rest(self, seconds: float) -> None:
        """Wait, at the tour's speed."""
        await asyncio.sleep(seconds / self._speed)

    async def until(self, fact: Callable[[], object], patience: float = MOST_PATIENCE) -> None:
        """Wait for something, but not for ever."""
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
        """Wait until the newest plan is on the screen."""
        session = self.screen.controller
        await self.until(lambda: session.outcome is not None and session.outcome.plan == session.plan)

    async def drag(self, entry: int, parameter: str, values: Sequence[float], pause: float = 0.09) -> None:
        """Drag the limit of a strategy through some values, and let go at the last."""
        from inspector.ui.plan.slider import LimitSlider

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
    """The app, playing a tour until somebody touches something."""

    def __init__(
        self,
        paths: Path | Sequence[Path],
        steps: Sequence[TourStep],
        *,
        speed: float = 1.0,
        settings: Settings | None = None,
        seen: Callable[[int], Awaitable[None]] | None = None,
    ) -> None:
        """Make the application.

        Args:
            paths: As of the app without a tour.
            steps: What is played.
            speed: How much faster than for reading.
            settings: As of the app without a tour.
            seen: Told after every step that it stands on the screen.
        """
        super().__init__(paths, settings=settings)
        self._tour = Tour(self, steps, speed, seen)
        self._playing: Worker[None] | None = None

    @property
    def is_touring(self) -> bool:
        """Whether the tour is going on."""
        return self._playing is not None

    def on_mount(self) -> None:
        """Begin."""
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
        """Anything a person does ends the tour; keys that leave still leave."""
        touched = isinstance(event, events.Key | events.MouseDown | events.MouseScrollDown | events.MouseScrollUp)
        if touched and any(event is key for key in self._tour.own_keys):
            self._tour.own_keys.remove(event)
        elif self._playing is not None and touched and not event.is_forwarded:
            self._playing.cancel()
            await self._end()
            if not (isinstance(event, events.Key) and event.key in LEAVING):
                return
        await super().on_event(event)


LIMIT = "data"
"""The limit that is dragged: what the sample's agent reads most are files."""


async def _follow(tour: Tour) -> None:
    """The sample's records are old, so that it is not taken for one that is being written."""
    await tour.press("end")


async def _watch(tour: Tour) -> None:
    """Until a context was filled and compacted, or the agent is done."""
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
    await tour.press("g", pause=0.8)
    await tour.until(lambda: tour.app.screen is not tour.screen)
    await tour.press("x", pause=0.8)
    await tour.until(lambda: tour.app.screen is tour.screen)
    await tour.press("n", "n", pause=0.8)


async def _compare(tour: Tour) -> None:
    from inspector.ui.compare.screen import CompareScreen

    def is_compared() -> bool:
        screen = tour.app.screen
        return isinstance(screen, CompareScreen) and screen.is_complete

    await tour.press("c", pause=0.5)
    await tour.until(is_compared, LONG_PATIENCE)
    await tour.press("asterisk", pause=0.2)


async def _take(tour: Tour) -> None:
    await tour.press("enter", pause=0.4)
    await tour.until(lambda: tour.app.screen is tour.screen)
    await tour.settled()
    # How far a month may be off, and what the plan risks, are worked out after it is shown.
    session = tour.screen.controller
    await tour.until(lambda: session.projection is not None and session.risks is not None)


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
        "An agent at work. Each row is a part of its context, each bar how many tokens that part takes.", 3, _follow
    ),
    TourStep("Every call sends all of it again. The context fills up, until it is compacted (▲).", 1.5, _watch),
    TourStep("`[` and `]` go to another call: everything is shown as the model saw it then.", 2.5, _look_back),
    TourStep("`M` says why it cost so much: calls that missed the prompt cache, and what prevents it.", 4, _ask_why),
    TourStep("`1` switches a strategy on: results are cut once the model has answered them. ░ is cut.", 4, _switch_on),
    TourStep("`p` goes to the plan. Drag a limit: every call is replayed, cache misses included.", 3, _drag),
    TourStep("`g x` goes to what was cut: what is left of it, what is gone, and by which rule.", 3, _see_a_cut),
    TourStep("`t` opens the limit that matters most here: cost over its whole range, and the knee.", 4, _tune),
    TourStep("`c` replays every strategy and preset. `*` goes to the one that saves most net.", 6, _leave_tune),
    TourStep("`⏎` uses it. Below: what it saves in this session, and in a month of such sessions.", 6, _take),
)
"""In order. Seconds are for reading at speed 1; all of it is over in less than a minute and a half."""
