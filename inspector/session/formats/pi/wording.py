"""How pi puts into words what is no chat message: the texts that the model is sent for them.

From `packages/coding-agent/src/core/messages.ts` of badlogic/pi-mono; what concerns Python from the same file of
can1357/oh-my-pi.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.values import string

if TYPE_CHECKING:
    from collections.abc import Mapping

COMPACTION_SUMMARY = (
    "The conversation history before this point was compacted into the following summary:\n\n<summary>\n",
    "\n</summary>",
)
BRANCH_SUMMARY = (
    "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n",
    "</summary>",
)


def compaction_text(summary: str) -> str:
    """What stands for a compacted conversation."""
    return summary.join(COMPACTION_SUMMARY)


def branch_text(summary: str) -> str:
    """What stands for a branch that was left."""
    return summary.join(BRANCH_SUMMARY)


def shell_text(message: Mapping[str, Any]) -> str:
    """A command that the person ran, and its output."""
    text = f"Ran `{string(message.get('command'))}`\n{_output(message)}"
    if message.get("cancelled"):
        text += "\n\n(command cancelled)"
    elif _failed(message):
        text += f"\n\nCommand exited with code {message['exitCode']}"
    path = string(message.get("fullOutputPath"))
    if message.get("truncated") and path:
        text += f"\n\n[Output truncated. Full output: {path}]"
    return text


def python_text(message: Mapping[str, Any]) -> str:
    """Code that the person ran, and its output."""
    text = f"Ran Python:\n```python\n{string(message.get('code'))}\n```\n"
    text += ("Output:\n" if message.get("output") else "") + _output(message)
    if message.get("cancelled"):
        text += "\n\n(execution cancelled)"
    elif _failed(message):
        text += f"\n\nExecution failed with code {message['exitCode']}"
    return text


def _output(message: Mapping[str, Any]) -> str:
    output = string(message.get("output"))
    return f"```\n{output}\n```" if output else "(no output)"


def _failed(message: Mapping[str, Any]) -> bool:
    code = message.get("exitCode")
    return isinstance(code, (int, float)) and code != 0
