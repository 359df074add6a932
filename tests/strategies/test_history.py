import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.session.follow import Follower
from inspector.session.model import Context, Session
from inspector.strategies.history.history import NEVER, History
from tests.examples import examples
from tests.replay.synthetic import sessions

RECORDED = (
    "5c0375b4-57a5-4f26-b12d-d022ee4e51b7.jsonl",
    "fe5e1c67-53e7-4862-81ae-d0e013e3270b.jsonl",
    "8ecab05f-4481-43d6-9428-a6b177981877.jsonl",
)


def first_messages(session: Session, count: int) -> Session:
    """The session as it was when it had so many messages."""
    calls = tuple(call for call in session.calls if call.response < count)
    contexts = []
    for context in session.contexts:
        members = tuple(member for member in context.members if member < count)
        if members:
            grown = Context(members, min(context.retained, len(members)), context.cause, context.thread)
            contexts.append(context if grown == context else grown)
    return dataclasses.replace(session, messages=session.messages[:count], calls=calls, contexts=tuple(contexts))


def columns(history: History) -> dict[str, list]:
    found = {}
    for field in dataclasses.fields(history):
        value = getattr(history, field.name)
        if isinstance(value, np.ndarray):
            found[field.name] = np.nan_to_num(value, nan=-1.0).tolist()
    members = [context.tolist() for context in history.context_members]
    return {**found, "tool_names": history.tool_names, "context_members": members}


@settings(max_examples=examples(80), deadline=None)
@given(st.data())
def test_a_history_that_grew_equals_one_made_afresh(data):
    session = data.draw(sessions())
    cuts = sorted(data.draw(st.sets(st.integers(0, len(session.messages)), max_size=5)))
    history = None
    for count in [*cuts, len(session.messages)]:
        history = History.of(first_messages(session, count), history)

    assert columns(history) == columns(History.of(session))


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(RECORDED), st.data())
def test_the_history_of_a_recorded_session_that_grew_equals_one_made_afresh(corpus, tmp_path, name, data):
    """Compactions, rewinds and subagents among other conversations' lines."""
    lines = (corpus / "claude-code" / name).read_bytes().splitlines(keepends=True)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(lines)), min_size=1, max_size=6)))
    path = tmp_path / "growing.jsonl"
    path.write_bytes(b"".join(lines[: cuts[0]]))
    follower = Follower(path)
    history = History.of(follower.session)
    for before, after in pairwise([*cuts, len(lines)]):
        with path.open("ab") as file:
            file.writelines(lines[before:after])
        follower.poll()
        history = History.of(follower.session, history)

    assert columns(history) == columns(History.of(follower.session))


@pytest.mark.parametrize("name", RECORDED)
def test_what_a_session_adds_line_by_line_changes_no_earlier_history_of_it(corpus, tmp_path, name):
    lines = (corpus / "claude-code" / name).read_bytes().splitlines(keepends=True)
    path = tmp_path / "growing.jsonl"
    begun = len(lines) // 2
    path.write_bytes(b"".join(lines[:begun]))
    follower = Follower(path)
    histories = [History.of(follower.session)]
    then = [columns(histories[0])]
    for line in lines[begun:][:60]:
        with path.open("ab") as file:
            file.write(line)
        if follower.poll() is not None:
            histories.append(History.of(follower.session, histories[-1]))
            then.append(columns(histories[-1]))

    assert len(histories) > 3
    assert [columns(history) for history in histories] == then
    assert then[-1] == columns(History.of(follower.session))


@settings(max_examples=examples(80), deadline=None)
@given(sessions())
def test_blocks_enter_with_the_first_prompt_that_holds_them_and_leave_with_the_first_that_does_not(session):
    history = History.of(session)
    prompts = [set(history.prompt(call).tolist()) for call in range(history.call_count + 1)]
    for block in range(len(session.blocks)):
        holding = [call for call, prompt in enumerate(prompts) if block in prompt]
        assert history.enters[block] == (holding[0] if holding else NEVER)
        later = [call for call in range(holding[0], len(prompts)) if block not in prompts[call]] if holding else []
        assert history.leaves[block] == (later[0] if later else NEVER)


@settings(max_examples=examples(40), deadline=None)
@given(sessions())
def test_a_prompt_is_its_messages_blocks_in_order(session):
    history = History.of(session)
    for call, recorded in enumerate(session.calls):
        members = session.contexts[recorded.context].members[: recorded.prompt_messages]
        expected = [
            block
            for message in members
            for block in range(session.first_blocks[message], session.first_blocks[message + 1])
        ]
        assert history.prompt(call).tolist() == expected
        assert history.call_last_message[call] == (members[-1] if members else -1)
