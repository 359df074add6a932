"""The tune screen: a limit of the plan over its whole range, and two of them at once."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from threading import Event

import pytest

from inspector.replay.analysis.sweep import COARSE, POINTS, LimitSpread, TunableLimit, limit_spreads, sweep
from inspector.replay.engine.replay import replay
from inspector.strategies.plan import Plan
from inspector.strategies.registry import STRATEGIES
from inspector.ui.tune import sweeps
from inspector.ui.tune.drawing import LABELS, plot_columns
from inspector.ui.tune.sweeps import Limits
from tests.hostile import DISTURBING, hostile_copy
from tests.sample_figures import SAMPLE
from tests.ui.studies import Tune, table_on_top

SPEC = "tiered-stale:tool-set=coding,lists=true"

pytestmark = pytest.mark.usefixtures("unweighed", "few_values")


@pytest.fixture
def few_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replay a quarter of the values of a curve."""
    monkeypatch.setattr(sweeps, "sweep", partial(sweep, points=COARSE))


async def test_the_curve_of_a_limit_is_that_of_replays_and_its_marked_values_are_a_key_away(
    running, session_file, monkeypatch
) -> None:
    monkeypatch.setattr(sweeps, "sweep", sweep)
    async with running(session_file.path, plan=Plan.from_specs([SPEC])) as run:
        screen = await Tune.opened(run, "tab", "tab")
        assert screen.limit == "data"
        found = screen.sweep
        assert len(found.points) >= POINTS
        for point in found.points[::7]:
            plan = Plan.from_specs([f"{SPEC},data={point.value:.0f}"])
            assert point.figures == replay(run.inputs, plan).figures
        assert screen.chart.here == screen.chart.plan == 400
        assert screen.chart.sizes.noun == "result"
        assert "Characters kept of a stale result" in run.text()

        assert found.least is None
        await run.tap("g", "l")
        assert "no value that cuts anything has been tried" in screen.notice
        await run.tap("g", "k")
        if found.knee is None:
            assert "no knee" in screen.notice
        else:
            assert screen.chart.here == found.knee.value


async def test_a_drag_and_arrows_move_the_value_enter_applies_it_once_and_another_sweep_hides_the_one_before(
    running, session_file, monkeypatch
) -> None:
    may_sweep = Event()

    def held(*given: object) -> Iterator[object]:
        may_sweep.wait(60)
        yield from sweep(*given)

    async with running(session_file.path, plan=Plan.from_specs([SPEC])) as run:
        screen = await Tune.opened(run)
        swept, plan, columns = screen.swept, run.plan, plot_columns(screen.width)
        await screen.hold_mouse(LABELS + 3, 2)
        await screen.move_mouse(LABELS + columns // 2, 3)
        assert screen.chart.here == screen.chart.value_at(columns // 2, columns)
        await screen.move_mouse(LABELS + columns - 1, 1)
        await screen.let_mouse_go(LABELS + columns - 1, 1)
        assert screen.chart.here == 100_000
        await screen.move_mouse(LABELS + 3, 2)
        assert screen.chart.here == 100_000
        assert run.plan == plan

        await run.tap("g", "p", "right", "right")
        assert (screen.value, run.plan.entries[0].strategy.confirmation) == (170, 150)
        await run.until(lambda: screen.figure("here") != "…")
        await run.tap("enter")
        assert run.plan.entries[0].strategy.confirmation == 170
        assert screen.chart.plan == 170
        await run.settled()
        tokens = run.replay.figures.prompt_tokens.value
        assert screen.figure("in the plan") == f"{tokens:,}"
        assert screen.swept is swept

        await run.tap("ctrl+z")
        assert run.plan.entries[0].strategy.confirmation == 150
        assert screen.chart.plan == 150
        assert screen.chart.here == 170
        await run.tap("g", "p")
        assert screen.chart.here == 150

        assert "in the plan" in run.text()
        monkeypatch.setattr(sweeps, "sweep", held)
        await run.tap("tab")
        await run.until(lambda: "replaying" in run.text())
        assert "in the plan" not in run.text()
        may_sweep.set()
        await screen.shown()
        assert "in the plan" in run.text()


async def test_every_limit_of_the_plan_is_reached_with_tab_or_a_click(running, session_file, monkeypatch) -> None:
    plan = Plan.from_specs([SPEC, "keep-recent"])
    async with running(session_file.path, plan=plan, size=(200, 50)) as run:
        screen = await Tune.opened(run)
        monkeypatch.setattr(sweeps, "sweep", lambda *_: iter(()))
        seen = []
        for _ in screen.limits.axes:
            seen.append((screen.limits.axis.strategy, screen.limit))
            await run.tap("tab")
        assert seen == screen.choices
        assert screen.limits.first == 0
        strip = run.lines()[2]
        await screen.click_choice(strip.index("search") - 1)
        await run.until(lambda: screen.limit == "search")


async def test_the_limit_that_was_being_moved_is_tuned_as_if_on_and_applying_switches_its_strategy_on(
    running, session_file
) -> None:
    async with running(session_file.path, plan=Plan.from_specs([f"{SPEC},enabled=false"])) as run:
        await run.press("p", "down", "down", "down")
        name = run.focus.name
        screen = await Tune.opened(run)
        assert screen.limit == name != "confirmation"
        assert screen.figure("plan, if on") != "…"
        await run.tap("home", "enter")
        assert run.plan.entries[0].enabled


def data_first(inputs: object, plan: Plan, axes: Sequence[TunableLimit]) -> Iterator[tuple[LimitSpread, ...]]:
    spreads = [LimitSpread(axis, 0.5, 0.9 if axis.parameter.name == "data" else 0.6, is_cost=True) for axis in axes]
    yield tuple(sorted(spreads, key=lambda spread: -spread.width))


async def test_the_best_tried_value_is_a_key_away(running) -> None:
    """The shipped minimum of `hermes-proactive-prune` is tried on the sample, and so are higher ones."""
    async with running(SAMPLE, plan=Plan.from_specs(["hermes-proactive-prune"])) as run:
        screen = await Tune.opened(run)
        while screen.limit != "minimum":
            await run.tap("tab")
        await screen.shown()
        tried = [point for point in screen.sweep.points if point.is_tried and point.cuts_any]
        amounts = [point.figures.cost_usd.value + point.expected.cost.rate for point in tried]
        lowest = max(point.value for point, amount in zip(tried, amounts, strict=True) if amount == min(amounts))
        await run.tap("g", "l")
        assert screen.chart.here == lowest


async def test_it_opens_on_the_limit_that_matters_most_and_says_why(running, session_file, monkeypatch) -> None:
    monkeypatch.setattr(sweeps, "limit_spreads", data_first)
    async with running(session_file.path, plan=Plan.from_specs([SPEC])) as run:
        screen = await Tune.opened(run)
        await run.until(lambda: screen.limit == "data")
        assert "data has the largest effect: cost $0.50 to $0.90 over its range" in run.text()
        assert "goes there" not in run.text()

        await run.tap("tab", "right", "enter")
        await run.settled()
        await run.until(lambda: "* goes there" in run.text())
        assert screen.limit == "search"
        await run.tap("asterisk")
        assert screen.limit == "data"


async def test_after_a_key_the_selection_stays(running, session_file, monkeypatch) -> None:
    may_tell = Event()

    def held(*given: object) -> Iterator[object]:
        may_tell.wait(60)
        yield from limit_spreads(*given)

    monkeypatch.setattr(sweeps, "limit_spreads", held)
    async with running(session_file.path, plan=Plan.from_specs([SPEC])) as run:
        screen = await Tune.opened(run)
        assert sweeps.SEARCHING in run.text()
        await run.tap("right")
        may_tell.set()
        await run.until(lambda: "has the largest effect" in run.text())
        assert (screen.limit, screen.value) == ("confirmation", 160)


async def test_what_is_assumed_of_the_model_is_no_limit_to_recommend(running, session_file) -> None:
    async with running(session_file.path, plan=Plan.from_specs(["strands-window"]), size=(80, 24)) as run:
        screen = await Tune.opened(run, "shift+tab")
        assert screen.limit == "window"
        assert (screen.chart.knee, screen.chart.least) == (None, None)
        assert {str(row.key) for row in table_on_top(run).rows} == {"here", "in the plan"}
        assert "value, tokens" in run.text()
        await run.tap("g", "k")
        assert "an assumption, not a limit" in screen.notice
        weighed = {axis.parameter.name for axis in sweeps.limits_to_rank(screen.limits)}
        assert "window" not in weighed
        assert "window-size" in weighed


def test_only_what_is_assumed_is_shown_to_be() -> None:
    assumed = {
        (name, parameter.name)
        for name, strategy in STRATEGIES.items()
        for parameter in strategy.parameters
        if parameter.is_assumed
    }
    assert {name for _, name in assumed} == {"window", "summary-tokens"}
    assert ("mask-observations", "window") not in assumed


async def test_two_limits_at_once_are_a_map_whose_pair_is_applied_and_no_pair_of_another_map(
    running, session_file
) -> None:
    async with running(session_file.path, plan=Plan.from_specs([SPEC]), size=(80, 24)) as run:
        screen = await Tune.opened(run, "tab", "tab")
        curves = screen.chart
        await run.tap("m")
        await run.until(lambda: screen.grid is not None and screen.grid.is_complete)
        await run.pause()
        grid = screen.grid
        assert (grid.across.parameter.name, grid.down.parameter.name) == ("data", "search")
        assert screen.heat.here == screen.heat.plan == grid.place(400, 600)
        for (row, column), point in list(grid.points.items())[::23]:
            plan = Plan.from_specs([f"{SPEC},data={grid.columns[column]:.0f},search={grid.rows[row]:.0f}"])
            assert point.figures == replay(run.inputs, plan).figures

        assert grid.least is None
        await run.tap("g", "l")
        await run.until_shown("no pair that cuts anything has been tried in public")
        await run.tap("left", "up", "enter")
        strategy, (row, column) = run.plan.entries[0].strategy, screen.heat.here
        assert (strategy.data, strategy.search) == (grid.columns[column], grid.rows[row])
        await run.tap("ctrl+z")
        assert run.plan == Plan.from_specs([SPEC])
        last = grid.cost.shape[0] - 1, grid.cost.shape[1] - 1
        await screen.ask_for_pair(grid, last)
        assert screen.value == grid.columns[-1]

        await run.tap("g", "p", "left", "up")
        assert screen.heat.here == tuple(max(each - 1, 0) for each in screen.heat.plan)
        await run.tap("shift+tab")
        assert screen.limits.down.parameter.name != "search"
        looked = dict(screen.limits.looked)
        await screen.ask_for_pair(grid, last)
        assert screen.limits.looked == looked
        await run.tap("m")
        assert screen.shows_curves
        assert not screen.shows_map
        await run.tap("tab")
        looked = dict(screen.limits.looked)
        await screen.ask_for_value(curves, curves.scale.maximum)
        assert screen.limits.looked == looked


async def test_the_best_pair_of_the_map_is_one_that_has_been_tried(running, session_file) -> None:
    async with running(session_file.path, plan=Plan.from_specs(["mask-observations"]), size=(80, 24)) as run:
        screen = await Tune.opened(run)
        await run.tap("m")
        await run.until(lambda: screen.grid is not None and screen.grid.is_complete)
        grid = screen.grid
        await run.tap("g", "l")

        assert screen.heat.here == grid.least
        assert grid.points[grid.least].is_tried
        assert "best tried" in run.text()


async def test_a_plan_without_limits_says_so(running, session_file) -> None:
    async with running(session_file.path, plan=Plan()) as run:
        screen = await Tune.opened(run)
        assert screen.has_placeholder
        assert "nothing to tune" in run.text()
        assert "+ adds a strategy" in run.text()
        await run.tap("tab", "left", "enter", "m", "escape")
        await run.until_open("session")


async def test_a_session_that_grows_is_replayed_again_and_compare_tune_and_the_session_are_a_key_apart(
    running, session_file
) -> None:
    async with running(session_file.path, plan=Plan.from_specs([SPEC])) as run:
        screen = await Tune.opened(run)
        calls = screen.sweep.points[0].figures.calls.value
        session_file.turn()
        await run.until(lambda: screen.sweep.points[0].figures.calls.value == calls + 1)
        await run.until(lambda: screen.sweep.is_complete)

        await run.tap("question_mark")
        await run.pause()
        assert run.on_top == "help"
        shown = run.help_names
        assert {"tune.apply", "tune.menu", "tune.map", "study.close"} <= shown
        await run.tap("escape", "c")
        await run.until_open("compare")
        await run.tap("t")
        await run.until_open("tune")
        await run.tap("t")
        await run.until_open("session")


async def test_hostile_text_reaches_no_strip_at_any_size_of_the_terminal(running, session_file, tmp_path: Path) -> None:
    path = hostile_copy(session_file.path, tmp_path / "hostile.jsonl")
    async with running(path, size=(20, 6), plan=Plan.from_specs([SPEC])) as run:
        screen = await Tune.opened(run)
        for size in ((20, 6), (40, 10), (80, 24), (200, 60), (20, 6)):
            await run.resize(*size)
            for _ in range(2):
                assert len(run.lines()) == size[1]
                assert DISTURBING.search(run.text().replace("\n", "")) is None
                await run.tap("m")
                await run.until(lambda: screen.shows_curves or screen.grid is not None)
                await run.pause()


def test_limits_stay_chosen_while_the_plan_changes_around_them() -> None:
    before = Limits.of(Plan.from_specs([SPEC, "keep-recent"])).preferring(1, "keep")
    assert before.axis.parameter.name == "keep"
    changed = Limits.of(Plan.from_specs([f"{SPEC},data=7", "keep-recent:keep=4"]), before.looking(before.axis, 9.0))
    assert (changed.axis.parameter.name, changed.here(changed.axis), changed.in_plan(changed.axis)) == ("keep", 9, 4)
    fewer = Limits.of(Plan.from_specs([SPEC]), changed)
    assert fewer.axis.parameter.name == "confirmation"
    assert Limits.of(Plan(), fewer).axes == ()


def test_two_limits_are_never_the_same_one() -> None:
    limits = Limits.of(Plan.of(*(STRATEGIES[name]() for name in ("tiered-stale", "keep-recent"))))
    for first in range(len(limits.axes)):
        for second in range(len(limits.axes)):
            chosen = limits.with_selection(first, second)
            assert chosen.first == first
            assert chosen.second != first
            assert chosen.second == second or second == first


def test_a_strategy_without_a_limits_name_represents_its_first_limit() -> None:
    limits = Limits.of(Plan.from_specs(["tiered-stale", "keep-recent"]))
    assert limits.preferring(1, "").axis.strategy == "keep-recent"
    assert limits.preferring(0, "data").axis.parameter.name == "data"
    assert limits.preferring(7, "").first == limits.first
