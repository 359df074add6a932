"""Breakdown of the context window, compared with a walk over every block of every prompt."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.replay.analysis.breakdown import Breakdown, resend_cost
from inspector.replay.analysis.context_blocks import (
    AROUND_TEXTS,
    NOT_RECORDED,
    SYSTEM_AND_TOOLS,
    RepeatKind,
    context_at,
    repeats_in,
)
from inspector.replay.analysis.context_breakdown import NO_FILE, NO_RESULT, NO_TOOL, Grouping, Scope, context_breakdown
from inspector.replay.engine.replay import replay
from inspector.replay.figure import HowKnown
from inspector.replay.pricing.rates import RateColumn
from inspector.replay.sessions import replay_session
from inspector.session.model import BlockKind, Role, Session, Usage
from inspector.session.open import open_session
from inspector.strategies.library.old_results import TieredStale
from inspector.strategies.plan import Plan, PlanEntry
from tests.conftest import ROOT
from tests.examples import examples
from tests.replay.synthetic import KnownTexts, SessionBuilder, Told, agent_sessions, orders_for, sessions
from tests.replay.test_ledger import inputs_of
from tests.replay.test_prompt_layout import order_by_call, sent_prompts


def planned(session, orders):
    return replay(inputs_of(session), Plan((PlanEntry(Told(orders)),)))


@settings(max_examples=examples(80), deadline=None)
@given(st.data())
def test_blocks_and_rest_add_up_to_every_prompt_the_ledger_has(data):
    session = data.draw(st.one_of(sessions(), agent_sessions()))
    outcome = planned(session, order_by_call(data.draw(orders_for(session))))
    for call in range(outcome.history.call_count + 1):
        context = context_at(outcome, outcome.state(call))
        assert context.sent.sum() + context.rest == pytest.approx(context.prompt.value)
        if call < outcome.history.call_count:
            assert context.prompt.value == outcome.ledger.prompt_tokens[call]
            assert (context.prompt.known is HowKnown.EXACT) == bool(
                outcome.inputs.reported[call] and outcome.ledger.removed_tokens[call] == 0
            )


@pytest.mark.parametrize("name", ["coding-agent.jsonl", "security-agent.jsonl", "local-agent.json"])
def test_what_no_text_represents_is_in_one_prompt_what_it_is_in_the_breakdown_of_the_session(name):
    outcome = replay_session(open_session(ROOT / "sample_sessions" / name), Plan(), precise=False)
    state = outcome.state(outcome.history.call_count)
    parts = context_breakdown(outcome, state, resend_cost(outcome), Grouping.ROLE).parts
    rows = {row.kind: row.carried_tokens for row in Breakdown(outcome, outcome).by_kind()}

    here = {part.name: part.tokens for part in parts}
    assert here.get(NOT_RECORDED, 0) == rows.get(SYSTEM_AND_TOOLS, 0)
    # Every row is rounded, and this one is the remainder.
    assert here[AROUND_TEXTS] == pytest.approx(rows[AROUND_TEXTS], abs=len(rows))


def test_a_session_that_was_rewritten_without_a_message_yet_has_an_empty_window():
    outcome = planned(Session("test", Path("test"), "test", (), (), (), KnownTexts({})), {})

    found = context_breakdown(outcome, outcome.state(0), resend_cost(outcome), Grouping.ROLE)

    assert sum(part.tokens for part in found.parts) == 0


@settings(max_examples=examples(80), deadline=None)
@given(st.data())
def test_a_block_takes_what_is_sent_of_it(data):
    session = data.draw(sessions())
    orders = order_by_call(data.draw(orders_for(session)))
    outcome = planned(session, orders)
    ratio = outcome.inputs.sizes.ratio
    for call, prompt in enumerate(sent_prompts(session, [orders])):
        context = context_at(outcome, outcome.state(call))
        sent = [0 if text is None else ratio[call] * len(text) for _, text in prompt]
        assert context.blocks.tolist() == [block for block, _ in prompt]
        assert context.sent.tolist() == pytest.approx(sent)
        whole = [ratio[call] * session.blocks[block].characters for block, _ in prompt]
        assert context.recorded.tolist() == pytest.approx(whole)


def expected_name(session: Session, grouping: Grouping, block: int, age: int) -> str:
    """The part a block belongs to, looked up one block at a time."""
    found = session.blocks[block]
    is_tool = found.kind in (BlockKind.TOOL_CALL, BlockKind.TOOL_RESULT)
    match grouping:
        case Grouping.ROLE:
            names = {BlockKind.USER_TEXT: "user", BlockKind.ASSISTANT_TEXT: "assistant"}
            return names.get(found.kind) or f"{found.kind.label}s"
        case Grouping.TOOL:
            return found.tool_name or NO_TOOL
        case Grouping.FILE:
            calls = [each for each in session.blocks[: block + 1] if each.kind is BlockKind.TOOL_CALL]
            call = next((each for each in calls[::-1] if each.tool_call_id == found.tool_call_id), None)
            name = found.tool_name or expected_name(session, Grouping.ROLE, block, age)
            if not is_tool or call is None:
                return f"{name} {NO_FILE}"
            return json.loads(call.preview).get("path", f"{name} {NO_FILE}")
        case Grouping.TIER:
            is_result = found.kind is BlockKind.TOOL_RESULT
            return TieredStale.for_session(session).tier_of(found.tool_name) if is_result else NO_RESULT
        case _:
            if age < 2:
                return ("new in this call", "1 call ago")[age]
            low = 2 ** (age.bit_length() - 1)
            return f"{low} to {2 * low - 1} calls ago"


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_parts_hold_the_blocks_of_their_name_and_their_tokens(data):
    session = data.draw(agent_sessions())
    orders = order_by_call(data.draw(orders_for(session)))
    outcome = planned(session, orders)
    carriage = resend_cost(outcome)
    call = data.draw(st.integers(0, outcome.history.call_count))
    context = context_at(outcome, outcome.state(call))
    enters = outcome.history.enters
    for grouping in (Grouping.ROLE, Grouping.TOOL, Grouping.FILE, Grouping.TIER, Grouping.AGE):
        blocks: dict[str, list[int]] = {}
        tokens: dict[str, float] = {}
        for block, sent in zip(context.blocks.tolist(), context.sent.tolist(), strict=True):
            name = expected_name(session, grouping, block, max(call - int(enters[block]), 0))
            blocks.setdefault(name, []).append(block)
            tokens[name] = tokens.get(name, 0.0) + sent
        found = context_breakdown(outcome, outcome.state(call), carriage, grouping)

        rest = {NOT_RECORDED: context.system, AROUND_TEXTS: context.rest - context.system}
        assert {part.name: sorted(part.blocks.tolist()) for part in found.parts if part.name not in rest} == {
            name: sorted(members) for name, members in blocks.items()
        }
        for part in found.parts:
            assert part.tokens == pytest.approx({**tokens, **rest}[part.name])
            if len(part.blocks):
                assert part.token_calls == pytest.approx(carriage.tokens[part.blocks].sum())
        assert sum(part.tokens for part in found.parts) == pytest.approx(context.prompt.value)
        assert found.everything.tokens == context.prompt.value


@settings(max_examples=examples(40), deadline=None)
@given(st.data())
def test_over_the_whole_session_parts_add_up_to_every_prompt_and_its_dollars(data):
    session = data.draw(sessions())
    outcome = planned(session, order_by_call(data.draw(orders_for(session))))
    state = outcome.state(outcome.history.call_count)
    found = context_breakdown(outcome, state, resend_cost(outcome), Grouping.ROLE, Scope.SESSION)
    ledger, rates = outcome.ledger, outcome.inputs.rates

    assert sum(part.token_calls for part in found.parts) == pytest.approx(ledger.prompt_tokens.sum())
    responses = ledger.output * rates.of_prompts(ledger.prompt_tokens)[:, RateColumn.OUTPUT]
    dollars = ledger.cost.sum() - responses.sum()
    assert sum(part.cost for part in found.parts) == pytest.approx(dollars)
    assert (found.everything.token_calls, found.everything.cost) == pytest.approx((ledger.prompt_tokens.sum(), dollars))


def test_a_prompt_the_provider_reported_is_exact_and_one_under_a_plan_is_not():
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "task"))
    call = builder.block(BlockKind.TOOL_CALL, "{}", "Read", "c0")
    builder.respond(call, usage=Usage(uncached=700, output=3))
    builder.add(Role.USER, builder.block(BlockKind.TOOL_RESULT, "r" * 400, "Read", "c0"))
    builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, "done"), usage=Usage(uncached=1_200, output=3))
    builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, "more"), usage=Usage(uncached=1_210, output=3))
    inputs = inputs_of(builder.session())
    plain, cut = replay(inputs, Plan()), replay(inputs, Plan.from_specs(["tiered-stale:default=10,data=10"]))

    assert [context_at(plain, plain.state(call)).prompt.value for call in range(3)] == [700, 1_200, 1_210]
    assert context_at(plain, plain.state(1)).prompt.known is HowKnown.EXACT
    assert context_at(plain, plain.state(3)).prompt.known is not HowKnown.EXACT
    assert context_at(cut, cut.state(2)).prompt.known is not HowKnown.EXACT
    assert context_at(cut, cut.state(2)).prompt.value < 1_210


def test_summaries_and_what_the_agent_injected_are_distinguished_from_what_people_said():
    builder = SessionBuilder()
    for text, fields in (("summary", {"is_summary": True}), ("reminder", {"is_meta": True}), ("question", {})):
        index = builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, text))
        message = builder.messages[index]
        builder.messages[index] = type(message)(message.role, message.blocks, **fields)
    outcome = replay(inputs_of(builder.session()), Plan())
    found = context_breakdown(outcome, outcome.state(0), resend_cost(outcome), Grouping.ROLE)
    assert {part.name: part.blocks.tolist() for part in found.parts if len(part.blocks)} == {
        "summaries": [0],
        "injected text": [1],
        "user": [2],
    }


class Reading:
    """A session that reads and edits files."""

    def __init__(self) -> None:
        self.builder = SessionBuilder()
        self.builder.add(Role.USER, self.builder.block(BlockKind.USER_TEXT, "task"))
        self.count = 0

    def tool(self, tool: str, result: str, **arguments: object) -> int:
        """Append a call and its result.

        Returns:
            The result's message.
        """
        identifier = f"c{self.count}"
        self.count += 1
        call = self.builder.block(BlockKind.TOOL_CALL, json.dumps(arguments), tool, identifier)
        self.builder.respond(call)
        return self.builder.add(Role.USER, self.builder.block(BlockKind.TOOL_RESULT, result, tool, identifier))

    def repeats(self, plan: Plan | None = None):
        """Kinds, by the message of the result, with the later one's."""
        session = self.builder.session()
        outcome = replay(inputs_of(session), plan or Plan())
        history = outcome.history
        found = repeats_in(history, context_at(outcome, outcome.state(history.call_count)))
        message = history.message
        return [(int(message[each.block]), each.kind, int(message[each.later]), each.path) for each in found]


LONG = "line of a file\n" * 20


def test_a_file_read_again_and_one_edited_since_are_found_with_what_represents_them():
    reading = Reading()
    first = reading.tool("Read", LONG + "1", path="a.py")
    other = reading.tool("Read", LONG + "2", path="b.py")
    edit = reading.tool("Edit", "ok", path="b.py")
    again = reading.tool("Read", LONG + "3", path="a.py")
    assert reading.repeats() == [
        (first, RepeatKind.READ_AGAIN, again, "a.py"),
        (other, RepeatKind.EDITED, edit - 1, "b.py"),
    ]


def test_an_edited_file_that_was_read_again_needs_only_the_newer_read():
    reading = Reading()
    first = reading.tool("Read", LONG + "1", path="a.py")
    reading.tool("Edit", "ok", path="a.py")
    again = reading.tool("Read", LONG + "2", path="a.py")
    assert reading.repeats() == [(first, RepeatKind.READ_AGAIN, again, "a.py")]


def test_another_part_of_a_file_does_not_represent_the_first():
    reading = Reading()
    first = reading.tool("Read", LONG + "1", path="a.py", offset=1, limit=20)
    reading.tool("Read", LONG + "2", path="a.py", offset=21, limit=20)
    assert reading.repeats() == []
    whole = reading.tool("Read", LONG + "3", path="a.py")
    kinds = {message: (kind, later) for message, kind, later, _ in reading.repeats()}
    assert kinds[first] == (RepeatKind.READ_AGAIN, whole)
    assert len(kinds) == 2


def test_the_same_text_from_any_tool_is_found_but_not_a_short_one():
    reading = Reading()
    first = reading.tool("Bash", LONG, command="cat a")
    reading.tool("Bash", "ok", command="true")
    reading.tool("Bash", "ok", command="true")
    later = reading.tool("Bash", LONG, command="cat a")
    assert reading.repeats() == [(first, RepeatKind.SAME, later, "")]


def test_what_a_plan_removed_is_not_there_to_be_repeated():
    reading = Reading()
    reading.tool("Read", LONG + "1", path="a.py")
    reading.tool("Read", LONG + "2", path="a.py")
    assert len(reading.repeats()) == 1
    assert reading.repeats(Plan.from_specs(["dedupe-reads"])) == []


def test_repeats_are_a_division_of_their_own():
    reading = Reading()
    first = reading.tool("Read", LONG + "1", path="a.py")
    reading.tool("Read", LONG + "2", path="a.py")
    outcome = replay(inputs_of(reading.builder.session()), Plan())
    state = outcome.state(outcome.history.call_count)
    found = context_breakdown(outcome, state, resend_cost(outcome), Grouping.REPEATS)
    (part,) = found.parts
    (block,) = part.blocks.tolist()
    assert part.name == RepeatKind.READ_AGAIN.value
    assert outcome.history.message[block] == first
    assert found.repeats[block].path == "a.py"


def test_an_empty_session_has_a_composition():
    outcome = replay(inputs_of(SessionBuilder().session()), Plan())
    for grouping in Grouping:
        found = context_breakdown(outcome, outcome.state(0), resend_cost(outcome), grouping)
        assert found.everything.tokens == found.context.prompt.value


def test_a_command_that_prints_or_writes_one_file_counts_for_it_and_another_for_the_program_it_begins_with():
    commands = {
        "1": {"command": ["bash", "-lc", "cat docs/plan.md"]},
        "2": {"command": ["bash", "-lc", "sed -n '1,20p' plan.md"], "workdir": "docs"},
        "3": {"command": "cat docs/plan.md other.md"},
        "4": {"command": "cd web && npm test"},
        "5": {"command": "$RUN it"},
        "6": {"command": "cat <<'END' > docs/plan.md\nstep\nEND"},
        "7": {"command": "cat <<'END' > docs/plan.md\nstep\nEND\nnpm test"},
    }
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "go"))
    for identifier, given_arguments in commands.items():
        arguments = json.dumps(given_arguments)
        builder.respond(builder.block(BlockKind.TOOL_CALL, arguments, "shell", identifier), usage=Usage(9_000))
        builder.add(Role.USER, builder.block(BlockKind.TOOL_RESULT, f"result {identifier}", "shell", identifier))
    outcome = planned(builder.session(), {})

    found = context_breakdown(outcome, outcome.state(7), resend_cost(outcome), Grouping.FILE)

    parts = {part.name: len(part.blocks) for part in found.parts if part.name.startswith(("shell", "docs"))}
    assert parts == {"docs/plan.md": 6, "shell: cat": 4, "shell: npm": 2, f"shell {NO_FILE}": 2}
