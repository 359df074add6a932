"""The calls of the Anthropic and OpenAI SDKs, with a plan before them.

    client = anthropic.Anthropic()
    with_plan(client, "careful")

From then on `client.messages.create` and `.stream`, or `client.chat.completions.create`, send what the plan sends of
the `messages` they are given. The client may be synchronous or asynchronous. Neither SDK is imported here.
"""

from __future__ import annotations

from functools import update_wrapper
from typing import TYPE_CHECKING, Any, TypeVar

from inspector.adapters.gate import PlanGate

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.adapters.gate import CallReport
    from inspector.replay.provider_messages import Form
    from inspector.strategies.plan import Plan

Client = TypeVar("Client")


def with_plan(
    client: Client,
    plan: Plan | str,
    *,
    on_call: Callable[[CallReport], None] | None = None,
    diagnostics: bool = False,
) -> Client:
    """Put a plan before a client's calls; the same client.

    Args:
        client: Of the Anthropic or the OpenAI SDK.
        plan: A plan, one strategy in its one-line form, or the name of a ready plan.
        on_call: Told of every call what was made of it.
        diagnostics: Print a line to standard error when the plan acts.

    Raises:
        PlanError: The plan's text is none.
        TypeError: The client has no calls known here.
    """
    own: Any = client
    if hasattr(own, "messages"):
        calls, form = own.messages, "anthropic"
    elif hasattr(own, "chat"):
        calls, form = own.chat.completions, "openai"
    else:
        raise TypeError(f"{type(client).__name__} is no client of the Anthropic or the OpenAI SDK")
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
        # Objects of the SDK's own among them are left to it.
        if isinstance(messages, list) and all(isinstance(message, dict) for message in messages):
            named["messages"] = gate.to_send(messages)
        return call(*arguments, **named)

    update_wrapper(planned, call)
    return planned
