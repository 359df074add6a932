"""Reading a task: its messages, and what the document beside them tells of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from inspector.session.beside import Beside
from inspector.session.decoding import lenient_json
from inspector.session.documents import DocumentReader
from inspector.session.formats.chat import ChatThread, all_blocks
from inspector.session.formats.cline.messages import calls_in, spoken_in
from inspector.session.formats.cline.places import HISTORY, beside
from inspector.session.formats.cline.shown import Condensed, Request, condensations, requests_of_answers
from inspector.session.formats.plain.entries import SYSTEM, blocks_beside
from inspector.session.model import Compaction, Message, Origin, Role
from inspector.session.values import mapping, objects, string

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from inspector.session.assembly import Assembly
    from inspector.session.blocks import TextBlock
    from inspector.session.formats.chat import Spoken
    from inspector.session.nodes import Node
    from inspector.session.reading import Reader


def task_reader(path: Path, name: str) -> Reader:
    """A reader for the task whose messages are in `path`."""
    (about,) = tuple(Beside(one) for one in beside(path))

    def interpret(node: Node, assembly: Assembly) -> None:
        assembly.agent = "Cline"
        if path.name == HISTORY:
            assembly.identifier = path.resolve().parent.name
        Task(assembly, about.value()).take(node)

    return DocumentReader(path, name, interpret, blocks_again, (about,))


def blocks_again(record: bytes, origin: Origin, /) -> list[TextBlock]:
    """The blocks of a message that is read again."""
    value = lenient_json(record)[0]
    if origin.locator == SYSTEM:
        return blocks_beside(value, record, origin.offset, origin.length, SYSTEM)
    return all_blocks([spoken_in(mapping(value))], origin)


class Task:
    """Takes the messages of a task in order and fills an assembly."""

    def __init__(self, assembly: Assembly, about: Any) -> None:
        self._assembly = assembly
        self._about = about
        self._chat = ChatThread(assembly)
        self._open_calls: list[tuple[str, str]] = []
        self._hidden: dict[str, list[int]] = {}
        self._added: dict[int, list[int]] = {}
        self._left_out: tuple[int, int] | None = None
        self._condensed: list[Condensed] = condensations(about)

    def take(self, node: Node) -> None:
        """Take the whole document."""
        fields = node.fields()
        model = self._describe(fields)
        if fields.get("system_prompt") is not None and isinstance(fields["system_prompt"].value(), str):
            system = fields["system_prompt"]
            made = blocks_beside(system.value(), system.raw(), system.offset, system.length, SYSTEM)
            self._chat.thread.add(Message(Role.SYSTEM, tuple(block for block, _ in made)))
        items = fields["messages"].items() if "messages" in fields else node.items()
        values = [item.value() for item in items]
        answers = [place for place, value in enumerate(values) if mapping(value).get("role") == "assistant"]
        requests = requests_of_answers(self._about, answers)
        for place, (item, value) in enumerate(zip(items, values, strict=True)):
            if not isinstance(value, dict):
                self._assembly.diagnose("not a message", 0, max(item.offset, 0), skipped=True)
                continue
            name = string(value.get("role")) or string(value.get("type")) or "(no role)"
            self._assembly.record_counts[name] += 1
            self._add(place, value, Origin(item.offset, item.length), requests.get(place), model)

    def _describe(self, fields: Mapping[str, Node]) -> str:
        """Take up what is said of the task; the model of messages that name none."""
        about = mapping(self._about)
        details = mapping(about.get("metadata"))
        assembly = self._assembly
        assembly.title = string(details.get("title"))
        assembly.working_directory = string(about.get("cwd"))
        if "sessionId" in fields:
            assembly.identifier = string(fields["sessionId"].value()) or assembly.identifier
        for message in objects(self._about)[:1]:
            assembly.title = string(message.get("text")) if message.get("say") in ("text", "task") else ""
        return string(about.get("model"))

    def _add(self, place: int, value: dict[str, Any], origin: Origin, request: Request | None, model: str) -> None:
        said = spoken_in(value, place, self._open_calls)
        if said.is_call:
            self._leave_out(request)
            usage = request.usage if request is not None and request.usage is not None else said.usage
            said = replace(said, model=said.model or model, usage=usage)
            self._open_calls = calls_in(said.value)
        if said.is_summary or value.get("isTruncationMarker") is True:
            added = [self._compact(value, said, origin)]
        else:
            added = self._chat.add([said], origin)
        self._added[place] = added
        for name in ("condenseParent", "truncationParent"):
            self._hidden.setdefault(string(value.get(name)), []).extend(added)

    def _compact(self, value: Mapping[str, Any], said: Spoken, origin: Origin) -> int:
        """Roo's own compactions: a summary begins anew, a marker hides what was tagged with its id."""
        (message,) = self._chat.messages([said], origin)
        gone = self._hidden.get(string(value.get("truncationId")), [])
        members = self._chat.thread.members
        if said.is_summary:
            noted = self._condensed.pop(0) if self._condensed else Condensed(None, None)
            compaction = Compaction(0, "auto", noted.before, noted.after, time=said.time)
            return self._chat.thread.compact(compaction, message)
        if not gone:
            return self._chat.put(said, message)
        compaction = Compaction(0, "truncation", time=said.time)
        before = [index for index in members if index < min(gone)]
        kept = [index for index in members if index > min(gone) and index not in gone]
        return self._chat.thread.compact(compaction, message, kept, before)

    def _leave_out(self, request: Request | None) -> None:
        """Cline's own compaction: a range of messages that later requests leave out."""
        left_out = request.left_out if request is not None else None
        if left_out is None or left_out == self._left_out:
            return
        self._left_out = left_out
        first, last = left_out
        sent = [(place, index) for place, added in self._added.items() for index in added]
        members = set(self._chat.thread.members) | {index for place, index in sent if not first <= place <= last}
        is_gone = {index for place, index in sent if first <= place <= last}
        kept = sorted(index for index in members if index not in is_gone)
        start = [index for index in kept if index < min(is_gone, default=0)]
        self._chat.thread.compact(Compaction(0, "truncation"), None, [i for i in kept if i not in start], start)
