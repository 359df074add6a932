"""Sessions as Qwen Code writes them."""

from typing import Any

Record = dict[str, Any]


class QwenScript:
    """Writes a session record by record, each behind the one before."""

    def __init__(self) -> None:
        self.lines: list[Record] = []
        self.parent: str | None = None

    def add(self, kind: str, parts: list[Record] | None = None, uuid: str = "", **rest: Any) -> str:
        """Add a record; its id."""
        uuid = uuid or f"u{len(self.lines)}"
        record: Record = {
            "uuid": uuid,
            "parentUuid": self.parent,
            "sessionId": "s1",
            "timestamp": f"2026-03-01T10:{len(self.lines) // 60 % 60:02}:{len(self.lines) % 60:02}.000Z",
            "type": kind,
            "cwd": "/work",
            "version": "0.24.7",
        }
        if parts is not None:
            record["message"] = {"role": "model" if kind == "assistant" else "user", "parts": parts}
        self.lines.append({**record, **rest})
        self.parent = uuid
        return uuid

    def user(self, text: str, **rest: Any) -> str:
        return self.add("user", [{"text": text}], **rest)

    def answer(self, text: str, call: str = "", tokens: tuple[int, int, int] = (1_000, 400, 20), **rest: Any) -> str:
        """A response, perhaps with a call; its tokens are prompt, cached and output."""
        parts: list[Record] = [{"text": "let me think", "thought": True}, {"text": text}]
        if call:
            parts.append({"functionCall": {"id": call, "name": "read_file", "args": {"path": "a"}}})
        prompt, cached, output = tokens
        usage = {
            "promptTokenCount": prompt,
            "candidatesTokenCount": output,
            "thoughtsTokenCount": 5,
            "totalTokenCount": prompt + output,
            "cachedContentTokenCount": cached,
        }
        about = {"model": "qwen3-coder-plus", "usageMetadata": usage, "contextWindowSize": 262_144}
        return self.add("assistant", parts, **{**about, **rest})

    def result(self, call: str, text: str, **rest: Any) -> str:
        part = {"functionResponse": {"id": call, "name": "read_file", "response": {"output": text}}}
        about = {"toolCallResult": {"callId": call, "status": "success"}}
        return self.add("tool_result", [part], **{**about, **rest})

    def compress(self, *contents: Record) -> str:
        info = {"originalTokenCount": 9_000, "newTokenCount": 700, "triggerReason": "token_limit"}
        about = {"info": info, "compressedHistory": list(contents)}
        return self.add("system", subtype="chat_compression", systemPayload=about)


def qwen(turns: int) -> list[Record]:
    """A session of so many turns, compressed after every tenth."""
    script = QwenScript()
    script.user("go")
    for turn in range(turns):
        script.answer(f"turn {turn}", f"c{turn}")
        script.result(f"c{turn}", f"result {turn}")
        if turn % 10 == 9:
            summary = {"role": "user", "parts": [{"text": f"summary {turn}"}]}
            kept = script.lines[-2]["message"], script.lines[-1]["message"]
            script.compress(summary, *kept)
    return script.lines
