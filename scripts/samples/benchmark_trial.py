"""A trial of a benchmark: a harness asks an agent a question about the logs of a night, and keeps its trajectory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import night_log, write_atif
from .conversation import Conversation, ToolResult, at, call
from .projects_on_disk import sources
from .workspace import HOME, Workspace

if TYPE_CHECKING:
    from pathlib import Path

SYSTEM = (
    f"You solve one task in a container, with a shell in {HOME}. Nobody answers questions. Say `done` when you are."
)

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "bash",
            "description": "Run a command and get what it prints.",
            "parameters": {
                "type": "object",
                "properties": {"command": {"type": "string"}},
                "required": ["command"],
            },
        },
    }
]


def make(folder: Path) -> str:
    """Create the trial's file in an empty temporary folder."""
    workspace = Workspace(folder, {**sources("nightshift"), **night_log.logs()})

    def bash(command: str) -> ToolResult:
        finished = workspace.run(f"({command}) 2>&1")
        return ToolResult(f"exit code {finished.exit_code}\n{finished.output}", is_error=finished.exit_code != 0)

    talk = Conversation({"bash": bash}, seed=77, now=at(2026, 10, 29, 3, 5), prefix="call_")
    talk.user(
        "The logs of last night are in logs/. Some batches were delivered to a second worker while the first still had "
        "them. Write the number of invoices in those batches into answer.txt, and nothing else.",
        after=0,
    )
    talk.assistant("I see what there is.", call("bash", command="ls -R . && wc -l logs/*.log"))
    talk.assistant("", call("bash", command="cat logs/relayd.log"))
    talk.assistant(
        "`lease expired` marks the batches that were taken from their worker. How large they are is in the workers' log.",
        call("bash", command="grep 'lease expired' logs/relayd.log | grep -o 'batch=[0-9]*' | sort -u"),
        call("bash", command="grep ' done, ' logs/workers.log"),
    )
    talk.assistant("There is a tool for this in the project.", call("bash", command="cat tools/replay.py"))
    talk.assistant("", call("bash", command="python3 tools/replay.py logs/workers.log config/relayd.toml | head -5"))
    talk.assistant(
        "It counts by how long a batch took. I count by what the queue server said, to be sure that both agree.",
        call(
            "bash",
            command="for b in $(grep 'lease expired' logs/relayd.log | grep -o 'batch=[0-9]*' | cut -d= -f2 | sort -un); "
            'do grep " batch $b received" logs/workers.log | head -1; done '
            "| grep -o '[0-9]* invoices' | awk '{sum += $1} END {print sum}'",
        ),
    )
    talk.assistant(
        "Both say the same.",
        call(
            "bash",
            command="python3 tools/replay.py logs/workers.log config/relayd.toml "
            "| sed -n 's/.*lease, \\([0-9,]*\\) invoices.*/\\1/p' | tr -d , > answer.txt; cat answer.txt",
        ),
    )
    talk.assistant("done")
    return write_atif.document(talk, SYSTEM, "gpt-5.4-mini", TOOLS)
