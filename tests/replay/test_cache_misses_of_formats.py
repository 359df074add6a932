"""Causes of cache misses in a session of every format that reports cache reads."""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from inspector.replay.analysis.cache_misses import cache_misses, describe_evidence
from inspector.replay.cache.miss_causes import MissCause
from inspector.replay.sessions import replay_session
from inspector.session.open import open_session
from inspector.session.registry import all_formats
from inspector.strategies.plan import Plan
from tests.session import databases, trace_store
from tests.session.antigravity_store import AntigravityScript
from tests.session.antigravity_store import usage as antigravity_counts
from tests.session.claude_lines import Script
from tests.session.codex_lines import Rollout
from tests.session.gemini_lines import GeminiScript
from tests.session.grok_lines import GrokScript
from tests.session.harness_lines import HarnessScript
from tests.session.kimi_lines import KimiScript
from tests.session.opencode_store import Store
from tests.session.opencode_store import tokens as opencode_tokens
from tests.session.pi_lines import PiScript
from tests.session.qwen_lines import QwenScript
from tests.session.run_files import STARTED, Record, event, exchange, inspect_log, jsonl, mini_run, text
from tests.session.span_lines import attributes, flat
from tests.session.tap_store import TABLES, archive, entry, record, statements

START = 1_780_000_000.0
DAY = 86_400.0


class Made(NamedTuple):
    prompt: int
    read: int
    time: float
    model: str
    before: MissCause | None = None


Writer = Callable[[Path, Sequence[Made]], Path]


def calls_of(model: str, other: str) -> list[Made]:
    """A first request, a read, a pause of two days, a read, another model, and a miss that nothing explains."""
    return [
        Made(10_000, 0, 0.0, model),
        Made(20_000, 9_984, 20.0, model),
        Made(30_000, 0, 20.0 + 2 * DAY, model),
        Made(40_000, 29_952, 40.0 + 2 * DAY, model),
        Made(50_000, 0, 60.0 + 2 * DAY, other),
        Made(60_000, 0, 80.0 + 2 * DAY, other),
    ]


def stamp(seconds: float) -> str:
    return datetime.fromtimestamp(START + seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def anthropic_usage(call: Made) -> Record:
    written = call.prompt - call.read - 10
    return {
        "input_tokens": 10,
        "cache_read_input_tokens": call.read,
        "cache_creation_input_tokens": written,
        "output_tokens": 9,
    }


def openai_usage(call: Made) -> Record:
    return {
        "prompt_tokens": call.prompt,
        "completion_tokens": 9,
        "total_tokens": call.prompt + 9,
        "prompt_tokens_details": {"cached_tokens": call.read},
    }


def claude_code(path: Path, calls: Sequence[Made]) -> Path:
    script = Script()
    for number, call in enumerate(calls):
        if call.before is MissCause.COMPACTION:
            script.boundary()
            script.summary()
        elif call.before is MissCause.REWIND:
            script.parent = script.lines[1]["uuid"]
        script.prompt(f"question {number}", timestamp=stamp(call.time - 5))
        message = {
            "id": f"m{number}",
            "role": "assistant",
            "model": call.model,
            "content": [{"type": "text", "text": f"answer {number}"}],
            "usage": anthropic_usage(call),
        }
        script.add(type="assistant", requestId=f"r{number}", message=message, timestamp=stamp(call.time))
    return script.write(path / "session.jsonl")


def claude_trace(path: Path, calls: Sequence[Made]) -> Path:
    lines, messages = [], []
    for number, call in enumerate(calls):
        messages.append({"role": "user", "content": f"question {number}"})
        answer = {
            "id": f"m{number}",
            "role": "assistant",
            "model": call.model,
            "content": [{"type": "text", "text": f"answer {number}"}],
            "usage": anthropic_usage(call),
        }
        line = exchange(list(messages), answer, model=call.model)
        line["request"]["timestamp"] = START + call.time
        lines.append(line)
        messages.append({"role": "assistant", "content": answer["content"]})
    (path / "log.jsonl").write_bytes(jsonl(lines))
    return path / "log.jsonl"


def claude_tap(path: Path, calls: Sequence[Made]) -> Path:
    log = claude_trace(path, calls)
    exchanges = [json.loads(line) for line in log.read_text().splitlines()]
    made = [
        {**record(one["request"]["body"], one["response"]["body"], turn), "timestamp": stamp(call.time)}
        for turn, (one, call) in enumerate(zip(exchanges, calls, strict=True))
    ]
    log.unlink()
    return databases.created(path / "traces.sqlite3", TABLES, *statements(made))


def har(path: Path, calls: Sequence[Made]) -> Path:
    log = claude_trace(path, calls)
    exchanges = [json.loads(line) for line in log.read_text().splitlines()]
    made = [
        {**entry(one["request"]["body"], json.dumps(one["response"]["body"])), "startedDateTime": stamp(call.time)}
        for one, call in zip(exchanges, calls, strict=True)
    ]
    log.write_text(json.dumps(archive(made)))
    return log


def codex(path: Path, calls: Sequence[Made]) -> Path:
    rollout = Rollout()
    rollout.header()
    for number, call in enumerate(calls):
        rollout.clock = START + call.time - 5
        rollout.turn(call.model)
        if call.before is MissCause.COMPACTION:
            rollout.add("compacted", {"message": "what was done"})
        rollout.prompt(f"question {number}")
        rollout.clock = START + call.time
        rollout.message("assistant", f"answer {number}")
        rollout.usage(call.prompt, 9, cached=call.read)
    return rollout.write(path / "rollout-2026-05-28T20-26-40-own.jsonl")


def gemini(path: Path, calls: Sequence[Made]) -> Path:
    script = GeminiScript()
    script.header()
    for number, call in enumerate(calls):
        if call.before is MissCause.REWIND:
            script.rewind("u1")
        script.user(f"u{number}", f"question {number}")["timestamp"] = stamp(call.time - 5)
        counts = {"input": call.prompt, "output": 9, "cached": call.read, "thoughts": 0, "tool": 0}
        answer = script.answer(f"a{number}", f"answer {number}", model=call.model, tokens=counts)
        answer["timestamp"] = stamp(call.time)
    return script.write(path / "session-2026-03-01T10-00-s1.jsonl")


def antigravity(path: Path, calls: Sequence[Made]) -> Path:
    script = AntigravityScript()
    for number, call in enumerate(calls):
        script.time = round(START + call.time) - 2
        script.user(f"question {number}")
        script.answer(
            f"answer {number}", counts=antigravity_counts(call.prompt - call.read, call.read, 0, 9), model=call.model
        )
    return script.database(path / "conversation.db")


def opencode(path: Path, calls: Sequence[Made]) -> Path:
    store = Store()
    for number, call in enumerate(calls):
        store.clock = round((START + call.time - 5) * 1000)
        question = store.prompt(f"question {number}")
        store.clock = round((START + call.time) * 1000)
        counts = opencode_tokens(10, 9, read=call.read, write=call.prompt - call.read - 10)
        store.response(text=f"answer {number}", usage=counts, parent=question, modelID=call.model)
    return store.export(path / "ses_2200.json")


def pi(path: Path, calls: Sequence[Made]) -> Path:
    script = PiScript()
    script.header()
    for number, call in enumerate(calls):
        if call.before is MissCause.COMPACTION:
            script.compaction(None)
        elif call.before is MissCause.REWIND:
            script.leaf = script.lines[2]["id"]
        script.user(f"question {number}")
        usage = {"input": 10, "output": 9, "cacheRead": call.read, "cacheWrite": call.prompt - call.read - 10}
        script.answer(f"answer {number}", model=call.model, usage=usage)
        for line in script.lines[-2:]:
            line["timestamp"] = stamp(call.time)
    return script.write(path / "session.jsonl")


def atif(path: Path, calls: Sequence[Made]) -> Path:
    steps: list[Record] = []
    for number, call in enumerate(calls):
        metrics = {
            "prompt_tokens": call.prompt,
            "cached_tokens": call.read,
            "completion_tokens": 9,
            "extra": {"cache_creation_input_tokens": call.prompt - call.read},
        }
        asked = {"source": "user", "message": f"question {number}", "timestamp": stamp(call.time - 5)}
        said = {"source": "agent", "message": f"answer {number}", "timestamp": stamp(call.time), "metrics": metrics}
        steps += [asked, {**said, "model_name": call.model}]
    for number, step in enumerate(steps):
        step["step_id"] = number + 1
    agent = {"name": "agent", "version": "1", "model_name": calls[0].model}
    trajectory = {"schema_version": "ATIF-v1.5", "session_id": "s", "agent": agent, "steps": steps}
    (path / "trajectory.json").write_text(json.dumps(trajectory))
    return path / "trajectory.json"


def openai_chat(path: Path, calls: Sequence[Made]) -> Path:
    messages: list[Record] = []
    for number, call in enumerate(calls):
        asked = {"role": "user", "content": f"question {number}"}
        said = {"role": "assistant", "content": f"answer {number}", "timestamp": START + call.time}
        messages += [asked, {**said, "model": call.model, "usage": openai_usage(call)}]
    (path / "chat.jsonl").write_bytes(jsonl(messages))
    return path / "chat.jsonl"


def inspect_ai(path: Path, calls: Sequence[Made]) -> Path:
    messages: list[Record] = []
    events: list[Record] = [{"event": "sample_init"}]
    for number, call in enumerate(calls):
        if call.before is MissCause.COMPACTION:
            events.append({"event": "compaction", "type": "summary", "tokens_before": 900, "tokens_after": 90})
            messages = [messages[0], {"id": "s", "role": "user", "content": "what was done"}]
        messages.append({"id": f"u{number}", "role": "user", "content": f"question {number}"})
        answer = {"id": f"a{number}", "role": "assistant", "content": f"answer {number}"}
        counts = {
            "input_tokens": 10,
            "output_tokens": 9,
            "input_tokens_cache_read": call.read,
            "input_tokens_cache_write": call.prompt - call.read - 10,
            "total_tokens": call.prompt + 9,
        }
        output = {"model": call.model, "choices": [{"message": answer, "stop_reason": "stop"}], "usage": counts}
        asked = {"event": "model", "model": f"anthropic/{call.model}", "input": list(messages), "tools": []}
        events.append({**asked, "output": output, "timestamp": stamp(call.time)})
        messages.append(answer)
    sample = {"id": 1, "epoch": 1, "input": "go", "messages": messages, "events": events, "attachments": {}}
    (path / "log.json").write_text(json.dumps(inspect_log([sample])))
    return path / "log.json"


def anthropic_messages(path: Path, calls: Sequence[Made]) -> Path:
    messages: list[Record] = []
    for number, call in enumerate(calls):
        messages.append({"role": "user", "content": f"question {number}"})
        content = [{"type": "text", "text": f"answer {number}"}]
        about = {"model": call.model, "usage": anthropic_usage(call), "timestamp": START + call.time}
        messages.append({"id": f"m{number}", "type": "message", "role": "assistant", "content": content, **about})
    (path / "messages.jsonl").write_bytes(jsonl(messages))
    return path / "messages.jsonl"


def openai_responses(path: Path, calls: Sequence[Made]) -> Path:
    lines, items = [], []
    for number, call in enumerate(calls):
        items.append({"type": "message", "role": "user", "content": f"question {number}"})
        answer = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": f"a {number}"}]}
        usage = {"input_tokens": call.prompt, "input_tokens_details": {"cached_tokens": call.read}, "output_tokens": 9}
        about = {"id": f"resp_{number}", "object": "response", "model": call.model, "created_at": START + call.time}
        request = {"model": call.model, "instructions": "Be brief.", "tools": [], "input": list(items)}
        lines.append({"request": request, "response": {**about, "output": [answer], "usage": usage}})
        items.append(answer)
    (path / "log.jsonl").write_bytes(jsonl(lines))
    return path / "log.jsonl"


def cline(path: Path, calls: Sequence[Made]) -> Path:
    messages: list[Record] = []
    for number, call in enumerate(calls):
        if call.before is MissCause.COMPACTION:
            messages.append({"role": "user", "content": [text("what was done")], "isSummary": True, "condenseId": "s"})
        messages.append({"role": "user", "content": [text(f"question {number}")], "ts": (START + call.time - 5) * 1000})
        metrics = {
            "inputTokens": call.prompt,
            "outputTokens": 9,
            "cacheReadTokens": call.read,
            "cacheWriteTokens": call.prompt - call.read,
        }
        about = {"id": f"m{number}", "ts": (START + call.time) * 1000, "modelInfo": {"id": call.model}}
        messages.append({"role": "assistant", "content": [text(f"answer {number}")], "metrics": metrics, **about})
    task = {"version": 1, "agent": "cline", "sessionId": "s", "messages": messages, "system_prompt": "You code."}
    (path / "session.messages.json").write_text(json.dumps(task))
    return path / "session.messages.json"


def openhands(path: Path, calls: Sequence[Made]) -> Path:
    events = [event(0, "SystemPromptEvent", "agent", system_prompt=text("You code."), tools=[])]
    usages = []
    for number, call in enumerate(calls):
        if call.before is MissCause.COMPACTION:
            forgotten = [each["id"] for each in events[1:]]
            condensed = {"forgotten_event_ids": forgotten, "summary": "what was done", "summary_offset": 1}
            events.append({**event(len(events), "Condensation", "agent", **condensed), "timestamp": stamp(call.time)})
        asked = event(len(events), "MessageEvent", "user", llm_message={"role": "user", "content": [text("go on")]})
        said = {"role": "assistant", "content": [text(f"answer {number}")]}
        events.append({**asked, "timestamp": stamp(call.time - 5)})
        answer = event(len(events), "MessageEvent", "agent", llm_message=said, llm_response_id=f"r{number}")
        events.append({**answer, "timestamp": stamp(call.time)})
        counts = {"prompt_tokens": call.prompt, "completion_tokens": 9, "cache_read_tokens": call.read}
        written = {"cache_write_tokens": call.prompt - call.read - 10}
        usages.append({"response_id": f"r{number}", "model": call.model, **counts, **written})
    (path / "events").mkdir()
    for number, each in enumerate(events):
        (path / "events" / f"event-{number:05}-e{number}.json").write_text(json.dumps(each))
    stats = {"usage_to_metrics": {"agent": {"token_usages": usages}}}
    (path / "base_state.json").write_text(json.dumps({"id": "conversation", "stats": stats}))
    return path


def openhands_0(path: Path, calls: Sequence[Made]) -> Path:
    events: list[Record] = [{"id": 0, "source": "agent", "action": "system", "args": {"content": "You code."}}]
    for number, call in enumerate(calls):
        if call.before is MissCause.COMPACTION:
            forgotten = {"forgotten_events_start_id": 1, "forgotten_events_end_id": len(events) - 1}
            about = {**forgotten, "summary": "what was done", "summary_offset": 1}
            events.append({"id": len(events), "source": "agent", "action": "condensation", "args": about})
        at = len(events)
        asked = {"source": "user", "action": "message", "args": {"content": "go on"}}
        function = {"name": "execute_bash", "arguments": '{"command": "ls"}'}
        message = {"content": f"turn {number}", "tool_calls": [{"id": f"c{number}", "function": function}]}
        response = {"id": f"r{number}", "model": call.model, "usage": openai_usage(call)}
        link = {"function_name": "execute_bash", "tool_call_id": f"c{number}"}
        called = {**link, "model_response": {**response, "choices": [{"message": message}]}}
        made = {"source": "agent", "action": "run", "args": {"command": "ls"}, "tool_call_metadata": called}
        seen = {"observation": "run", "content": f"file{number}", "extras": {}, "tool_call_metadata": link}
        events.append({"id": at, "timestamp": stamp(call.time - 5), **asked})
        events.append({"id": at + 1, "timestamp": stamp(call.time), **made})
        events.append({"id": at + 2, "timestamp": stamp(call.time), "source": "agent", "cause": at + 1, **seen})
    (path / "run.json").write_text(json.dumps(events))
    return path / "run.json"


def mini_swe_agent(path: Path, calls: Sequence[Made]) -> Path:
    run = mini_run(len(calls))
    answers = [message for message in run["messages"] if message["role"] == "assistant"]
    for call, message in zip(calls, answers, strict=True):
        message["extra"]["timestamp"] = START + call.time
        message["extra"]["response"] |= {"model": call.model, "usage": openai_usage(call)}
    (path / "run.traj.json").write_text(json.dumps(run))
    return path / "run.traj.json"


def own_lines(path: Path, calls: Sequence[Made]) -> Path:
    lines: list[Record] = [{"type": "session", "inspector": 1, "id": "s"}]
    for number, call in enumerate(calls):
        if call.before is MissCause.COMPACTION:
            lines.append({"type": "compaction", "summary": "what was done", "kept": []})
        asked = {"type": "message", "role": "user", "content": f"question {number}", "time": stamp(call.time - 5)}
        usage = {
            "uncached": 10,
            "cache_read": call.read,
            "cache_write_5m": call.prompt - call.read - 10,
            "output": 9,
        }
        said = {"type": "message", "role": "assistant", "content": f"answer {number}", "time": stamp(call.time)}
        lines += [asked, {**said, "id": f"r{number}", "model": call.model, "usage": usage}]
    (path / "session.jsonl").write_bytes(jsonl(lines))
    return path / "session.jsonl"


def spans(path: Path, calls: Sequence[Made]) -> Path:
    lines, messages = [], []
    for number, call in enumerate(calls):
        messages.append({"role": "user", "parts": [{"type": "text", "content": f"question {number}"}]})
        messages.append({"role": "assistant", "parts": [{"type": "text", "content": f"answer {number}"}]})
        about = attributes(number, messages)
        about |= {"gen_ai.request.model": call.model, "gen_ai.response.model": call.model}
        about |= {"gen_ai.usage.input_tokens": call.prompt, "gen_ai.usage.cache_read.input_tokens": call.read}
        about |= {"gen_ai.usage.cache_write.input_tokens": 0}
        seconds = round(START + call.time)
        lines.append(flat(number, about, startTime=[seconds, 0], endTime=[seconds + 1, 0]))
    (path / "spans.jsonl").write_bytes(jsonl(lines))
    return path / "spans.jsonl"


def traces(path: Path, calls: Sequence[Made]) -> Path:
    messages = [trace_store.said("go")]
    statements = []
    for number, call in enumerate(calls):
        answer = trace_store.said(f"answer {number}", "assistant")
        about = (call.prompt, call.read, 9)
        statements += trace_store.request(number, messages, answer, about, time=START + call.time, model=call.model)
        messages += [answer, trace_store.said(f"question {number}")]
    return trace_store.create(path / "agent-traces.db", *statements)


def qwen(path: Path, calls: Sequence[Made]) -> Path:
    script = QwenScript()
    for number, call in enumerate(calls):
        script.user(f"question {number}", timestamp=stamp(call.time - 5))
        counts = (call.prompt, call.read, 9)
        script.answer(f"answer {number}", tokens=counts, model=call.model, timestamp=stamp(call.time))
    (path / "session.jsonl").write_bytes(jsonl(script.lines))
    return path / "session.jsonl"


def grok(path: Path, calls: Sequence[Made]) -> Path:
    script = GrokScript()
    for number, call in enumerate(calls):
        script.user(f"question {number}")
        counts = (call.prompt - call.read, call.read, 9)
        second = START - STARTED + call.time
        script.answer(f"answer {number}", tokens=counts, model=call.model, second=second)
    return script.write(path / "s1")


def deepseek_harness(path: Path, calls: Sequence[Made]) -> Path:
    script = HarnessScript()
    for number, call in enumerate(calls):
        script.user(f"question {number}")
        counts = (call.prompt - call.read, call.read, 9)
        second = START - STARTED + call.time
        script.answer(f"answer {number}", tokens=counts, model=call.model, second=second)
    (path / "session.jsonl").write_bytes(jsonl(script.lines))
    return path / "session.jsonl"


def kimi_code(path: Path, calls: Sequence[Made]) -> Path:
    script = KimiScript()
    for number, call in enumerate(calls):
        script.clock = round(START + call.time) - 6
        script.user(f"question {number}")
        script.step(f"answer {number}", tokens=(call.prompt - call.read, call.read, 0, 9), model=call.model)
    (path / "wire.jsonl").write_bytes(jsonl(script.lines))
    return path / "wire.jsonl"


CLAUDE = ("claude-opus-4-8", "claude-sonnet-4-5")
GPT = ("gpt-5.1", "gpt-5.4")

WRITERS: dict[str, tuple[Writer, tuple[str, str]]] = {
    "claude-code": (claude_code, CLAUDE),
    "claude-trace": (claude_trace, CLAUDE),
    "claude-tap": (claude_tap, CLAUDE),
    "har": (har, CLAUDE),
    "deepseek-harness": (deepseek_harness, GPT),
    "grok-build": (grok, ("grok-4", "grok-3")),
    "codex": (codex, GPT),
    "gemini-cli": (gemini, ("gemini-3-pro", "gemini-3-flash")),
    "antigravity": (antigravity, ("gemini-3-pro", "gemini-3-flash")),
    "opencode": (opencode, CLAUDE),
    "pi": (pi, CLAUDE),
    "atif": (atif, CLAUDE),
    "openai-chat": (openai_chat, GPT),
    "inspect": (inspect_ai, CLAUDE),
    "anthropic-messages": (anthropic_messages, CLAUDE),
    "openai-responses": (openai_responses, GPT),
    "cline": (cline, CLAUDE),
    "openhands": (openhands, CLAUDE),
    "openhands-v0": (openhands_0, GPT),
    "mini-swe-agent": (mini_swe_agent, GPT),
    "inspector-lines": (own_lines, CLAUDE),
    "otel": (spans, GPT),
    "copilot-traces": (traces, GPT),
    "qwen-code": (qwen, GPT),
    "kimi-code": (kimi_code, GPT),
}

IN_MEMORY = {"gemini-cli", "antigravity", "grok-build"}
"""Formats whose models keep caches for minutes."""

SILENT = {"copilot-cli", "goose", "hermes", "openai-agents", "swe-agent", "transcripts", "vscode-chat"}

NAMELESS = {"kimi-cli"}


def test_there_is_a_session_of_every_format_that_reports_what_was_read_from_the_cache() -> None:
    assert set(WRITERS) | SILENT | NAMELESS == {each.name for each in all_formats()}


@pytest.mark.parametrize("name", WRITERS)
def test_a_pause_another_model_and_a_miss_that_nothing_explains_are_distinguished(name: str, tmp_path: Path) -> None:
    write, models = WRITERS[name]
    session = open_session(write(tmp_path, calls_of(*models)))
    assert session.format == name

    found = cache_misses(replay_session(session, Plan()))

    is_claude = models is CLAUDE
    assert [(miss.call, miss.cause) for miss in found.all] == [
        (0, MissCause.FIRST_REQUEST),
        (2, MissCause.TTL_EXPIRED_5M if is_claude or name in IN_MEMORY else MissCause.TTL_EXPIRED),
        (4, MissCause.MODEL_CHANGED),
        (5, MissCause.UNKNOWN if is_claude else MissCause.LIKELY_SERVER_SIDE),
    ]
    assert found.misses[1].evidence.models == models


SHRINKING = [
    *((name, MissCause.COMPACTION) for name in ("claude-code", "codex", "pi", "inspect", "cline")),
    *((name, MissCause.COMPACTION) for name in ("openhands", "openhands-v0")),
    *((name, MissCause.REWIND) for name in ("claude-code", "gemini-cli", "pi")),
]


@pytest.mark.parametrize(("name", "cause"), SHRINKING, ids=[f"{name}-{cause}" for name, cause in SHRINKING])
def test_a_compaction_or_a_rewind_that_is_recorded_is_the_cause(name: str, cause: MissCause, tmp_path: Path) -> None:
    write, (model, _) = WRITERS[name]
    calls = [
        Made(10_000, 0, 0.0, model),
        Made(20_000, 9_984, 20.0, model),
        Made(30_000, 29_952, 40.0, model),
        Made(15_000, 0, 60.0, model, before=cause),
        Made(20_000, 14_976, 80.0, model),
    ]

    found = cache_misses(replay_session(open_session(write(tmp_path, calls)), Plan()))

    assert [(miss.call, miss.cause) for miss in found.all if miss.call] == [(3, cause)]


@pytest.mark.parametrize("name", ["pi", "claude-code"])
@pytest.mark.parametrize(("changes", "cause"), [(True, MissCause.THINKING_CHANGED), (False, MissCause.UNKNOWN)])
def test_another_thinking_level_is_why_a_call_missed(
    name: str, changes: bool, cause: MissCause, tmp_path: Path
) -> None:
    model = CLAUDE[0]
    write, _ = WRITERS[name]
    path = write(
        tmp_path, [Made(10_000, 0, 0.0, model), Made(20_000, 9_990, 20.0, model), Made(30_000, 0, 40.0, model)]
    )
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    levels = ("high", "high", "xhigh" if changes else "high")
    if name == "claude-code":
        for line, level in zip((line for line in lines if line["type"] == "assistant"), levels, strict=True):
            line["effort"] = level
    else:
        places = [at for at, line in enumerate(lines) if line.get("message", {}).get("role") == "assistant"]
        for at, level in reversed(list(zip(places, levels, strict=True))):
            change = {"type": "thinking_level_change", "timestamp": lines[at]["timestamp"], "thinkingLevel": level}
            lines[at:at] = [{**change, "id": f"t{at}", "parentId": lines[at]["parentId"]}]
            lines[at + 1]["parentId"] = f"t{at}"
    path.write_bytes(jsonl(lines))
    session = open_session(path)

    found = cache_misses(replay_session(session, Plan()))

    assert [call.thinking for call in session.calls] == list(levels)
    assert [(miss.call, miss.cause) for miss in found.misses] == [(2, cause)]
    assert ("high before, xhigh now" if changes else "same model") in describe_evidence(found.misses[0], session)
