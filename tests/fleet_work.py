"""Work that ends the process it is done in, at once, as a system does that is out of memory."""

import os
import signal
import time
from pathlib import Path

from inspector.fleet import reports, tuning
from inspector.fleet.result_cache import ResultInputs
from inspector.fleet.session_tasks import SessionResult, SessionTask
from inspector.replay.tuning.compaction_costs import CompactionTerms, ThresholdCosts
from inspector.replay.tuning.trials import Trial, TrialTerms
from inspector.strategies.plan import Plan

replayed_for_folder, read_for_set = reports.replayed, reports.read_for_set
tried_plans, costs_at_thresholds = tuning._tried, tuning._costs


ONCE, ALWAYS = "ends-it-once", "ends-it-always"
"""In the names of sessions that end the process that works on them."""


def perish(path: Path) -> None:
    first = path.parent.with_name(f"{path.name}.was-tried")
    if ALWAYS in path.name or (ONCE in path.name and not first.exists()):
        first.touch()
        os.kill(os.getpid(), signal.SIGKILL)


def replayed(task: SessionTask) -> SessionResult:
    perish(task.path)
    return replayed_for_folder(task)


def tried(
    task: SessionTask, plans: tuple[Plan, ...], terms: TrialTerms
) -> tuple[list[Trial | None], ResultInputs | None]:
    perish(task.path)
    return tried_plans(task, plans, terms)


def cost_at(task: SessionTask, thresholds: tuple[float, ...], terms: CompactionTerms) -> ThresholdCosts:
    perish(task.path)
    return costs_at_thresholds(task, thresholds, terms)


def read_in_set(task: SessionTask) -> SessionResult:
    perish(task.path)
    return read_for_set(task)


def squared(number: int) -> int:
    """A number's square; for 13, an error of the program."""
    if number == 13:
        raise ValueError("thirteen")
    return number * number


def slowly(seconds: float) -> int:
    """This process, after a while."""
    time.sleep(seconds)
    return os.getpid()


def interrupting(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGINT)
    return number


def without_memory() -> None:
    """Find that there is too little memory."""
    raise MemoryError
