"""Middleware for LangChain agents that sends tool results as a plan defines.

    create_agent(model, tools, middleware=[plan_middleware("careful")])

The agent's state keeps every message whole. Only changes to tool results are applied; changes to other messages are
dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage, convert_to_openai_messages

from inspector.adapters.gate import CallReport, PlanGate

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from inspector.strategies.plan import Plan


class PlanMiddleware(AgentMiddleware):
    """Applies a plan to the messages of each call."""

    def __init__(self, gate: PlanGate) -> None:
        super().__init__()
        self._gate = gate

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return handler(self._planned(request))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        return await handler(self._planned(request))

    def _planned(self, request: Any) -> Any:
        texts = self._gate.result_texts(convert_to_openai_messages(request.messages))
        if not texts:
            return request
        return request.override(messages=[_sent(message, texts) for message in request.messages])


def _sent(message: Any, texts: dict[str, str]) -> Any:
    if not isinstance(message, ToolMessage) or message.tool_call_id not in texts:
        return message
    return message.model_copy(update={"content": texts[message.tool_call_id]})


def plan_middleware(
    plan: Plan | str, *, on_call: Callable[[CallReport], None] | None = None, diagnostics: bool = False
) -> PlanMiddleware:
    """Create a middleware with a plan; arguments and errors as for `PlanGate`."""
    return PlanMiddleware(PlanGate(plan, "openai", on_call=on_call, diagnostics=diagnostics))
