"""A search for what was used again may be called off at any time, and goes on where it was."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Thread

import pytest

from inspector.replay.analysis.reuse import ReuseEvidence, ReuseScan, find_reuse
from inspector.session.open import open_session
from inspector.strategies.history.history import History

SAMPLE = Path(__file__).parents[2] / "sample_sessions" / "coding-agent.jsonl"


@pytest.fixture(scope="module")
def history() -> History:
    return History.of(open_session(SAMPLE))


def columns(uses: ReuseEvidence | None) -> list[list[int]]:
    assert uses is not None
    return [getattr(uses, name).tolist() for name in ("block", "start", "stop", "call")]


def test_called_off_again_and_again_it_finds_what_it_finds_at_once(history):
    search, interruptions = ReuseScan(history), 0
    # Every run is called off the second time it asks.
    while (found := search.run(partial(next, iter((False, True, True))))) is None:
        interruptions += 1

    assert interruptions > 1
    assert columns(found) == columns(find_reuse(history))
    assert len(found.call) > 0


def test_threads_that_share_it_all_have_the_whole(history):
    search, found = ReuseScan(history), []
    threads = [Thread(target=lambda: found.append(search.run(lambda: False))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [columns(uses) for uses in found] == 3 * [columns(find_reuse(history))]


def test_it_serves_a_session_that_grew_a_little_and_none_that_grew_much(history):
    calls = history.session.calls
    for kept, is_enough in ((len(calls), True), (len(calls) * 19 // 20, True), (len(calls) // 2, False)):
        earlier = replace(history.session, calls=calls[:kept])
        assert ReuseScan(History.of(earlier)).serves(history) is is_enough


def test_it_serves_no_session_that_was_written_anew_or_lost_what_it_held(history, tmp_path):
    lines = SAMPLE.read_bytes().splitlines(keepends=True)
    (tmp_path / "shorter.jsonl").write_bytes(b"".join(lines[: len(lines) // 2]))

    assert not ReuseScan(history).serves(History.of(open_session(tmp_path / "shorter.jsonl")))
    assert not ReuseScan(history).serves(History.of(open_session(SAMPLE)))
