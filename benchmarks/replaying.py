"""A plan replayed over every call, in this process, without any screen."""

from __future__ import annotations

from time import process_time
from typing import TYPE_CHECKING

from benchmarks.promises import Measurement, at_most
from benchmarks.statistics_of_runs import Runs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.workbench import Workbench
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.strategies.core.strategy import Strategy

PROMISE = "replay of a plan over every call"
LIMITS_MS = {10_000: 5, 100_000: 50, 1_000_000: 500}
RUNS = 15
LINEAR_WITHIN = 1.5
"""A ten times longer session may take so many times ten times as long: memory is slower than its caches."""

HOW = """Processor time in a single process, which other load does not lengthen. Sessions are generated in memory:
calls with one tool result each, a compaction every 500 calls. Preparation that no plan changes is listed
separately. The plan is tiered-stale with other limits in every run, so that no earlier replay can be reused. Then
every strategy with its defaults is replayed over synthetic Claude Code sessions of 10,000 and 100,000 messages;
linear means that the longer one takes at most 15 times as long."""


def measure(bench: Workbench) -> Iterator[Measurement]:
    """One figure a length, then how every strategy grows."""
    for messages, limit in LIMITS_MS.items():
        inputs, before = _inputs_of_made(messages // 100 if bench.is_quick else messages)
        runs = Runs([_moved_limit(inputs, run) for run in range(bench.runs(RUNS) + 1)][1:])
        note = f" (p95 {runs.p95 * 1e3:.0f}, n {len(runs.values)})"
        case = f"tiered-stale, {messages:,} messages"
        yield at_most(PROMISE, case, runs.median * 1e3, limit, " ms", digits=1, note=note)
        yield Measurement(PROMISE, f"preparation, once, {messages:,} messages", f"{before * 1e3:,.0f} ms")
        del inputs
    yield from _growth(bench)


def _inputs_of_made(messages: int) -> tuple[ReplayInputs, float]:
    from benchmarks.made_session import made_session, made_table
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.strategies.history.history import History

    session = made_session(messages)
    table = made_table(session)
    start = process_time()
    inputs = ReplayInputs.of(History.of(session), table)
    return inputs, process_time() - start


def _moved_limit(inputs: ReplayInputs, run: int) -> float:
    from inspector.strategies.registry import strategy

    return _seconds(inputs, strategy("tiered-stale", tool_set="coding", data=400 + 10 * run, search=600 + 10 * run))


def _seconds(inputs: ReplayInputs, strategy: Strategy) -> float:
    from inspector.replay.engine.replay import replay
    from inspector.strategies.plan import Plan, PlanEntry

    plan = Plan((PlanEntry(strategy),))
    start = process_time()
    replay(inputs, plan)
    return process_time() - start


def _growth(bench: Workbench) -> Iterator[Measurement]:
    """Measure the growth factor for ten times the size; strategies within the limit share one figure."""
    from inspector.strategies.registry import STRATEGIES

    short = inputs_of_file(bench.long_session(10_000))
    long = inputs_of_file(bench.long_session(100_000))
    calls = long.history.call_count / short.history.call_count
    linear: dict[str, float] = {}
    for name in STRATEGIES:
        fast, slow = _fastest(short, name, bench.runs(3)), _fastest(long, name, bench.runs(3))
        growth = slow / fast / calls
        if growth <= LINEAR_WITHIN:
            linear[name] = growth
        else:
            measured = f"{growth:.1f}x linear ({fast * 1e3:,.1f} ms, then {slow * 1e3:,.1f} ms)"
            yield Measurement(PROMISE, f"{name}, 10,000 and 100,000 messages", measured, f"≤ {LINEAR_WITHIN:g}", False)
    if linear:
        worst = max(linear, key=lambda name: linear[name])
        case = f"{len(linear)} of {len(STRATEGIES)} strategies, 10,000 and 100,000 messages"
        measured = f"at most {linear[worst]:.1f}x linear ({worst})"
        yield Measurement(PROMISE, case, measured, f"≤ {LINEAR_WITHIN:g}", True)


def _fastest(inputs: ReplayInputs, name: str, runs: int) -> float:
    from inspector.strategies.registry import strategy_for

    return min(_seconds(inputs, strategy_for(name, inputs.history.session)) for _ in range(runs))


def inputs_of_file(path: Path) -> ReplayInputs:
    """Read a session, count it, and compute the inputs of replays."""
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.sessions import calibration_source_of
    from inspector.session.open import open_session
    from inspector.strategies.history.history import History
    from inspector.tokens.counter import load_counter
    from inspector.tokens.token_table import count_session

    session = open_session(path)
    *_, table = count_session(session, load_counter())
    history = History.of(session)
    return ReplayInputs.of(history, table, calibration_source=calibration_source_of(history, table))
