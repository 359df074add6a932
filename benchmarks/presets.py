"""Every ready plan replayed over sessions of several lengths: what each takes a message, and how that grows."""

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

HOW = f"""As the strategies: in one process, by its processor time, over made-up Claude Code sessions of
{", ".join(f"{size:,}" for size in SIZES[:-1])} and {SIZES[-1]:,} messages, with every plan that comes with the program,
fitted to the session. A plan's first run reads and counts what it cuts; the faster of {RUNS} is told. Garbage is
collected between runs, as the screen does while nobody waits. Growth is from the middle length to the longest, a call:
linear means at most {LINEAR_WITHIN:g}. The {SLOWEST} slowest are told."""


def measure(bench: Workbench) -> Iterator[Measurement]:
    """What the slowest plans take at every length, then how all of them grow."""
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
        told = ", ".join(f"{taken * 1e3:,.0f} ms" for taken in seconds[name])
        yield Measurement(PROMISE, f"ready plan {name}, {', '.join(f'{size:,}' for size in SIZES)} messages", told)
    growth = {name: taken[-1] / taken[-2] / (calls[-1] / calls[-2]) for name, taken in seconds.items()}
    worst = max(growth, key=lambda name: growth[name])
    case = f"{len(growth)} ready plans, {SIZES[-2]:,} and {SIZES[-1]:,} messages"
    told = f"at most {growth[worst]:.1f} times linear ({worst})"
    yield Measurement(PROMISE, case, told, f"≤ {LINEAR_WITHIN:g}", growth[worst] <= LINEAR_WITHIN)


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
