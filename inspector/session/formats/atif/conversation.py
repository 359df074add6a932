"""Putting a trajectory together: its steps, those copied from the one it continues, and its subagents' trajectories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.decoding import clean_text, lenient_json
from inspector.session.formats.atif.steps import is_aggregate, spoken_in
from inspector.session.formats.chat import ChatThread, Spoken, all_blocks, notice
from inspector.session.formats.plain.entries import TOOLS, blocks_beside
from inspector.session.links import LinkKind, SessionLink
from inspector.session.model import Compaction, ContextCause, Origin
from inspector.session.values import mapping, objects, string

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from inspector.session.assembly import Assembly
    from inspector.session.blocks import TextBlock
    from inspector.session.nodes import Node

MOST_DEPTH = 8
"""Subagents of subagents further down are left out."""

CONTINUED = "continued_trajectory_ref"


def interpret(node: Node, assembly: Assembly, folder: Path) -> None:
    """Fill an assembly from a trajectory.

    Args:
        node: The trajectory.
        assembly: What to fill.
        folder: Where its file is, beside which subagents' may be.
    """
    agent = mapping(node.fields()["agent"].value()) if "agent" in node.fields() else {}
    assembly.agent = " ".join(filter(None, (string(agent.get("name")), string(agent.get("version")))))
    _Trajectories(assembly, folder).add(node, 0)


def blocks_again(record: bytes, origin: Origin, /) -> list[TextBlock]:
    """The blocks of a record that is read again."""
    value = lenient_json(record)[0]
    if origin.locator == TOOLS:
        return blocks_beside(value, record, origin.offset, origin.length, TOOLS)
    if isinstance(value, str):
        return all_blocks([_continued(value)], origin)
    return all_blocks(spoken_in(mapping(value)), origin)


def _continued(path: str) -> Spoken:
    return Spoken(notice(clean_text(f"continued in {path}")))


class _Trajectories:
    """Takes trajectories, each a conversation of its own."""

    def __init__(self, assembly: Assembly, folder: Path) -> None:
        self._assembly = assembly
        self._folder = folder
        self._count = 0

    def add(self, node: Node, depth: int) -> None:
        """Add a trajectory and those of its subagents."""
        fields = node.fields()
        agent = fields["agent"].fields() if "agent" in fields else {}
        model = string(agent["model_name"].value()) if "model_name" in agent else ""
        chat = ChatThread(self._assembly, self._count)
        self._count += 1
        if depth == 0:
            names = [string(fields[name].value()) for name in ("session_id", "trajectory_id") if name in fields]
            self._assembly.identifier = next(filter(None, names), "")
        chat.tools(agent.get("tool_definitions"))
        self._steps(fields["steps"].items() if "steps" in fields else [], chat, model)
        if CONTINUED in fields and isinstance(path := fields[CONTINUED].value(), str) and path:
            node = fields[CONTINUED]
            chat.add([_continued(path)], Origin(node.offset, node.length))
        subagents = fields["subagent_trajectories"].items() if "subagent_trajectories" in fields else []
        for one in subagents:
            if depth < MOST_DEPTH:
                self.add(one, depth + 1)
            else:
                self._assembly.diagnose("subagents nested too deeply", 0, max(one.offset, 0), skipped=True)

    def _steps(self, items: list[Node], chat: ChatThread, model: str) -> None:
        copied: list[int] | None = []
        for item in items:
            step = item.value()
            if not isinstance(step, dict):
                self._assembly.diagnose("not a step", 0, max(item.offset, 0), skipped=True)
                continue
            source = string(step.get("source"))
            self._assembly.record_counts[f"step:{source or '(no source)'}"] += 1
            if is_aggregate(step) and step.get("metrics"):
                reason = "metrics of several calls together, which cannot be told apart"
                self._assembly.diagnose(reason, 0, max(item.offset, 0), skipped=False)
            is_copied = step.get("is_copied_context") is True
            if copied and not is_copied:
                _continue(self._assembly, chat, copied[0])
                copied = None
            added = chat.add(spoken_in(step, model), Origin(item.offset, item.length))
            self._link(step)
            if copied is not None and is_copied:
                copied += added
            elif source != "system":
                copied = None

    def _link(self, step: Mapping[str, Any]) -> None:
        """Note the files of subagents that a step's calls started; those inside this one are read with it."""
        for result in objects(mapping(step.get("observation")).get("results")):
            for reference in objects(result.get("subagent_trajectory_ref")):
                place = string(reference.get("trajectory_path"))
                name = string(reference.get("trajectory_id")) or string(reference.get("session_id")) or place
                if place and name:
                    path = self._folder / place if "://" not in place and "\x00" not in place else None
                    call = string(result.get("source_call_id"))
                    self._assembly.link(SessionLink(LinkKind.SUBAGENT, name, path, call))


def _continue(assembly: Assembly, chat: ChatThread, first: int) -> None:
    """A trajectory that begins with steps of another goes on where that one was compacted."""
    chat.thread.begin(ContextCause.COMPACTION, list(chat.thread.members))
    assembly.compactions.append(Compaction(first, trigger="continuation"))
