from types import ModuleType

import numpy as np

from inspector.strategies.plan import Plan
from inspector.ui.chart import view as chart_view
from inspector.ui.timeline import view as timeline_view


async def test_t_lets_the_chart_run_over_time_and_back(running, session_file) -> None:
    async with running(session_file.path) as run:
        assert run.chart.series.seconds is None
        await run.press("z", "t")
        seconds = run.chart.series.seconds
        assert len(seconds) == session_file.turns
        assert (np.diff(seconds) > 0).all()
        assert "0:00" in run.text()
        await run.press("z", "t")
        assert run.chart.series.seconds is None


async def test_the_chart_shows_where_a_plan_waits_and_when_it_acts(running, session_file) -> None:
    session_file.turn("x " * 30_000)
    for _ in range(6):
        session_file.turn()
    async with running(session_file.path, plan=Plan.from_specs(["token-budget:budget=15000"])) as run:
        series = run.chart.series
        assert [level.tokens for level in series.levels] == [15_000]
        assert len(series.firings)
        assert (series.recorded[series.firings] > 15_000).all()
        assert "plan acts" in run.text()
        await run.press("1")
        assert run.chart.series.levels == ()
        assert not len(run.chart.series.firings)


async def test_the_wheel_over_the_chart_looks_at_other_calls(running, session_file) -> None:
    async with running(session_file.path) as run:
        chart = run.chart
        chart.select(-3)
        await run.settled()
        chart.turn_wheel_up()
        await run.until(lambda: run.call == session_file.turns - 4)
        assert f"call {session_file.turns - 3} of {session_file.turns}" in run.text()


async def test_a_strategy_switched_off_draws_the_chart_and_the_rows_once(running, session_file, monkeypatch) -> None:
    drawn: list[str] = []

    def noting(module: ModuleType, name: str) -> None:
        draw = getattr(module, name)

        def noted(*given: object, **named: object) -> object:
            drawn.append(name)
            return draw(*given, **named)

        monkeypatch.setattr(module, name, noted)

    async with running(session_file.path) as run:
        await run.until_shown("nothing worth changing here")
        await run.press("1")
        await run.until(lambda: run.explains_newest)
        noting(chart_view, "chart_of")
        noting(timeline_view, "view_of")
        await run.press("1")
        await run.until_shown("nothing worth changing here")
        assert sorted(drawn) == ["chart_of", "view_of"]
