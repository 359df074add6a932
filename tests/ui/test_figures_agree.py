"""One figure has one value: equal names hold equal values on every screen and in every report of a session."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from inspector.cli.reading import replay_inputs
from inspector.replay.analysis import best_plan
from inspector.replay.analysis import best_plan as comparison
from inspector.replay.analysis.context_blocks import AROUND_TEXTS, NOT_RECORDED
from inspector.replay.assumptions import ASSUMED_RUNS
from inspector.replay.explain.cost_sheet import WITH_SIDE_REQUESTS
from inspector.report.document import ReportOptions
from inspector.report.numbers import MINUS
from inspector.report.session_report import report_of
from inspector.report.session_summary import summary_of
from inspector.session.open import open_session
from inspector.strategies.plan import Plan
from inspector.ui.compare import screen as compare_screen
from inspector.ui.misses.rows import ALL
from inspector.ui.sessions.list_model import NO_PRICE, NO_USAGE, SessionEntry, SessionLine, row_of
from tests.conftest import ROOT
from tests.ui.figures_shown import (
    EXTRA,
    MISSES,
    NET_AT_LEAST,
    NET_AT_MOST,
    PLAN,
    SESSION,
    Figures,
    from_report,
    label,
    sum_as_printed,
)
from tests.ui.studies import BASELINE, Compare, Composition, Costs, Misses, Tune, table_on_top

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.session.model import Session
    from tests.ui.facade import Running

SESSIONS = (
    "corpus/claude-code/8ecab05f-4481-43d6-9428-a6b177981877.jsonl",
    "corpus/claude-code/be2220da-eaff-40d2-b482-9f05cced3187.jsonl",
    "corpus/codex/rollout-2025-10-04T22-31-15-0199b26c-737a-71a2-9939-52ce68c95cbe.jsonl",
    "corpus/pi/before-compaction.jsonl",
    "corpus/opencode/ses_277daa810ffePOBsdfS6gm8uA2.json",
    "corpus/gemini-cli/cdb14b05-cceb-4354-a9d8-8c9182ece8bf.json",
    "sample_sessions/coding-agent.jsonl",
    "sample_sessions/local-agent.json",
)

RUNS = ASSUMED_RUNS


@pytest.fixture(autouse=True)
def few_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare a few plans: replaying all of them is most of the time."""

    every = comparison.plans_to_compare

    def some(session: Session) -> tuple[Plan, ...]:
        return tuple(plan for plan in every(session) if plan.name in ("tiered-stale", "keep-recent"))

    for module in (compare_screen, best_plan):
        monkeypatch.setattr(module, "plans_to_compare", some)


@pytest.fixture(params=SESSIONS)
def session_path(request: pytest.FixtureRequest) -> Path:
    """A session of this project, or a real one where available."""
    name: str = request.param
    if name.startswith("corpus/"):
        return request.getfixturevalue("shared") / name  # type: ignore[no-any-return]
    return ROOT / name


@pytest.mark.long
async def test_equal_names_have_equal_values_on_every_screen_and_in_every_report(running, session_path: Path) -> None:
    figures = Figures()
    async with running(session_path, size=(200, 60)) as run:
        await run.until(lambda: run.has_answers and run.inputs.table.is_complete)
        await cost_pane(figures, run, SESSION)
        await misses(figures, run)
        await composition(figures, run)
        await run.press("1")
        await run.settled()
        # Without a price, the cost line advises to choose one.
        await run.until(lambda: re.search(r"\bplan A ~?\$|Cost unknown", run.text()))
        await cost_pane(figures, run, PLAN)
        await costs(figures, run)
        await compare(figures, run)
        await tune(figures, run)
        await explain(figures, run)
        plan = Plan.from_specs(run.plan.to_specs())
    session = open_session(session_path)
    session_list(figures, session)
    options = ReportOptions(runs_per_day=RUNS, explain=True, ledger=True)
    report = report_of(replay_inputs(session), [plan], options)
    from_report(figures, report)
    if session.side_calls and report.altogether_usd is not None:
        figures.add(SESSION, COST_IN_ALL, report.altogether_usd, "json")

    assert not figures.disagreements(), "\n".join(figures.disagreements())
    assert not figures.unread
    # The walk has been everywhere: a name that is no longer found would agree with nothing.
    assert {"cost screen", "compare", "tune", "explain", "json", "markdown", "text", "csv"} <= figures.places(
        PLAN, "prompt tokens"
    )
    if max(shown.low for shown in figures.found[SESSION, MISSES]) > 0:
        assert {"cost pane", "misses", "misses, calls", "json", "why"} <= figures.places(SESSION, MISSES)
        # The cost line has the extra cost of avoidable misses, which is that of all only if all are avoidable.
        assert {"misses", "json", "why"} <= figures.places(SESSION, EXTRA)
    if not session_path.name.startswith("local-agent"):
        assert {"cost screen", "markdown", "why"} <= figures.places(SESSION, "output, of the cost")
        assert {"cost pane", "cost screen", "compare", "why"} <= figures.places(SESSION, "cost")
        listed = COST_IN_ALL if session.side_calls else "cost"
        assert "session list" in figures.places(SESSION, listed)


COST_IN_ALL = "cost with side requests"

CLEARS_THINKING = "corpus/claude-code/e92f5a0b-*.jsonl"
"""A session that thinks much, with another model from its 27th call on."""


async def test_what_a_plan_clears_is_one_figure_in_window_costs_and_report(running, shared: Path) -> None:
    path = next(shared.glob(CLEARS_THINKING), None)
    if path is None:
        pytest.skip("the session is not at hand")
    plan, figures = Plan.from_specs(["anthropic-clear-thinking"]), Figures()
    async with running(path, plan=plan, size=(200, 60)) as run:
        await run.until(lambda: run.inputs.table.is_complete)
        # Without a price, the cost line advises to choose one.
        await run.until(lambda: re.search(r"\bplan A ~?\$|Cost unknown", run.text()))
        await window_parts(figures, run)
        await costs(figures, run)
        await cleared(run)
    from_report(figures, report_of(replay_inputs(open_session(path)), [plan], ReportOptions(explain=True, ledger=True)))

    assert not figures.disagreements(), "\n".join(figures.disagreements())
    assert {"window", "window, everything", "cost screen, parts", "json"} <= figures.places(
        PLAN, "cost to resend thinking"
    )
    assert {"window", "cost screen", "cost screen, parts"} <= figures.places(PLAN, NEWEST_SYSTEM)


NEWEST_SYSTEM = f"{NOT_RECORDED}, in the newest prompt"


async def window_parts(figures: Figures, run: Running) -> None:
    """The parts that are named alike in the window, in everything that was sent, and among the costs."""
    screen = await Composition.opened(run)
    for place in ("window", "window, everything"):
        rows = screen.parts.row_of
        for name in ("thinking", NOT_RECORDED, AROUND_TEXTS):
            row = rows[name,]
            figures.add(PLAN, f"cost to resend {name}", row.cells["cost"].text, place)
            figures.add(PLAN, f"token-calls of {name}", row.cells["carried"].text, place)
            if place == "window" and name != AROUND_TEXTS:  # the rounding remainder is a different figure there
                figures.add(PLAN, f"{name}, in the newest prompt", row.cells["tokens"].text, place)
        whole, *rest = [row.cells["cost"].order for row in screen.parts.rows]
        assert sum(rest) == pytest.approx(whole)
        await run.press("e")
        await screen.shown()
    await run.press("escape")


async def cleared(run: Running) -> None:
    screen = await Costs.opened(run)
    totals = screen.table.row_of
    await run.press("g", "p")
    await screen.shown()
    parts = {row.cells["name"].text: row.cells for row in screen.table.rows}
    await run.press("g", "i")
    await screen.shown()
    (tier,) = screen.table.rows
    for column in ("cut_tokens", "saved_usd"):
        assert tier.cells[column].text == parts["thinking"][column].text
    cut = sum(cells["cut_tokens"].order for cells in parts.values())
    assert cut == pytest.approx(totals["saved_tokens"].cells["after"].order)
    saved = sum(cells["saved_usd"].order for cells in parts.values())
    assert saved == pytest.approx(totals["saved_usd"].cells["after"].order)
    await run.press("escape")


async def cost_pane(figures: Figures, run: Running, of: str) -> None:
    place = "cost pane"
    await run.pause()
    text = next(line for line in run.lines() if line.startswith(" Cost ")).replace(MINUS, "-")
    number = r"((?:≥ )?~?-?\$?[\d.,]+[kM]?)"
    if of == SESSION:
        patterns = {
            rf"\bCost {number}": (SESSION, "cost"),
            rf"(?:in|of) {number} cache miss(?:es)?\b": (SESSION, MISSES),
            rf"avoidable {number} in \d+ cache": (SESSION, EXTRA),
        }
    else:
        patterns = {
            rf"\bCost {number}": (SESSION, "cost"),
            rf"\bplan A {number}": (PLAN, "cost"),
            rf"saves {number} \(": (PLAN, "saved"),
            rf"net {number} to": (PLAN, NET_AT_LEAST),
            rf"net \S+ to {number}": (PLAN, NET_AT_MOST),
            rf"{number} fewer tokens": (PLAN, "saved tokens"),
            rf"breaks even at call {number}": (PLAN, "breaks even at call"),
        }
    for pattern, (subject, name) in patterns.items():
        found = re.search(pattern, text)
        if found is not None:
            add = figures.add_part if name.endswith("of the cost") else figures.add
            add(subject, name, found[1], place)


async def misses(figures: Figures, run: Running) -> None:
    screen = await Misses.opened(run)
    every = screen.causes.row_of.get(ALL)
    if every is not None:
        figures.add(SESSION, MISSES, every.cells["calls"].text, "misses")
        figures.add(SESSION, MISSES, len(screen.calls.rows), "misses, calls")
        if every.cells["extra"].order is not None:
            figures.add(SESSION, EXTRA, every.cells["extra"].order, "misses")
    await run.press("escape")


async def costs(figures: Figures, run: Running) -> None:
    screen = await Costs.opened(run)
    totals = screen.table.row_of
    named = [row for key, row in totals.items() if isinstance(key, str) and key != WITH_SIDE_REQUESTS]
    models = [row.cells["before"].order for key, row in totals.items() if key[0] == "model"]
    assert not models or sum(models) == pytest.approx(totals["cost_usd"].cells["before"].order)
    for row in named:
        name = label(str(row.key)) if str(row.key) != "overhead" else "system prompt and tools"
        for column, of in (("before", SESSION), ("after", PLAN)):
            cell = row.cells.get(column)
            if cell is not None and cell.order is not None:
                figures.add(of, name, cell.order, "cost screen")
                if str(row.key) == "overhead":
                    figures.add(of, f"{NOT_RECORDED}, in the newest prompt", cell.order, "cost screen")
                if name.endswith("of the cost"):
                    figures.add_part(of, name, cell.text, "cost screen as written")
                else:
                    figures.add(of, name, cell.text.replace(MINUS, "-").removeprefix("call "), "cost screen as written")
    parts_add_up(totals)
    await run.press("g", "p")
    await screen.shown()
    for row in screen.table.rows:
        name = row.cells["name"].text
        figures.add(PLAN, f"token-calls of {name}", row.cells["sent_tokens"].order, "cost screen, parts")
        figures.add(PLAN, f"cost to resend {name}", row.cells["usd"].order, "cost screen, parts")
        figures.add(PLAN, f"{name}, in the newest prompt", row.cells["carried_tokens"].order, "cost screen, parts")
    await run.press("g", "f")
    await screen.shown()
    for row in screen.table.rows:
        if row.key in ("usd_per_day", "usd_per_month"):
            figures.add(PLAN, label(row.key), row.cells["saved"].order, "cost screen, forecast")
    await run.press("escape")


def parts_add_up(totals: dict[Any, Any]) -> None:
    """Parts of a total add up to it as they are printed, to the cent and to the token."""
    for column in ("before", "after"):
        for total, parts in (
            (
                "cost_usd",
                [key for key in totals if str(key).endswith("_usd") and label(str(key)).endswith("of the cost")],
            ),
            ("prompt_tokens", ["cache_read_tokens", "cache_write_tokens", "uncached_tokens"]),
        ):
            printed = [totals[key].cells[column].text for key in parts if column in totals[key].cells]
            if printed and "unknown" not in totals[total].cells[column].text:
                assert sum_as_printed(printed) == pytest.approx(sum_as_printed([totals[total].cells[column].text]))


async def compare(figures: Figures, run: Running) -> None:
    """The rows of the session with nothing cut and of the plan."""
    screen = await Compare.opened(run)
    rows = screen.table.row_of
    names = {
        "tokens": "prompt tokens",
        "peak": "largest prompt",
        "cost": "cost",
        "saved": "saved",
        "share": "of the total",
        "breaks": "changed prompts",
        "fires": "first applied at call",
        "pays": "breaks even at call",
    }
    (current,) = (key for key, row in rows.items() if "kind" in row.cells and row.cells["kind"].order == "current")
    for key, of in ((BASELINE, SESSION), (current, PLAN)):
        for column, name in names.items():
            cell = rows[key].cells.get(column)
            if cell is not None and cell.order is not None:
                # The sort key counts calls from zero.
                figures.add(of, name, cell.order + (column == "fires"), "compare")
    await run.press("escape")


async def tune(figures: Figures, run: Running) -> None:
    """The row of the plan's value."""
    screen = await Tune.opened(run)
    if screen.limits.axes:
        row = table_on_top(run).row_of["in the plan"]
        for column, name in (
            ("tokens", "prompt tokens"),
            ("cost", "cost"),
            ("saved", "saved"),
            ("share", "of the total"),
            ("breaks", "changed prompts"),
            ("peak", "largest prompt"),
        ):
            figures.add(PLAN, name, row.cells[column].order, "tune")
    await run.press("escape")


async def explain(figures: Figures, run: Running) -> None:
    run.focus_costs()
    await run.press("E")
    await run.until_shown("Calculation")
    await run.pause()
    of_session = {"cost without the plan": "cost"}
    for row in table_on_top(run).rows:
        name = row.cells["name"].text
        of = SESSION if name in of_session else PLAN
        figures.add(of, of_session.get(name, EXPLAINED.get(name, name)), row.cells["value"].order, "explain")
    await run.press("escape")


EXPLAINED = {"cost with the plan": "cost", "saved, of the cost": "of the total"}


async def composition(figures: Figures, run: Running) -> None:
    """The next prompt by kind, and every prompt of the session."""
    screen = await Composition.opened(run)
    parts = screen.parts.row_of
    whole, *rest = [row.cells["tokens"] for row in parts.values()]
    assert sum_as_printed(cell.text for cell in rest) == pytest.approx(sum_as_printed([whole.text]), abs=len(rest))
    system = parts.get((NOT_RECORDED,))
    if system is not None:
        figures.add(SESSION, "system prompt and tools", system.cells["tokens"].text, "composition")
        figures.add(SESSION, f"{NOT_RECORDED}, in the newest prompt", system.cells["tokens"].text, "composition")
    await run.press("e")
    await screen.shown()
    system = screen.parts.row_of.get((NOT_RECORDED,))
    if system is not None:
        figures.add(SESSION, f"cost to resend {NOT_RECORDED}", system.cells["cost"].order, "composition")
        figures.add(SESSION, f"token-calls of {NOT_RECORDED}", round(system.cells["carried"].order), "composition")
    await run.press("escape")


def session_list(figures: Figures, session: Session) -> None:
    """A line of the list of sessions."""
    header: Any = type(
        "Header",
        (),
        {"modified": 0.0, "format": "", "title": "", "size": 0, "path": session.path, "working_directory": ""},
    )
    cells = row_of(SessionLine(SessionEntry(header, summary_of(session))), 1.0).cells
    # The list adds side requests, such as those for summaries, as a report does below its totals.
    for column, name in (("tokens", "prompt tokens"), ("cost", COST_IN_ALL if session.side_calls else "cost")):
        if cells[column].text not in (NO_USAGE, NO_PRICE):
            figures.add(SESSION, name, cells[column].text, "session list")
