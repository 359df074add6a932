"""Measure how often agents fetched results again after cutting them from the context, as Markdown.

    python scripts/real_cuts.py FOLDER...

Reads all sessions with a recorded compaction or clearing. A result is *fetched again* if one of the next 30 calls of
its conversation reads overlapping lines of the file, repeats the command or search, or opens the address, with nothing
written since the result. The placebo (*kept would*) is the same share for results that stay in the prompt, in the same
sessions, weighted to the kinds and ages of the cut ones; *caused* is the difference. The text detectors (`reuse`)
*predict* the share of kept results with a use in these calls; a use *although gone* is one of a cut result. Age counts
calls that sent the result, as in `refetches`. Intervals are 95 %, from resampled sessions.
docs/development/recorded-cuts.md has the results.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from inspector.errors import InspectorError
from inspector.replay.analysis.recoveries import LARGE_CHARACTERS
from inspector.session.discovery import found_in
from inspector.session.open import open_session
from inspector.strategies.history.history import NEVER
from inspector.strategies.history.tools import ToolKind
from scripts.fetched_results import CLEARED, CUTS, FETCHES, FULL, WITHIN, fetched_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from scripts.fetched_results import Fetched

NEAR: Final = 10
"""Results on each side of the line of a partial cut."""

DRAWS: Final = 2_000

AGES: Final = (1, 3, 5, 10, 20, 40, 80, NEVER)
"""First age of every stratum, and the end of the last one."""


class Row(NamedTuple):
    """A line of the table.

    Attributes:
        label: Its first cell.
        cut: `FULL` or `CLEARED`.
        chosen: Cut and kept results that it compares.
        selected: Of these, the cut ones that count; kept ones are weighted to their kinds and ages.
        by_size: Count characters instead of results.
    """

    label: str
    cut: str
    chosen: Callable[[Fetched], bool] = lambda _: True
    selected: Callable[[Fetched], bool] = lambda _: True
    by_size: bool = False

    def counts(self, result: Fetched) -> bool:
        """Return True if it counts as cut."""
        return result.is_cut and result.cut == self.cut and self.chosen(result) and self.selected(result)


class Share(NamedTuple):
    """An estimate with its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def is_known(self) -> bool:
        """False without results, or without kept ones to compare with."""
        return bool(np.isfinite(self.value))

    def percent(self) -> str:
        """Return it as `7.0 % (4.9 to 9.2)`."""
        return f"{100 * self.value:.1f} % ({100 * self.low:.1f} to {100 * self.high:.1f})" if self.is_known else ""

    def plain(self) -> str:
        """Return it as `0.92 (0.67 to 1.21)`."""
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})" if self.is_known else ""


def draws_of(sessions: int) -> NDArray[np.float64]:
    """Return how often each draw contains each session; the first contains each once."""
    generator = np.random.default_rng(20)
    drawn = generator.multinomial(sessions, np.full(sessions, 1 / sessions), DRAWS) if sessions else np.ones((DRAWS, 0))
    return np.vstack([np.ones(sessions), drawn])


def share(values: NDArray[np.float64]) -> Share:
    """Return the first value with the interval of the others."""
    known = values[1:][np.isfinite(values[1:])]
    low, high = np.percentile(known, (2.5, 97.5)) if len(known) else (np.nan, np.nan)
    return Share(float(values[0]), float(low), float(high))


def totals(sessions: Sequence[Sequence[Fetched]], row: Row) -> NDArray[np.float64]:
    """Return sums by session, stratum and column: cut, again, found, kept, again, found."""
    sums = np.zeros((len(sessions), len(FETCHES) * (len(AGES) - 1), 6))
    for index, results in enumerate(sessions):
        for each in filter(row.chosen, results):
            first, weight = FETCHES.index(each.kind) * (len(AGES) - 1), each.characters if row.by_size else 1
            if row.counts(each):
                stratum = first + int(np.searchsorted(AGES, each.age, side="right")) - 1
                sums[index, stratum, :3] += weight * np.array([1, *each.outcomes(np.array([each.stays]))[:, 0]])
            # A cut within the 30 calls would hide a re-fetch or cause it.
            last = min(each.stays - WITHIN + 1 if each.cut else each.stays, each.ends + 1)
            ages = np.arange(1, max(last - each.enters, 1))
            for stratum in range(len(AGES) - 1):
                at = each.enters + ages[(ages >= AGES[stratum]) & (ages < AGES[stratum + 1])]
                if len(at):  # a moment of a cut, for each of them
                    sums[index, first + stratum, 3:] += weight * np.array([len(at), *each.outcomes(at).sum(axis=1)])
    return sums


def cells(sessions: Sequence[Sequence[Fetched]], row: Row) -> tuple[str, ...]:
    """Return a line of the table."""
    sums = totals(sessions, row)
    count = sum(row.counts(each) for results in sessions for each in results)
    drawn = np.tensordot(draws_of(len(sessions)), sums, axes=1)
    cut, again, gone, kept, kept_again, kept_found = np.moveaxis(drawn, 2, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = np.where(kept > 0, cut, 0)
        standard = [np.nansum(weight * each / kept, axis=1) / weight.sum(axis=1) for each in (kept_again, kept_found)]
        fetched, found = again.sum(axis=1) / cut.sum(axis=1), gone.sum(axis=1) / cut.sum(axis=1)
        caused = fetched - standard[0]
        ratios = share(caused / standard[1]).plain(), share(found / standard[1]).plain()
    shares = (share(each).percent() for each in (fetched, standard[0], caused, standard[1], found))
    return (row.label, f"{count:,}", *shares, *ratios)


def rows() -> Iterator[Row]:
    """Yield the lines of the table."""

    def kind(*wanted: ToolKind) -> Callable[[Fetched], bool]:
        return lambda each: each.kind in wanted

    def aged(low: int, high: int) -> Callable[[Fetched], bool]:
        return lambda each: low <= each.age < high

    def ranked(low: int, high: int) -> Callable[[Fetched], bool]:
        return lambda each: low <= each.rank < high

    reads = kind(ToolKind.READ)
    yield Row("compactions", FULL)
    yield Row("compactions, by characters", FULL, by_size=True)
    for label, wanted in zip(("file reads", "commands", "searches", "addresses"), FETCHES, strict=True):
        yield Row(f"… {label}", FULL, kind(wanted))
    for low, high in ((1, 3), (1, 5), (5, 20), (20, NEVER)):
        yield Row(f"… file reads, age {low} to {high - 1 if high < NEVER else '…'}", FULL, reads, aged(low, high))
    yield Row(f"… over {LARGE_CHARACTERS:,} characters", FULL, lambda each: each.characters > LARGE_CHARACTERS)
    yield Row(f"… up to {LARGE_CHARACTERS:,} characters", FULL, lambda each: each.characters <= LARGE_CHARACTERS)
    for low, high in ((0, 10), (10, 30), (30, NEVER)):
        yield Row(f"… newer results {low} to {high - 1 if high < NEVER else '…'}", FULL, selected=ranked(low, high))
    yield Row("clearings", CLEARED)


def at_the_line(sessions: Sequence[Sequence[Fetched]]) -> tuple[Share, Share, int, int]:
    """Return the shares fetched again among the nearest results on both sides of partial cuts, and their numbers.

    A cut is partial if results of the same prompt stay that are newer than all it removes.
    """
    sums = np.zeros((len(sessions), 4))
    for index, results in enumerate(sessions):
        for place in sorted({each.stays for each in results if each.is_cut}):
            cut = [each for each in results if each.is_cut and each.stays == place]
            newest = max(each.block for each in results if each.cut in CUTS and each.stays == place)
            stay = [each for each in results if each.enters < place < each.stays and each.block > newest]
            valid = [each for each in stay if each.ends >= place][:NEAR]
            for column, side in enumerate((cut[-NEAR:], valid) if valid else ()):
                again = sum(each.outcomes(np.array([place]))[0, 0] for each in side)
                sums[index, 2 * column : 2 * column + 2] += len(side), again
    drawn = draws_of(len(sessions)) @ sums
    with np.errstate(divide="ignore", invalid="ignore"):
        both = share(drawn[:, 1] / drawn[:, 0]), share(drawn[:, 3] / drawn[:, 2])
    return *both, int(sums[:, 0].sum()), int(sums[:, 2].sum())


def sessions_with_cuts(paths: Iterable[Path]) -> dict[tuple[str, str], list[Fetched]]:
    """Return the fetched results by format and identifier; of several states of a session, the longest."""
    found: dict[tuple[str, str], tuple[int, list[Fetched]]] = {}
    for path in sorted(header.path for each in paths for header in found_in(each)):
        try:
            session = open_session(path)
            results = fetched_of(session)
        except InspectorError as error:
            print(f"{path}: {error}", file=sys.stderr)
            continue
        key = session.format, session.identifier
        if any(each.cut in CUTS for each in results) and len(session.calls) > found.get(key, (0,))[0]:
            found[key] = len(session.calls), results
    return {key: results for key, (_, results) in found.items()}


RATIOS = ("caused ÷ predicted", "gone ÷ predicted")
HEAD = ("cut", "n", "again", "kept would", "caused", "predicted", "although gone", *RATIOS)


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path, help="sessions and folders of them")
    found = sessions_with_cuts(parser.parse_args().paths)
    if not found:
        print("No session with a recorded cut.")
        return 0
    agents = Counter(agent for agent, _ in found)
    sessions = list(found.values())
    cuts = sum(len({each.stays for each in results if each.cut in CUTS}) for results in sessions)
    print(
        f"{len(sessions)} sessions with {cuts} cuts: "
        + ", ".join(f"{agent} {agents[agent]}" for agent in sorted(agents))
    )
    print("\n| " + " | ".join(HEAD) + " |\n| --- |" + " --: |" * (len(HEAD) - 1))
    for row in rows():
        if any(row.counts(each) for results in sessions for each in results):
            print("| " + " | ".join(cells(sessions, row)) + " |", flush=True)
    cut, kept, cut_count, kept_count = at_the_line(sessions)
    print(f"\nAt the line of partial cuts: cut {cut.percent()}, n {cut_count}; kept {kept.percent()}, n {kept_count}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
