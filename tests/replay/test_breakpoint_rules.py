"""Breakpoints of each cache control rule in short prompts, placed by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.replay.cache.breakpoint_rules import (
    MAX_BREAKPOINTS,
    BreakpointPlacer,
    BreakpointRule,
    EntryRole,
    PromptEntries,
)
from inspector.session.model import BlockKind

S, U, A, T, C, R, I, X = (  # noqa: E741  the kinds of a picture are read as a word
    BlockKind.SYSTEM_TEXT,
    BlockKind.USER_TEXT,
    BlockKind.ASSISTANT_TEXT,
    BlockKind.THINKING,
    BlockKind.TOOL_CALL,
    BlockKind.TOOL_RESULT,
    BlockKind.IMAGE,
    BlockKind.OTHER,
)

RUN = [(S, 0), (U, 1), (A, 2), (C, 2), (C, 2), (R, 3), (R, 3), (A, 4), (U, 5), (T, 6), (C, 6), (R, 7)]
"""A system prompt, a question, two calls at once, their results, an answer, a question, a call and its result."""


def placed(blocks: list[tuple[BlockKind, int]], rule: BreakpointRule, count: int | None = None) -> tuple[int, ...]:
    entries = PromptEntries.of([kind for kind, _ in blocks], [message for _, message in blocks])
    return BreakpointPlacer(entries).marks(rule, len(blocks) if count is None else count)


@pytest.mark.parametrize(
    ("rule", "marks"),
    [
        (BreakpointRule.END, (12,)),
        (BreakpointRule.SWE_AGENT, (9, 12)),
        (BreakpointRule.HERMES_19, (1, 9, 11, 12)),
        (BreakpointRule.HERMES_21, (1, 11, 12)),
        (BreakpointRule.HERMES_21_TOOLS, (0, 1, 8, 12)),
    ],
)
def test_marks_of_a_whole_run_stand_where_each_agent_puts_them(rule: BreakpointRule, marks: tuple[int, ...]) -> None:
    assert placed(RUN, rule) == marks


@pytest.mark.parametrize(
    ("rule", "marks"),
    [
        (BreakpointRule.END, (7,)),
        (BreakpointRule.SWE_AGENT, (6, 7)),
        (BreakpointRule.HERMES_19, (1, 5, 6, 7)),
        (BreakpointRule.HERMES_21, (1, 6, 7)),
        (BreakpointRule.HERMES_21_TOOLS, (0, 1, 7)),
    ],
)
def test_results_that_answer_calls_at_once_are_messages_of_their_own_and_one_turn(
    rule: BreakpointRule, marks: tuple[int, ...]
) -> None:
    assert placed(RUN, rule, 7) == marks


def test_a_question_ends_a_turn_only_while_nothing_follows_it() -> None:
    assert placed(RUN, BreakpointRule.HERMES_21_TOOLS, 2) == (0, 1, 2)
    assert placed(RUN, BreakpointRule.HERMES_21_TOOLS, 9) == (0, 1, 8, 9)
    assert 9 not in placed(RUN, BreakpointRule.HERMES_21_TOOLS, 12)


def test_where_the_file_holds_no_system_prompt_its_mark_stands_before_the_first_block() -> None:
    assert placed(RUN[1:3], BreakpointRule.HERMES_19) == (0, 1, 2)


def test_pictures_go_with_the_result_that_shows_them_and_what_is_never_sent_is_no_entry() -> None:
    entries = PromptEntries.of([U, X, C, R, I, U, I], [0, 0, 1, 2, 2, 2, 3])
    assert entries.roles == (EntryRole.USER, EntryRole.ASSISTANT, EntryRole.TOOL, EntryRole.USER, EntryRole.USER)
    assert entries.starts == (0, 2, 3, 5, 6)
    assert entries.ends == (2, 3, 5, 6, 7)


def test_an_empty_prompt_has_no_messages_to_mark() -> None:
    assert [placed([], rule) for rule in BreakpointRule] == [(), (0,), (), (0,), (0,), (0,)]


@given(st.lists(st.tuples(st.sampled_from(BlockKind), st.booleans())), st.data())
def test_marks_rise_within_the_prompt_and_are_at_most_four(drawn, data) -> None:
    messages, message = [], 0
    for _, is_new in drawn:
        message += is_new
        messages.append(message)
    placer = BreakpointPlacer(PromptEntries.of([kind for kind, _ in drawn], messages))
    count = data.draw(st.integers(0, len(drawn)))
    for rule in BreakpointRule:
        marks = placer.marks(rule, count)
        assert len(marks) <= MAX_BREAKPOINTS
        assert list(marks) == sorted(set(marks))
        assert all(0 <= mark <= count for mark in marks)
