"""Calls after compactions, compared with a count by hand."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.replay.analysis.compactions import CompactionAftermath, compaction_aftermaths
from inspector.replay.engine.replay import replay
from inspector.session.model import ContextCause
from inspector.strategies.plan import Plan
from tests.examples import examples
from tests.replay.synthetic import agent_sessions
from tests.replay.test_ledger import inputs_of
from tests.replay.test_recoveries import Script


def followed(script: Script) -> tuple[CompactionAftermath, ...]:
    return compaction_aftermaths(replay(inputs_of(script.session()), Plan()))


def worked() -> Script:
    """Reads, an edit, a compaction, and reads of the same and another file before the next edit."""
    script = Script()
    for name in ("a.py", "b.py", "c.py"):
        script.call("Read", f"text of {name}", file_path=name)
    script.call("Edit", "done", file_path="a.py", old_string="x", new_string="y")
    script.compact()
    for name in ("a.py", "b.py", "d.py"):
        script.call("Read", f"text of {name}", file_path=name)
    script.call("Edit", "done", file_path="b.py", old_string="x", new_string="y")
    return script


def test_work_until_the_next_edit_is_counted_with_what_is_read_again() -> None:
    script = worked()
    (found,) = followed(script)
    planned = replay(inputs_of(script.session()), Plan())

    assert (found.call, found.calls, found.reached) == (5, 4, True)
    assert (found.after.actions, found.reads, found.after.rereads) == (3, 3, 2)
    assert found.after.tokens == (planned.ledger.prompt_tokens + planned.ledger.output)[4:8].sum()
    assert found.after.usd == pytest.approx(planned.ledger.cost[4:8].sum())


def test_it_is_set_next_to_windows_of_as_many_calls_elsewhere() -> None:
    script = worked()
    for _ in range(3):
        for name in ("a.py", "e.py", "a.py"):
            script.call("Read", f"text of {name}", file_path=name)
        script.say("well")
    (found,) = followed(script)

    assert found.windows == 4, "one before it and three after"
    assert found.elsewhere is not None
    assert (found.calls, found.elsewhere.actions) == (4, 3)
    # Reads of files that were named before each window: none, two of three, then all three twice.
    assert found.elsewhere.rereads == 2.5


def test_a_step_is_finished_where_no_tool_is_called() -> None:
    script = Script()
    script.call("Read", "text", file_path="a.py")
    script.compact()
    script.call("Read", "text", file_path="a.py")
    script.say("done")
    (found,) = followed(script)

    assert (found.reached, found.calls, found.after.actions, found.windows) == (True, 2, 1, 0)
    assert found.elsewhere is None


def test_where_the_session_ends_before_an_edit_that_is_stated() -> None:
    script = Script()
    script.say("well")
    script.compact()
    script.call("Read", "text", file_path="a.py")
    script.call("Bash", "text", command="ls")
    (found,) = followed(script)

    assert (found.reached, found.calls, found.after.actions) == (False, 2, 2)


def test_a_session_without_compactions_has_nothing_to_tell() -> None:
    script = Script()
    script.say("well")
    assert followed(script) == ()


@settings(max_examples=examples(120), deadline=None)
@given(st.data())
def test_stretches_hold_together(data) -> None:
    session = data.draw(agent_sessions(longest=14))
    baseline = replay(inputs_of(session), Plan())
    found = compaction_aftermaths(baseline)
    began = {
        call
        for call in range(1, len(session.calls))
        if session.calls[call].context != session.calls[call - 1].context
        and session.contexts[session.calls[call].context].cause is ContextCause.COMPACTION
    }

    assert {each.call - 1 for each in found} == began
    for each in found:
        stretch = each.after
        assert 1 <= each.calls <= len(session.calls) - each.call + 1
        assert stretch.rereads <= each.reads
        assert (each.elsewhere is None) == (each.windows == 0)
        assert each.windows * each.calls + each.calls <= len(session.calls)
        assert stretch.usd is None or stretch.usd >= 0
