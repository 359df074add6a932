"""A plan applied to a plain message list, for agents that shrink their own context with what was tuned here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.replay.given import inputs_of_given, plan_of_given
from inspector.replay.replay import replay
from inspector.replay.rewriting import rewritten
from inspector.session.formats.plain.reader import read_conversation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.replay.messages import Form
    from inspector.strategies.plan import Plan

Entry = dict[str, Any]


def compact(messages: Sequence[Entry], plan: Plan | str, form: Form | None = None) -> list[Entry]:
    """The messages to send next, under a plan, in the form they came in.

    Every earlier call of the conversation is replayed, each assistant message being the answer to one, so that
    strategies that remember or wait for a trigger stand where they would. The input is not changed; messages the plan
    leaves alone are the same objects in the result.

    Args:
        messages: An Anthropic or OpenAI message list, oldest first.
        plan: A plan, its one-line form (`tiered-stale:data=400`), or the name of a ready one (`careful`).
        form: The form of the messages; told from their content where not given.

    Raises:
        PlanError: The plan's text is none.
        SessionError: The messages are no conversation in either form.
    """
    entries = list(messages)
    if not entries:
        return []
    plan = plan_of_given(plan)
    session = read_conversation(entries, form)
    outcome = replay(inputs_of_given(session), plan)
    return rewritten(entries, session, outcome.changed_renditions(outcome.history.call_count))
