"""The envelope of what has been tried, on sessions made for each of its limits."""

import pytest

from inspector.replay.analysis.recoveries import TRIED, Envelope, EvidenceLevel, envelope
from inspector.replay.engine.replay import replay
from inspector.session.model import BlockKind, Role, Session
from inspector.strategies.core.operations import CutText, RemoveBlock, ReplaceText
from inspector.strategies.core.strategy import Decision
from inspector.strategies.plan import Plan, PlanEntry
from tests.replay.synthetic import SessionBuilder, Told
from tests.replay.test_ledger import inputs_of

REMOVED = Decision(RemoveBlock(), "old")
CALLS = 30


def session_of(*tools: str, characters: int = 100, **paths: str) -> Session:
    """A session of 30 calls of tools, `Bash` after those given; `path_2="a.py"` names the file of the third one."""
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "goal"))
    for turn in range(CALLS):
        tool = tools[turn] if turn < len(tools) else "Bash"
        path = paths.get(f"path_{turn}", f"{turn}.py")
        thought = builder.block(BlockKind.THINKING, f"thought {turn}")
        call = builder.block(BlockKind.TOOL_CALL, f'{{"path": "{path}"}}', tool, f"c{turn}")
        builder.respond(thought, call, model="claude-opus-4-6", time=10.0 * turn)
        text = f"{turn:03}" + "r" * (characters - 3)
        builder.add(Role.USER, builder.block(BlockKind.TOOL_RESULT, text, tool, f"c{turn}"))
    return builder.session()


def cut(turn: int, age: int, decision: Decision = REMOVED, block: int = 3) -> tuple[int, int, Decision]:
    """A cut of a turn's result so many calls after it was first sent; `block` 1 is its thinking, 2 its tool call."""
    first_sent = turn + 1
    return 3 * turn + block, first_sent + age, decision


def verdict(session: Session, *orders: tuple[int, int, Decision]) -> Envelope:
    return envelope(replay(inputs_of(session), Plan((PlanEntry(Told(orders)),))))


def keep(characters: int) -> Decision:
    return Decision(CutText(limit=characters, head=characters, tail=0, marker=""), "long")


def test_nothing_cut_and_texts_of_the_user_are_no_cuts() -> None:
    assert verdict(session_of()) == TRIED
    assert verdict(session_of(), (0, 1, Decision(ReplaceText("go"), "said"))) == TRIED
    assert verdict(session_of(), cut(3, 0, Decision(ReplaceText("longer" * 50), "longer"))) == TRIED


@pytest.mark.parametrize("kept", [0, 100, 29_999])
def test_a_result_that_is_never_sent_whole_is_beyond(kept: int) -> None:
    session = session_of(characters=60_000)
    found = verdict(session, cut(3, 0, keep(kept)), cut(4, 0, keep(kept)), cut(5, 12))

    assert found.evidence is EvidenceLevel.BEYOND
    assert not found.is_tried
    assert found.never_whole == 2
    assert found.reason == "2 of 3 results are never sent whole; tried: 30,000 characters on arrival"


def test_a_result_cut_on_arrival_to_the_smallest_shipped_limit_is_tried() -> None:
    assert verdict(session_of(characters=60_000), cut(3, 0, keep(30_000))) == TRIED


def test_a_result_cut_on_arrival_stays_as_long_as_others_after_that() -> None:
    session = session_of("Bash", characters=31_000)
    first = cut(28, 0, keep(30_000))

    # Of the last turns: no newer results worth 40,000 tokens are behind them.
    found = verdict(session, first, cut(28, 1))
    assert found.reason.startswith("cuts results after 1 call; tried: 5 calls")


@pytest.mark.parametrize(("age", "is_tried"), [(1, False), (4, False), (5, True), (9, True)])
def test_results_of_commands_stay_five_calls(age: int, is_tried: bool) -> None:
    found = verdict(session_of(), cut(3, age))

    assert found.is_tried == is_tried
    calls = "1 call" if age == 1 else f"{age} calls"
    tried = "tried: 5 calls, 10 turns, or the newest 40,000 tokens"
    assert found.reason == ("" if is_tried else f"cuts results after {calls}; {tried}")


@pytest.mark.parametrize(("age", "is_tried"), [(5, False), (19, False), (20, True)])
def test_file_reads_stay_twenty_calls_where_other_results_are_cut_before_ten(age: int, is_tried: bool) -> None:
    found = verdict(session_of("Read"), cut(0, age), cut(2, 5))

    assert found.is_tried == is_tried
    assert is_tried or found.reason.startswith(f"cuts file reads after {age} calls; tried: 20 calls, 10 turns")


@pytest.mark.parametrize(("age", "is_tried"), [(9, False), (10, True)])
def test_ten_turns_are_enough_for_all_results(age: int, is_tried: bool) -> None:
    session = session_of("Read", "Bash", "frobnicate")

    assert verdict(session, cut(0, age), cut(1, age), cut(2, age)).is_tried == is_tried


@pytest.mark.parametrize(("characters", "is_tried"), [(13_333, False), (13_334, True)])
def test_anything_older_than_the_newest_40_000_tokens_of_results_may_go(characters: int, is_tried: bool) -> None:
    """Three newer results of 13,333 tokens are one short of it."""
    assert verdict(session_of("Read", characters=characters), cut(0, 3)).is_tried == is_tried


def test_results_that_are_older_or_not_yet_there_are_not_newer() -> None:
    assert not verdict(session_of(characters=13_334), cut(10, 2)).is_tried


@pytest.mark.parametrize(("tool", "path"), [("Read", "0.py"), ("Edit", "0.py"), ("Write", "0.py")])
def test_a_file_read_may_go_once_its_file_is_read_again_or_changed(tool: str, path: str) -> None:
    """The fourth call, whose result call 4 is the first to send, uses the file of the first one again."""
    session = session_of("Read", "Bash", "Bash", tool, path_3=path)

    assert verdict(session, cut(0, 3)).is_tried
    assert not verdict(session, cut(0, 2)).is_tried, "not before"


def test_a_change_of_another_file_and_a_command_on_the_same_one_supersede_nothing() -> None:
    assert not verdict(session_of("Read", "Bash", "Bash", "Edit", path_3="other.py"), cut(0, 3)).is_tried
    assert not verdict(session_of("Read", "Bash", "Bash", "Bash", path_3="0.py"), cut(0, 3)).is_tried


@pytest.mark.parametrize("block", [1, 2], ids=["thinking", "tool call"])
@pytest.mark.parametrize(("age", "is_tried"), [(0, False), (1, False), (4, False), (5, True)])
def test_the_agents_own_tool_calls_and_reasoning_stay_five_calls(block: int, age: int, is_tried: bool) -> None:
    found = verdict(session_of(), cut(3, age, block=block))

    assert found.is_tried == is_tried
    assert found.never_whole == 0
    assert is_tried or found.reason.startswith(f"cuts tool calls and reasoning after {age} call")
