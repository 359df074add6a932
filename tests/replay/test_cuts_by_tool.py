"""Cuts by tool, and the printed reports on described programs."""

from inspector.replay.analysis.breakdown import Breakdown, cuts_by_tool
from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import replay
from inspector.session.model import BlockKind, Role
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from tests.replay.synthetic import CharacterTable, SessionBuilder

MARKER = len("\n\n[... 600 chars trimmed from Bash output ...]\n\n")


def session_of(*results):
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "go"))
    for at, (tool, length) in enumerate(results):
        builder.respond(builder.block(BlockKind.TOOL_CALL, "{}", tool, f"c{at}"), model="gpt-4o")
        builder.add(Role.USER, builder.block(BlockKind.TOOL_RESULT, "r" * length, tool, f"c{at}"))
    builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, "done"), model="gpt-4o")
    return builder.session()


def replayed(session, *specs):
    inputs = ReplayInputs.of(History.of(session), CharacterTable(session))
    return replay(inputs, Plan()), replay(inputs, Plan.from_specs(specs))


def test_every_tool_has_what_its_results_measured_what_was_inserted_and_what_that_saved_in_all():
    session = session_of(("Bash", 1_000), ("Read", 300), ("Bash", 1_000))

    found = cuts_by_tool(Breakdown(*replayed(session, "trim-at-insertion:threshold=500,head=200,tail=200")))

    # The first is sent at three calls, the other at one.
    inserted = 400 + MARKER
    assert [(row.tool, row.results, row.original_tokens, row.sent_tokens, row.saved_tokens) for row in found] == [
        ("Bash", 2, 2_000, 2 * inserted, 4 * (1_000 - inserted))
    ]


def test_a_tool_whose_results_grow_saves_less_than_nothing():
    session = session_of(("Bash", 501))

    (row,) = cuts_by_tool(Breakdown(*replayed(session, "trim-at-insertion:threshold=500,head=500,tail=0")))

    assert row.sent_tokens > row.original_tokens
    assert row.saved_tokens == row.original_tokens - row.sent_tokens


def test_a_plan_that_cuts_nothing_has_no_rows():
    assert cuts_by_tool(Breakdown(*replayed(session_of(("Bash", 10)), "trim-at-insertion"))) == ()


def test_a_token_budget_says_what_its_program_prints_with_the_numbers():
    session = session_of(("Bash", 900), ("Bash", 900), ("Bash", 900), ("Bash", 900))

    _, planned = replayed(session, "token-budget:budget=1500,keep=100")

    tokens = planned.ledger.prompt_tokens.tolist()
    over = [call for call in range(1, 6) if tokens[call - 1] > 1_500]
    assert [notice.call for notice in planned.edits.notices] == over == [3, 4, 5]
    assert [notice.text for notice in planned.edits.notices] == [
        f"Note: Compacted 1 old tool result(s) — input tokens ({tokens[call - 1]:,}) exceeded budget (1,500)"
        for call in over
    ]


def test_a_program_that_did_nothing_prints_nothing():
    _, planned = replayed(session_of(("Bash", 900), ("Bash", 900)), "token-budget:budget=1000000")

    assert planned.edits.notices == ()
