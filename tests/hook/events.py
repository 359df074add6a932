"""Events as Claude Code sends them, and the hook in a subprocess with real pipes."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

from tests.program import COMMAND, environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

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
    data: bytes | dict[str, Any],
    plan: Path | str,
    *arguments: str,
    agent: str = "claude-code",
    first: Callable[[], None] | None = None,
    **env: str,
) -> subprocess.CompletedProcess[bytes]:
    """Run the hook as an agent does."""
    return subprocess.run(
        [*COMMAND, "hook", "--agent", agent, "--plan", str(plan), *arguments],
        input=data if isinstance(data, bytes) else json.dumps(data).encode(),
        capture_output=True,
        env=environment(**env),
        timeout=120,
        check=False,
        preexec_fn=first,
    )


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
