"""Small files in the forms that harnesses and evaluations write, made from the description of each form."""

import io
import json
import zipfile
from collections.abc import Sequence
from typing import Any

Record = dict[str, Any]

STARTED = 1_750_000_000


def encoded(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def trajectory(turns: int) -> Record:
    """An ATIF trajectory: a call and its result on one step."""
    steps: list[Record] = [{"step_id": 1, "source": "user", "message": "go on"}]
    steps += [
        {
            "step_id": turn + 2,
            "source": "agent",
            "message": f"turn {turn}",
            "tool_calls": [{"tool_call_id": f"c{turn}", "function_name": "bash", "arguments": {"command": "ls"}}],
            "observation": {"results": [{"source_call_id": f"c{turn}", "content": f"file{turn} é"}]},
            "metrics": {"prompt_tokens": 100 + turn, "completion_tokens": 5, "cached_tokens": 60},
        }
        for turn in range(turns)
    ]
    return {"schema_version": "ATIF-v1.8", "agent": {"name": "harness", "version": "1"}, "steps": steps}


def stream(identifier: str, text: str, uncached: int) -> str:
    """A response of Anthropic's API as the events of its stream."""
    usage = {
        "input_tokens": uncached,
        "cache_read_input_tokens": 40,
        "cache_creation_input_tokens": 7,
        "output_tokens": 1,
    }
    message = {"id": identifier, "role": "assistant", "model": "claude-x", "content": [], "usage": usage}
    call = {"type": "tool_use", "id": f"t-{identifier}", "name": "Bash", "input": {}}
    events: list[Record] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text[:3]}},
        {"type": "ping"},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text[3:]}},
        {"type": "content_block_start", "index": 1, "content_block": call},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"comm'}},
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": 'and": "ls"}'},
        },
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 33}},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


def exchange(messages: list[Record], answer: str | Record, number: int = 0, **body: Any) -> Record:
    """One line of a log of requests."""
    asked = {"model": "claude-x", "max_tokens": 9, "system": "You help.", "tools": [{"name": "Bash"}], **body}
    request = {
        "timestamp": STARTED + number,
        "method": "POST",
        "url": "https://api.anthropic.com/v1/messages?beta=true",
        "headers": {},
        "body": {**asked, "messages": messages},
    }
    answered = {"body_raw": answer} if isinstance(answer, str) else {"body": answer}
    return {"request": request, "response": {"status_code": 200, "headers": {}, **answered}, "logged_at": "x"}


def log_of_requests(turns: int) -> list[Record]:
    """A conversation, every request of which repeats it from the beginning."""
    messages: list[Record] = [{"role": "user", "content": "go on"}]
    lines = []
    for turn in range(turns):
        lines.append(exchange(list(messages), stream(f"m{turn}", f"turn {turn}", turn + 1), turn))
        call = {"type": "tool_use", "id": f"t-m{turn}", "name": "Bash", "input": {"command": "ls"}}
        result = {"type": "tool_result", "tool_use_id": f"t-m{turn}", "content": f"file{turn}"}
        messages.append({"role": "assistant", "content": [{"type": "text", "text": f"turn {turn}"}, call]})
        messages.append({"role": "user", "content": [result]})
    return lines


def cline_history(turns: int) -> list[Record]:
    messages: list[Record] = [
        {
            "role": "user",
            "content": [text("<task>\ngo on\n</task>"), text("<environment_details>\n</environment_details>")],
        }
    ]
    for turn in range(turns):
        said = f"turn {turn}\n<read_file>\n<path>file{turn}</path>\n</read_file>"
        messages.append({"role": "assistant", "content": [text(said)]})
        result = [text(f"[read_file for 'file{turn}'] Result:"), text(f"content {turn}"), text("<environment_details>")]
        messages.append({"role": "user", "content": result})
    return messages


def cline_shown(turns: int) -> list[Record]:
    shown: list[Record] = [{"ts": STARTED * 1000, "type": "say", "say": "text", "text": "go on"}]
    for turn in range(turns):
        about = {"request": "…", "tokensIn": 10 + turn, "tokensOut": 5, "cacheWrites": 3, "cacheReads": 20, "cost": 0.1}
        index = 2 * turn - 1
        shown.append(
            {
                "ts": STARTED * 1000 + turn,
                "type": "say",
                "say": "api_req_started",
                "text": json.dumps(about),
                "conversationHistoryIndex": index,
            }
        )
    return shown


def text(value: str) -> Record:
    return {"type": "text", "text": value}


def swe_run(turns: int) -> Record:
    history: list[Record] = [
        {"role": "system", "content": "SETTING", "agent": "main", "message_type": "system_prompt"},
        {"role": "user", "content": "an example", "agent": "main", "is_demo": True},
        {"role": "user", "content": "ISSUE", "agent": "main", "message_type": "observation"},
    ]
    steps = []
    for turn in range(turns):
        answer = f"DISCUSSION turn {turn}\n```\nls {turn}\n```"
        history.append({"role": "assistant", "content": answer, "action": f"ls {turn}\n", "message_type": "action"})
        history.append({"role": "user", "content": f"file{turn}", "message_type": "observation"})
        steps.append({"action": f"ls {turn}\n", "observation": f"file{turn}", "response": answer, "thought": ""})
    return {"environment": "repo__issue-1", "trajectory": steps, "history": history, "info": {"model_stats": {}}}


def mini_run(turns: int) -> Record:
    messages: list[Record] = [{"role": "system", "content": "You run bash."}, {"role": "user", "content": "ISSUE"}]
    for turn in range(turns):
        usage = {"prompt_tokens": 50 + turn, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 30}}
        response = {"id": f"r{turn}", "model": "gpt-x", "usage": usage}
        extra = {"timestamp": STARTED + turn, "response": response, "actions": [{"command": f"ls {turn}"}]}
        said = f"THOUGHT: turn {turn}\n\n```bash\nls {turn}\n```"
        messages.append({"role": "assistant", "content": said, "extra": extra})
        messages.append({"role": "user", "content": f"<returncode>0</returncode>\n<output>\nfile{turn}\n</output>"})
    return {
        "info": {"mini_version": "2.0", "exit_status": "", "submission": ""},
        "messages": messages,
        "trajectory_format": "mini-swe-agent-1.1",
    }


def openhands_events(turns: int) -> list[Record]:
    """Events of OpenHands: every response makes two calls, which are answered after both."""
    events: list[Record] = [
        event(0, "SystemPromptEvent", "agent", system_prompt=text("You code."), tools=[{"type": "function"}]),
        event(1, "MessageEvent", "user", llm_message={"role": "user", "content": [text("go on")]}),
    ]
    for turn in range(turns):
        for call in "ab":
            events.append(
                event(
                    len(events),
                    "ActionEvent",
                    "agent",
                    thought=[text(f"turn {turn}")] if call == "a" else [],
                    action={"kind": "TerminalAction", "command": "ls"},
                    tool_name="terminal",
                    tool_call_id=f"c{turn}{call}",
                    tool_call={"id": f"c{turn}{call}", "name": "terminal", "arguments": '{"command": "ls"}'},
                    llm_response_id=f"r{turn}",
                )
            )
        for call in "ab":
            observed = {"kind": "TerminalObservation", "content": [text(f"file{turn}{call}")], "is_error": False}
            about = {"tool_name": "terminal", "tool_call_id": f"c{turn}{call}", "observation": observed}
            events.append(event(len(events), "ObservationEvent", "environment", **about))
    return events


def event(number: int, kind: str, source: str, **fields: Any) -> Record:
    return {"id": f"e{number}", "timestamp": "2026-01-01T00:00:00", "source": source, "kind": kind, **fields}


def openhands_state(turns: int) -> Record:
    usages = [
        {"response_id": f"r{turn}", "prompt_tokens": 90 + turn, "completion_tokens": 6, "cache_read_tokens": 50}
        for turn in range(turns)
    ]
    agent = {"llm": {"model": "claude-x"}}
    return {"id": "conversation", "agent": agent, "stats": {"usage_to_metrics": {"agent": {"token_usages": usages}}}}


def openhands_0_history(turns: int) -> list[Record]:
    events: list[Record] = [
        {"id": 0, "source": "agent", "action": "system", "args": {"content": "You code.", "tools": []}},
        {"id": 1, "source": "user", "action": "message", "args": {"content": "go on"}},
    ]
    for turn in range(turns):
        number = len(events)
        usage = {"prompt_tokens": 70 + turn, "completion_tokens": 6, "prompt_tokens_details": {"cached_tokens": 20}}
        function = {"name": "execute_bash", "arguments": '{"command": "ls"}'}
        message = {"content": f"turn {turn}", "tool_calls": [{"id": f"c{turn}", "function": function}]}
        response = {"id": f"r{turn}", "model": "gpt-x", "usage": usage, "choices": [{"message": message}]}
        link = {"function_name": "execute_bash", "tool_call_id": f"c{turn}"}
        called = {**link, "model_response": response}
        args = {"command": "ls", "thought": f"turn {turn}"}
        events.append({"id": number, "source": "agent", "action": "run", "args": args, "tool_call_metadata": called})
        seen = {"observation": "run", "content": f"file{turn}", "extras": {}, "tool_call_metadata": link}
        events.append({"id": number + 1, "source": "agent", "cause": number, **seen})
    return events


def inspect_sample(turns: int, identifier: int | str = 1) -> Record:
    messages: list[Record] = [{"id": "u", "role": "user", "content": "attachment://asked"}]
    events: list[Record] = [{"event": "sample_init"}]
    for turn in range(turns):
        call = {"id": f"c{turn}", "function": "bash", "arguments": {"cmd": "ls"}, "type": "function"}
        answer = {"id": f"a{turn}", "role": "assistant", "content": f"turn {turn}", "tool_calls": [call]}
        tokens = {"input_tokens": 9, "output_tokens": 3, "input_tokens_cache_read": 30, "total_tokens": 42}
        output = {"model": "model-x", "choices": [{"message": answer, "stop_reason": "tool_calls"}], "usage": tokens}
        asked = {"event": "model", "model": "provider/model-x", "input": list(messages), "tools": [], "output": output}
        events.append({**asked, "timestamp": "2026-01-01T00:00:00+00:00"})
        result = {
            "id": f"t{turn}",
            "role": "tool",
            "content": f"file{turn}",
            "tool_call_id": f"c{turn}",
            "function": "bash",
        }
        messages += [answer, result]
    attachments = {"asked": "a long question"}
    return {
        "id": identifier,
        "epoch": 1,
        "input": "…",
        "messages": messages,
        "events": events,
        "attachments": attachments,
    }


def inspect_log(samples: list[Record]) -> Record:
    return {
        "version": 2,
        "status": "started",
        "eval": {"task": "count", "model": "provider/model-x"},
        "samples": samples,
    }


def inspect_archive(samples: list[Record], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        archive.writestr("_journal/start.json", encoded({"version": 2, "eval": {"task": "count"}, "plan": {}}))
        for sample in samples:
            archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", encoded(sample))
    return file.getvalue()


def jsonl(records: list[Record]) -> bytes:
    return b"".join(encoded(record) + b"\n" for record in records)


def swe_attempts(turns: Sequence[int], *, best: int | None = None) -> Record:
    attempts = [{**swe_run(count), "replay_config": None} for count in turns]
    for number, attempt in enumerate(attempts):
        attempt["history"][2]["content"] = f"ISSUE, attempt {number}"
    if best is None:
        return {"attempts": attempts}
    info = {**attempts[best]["info"], "best_attempt_idx": best, "rloop_model_stats": {}}
    return {"attempts": attempts, **attempts[best], "info": info}
