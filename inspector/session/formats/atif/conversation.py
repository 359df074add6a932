"""Putting a trajectory together: its steps, those copied from the one it continues, and its subagents' trajectories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.decoding import clean_text, lenient_json
from inspector.session.formats.atif.continuing import begin_continuation
from inspector.session.formats.atif.shapes import is_trajectory
from inspector.session.formats.atif.steps import count_step, is_aggregate, spoken_in
from inspector.session.formats.chat import ChatThread, Spoken, all_blocks, notice
from inspector.session.formats.plain.entries import TOOLS, blocks_beside
from inspector.session.links import LinkKind, SessionLink
from inspector.session.model import Compaction, ContextCause, Origin
from inspector.session.nodes import objects_among
from inspector.session.values import mapping, objects, string

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from inspector.session.assembly import Assembly
    from inspector.session.blocks import TextBlock
    from inspector.session.nodes import Node
    from inspector.session.others import Numbered, Others

MOST_DEPTH = 8
"""Subagents of subagents further down are left out."""

CONTINUED = "continued_trajectory_ref"


def interpret(node: Node, assembly: Assembly, path: Path, others: Others) -> None:
    """Fill an assembly from a trajectory.

    Args:
        node: The trajectory.
        assembly: What to fill.
        path: Its file, beside which subagents' may be.
        others: The files in which it goes on.
    """
    agent = mapping(node.fields()["agent"].value()) if "agent" in node.fields() else {}
    assembly.agent = " ".join(filter(None, (string(agent.get("name")), string(agent.get("version")))))
    _Trajectories(assembly, path, others).add(node, 0)


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

    def __init__(self, assembly: Assembly, path: Path, others: Others) -> None:
        self._assembly = assembly
        self._path = path
        self._folder = path.parent
        self._others = others
        self._count = 0

    def add(self, node: Node, depth: int, file: int = 0) -> None:
        """Add a trajectory, what it goes on in, and those of its subagents."""
        fields = node.fields()
        chat = ChatThread(self._assembly, self._count)
        self._count += 1
        if depth == 0:
            names = [string(fields[name].value()) for name in ("session_id", "trajectory_id") if name in fields]
            self._assembly.identifier = next(filter(None, names), "")
        if (defining := chat.defining(_agent(fields).get("tool_definitions"), file)) is not None:
            chat.thread.add(defining)
        self._steps(fields["steps"].items() if "steps" in fields else [], chat, _model(fields), file)
        self._subagents(fields, depth, file)
        seen = {self._path.resolve()}
        while CONTINUED in fields and isinstance(place := fields[CONTINUED].value(), str) and place:
            following = self._following(place, seen) if depth == 0 else None
            if following is None:
                there = fields[CONTINUED]
                chat.add([_continued(place)], Origin(there.offset, there.length, 0, file))
                break
            file, fields = following.number, following.node.fields()
            self._assembly.record_counts["continuation"] += 1
            steps = fields["steps"].items() if "steps" in fields else []
            first = begin_continuation(self._assembly, chat, _agent(fields).get("tool_definitions"), steps, file)
            self._steps(steps[first:], chat, _model(fields), file, is_continued=True)
            self._subagents(fields, depth, file)

    def _following(self, place: str, seen: set[Path]) -> Numbered | None:
        """The file in which a trajectory goes on, where it stands beside it or below."""
        if "://" in place or "\x00" in place:
            return None
        path = (self._folder / place).resolve()
        if path in seen or not path.is_relative_to(self._folder.resolve()):
            return None
        seen.add(path)
        found = self._others.open(path)
        return found if found is not None and is_trajectory(found.node.value()) else None

    def _subagents(self, fields: Mapping[str, Node], depth: int, file: int) -> None:
        for one in fields["subagent_trajectories"].items() if "subagent_trajectories" in fields else ():
            if depth < MOST_DEPTH:
                self.add(one, depth + 1, file)
            else:
                self._assembly.diagnose("subagents nested too deeply", 0, max(one.offset, 0), skipped=True)

    def _steps(
        self, items: list[Node], chat: ChatThread, model: str, file: int = 0, *, is_continued: bool = False
    ) -> None:
        copied: list[int] | None = None if is_continued else []
        for item, step in objects_among(items, "a step", self._assembly):
            count_step(self._assembly, step)
            if is_aggregate(step) and step.get("metrics"):
                reason = "metrics of several calls together, which cannot be told apart"
                self._assembly.diagnose(reason, 0, max(item.offset, 0), skipped=False)
            is_copied = step.get("is_copied_context") is True
            if copied and not is_copied:
                _continue(self._assembly, chat, copied[0])
                copied = None
            added = chat.add(spoken_in(step, model), Origin(item.offset, item.length, 0, file))
            self._link(step)
            if copied is not None and is_copied:
                copied += added
            elif string(step.get("source")) != "system":
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


def _agent(fields: Mapping[str, Node]) -> dict[str, Node]:
    return fields["agent"].fields() if "agent" in fields else {}


def _model(fields: Mapping[str, Node]) -> str:
    agent = _agent(fields)
    return string(agent["model_name"].value()) if "model_name" in agent else ""


def _continue(assembly: Assembly, chat: ChatThread, first: int) -> None:
    """A trajectory that begins with steps of another goes on where that one was compacted."""
    chat.thread.begin(ContextCause.COMPACTION, list(chat.thread.members))
    assembly.compactions.append(Compaction(first, trigger="continuation"))
