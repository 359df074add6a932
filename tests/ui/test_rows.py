from dataclasses import fields, replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from inspector.session.model import BlockKind, Compaction, Context, ContextCause, Role, Session
from inspector.strategies.history.history import History
from inspector.ui.timeline.rows import Rows
from tests.ui import synthetic
from tests.ui.synthetic import block, message

RECORDED = synthetic.session(130, compact_every=50)


def same(first: Rows, second: Rows) -> bool:
    return told(first) == told(second) and all(
        np.array_equal(getattr(first, field.name), getattr(second, field.name), equal_nan=True)
        if isinstance(getattr(first, field.name), np.ndarray)
        else getattr(first, field.name) == getattr(second, field.name)
        for field in fields(Rows)
        if field.name not in {"history", "boundaries", "growing"}
    )


def told(rows: Rows) -> list[tuple[int, bool, str]]:
    return [(boundary.block, boundary.is_compaction, boundary.label) for boundary in rows.boundaries]


def test_every_block_has_a_row_and_every_context_but_the_first_one_more() -> None:
    rows = Rows.of(History.of(RECORDED))

    assert len(rows) == len(RECORDED.blocks) + 2
    assert rows.block[~rows.is_boundary].tolist() == list(range(len(RECORDED.blocks)))


def test_a_boundary_is_before_the_first_block_after_it() -> None:
    rows = Rows.of(History.of(RECORDED))

    boundary = int(np.flatnonzero(rows.is_boundary)[0])

    assert rows.row(boundary).boundary is not None
    assert rows.row(boundary).block == RECORDED.first_blocks[50]
    assert rows.row(boundary + 1).block == RECORDED.first_blocks[50]
    assert rows.row(boundary + 1).boundary is None
    assert rows.row(boundary + 1).starts_message


def test_rows_say_who_speaks() -> None:
    kinds = [
        (Role.SYSTEM, BlockKind.SYSTEM_TEXT, "S"),
        (Role.USER, BlockKind.USER_TEXT, "U"),
        (Role.USER, BlockKind.IMAGE, "U"),
        (Role.ASSISTANT, BlockKind.THINKING, "T"),
        (Role.ASSISTANT, BlockKind.ASSISTANT_TEXT, "A"),
        (Role.ASSISTANT, BlockKind.TOOL_CALL, "A"),
        (Role.TOOL, BlockKind.TOOL_RESULT, "R"),
        (Role.TOOL, BlockKind.DOCUMENT, "R"),
        (Role.OTHER, BlockKind.OTHER, "·"),
    ]
    recorded = replace(
        RECORDED,
        messages=tuple(message(role, block(kind, "text")) for role, kind, _ in kinds),
        calls=(),
        contexts=(),
        compactions=(),
    )

    rows = Rows.of(History.of(recorded))

    assert [rows.row(index).letter for index in range(len(rows))] == [letter for _, _, letter in kinds]


def test_a_row_knows_its_message_tool_time_thread_and_failure() -> None:
    recorded = synthetic.grown(
        RECORDED,
        message(
            Role.USER, block(BlockKind.TOOL_RESULT, "no", tool_name="[b", is_error=True), time=1_800_000_000.0, thread=3
        ),
    )
    rows = Rows.of(History.of(recorded))

    row = rows.row(len(rows) - 1)

    assert (row.message, row.tool, row.time, row.thread, row.is_error) == (131, "[b", 1_800_000_000.0, 3, True)
    assert rows.preview(row.index) == "no"
    assert rows.is_error[-1]
    assert rows.thread[-1] == 3


def test_a_block_is_found_by_its_index() -> None:
    rows = Rows.of(History.of(RECORDED))

    for index in range(len(rows)):
        row = rows.row(index)
        assert rows.index_of(row.block, boundary=row.boundary is not None) == index


def test_a_session_without_messages_has_no_rows() -> None:
    empty = replace(RECORDED, messages=(), calls=(), contexts=(), compactions=())
    rows = Rows.of(History.of(empty))

    assert len(rows) == 0
    assert rows.index_of(0) == -1
    assert rows.start_time is None


def test_what_the_agent_compacted_is_reported_in_words() -> None:
    context = Context(tuple(range(60, 130)), cause=ContextCause.REWIND)
    partial = Compaction(20, "auto\x1b", cleared_tool_call_ids=("a", "b"), tokens_saved=34_000)
    recorded = replace(
        RECORDED,
        calls=(),
        contexts=(Context(tuple(range(60))), context, Context((70, 71), thread=2)),
        compactions=(partial, Compaction(100, "manual")),
    )

    labels = [boundary.label for boundary in Rows.of(History.of(recorded)).boundaries]

    assert labels == [
        "2 tool results cleared, 34,000 tokens saved, auto␛",
        "rewind",
        "subagent 2",
        "compaction, manual",
    ]


@given(st.integers(0, 130), st.integers(0, 130))
def test_rows_built_from_an_earlier_state_are_the_rows_built_at_once(first: int, second: int) -> None:
    before = _prefix(first)
    after = _prefix(second)

    grown = Rows.of(History.of(after), Rows.of(History.of(before)))

    assert same(grown, Rows.of(History.of(after)))


def _cause(first: int) -> ContextCause:
    return ContextCause.COMPACTION if first else ContextCause.START


def _prefix(count: int) -> Session:
    return replace(
        RECORDED,
        messages=RECORDED.messages[:count],
        calls=(),
        contexts=tuple(
            Context(tuple(range(first, min(first + 50, count))), cause=_cause(first)) for first in range(0, count, 50)
        ),
        compactions=tuple(Compaction(first, "auto") for first in range(50, count, 50)),
    )


def test_results_cleared_right_before_a_compaction_are_reported_with_it() -> None:
    cleared = Compaction(100, "auto", cleared_tool_call_ids=("a", "b"), tokens_saved=34_000)
    compactions = (cleared, Compaction(100, "auto"))
    recorded = replace(RECORDED, calls=(), contexts=(Context(tuple(range(60))),), compactions=compactions)

    (boundary,) = Rows.of(History.of(recorded)).boundaries

    assert boundary.label == "compaction, 2 tool results cleared before, auto"
    assert boundary.cleared == (cleared,)
