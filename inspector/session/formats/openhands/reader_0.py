"""Reading what OpenHands' version 0 wrote: folders of events, trajectories, and results of evaluations."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from inspector.session.assembly import Assembly
from inspector.session.documents import DocumentReader
from inspector.session.errors import SessionError
from inspector.session.folders import FolderReader
from inspector.session.format import Inside
from inspector.session.formats.openhands.conversation_0 import Conversation0, blocks_again_0
from inspector.session.formats.openhands.places import VERSION_0, events_folder, number_in
from inspector.session.formats.openhands.shapes import has_history
from inspector.session.lines import LinesReader
from inspector.session.locator import Locator
from inspector.session.model import Origin
from inspector.session.nodes import FileNode, objects_among
from inspector.session.objects import object_lines
from inspector.session.opening import open_for_reading
from inspector.session.paths import is_folder
from inspector.session.sample import Sample
from inspector.session.values import mapping, string

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from inspector.session.nodes import Node
    from inspector.session.objects import ObjectLine
    from inspector.session.reading import Reader
    from inspector.session.texts import BlocksOfRecord


class LinesInterpreter0:
    """Makes a session out of lines: events of one conversation, or whole conversations of which one is read."""

    def __init__(self, session: str = "") -> None:
        """Begin.

        Args:
            session: The conversation to read; the newest, which stands last, where none is named.
        """
        self.blocks_of_record: BlocksOfRecord = blocks_again_0
        self._session = session
        self._assembly = Assembly()
        self._events: Conversation0 | None = None
        self._chosen: ObjectLine | None = None
        self._counted: Counter[str] = Counter()
        self._is_settled = True

    @property
    def assembly(self) -> Assembly:
        """What has been taken so far: the conversation that is read now."""
        if not self._is_settled and self._chosen is not None:
            counts = self._assembly.record_counts
            fresh = Assembly()
            add_history(FileNode(self._chosen.data, self._chosen.offset), self._chosen.value, fresh)
            self._assembly.put(fresh.grown(), fresh.calls, fresh.contexts, fresh.compactions)
            self._assembly.identifier = name_of(self._chosen.value, self._chosen.line)
            self._assembly.agent, self._assembly.title = fresh.agent, fresh.title
            counts.subtract(self._counted)
            counts.update(fresh.record_counts)
            self._counted = fresh.record_counts
            for name in [name for name, count in counts.items() if not count]:
                del counts[name]
            self._is_settled = True
        return self._assembly

    def take(self, data: bytes, offset: int, first_line: int) -> None:
        """Take whole lines. What cannot be read becomes a diagnostic."""
        for line in object_lines(data, offset, first_line, self._assembly):
            if has_history(line.value):
                self._assembly.record_counts["conversation"] += 1
                if self._session in ("", name_of(line.value, line.line)):
                    self._chosen, self._is_settled = line, False
                continue
            self._events = self._events or Conversation0(self._assembly)
            self._events.add(line.value, Origin(line.offset, len(line.data)))


def reader_0(path: Path, name: str) -> Reader:
    """A reader for a conversation.

    Raises:
        SessionError: There are no events.
    """
    locator = Locator.of(path)
    if not is_folder(locator.file):
        if Sample(locator.file).is_lines:
            if locator.session and locator.session not in {
                one.identifier for one in conversations_inside(locator.file)
            }:
                raise SessionError(f"{path}: no conversation {locator.session}. Give the path alone to open the last.")
            return LinesReader(path, name, LinesInterpreter0(locator.session))
        return DocumentReader(path, name, _interpret, blocks_again_0)
    folder = events_folder(path, VERSION_0)
    if folder is None:
        raise SessionError(f"{path}: no events in this directory. Give the folder of one conversation.")
    conversation = Conversation0()
    conversation.assembly.identifier = (folder.parent if folder.name == "events" else folder).name
    return FolderReader(path, folder, name, lambda one: number_in(one, VERSION_0), conversation, blocks_again_0)


def conversations_inside(path: Path) -> Sequence[Inside]:
    """The conversations of a file of results, newest first; none where it holds no more than one.

    Raises:
        SessionError: It cannot be read.
    """
    if not Sample(path).is_lines or not any(map(has_history, Sample(path).records)):
        return ()
    found: list[Inside] = []
    with open_for_reading(path) as file:
        data = file.read()
    modified = path.stat().st_mtime
    for line in object_lines(data, 0, 1, Assembly()):
        if has_history(line.value):
            identifier = name_of(line.value, line.line)
            title = string(mapping(line.value.get("issue")).get("title"))
            found.append(Inside(Locator(path, identifier).path, identifier, title, modified=modified))
    return found[::-1] if len(found) > 1 else ()


def name_of(value: Mapping[str, Any], line: int) -> str:
    """What a conversation of a file of results is called."""
    number = mapping(value.get("issue")).get("number")
    named = string(value.get("instance_id")) or (f"issue-{number}" if isinstance(number, int) else "")
    return named.replace("/", "-") or f"line-{line}"


def add_history(node: Node, value: Mapping[str, Any], assembly: Assembly) -> None:
    """Fill an assembly from a whole conversation."""
    conversation = Conversation0(assembly)
    assembly.title = string(mapping(value.get("issue")).get("title"))
    fields = node.fields()
    for item, event in objects_among(
        _events(fields["history"].items() if "history" in fields else []), "an event", assembly
    ):
        conversation.add(event, Origin(item.offset, item.length))


def _events(items: Sequence[Node]) -> Iterator[Node]:
    """The events in a history, in which early versions put each action and its observation into a list of two."""
    for item in items:
        inner = item.items()
        if inner:
            yield from inner
        else:
            yield item


def _interpret(node: Node, assembly: Assembly) -> None:
    value = node.value()
    if isinstance(value, dict):
        add_history(node, value, assembly)
        assembly.identifier = name_of(value, 0) if name_of(value, 0) != "line-0" else ""
        return
    conversation = Conversation0(assembly)
    for item, event in objects_among(node.items(), "an event", assembly):
        conversation.add(event, Origin(item.offset, item.length))
