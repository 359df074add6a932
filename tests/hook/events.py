"""Events as Claude Code sends them, and the hook in a process with real streams."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.forked_program import run_forked
from tests.program import COMMAND, environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

PLAN = """name = "tuned"

[[strategies]]
name = "trim-at-insertion"
threshold = 1000
head = 300
tail = 200
marker = "\\n[... {removed:,} of {length} cut from {tool}; all of it: {recall} ...]\\n"
"""


def bash_event(stdout: str = "x" * 5_000, **more: Any) -> dict[str, Any]:
    """An event of the tool Bash, with anything else in its place."""
    output = {"stdout": stdout, "stderr": "", "interrupted": False, "isImage": False}
    event = {
        "session_id": "s-1",
        "transcript_path": "/nowhere/s-1.jsonl",
        "cwd": "/nowhere",
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "make"},
        "tool_response": output,
        "tool_use_id": "toolu_01HookTest",
    }
    return {**event, **more}


def run_hook(
    data: bytes | dict[str, Any], plan: Path | str, *arguments: str, agent: str = "claude-code", **env: str
) -> subprocess.CompletedProcess[bytes]:
    """Run the hook in a fork of a process that has imported the program."""
    return run_forked(_words(plan, agent, arguments), environment(**env), str(Path.cwd()), _encoded(data))


def start_hook(
    data: bytes | dict[str, Any],
    plan: Path | str,
    *arguments: str,
    agent: str = "claude-code",
    first: Callable[[], None] | None = None,
    **env: str,
) -> subprocess.CompletedProcess[bytes]:
    """Run the hook as an agent does, in its own process."""
    return subprocess.run(
        [*COMMAND, *_words(plan, agent, arguments)],
        input=_encoded(data),
        capture_output=True,
        env=environment(**env),
        timeout=120,
        check=False,
        preexec_fn=first,
    )


def _words(plan: Path | str, agent: str, arguments: Sequence[str]) -> list[str]:
    return ["hook", "--agent", agent, "--plan", str(plan), *arguments]


def _encoded(data: bytes | dict[str, Any]) -> bytes:
    return data if isinstance(data, bytes) else json.dumps(data).encode()


def sent_output(answer: bytes) -> Any:
    (said,) = json.loads(answer).values()
    assert said.keys() == {"hookEventName", "updatedToolOutput"}
    assert said["hookEventName"] == "PostToolUse"
    return said["updatedToolOutput"]


def recorded_events(path: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """The tool results of a recorded Claude Code session as events, each with the text the model saw."""
    names: dict[str, str] = {}
    for line in path.read_bytes().splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        content = (record.get("message") or {}).get("content")
        for part in content if isinstance(content, list) else ():
            if part.get("type") == "tool_use":
                names[part["id"]] = part["name"]
            # Claude Code sends another event for a failed call.
            if part.get("type") == "tool_result" and not part.get("is_error") and "toolUseResult" in record:
                identifier = part["tool_use_id"]
                event = bash_event(
                    tool_name=names.get(identifier, ""),
                    tool_use_id=identifier,
                    tool_response=record["toolUseResult"],
                    session_id=record.get("sessionId", ""),
                )
                seen = part.get("content")
                if isinstance(seen, list):
                    seen = "".join(each.get("text", "") for each in seen)
                yield event, seen or ""
