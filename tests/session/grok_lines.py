"""Sessions as Grok Build writes them: a message history and a file of updates."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.session.run_files import STARTED, encoded

Record = dict[str, Any]


class GrokScript:
    """Writes a session row by row."""

    def __init__(self) -> None:
        self.rows: list[Record] = []
        self.updates: list[Record] = []
        self.logged: list[Record] = []
        self.responses = 0
        self.add("system", content="You are Grok")

    def add(self, kind: str, /, **rest: Any) -> None:
        self.rows.append({"type": kind, **rest})

    def tell(self, kind: str, second: float | None = None, **rest: Any) -> None:
        """Add an update."""
        time = round(STARTED + (len(self.updates) if second is None else second))
        params = {"sessionId": "s1", "update": {"sessionUpdate": kind, **rest}, "_meta": {"eventId": "e"}}
        method = "session/update" if kind.endswith("chunk") else "_x.ai/session/update"
        self.updates.append({"timestamp": time, "method": method, "params": params})

    def user(self, text: str, **rest: Any) -> None:
        self.add("user", content=[{"type": "text", "text": text}], **rest)
        self.tell("user_message_chunk", content={"type": "text", "text": text})

    def answer(
        self,
        text: str,
        call: str = "",
        tokens: tuple[int, int, int] = (100, 400, 20),
        model: str = "grok-4.5",
        second: float | None = None,
        *,
        is_told: bool = True,
    ) -> None:
        number, self.responses = self.responses, self.responses + 1
        self.add("reasoning", id=f"rs_{number}", summary=[{"type": "summary_text", "text": "let me think"}])
        calls = [{"id": call, "name": "read_file", "arguments": '{"target_file": "a"}'}] if call else []
        self.add("assistant", content=text, model_id=model, **({"tool_calls": calls} if calls else {}))
        for piece in (text[:3], text[3:]):
            self.tell("agent_message_chunk", content={"type": "text", "text": piece})
        uncached, cached, output = tokens
        self.log_response(tokens)
        if call:
            self.log("shell.tool.exec_done", tool_name="read_file", tool_call_id=call, elapsed_ms=3, success=True)
        if not is_told:
            return
        usage = {"input_tokens": uncached, "cache_read_input_tokens": cached, "output_tokens": output}
        usage |= {"cache_creation_input_tokens": 0, "reasoning_tokens": 5}
        self.tell("response_completed", second, message_id=f"m{number}", stop_reason="stop", usage=usage)

    def log(self, message: str, session: str = "s1", /, **about: Any) -> None:
        """Add a line to the log of all sessions (`unified_log.rs`)."""
        time = datetime.fromtimestamp(STARTED + len(self.updates) + 0.5, UTC).isoformat(timespec="milliseconds")
        line = {"ts": time.replace("+00:00", "Z"), "src": "shell", "pid": 4242, "lvl": "info", "sid": session}
        self.logged.append({**line, "msg": message, "ctx": about})

    def log_response(self, tokens: tuple[int, int, int], session: str = "s1") -> None:
        uncached, cached, output = tokens
        counts = {"prompt_tokens": uncached + cached, "cached_prompt_tokens": cached, "completion_tokens": output}
        self.log("shell.turn.inference_start", session, loop_index=1)
        self.log("shell.turn.inference_done", session, loop_index=1, attempts=1, **counts, reasoning_tokens=5)

    def write_log(self, home: Path) -> None:
        (home / "logs").mkdir(parents=True, exist_ok=True)
        (home / "logs" / "unified.jsonl").write_bytes(b"".join(encoded(line) + b"\n" for line in self.logged))

    def result(self, call: str, text: str) -> None:
        self.add("tool_result", tool_call_id=call, content=text)
        self.tell("tool_call_update", toolCallId=call, status="completed")

    def compact(self, summary: str, kept: int = 0) -> None:
        said = f"This session is being continued from a previous conversation that ran out of context. {summary}"
        end = self.rows[len(self.rows) - kept :] if kept else []
        meta = {"type": "user", "content": [{"type": "text", "text": said}], "synthetic_reason": "compaction_meta"}
        self.rows = [self.rows[0], *end, meta]
        self.tell("auto_compact_completed", tokens_before=90_000, tokens_after=9_000)

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        for name, lines in (("chat_history.jsonl", self.rows), ("updates.jsonl", self.updates)):
            (folder / name).write_bytes(b"".join(encoded(line) + b"\n" for line in lines))
        summary = {
            "info": {"id": "s1", "cwd": "/work"},
            "session_summary": "A summary",
            "generated_title": "A title",
            "parent_session_id": "s0",
            "current_model_id": "grok-4.5",
        }
        (folder / "summary.json").write_text(json.dumps(summary, indent=2))
        (folder / "signals.json").write_text(json.dumps({"contextWindowTokens": 256_000}))
        return folder


def grok(turns: int, *, is_told: bool = True) -> GrokScript:
    """A session of so many turns."""
    script = GrokScript()
    script.user("go", prompt_index=0)
    for turn in range(turns):
        script.answer(f"turn {turn}", f"c{turn}", is_told=is_told)
        script.result(f"c{turn}", f"result {turn}")
    return script


def write(path: Path, turns: int) -> None:
    script = grok(turns)
    for file, made in ((path.with_name("updates.jsonl"), script.updates), (path, script.rows)):
        data = b"".join(encoded(line) + b"\n" for line in made)
        with file.open("ab") as opened:
            opened.write(data[opened.tell() :])
