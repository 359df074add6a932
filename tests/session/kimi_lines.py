"""Sessions as Kimi Code and Kimi CLI write them."""

from typing import Any

Record = dict[str, Any]

START = 1_772_359_200
"""When they begin: 10:00 on the first of March 2026."""

Tokens = tuple[int, int, int, int]


class KimiScript:
    """Writes Kimi Code's records."""

    def __init__(self, header: bool = True) -> None:
        self.lines: list[Record] = []
        self.clock = START
        self.steps = 0
        if header:
            self.lines.append({"type": "metadata", "protocol_version": "1.4", "created_at": START * 1000})
            self.add("config.update", cwd="/work", modelAlias="kimi-code/k2", systemPrompt="You are Kimi.")

    def add(self, record: str, /, **rest: Any) -> None:
        self.clock += 1
        self.lines.append({"type": record, **rest, "time": self.clock * 1000})

    def user(self, text: str, origin: str = "user") -> None:
        content = [{"type": "text", "text": text}]
        if origin == "user":
            self.add("turn.prompt", input=content, origin={"kind": origin})
        message = {"role": "user", "content": content, "toolCalls": [], "origin": {"kind": origin}}
        self.add("context.append_message", message=message)

    def event(self, kind: str, **rest: Any) -> None:
        self.add("context.append_loop_event", event={"type": kind, **rest})

    def request(self, model: str = "kimi-k2-thinking", kind: str = "loop") -> None:
        hashes = {"systemPromptHash": "a", "toolsHash": "b", "toolSelect": False, "messageCount": 1}
        self.add("llm.request", kind=kind, provider="kimi", model=model, **hashes)

    def step(
        self,
        *parts: str,
        calls: tuple[str, ...] = (),
        tokens: Tokens | None = (100, 900, 0, 20),
        model: str = "kimi-k2-thinking",
    ) -> None:
        self.steps += 1
        self.request(model)
        uuid, about = f"s{self.steps}", {"turnId": "t1", "step": self.steps}
        self.event("step.begin", uuid=uuid, **about)
        self.event("content.part", uuid="p", stepUuid=uuid, part={"type": "think", "think": "hm"}, **about)
        for text in parts:
            self.event("content.part", uuid="p", stepUuid=uuid, part={"type": "text", "text": text}, **about)
        for call in calls:
            args = {"path": "/work/a.py"}
            self.event("tool.call", uuid=call, stepUuid=uuid, toolCallId=call, name="Read", args=args, **about)
        usage = reported(tokens) if tokens is not None else None
        self.event("step.end", uuid=uuid, usage=usage, finishReason="tool_use", **about)
        if usage is not None:
            self.usage(tokens, model)

    def usage(self, tokens: Tokens | None, model: str = "kimi-k2-thinking", scope: str = "turn") -> None:
        self.add("usage.record", model=model, usage=reported(tokens), usageScope=scope)

    def result(self, call: str, output: Any, **rest: Any) -> None:
        self.event("tool.result", parentUuid=call, toolCallId=call, result={"output": output, **rest})


def reported(tokens: Tokens | None) -> Record:
    names = ("inputOther", "inputCacheRead", "inputCacheCreation", "output")
    return dict(zip(names, tokens or (0, 0, 0, 0), strict=True))


def kimi_code(turns: int) -> list[Record]:
    script = KimiScript()
    script.user("go")
    for turn in range(turns):
        script.step(f"turn {turn}", calls=(f"c{turn}",), tokens=(100, 900 + turn, 0, 20))
        script.result(f"c{turn}", f"result {turn}")
        if turn % 10 == 9:
            counts = {"compactedCount": 4, "tokensBefore": 9_000, "tokensAfter": 800, "keptUserMessageCount": 1}
            script.add("context.apply_compaction", summary=f"summary {turn}", **counts)
    return script.lines


class KimiCliScript:
    """Writes Kimi CLI's messages."""

    def __init__(self) -> None:
        self.lines: list[Record] = [{"type": "metadata", "protocol_version": "1.9"}]
        self.clock = float(START)

    def add(self, kind: str, payload: Record | None = None, agent: str = "") -> None:
        self.clock += 1
        message = {"type": kind, "payload": payload or {}}
        if agent:
            event = {"parent_tool_call_id": agent, "agent_id": f"agent-{agent}", "event": message}
            message = {"type": "SubagentEvent", "payload": event}
        self.lines.append({"timestamp": self.clock, "message": message})

    def step(
        self,
        text: str,
        *calls: str,
        tokens: Tokens | None = (100, 900, 0, 20),
        agent: str = "",
        tool: str = "ReadFile",
        identifier: str = "",
    ) -> None:
        self.add("StepBegin", {"n": 1}, agent)
        self.add("ContentPart", {"type": "think", "think": "hm", "encrypted": None}, agent)
        self.add("ContentPart", {"type": "text", "text": text}, agent)
        for call in calls:
            function = {"name": tool, "arguments": '{"path":"/work/a.py"}'}
            self.add("ToolCall", {"type": "function", "id": call, "function": function}, agent)
        if tokens is not None:
            names = ("input_other", "input_cache_read", "input_cache_creation", "output")
            status = {"token_usage": dict(zip(names, tokens, strict=True)), "context_tokens": sum(tokens)}
            named = {"message_id": identifier} if identifier else {}
            self.add("StatusUpdate", {**status, **named, "max_context_tokens": 262_144}, agent)

    def result(self, call: str, output: Any, message: str = "", agent: str = "", **rest: Any) -> None:
        value = {"is_error": False, "output": output, "message": message, "display": [], **rest}
        self.add("ToolResult", {"tool_call_id": call, "return_value": value}, agent)


def kimi_cli(turns: int) -> list[Record]:
    script = KimiCliScript()
    script.add("TurnBegin", {"user_input": "go"})
    for turn in range(turns):
        script.step(f"turn {turn}", f"c{turn}", tokens=(100, 900 + turn, 0, 20))
        script.result(f"c{turn}", f"result {turn}", "1 line read.")
        if turn % 10 == 9:
            script.add("CompactionBegin")
            script.add("CompactionEnd")
    return script.lines
