"""Each adapter with the real library and a fake model; skipped where the library is not installed."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import pytest

from inspector.adapters.sdk import with_plan
from tests.adapters.test_gate import TRIM, conversation

LONG = "line of a log\n" * 400
SENT = LONG[:100] + "[inspector recall call_1]" + LONG[-100:]


def http_library(sdk: Any) -> Any:
    """The one an SDK is built on, which differs by release."""
    return next(sys.modules[kind.__module__.partition(".")[0]] for kind in sdk.DefaultHttpxClient.__mro__[1:])


def reports_of(plan_holder: Any) -> tuple[Any, list[Any]]:
    reports: list[Any] = []
    return plan_holder(TRIM, on_call=reports.append), reports


def test_the_anthropic_sdk_sends_what_the_plan_sends() -> None:
    anthropic = pytest.importorskip("anthropic")
    httpx = http_library(anthropic)
    bodies: list[dict[str, Any]] = []

    def answer(request: Any) -> Any:
        bodies.append(json.loads(request.content))
        said = [{"type": "text", "text": "ok"}]
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": said, "usage": usage}
        return httpx.Response(200, json={**message, "stop_reason": "end_turn", "stop_sequence": None})

    transport = httpx.MockTransport(answer)
    client = with_plan(anthropic.Anthropic(api_key="none", http_client=httpx.Client(transport=transport)), TRIM)
    messages = conversation(1, "anthropic")
    assert client.messages.create(model="m", max_tokens=9, messages=messages).content[0].text == "ok"
    sent = bodies[0]["messages"][2]["content"][0]["content"]
    assert "[inspector recall call_0]" in sent
    assert len(messages[2]["content"][0]["content"]) == 2_000
    aio = anthropic.AsyncAnthropic(api_key="none", http_client=httpx.AsyncClient(transport=transport))
    asyncio.run(with_plan(aio, TRIM).messages.create(model="m", max_tokens=9, messages=messages))
    assert bodies[1]["messages"] == bodies[0]["messages"]


def test_the_openai_sdk_sends_what_the_plan_sends() -> None:
    openai = pytest.importorskip("openai")
    httpx = http_library(openai)
    bodies: list[dict[str, Any]] = []

    def answer(request: Any) -> Any:
        bodies.append(json.loads(request.content))
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "ok"}}
        return httpx.Response(
            200, json={"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        )

    http = httpx.Client(transport=httpx.MockTransport(answer))
    client = with_plan(openai.OpenAI(api_key="none", http_client=http), TRIM)
    assert client.chat.completions.create(model="m", messages=conversation(1)).choices[0].message.content == "ok"
    assert "[inspector recall call_0]" in bodies[0]["messages"][2]["content"]


def test_langchain_s_model_sees_what_the_plan_sends_and_the_state_keeps_all() -> None:
    pytest.importorskip("langchain.agents")
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, ToolMessage
    from langchain_core.tools import tool

    from inspector.adapters.langchain import plan_middleware

    seen: list[list[Any]] = []

    class Model(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **_: Any) -> Any:
            return self

        def _generate(self, messages: Any, *arguments: Any, **named: Any) -> Any:
            seen.append(list(messages))
            return super()._generate(messages, *arguments, **named)

    @tool
    def run(command: str) -> str:
        """Run a command."""
        return LONG

    call = {"name": "run", "args": {"command": "x"}, "id": "call_1"}
    for awaited in (False, True):
        seen.clear()
        said = iter([AIMessage(content="", tool_calls=[call]), AIMessage(content="done")])
        middleware, reports = reports_of(plan_middleware)
        agent = create_agent(Model(messages=said), [run], middleware=[middleware])
        asked = {"messages": [{"role": "user", "content": "go"}]}
        state = asyncio.run(agent.ainvoke(asked)) if awaited else agent.invoke(asked)
        assert [message.content for message in seen[1] if isinstance(message, ToolMessage)] == [SENT]
        assert [message.content for message in state["messages"] if isinstance(message, ToolMessage)] == [LONG]
        assert [cut.tool_call_id for cut in reports[-1].cuts] == ["call_1"]


def test_the_agents_sdk_s_model_sees_what_the_plan_sends() -> None:
    agents = pytest.importorskip("agents")
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    from inspector.adapters.openai_agents import plan_filter

    seen: list[list[Any]] = []
    call = ResponseFunctionToolCall(arguments="{}", call_id="call_1", name="run", type="function_call")
    text = ResponseOutputText(annotations=[], text="done", type="output_text")
    done = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
    answers = [call, done]

    class Model(agents.Model):
        async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> Any:  # noqa: A002
            seen.append(list(input))
            return agents.ModelResponse(output=[answers[len(seen) - 1]], usage=agents.Usage(), response_id=None)

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    @agents.function_tool
    def run() -> str:
        """Run it."""
        return LONG

    planned, reports = reports_of(plan_filter)
    agent = agents.Agent(name="a", model=Model(), tools=[run])
    config = agents.RunConfig(call_model_input_filter=planned, tracing_disabled=True)
    result = agents.Runner.run_sync(agent, "go", run_config=config)
    assert result.final_output == "done"
    assert [item["output"] for item in seen[1] if item.get("type") == "function_call_output"] == [SENT]
    whole = [item["output"] for item in result.to_input_list() if item.get("type") == "function_call_output"]
    assert whole == [LONG]
    assert [cut.tool_call_id for cut in reports[-1].cuts] == ["call_1"]


def test_litellm_s_proxy_sends_what_the_plan_sends() -> None:
    pytest.importorskip("litellm")
    from inspector.adapters.litellm import plan_callback

    callback, reports = reports_of(plan_callback)
    data = {"model": "m", "messages": conversation(1)}
    changed = asyncio.run(callback.async_pre_call_hook(None, None, data, "completion"))
    assert "[inspector recall call_0]" in changed["messages"][2]["content"]
    assert data["messages"] == conversation(1)
    assert len(reports) == 1
    assert asyncio.run(callback.async_pre_call_hook(None, None, {"input": "x"}, "embeddings")) == {"input": "x"}


def test_pydantic_ai_s_model_sees_what_the_plan_sends_call_after_call() -> None:
    pydantic_ai = pytest.importorskip("pydantic_ai")
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel

    from inspector.adapters.pydantic_ai import plan_processor

    seen: list[list[str]] = []

    def answer(messages: Any, info: Any) -> Any:
        parts = [part for message in messages for part in message.parts]
        seen.append([part.content for part in parts if isinstance(part, ToolReturnPart)])
        if len(seen) < 3:
            return ModelResponse(parts=[ToolCallPart("run", {}, tool_call_id=f"call_{len(seen)}")])
        return ModelResponse(parts=[TextPart("done")])

    planned, reports = reports_of(plan_processor)
    try:
        agent = pydantic_ai.Agent(FunctionModel(answer), history_processors=[planned])
    except Exception:  # noqa: BLE001  later versions take it as a capability
        from pydantic_ai.capabilities import ProcessHistory

        agent = pydantic_ai.Agent(FunctionModel(answer), capabilities=[ProcessHistory(planned)])

    @agent.tool_plain
    def run() -> str:
        return LONG

    assert agent.run_sync("go").output == "done"
    second = LONG[:100] + "[inspector recall call_2]" + LONG[-100:]
    assert seen == [[], [SENT], [SENT, second]]
    assert [(cut.tool_call_id, cut.characters_before) for cut in reports[-1].cuts] == [
        ("call_1", len(LONG)),
        ("call_2", len(LONG)),
    ]
