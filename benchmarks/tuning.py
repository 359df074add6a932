"""A whole search for the best plan of real sessions, held against one plan's replay of the same sessions."""

from __future__ import annotations

from time import process_time
from typing import TYPE_CHECKING

from benchmarks.promises import Measurement
from benchmarks.workbench import reference_sessions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.workbench import Workbench
    from inspector.replay.tuning.trials import PreparedSession
    from inspector.strategies.plan import Plan

PROMISE = "tuning on many sessions"
QUICK = "tiered-stale"
"""Plan with edits that are all known in advance."""

MOST_A_PLAN = 1.5
"""Limit per tried plan, as a multiple of a replay: needed texts are also searched and priced."""

HOW = f"""Processor time in a single process. All real Claude Code sessions next to the checkout are read and
prepared once, which is listed separately. The replay of one plan is the mean of all ready plans and strategies over
all sessions. The search is the one of `inspector tune` on the same sessions. Its limit is {MOST_A_PLAN:g} replays
per plan tried, which includes finding and pricing the recoveries of each plan."""


def measure(bench: Workbench) -> Iterator[Measurement]:
    """Measure the time of a search and of each tried plan, in replays."""
    from benchmarks.replaying import inputs_of_file
    from inspector.replay.tuning.trials import PreparedSession

    paths = sorted((reference_sessions() / "claude-code").glob("*.jsonl"), key=lambda path: path.stat().st_size)
    start = process_time()
    sessions = [PreparedSession.of(inputs_of_file(path)) for path in paths[: 2 if bench.is_quick else None]]
    prepared = process_time() - start
    calls = [session.inputs.history.call_count for session in sessions]
    bases = sessions[calls.index(max(calls))].bases()[: 2 if bench.is_quick else None]
    one = _replayed(sessions, bases) / len(bases)
    quick = _replayed(sessions, [plan for plan in bases if plan.name == QUICK] or bases)
    tried, searched = _searched(sessions, calls, bases)
    case = f"{tried:,} plans, {len(sessions)} sessions"
    yield Measurement(PROMISE, f"{case}, ratio to one plan's replay", f"{searched / one:,.0f}x")
    ratio = searched / one / tried
    limit = f"≤ {MOST_A_PLAN:g}x"
    yield Measurement(PROMISE, f"{case}, per plan tried", f"{ratio:.2f}x", limit, ratio <= MOST_A_PLAN)
    yield Measurement(PROMISE, f"{case}, one plan's replay", f"{one * 1e3:,.1f} ms ({QUICK} {quick * 1e3:,.1f} ms)")
    yield Measurement(PROMISE, f"{case}, search", f"{searched:,.1f} s")
    yield Measurement(PROMISE, f"{case}, reading and preparing, once", f"{prepared:,.1f} s")


def _replayed(sessions: list[PreparedSession], plans: Sequence[Plan]) -> float:
    """Seconds of all plans on all sessions."""
    from inspector.replay.engine.replay import replay

    start = process_time()
    for session in sessions:
        inputs = session.inputs.isolated()
        for plan in plans:
            replay(inputs, plan)
    return process_time() - start


def _searched(sessions: list[PreparedSession], calls: list[int], bases: Sequence[Plan]) -> tuple[int, float]:
    """Return the number of tried plans, and the seconds."""
    from inspector.replay.tuning.search import GroupSearch, choose
    from inspector.replay.tuning.trials import Constraints, TrialTerms

    start = process_time()
    search = GroupSearch(bases, Constraints(), [session.cost for session in sessions], calls)
    for plans in search.rounds():
        columns = [list(session.trials(plans, TrialTerms())) for session in sessions]
        for at, plan in enumerate(plans):
            search.add(plan, [column[at] for column in columns])
    table = search.table()
    choose(table, Constraints())
    return len(table.plans), process_time() - start
