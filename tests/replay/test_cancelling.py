"""Cancelled replays stop soon with every strategy."""

import pytest

from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.renderer import ReplayCancelledError
from inspector.replay.engine.replay import replay
from inspector.strategies.core.strategy import ScheduledStrategy, in_use
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from inspector.strategies.registry import STRATEGIES, strategy
from inspector.tokens.token_table import TokenTable
from tests.strategies.conversations import session_of, steps

SEQUENTIAL = [name for name in STRATEGIES if not isinstance(in_use(strategy(name)), ScheduledStrategy)]
CALLS = 200


@pytest.mark.parametrize("name", SEQUENTIAL)
def test_a_walk_is_called_off_before_it_has_gone_far(name):
    session = session_of(steps(CALLS))
    asked = []

    def cancelled() -> bool:
        asked.append(True)
        return len(asked) > CALLS // 20

    inputs = ReplayInputs.of(History.of(session), TokenTable.estimated(session))
    with pytest.raises(ReplayCancelledError):
        replay(inputs.isolated(cancelled), Plan.of(strategy(name)))
