"""What tools returned, in the forms that programs around the Responses API have given it."""

from __future__ import annotations

import re
from typing import Any

from inspector.session.decoding import lenient_json

EXIT_CODE = re.compile(r"\A(?:Chunk ID: .*\n|Wall time: .*\n)*(?:Exit code:|Process exited with code) (-?\d+)")
"""How Codex begins what a command printed, from 0.72 on."""

JSON_OUTPUT = re.compile(r'\A\s*\{\s*"output"\s*:')
"""How older versions wrap it: the string is JSON, and the model is sent it like that."""

FAILURES = (
    "apply_patch verification failed",
    "aborted",
    "collab spawn failed",
    "err: ",
    "exec_command failed",
    "execution error",
    "failed in sandbox",
    "failed to parse function arguments",
    "Script failed",
    "unsupported call",
    "unsupported custom tool call",
    "write_stdin failed",
)
"""How outputs begin that report failure without an exit code."""


def reports_failure(output: Any) -> bool:
    """Whether a tool's output says that it failed: an exit code other than 0, or a known beginning."""
    if isinstance(output, dict):
        return output.get("success") is False or reports_failure(output.get("content"))
    if isinstance(output, list):
        if any(_exit_code(item) for item in output):
            return True
        texts = (item.get("text") for item in output if isinstance(item, dict))
        return reports_failure(next((text for text in texts if isinstance(text, str)), None))
    if not isinstance(output, str):
        return False
    if (match := EXIT_CODE.match(output)) is not None:
        return int(match[1]) != 0
    if JSON_OUTPUT.match(output):
        return _recorded_code(output) not in (None, 0)
    return output.startswith(FAILURES)


def content_of_output(output: Any) -> Any:
    """The content of an output: a string, or a list of parts."""
    return output["content"] if isinstance(output, dict) and "content" in output else output


def _exit_code(item: Any) -> Any:
    """The exit code of one command of `shell_call_output`, None where it has none."""
    outcome = item.get("outcome") if isinstance(item, dict) else None
    return outcome.get("exit_code") if isinstance(outcome, dict) else None


def _recorded_code(output: str) -> Any:
    value, _ = lenient_json(output.encode(errors="replace"))
    metadata = value.get("metadata") if isinstance(value, dict) else None
    return metadata.get("exit_code") if isinstance(metadata, dict) else None
