"""A search for reused text can be cancelled at any time, and continues where it stopped."""

from dataclasses import fields
from functools import partial
from pathlib import Path
from threading import Thread

import pytest

from inspector.replay.analysis.reuse import ReuseEvidence, ReuseScan, find_reuse, is_standard
from inspector.session.follow import Follower
from inspector.session.model import BlockKind, Role
from inspector.session.open import open_session
from inspector.strategies.history.history import History
from tests.replay.synthetic import SessionBuilder

SAMPLE = Path(__file__).parents[2] / "sample_sessions" / "coding-agent.jsonl"


@pytest.fixture(scope="module")
def history() -> History:
    return History.of(open_session(SAMPLE))


def columns(uses: ReuseEvidence | None) -> list[list[int]]:
    assert uses is not None
    return [getattr(uses, each.name).tolist() for each in fields(uses)]


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


@pytest.mark.parametrize("piece", [700, 20_000])
def test_a_session_that_is_followed_ends_with_the_evidence_of_one_that_is_loaded(tmp_path, piece):
    whole, path = SAMPLE.read_bytes(), tmp_path / SAMPLE.name
    path.write_bytes(whole[:piece])
    follower = Follower(path)
    history = History.of(follower.session)
    search = ReuseScan(history)
    for end in range(2 * piece, len(whole) + piece, piece):
        search.run(partial(next, iter((False, end % 3 == 0, True))) if end % 2 else lambda: False)
        path.write_bytes(whole[:end])
        follower.poll()
        history = History.of(follower.session, history)
        search = search.of(history)

    assert columns(search.run_to_the_end()) == columns(find_reuse(History.of(open_session(path))))


def test_an_earlier_state_and_another_session_in_its_place_are_looked_at_again(history, tmp_path):
    lines = SAMPLE.read_bytes().splitlines(keepends=True)
    (tmp_path / "shorter.jsonl").write_bytes(b"".join(lines[: len(lines) // 2]))
    shorter = History.of(open_session(tmp_path / "shorter.jsonl"))
    search = ReuseScan(history)
    search.run_to_the_end()

    assert columns(search.of(shorter).run_to_the_end()) == columns(find_reuse(shorter))
    assert columns(search.of(shorter).of(history).run_to_the_end()) == columns(find_reuse(history))


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("zebraStripes", 1),
        ("config.zebra", 1),
        # Shared by sessions of unrelated projects, and names of Python, Go and ECMAScript.
        ("compilerOptions", 0),
        ("README.md", 0),
        ("read_text", 0),
        ("time.Millisecond", 0),
        ("Object.freeze", 0),
    ],
)
def test_common_words_are_no_evidence(word, found):
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "goal"))
    builder.respond(builder.block(BlockKind.TOOL_CALL, '{"path": "a"}', "Read", "c0"))
    builder.add(Role.USER, builder.block(BlockKind.TOOL_RESULT, f"it has {word} in it", "Read", "c0"))
    builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, f"I will change {word} now"))

    assert len(find_reuse(History.of(builder.session()))) == found


@pytest.mark.parametrize("word", ["time.md", "os.py", "theme.Dark", "times", "path.to.file"])
def test_files_and_other_owners_are_no_standard_names(word):
    assert not is_standard(word)
