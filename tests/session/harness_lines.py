"""Sessions as DeepSeek Harness writes them: a header, and events with numbers."""

import sys
from typing import Any

from tests.session.run_files import STARTED, encoded

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Record = dict[str, Any]

TOOLS = [{"name": "read_file", "description": "Reads a file.", "parameters": {"type": "object"}}]


def text(value: str) -> Record:
    return {"type": "text", "text": value}


class HarnessScript:
    """Writes a session event by event."""

    def __init__(self, **header: Any) -> None:
        about = {"version": 0, "id": "s1", "createdAt": STARTED * 1000, "cwd": "/work", "delegationDepth": 0}
        self.lines: list[Record] = [{"type": "session", **about, **header}]
        self.step = 0

    def add(self, kind: str, data: Record, second: float | None = None, **rest: Any) -> int:
        """Add an event; its number."""
        sequence = len(self.lines) - 1
        time = round(1000 * (STARTED + (sequence if second is None else second)))
        self.lines.append({"type": kind, "seq": sequence, "time": time, "data": data, **rest})
        return sequence

    def header(self, system: str = "You help.", model: str = "deepseek-v4", reason: str = "initial") -> int:
        config = {"provider": "deepseek", "model": model}
        about = {"config": config, "system": system, "tools": TOOLS}
        return self.add("request/header", {"header": about, "reason": reason})

    def user(self, said: str, source: str = "user", **rest: Any) -> int:
        message = {"id": f"u{len(self.lines)}", "role": "user", "content": [text(said)], "source": {"kind": source}}
        return self.add("user/message", message, **{"surfaceOp": "append", **rest})

    def answer(
        self,
        said: str,
        call: str = "",
        tokens: tuple[int, int, int] = (100, 400, 20),
        model: str = "deepseek-v4",
        second: float | None = None,
        **data: Any,
    ) -> int:
        self.step += 1
        place = {"turn": 1, "step": self.step}
        self.add("step/start", place, second)
        content: list[Record] = [{"type": "reasoning", "text": "let me think"}, text(said)]
        if call:
            content.append({"type": "tool-call", "id": call, "name": "read_file", "arguments": '{"path": "a"}'})
        source = {"kind": "model", "provider": "deepseek", "model": model}
        message = {"id": f"a{self.step}", "role": "assistant", "content": content, "source": source}
        uncached, cached, output = tokens
        usage = {"inputTokens": uncached, "cacheReadTokens": cached, "outputTokens": output, "reasoningTokens": 5}
        answered = {**place, "message": message, "usage": usage, **data}
        sequence = self.add("assistant/message", answered, second, surfaceOp="append")
        self.add("step/end", place, second)
        return sequence

    def result(self, call: str, said: str, surface: Any = "append") -> int:
        block = {"type": "tool-result", "toolCallId": call, "content": [text(said)]}
        message = {"id": f"r{call}", "role": "user", "content": [block], "source": {"kind": "tool", "callId": call}}
        return self.add("tool/result", {"turn": 1, "step": self.step, "message": message}, surfaceOp=surface)

    def compact(self, summary: str, first: int, last: int, tokens: tuple[int, int, int] = (900, 0, 60)) -> int:
        """A summary, in prompts in the place of the messages from one event to another."""
        uncached, cached, output = tokens
        usage = {"inputTokens": uncached, "cacheReadTokens": cached, "outputTokens": output}
        about = {"compactionId": "c", "summary": [text(summary)], "provider": "deepseek", "model": "deepseek-v4"}
        self.add("compaction/summary", {**about, "shadowedRange": {"start": first, "end": last}, "usage": usage})
        return self.user(summary, "plugin", surfaceOp={"op": "replace", "start": first, "end": last})


def harness(turns: int) -> list[Record]:
    """A session of so many turns."""
    script = HarnessScript()
    script.user("go")
    script.header()
    for turn in range(turns):
        script.answer(f"turn {turn}", f"c{turn}")
        script.result(f"c{turn}", f"result {turn}")
    return script.lines


def frame(lines: list[Record]) -> bytes:
    """Lines as they are flushed at once."""
    return zstd.compress(b"".join(encoded(line) + b"\n" for line in lines))


def frames(lines: list[Record]) -> bytes:
    return frame(lines[:1]) + frame(lines[1:])
