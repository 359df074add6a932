"""Apply a plan to the calls of the Anthropic and OpenAI SDKs.

    client = anthropic.Anthropic()
    with_plan(client, "careful")

After that, `client.messages.create` and `.stream`, or `client.chat.completions.create`, apply the plan to their
`messages`. The client may be synchronous or asynchronous. This module does not import the SDKs.
"""

from __future__ import annotations

from functools import update_wrapper
from typing import TYPE_CHECKING, Any, TypeVar

from inspector.adapters.gate import CallReport, PlanGate

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.replay.message_lists import Form
    from inspector.strategies.plan import Plan

Client = TypeVar("Client")


def with_plan(
    client: Client,
    plan: Plan | str,
    *,
    on_call: Callable[[CallReport], None] | None = None,
    diagnostics: bool = False,
) -> Client:
    """Apply a plan to a client's calls; return the same client.

    Args:
        client: A client of the Anthropic or OpenAI SDK.
        plan: A plan, one strategy in its one-line form, or the name of a built-in plan.
        on_call: Called with a report on every call.
        diagnostics: Print a line to standard error when the plan acts.

    Raises:
        PlanError: The plan is invalid.
        TypeError: The client is not supported.
    """
    own: Any = client
    if hasattr(own, "messages"):
        calls, form = own.messages, "anthropic"
    elif hasattr(own, "chat"):
        calls, form = own.chat.completions, "openai"
    else:
        raise TypeError(f"{type(client).__name__} is not a client of the Anthropic or OpenAI SDK")
    gate = PlanGate(plan, _form(form), on_call=on_call, diagnostics=diagnostics)
    for name in ("create", "parse", "stream"):
        if hasattr(calls, name):
            setattr(calls, name, _planned(getattr(calls, name), gate))
    return client


def _form(name: str) -> Form:
    return "anthropic" if name == "anthropic" else "openai"


def _planned(call: Callable[..., Any], gate: PlanGate) -> Callable[..., Any]:
    def planned(*arguments: Any, **named: Any) -> Any:
        messages = named.get("messages")
        # Lists with the SDK's own message objects are sent unchanged.
        if isinstance(messages, list) and all(isinstance(message, dict) for message in messages):
            named["messages"] = gate.to_send(messages)
        return call(*arguments, **named)

    update_wrapper(planned, call)
    return planned
