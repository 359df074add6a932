"""A plan applied once to a message list as it stands, with what its triggers ask about passed in."""

from __future__ import annotations

from dataclasses import replace as replaced
from typing import TYPE_CHECKING, Any

from inspector.replay.composition import Circumstances
from inspector.replay.given import inputs_of_given, plan_of_given
from inspector.replay.replay import replay
from inspector.replay.rewriting import rewritten
from inspector.session.formats.plain.reader import read_conversation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.replay.messages import Form
    from inspector.strategies.plan import Plan

Entry = dict[str, Any]


def apply_once(
    messages: Sequence[Entry],
    plan: Plan | str,
    *,
    input_tokens: int | None = None,
    window: int | None = None,
    clock: float | None = None,
    form: Form | None = None,
) -> list[Entry]:
    """The messages as a plan sends them when it is applied a single time, to the list as it stands.

    No earlier call is replayed: every message arrives at one call, the next, as if an agent had been started with this
    list. Nothing was cut, cleared or remembered before, a text that already is a system's marker apart. That is what
    most systems' functions do when they are called with a list, and differs from `compact`, which replays every call,
    in two ways: a strategy that remembers has nothing to remember, and triggers look at what is passed in here. The
    input is not changed; messages the plan leaves alone are the same objects in the result.

    Args:
        messages: An Anthropic or OpenAI message list, oldest first.
        plan: A plan, one strategy in its one-line form (`tiered-stale:data=400`), or a ready plan's name (`careful`).
        input_tokens: What the provider reported of the prompt. It stands for the previous prompt, where a strategy
            looks at that, and for this one, where a strategy looks at this one. Where not given, there was no previous
            prompt, and this one is counted.
        window: Size of the model's context window in tokens.
        clock: Seconds that have passed since the previous call; unknown where not given.
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
    session = replaced(session, calls=(), window=session.window if window is None else window)
    outcome = replay(inputs_of_given(session), plan, Circumstances(input_tokens, clock))
    return rewritten(entries, session, outcome.changed_renditions(0))
