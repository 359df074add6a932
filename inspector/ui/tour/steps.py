"""The tour of `inspector demo --play`: an agent at work, a strategy switched on, a limit dragged, and what it saves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.session.model import ContextCause
from inspector.ui.plan.entry import StrategyToggle
from inspector.ui.tour.player import TourStep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.ui.tour.player import Tour

LIMIT = "action"
"""The limit that is dragged: the samples' agent runs commands most."""


async def _watch(tour: Tour) -> None:
    """Until a context was filled and compacted, or the agent is done."""
    controller = tour.screen.controller

    def is_compacted() -> bool:
        session = controller.session
        return session is not None and any(each.cause is ContextCause.COMPACTION for each in session.contexts)

    await tour.until(is_compacted)
    await tour.rest(2.5)


async def _look_back(tour: Tour) -> None:
    await tour.press("left_curly_bracket", pause=1.2)
    await tour.press("left_square_bracket", "left_square_bracket", "right_square_bracket", pause=0.5)


async def _switch_on(tour: Tour) -> None:
    await tour.press("end")
    await tour.press("1")
    await tour.settled()


async def _drag(tour: Tour) -> None:
    await tour.press("p")
    await tour.until(lambda: isinstance(tour.app.focused, StrategyToggle))
    lower = [300 * 0.86**step for step in range(1, 15)]
    higher = [lower[-1] * 1.22**step for step in range(1, 21)]
    await tour.drag(0, LIMIT, [*lower, *higher])


async def _see_a_cut(tour: Tour) -> None:
    await tour.press("p", "home", pause=0.2)
    await tour.press("x", "x", "x", pause=0.8)


async def _compare(tour: Tour) -> None:
    await tour.press("c", pause=0.5)
    await tour.until(lambda: _is_done(tour), 12)


def _is_done(tour: Tour) -> bool:
    status = getattr(tour.app.screen, "status", None)
    return status is not None and status.progress is None


async def _tune(tour: Tour) -> None:
    await tour.press("t", "tab", pause=0.8)
    await tour.until(lambda: _is_done(tour), 12)
    await tour.press(*["right"] * 6, pause=0.15)


async def _window(tour: Tour) -> None:
    await tour.press("v", pause=0.8)


async def _back(tour: Tour) -> None:
    await tour.press("escape", pause=0.4)
    await tour.settled()


STEPS: Sequence[TourStep] = (
    TourStep("An agent at work. Each row is a part of its context, each bar how many tokens that part takes.", 4),
    TourStep(
        "Every call sends all of it again. Watch the context fill up, until the agent compacts it (▲).",
        2,
        _watch,
    ),
    TourStep(
        "`[` and `]` go to another call: everything is shown as the model saw it then.",
        3,
        _look_back,
    ),
    TourStep(
        "`1` switches a strategy on: tool results are cut once the model has answered them. ░ is what it cuts.",
        4.5,
        _switch_on,
    ),
    TourStep(
        "`p` goes to the plan. Drag a limit: every call is replayed while you do, broken caches included.",
        4,
        _drag,
    ),
    TourStep(
        "`x` goes to what was cut: what is left of it, what is gone, and the rule that did it.",
        3,
        _see_a_cut,
    ),
    TourStep(
        "`c` replays every strategy there is on this session, and ready plans of known agents.",
        5,
        _compare,
    ),
    TourStep(
        "`t` shows one limit over its whole range: tokens, cost, broken caches, and the knee.",
        5,
        _tune,
    ),
    TourStep(
        "`v` says what fills the window now: by tool, by file, what is in it twice.",
        5,
        _window,
    ),
    TourStep(
        "The bottom line counts: what the plan saves here, and over a month. `w` saves it, `e` exports it.",
        6,
        _back,
    ),
)
"""In order. Seconds are for reading at speed 1."""
