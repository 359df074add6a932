"""Read a task from its messages and the documents that describe them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from msgspec import structs

from inspector.session.formats.chat import SYSTEM, ChatThread, blocks_of_chat, blocks_of_definition
from inspector.session.formats.cline.display_messages import (
    LOCATOR,
    ClineRequest,
    Condensed,
    Edit,
    condensations,
    edited,
    edited_blocks_again,
    edits_in,
    left_out_in,
    placed,
    requests_of_answers,
    text_of_change,
)
from inspector.session.formats.cline.messages import Called, calls_in, chat_message
from inspector.session.formats.cline.records import EDITS, HISTORY, history_of, index_of, sidecars_of
from inspector.session.json.codec import lenient_json
from inspector.session.json.values import mapping, objects, seconds_of_any, string
from inspector.session.json_reader import JsonReader
from inspector.session.linked_documents import LinkedDocuments, SidecarFile
from inspector.session.model import Compaction, ContextCause, LinkKind, Message, Origin, Role, SessionLink
from inspector.session.reader import DocumentInterpreter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from inspector.session.blocks import TextBlock
    from inspector.session.formats.chat import ChatMessage
    from inspector.session.json.nodes import Fields, Node
    from inspector.session.reader import Reader


def task_reader(opened: Path, name: str) -> Reader:
    """Return a reader for a task, given its folder or any of its files."""
    path = history_of(opened)
    (about,) = tuple(SidecarFile(one) for one in sidecars_of(path))
    folder = path.resolve().parent.name
    index = SidecarFile(index_of(path), lambda tasks: left_out_in(tasks, folder))
    others = LinkedDocuments()

    def task() -> ClineTask:
        edits: list[Edit] = []
        if path.name == HISTORY:
            edits = edits_in(others.open(path.with_name(EDITS)))
        left_out = index.value() if path.name == HISTORY else None
        made = ClineTask(about.value(), edits, left_out)
        made.builder.identifier = folder if path.name == HISTORY else ""
        return made

    return JsonReader(path, name, task, (about, index), others, opened)


class ClineTask(DocumentInterpreter):
    """Builds a session from a task's messages."""

    def __init__(
        self,
        about: Any,
        edits: Sequence[Edit] = (),
        next_left_out: tuple[int, int] | None = None,
    ) -> None:
        """Initialize with the sidecar data.

        Args:
            about: The document with display messages or metadata.
            edits: Changes of messages.
            next_left_out: First and last index of the messages omitted from the next request, according to the task
                index.
        """
        super().__init__()
        self.builder.agent = "Cline"
        self._next_left_out = next_left_out
        self._about = about
        self._edits = list(edits)
        self._edited: dict[int, dict[int, Edit]] = {}
        self._sources: dict[int, tuple[Mapping[str, Any], Origin, Called]] = {}
        self._chat = ChatThread(self.builder)
        self._open_calls: Called = []
        self._hidden: dict[str, list[int]] = {}
        self._added: dict[int, list[int]] = {}
        self._left_out: tuple[int, int] | None = None
        self._forked: float | None = None
        self._condensed: list[Condensed] = condensations(about)

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
        value = lenient_json(record)[0]
        if origin.locator == SYSTEM:
            return blocks_of_definition(value, record, origin.offset, origin.length, SYSTEM)
        if origin.locator.startswith(LOCATOR):
            return edited_blocks_again(text_of_change(value) or "", origin)
        return blocks_of_chat([chat_message(mapping(value))], origin)

    def take_document(self, document: Node) -> None:
        fields = document.fields()
        model = self._describe(fields)
        if fields.get("system_prompt") is not None and isinstance(fields["system_prompt"].value(), str):
            system = fields["system_prompt"]
            made = blocks_of_definition(system.value(), system.raw(), system.offset, system.length, SYSTEM)
            self._chat.add(Message(Role.SYSTEM, tuple(block for block, _ in made)))
        items = fields["messages"].items() if "messages" in fields else document.items()
        values = [item.value() for item in items]
        answers = [place for place, value in enumerate(values) if mapping(value).get("role") == "assistant"]
        requests = requests_of_answers(self._about, answers)
        for place, (item, value) in enumerate(zip(items, values, strict=True)):
            if not isinstance(value, dict):
                self.builder.diagnose("not a message", 0, max(item.offset, 0), skipped=True)
                continue
            name = string(value.get("role")) or string(value.get("type")) or "(no role)"
            self.builder.record_counts[name] += 1
            self._add(place, value, Origin(item.offset, item.length), requests.get(place), model)
        # The index is written with the display messages or before them, so a smaller range is outdated.
        is_newer = self._next_left_out is not None and self._next_left_out > (self._left_out or (-1, -1))
        self._change(ClineRequest(None, self._next_left_out) if is_newer else None, None)

    def _describe(self, fields: Fields) -> str:
        """Record the task's metadata and return the default model."""
        about = mapping(self._about)
        details = mapping(about.get("metadata"))
        fork = mapping(details.get("fork"))
        self._forked = seconds_of_any(fork.get("forkedAt"))
        builder = self.builder
        if origin := string(fork.get("forkedFromSessionId")):
            builder.link(SessionLink(LinkKind.CONTINUED, origin))
        builder.title = string(details.get("title"))
        builder.working_directory = string(about.get("cwd"))
        if "sessionId" in fields:
            builder.identifier = string(fields["sessionId"].value()) or builder.identifier
        for message in objects(self._about)[:1]:
            builder.title = string(message.get("text")) if message.get("say") in ("text", "task") else ""
        return string(about.get("model"))

    def _add(self, place: int, value: dict[str, Any], origin: Origin, request: ClineRequest | None, model: str) -> None:
        reported = chat_message(value, place, self._open_calls)
        self._sources[place] = (value, origin, self._open_calls)
        if self._forked is not None and reported.time is not None and reported.time < self._forked:
            reported = replace(reported, is_inherited=True)
        if reported.is_call:
            began = request.time if request is not None and request.time else (reported.time or 0) * 1000
            self._change(request, began)
            usage = request.usage if request is not None and request.usage is not None else reported.usage
            reported = replace(reported, model=reported.model or model, usage=usage)
            self._open_calls = calls_in(reported.value)
        if reported.is_summary or value.get("isTruncationMarker") is True:
            added = [self._compact(value, reported, origin)]
        else:
            added = self._chat.add_record([reported], origin)
        self._added[place] = added
        for name in ("condenseParent", "truncationParent"):
            self._hidden.setdefault(string(value.get(name)), []).extend(added)

    def _compact(self, value: Mapping[str, Any], summary: ChatMessage, origin: Origin) -> int:
        """Apply Roo's compactions: a summary begins a new context, a marker hides the messages tagged with its id."""
        (message,) = self._chat.messages([summary], origin)
        gone = self._hidden.get(string(value.get("truncationId")), [])
        members = self._chat.members
        if summary.is_summary:
            condensed = self._condensed.pop(0) if self._condensed else Condensed(None, None)
            compaction = Compaction(0, "auto", condensed.before, condensed.after, time=summary.time)
            return self._chat.compact(compaction, message)
        if not gone:
            return self._chat.put(summary, message)
        compaction = Compaction(0, "truncation", time=summary.time)
        before = [index for index in members if index < min(gone)]
        kept = [index for index in members if index > min(gone) and index not in gone]
        return self._chat.compact(compaction, message, kept, before)

    def _change(self, request: ClineRequest | None, began: float | None) -> None:
        """Apply Cline's compactions: changed messages, and a range omitted from later requests.

        Args:
            request: The current request.
            began: Its start in milliseconds since the epoch; None for the next request, which is not sent yet.
        """
        first = len(self.builder.messages)
        replaced = self._replaced(began)
        members = [replaced.get(index, index) for index in self._chat.members]
        left_out = request.left_out if request is not None else None
        is_cut = left_out is not None and left_out != self._left_out
        if left_out is not None and is_cut:
            self._left_out = left_out
            place_of = {index: place for place, added in self._added.items() for index in added}
            is_sent = {
                index
                for index, place in place_of.items()
                if not left_out[0] <= place <= left_out[1] and self.builder.messages[index].role is not Role.OTHER
            }
            members = [index for index in members if index not in place_of]
            members += sorted(is_sent, key=lambda index: (place_of[index], index))
        if replaced or is_cut:
            self._chat.begin(ContextCause.COMPACTION, members)
            self.builder.compactions.append(Compaction(first, "truncation" if is_cut else "edit"))

    def _replaced(self, began: float | None) -> dict[int, int]:
        """Add the messages changed before a request; return their indices by the index of the original."""
        due = [edit for edit in self._edits if began is None or edit.time < began]
        self._edits = self._edits[len(due) :]
        for edit in due:
            self._edited.setdefault(edit.place, {})[edit.part] = edit
        replaced = {}
        for place in sorted({edit.place for edit in due}):
            added = [index for index in self._added.get(place, ()) if index in self._chat.members]
            message = self._edited_message(place) if len(added) == 1 else None
            if message is not None:
                replaced[added[0]] = self._chat.add(message, is_sent=False)
                self._added[place] = [replaced[added[0]]]
        return replaced

    def _edited_message(self, place: int) -> Message | None:
        value, origin, open_calls = self._sources[place]
        changed = edited(value, self._edited[place])
        (message,) = self._chat.messages([chat_message(changed, place, open_calls)], origin)
        made = placed(message, changed, self._edited[place])
        if made is None:
            self.builder.diagnose("a recorded change that does not fit its message", 0, origin.offset, skipped=False)
        return structs.replace(made, is_meta=True) if made is not None else None
