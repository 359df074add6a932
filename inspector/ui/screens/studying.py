"""The ways from the main screen to the screens that study its session: comparison, tuning, composition."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, ClassVar

from textual.app import SystemCommand
from textual.signal import Signal

from inspector.ui.screens.costing import Costing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from textual.screen import Screen

    from inspector.strategies.plan import Plan
    from inspector.ui.outcome import Outcome
    from inspector.ui.settings import Settings


OF_CALLS = ("compare", "tune")
"""Studies of what plans make of the calls: without any, all would be nothing."""


class Studying(Costing):
    """A session screen over which others can be opened."""

    STUDIES: ClassVar[Mapping[str, tuple[str, str]]] = {
        "compare": ("inspector.ui.screens.compare", "CompareScreen"),
        "tune": ("inspector.ui.screens.tune", "TuneScreen"),
        "composition": ("inspector.ui.screens.composition", "CompositionScreen"),
        "costs": ("inspector.ui.screens.costs", "CostsScreen"),
    }
    """Per name, the module and the class of a screen. They need numpy and every strategy, so they are imported late."""

    def __init__(self, path: Path, settings: Settings, plan: Plan | None = None) -> None:
        super().__init__(path, settings, plan)
        self.outcome_changed: Signal[Outcome | None] = Signal(self, "outcome changed")
        """Published when a replay came back, or another call is looked at."""

    def look_at(self, call: int | None) -> None:
        """Show everything as of a call; None for the next one, not yet made."""
        super().look_at(call)
        self.outcome_changed.publish(self.outcome)

    def action_study(self, name: str) -> None:
        """Open a screen that studies the session."""
        if self.outcome is None:
            self.show_notice("there is nothing to look at yet")
            return
        if name in OF_CALLS and not self.outcome.replay.history.call_count:
            self.show_notice("no call was made yet: there is nothing a plan could have changed")
            return
        module, kind = self.STUDIES[name]
        screen: Screen[None] = getattr(import_module(module), kind)(self)
        self.app.push_screen(screen)

    def study_commands(self) -> Iterable[SystemCommand]:
        """What the command palette offers of them."""
        if self.outcome is not None:
            text = "Every strategy and this plan on this session, as a table"
            yield SystemCommand("plan: Compare", text, lambda: self.action_study("compare"))
            text = "What a limit of the plan comes to over its whole range"
            yield SystemCommand("plan: Tune", text, lambda: self.action_study("tune"))
            text = "Every figure of the plan, what it is projected to, and on which terms"
            yield SystemCommand("cost: Figures", text, lambda: self.action_study("costs"))
            text = "What the prompt is made of, what of it costs most, and what is in it twice"
            yield SystemCommand("call: Composition", text, lambda: self.action_study("composition"))
