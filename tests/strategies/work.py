"""Amount of work of a replay, without a clock."""

import sys

from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import replay
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from inspector.tokens.token_table import TokenTable
from tests.strategies.conversations import session_of, steps


def work(made, count):
    """Python functions called while a session of so many steps is replayed under a strategy."""
    entries = steps(count, size=400)
    for at, entry in enumerate(entries):
        for call in entry.get("calls", ()):
            call["args"] = {"path": f"f{at % 7}.py"}
        if at % 9 == 0 and entry["role"] == "tool":
            entry["error"] = True
    session = session_of(entries)
    inputs = ReplayInputs.of(History.of(session), TokenTable.estimated(session))
    called = 0

    def count_calls(frame, event, argument):
        nonlocal called
        called += event in ("call", "c_call")

    sys.setprofile(count_calls)
    try:
        replay(inputs, Plan.of(made))
    finally:
        sys.setprofile(None)
    return called
