"""A growing session of every format, after a given number of turns."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.session import (
    agents_store,
    antigravity_store,
    databases,
    goose_store,
    grok_lines,
    hermes_store,
    opencode_store,
    run_files,
    tap_store,
    trace_store,
)
from tests.session.claude_lines import Script
from tests.session.codex_lines import Rollout
from tests.session.copilot_lines import CopilotScript
from tests.session.gemini_lines import GeminiScript, call
from tests.session.harness_lines import harness
from tests.session.kimi_lines import kimi_cli, kimi_code
from tests.session.own_lines import own
from tests.session.pi_lines import PiScript
from tests.session.qwen_lines import qwen
from tests.session.run_files import encoded
from tests.session.span_lines import export_document, export_lines, flat_lines
from tests.session.test_responses import growing as responses_log
from tests.session.vscode_lines import chat as vscode_chat

Write = Callable[[Path, int], None]

GEMINI = {"sessionId": "s", "projectHash": "h", "startTime": "2026-03-01T10:00:00.000Z", "lastUpdated": ""}
HERMES = {"session_id": "s2", "platform": "cli", "system_prompt": "x"}
CLINE = {"version": 1, "updated_at": "2026-03-01T10:00:00Z", "agent": "cline", "sessionId": "s3"}


@dataclass(frozen=True)
class Growing:
    format: str
    name: str
    family: str
    write: Write
    most: int = 1_250


def remove(path: Path) -> None:
    """Take a session away with all that belongs to it."""
    if path.is_dir():
        shutil.rmtree(path)
        return
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _lines(made: Callable[[int], list[bytes]]) -> Write:
    def write(path: Path, turns: int) -> None:
        data = b"".join(line.strip() + b"\n" for line in made(turns))
        with path.open("ab") as file:
            file.write(data[file.tell() :])

    return write


def _document(made: Callable[[int], Any], indent: int | None = None) -> Write:
    def write(path: Path, turns: int) -> None:
        value = made(turns)
        path.write_bytes(value if isinstance(value, bytes) else json.dumps(value, indent=indent).encode())

    return write


def _folder(made: Callable[[int], dict[str, Any]]) -> Write:
    def write(path: Path, turns: int) -> None:
        for name, value in made(turns).items():
            file, data = path / name, encoded(value)
            if not file.exists() or file.stat().st_size != len(data):
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)

    return write


def claude(turns: int) -> list[bytes]:
    script = Script()
    script.prompt("go")
    for turn in range(turns):
        script.call(f"m{turn}", f"t{turn}")
        script.result(f"t{turn}", f"result {turn}")
    return script.encoded()


def claude_printed(turns: int) -> list[bytes]:
    usage = {"input_tokens": 5, "output_tokens": 1}
    made: list[dict[str, Any]] = [{"type": "system", "subtype": "init", "session_id": "s", "cwd": "/", "tools": []}]
    for turn in range(turns):
        part = {"type": "tool_use", "id": f"t{turn}", "name": "Bash", "input": {"command": "ls"}}
        said = {"id": f"m{turn}", "type": "message", "role": "assistant", "content": [part], "usage": usage}
        found = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": f"result {turn}"}
        made.append({"type": "assistant", "message": {**said, "model": "claude-opus-4-8"}, "session_id": "s"})
        made.append({"type": "user", "message": {"role": "user", "content": [found]}, "session_id": "s"})
    return [encoded(line) for line in made]


def codex(turns: int) -> list[bytes]:
    rollout = Rollout()
    rollout.header()
    rollout.prompt("go")
    for turn in range(turns):
        rollout.response(f"c{turn}", usage=(100 + turn, 10))
    return rollout.encoded()


def codex_stream(turns: int) -> list[bytes]:
    made: list[dict[str, Any]] = [{"type": "thread.started", "thread_id": "0199b26c-737a-71a2-9939-52ce68c95cbe"}]
    for turn in range(turns):
        command = {"id": f"item_{turn}", "type": "command_execution", "command": "ls"}
        made.append({"type": "turn.started"})
        done = {**command, "aggregated_output": f"result {turn}", "exit_code": 0, "status": "completed"}
        made.append({"type": "item.completed", "item": done})
        usage = {"input_tokens": 100 * (turn + 1), "cached_input_tokens": 0, "output_tokens": 10 * (turn + 1)}
        made.append({"type": "turn.completed", "usage": usage})
    return [encoded(line) for line in made]


def copilot(turns: int) -> list[bytes]:
    script = CopilotScript()
    script.start()
    script.user("go")
    for turn in range(turns):
        script.answer("looking", (f"t{turn}", "view"))
        script.result(f"t{turn}", f"result {turn}")
    return script.encoded()


def _gemini(turns: int) -> GeminiScript:
    script = GeminiScript()
    script.header()
    for turn in range(turns):
        answer = script.answer(f"g{turn}", toolCalls=[call(f"c{turn}")])
        script.again(answer, toolCalls=[call(f"c{turn}", f"result {turn}")])
    return script


def gemini_document(turns: int) -> dict[str, Any]:
    script = GeminiScript()
    for turn in range(turns):
        script.user(f"u{turn}", f"prompt {turn}")
        script.answer(f"g{turn}", f"answer {turn}")
    return {**GEMINI, "messages": script.lines}


def pi(turns: int) -> list[bytes]:
    script = PiScript()
    script.header()
    script.user("go")
    for turn in range(turns):
        script.call(f"c{turn}")
        script.result(f"c{turn}", f"result {turn}")
    return script.encoded()


def chat(turns: int) -> list[dict[str, Any]]:
    """A conversation as OpenAI's chat API takes it."""
    made: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for turn in range(turns):
        function = {"name": "terminal", "arguments": '{"command": "ls"}'}
        asked = {"id": f"c{turn}", "type": "function", "function": function}
        made.append({"role": "assistant", "content": "", "tool_calls": [asked]})
        made.append({"role": "tool", "content": f"result {turn}", "tool_call_id": f"c{turn}"})
    return made


def messages(turns: int) -> list[dict[str, Any]]:
    """A conversation as Anthropic's API takes it."""
    made: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for turn in range(turns):
        asked = {"type": "tool_use", "id": f"c{turn}", "name": "Bash", "input": {"command": "ls"}}
        found = {"type": "tool_result", "tool_use_id": f"c{turn}", "content": f"result {turn}"}
        made += [{"role": "assistant", "content": [asked]}, {"role": "user", "content": [found]}]
    return made


def items(turns: int) -> list[dict[str, Any]]:
    """A conversation as OpenAI's Responses API takes it."""
    made: list[dict[str, Any]] = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}
    ]
    for turn in range(turns):
        made.append({"type": "function_call", "name": "ls", "arguments": "{}", "call_id": f"c{turn}"})
        made.append({"type": "function_call_output", "call_id": f"c{turn}", "output": f"found {turn}"})
    return made


def transcripts(turns: int) -> list[bytes]:
    said = "user: order {0}\nassistant: None\ntool: {{}}\nassistant: done {0} é\n"
    return [encoded({"messages_display": said.format(turn)}) for turn in range(turns)]


def goose(turns: int) -> goose_store.GooseScript:
    script = goose_store.GooseScript()
    script.user("go")
    for turn in range(turns):
        script.answer("looking", goose_store.request(f"c{turn}"))
        script.user(goose_store.response(f"c{turn}", f"result {turn}"))
    return script


def _goose_lines(turns: int) -> list[bytes]:
    return goose(turns).lines(message_count=0).splitlines()


def openhands(turns: int) -> dict[str, Any]:
    made = run_files.openhands_events(turns)
    return {f"events/event-{number:05}-{number:04x}.json": event for number, event in enumerate(made)}


def openhands_0(turns: int) -> dict[str, Any]:
    return {f"events/{number}.json": event for number, event in enumerate(run_files.openhands_0_history(turns))}


def task_of_cline(turns: int) -> dict[str, Any]:
    return {
        "api_conversation_history.json": run_files.cline_history(turns),
        "ui_messages.json": run_files.cline_shown(turns),
    }


def opencode(turns: int) -> opencode_store.Store:
    store = opencode_store.Store()
    store.prompt("go")
    for turn in range(turns):
        store.clock += 10
        store.response(f"c{turn}", text=f"text {turn}")
    return store


def _opencode_database(path: Path, turns: int) -> None:
    opencode(turns).database(path)


def _goose_database(path: Path, turns: int) -> None:
    if not path.exists():
        goose_store.create(path, goose_store.session("s1"))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        (done,) = connection.execute("SELECT count(*) FROM messages").fetchone()
        databases.run(connection, *goose(turns).statements("s1", done))


def _hermes_database(path: Path, turns: int) -> None:
    store = hermes_store.HermesStore()
    made = [store.session("s0"), store.user("s0", "go")]
    for turn in range(turns):
        made += [store.answer("s0", "looking", f"c{turn}"), store.result("s0", f"c{turn}", f"result {turn}")]
    if not path.exists():
        hermes_store.create(path, made[0])
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        (done,) = connection.execute("SELECT count(*) FROM messages").fetchone()
        databases.run(connection, *made[done + 1 :])


def _encoded_lines(made: Callable[[int], list[dict[str, Any]]]) -> Write:
    return _lines(lambda turns: [encoded(value) for value in made(turns)])


GROWING: dict[str, Growing] = {
    "qwen-code": Growing("qwen-code", "s.jsonl", "lines", _encoded_lines(qwen), 900),
    "kimi-code": Growing("kimi-code", "wire.jsonl", "lines", _encoded_lines(kimi_code), 900),
    "kimi-cli": Growing("kimi-cli", "wire.jsonl", "lines", _encoded_lines(kimi_cli), 900),
    "otel": Growing("otel", "spans.jsonl", "lines", _encoded_lines(flat_lines), 60),
    "otel exports": Growing("otel", "exports.jsonl", "lines", _encoded_lines(export_lines), 60),
    "otel document": Growing("otel", "export.json", "document", _document(export_document, 1), 60),
    "inspector-lines": Growing("inspector-lines", "s.jsonl", "lines", _encoded_lines(own)),
    "claude-code": Growing("claude-code", "s.jsonl", "lines", _lines(claude), 5_000),
    "claude-code printed": Growing("claude-code", "s.jsonl", "lines", _lines(claude_printed)),
    "codex": Growing("codex", "rollout.jsonl", "lines", _lines(codex), 900),
    "codex printed": Growing("codex", "stream.jsonl", "lines", _lines(codex_stream), 900),
    "copilot-cli": Growing("copilot-cli", "events.jsonl", "lines", _lines(copilot)),
    "gemini-cli": Growing("gemini-cli", "session.jsonl", "lines", _lines(lambda turns: _gemini(turns).encoded())),
    "vscode-chat": Growing("vscode-chat", "s.jsonl", "lines", _encoded_lines(lambda n: vscode_chat(n).lines), 600),
    "pi": Growing("pi", "session.jsonl", "lines", _lines(pi)),
    "hermes lines": Growing(
        "hermes", "s.jsonl", "lines", _encoded_lines(lambda n: [{"role": "session_meta", "tools": []}, *chat(n)])
    ),
    "goose lines": Growing("goose", "s.jsonl", "lines", _lines(_goose_lines)),
    "claude-trace lines": Growing("claude-trace", "log.jsonl", "lines", _encoded_lines(run_files.log_of_requests), 60),
    "openhands lines": Growing("openhands", "e.jsonl", "lines", _encoded_lines(run_files.openhands_events), 700),
    "openai-chat lines": Growing("openai-chat", "chat.jsonl", "lines", _encoded_lines(chat)),
    "anthropic lines": Growing("anthropic-messages", "chat.jsonl", "lines", _encoded_lines(messages)),
    "openai-responses lines": Growing("openai-responses", "items.jsonl", "lines", _encoded_lines(items)),
    "transcripts": Growing("transcripts", "runs.jsonl", "lines", _lines(transcripts), 2_500),
    "gemini-cli document": Growing("gemini-cli", "s.json", "document", _document(gemini_document, 2)),
    "hermes document": Growing(
        "hermes", "s.json", "document", _document(lambda n: {**HERMES, "messages": chat(n)}, 1), 500
    ),
    "vscode-chat document": Growing(
        "vscode-chat", "s.json", "document", _document(lambda n: vscode_chat(n).chat, 2), 500
    ),
    "atif": Growing("atif", "trajectory.json", "document", _document(run_files.trajectory), 500),
    "swe-agent": Growing("swe-agent", "run.traj", "document", _document(run_files.swe_run, 2), 500),
    "mini-swe-agent": Growing("mini-swe-agent", "run.traj.json", "document", _document(run_files.mini_run), 500),
    "openhands document": Growing("openhands", "t.json", "document", _document(run_files.openhands_events), 500),
    "openhands-v0": Growing("openhands-v0", "t.json", "document", _document(run_files.openhands_0_history), 500),
    "inspect": Growing(
        "inspect", "log.json", "document", _document(lambda n: run_files.inspect_log([run_files.inspect_sample(n)])), 60
    ),
    "inspect archive": Growing(
        "inspect",
        "log.eval",
        "document",
        _document(lambda n: run_files.inspect_archive([run_files.inspect_sample(n)])),
        60,
    ),
    "claude-trace": Growing("claude-trace", "log.json", "document", _document(run_files.log_of_requests, 1), 60),
    "cline messages": Growing(
        "cline",
        "s.messages.json",
        "document",
        _document(lambda turns: {**CLINE, "messages": run_files.cline_history(turns)}),
        500,
    ),
    "openai-chat": Growing("openai-chat", "chat.json", "document", _document(lambda n: {"messages": chat(n)}, 1)),
    "anthropic-messages": Growing("anthropic-messages", "chat.json", "document", _document(messages, 1), 500),
    "openai-responses": Growing("openai-responses", "log.json", "document", _document(responses_log), 60),
    "openhands folder": Growing("openhands", "conversation", "folder", _folder(openhands), 1_000),
    "openhands-v0 folder": Growing("openhands-v0", "conversation", "folder", _folder(openhands_0), 1_000),
    "cline": Growing("cline", "1750000000000", "folder", _folder(task_of_cline), 500),
    "deepseek-harness": Growing("deepseek-harness", "session.jsonl", "lines", _encoded_lines(harness)),
    "grok-build": Growing("grok-build", "chat_history.jsonl", "lines", grok_lines.write),
    "claude-tap lines": Growing("claude-tap", "trace.jsonl", "lines", _encoded_lines(tap_store.records), 60),
    "claude-tap bundle": Growing("claude-tap", "bundle.json", "document", _document(tap_store.bundle), 60),
    "claude-tap": Growing("claude-tap", "traces.sqlite3", "database", tap_store.write, 60),
    "har": Growing("har", "requests.har", "document", _document(tap_store.archive_of, 2), 60),
    "antigravity": Growing("antigravity", "conversation.db", "database", antigravity_store.write),
    "openai-agents": Growing("openai-agents", "agents.db", "database", agents_store.write),
    "copilot-traces": Growing("copilot-traces", "agent-traces.db", "database", trace_store.write, 60),
    "opencode": Growing("opencode", "opencode.db", "database", _opencode_database, 2_000),
    "goose": Growing("goose", "sessions.db", "database", _goose_database),
    "hermes": Growing("hermes", "state.db", "database", _hermes_database),
}
