"""Read VS Code chats: build the chat from operations, and the conversation from the chat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

from msgspec import structs

from inspector.session.builder import SessionBuilder, Thread
from inspector.session.call_matching import CallMatcher
from inspector.session.formats.vscode.log import OperationLog, value_of
from inspector.session.formats.vscode.turns import Turn, TurnMessage, blocks_of_value, turn_of
from inspector.session.json.codec import clean_text, lenient_json
from inspector.session.json.nodes import FileNode
from inspector.session.json.values import clean_string, mapping, string
from inspector.session.json_reader import JsonReader
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.model import ContextCause, Message, Origin, Role, SideCall
from inspector.session.reader import Record, RecordInterpreter
from inspector.session.sniff import Sample

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.session.blocks import TextBlock
    from inspector.session.builder import OpenContext
    from inspector.session.formats.vscode.log import LoggedRequest
    from inspector.session.json.nodes import Node
    from inspector.session.reader import Reader

KINDS = {0: "whole chat", 1: "set", 2: "push", 3: "delete"}
"""Names for counting operations."""

MOST_WORKSPACE_BYTES = 1 << 16


class KnownTurn(NamedTuple):
    """A cached turn, the versions it was built from, and its request (referenced to keep its `id()` unique)."""

    request: LoggedRequest
    versions: tuple[int, int, int]
    turn: Turn


class ChatInterpreter(RecordInterpreter):
    """Builds a session from a chat's operations or a whole chat."""

    record_name = "an operation"

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._log = OperationLog()
        self._turns: dict[int, KnownTurn] = {}
        self._operations: dict[str, int] = {}
        self._is_settled = False
        self.builder.agent = "VS Code Copilot Chat"
        self.builder.working_directory = workspace_of(path)

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
        return blocks_of_value(lenient_json(record)[0], Origin(origin.offset, origin.length, locator=origin.locator))

    def add(self, record: Record) -> None:
        self._is_settled = False
        kind = record.value.get("kind")
        name = KINDS.get(kind) if isinstance(kind, int) and not isinstance(kind, bool) else None
        fields = FileNode(record.data, record.offset).fields()
        self._operations[name or "other"] = self._operations.get(name or "other", 0) + 1
        path = record.value.get("k")
        if name is None or (kind != 0 and not _is_path(path)):
            self.builder.diagnose("not a chat operation", record.line, record.offset, skipped=True)
            return
        node = fields.get("v")
        if kind == 0:
            if node is None or not isinstance(record.value.get("v"), dict):
                self.builder.diagnose("an operation without a chat", record.line, record.offset, skipped=True)
                return
            self._log.begin(node)
            return
        if kind == 2:
            start = record.value.get("i")
            start = start if isinstance(start, int) and not isinstance(start, bool) else None
            done = self._log.push(path, node.items() if node is not None else [], start)
        else:
            done = self._log.set(path, node if kind == 1 else None)
        if not done:
            self.builder.diagnose("a change of a value that does not exist", record.line, record.offset, skipped=True)

    def take_document(self, document: Node) -> None:
        self._is_settled = False
        self._log.begin(document)

    def settle(self) -> None:
        if self._is_settled:
            return
        self._is_settled = True
        made = SessionBuilder()
        writer = ConversationWriter(made)
        counts = dict(self._operations)
        before, self._turns = self._turns, {}
        following = dict(zip(map(id, self._log.requests), self._log.requests[1:], strict=False))
        for request in self._log.history:
            turn = self._turn(request, following.get(id(request)), before.get(id(request)))
            if request.is_left and not turn.has_response:
                continue
            counts["request"] = counts.get("request", 0) + 1
            for kind in turn.shown_only:
                counts[f"response:{clean_text(kind)}"] = counts.get(f"response:{clean_text(kind)}", 0) + 1
            writer.add(request, turn)
        writer.end(self._log.requests)
        builder = self.builder
        builder.replace_all(made.complete_messages(), made.calls, made.contexts, made.compactions)
        builder.side_calls = writer.side_calls
        builder.record_counts.clear()
        builder.record_counts.update(counts)
        builder.identifier = clean_string(value_of(self._log.about.get("sessionId")))
        builder.title = clean_string(value_of(self._log.about.get("customTitle")))

    def _turn(self, request: LoggedRequest, following: LoggedRequest | None, known: KnownTurn | None) -> Turn:
        """Return the turn of a request, rebuilt only if this request or the next one changed."""
        versions = (request.version, id(following), following.version if following is not None else 0)
        turn = known.turn if known is not None and known.versions == versions else turn_of(request, following)
        self._turns[id(request)] = KnownTurn(request, versions, turn)
        return turn


class ConversationWriter:
    """Writes turns to a builder, each after its predecessor at the time it was made.

    Attributes:
        side_calls: Summary requests.
    """

    def __init__(self, builder: SessionBuilder) -> None:
        self._builder = builder
        self._thread = Thread(builder)
        self._calls = CallMatcher()
        self._surroundings: list[int] = []
        self._last: LoggedRequest | None = None
        self._ends: dict[int, tuple[OpenContext, int]] = {}
        self._rounds: dict[str, int] = {}
        self.side_calls: dict[str, SideCall] = {}

    def add(self, request: LoggedRequest, turn: Turn) -> None:
        if self._last is not request.previous:
            self._go_back(request.previous)
        self._last = request
        first = len(self._builder.messages)
        own = {message.identifier for message in turn.messages if message.is_call and message.identifier}
        for summary in turn.summaries:
            if summary.round not in own:
                self._compact(turn, summary.round)
        if turn.surroundings and not self._surroundings:
            self._surroundings = [self._thread.add(Message(Role.USER, turn.surroundings, is_meta=True))]
        self._add_messages(turn)
        context = self._thread.open_context()
        self._ends[id(request)] = (context, len(context.members))
        if request.is_left:
            for index in set(range(first, len(self._builder.messages))).difference(self._surroundings):
                self._builder.replace_message(index, is_abandoned=True)

    def _add_messages(self, turn: Turn) -> None:
        """Add a turn's messages and, after each round, the summary that ends there."""
        awaited = ""
        for message in turn.messages:
            if awaited and message.role is not Role.TOOL:
                self._compact(turn, awaited)
                awaited = ""
            index = self._put(message)
            if message.is_call and message.identifier:
                self._rounds[message.identifier] = index
                awaited = message.identifier
        if awaited:
            self._compact(turn, awaited)

    def end(self, requests: list[LoggedRequest]) -> None:
        """Return to the current last request if others came after it."""
        kept = [request for request in requests if not request.is_left]
        last = kept[-1] if kept else None
        if last is not self._last and (last is None or id(last) in self._ends):
            self._go_back(last)

    def _put(self, message: TurnMessage) -> int:
        blocks = self._calls.paired(message.role, message.blocks)
        made = Message(message.role, blocks, message.time, message.identifier, is_meta=message.is_meta)
        if message.is_call:
            return self._thread.respond(made, model=message.model, usage=message.usage, is_sent=message.is_sent)
        return self._thread.add(made, is_sent=message.is_sent)

    def _go_back(self, request: LoggedRequest | None) -> None:
        """Continue from the end of a request, or from the beginning if it is None."""
        found = self._ends.get(id(request)) if request is not None else None
        members = list(found[0].members[: found[1]]) if found is not None else list(self._surroundings)
        if members != self._thread.members:
            self._thread.begin(ContextCause.REWIND, members)
        self._last = request

    def _compact(self, turn: Turn, place: str) -> None:
        """Begin the context left by the summaries that end at a round."""
        for summary in turn.summaries:
            if summary.round != place:
                continue
            members = self._thread.members
            at = self._rounds.get(place)
            until = members.index(at) + 1 if at in members else len(members)
            while until < len(members) and self._builder.messages[members[until]].role is Role.TOOL:
                until += 1
            time = self._builder.messages[members[until - 1]].time if until else None
            message = Message(Role.USER, summary.blocks, time, is_meta=True, is_summary=True)
            compaction = structs.replace(summary.compaction, time=time)
            self._thread.compact(compaction, message, members[until:], self._surroundings)
            if summary.side_call is not None:
                side = structs.replace(summary.side_call, time=time)
                self.side_calls[f"{place} {len(self.side_calls)}"] = side


def chat_reader(path: Path, name: str) -> Reader:
    sample = Sample(path)
    if sample.is_lines and any("kind" in record for record in sample.records):
        return JsonlReader(path, name, ChatInterpreter(path))
    return JsonReader(path, name, lambda: ChatInterpreter(path))


def workspace_of(path: Path) -> str:
    """Return the workspace folder from the neighboring `workspace.json`; empty without one."""
    try:
        with (path.parent.parent / "workspace.json").open("rb") as file:
            about = mapping(lenient_json(file.read(MOST_WORKSPACE_BYTES))[0])
        place = string(about.get("folder")) or string(about.get("workspace"))
        return clean_text(unquote(urlsplit(place).path) if "://" in place else place)
    except (OSError, ValueError):
        return ""


def _is_path(path: Any) -> bool:
    return (
        isinstance(path, list)
        and bool(path)
        and all(isinstance(key, (str, int)) and not isinstance(key, bool) for key in path)
    )
