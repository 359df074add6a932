"""Read trajectories of SWE-agent and mini-swe-agent: one JSON document per run, rewritten at every step.

SWE-agent's format is defined by `sweagent/agent/agents.py` (`get_trajectory_data`), mini-swe-agent's by its
`docs/usage/output_files.md`; its first versions stored only the message list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.files import Locator
from inspector.session.format import ContainedSession, Format
from inspector.session.json.values import mapping, objects, sequence, string
from inspector.session.sniff import Sample

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from inspector.session.reader import Reader


MINI_KEYS = frozenset({"mini_version", "exit_status", "submission"})

OBSERVATION = "<returncode>"
"""Start of command output in mini-swe-agent's template."""


def _is_early(messages: list[Any]) -> bool:
    """Return True for a bare message list of an early version."""
    entries = objects(messages)
    observed = any(
        entry.get("role") == "user" and string(entry.get("content")).lstrip().startswith(OBSERVATION)
        for entry in entries
    )
    return observed and all(isinstance(entry.get("role"), str) and "content" in entry for entry in entries)


def _is_run(document: Mapping[str, Any]) -> bool:
    """Return True for a run, or an attempt in it, with SWE-agent's steps."""
    steps = objects(document.get("trajectory"))
    has_steps = bool(steps) and all("action" in step and "observation" in step for step in steps[:20])
    is_empty = document.get("trajectory") == [] and "replay_config" in document
    return (has_steps or is_empty) and (isinstance(document.get("history"), list) or "info" in document)


class SweAgentFormat(Format):
    """SWE-agent trajectories."""

    name = "swe-agent"
    title = "SWE-agent (.traj)"
    exact = "nothing: only run totals are recorded"

    def recognize(self, sample: Sample) -> str:
        document = mapping(sample.only_value)
        attempts = objects(document.get("attempts"))
        if attempts and any(map(_is_run, attempts)):
            return f"a JSON document with {len(attempts)} SWE-agent attempts"
        if not _is_run(document):
            return ""
        return f"a JSON document with a trajectory of {len(sequence(document['trajectory']))} SWE-agent steps"

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.swe_agent.configuration import configuration_files
        from inspector.session.formats.swe_agent.reader import SweInterpreter
        from inspector.session.json_reader import JsonReader

        configurations = configuration_files(path)
        return JsonReader(path, self.name, lambda: SweInterpreter(path, configurations), configurations)

    def contained_sessions(self, path: Path) -> Sequence[ContainedSession]:
        from inspector.session.formats.swe_agent.reader import name_of_attempt, title_of

        attempts = sequence(mapping(Sample(path).only_value).get("attempts"))
        names = [(name_of_attempt(number), mapping(one).get("environment")) for number, one in enumerate(attempts)]
        return [
            ContainedSession(Locator(path, name).path, name, title_of(environment, number))
            for number, (name, environment) in enumerate(names if len(names) > 1 else ())
        ]

    def is_copy(self, path: Path) -> bool:
        """Return True for an attempt's own file if the run's file exists, which includes it."""
        from inspector.session.formats.swe_agent.configuration import attempt_of_folder

        folder = path.absolute().parent
        return attempt_of_folder(folder) is not None and (folder.parent / path.name).is_file()

    def is_bookkeeping(self, count_name: str) -> bool:
        return count_name == "demonstration"


class MiniSweAgentFormat(Format):
    """mini-swe-agent trajectories."""

    name = "mini-swe-agent"
    title = "mini-swe-agent (.traj.json)"
    exact = "tokens of calls recorded with their response, which the first versions omit"

    def recognize(self, sample: Sample) -> str:
        document = sample.only_value
        if isinstance(document, list):
            return "a list of chat messages with mini-swe-agent observations" if _is_early(document) else ""
        about = mapping(document)
        if not isinstance(about.get("messages"), list):
            return ""
        if string(about.get("trajectory_format")).startswith("mini-swe-agent"):
            return f"a JSON document in the format {about['trajectory_format']}"
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
