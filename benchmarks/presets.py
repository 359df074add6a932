"""Every preset plan replayed over sessions of several lengths: time per message, and its growth."""

from __future__ import annotations

import gc
from time import process_time
from typing import TYPE_CHECKING

from benchmarks.promises import Measurement
from benchmarks.replaying import LINEAR_WITHIN, PROMISE, inputs_of_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.workbench import Workbench
    from inspector.replay.engine.inputs import ReplayInputs

SIZES = (1_000, 10_000, 100_000)
SLOWEST = 5
RUNS = 2

HOW = f"""Processor time in a single process, over synthetic Claude Code sessions of
{", ".join(f"{size:,}" for size in SIZES[:-1])} and {SIZES[-1]:,} messages, for every bundled plan, fitted to the
session. The first run of a plan reads and counts the text it cuts; the result is the faster of {RUNS}. Garbage is
collected between runs, as the idle screen does. Growth is per call, from the middle length to the longest; linear
means at most {LINEAR_WITHIN:g}. The table has the {SLOWEST} slowest plans."""


def measure(bench: Workbench) -> Iterator[Measurement]:
    """Measure the slowest plans at every length, then the growth of all of them."""
    from inspector.strategies.presets import PRESETS

    seconds: dict[str, list[float]] = {name: [] for name in PRESETS}
    calls: list[int] = []
    for size in SIZES:
        inputs = inputs_of_file(bench.long_session(size))
        calls.append(inputs.history.call_count)
        for name, taken in seconds.items():
            taken.append(min(_seconds(inputs, name) for _ in range(bench.runs(RUNS))))
        del inputs
    for name in sorted(seconds, key=lambda name: -seconds[name][-1])[:SLOWEST]:
        measured = ", ".join(f"{taken * 1e3:,.0f} ms" for taken in seconds[name])
        yield Measurement(PROMISE, f"ready plan {name}, {', '.join(f'{size:,}' for size in SIZES)} messages", measured)
    growth = {name: taken[-1] / taken[-2] / (calls[-1] / calls[-2]) for name, taken in seconds.items()}
    worst = max(growth, key=lambda name: growth[name])
    case = f"{len(growth)} ready plans, {SIZES[-2]:,} and {SIZES[-1]:,} messages"
    measured = f"at most {growth[worst]:.1f}x linear ({worst})"
    yield Measurement(PROMISE, case, measured, f"≤ {LINEAR_WITHIN:g}", growth[worst] <= LINEAR_WITHIN)


def _seconds(inputs: ReplayInputs, name: str) -> float:
    from inspector.replay.engine.replay import replay
    from inspector.strategies.presets import PRESETS

    plan = PRESETS[name].plan(inputs.history.session)
    gc.collect()
    gc.disable()
    try:
        start = process_time()
        replay(inputs, plan)
        return process_time() - start
    finally:
        gc.enable()
