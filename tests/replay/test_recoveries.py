"""Cut texts that were needed later, and their price, compared with a walk over every prompt."""

import json
import re
from math import ceil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.replay.analysis.plan_outcome import savings_of
from inspector.replay.analysis.recoveries import NO_REFETCHES, TRIED, Recoveries, recoveries
from inspector.replay.analysis.reuse import NeedKind, find_reuse
from inspector.replay.engine.replay import Replay, replay
from inspector.session.model import BlockKind, Role, Session
from inspector.session.open import open_session
from inspector.strategies.core.operations import CutText, RemoveBlock
from inspector.strategies.core.strategy import Decision
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan, PlanEntry
from tests.conftest import ROOT
from tests.examples import examples
from tests.replay.refetches_by_hand import refetches_by_hand
from tests.replay.synthetic import SessionBuilder, Told, orders_for
from tests.replay.test_ledger import inputs_of

MODEL = "claude-opus-4-6"
REMOVED = Decision(RemoveBlock(), "old")
SAMPLES = ROOT / "sample_sessions"


class Script:
    def __init__(self, model: str = MODEL) -> None:
        self.model = model
        self.builder = SessionBuilder()
        self.builder.add(Role.USER, self.builder.block(BlockKind.USER_TEXT, "please repair the guard"))
        self.count = 0

    def call(self, tool: str, result: str, *, fails: bool = False, **arguments: object) -> None:
        self.count += 1
        name = f"c{self.count}"
        asked = self.builder.block(BlockKind.TOOL_CALL, json.dumps(arguments), tool, name)
        self.builder.respond(asked, model=self.model, time=self.count * 10.0)
        self.builder.add(Role.USER, self.builder.block(BlockKind.TOOL_RESULT, result, tool, name, is_error=fails))

    def say(self, text: str) -> None:
        self.count += 1
        said = self.builder.block(BlockKind.ASSISTANT_TEXT, text)
        self.builder.respond(said, model=self.model, time=self.count * 10.0)
        self.builder.add(Role.USER, self.builder.block(BlockKind.USER_TEXT, f"go on {self.count}"))

    def compact(self) -> None:
        self.builder.compact(0)
        self.builder.add(Role.USER, self.builder.block(BlockKind.USER_TEXT, f"a summary {self.count}"))

    def session(self) -> Session:
        return self.builder.session()


def results(session: Session) -> list[int]:
    return [index for index, block in enumerate(session.blocks) if block.kind is BlockKind.TOOL_RESULT]


def replays(session: Session, *orders: tuple[int, int, Decision]) -> tuple[Replay, Replay]:
    inputs = inputs_of(session)
    return replay(inputs, Plan()), replay(inputs, Plan((PlanEntry(Told(orders)),)))


def needed(session: Session, *orders: tuple[int, int, Decision]) -> Recoveries:
    baseline, planned = replays(session, *orders)
    return recoveries(baseline, planned, find_reuse(baseline.history))


def without_first(session: Session, call: int = 1) -> Recoveries:
    return needed(session, (results(session)[0], call, REMOVED))


def told(session: Session, found: Recoveries) -> list[tuple[NeedKind, int, str, str]]:
    """Kind, call and both texts of every need."""
    blocks = session.blocks
    return [
        (
            need.kind,
            need.call,
            session.text(blocks[need.block])[need.start : need.stop],
            session.text(blocks[need.use])[need.use_start : need.use_stop],
        )
        for need in found.needs
    ]


def test_a_word_only_one_result_had_that_is_written_after_it_was_cut_was_needed() -> None:
    script = Script()
    script.call("Read", "filler " * 20 + "resolve_route_table_v2 at line 88", file_path="a.py")
    script.say("I will look further")
    script.say("the guard is in resolve_route_table_v2")
    session = script.session()

    assert told(session, without_first(session)) == [
        (NeedKind.CITATION, 2, "resolve_route_table_v2", "resolve_route_table_v2")
    ]
    assert not without_first(session, call=3).needs, "it was written before it was cut"
    assert not needed(session).needs
    assert not needed(session, (results(session)[0], 1, Decision(CutText(20, 17, 40, "~"), "stale"))).needs


def test_only_the_first_need_of_a_result_counts() -> None:
    script = Script()
    script.call("Read", "first_symbol_here and second_symbol_here", file_path="a.py")
    script.say("see first_symbol_here")
    script.say("see second_symbol_here")
    session = script.session()

    found = without_first(session)

    assert [need.call for need in found.needs] == [1]
    assert (found.needed, found.calls) == (1, (1,))
    assert found.needs[0].removed_at == 1


def test_results_needed_at_one_call_are_one_recovery() -> None:
    script = Script()
    script.call("Read", "first_symbol_here", file_path="a.py")
    script.call("Read", "second_symbol_here", file_path="b.py")
    script.say("first_symbol_here calls second_symbol_here")
    session = script.session()
    found = needed(session, *((block, 2, REMOVED) for block in results(session)))

    assert (len(found.needs), found.needed) == (2, 1)


def test_an_edit_of_text_that_one_result_alone_showed_needs_it() -> None:
    shown = "     1\tdef guard(value):\n     2\t    return value and not value\n     3\t\n"
    old = "def guard(value):\n    return value and not value"
    for tool, arguments in (
        ("Edit", {"file_path": "a.py", "old_string": old, "new_string": "pass"}),
        ("MultiEdit", {"file_path": "a.py", "edits": [{"old_string": old, "new_string": "pass"}]}),
        (
            "apply_patch",
            {
                "input": "*** Begin Patch\n*** Update File: a.py\n-def guard(value):\n-    return value and "
                "not value\n+pass\n*** End Patch"
            },
        ),
        ("replace_in_file", {"path": "a.py", "diff": f"<<<<<<< SEARCH\n{old}\n=======\npass\n>>>>>>> REPLACE"}),
    ):
        script = Script()
        script.call("Read", shown, file_path="a.py")
        script.call(tool, "done", **arguments)
        session = script.session()
        found = without_first(session)
        assert [need.kind for need in found.needs] == [NeedKind.EXACT_TEXT], tool
        ((_, _, there, _),) = told(session, found)
        assert there == "def guard(value):\n     2\t    return value and not value"


def test_an_edit_of_text_that_is_elsewhere_too_needs_no_result() -> None:
    script = Script()
    script.call("Read", "return value and not value", file_path="a.py")
    script.call("Grep", "return value and not value", pattern="x")
    script.call("Edit", "done", file_path="a.py", old_string="return value and not value", new_string="pass")
    assert not without_first(script.session()).needs


def test_a_repeat_with_the_result_in_the_recorded_prompt_happens_anyway() -> None:
    script = Script()
    script.call("Read", "the same text", file_path="a.py")
    script.call("Read", "the same text", file_path="a.py")
    found = without_first(script.session())

    assert (found.needs, found.needed, found.repeats_anyway) == ((), 0, 1)
    assert found.expected.count.rate == pytest.approx(0.359 / 0.641), "of a read that is never sent whole"


def test_a_repeat_after_the_recorded_prompt_lost_the_result_is_a_fault() -> None:
    script = Script()
    script.call("Bash", "forty tests", command="pytest --collect-only")
    script.say("let me think")
    script.compact()
    script.call("Bash", "forty tests", command="pytest --collect-only")
    session = script.session()
    found = without_first(session)

    assert told(session, found) == [(NeedKind.FAULT, 2, "forty tests", '{"command": "pytest --collect-only"}')]
    assert found.repeats_anyway == 0
    assert not needed(session).needs, "the plan removed nothing"


@pytest.mark.parametrize(
    ("tool", "arguments", "write", "written"),
    [
        (
            "Read",
            {"file_path": "src/a.py"},
            "Edit",
            {"file_path": "/repo/src/a.py", "old_string": "x", "new_string": "y"},
        ),
        ("Read", {"file_path": "src/a.py"}, "Write", {"file_path": "src/a.py", "content": "y"}),
        ("Bash", {"command": "pytest -q"}, "Edit", {"file_path": "b.py", "old_string": "x", "new_string": "y"}),
        ("Bash", {"command": "pytest -q"}, "Bash", {"command": "sed -i s/a/b/ b.py"}),
        ("Bash", {"command": "ls"}, "Bash", {"command": "echo hello > notes.txt"}),
        ("Grep", {"pattern": "x"}, "Bash", {"command": "git checkout main"}),
    ],
)
def test_what_was_written_since_is_reread_for_that(tool, arguments, write, written) -> None:
    for between, faults in (((write, written), 0), (("Bash", {"command": "ls src 2>/dev/null | head"}), 1)):
        script = Script()
        script.call(tool, "what there is", **arguments)
        script.call(between[0], "fine", **between[1])
        script.compact()
        script.call(tool, "what there is", **arguments)
        assert without_first(script.session()).kinds[NeedKind.FAULT] == faults


def test_a_repeat_that_returns_something_else_or_failed_before_did_not_need_the_result() -> None:
    for first, second, fails in (("one", "other", False), ("same", "same", True)):
        script = Script()
        script.call("Bash", first, command="date", fails=fails)
        script.compact()
        script.call("Bash", second, command="date", fails=fails)
        assert not without_first(script.session()).needs


def test_a_path_a_symbol_or_a_line_that_one_result_showed_is_an_anchor_of_a_call() -> None:
    shown = "src/app/router.py:131: def resolve_route\nsrc/other_file.py"
    for arguments, anchor in (
        ({"file_path": "/home/me/repo/src/app/router.py", "offset": 131}, "src/app/router.py:131"),
        ({"file_path": "/home/me/repo/src/other_file.py"}, "src/other_file.py"),
        ({"pattern": "resolve_route", "path": "tests"}, "resolve_route"),
    ):
        script = Script()
        script.call("Grep", shown, pattern="def ")
        script.call("Read", "something", **arguments)
        session = script.session()
        ((kind, call, there, _),) = told(session, without_first(session))
        assert (kind, call, there) == (NeedKind.ANCHOR, 1, anchor)


def test_a_word_in_a_text_that_a_tool_writes_is_cited() -> None:
    script = Script()
    script.call("Read", "resolve_route_table_v2", file_path="a.py")
    script.call("Write", "done", file_path="b.py", content="import x\nresolve_route_table_v2()\n")
    session = script.session()
    assert [need.kind for need in without_first(session).needs] == [NeedKind.CITATION]


def test_what_the_agent_itself_had_cleared_by_then_is_not_the_plans_doing() -> None:
    script = Script()
    script.call("Read", "resolve_route_table_v2", file_path="a.py")
    script.say("well")
    script.builder.clear("c1")
    script.say("the guard is in resolve_route_table_v2")
    assert not without_first(script.session()).needs


def test_needs_are_pointers_and_the_expected_refetches_are_priced() -> None:
    script = Script()
    script.call("Read", "resolve_route_table_v2 " * 100, file_path="a.py")
    script.say("the guard is in resolve_route_table_v2")
    for step in range(3):
        script.say(f"step {step}")
    script.compact()
    script.say("after the compaction")
    session = script.session()
    baseline, planned = replays(session, (results(session)[0], 3, REMOVED))
    found = recoveries(baseline, planned, find_reuse(baseline.history))
    (expected,) = refetches_by_hand(planned)

    assert not found.needs, "it was used before it was cut"
    # Cut two calls after it was first sent: of such reads 35.9 % (21.7 to 48.8 %) are fetched again, and cut again.
    assert (expected.age, expected.at) == (2, 5)
    assert found.cost == pytest.approx(expected.usd * 0.359 / 0.641)
    assert found.later.cost_each_usd == pytest.approx(expected.usd)
    assert found.cost_at == {5: pytest.approx(found.cost)}
    assert found.net[0] == pytest.approx(found.saved - expected.usd * 0.488 / 0.512)
    assert found.net[1] == pytest.approx(found.saved - expected.usd * 0.217 / 0.783)
    assert found.saved == savings_of(baseline.figures, planned.figures).usd.value


def test_without_a_price_needs_are_counted_and_nothing_is_stated_of_dollars() -> None:
    script = Script(model="nobody-knows-it")
    script.call("Read", "resolve_route_table_v2", file_path="a.py")
    script.say("the guard is in resolve_route_table_v2")
    found = without_first(script.session())

    assert found.needed == 1
    assert found.expected.count.rate == pytest.approx(0.359 / 0.641)
    assert (found.cost, found.net) == (None, (None, None))
    assert (found.later.cost_each_usd, found.later.break_even_recoveries) == (None, None)
    assert not found.cost_at


NAMES = [f"symbol_{letter}{letter}_name" for letter in "abcdefgh"]


@st.composite
def needy_sessions(draw) -> Session:
    """Sessions in which symbols come up in results, and are written, asked for and read again."""
    script = Script()
    for _ in range(draw(st.integers(1, 9))):
        shown = " ".join(draw(st.lists(st.sampled_from(NAMES), max_size=3, unique=True)))
        what = draw(st.integers(0, 9))
        if what < 4:
            path = draw(st.sampled_from(["a.py", "b.py"]))
            script.call("Read", draw(st.sampled_from([shown, f"always the same of {path}"])), file_path=path)
        elif what < 6:
            script.call("Grep", "nothing", pattern=shown or "nothing at all")
        elif what < 9:
            script.say(f"well {shown}")
        else:
            script.compact()
            script.say("on with it")
    script.say("done")
    return script.session()


def slow_needs(planned: Replay) -> dict[int, int]:
    """The call of the first need of every result that was needed, by the definitions, text by text."""
    history = planned.history
    session, blocks = history.session, history.session.blocks
    response_of = {call.response: index for index, call in enumerate(session.calls)}
    texts = [session.text(block) for block in blocks]
    found: dict[int, int] = {}
    result_of = {int(history.call_block[result]): result for result in results(session)}
    for use, block in enumerate(blocks):
        call = response_of.get(int(history.message[use]))
        if call is None:
            continue
        for name in NAMES:
            holders = [other for other in range(use) if name in texts[other]]
            if len(holders) != 1 or name not in texts[use] or blocks[holders[0]].kind is not BlockKind.TOOL_RESULT:
                continue
            source = holders[0]
            if source in history.prompt(call) and name not in planned.text(source, call):
                found.setdefault(source, call)
        earlier = [
            other
            for other in range(use)
            if blocks[other].kind is BlockKind.TOOL_CALL and blocks[other].digest == block.digest
        ]
        if block.kind is not BlockKind.TOOL_CALL or not earlier:
            continue
        source, again = result_of[earlier[-1]], result_of[use]
        if blocks[source].digest != blocks[again].digest or source in history.prompt(call):
            continue
        sent = [each for each in range(call) if source in history.prompt(each)]
        if sent and planned.text(source, sent[-1]) != texts[source]:
            found.setdefault(source, call)
    return found


@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_needs_and_the_price_of_refetches_are_those_of_going_through_every_text(data) -> None:
    session = data.draw(needy_sessions())
    orders = data.draw(orders_for(session))
    baseline, planned = replays(session, *orders)
    found = recoveries(baseline, planned, find_reuse(baseline.history))

    assert {need.block: need.call for need in found.needs} == slow_needs(planned)
    expected = refetches_by_hand(planned)
    costs = [sum(each.usd * each.expected[end] for each in expected) for end in range(3)]
    assert found.expected.count == pytest.approx([sum(each.expected[end] for each in expected) for end in range(3)])
    assert (found.cost, found.net[1], found.net[0]) == pytest.approx(
        (costs[0], found.saved - costs[1], found.saved - costs[2])
    )
    for call, cost in found.cost_at.items():
        assert cost == pytest.approx(sum(each.usd * each.expected[0] for each in expected if each.at == call))
    assert sum(found.cost_at.values()) == pytest.approx(found.cost)


@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_recoveries_hold_together(data) -> None:
    session = data.draw(needy_sessions())
    baseline, planned = replays(session, *data.draw(orders_for(session)))
    uses = find_reuse(baseline.history)
    found = recoveries(baseline, planned, uses)

    assert found.needed == len(found.calls) <= len(found.needs)
    assert len(found.by_block) == len(found.needs) == sum(found.kinds.values())
    assert [need.call for need in found.needs] == sorted(need.call for need in found.needs)
    assert all(need.removed_at <= need.call and need.block < need.use for need in found.needs)
    assert found.cost >= 0
    assert found.net[0] <= found.saved - found.cost <= found.net[1] <= found.saved
    assert (found.later.cost_each_usd is None) == (found.expected.count.rate == 0)
    if found.later.break_even_recoveries is not None:
        assert found.later.break_even_recoveries == max(ceil(found.saved / found.later.cost_each_usd - 1e-9), 1)
        assert found.later.break_even_recoveries >= found.expected.count.rate or found.saved < found.cost
    calls = 100 * (247 / 341) * found.expected.count.rate / len(session.calls)
    is_good = found.envelope.is_tried and calls <= 5 and found.saved > 2 * found.cost
    assert found.is_recommendable == is_good
    nothing = recoveries(baseline, baseline, uses)
    assert (nothing.needs, nothing.expected, nothing.envelope, nothing.cost) == ((), NO_REFETCHES, TRIED, 0)


@pytest.mark.parametrize("name", ["coding-agent.jsonl", "security-agent.jsonl"])
def test_evidence_on_samples_says_the_same_in_both_places(name: str) -> None:
    history = History.of(open_session(SAMPLES / name))
    session, uses = history.session, find_reuse(history)
    said = 0
    for row in range(len(uses)):
        there = session.text(session.blocks[int(uses.block[row])])[int(uses.start[row]) : int(uses.stop[row])]
        where = session.text(session.blocks[int(uses.use[row])])[int(uses.use_start[row]) : int(uses.use_stop[row])]
        if uses.kind[row] == NeedKind.CITATION:
            assert there == where
        if uses.kind[row] == NeedKind.ANCHOR:
            assert there in where or there.rpartition(":")[2] == where
        if uses.kind[row] == NeedKind.EXACT_TEXT:
            assert set(re.findall(r"\w+", json.loads(f'"{where}"'))) <= set(re.findall(r"\w+", there))
        said += 1
    assert said
