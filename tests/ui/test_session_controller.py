"""The open session without a screen: reading, counting, replaying, selecting, and notifications."""

from __future__ import annotations

from collections import Counter as Tally
from contextlib import asynccontextmanager
from functools import partial
from inspect import isawaitable
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from inspector.replay.analysis import cache_misses as cache_reads
from inspector.replay.assumptions import ASSUMED_RUNS
from inspector.replay.engine import ledger
from inspector.replay.engine import replay as engine
from inspector.session import jsonl_reader, reading_process
from inspector.session.follow import Follower
from inspector.session.open import open_session
from inspector.session.reading_process import ReadingProcess
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from inspector.tokens.counter import load_counter
from inspector.tokens.token_table import TokenTable, count_session
from inspector.ui.chart.view import marked_misses
from inspector.ui.controller import counting, jobs, replaying
from inspector.ui.controller.counting import CountingStage, TokensCounted
from inspector.ui.controller.host import Change
from inspector.ui.controller.jobs import (
    FileChanged,
    LoadProgress,
    SessionAppended,
    SessionLoaded,
    SessionReady,
    offered_plan,
    read_session,
)
from inspector.ui.controller.session import SessionController
from inspector.ui.session_screen import how_tokens_are_known
from inspector.ui.timeline.rows import Rows
from tests.conftest import ROOT
from tests.ui.recordings import recording

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from tests.ui.recordings import Recording


STALE = Plan.from_specs(["tiered-stale"])


class Later:
    def __init__(self, do: Callable[[], object]) -> None:
        self.do: Callable[[], object] | None = do

    def stop(self) -> None:
        self.do = None


class Bench:
    """A host without a screen: work is done when its turn comes, and results are taken one after another."""

    def __init__(self) -> None:
        self.work: list[tuple[str, Any, Any, Any, str]] = []
        self.told: list[str] = []
        self.timers: list[Later] = []
        self.current: dict[str, Any] = {}

    def run(
        self, work: Any, take: Any, *, group: str, description: str, failed: Callable[[], object] | None = None
    ) -> None:
        self.current[group] = take
        self.work.append((group, work, take, failed, description))

    def stop(self, group: str) -> None:
        self.current.pop(group, None)

    def later(self, seconds: float, do: Callable[[], object]) -> Later:
        self.timers.append(Later(do))
        return self.timers[-1]

    def after_frame(self, do: Callable[[], object]) -> None:
        self.timers.append(Later(do))

    def hold_frame(self) -> None: ...

    @asynccontextmanager
    async def one_frame(self) -> AsyncIterator[None]:
        yield

    async def take_newest_move(self) -> None: ...

    def warm_up(self) -> None: ...

    def warm_up_rest(self) -> None: ...

    async def mount_rows(self) -> None: ...

    async def mount_panes(self) -> None: ...

    def show_notice(self, notice: str, *, is_problem: bool = False, is_over: bool = False) -> None:
        self.told.append(notice)

    async def give(self, group: str, result: object) -> None:
        """Let something come of work in a group."""
        if (take := self.current.get(group)) is not None:
            taken = take(result)
            if isawaitable(taken):
                await taken

    async def work_once(self, *groups: str) -> None:
        waiting, self.work = self.work, []
        for each in waiting:
            group, work, take, failed, description = each
            if groups and group not in groups:
                self.work.append(each)
                continue
            if group == "follow":
                continue
            results: list[object] = []
            try:
                work(results.append, lambda take=take, group=group: self.current.get(group) is not take)
            except ArithmeticError:
                if failed is not None:
                    failed()
                self.told.append(f"could not {description}")
            for result in results:
                if self.current.get(group) is take:
                    await self.give(group, result)

    async def pass_time(self) -> None:
        """Let all timers ring."""
        ringing, self.timers = self.timers, []
        for each in ringing:
            if each.do is not None:
                done = each.do()
                if isawaitable(done):
                    await done

    async def settle(self) -> None:
        """Until nothing is left to be done."""
        while self.work or self.timers:
            await self.work_once()
            await self.pass_time()


class Opened:
    def __init__(self, path: Path, plan: Plan | None = None) -> None:
        self.bench = Bench()
        self.controller = SessionController(path, self.bench, plan, runs=ASSUMED_RUNS)
        self.changes: list[Change] = []
        for change in Change:
            self.controller.changes.listen({change: lambda change=change: self.changes.append(change)})  # type: ignore[misc]  # bound as it is

    async def to_ready(self) -> None:
        self.controller.open()
        while Change.READY not in self.changes:
            await self.bench.pass_time()
            await self.bench.work_once("open")

    @classmethod
    async def ready(cls, path: Path, plan: Plan | None = None) -> Opened:
        opened = cls(path, plan)
        opened.controller.open()
        await opened.bench.settle()
        opened.changes.clear()
        return opened


@pytest.fixture(autouse=True)
def kept_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


async def test_a_session_is_read_then_counted_then_replayed(session_file) -> None:
    opened = Opened(session_file.path)
    controller = opened.controller

    await opened.to_ready()

    assert controller.session is not None
    assert controller.outcome is None
    assert controller.counting.stage is CountingStage.AWAITING
    assert opened.changes.index(Change.SESSION) < opened.changes.index(Change.PLAN) < opened.changes.index(Change.READY)

    await opened.bench.settle()

    assert controller.state == "live"
    assert not controller.counting.is_under_way
    assert controller.outcome is not None
    assert controller.outcome.plan == controller.plan
    assert controller.table is controller.outcome.replay.table


async def test_rows_are_shown_before_anything_else_of_a_session_is_made(session_file) -> None:
    opened = Opened(session_file.path)
    done: list[str] = []
    bench, changes = opened.bench, opened.controller.changes
    bench.warm_up_rest = lambda: done.append("imported")  # type: ignore[method-assign]  # noted
    bench.mount_rows = partial(noting, done, "rows made")  # type: ignore[method-assign]  # noted
    bench.mount_panes = partial(noting, done, "room made")  # type: ignore[method-assign]  # noted
    changes.listen({Change.SESSION: lambda: done.append("shown"), Change.READY: lambda: done.append("ready")})

    await opened.to_ready()

    assert done[: done.index("ready") + 1] == ["rows made", "shown", "imported", "room made", "shown", "ready"]


async def noting(done: list[str], what: str) -> None:
    """Note that something was done."""
    done.append(what)


def test_a_short_session_is_read_whole_before_its_rows_are_shown_and_without_a_word_on_the_way(session_file) -> None:
    first, last = filter(None, read_session(session_file.path, None, restores=False))

    assert isinstance(first, SessionLoaded)
    assert first.is_first
    assert first.is_whole
    assert isinstance(last, SessionReady)
    assert last.plan == offered_plan(first.session)


def test_how_far_reading_has_come_is_reported_ten_times_a_second_however_quickly_a_file_is_read(
    session_file, monkeypatch
) -> None:
    for _ in range(40):
        session_file.turn("some text")
    clock = count(0, 0.01)
    monkeypatch.setattr(jsonl_reader, "SLICE_BYTES", 1 << 11)
    monkeypatch.setattr(jobs, "monotonic", lambda: next(clock))
    looks = sum(1 for _ in Follower(session_file.path, load=False).load())

    found = [*read_session(session_file.path, None, restores=False)]

    seconds = next(clock)
    told = [each for each in found if isinstance(each, LoadProgress)]
    assert 0 < len(told) <= seconds / 0.1
    assert looks > 2 * len(told)


def test_the_rest_of_the_screen_is_shown_before_the_last_row_where_reading_takes_longer_than_a_second(
    session_file, monkeypatch
) -> None:
    for _ in range(40):
        session_file.turn("some text")
    clock = count(0, 0.05)
    monkeypatch.setattr(jsonl_reader, "SLICE_BYTES", 1 << 9)
    monkeypatch.setattr("inspector.session.open.FIRST_PART_BYTES", 1 << 9)
    monkeypatch.setattr(jobs, "monotonic", lambda: next(clock))
    monkeypatch.setattr(jobs, "SHARE_OF_PARTS", 0)
    parts = [each for each in read_session(session_file.path, None, restores=False) if isinstance(each, SessionLoaded)]

    assert [part.is_first for part in parts] == [True, *([False] * (len(parts) - 1))]
    assert [part.is_whole for part in parts] == [*([False] * (len(parts) - 1)), True]
    assert not parts[0].shows_rest
    assert any(part.shows_rest for part in parts)
    assert not parts[-1].shows_rest


@pytest.fixture
def long_file(session_file, monkeypatch) -> Recording:
    """A session that another process reads, in more than one part."""
    monkeypatch.setattr(reading_process, "LEAST_BYTES", 1)
    monkeypatch.setattr(reading_process, "processors", lambda: 2)
    for _ in range(8):
        session_file.turn("a line of some result\n" * 20_000)
    return session_file


def test_the_first_rows_of_a_long_session_are_shown_while_another_process_reads_the_rest(long_file) -> None:
    *parts, ready = (each for each in read_session(long_file.path, None, restores=False) if each is not None)
    loaded = [part for part in parts if isinstance(part, SessionLoaded)]

    assert [(part.is_first, part.is_read_elsewhere, part.is_whole) for part in loaded] == [
        (True, True, False),
        (False, False, True),
    ]
    assert 0 < len(loaded[0].session.messages) < len(loaded[1].session.messages)
    assert isinstance(ready, SessionReady)
    assert ready.follower.session == loaded[1].session == open_session(long_file.path)
    assert not loaded[1].table.is_complete


def test_a_long_session_has_the_counts_of_an_earlier_run_with_its_last_row(long_file) -> None:
    *_, counted = count_session(open_session(long_file.path), load_counter())
    parts = [part for part in read_session(long_file.path, None, restores=False) if isinstance(part, SessionLoaded)]

    assert parts[-1].table.is_complete
    assert parts[-1].table.counter.is_exact_tokenizer
    assert parts[-1].table.tokens.tolist() == counted.tokens.tolist()


async def test_tokens_are_not_shown_as_counted_before_they_are(long_file) -> None:
    opened = Opened(long_file.path)
    said: list[tuple[str, bool]] = []
    controller = opened.controller

    def look() -> None:
        if controller.table is not None:
            said.append((how_tokens_are_known(controller), controller.table.is_complete))

    controller.changes.listen(dict.fromkeys(Change, look))
    controller.open()
    await opened.bench.settle()

    assert {words for words, is_complete in said if not is_complete} == {"tokens estimated so far"}
    assert said[-1][1]
    assert said[-1][0] != "tokens estimated so far"


async def test_what_is_added_to_a_session_read_by_another_process_is_read_here(long_file) -> None:
    opened = await Opened.ready(long_file.path)
    before = opened.controller.session
    assert before is not None
    follower = Follower(long_file.path, load=False)
    assert [*follower.load(ReadingProcess(long_file.path))][-1].session == before

    long_file.turn("one more")
    after = follower.poll()

    assert after == open_session(long_file.path)
    assert len(after.messages) == len(before.messages) + 2


async def test_counts_are_replayed_on_the_way_where_counting_takes_ten_times_as_long_as_a_replay(
    session_file, monkeypatch
) -> None:
    opened = Opened(session_file.path)
    controller, bench = opened.controller, opened.bench
    clock = [100.0]
    for module in (counting, replaying):
        monkeypatch.setattr(module, "monotonic", lambda: clock[0])
    await opened.to_ready()
    await bench.work_once("replay")
    clock[0] += 0.3
    await bench.pass_time()
    assert controller.session is not None
    so_far = TokensCounted(controller.session, TokenTable.estimated(controller.session), 0.5, is_final=False)
    replays = []
    for seconds in (0.7, 1.9, 0.2):
        clock[0] += seconds
        await bench.give("count", so_far)
        replays.append(sum(group == "replay" for group, *_ in bench.work))

    assert replays == [0, 0, 1]


async def test_nothing_is_added_up_twice_while_tokens_are_counted(session_file) -> None:
    opened = Opened(session_file.path)
    answers, bench = opened.controller.answers, opened.bench
    await opened.to_ready()

    await bench.work_once("replay")
    assert opened.controller.outcome is not None
    assert not {"spending", "cache misses"} & {group for group, *_ in bench.work}
    await bench.work_once("count")
    await bench.settle()

    assert answers.spending is not None
    assert answers.spending.replay is opened.controller.outcome.baseline


async def test_a_session_whose_counting_is_stopped_before_it_began_is_replayed_with_estimates(session_file) -> None:
    opened = Opened(session_file.path)
    controller = opened.controller
    await opened.to_ready()

    controller.counting.stop()
    await opened.bench.settle()

    assert not controller.counting.is_under_way
    assert controller.table is not None
    assert not controller.table.block_columns.counted().all()
    assert controller.outcome is not None
    assert controller.outcome.plan == controller.plan


async def test_a_session_that_grew_is_replayed_where_counting_what_is_new_is_stopped(session_file) -> None:
    opened = await Opened.ready(session_file.path)
    controller, bench = opened.controller, opened.bench
    session_file.turn()
    session = Follower(session_file.path).session
    history = History.of(session, controller.history)
    appended = SessionAppended(session, history, Rows.of(history, controller.rows), is_new=False, changed=None)
    await bench.give("follow", appended)
    await bench.pass_time()

    controller.counting.stop()
    await bench.settle()

    assert controller.outcome is not None
    assert controller.outcome.replay.history.session is session


async def test_a_file_that_cannot_be_read_leaves_no_session_and_says_why(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are notes")
    opened = Opened(path)

    opened.controller.open()
    await opened.bench.settle()

    assert opened.controller.is_unopened
    assert opened.controller.reason
    assert opened.controller.session is None
    assert Change.STATE in opened.changes


async def test_changes_while_a_replay_is_under_way_are_replayed_once_together(session_file) -> None:
    opened = await Opened.ready(session_file.path, STALE)
    controller = opened.controller

    for value in (10, 20, 30):
        controller.set_value(0, "confirmation", value, is_final=False)
    await opened.bench.settle()

    counts = Tally(opened.changes)
    assert counts[Change.PLAN] == counts[Change.EDITED] == 3
    assert counts[Change.OUTCOME] <= 2
    assert controller.outcome is not None
    assert controller.outcome.plan == controller.plan


@pytest.mark.parametrize(("seconds_unpainted", "shown"), [(3600.0, 1), (0.0, 2)])
async def test_where_another_replay_was_asked_for_that_comes_first_unless_nothing_was_painted_for_long(
    session_file, monkeypatch, seconds_unpainted: float, shown: int
) -> None:
    monkeypatch.setattr(replaying, "SECONDS_OF_A_SHORT_REPLAY", 3600.0)
    monkeypatch.setattr(replaying, "SECONDS_UNPAINTED", seconds_unpainted)
    opened = await Opened.ready(session_file.path, STALE)
    controller, bench = opened.controller, opened.bench

    controller.set_value(0, "confirmation", 10, is_final=False)
    await bench.pass_time()
    controller.set_value(0, "confirmation", 20, is_final=False)
    await bench.settle()

    assert Tally(opened.changes)[Change.OUTCOME] == shown
    assert controller.outcome is not None
    assert controller.outcome.plan == controller.plan


async def test_cache_misses_are_explained_in_a_thread_and_never_while_a_limit_is_dragged(session_file) -> None:
    opened = await Opened.ready(session_file.path, STALE)
    controller, bench = opened.controller, opened.bench
    assert controller.outcome is not None
    assert controller.answers.cache is not None
    assert controller.answers.cache.outcome.replay is controller.outcome.replay

    for value in (10, 20, 30, 40):
        controller.set_value(0, "confirmation", value, is_final=False)
        await bench.pass_time()
        assert "cache misses" not in [group for group, *_ in bench.work]
        await bench.work_once()
        assert "cache misses" not in [group for group, *_ in bench.work]
        assert controller.answers.cache_of(controller.outcome) is None, "those of another plan are not shown"

    await bench.settle()
    assert controller.answers.cache.outcome.replay is controller.outcome.replay


async def test_the_misses_of_the_session_as_recorded_are_known_again_at_once(session_file) -> None:
    opened = await Opened.ready(session_file.path)
    controller, answers = opened.controller, opened.controller.answers
    recorded = answers.cache
    assert recorded is answers.recorded_cache is not None

    assert controller.plan is not None
    controller.edit_plan(STALE)
    await opened.bench.settle()
    assert answers.cache is not recorded
    assert answers.recorded_cache is recorded

    controller.undo()
    while controller.outcome is None or controller.outcome.plan != controller.plan:
        await opened.bench.pass_time()
        await opened.bench.work_once()
    assert answers.cache is recorded


async def test_a_drag_is_one_change_to_take_back(session_file) -> None:
    opened = await Opened.ready(session_file.path, STALE)
    controller = opened.controller
    before = controller.plan

    for value in (10, 20, 30):
        controller.set_value(0, "confirmation", value, is_final=value == 30)
    assert controller.plan != before
    controller.undo()
    assert controller.plan == before
    controller.redo()
    assert controller.plan is not None
    assert controller.plan.entries[0].strategy.confirmation == 30  # type: ignore[attr-defined]


async def test_two_drags_and_a_key_in_a_row_are_three_changes(session_file) -> None:
    opened = await Opened.ready(session_file.path, STALE)
    controller = opened.controller

    for value, is_final in ((10, False), (20, True), (30, False), (40, True), (50, True), (60, True)):
        controller.set_value(0, "confirmation", value, is_final=is_final)
    seen = []
    for _ in range(3):
        assert controller.plan is not None
        seen.append(controller.plan.entries[0].strategy.confirmation)  # type: ignore[attr-defined]
        controller.undo()
    assert seen == [60, 40, 20]


async def test_a_plan_put_aside_is_replayed_too_and_comes_back(session_file) -> None:
    opened = await Opened.ready(session_file.path, STALE)
    controller = opened.controller

    controller.swap_plans()
    controller.set_value(0, "confirmation", 10)
    await opened.bench.settle()

    assert controller.plans is not None
    assert controller.plans.letter == "B"
    assert controller.other_result is not None
    assert (controller.other_result.letter, controller.other_result.plan) == ("A", STALE)
    controller.swap_plans()
    assert controller.plan == STALE


async def test_another_call_is_looked_at_without_another_replay(session_file) -> None:
    opened = await Opened.ready(session_file.path, STALE)
    controller = opened.controller
    replay = controller.outcome.replay  # type: ignore[union-attr]

    controller.look_further(-1)

    assert controller.call == replay.history.call_count - 1
    assert controller.outcome is not None
    assert controller.outcome.replay is replay
    assert controller.outcome.state.call == controller.call
    assert opened.changes == [Change.CALL]
    controller.look_further(5)
    assert controller.call is None


async def test_stepping_back_where_no_call_was_made_stays_at_the_next_one(tmp_path: Path) -> None:
    made = recording(tmp_path / "session.jsonl", turns=0)
    made.say("find out why")
    controller = (await Opened.ready(made.path)).controller

    controller.look_further(-1)

    assert controller.outcome is not None
    assert controller.call is None


async def test_a_call_chosen_while_a_replay_is_under_way_is_the_one_it_is_shown_at(session_file) -> None:
    opened = await Opened.ready(session_file.path, STALE)
    controller = opened.controller

    controller.set_value(0, "confirmation", 10)
    controller.look_further(-1)
    await opened.bench.settle()

    assert controller.outcome is not None
    assert controller.outcome.plan == controller.plan
    assert controller.outcome.state.call == controller.call


async def test_a_call_of_a_session_that_has_become_shorter_is_the_next_one(session_file) -> None:
    opened = await Opened.ready(session_file.path)
    controller, bench = opened.controller, opened.bench
    session_file.path.unlink()
    shorter = History.of(Follower(recording(session_file.path, turns=2).path).session)
    await bench.give("follow", SessionAppended(shorter.session, shorter, Rows.of(shorter), is_new=True, changed=None))

    # The click refers to the session as it was drawn.
    controller.look_at(20)
    await bench.settle()

    assert controller.call is None
    assert controller.outcome is not None
    assert controller.outcome.replay.history is shorter


async def test_a_replay_that_fails_is_reported_and_the_next_one_is_made(session_file, monkeypatch) -> None:
    opened = await Opened.ready(session_file.path, STALE)
    controller = opened.controller

    def fail(*_: object) -> None:
        raise ArithmeticError

    with monkeypatch.context() as broken:
        broken.setattr("inspector.ui.controller.replaying.replay_plan", fail)
        controller.set_value(0, "confirmation", 10)
        await opened.bench.settle()

    assert "could not replay the plan" in opened.bench.told
    assert not controller.replays.is_under_way
    controller.set_value(0, "confirmation", 20)
    await opened.bench.settle()
    assert controller.outcome is not None
    assert controller.outcome.plan == controller.plan


def tallied(monkeypatch: pytest.MonkeyPatch, where: tuple[Any, str], note: Callable[..., object]) -> None:
    module, name = where
    function = getattr(module, name)

    def told(*given: object) -> object:
        note(*given)
        return function(*given)

    monkeypatch.setattr(module, name, told)


async def test_a_dragged_limit_asks_once_what_the_cache_missed_with_nothing_cut_and_drawing_asks_nothing(
    monkeypatch,
) -> None:
    plan = Plan.from_specs(["clear-old"])
    opened = await Opened.ready(ROOT / "sample_sessions" / "coding-agent.jsonl", plan)
    controller, asked, served = opened.controller, Tally(), Tally()
    tallied(monkeypatch, (cache_reads, "readable_tokens"), lambda replay, *_: asked.update([replay]))
    tallied(monkeypatch, (ledger, "served_usage"), lambda *_: served.update(["ledger"]))
    tallied(monkeypatch, (engine, "served_usage"), lambda *_: served.update(["nothing put out of the cache"]))

    monkeypatch.setattr(replaying, "SECONDS_BETWEEN_REPLAYS", 0.0)

    outcomes = []
    for keep in (4, 5, 6):
        controller.set_value(0, "keep", keep)
        await opened.bench.work_once()
        assert controller.outcome is not None
        assert marked_misses(controller.outcome, None)
        outcomes.append(controller.outcome)
        await opened.bench.pass_time()
        # Work after a plan is set is not part of the drag.
        opened.bench.work.clear()

    assert len({each.replay for each in outcomes}) == 3
    assert asked == Tally(each.replay for each in outcomes)
    assert served == {"ledger": 3, "nothing put out of the cache": 3}


async def test_a_session_that_grows_before_its_tokenizer_is_there_is_counted_again_when_it_is(session_file) -> None:
    opened = Opened(session_file.path)
    controller, bench = opened.controller, opened.bench
    await opened.to_ready()
    counting = [each for each in bench.work if each[0] == "count"]
    session_file.turn()
    session = Follower(session_file.path).session
    history = History.of(session, controller.history)
    appended = SessionAppended(session, history, Rows.of(history, controller.rows), is_new=False, changed=None)

    await bench.give("follow", appended)

    assert appended.shown.is_set()
    assert controller.counting.stage is CountingStage.OUTDATED
    assert [each for each in bench.work if each[0] == "count"] == counting
    await bench.settle()
    assert controller.counting.stage is CountingStage.NONE
    assert controller.table is not None
    assert controller.table.session is session


async def test_a_session_that_grows_right_after_it_was_rewritten_is_counted_and_replayed(session_file) -> None:
    opened = Opened(session_file.path)
    controller, bench = opened.controller, opened.bench
    await opened.to_ready()
    assert controller.counting.stage is CountingStage.AWAITING
    session_file.path.unlink()
    anew = recording(session_file.path, turns=2)

    async def append(before: History | None, *, is_new: bool) -> History:
        history = History.of(Follower(anew.path).session, before)
        await bench.give("follow", SessionAppended(history.session, history, Rows.of(history), is_new, None))
        return history

    history = await append(None, is_new=True)
    await bench.work_once()  # the count of the previous session finishes
    anew.turn()
    history = await append(history, is_new=False)
    await bench.settle()

    assert not controller.counting.is_under_way
    assert controller.outcome is not None
    assert controller.outcome.replay.history is history


async def test_what_comes_of_work_that_was_called_off_is_dropped(session_file, tmp_path: Path) -> None:
    opened = await Opened.ready(session_file.path)

    opened.controller.forget(tmp_path / "other.jsonl")
    await opened.bench.give("follow", FileChanged("vanished", "it is gone"))

    assert opened.controller.session is None
    assert opened.controller.state == "loading"
    assert "it is gone" not in opened.bench.told
    assert Change.FORGOTTEN in opened.changes


def test_who_listens_no_more_gets_no_more_reports(session_file) -> None:
    opened = Opened(session_file.path)
    heard: list[str] = []
    stop = opened.controller.changes.listen({Change.PLAN: lambda: heard.append("plan")})

    opened.controller.changes.publish(Change.PLAN)
    stop()
    opened.controller.changes.publish(Change.PLAN)

    assert heard == ["plan"]
