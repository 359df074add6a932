"""The script for recorded cuts counts re-fetches of cut and of kept results; the cases are counted by hand."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from inspector.session.model import BlockKind, Role
from inspector.strategies.history.tools import ToolKind
from scripts.fetched_results import CLEARED, FULL, REWOUND, fetched_of, lines_of
from scripts.real_cuts import Row, at_the_line, cells, draws_of, main, share, totals
from tests.replay.synthetic import SessionBuilder

if TYPE_CHECKING:
    from pathlib import Path

    from scripts.fetched_results import Fetched

READS = Row("reads", FULL, lambda each: each.kind is ToolKind.READ)


class Work(SessionBuilder):
    """A session in which every call makes one tool call, or says something."""

    def __init__(self) -> None:
        super().__init__()
        self.add(Role.USER, self.block(BlockKind.USER_TEXT, "goal"))

    def use(self, tool: str, result: str = "result", **arguments: object) -> None:
        number = f"c{len(self.calls)}"
        self.respond(self.block(BlockKind.TOOL_CALL, json.dumps(arguments), tool, number))
        self.add(Role.USER, self.block(BlockKind.TOOL_RESULT, f"{result} {number}", tool, number))

    def say(self, times: int = 1, text: str = "turn") -> None:
        for _ in range(times):
            self.respond(self.block(BlockKind.ASSISTANT_TEXT, f"{text} {len(self.calls)}"))
            self.add(Role.USER, self.block(BlockKind.USER_TEXT, "go on"))

    def forget(self) -> None:
        self.compact(0)
        self.add(Role.USER, self.block(BlockKind.USER_TEXT, "summary"))

    def fetched(self) -> list[Fetched]:
        return fetched_of(self.session())


def sums(work: Work, row: Row) -> list[float]:
    """Cut results, of these fetched again and found; moments of kept ones, of these fetched again and found."""
    found: list[float] = totals([work.fetched()], row).sum(axis=(0, 1)).tolist()
    return found


def test_results_that_are_still_valid_at_the_cut_count_and_those_fetched_again_after_it() -> None:
    work = Work()
    work.use("Read", file_path="a.py")  # 0: read again by call 7
    work.use("Read", file_path="b.py")  # 1: written by call 2
    work.use("Edit", file_path="b.py", old_string="x", new_string="y")
    work.use("Bash", command="make  test", description="first")  # 3: repeated by call 8
    work.use("Grep", pattern="def")  # 4: never repeated
    work.use("WebFetch", url="https://a.b")  # 5: opened again by call 6, before the cut
    work.use("WebFetch", url="https://a.b")  # 6: no call sends its result
    work.forget()
    work.use("Read", file_path="a.py")
    work.use("Bash", command="make test", description="second")
    work.say()

    cut = [each for each in work.fetched() if each.is_cut]
    # Sent first by the call after its own, last by call 6.
    assert [(each.kind, each.age) for each in cut] == [
        (ToolKind.READ, 6),
        (ToolKind.SHELL, 3),
        (ToolKind.SEARCH, 2),
    ]
    assert [each.again_after_cut for each in cut] == [True, True, False]
    assert sums(work, Row("all", FULL))[:2] == [3, 2]


@pytest.mark.parametrize(("calls", "again"), [(29, 1), (30, 0)])
def test_a_re_fetch_counts_within_thirty_calls(calls: int, again: int) -> None:
    work = Work()
    work.use("Read", file_path="a.py")
    work.say()
    work.forget()
    work.say(calls)
    work.use("Read", file_path="a.py")

    assert sums(work, READS)[:2] == [1, again]


def test_a_file_that_is_written_between_is_not_fetched_again() -> None:
    work = Work()
    work.use("Read", file_path="a.py")
    work.say()
    work.forget()
    work.use("Write", file_path="a.py", content="new")
    work.use("Read", file_path="a.py")

    assert sums(work, READS)[:2] == [1, 0]


@pytest.mark.parametrize(("offset", "again"), [(1, 1), (100, 1), (101, 0), (500, 0)])
def test_only_overlapping_lines_are_fetched_again(offset: int, again: int) -> None:
    work = Work()
    work.use("Read", file_path="a.py", offset=1, limit=100)
    work.say()
    work.forget()
    work.use("Read", file_path="a.py", offset=offset, limit=50)

    assert sums(work, READS)[:2] == [1, again]


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ({}, (0, float("inf"))),
        ({"offset": 10}, (10, 2_010)),
        ({"limit": 5}, (0, 5)),
        ({"start_line": 3, "end_line": 7}, (3, 8)),
        ({"view_range": [3, 7]}, (3, 8)),
        ({"view_range": [3, -1]}, (3, float("inf"))),
    ],
)
def test_agents_name_lines_in_different_ways(arguments: dict[str, object], lines: tuple[float, float]) -> None:
    assert lines_of(arguments) == lines


def test_the_placebo_counts_every_moment_at_which_a_kept_result_could_have_been_cut() -> None:
    work = Work()
    work.use("Read", file_path="x.py")
    work.forget()
    work.say()
    work.use("Read", file_path="a.py")  # 2: its result is sent from call 3 on
    work.say(38)
    work.use("Read", file_path="a.py")  # 41: fetched again at age 38
    work.say()

    # Ages 1 to 38 are moments before the re-fetch; of these, ages 9 to 38 have it within 30 calls.
    assert sums(work, READS)[3:5] == [38, 30]
    by_age = totals([work.fetched()], READS)[0, :7, 3:5].tolist()
    assert by_age == [[2, 0], [2, 0], [5, 1], [10, 10], [19, 19], [0, 0], [0, 0]]


def test_moments_whose_thirty_calls_reach_a_cut_are_no_placebo() -> None:
    work = Work()
    work.use("Read", file_path="a.py")  # sent by calls 1 to 35
    work.say(35)
    work.forget()
    work.say(3)

    # Of ages 1 to 34, those up to 5 leave 30 calls before the cut at call 36.
    assert sums(work, READS) == [1, 0, 0, 5, 0, 0]


def test_cut_results_are_compared_with_kept_ones_of_their_age() -> None:
    work = Work()
    work.use("Read", file_path="a.py")
    work.say(2)
    work.forget()
    work.use("Read", file_path="a.py")  # 3: at age 2 the cut result is fetched again
    work.use("Read", file_path="b.py")  # 4: read again by call 7, at age 2
    work.say(2)
    work.use("Read", file_path="b.py")  # 7: never read again
    work.say(40)

    # Ages 1 and 2 of three kept reads: 2 of 6 moments are followed by a re-fetch.
    row = cells([work.fetched()], READS)
    assert row[:5] == (
        "reads",
        "1",
        "100.0 % (100.0 to 100.0)",
        "33.3 % (33.3 to 33.3)",
        "66.7 % (66.7 to 66.7)",
    )


def test_detectors_predict_for_kept_results_and_find_the_same_for_cut_ones() -> None:
    work = Work()
    work.use("Read", "the zebra_stripes and the lion_mane", file_path="a.py")
    work.say()
    work.forget()
    work.say(1, "lion_mane")  # 2: although gone
    work.use("Read", "the quagga_tail", file_path="b.py")  # 3
    work.say(2)
    work.say(1, "quagga_tail")  # 6: at age 2
    work.say(30)

    # Kept: 32 moments at ages 1 to 32, of which ages 1 and 2 precede the use.
    assert sums(work, READS) == [1, 0, 1, 32, 0, 2]


def test_cleared_results_are_cut_and_newer_ones_stay_at_the_line() -> None:
    work = Work()
    for name in "abcd":
        work.use("Read", file_path=f"{name}.py")
    work.say()
    work.clear("c0", "c1")
    work.use("Read", file_path="b.py")  # a cut one
    work.use("Read", file_path="d.py")  # a kept one
    work.use("Read", file_path="a.py")
    work.say()

    fetched = work.fetched()
    assert [(each.cut, each.rank) for each in fetched if each.is_cut] == [(CLEARED, 3), (CLEARED, 2)]
    cut, kept, cut_count, kept_count = at_the_line([fetched])
    # Both cut ones are read again; of the kept ones c and d, only d.
    assert (cut.value, cut_count, kept.value, kept_count) == (1, 2, 0.5, 2)


def test_a_rewind_is_no_cut() -> None:
    work = Work()
    work.use("Read", file_path="a.py")
    work.say()
    work.rewind(1)
    work.say()
    assert work.fetched() == []

    work.use("Read", file_path="b.py")
    work.say()
    work.forget()
    work.say()
    assert [(each.cut, each.is_cut) for each in work.fetched()] == [(REWOUND, False), (FULL, True)]


def test_intervals_resample_sessions() -> None:
    draws = draws_of(2)
    assert draws[0].tolist() == [1, 1]
    assert set(draws.sum(axis=1).tolist()) == {2}
    # One session of two results fetched again, one of two not: the draws are 0, 1/2 or 1.
    found = share((draws @ [2, 0]) / (draws @ [2, 2]))
    assert (found.value, found.low, found.high) == (0.5, 0, 1)
    assert found.percent() == "50.0 % (0.0 to 100.0)"


def test_a_folder_without_cuts_gives_no_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["real_cuts.py", str(tmp_path)])
    assert main() == 0
    out = capsys.readouterr().out
    assert out.splitlines() == ["No session with a recorded cut."]
