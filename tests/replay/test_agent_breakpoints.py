"""Where agents set cache breakpoints: the rules on prompts worked out by hand, and which rule a session has."""

import dataclasses

import numpy as np
import pytest
from msgspec import structs

from inspector.replay.cache.agent_breakpoints import (
    LEAST,
    MAX_PER_REQUEST,
    MOST,
    RULES,
    agent_rule,
    breakpoints_of_prompts,
)
from inspector.replay.engine.inputs import ReplayInputs
from inspector.session.model import BlockKind, RecordedBreakpoint, Role, Session, Usage
from inspector.strategies.history.history import History
from tests.replay.synthetic import CharacterTable, SessionBuilder

SYSTEM, USER, SAID, CALL, RESULT, IMAGE = (
    BlockKind.SYSTEM_TEXT,
    BlockKind.USER_TEXT,
    BlockKind.ASSISTANT_TEXT,
    BlockKind.TOOL_CALL,
    BlockKind.TOOL_RESULT,
    BlockKind.IMAGE,
)

# Blocks                0       1     2     3     4     5       6       7     8     9     10
CONVERSATION = [SYSTEM, USER, SAID, CALL, CALL, RESULT, RESULT, USER, SAID, CALL, RESULT]
MESSAGES = [0, 1, 2, 2, 2, 3, 3, 4, 5, 5, 6]
PROMPTS = [2, 8, 11]
"""Prompts of three calls: up to the question, the user's remark on two results, and the last result."""


def placed(rule: str, kinds: list[BlockKind], messages: list[int], prompts: list[int]) -> list[list[int]]:
    """The breakpoints of each prompt, as block counts before them."""
    arrays = (np.array(each, dtype=np.int64) for each in (kinds, messages, prompts))
    found = breakpoints_of_prompts(RULES[rule], *arrays)
    assert found.shape == (len(prompts), MAX_PER_REQUEST)
    assert (np.diff(found, axis=1) >= 0).all()
    return [[count for count in row if count >= 0] for row in found.tolist()]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("end", [[2], [8], [11]]),
        ("claude-code", [[1, 2], [1, 8], [1, 11]]),
        ("pi", [[1, 2], [1, 8], [1, 11]]),
        # User messages of a request: the question; both results and the remark; the last result.
        ("cline", [[1, 2], [1, 2, 8], [1, 8, 11]]),
        ("vscode-copilot", [[1, 2], [1, 2, 8], [1, 8, 11]]),
        ("langchain", [[1, 2], [1, 8], [1, 11]]),
        # The last message of user or tool alone.
        ("openhands", [[1, 2], [1, 8], [1, 11]]),
        # The response of blocks 2 to 4 ends at 5, the one of blocks 8 and 9 at 10.
        ("opencode", [[1, 2], [1, 5, 8], [1, 10, 11]]),
        # Every result is a message: the second ends at 7.
        ("swe-agent", [[2], [7, 8], [8, 11]]),
        ("hermes", [[1, 2], [1, 7, 8], [1, 10, 11]]),
        ("hermes-0.19", [[1, 2], [1, 6, 7, 8], [1, 8, 10, 11]]),
    ],
)
def test_breakpoints_by_rule(rule: str, expected: list[list[int]]) -> None:
    assert placed(rule, CONVERSATION, MESSAGES, PROMPTS) == expected


def test_every_rule_is_tried_by_hand() -> None:
    (mark,) = (each for each in test_breakpoints_by_rule.pytestmark if each.name == "parametrize")
    assert {rule for rule, _ in mark.args[1]} == set(RULES)


def test_a_system_prompt_that_is_not_recorded_has_a_breakpoint_before_the_first_block() -> None:
    assert placed("claude-code", CONVERSATION[1:], MESSAGES[1:], [1, 7]) == [[0, 1], [0, 7]]
    assert placed("end", CONVERSATION[1:], MESSAGES[1:], [1, 7]) == [[1], [7]]


def test_a_prompt_that_ends_within_a_message_has_its_last_breakpoint_at_its_end() -> None:
    assert placed("claude-code", CONVERSATION, MESSAGES, [6]) == [[1, 6]]
    assert placed("opencode", CONVERSATION, MESSAGES, [6]) == [[1, 5, 6]]


def test_an_image_of_a_result_is_part_of_its_message() -> None:
    kinds, messages = [USER, CALL, RESULT, IMAGE, CALL, RESULT], [0, 1, 2, 2, 3, 4]

    assert placed("swe-agent", kinds, messages, [4, 6]) == [[1, 4], [4, 6]]
    assert placed("hermes-0.19", kinds, messages, [6]) == [[0, 4, 5, 6]]


def test_no_blocks_have_no_messages() -> None:
    assert placed("end", [], [], [0]) == [[]]
    assert placed("claude-code", [], [], [0]) == [[0]]


@pytest.mark.parametrize(
    ("agent", "session_format", "rule"),
    [
        ("Claude Code 2.1.219", "claude-code", "claude-code"),
        ("", "claude-code", "claude-code"),
        ("Roo Code 3.28", "", "cline"),
        ("Cline 3.17", "", "cline"),
        ("Kilo Code", "", "cline"),
        ("pi 0.52", "pi", "pi"),
        ("OpenClaw 2026.1", "", "pi"),
        ("OpenHands 1.2", "openhands-v1", "openhands"),
        ("", "opencode", "opencode"),
        ("Hermes", "hermes", "hermes"),
        ("Hermes Agent 0.19.2", "hermes", "hermes-0.19"),
        ("Hermes Agent 0.21.0", "hermes", "hermes"),
        ("GitHub Copilot Chat 0.41", "vscode-chat", "vscode-copilot"),
        ("deepagents 0.4", "", "langchain"),
        ("SWE-agent 1.1", "swe-agent", "swe-agent"),
    ],
)
def test_rules_of_agents_by_name_or_format(agent: str, session_format: str, rule: str) -> None:
    assert agent_rule(agent, session_format) is RULES[rule]


@pytest.mark.parametrize(
    ("agent", "session_format"), [("Codex 0.44.0", "codex"), ("Copilot CLI 1.0", "copilot"), ("", ""), ("", "own")]
)
def test_agents_without_a_known_rule_have_none(agent: str, session_format: str) -> None:
    assert agent_rule(agent, session_format) is None


def session_of(agent: str = "", turns: int = 3) -> Session:
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(USER, "goal"))
    for turn in range(turns):
        call = builder.block(CALL, "{}", "Bash", f"c{turn}")
        builder.respond(call, model="claude-opus-4-6", time=10.0 * turn)
        builder.add(Role.USER, builder.block(RESULT, f"result {turn}", "Bash", f"c{turn}"))
    return dataclasses.replace(builder.session(), agent=agent)


def inputs_of(session: Session) -> ReplayInputs:
    return ReplayInputs.of(History.of(session), CharacterTable(session))


def marks_of(inputs: ReplayInputs) -> list[list[int]]:
    """The breakpoints of the recorded calls."""
    assert inputs.breakpoints is not None
    rows = inputs.breakpoints.blocks[: inputs.history.call_count]
    return [[count for count in row if count >= 0] for row in rows.tolist()]


def test_an_unknown_agent_has_the_rule_that_caches_least() -> None:
    inputs = inputs_of(session_of("a program of one's own"))

    assert inputs.known_rule is None
    assert inputs.breakpoint_rule is LEAST
    assert marks_of(inputs) == [[0, 1], [0, 3], [0, 5]]
    assert LEAST.newest < MOST.newest


def test_the_agent_of_the_session_decides_unless_a_rule_is_named() -> None:
    inputs = inputs_of(session_of("Hermes"))

    assert inputs.known_rule is RULES["hermes"]
    assert marks_of(inputs) == [[0, 1], [0, 2, 3], [0, 4, 5]]
    assert marks_of(inputs.with_rule(RULES["end"])) == [[1], [3], [5]]


def test_breakpoints_of_recorded_requests_win_over_the_rule() -> None:
    session = session_of("Hermes")
    first, second, third = session.calls
    marks = tuple(RecordedBreakpoint(count) for count in (1, 2))
    recorded = dataclasses.replace(session, calls=(first, structs.replace(second, marks=marks), third))

    assert marks_of(inputs_of(recorded)) == [[0, 1], [1, 2], [0, 4, 5]]
    assert marks_of(inputs_of(recorded).with_rule(RULES["end"])) == [[1], [3], [5]]


def test_a_recorded_request_without_breakpoints_has_none_unless_its_usage_shows_a_cache() -> None:
    session = session_of("Hermes")
    first, second, third = session.calls
    cached = structs.replace(third, marks=(), usage=Usage(uncached=1, cache_read=9, output=1))
    bare = structs.replace(second, marks=(), usage=Usage(uncached=10, output=1))
    recorded = dataclasses.replace(session, calls=(first, bare, cached))

    assert marks_of(inputs_of(recorded)) == [[0, 1], [], [0, 4, 5]]


def test_a_provider_that_caches_without_breakpoints_has_none() -> None:
    session = session_of()
    calls = tuple(structs.replace(call, model="gpt-4o") for call in session.calls)

    assert inputs_of(dataclasses.replace(session, calls=calls)).breakpoints is None
