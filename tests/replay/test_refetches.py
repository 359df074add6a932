"""Expected re-fetches: rates by kind, age and size, and the price of one, worked out by hand."""

import dataclasses
import re
from statistics import median

import pytest
from msgspec import structs

from inspector.replay.analysis.recoveries import (
    CALLS_PER_REFETCH,
    COMMANDS,
    LARGE_READS,
    NO_REFETCHES,
    OLD_READS,
    OTHER,
    READS,
    MeasuredRate,
    Refetches,
    expected_refetches,
)
from inspector.replay.engine.replay import Replay, replay
from inspector.replay.pricing.prices import Pricing
from inspector.session.model import BlockKind, Role, Session
from inspector.strategies.core.operations import CutText, RemoveBlock, ReplaceText
from inspector.strategies.core.strategy import Decision
from inspector.strategies.plan import Plan, PlanEntry
from tests.conftest import ROOT
from tests.replay.synthetic import SessionBuilder, Told
from tests.replay.test_ledger import inputs_of

MODEL = "claude-opus-4-6"
REMOVED = Decision(RemoveBlock(), "old")
CALLS = 40


def session_of(
    tool: str = "Read", text: str = "r" * 1_000, model: str = MODEL, arguments: str = '{"path": "a.py"}'
) -> Session:
    """A session whose first call uses a tool; call 1 is the first to send its result. All others only say something."""
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "goal"))
    call = builder.block(BlockKind.TOOL_CALL, arguments, tool, "c0")
    builder.respond(call, model=model, time=0.0)
    builder.add(Role.USER, builder.block(BlockKind.TOOL_RESULT, text, tool, "c0"))
    for turn in range(1, CALLS):
        builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, f"turn {turn}"), model=model, time=10.0 * turn)
        builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, f"go on {turn}"))
    return builder.session()


def planned(session: Session, *orders: tuple[int, int, Decision]) -> Replay:
    return replay(inputs_of(session), Plan((PlanEntry(Told(orders)),)))


def expected(session: Session, *orders: tuple[int, int, Decision]) -> Refetches:
    return expected_refetches(planned(session, *orders))


PAGE = (ROOT / "docs" / "development" / "recorded-cuts.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("row", "used"),
    [
        *zip(("… age under 3", "… age under 5", "… age 5 to 19"), (rate for _, rate in READS), strict=True),
        ("… age 20 and over", OLD_READS),
        ("commands", COMMANDS),
        ("over 16,000 characters", LARGE_READS),
        ("cleared results", OTHER),
    ],
)
def test_the_rates_are_those_of_the_documented_measurement(row: str, used: MeasuredRate) -> None:
    (cell,) = re.findall(rf"^\| {row} \| ([^|]+) \|", PAGE, re.MULTILINE)
    count = re.match(r"([\d,]+), ", cell)
    numbers = re.findall(r"\N{MINUS SIGN}?\d+\.\d", cell)
    # No cut makes a re-fetch less likely: negative rates count as zero.
    shares = [max(float(each.replace("\N{MINUS SIGN}", "-")), 0.0) / 100 for each in numbers]
    assert used.rate == pytest.approx(shares)
    assert used.cuts == (None if count is None else int(count[1].replace(",", "")))


def test_a_refetch_is_the_documented_share_of_a_call() -> None:
    calls, refetches = map(int, re.findall(r"\((\d+) calls for (\d+) re-fetches", PAGE)[0])
    assert pytest.approx(calls / refetches) == CALLS_PER_REFETCH


RESULT = 2
"""The block of the result: after the goal and the call."""


@pytest.mark.parametrize(
    ("age", "rate"),
    [(0, 0.359), (2, 0.359), (3, 0.334), (4, 0.334), (5, 0.151), (19, 0.151), (20, 0.057), (30, 0.057)],
)
def test_the_rate_of_a_file_read_depends_on_its_age_at_the_cut(age: int, rate: float) -> None:
    found = expected(session_of(), (RESULT, 1 + age, REMOVED))

    assert found.count.rate == pytest.approx(rate / (1 - rate))
    assert found.is_measured


@pytest.mark.parametrize(
    ("tool", "rate"),
    [
        ("Bash", (0.0, 0.0, 0.016)),
        ("Grep", (0.0, 0.0, 0.016)),
        ("Edit", (0.0, 0.0, 0.016)),
        ("Write", (0.0, 0.0, 0.016)),
        ("list_directory", (0.0, 0.0, 0.016)),
        ("WebFetch", (0.058, 0.015, 0.094)),
        ("frobnicate", (0.058, 0.015, 0.094)),
        ("Read", (0.151, 0.086, 0.224)),
    ],
)
def test_the_rate_depends_on_the_kind_of_tool(tool: str, rate: tuple[float, float, float]) -> None:
    found = expected(session_of(tool), (RESULT, 8, REMOVED))

    assert found.count == pytest.approx([each / (1 - each) for each in rate])


def test_a_read_without_a_path_is_a_result_like_others() -> None:
    found = expected(session_of(arguments="{}"), (RESULT, 8, REMOVED))

    assert found.count.rate == pytest.approx(0.058 / 0.942)


@pytest.mark.parametrize(
    ("age", "characters", "rate"),
    [
        (30, 16_000, (0.057, 0.031, 0.084)),
        (30, 16_001, (0.160, 0.098, 0.225)),
        (8, 16_001, (0.160, 0.098, 0.225)),
        (1, 16_001, (0.359, 0.217, 0.488)),
    ],
)
def test_a_large_read_is_fetched_again_at_any_age(age: int, characters: int, rate: tuple[float, float, float]) -> None:
    found = expected(session_of(text="r" * characters), (RESULT, 1 + age, REMOVED))

    assert found.count == pytest.approx([each / (1 - each) for each in rate])


def test_a_large_output_of_a_command_is_a_command() -> None:
    assert expected(session_of("Bash", "r" * 20_000), (RESULT, 8, REMOVED)).count.rate == 0


def test_a_part_that_is_cut_counts_as_its_share_and_steps_as_the_age_of_each() -> None:
    half = Decision(CutText(limit=500, head=500, tail=0, marker=""), "half")

    one = expected(session_of(), (RESULT, 3, half))
    two = expected(session_of(), (RESULT, 3, half), (RESULT, 10, REMOVED))

    young, older = 0.359 / 2, 0.151 / 2
    assert one.count.rate == pytest.approx(young / (1 - young))
    assert two.count.rate == pytest.approx(young / (1 - young) + older / (1 - older))


def test_rates_of_several_results_add_up() -> None:
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "goal"))
    for turn, tool in enumerate(("Read", "Read", "WebFetch", "Bash")):
        call = builder.block(BlockKind.TOOL_CALL, f'{{"path": "{turn}.py"}}', tool, f"c{turn}")
        builder.respond(call, model=MODEL, time=10.0 * turn)
        builder.add(Role.USER, builder.block(BlockKind.TOOL_RESULT, f"{turn}" * 500, tool, f"c{turn}"))
    for turn in range(4, 30):
        builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, f"turn {turn}"), model=MODEL, time=10.0 * turn)
        builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, f"go on {turn}"))
    # Blocks 2, 4, 6 and 8 are the results, first sent by calls 1 to 4: cut after 3, 22, 7 and 6 calls.
    found = expected(builder.session(), (2, 4, REMOVED), (4, 24, REMOVED), (6, 10, REMOVED), (8, 10, REMOVED))

    again = 0.334 / 0.666 + 0.057 / 0.943 + 0.058 / 0.942
    assert found.count.rate == pytest.approx(again)
    assert found.count.low == pytest.approx(0.211 / 0.789 + 0.031 / 0.969 + 0.015 / 0.985)
    assert found.count.high == pytest.approx(0.462 / 0.538 + 0.084 / 0.916 + 0.094 / 0.906 + 0.016 / 0.984)
    assert found.per_100_calls.rate == pytest.approx(100 * again * (247 / 341) / 30)


def test_one_refetch_costs_its_share_of_a_call_the_text_written_and_read_until_it_is_cut_again() -> None:
    """A read of 1,000 tokens, cut after 8 calls, at call 9: priced at call 14, and in the prompts of calls 14 to 21."""
    run = planned(session_of(), (RESULT, 9, REMOVED))
    found = expected_refetches(run)

    rates = Pricing().rates(MODEL, 0.0)
    read, write, output = rates.cache_read / 1e6, rates.cache_write_5m / 1e6, rates.output / 1e6
    assert run.ledger.cache_read[14:].all()
    assert (run.ledger.uncached[14], run.ledger.cache_write_1h[14]) == (0, 0)
    ratio = run.inputs.sizes.ratio
    prompt, answer = int(run.ledger.prompt_tokens[14]), float(run.inputs.output[0])
    call = prompt * read + answer * output
    text = 1_000 * (ratio[14] * write + sum(ratio[15:22]) * read)
    rate = 0.151 / 0.849

    assert median([answer]) == answer
    assert found.cost.rate == pytest.approx(rate * (247 / 341 * call + text))
    assert found.cost.low / found.cost.high == pytest.approx((0.086 / 0.914) / (0.224 / 0.776))
    assert found.cost_at == {14: pytest.approx(found.cost.rate)}


def test_a_refetch_behind_the_last_call_is_priced_at_that_call() -> None:
    found = expected(session_of(), (RESULT, CALLS - 2, REMOVED))

    assert list(found.cost_at) == [CALLS - 1]


def test_calls_of_other_conversations_neither_age_a_result_nor_pay_for_it() -> None:
    """Calls 2 to 21 of 40 belong to a subagent: a cut at call 25 is five calls after the result was first sent."""
    session = session_of()
    first, last = session.calls[2].response, session.calls[21].response + 1
    messages = [
        structs.replace(each, thread=1) if first - 1 <= at < last else each for at, each in enumerate(session.messages)
    ]
    (context,) = session.contexts
    mine = tuple(at for at in context.members if messages[at].thread == 0)
    other = tuple(at for at in context.members if messages[at].thread == 1)
    contexts = (
        structs.replace(context, members=mine),
        structs.replace(context, members=other, thread=1),
    )
    calls = tuple(
        structs.replace(
            call,
            context=messages[call.response].thread,
            prompt_messages=contexts[messages[call.response].thread].members.index(call.response),
        )
        for call in session.calls
    )
    made = dataclasses.replace(session, messages=tuple(messages), contexts=contexts, calls=calls)

    five = expected(made, (RESULT, 25, REMOVED))
    during = expected(made, (RESULT, 10, REMOVED))

    # Sent by calls 1, 22, 23 and 24.
    assert five.count.rate == pytest.approx(0.334 / 0.666)
    assert list(five.cost_at) == [30]
    # No prompt shows a cut at call 10 before call 22, which is one call later.
    assert during.count.rate == pytest.approx(0.359 / 0.641)
    assert list(during.cost_at) == [27]


def test_without_a_price_refetches_are_counted() -> None:
    found = expected(session_of(model="nobody-knows-it"), (RESULT, 8, REMOVED))

    assert found.count.rate == pytest.approx(0.151 / 0.849)
    assert (found.cost, dict(found.cost_at)) == (None, {})


@pytest.mark.parametrize(
    "order",
    [
        (3, 8, Decision(ReplaceText("text of the model, which no rate is known for"), "said")),
        (1, 8, Decision(RemoveBlock(), "call")),
        (RESULT, 8, Decision(ReplaceText("longer" * 1_000), "longer")),
        (RESULT, CALLS, REMOVED),
    ],
    ids=["words", "a call", "made longer", "only in the next call"],
)
def test_a_plan_that_cuts_no_result_in_the_session_expects_none(order: tuple[int, int, Decision]) -> None:
    assert expected(session_of(), order) == NO_REFETCHES
    assert not NO_REFETCHES.is_measured
