import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pexpect
import pytest

from inspector.cli.demo import (
    FIRST,
    TOUR_BEGINNING,
    FakeAgent,
    grow_others,
    sample_named,
    samples,
    shift_timestamps,
)
from inspector.live.watch import scan
from inspector.session.open import open_session
from tests.program import COMMAND, environment, run_program
from tests.terminal import kill


def wait_until(holds: Callable[[], bool], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)


def started(*arguments: str, **more: str) -> pexpect.spawn:
    command, *words = (*COMMAND, *arguments)
    env = environment(**{"TERM": "xterm-256color", **more})
    return pexpect.spawn(command, words, env=env, dimensions=(36, 120), timeout=120)


def test_a_growing_copy_ends_up_as_the_whole_sample(tmp_path: Path):
    source = tmp_path / "source.jsonl"
    source.write_bytes(b"".join(b'{"line": %d}\n' % number for number in range(40)))

    with FakeAgent(source, beginning=0.25, seconds=0.5) as copy:
        first = copy.path.read_bytes()
        assert first.count(b"\n") >= 10
        assert source.read_bytes().startswith(first)
        wait_until(lambda: copy.path.read_bytes() == source.read_bytes())
    assert not copy.path.parent.exists()


def test_a_growing_copy_can_have_been_made_just_now_with_the_pauses_that_were_recorded(tmp_path: Path):
    source = sample_named("coding-agent").path
    now = datetime.now(UTC)
    with FakeAgent(source, beginning=1.0, restamps=True) as copy:
        moved, recorded = open_session(copy.path), open_session(source)
    pauses = [[later.time - each.time for each, later in pairwise(session.calls)] for session in (moved, recorded)]
    assert pauses[0] == pytest.approx(pauses[1], abs=0.002)
    assert 0 <= time.time() - moved.calls[-1].time < 100
    assert [call.usage for call in moved.calls] == [call.usage for call in recorded.calls]
    epoch = shift_timestamps([b'{"timestamp":1793173200.0,"text":"\\"timestamp\\": 1793173200"}\n'], now)
    assert epoch == [b'{"timestamp":%s,"text":"\\"timestamp\\": 1793173200"}\n' % str(now.timestamp()).encode()]


def test_what_is_added_to_a_copy_rebuilt_was_made_when_it_was_written():
    before = time.time()
    with FakeAgent(sample_named("coding-agent").path, beginning=0.9, seconds=0.2, restamps=True) as copy:
        wait_until(
            lambda: len(open_session(copy.path).calls) == len(open_session(sample_named("coding-agent").path).calls)
        )
        newest = open_session(copy.path).calls[-1].time
    assert before <= newest + 0.002
    assert newest <= time.time()


def test_leaving_a_growing_copy_early_stops_it_and_leaves_nothing_behind():
    with FakeAgent(sample_named("coding-agent").path, seconds=1000) as copy:
        before = time.monotonic()
    assert time.monotonic() - before < 100
    assert not copy.path.parent.exists()


def test_three_agents_of_the_demo_run_at_the_same_time_and_one_fills_up():
    with ExitStack() as stack:
        first = sample_named(FIRST)
        agent = stack.enter_context(FakeAgent(first.path, TOUR_BEGINNING, restamps=True))
        snapshot = scan([agent.path.parent, *grow_others(stack, first)])
    assert len(snapshot.sessions) == 3
    assert snapshot.sessions[0].path == agent.path
    assert snapshot.sessions[0].attention(snapshot.time)


def test_every_sample_can_be_opened_and_at_least_one_grows():
    assert len(samples()) >= 3
    assert any(sample.grows for sample in samples())
    for sample in samples():
        assert open_session(sample.path).calls


def test_the_samples_are_listed_by_name_and_found_by_it():
    names = [line.split()[0] for line in run_program("demo", "--list").out.splitlines()]

    assert names == [sample.name for sample in samples()]
    assert [sample_named(name).name for name in names] == names


def test_a_sample_there_is_not_is_wrong_usage_and_lists_those_there_are():
    outcome = run_program("demo", "nonsense")

    assert outcome.code == 2
    assert all(sample.name in outcome.complaint for sample in samples())


@pytest.mark.parametrize("arguments", [["demo"], [str(sample_named("coding-agent").path)]])
def test_without_a_terminal_the_screen_is_refused_with_the_way_to_a_report(arguments: list[str]):
    outcome = run_program(*arguments)

    assert outcome.code == 2
    assert "inspector report " in outcome.complaint


def test_a_terminal_that_can_only_print_lines_gets_no_screen():
    program = started("demo", TERM="dumb")
    program.expect(pexpect.EOF)
    program.close()

    assert program.exitstatus == 2
    assert b"\x1b[?1049h" not in program.before


def test_the_demo_lets_three_sessions_grow_and_cleans_up_when_it_is_left(tmp_path: Path):
    program = started("demo", TMPDIR=str(tmp_path))
    try:
        program.expect("Timeline")
        sizes = {copy: copy.stat().st_size for copy in tmp_path.glob("inspector-*/*/*.jsonl")}
        assert len(sizes) == 3
        wait_until(lambda: all(copy.stat().st_size > size for copy, size in sizes.items()))
        program.send("q")
        program.expect(pexpect.EOF)
    finally:
        kill(program)

    assert program.exitstatus == 0
    assert list(tmp_path.iterdir()) == []


def test_paths_without_a_command_open_the_screen(corpus: Path):
    program = started(str(corpus / "claude-code/acc53d32-5580-4747-9273-e2acff2ba566.jsonl"))
    try:
        program.expect("Timeline")
        program.send("q")
        program.expect(pexpect.EOF)
    finally:
        kill(program)

    assert program.exitstatus == 0


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {}])
def test_reports_have_colours_on_a_terminal_unless_no_one_wants_them(variables: dict[str, str]):
    program = started("report", str(sample_named("terminal-agent").path), **variables)
    program.expect(pexpect.EOF)
    program.close()

    assert program.exitstatus == 0
    assert (b"\x1b[1m" in program.before) is (not variables)
