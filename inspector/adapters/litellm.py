"""Callback for LiteLLM's proxy that applies a plan to requests.

    # callbacks.py, named in the proxy's settings as `litellm_settings: {callbacks: callbacks.handler}`
    from inspector.adapters.litellm import plan_callback
    handler = plan_callback("careful")

LiteLLM does not run it on `/v1/messages` (BerriAI/litellm#27518); for calls through the library use
`inspector.adapters.sdk` or `PlanGate`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from litellm.integrations.custom_logger import CustomLogger

from inspector.adapters.gate import CallReport, PlanGate

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.strategies.plan import Plan


class PlanCallback(CustomLogger):
    """Changes the messages of chat requests before they are sent."""

    def __init__(self, gate: PlanGate) -> None:
        super().__init__()
        self._gate = gate

    async def async_pre_call_hook(
        self,
        user_api_key_dict: Any,  # noqa: ARG002  passed by LiteLLM by name
        cache: Any,  # noqa: ARG002
        data: dict[str, Any],
        call_type: str,  # noqa: ARG002
    ) -> dict[str, Any]:
        messages = data.get("messages")
        if isinstance(messages, list) and all(isinstance(message, dict) for message in messages):
            return {**data, "messages": self._gate.to_send(messages)}
        return data


def plan_callback(
    plan: Plan | str, *, on_call: Callable[[CallReport], None] | None = None, diagnostics: bool = False
) -> PlanCallback:
    """Create a callback with a plan; arguments and errors as for `PlanGate`."""
    return PlanCallback(PlanGate(plan, "openai", on_call=on_call, diagnostics=diagnostics))
