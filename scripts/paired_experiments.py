"""Measure the effect of cut contexts on models, from a public table of tasks that were run both ways.

    paired_experiments.py TABLE [--strategy NAME]

TABLE is `auxiliary-data/experiment_instance_costs_sweagent.csv` of The Complexity Trap (arXiv 2508.21433): 500 tasks
with five settings of models, each with the whole context, with old tool results masked, and with summaries. It is not
part of this project: `git clone https://github.com/Recursive-Safeguarding/the-complexity-trap` (MIT) has it.

For each setting, compares the tasks that ran both ways: change of their total turns with a 95 % bootstrap interval over
tasks, change of their cost, and tasks solved one way only. Over all settings: the same, sampled by task; the 95 %
prediction interval of a new setting; and the spread of single tasks.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

WHOLE: Final = "Raw Agent"
MASKED: Final = "Observation Masking"

SETTING: Final = re.compile(r"(.+?)-(?:agent|baseline|t_)")
"""The start of an experiment's name is its setting."""

DRAWS: Final = 10_000

STUDENT_95: Final = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""Two-sided 95 % points of Student's t, from one degree of freedom on."""

NEEDED: Final = ("experiment", "strategy", "instance_id", "cost", "turn_count", "outcome")


class Run(NamedTuple):
    """One task, run once."""

    turns: float
    cost: float
    is_solved: bool


class Pairs(NamedTuple):
    """Tasks of one setting that ran both ways.

    Attributes:
        tasks: Their names.
        whole: Turns with the whole context, float64.
        cut: Turns with the strategy, float64.
        cost: Change of their cost as a share.
        lost: Tasks that were solved with the whole context alone.
        won: Tasks that were solved with the strategy alone.
    """

    tasks: Sequence[str]
    whole: NDArray[np.float64]
    cut: NDArray[np.float64]
    cost: float
    lost: int
    won: int

    @property
    def change(self) -> float:
        """Change of all their turns together, as a share."""
        return float(self.cut.sum() / self.whole.sum() - 1)


class Findings(NamedTuple):
    """Combined results of all settings.

    Attributes:
        change: Change of their total turns, as a share.
        low: Lower end of the 95 % bootstrap interval over tasks.
        high: Its upper end.
        new_low: Lower end of the 95 % prediction interval of a new setting; NaN if there is one setting.
        new_high: Its upper end.
        tenth: p10 of the ratio of turns of single tasks.
        most: Its p90.
    """

    change: float
    low: float
    high: float
    new_low: float
    new_high: float
    tenth: float
    most: float


def read(lines: Iterable[str], strategy: str) -> dict[str, Pairs]:
    """Return the pairs of every setting that has any.

    Raises:
        ValueError: The table has another format.
    """
    rows = csv.DictReader(lines)
    lacks = [name for name in NEEDED if name not in (rows.fieldnames or ())]
    if lacks:
        raise ValueError(f"wrong table: missing column {', '.join(lacks)}")
    runs: defaultdict[tuple[str, str], dict[str, Run]] = defaultdict(dict)
    for row in rows:
        named = SETTING.match(row["experiment"])
        setting = (named[1] if named else row["experiment"]).casefold()
        run = Run(float(row["turn_count"]), float(row["cost"]), row["outcome"] == "1")
        runs[setting, row["strategy"]][row["instance_id"]] = run
    settings = sorted({setting for setting, _ in runs})
    found = {setting: _paired(runs[setting, WHOLE], runs[setting, strategy]) for setting in settings}
    return {setting: pairs for setting, pairs in found.items() if pairs.tasks}


def _paired(whole: Mapping[str, Run], cut: Mapping[str, Run]) -> Pairs:
    tasks = sorted(whole.keys() & cut.keys())
    both = [(whole[task], cut[task]) for task in tasks]
    spent = sum(each.cost for each, _ in both)
    return Pairs(
        tasks,
        np.array([each.turns for each, _ in both], dtype=np.float64),
        np.array([each.turns for _, each in both], dtype=np.float64),
        sum(each.cost for _, each in both) / spent - 1 if spent else float("nan"),
        sum(before.is_solved and not after.is_solved for before, after in both),
        sum(after.is_solved and not before.is_solved for before, after in both),
    )


def drawn(settings: Sequence[Pairs], draws: int = DRAWS) -> tuple[float, float]:
    """Between which changes 95 % of draws of tasks lie; a task is drawn with all its settings."""
    tasks = sorted({task for pairs in settings for task in pairs.tasks})
    place = {task: at for at, task in enumerate(tasks)}
    times = np.random.default_rng(20).multinomial(len(tasks), np.full(len(tasks), 1 / len(tasks)), draws)
    cut, whole = np.zeros(draws), np.zeros(draws)
    for pairs in settings:
        weights = times[:, [place[task] for task in pairs.tasks]]
        cut += weights @ pairs.cut
        whole += weights @ pairs.whole
    low, high = np.percentile(cut / np.maximum(whole, 1) - 1, (2.5, 97.5))
    return float(low), float(high)


def findings(settings: Sequence[Pairs]) -> Findings:
    """Combine all settings; the prediction for a new setting follows from their spread."""
    changes = np.array([pairs.change for pairs in settings])
    middle, count = float(changes.mean()), len(changes)
    reach = float("nan")
    if 1 < count <= len(STUDENT_95) + 1:
        reach = STUDENT_95[count - 2] * float(changes.std(ddof=1)) * (1 + 1 / count) ** 0.5
    ratios = np.concatenate([pairs.cut / np.maximum(pairs.whole, 1) for pairs in settings])
    tenth, most = (float(each) for each in np.percentile(ratios, (10, 90)))
    change = float(sum(pairs.cut.sum() for pairs in settings) / sum(pairs.whole.sum() for pairs in settings) - 1)
    return Findings(change, *drawn(settings), middle - reach, middle + reach, tenth, most)


def written(found: Mapping[str, Pairs], strategy: str) -> str:
    """Format the table and the text below it as Markdown."""
    lines = [
        f"| setting, {strategy.lower()} | pairs | turns | 95 % bootstrap interval | cost | lost | won |",
        "| --- | ---: | ---: | --- | ---: | ---: | ---: |",
    ]
    for name, pairs in found.items():
        low, high = drawn([pairs])
        lines.append(
            f"| {name} | {len(pairs.tasks)} | {pairs.change:+.1%} | {low:+.1%} to {high:+.1%} | {pairs.cost:+.1%} "
            f"| {pairs.lost} | {pairs.won} |"
        )
    settings = list(found.values())
    all_of = findings(settings)
    lost, won = sum(pairs.lost for pairs in settings), sum(pairs.won for pairs in settings)
    pairs_of_all, interval = sum(len(pairs.tasks) for pairs in settings), f"{all_of.low:+.1%} to {all_of.high:+.1%}"
    lines += [
        f"| all | {pairs_of_all:,} | {all_of.change:+.1%} | {interval} | | {lost} | {won} |",
        "",
        f"New setting: {all_of.new_low:+.1%} to {all_of.new_high:+.1%} turns (95 % prediction interval).",
        f"One task: {all_of.tenth:.2f} to {all_of.most:.2f} times the turns (p10 to p90).",
    ]
    return "\n".join(lines)


def main() -> None:
    """Read the table and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path, help="experiment_instance_costs_sweagent.csv")
    parser.add_argument("--strategy", default=MASKED, help=f"strategy name in the table ({MASKED}), or LLM-Summary")
    options = parser.parse_args()
    if not options.table.is_file():
        sys.exit(f"{options.table}: file not found. The table is public, but not part of this project:\n{__doc__}")
    try:
        with options.table.open(encoding="utf-8", newline="") as lines:
            found = read(lines, options.strategy)
    except (ValueError, KeyError) as error:
        sys.exit(f"{options.table}: {error}")
    if not found:
        sys.exit(f"{options.table}: no task ran both with {WHOLE!r} and with {options.strategy!r}")
    print(written(found, options.strategy))


if __name__ == "__main__":
    main()
