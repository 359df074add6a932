"""SWE-agent's and mini-swe-agent's trajectories: one JSON document a run, written anew at every step.

SWE-agent's is that of `sweagent/agent/agents.py` (`get_trajectory_data`), mini-swe-agent's that of its
`docs/usage/output_files.md`; its first versions kept the bare list of messages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.format import Format
from inspector.session.json.values import mapping, objects, string

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.session.reader import Reader
    from inspector.session.sniff import Sample


MINI_KEYS = frozenset({"mini_version", "exit_status", "submission"})

OBSERVATION = "<returncode>"
"""How mini-swe-agent's template begins what a command printed."""


def _is_early(messages: list[Any]) -> bool:
    """Whether these are the messages of a version that wrote no more than them."""
    entries = objects(messages)
    observed = any(
        entry.get("role") == "user" and string(entry.get("content")).lstrip().startswith(OBSERVATION)
        for entry in entries
    )
    return observed and all(isinstance(entry.get("role"), str) and "content" in entry for entry in entries)


class SweAgentFormat(Format):
    """SWE-agent's trajectories."""

    name = "swe-agent"
    title = "SWE-agent (.traj)"
    exact = "nothing: tokens are recorded for whole runs alone"

    def recognise(self, sample: Sample) -> str:
        document = mapping(sample.only_value)
        steps = objects(document.get("trajectory"))
        has_steps = bool(steps) and all("action" in step and "observation" in step for step in steps[:20])
        is_empty = document.get("trajectory") == [] and "replay_config" in document
        if not (has_steps or is_empty) or not (isinstance(document.get("history"), list) or "info" in document):
            return ""
        return f"a JSON document with a trajectory of {len(steps)} of SWE-agent's steps"

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.swe_agent.reader import SweInterpreter
        from inspector.session.json_reader import JsonReader

        return JsonReader(path, self.name, SweInterpreter)

    def is_bookkeeping(self, count_name: str) -> bool:
        return count_name == "demonstration"


class MiniSweAgentFormat(Format):
    """mini-swe-agent's trajectories."""

    name = "mini-swe-agent"
    title = "mini-swe-agent (.traj.json)"
    exact = "tokens of calls whose response is recorded, which the first versions did not"

    def recognise(self, sample: Sample) -> str:
        document = sample.only_value
        if isinstance(document, list):
            return "a list of chat messages with mini-swe-agent's observations" if _is_early(document) else ""
        about = mapping(document)
        if not isinstance(about.get("messages"), list):
            return ""
        if string(about.get("trajectory_format")).startswith("mini-swe-agent"):
            return f"a JSON document of format {about['trajectory_format']}"
        info = mapping(about.get("info"))
        if MINI_KEYS & info.keys() and ("mini_version" in info or _is_early(about["messages"])):
            return "a JSON document with chat messages and mini-swe-agent's info"
        return ""

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.swe_agent.reader import MiniInterpreter
        from inspector.session.json_reader import JsonReader

        return JsonReader(path, self.name, MiniInterpreter)


FORMATS = (
    SweAgentFormat(),
    MiniSweAgentFormat(),
)
