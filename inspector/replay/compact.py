"""A plan applied to a plain message list, for agents that shrink their own context with what was tuned here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.replay.inputs import ReplayInputs
from inspector.replay.replay import replay
from inspector.replay.rewriting import rewritten
from inspector.session.formats import read_conversation
from inspector.strategies.history import History
from inspector.strategies.plan import Plan
from inspector.tokens.counter import load_counter
from inspector.tokens.table import count_session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.replay.messages import Form

Entry = dict[str, Any]


def compact(messages: Sequence[Entry], plan: Plan | str, form: Form | None = None) -> list[Entry]:
    """The messages to send next, under a plan, in the form they came in.

    Every earlier call of the conversation is replayed, each assistant message being the answer to one, so that
    strategies that remember or wait for a trigger stand where they would. The input is not changed; messages the plan
    leaves alone are the same objects in the result.

    Args:
        messages: An Anthropic or OpenAI message list, oldest first.
        plan: A plan, or its one-line form: `tiered-stale:data=400`.
        form: The form of the messages; told from their content where not given.

    Raises:
        PlanError: The plan's text is none.
        SessionError: The messages are no conversation in either form.
    """
    entries = list(messages)
    if not entries:
        return []
    if isinstance(plan, str):
        plan = Plan.from_specs([plan])
    session = read_conversation(entries, form)
    counter = load_counter()
    *_, table = count_session(session, counter)
    outcome = replay(ReplayInputs.of(History.of(session), table, precise=True), plan)
    return rewritten(entries, session, outcome.changed_renditions(outcome.history.call_count))
