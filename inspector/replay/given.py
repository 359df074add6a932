"""What a message list given by an agent is replayed from."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from inspector.replay.inputs import ReplayInputs
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from inspector.strategies.presets import PRESETS
from inspector.strategies.registry import STRATEGIES
from inspector.tokens.counter import load_counter
from inspector.tokens.table import count_session

if TYPE_CHECKING:
    from inspector.session.model import Session
    from inspector.tokens.counter import Counter
    from inspector.tokens.table import TokenTable

Entry = dict[str, Any]


def inputs_of_given(session: Session, table: TokenTable | None = None) -> ReplayInputs:
    """What replays of a conversation in memory start from; cut texts are counted for real.

    Args:
        session: The conversation.
        table: Its token counts; counted here where not given.
    """
    return ReplayInputs.of(History.of(session), table or counted(session), precise=True)


def counted(session: Session, previous: TokenTable | None = None) -> TokenTable:
    """The token counts of a conversation in memory, those of an earlier state of it taken over."""
    *_, table = count_session(session, _counter(), previous)
    return table


def plan_of_given(plan: Plan | str) -> Plan:
    """A plan, the plan of one strategy in its one-line form, or a ready plan by its name.

    Raises:
        PlanError: The text is none.
    """
    if not isinstance(plan, str):
        return plan
    if plan in PRESETS and plan not in STRATEGIES:
        return PRESETS[plan].plan()
    return Plan.from_specs([plan])


@cache
def _counter() -> Counter:
    """One tokenizer for every list: an agent asks before each of its calls, and preparing one takes a second."""
    return load_counter()
