"""Test interface to the analysis screens: their tables, their results, and their completion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.replay.analysis.recoveries import Exclusion
from inspector.ui.compare.screen import BASELINE, CURRENT
from inspector.ui.sessions.screen import SessionsScreen
from inspector.ui.tune.sweeps import key_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from inspector.report.session_summary import SessionSummary
    from inspector.session.discovery import Header
    from tests.ui.facade import Running

__all__ = [
    "BASELINE",
    "CURRENT",
    "Compare",
    "Composition",
    "Costs",
    "Files",
    "Misses",
    "SessionList",
    "Tune",
    "table_on_top",
]


class FiguresSeen:
    """A table of figures."""

    def __init__(self, run: Running, widget: Any) -> None:
        self._run = run
        self._widget = widget

    @property
    def rows(self) -> Sequence[Any]:
        return self._widget.rows  # type: ignore[no-any-return]

    @property
    def row_of(self) -> dict[Any, Any]:
        return {row.key: row for row in self.rows}

    @property
    def sorting(self) -> Any:
        return self._widget.sorting

    @property
    def row_here(self) -> Hashable:
        return self._widget.cursor_key  # type: ignore[no-any-return]

    @property
    def first_line(self) -> int:
        """The place of the first row in sight."""
        return int(self._widget.first_line)

    @property
    def has_focus(self) -> bool:
        return bool(self._widget.has_focus)

    def text(self, key: object, column: str) -> str:
        return str(self.row_of[key].cells[column].text)

    def go_to(self, key: object) -> None:
        """Put the cursor on a row."""
        self._widget.move_to_key(key)

    def go_to_line(self, place: int) -> None:
        """Put the cursor on a row by its place."""
        self._widget.cursor = place

    async def click(self, x: int, y: int) -> None:
        await self._run.click_on(self._widget, x, y)


def table_on_top(run: Running) -> FiguresSeen:
    """The table of the screen on top."""
    return FiguresSeen(run, run.top_of_facade().query_one("FigureTable"))


class TableOf:
    """A table of a screen, by the name that the screen has it by."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, study: Study, of: type[Study]) -> FiguresSeen:
        return FiguresSeen(study.run, getattr(study._screen, self._name))


class Study:
    name = ""
    key = ""

    def __init__(self, run: Running) -> None:
        self.run = run
        self._screen: Any = run.top_of_facade()

    @classmethod
    async def opened(cls, run: Running, *keys: str) -> Any:
        await run.until_counted()
        await run.tap(*cls.key.split(), *keys)
        await run.until_open(cls.name)
        study = cls(run)
        await study.shown()
        return study

    async def shown(self) -> None:
        """Wait until all its results are on the screen."""
        await self.run.pause()

    @property
    def is_on_top(self) -> bool:
        return self.run.top_of_facade() is self._screen

    @property
    def notice(self) -> str:
        return str(self._screen.status.notice)

    @property
    def has_placeholder(self) -> bool:
        return bool(self._screen.query_one("Placeholder").display)


class StudyOfReplay(Study):
    @property
    def found(self) -> Any:
        return self._screen.found

    def is_newest(self, outcome: Any) -> bool:
        return self.found.outcome.replay is outcome.replay

    async def shown(self) -> None:
        source = self._screen.controller
        await self.run.until(lambda: self.found is not None and self.is_newest(source.outcome))
        await self.run.until(lambda: not self.run.unfinished())
        await self.run.pause()


class Compare(Study):
    """Every strategy and the plan, one row each."""

    name, key = "compare", "c"

    async def shown(self) -> None:
        await self.run.until(lambda: self._screen._contenders and not self._screen._waiting)
        await self.run.pause()

    table = TableOf("plans")

    @property
    def is_done(self) -> bool:
        """Nothing is being replayed."""
        return not self._screen._waiting

    def found(self, name: object) -> Any:
        return self._screen._contenders[str(name)].found

    def all_found(self) -> list[Any]:
        return [each.found for each in self._screen._contenders.values()]

    def every_key(self) -> list[str]:
        return list(self._screen._contenders)

    def idle_keys(self) -> set[str]:
        plans = self._screen._contenders.values()
        return {each.key for each in plans if each.found.first_firing is None and not (each.is_part or each.is_current)}

    def plan(self, name: str) -> Any:
        """A plan that is compared."""
        return self._screen._contenders[name].plan

    def is_plan(self, name: object) -> bool:
        """The row is of a plan, not the title of a group or the session with nothing cut."""
        return str(name) in self._screen._contenders and name != BASELINE

    def is_untested(self, name: object) -> bool:
        """It is not recommended because its settings go beyond what has been tried in public."""
        return self._screen._contenders[str(name)].exclusion is Exclusion.UNTESTED

    def answer(self, name: object) -> Any:
        return self._screen._contenders[str(name)].answer

    def title(self, name: str) -> str:
        return str(self._screen._contenders[name].name)

    def failed(self) -> list[str]:
        """The plans that could not be replayed."""
        return [each.key for each in self._screen._contenders.values() if each.failure]

    @property
    def facts(self) -> Any:
        return self._screen.query_one("FactList").facts


class Costs(Study):
    """Every figure of the plan."""

    name, key = "costs", "dollar_sign"

    async def shown(self) -> None:
        """Wait until the figures shown are of the newest replay and terms."""
        await self.run.settled()
        source = self._screen.controller

        def is_newest() -> bool:
            sheet = self._screen.sheet
            return sheet is not None and sheet.planned is source.outcome.replay and sheet.terms == source.terms

        await self.run.until(is_newest)
        await self.run.pause()

    def show_again(self) -> None:
        self._screen.show_outcome()

    table = TableOf("figures")

    @property
    def explained(self) -> Any:
        return self._screen.sheet.explained


class Tune(Study):
    """A limit over its whole range, and two of them."""

    name, key = "tune", "t"

    async def shown(self) -> None:
        if self.limits.axes:
            await self.run.until(lambda: self.limits.axes and self._is_swept())
        await self.run.pause()

    def _is_swept(self) -> bool:
        known = self._screen.sweeps.curves.get(key_of(self.limits.axis))
        return known is not None and known.found.is_complete and known.subject.plan == self.limits.plan

    @property
    def limits(self) -> Any:
        return self._screen.limits

    @property
    def limit(self) -> str:
        """The limit looked at."""
        return str(self.limits.axis.parameter.name)

    @property
    def value(self) -> float:
        """The value of it that is looked at."""
        return float(self.limits.here(self.limits.axis))

    @property
    def sweep(self) -> Any:
        return self._screen.sweeps.curves[key_of(self.limits.axis)].found

    @property
    def swept(self) -> Any:
        return self._screen.sweeps.curves[key_of(self.limits.axis)].subject

    @property
    def grid(self) -> Any:
        return None if self._screen.sweeps.grid is None else self._screen.sweeps.grid.found

    @property
    def chart(self) -> Any:
        """The curves as drawn: a `TuneChart`."""
        return self._screen.curves.chart

    @property
    def heat(self) -> Any:
        """The map as drawn: a `HeatChart`."""
        return self._screen.heat_map.chart

    async def ask_for_pair(self, grid: Any, place: tuple[int, int]) -> None:
        heat_map = self._screen.heat_map
        heat_map.post_message(heat_map.Moved(heat_map, grid, place))
        await self.run.pause()

    async def ask_for_value(self, chart: Any, value: float) -> None:
        curves = self._screen.curves
        curves.post_message(curves.Moved(curves, chart, value))
        await self.run.pause()

    @property
    def shows_curves(self) -> bool:
        return bool(self._screen.curves.display)

    @property
    def shows_map(self) -> bool:
        return bool(self._screen.heat_map.display)

    @property
    def width(self) -> int:
        """Cells the curves have."""
        return int(self._screen.curves.size.width)

    @property
    def title(self) -> str:
        return str(self._screen.query_one("#tune").border_title)

    @property
    def choices(self) -> list[Any]:
        """The limits to choose from, each with its strategy."""
        return list(self._screen.query_one("ChoiceStrip").choices.names)

    async def click_choice(self, x: int) -> None:
        """Click into the line of limits."""
        await self.run.click_on("ChoiceStrip", x, 0)

    def figure(self, what: str) -> str:
        return table_on_top(self.run).text(what, "tokens")

    async def hold_mouse(self, x: int, y: int) -> None:
        """Press the mouse in the curves."""
        await self.run.pilot_of_facade().mouse_down(self._screen.curves, offset=(x, y))

    async def move_mouse(self, x: int, y: int) -> None:
        await self.run.pilot_of_facade().hover(self._screen.curves, offset=(x, y))

    async def let_mouse_go(self, x: int, y: int) -> None:
        await self.run.pilot_of_facade().mouse_up(self._screen.curves, offset=(x, y))


class Composition(Study):
    name, key = "composition", "v"

    @classmethod
    async def opened(cls, run: Running, *keys: str) -> Any:
        study = await super().opened(run)
        for key in keys:
            await run.tap(*key.split())
            await study.shown()
        return study

    async def shown(self) -> None:
        await self.run.until(
            lambda: self._screen.divided is not None and not (self._screen._is_dividing or self._screen._is_wanted)
        )
        await self.run.pause()

    @property
    def found(self) -> Any:
        """The prompt, divided: a `Composition`."""
        return self._screen.divided.composition

    parts = TableOf("parts")

    blocks = TableOf("blocks")


class Misses(StudyOfReplay):
    """Why the prompt cache was missed."""

    name, key = "misses", "M"

    causes = TableOf("causes")

    calls = TableOf("calls")


class Files(StudyOfReplay):
    name, key = "files", "g l"

    def is_newest(self, outcome: Any) -> bool:
        return self.found.outcome is outcome

    files = TableOf("files")

    steps = TableOf("events")

    @property
    def known_has_focus(self) -> bool:
        return bool(self._screen.content.has_focus)

    @property
    def first_known_line(self) -> int:
        """The line of the known content that is at the top."""
        return int(self._screen.content.first_line)

    @property
    def known_lines(self) -> int:
        return int(self._screen.content.line_count)

    def known_line(self, index: int, width: int = 80) -> Any:
        """A line of the known content: a `KnownLine`."""
        return self._screen.content.known.line(index, width)


class SessionList:
    def __init__(self, run: Running) -> None:
        self.run = run
        self._screen: Any = run.top_of_facade()

    @property
    def is_complete(self) -> bool:
        """All sessions were found."""
        return bool(self._screen._is_complete)

    @property
    def paths(self) -> set[Any]:
        """The sessions listed."""
        return {line.entry.header.path for line in self._screen._book.lines()}

    @property
    def cursor(self) -> tuple[int, str]:
        """The line the cursor is on, and the name of its file."""
        shown = self._screen.query_one("SessionList")
        return shown.cursor, shown.line.entry.header.path.name

    async def find(self, headers: Sequence[Header], *, is_complete: bool) -> None:
        """Let sessions be found."""
        self._screen.post_message(SessionsScreen.Listed(tuple(headers), is_complete=is_complete))
        await self.run.pause()

    async def read(self, *summaries: SessionSummary) -> None:
        """Let sessions have been read."""
        self._screen.post_message(SessionsScreen.WasRead(summaries))
        await self.run.pause()
