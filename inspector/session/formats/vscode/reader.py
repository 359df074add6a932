"""Read VS Code chats: build the chat from operations, and the conversation from the chat.

The messages as sent are in the metadata of a request's result once its turn is over. Before that, and for participants
other than Copilot, only the displayed chat is available.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

from msgspec import structs

from inspector.session.blocks import TextBlock, argument_text, text_block
from inspector.session.builder import CallMatcher, OpenContext, SessionBuilder, Thread
from inspector.session.formats.chat import usage_of as chat_usage_of
from inspector.session.formats.vscode import LoggedRequest, OperationLog, Slot, child, children, value_of
from inspector.session.json import (
    FileNode,
    clean_string,
    clean_text,
    compact_json,
    count,
    count_or_none,
    lenient_json,
    mapping,
    objects,
    seconds_of_any,
    sequence,
    string,
)
from inspector.session.json_reader import JsonReader
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.media import media_of_base64, media_of_data_url
from inspector.session.model import (
    Block,
    BlockKind,
    Compaction,
    ContextCause,
    Media,
    Message,
    Origin,
    Role,
    SideCall,
    Usage,
)
from inspector.session.reader import Reader, Record, RecordInterpreter
from inspector.session.sniff import Sample
from inspector.session.usage_fields import VSCODE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from inspector.session.json import Node


ASKED, ANSWER, THOUGHT, CALL, RESULT, PART, NOTICE = (
    "asked",
    "answer",
    "thinking",
    "call",
    "result",
    "response part",
    "notice",
)
"""Locators: the role of a value that is read again."""

SHOWN_ONLY = frozenset(
    {
        "agentModeChange",
        "clearToPreviousToolInvocation",
        "codeblockUri",
        "command",
        "confirmation",
        "disabledClaudeHooks",
    }
    | {"elicitation", "elicitation2", "elicitationSerialized", "extensions", "externalEdit", "hook", "info"}
    | {
        "mcpServersStarting",
        "multiDiffData",
        "notebookEdit",
        "notebookEditGroup",
        "planReview",
        "prepareToolInvocation",
    }
    | {"progressMessage", "progressTask", "progressTaskSerialized", "pullRequest", "questionCarousel", "references"}
    | {"textEdit", "textEditGroup", "treeData", "undoStop", "usage", "warning", "workspaceEdit"}
)
"""Kinds of response parts not written or read by a model: buttons, progress, displayed edits."""

TOOL = "toolInvocationSerialized"

TEXT_PART, IMAGE_PART = 1, 0
"""Part types of a rendered prompt."""

TEXT_NODE = 2
"""Type of a text node in a tool result's prompt tree."""

MOST_DEPTH = 200


@dataclass(frozen=True)
class TurnMessage:
    """A message of a turn. `blocks`: its blocks, not yet paired; `identifier`: id of the round or request."""

    role: Role
    blocks: tuple[Block, ...]
    time: float | None = None
    identifier: str = ""
    is_call: bool = False
    model: str = ""
    usage: Usage | None = None
    is_meta: bool = False
    is_sent: bool = True


@dataclass(frozen=True)
class Summary:
    """A summary of the conversation up to a round. `side_call`: its request, None without usage."""

    round: str
    blocks: tuple[Block, ...]
    compaction: Compaction
    side_call: SideCall | None


@dataclass(frozen=True)
class Turn:
    """A request with its responses, the content sent before all messages, and kinds of omitted parts."""

    surroundings: tuple[Block, ...]
    messages: tuple[TurnMessage, ...]
    summaries: tuple[Summary, ...]
    shown_only: tuple[str, ...] = ()

    @property
    def has_response(self) -> bool:
        return any(message.is_call for message in self.messages)


def turn_of(request: LoggedRequest, following: LoggedRequest | None) -> Turn:
    """Convert a request to a turn. `following`: the next request, which holds the results of calls above the limit."""
    fields = request.fields
    metadata = child(fields.get("result"), "metadata")
    time = seconds_of_any(value_of(fields.get("timestamp")))
    rendered = child(metadata, "renderedUserMessage")
    asked = _blocks(rendered, ASKED) or _blocks(child(fields.get("message"), "text"), ASKED)
    messages = [TurnMessage(Role.USER, asked, time, request.identifier)] if asked else []
    rounds = children(child(metadata, "toolCallRounds"))
    shown_only: list[str] = []
    if rounds:
        results = child(metadata, "toolCallResults")
        more = None
        if following is not None and value_of(child(metadata, "maxToolCallsExceeded")) is True:
            more = child(following.fields.get("result"), "metadata", "toolCallResults")
        for each in rounds:
            messages += _round(each, results, more)
    else:
        messages += _shown(children(fields.get("response")), request.identifier, time, shown_only)
    error = child(fields.get("result"), "errorDetails", "message")
    if blocks := _blocks(error, NOTICE):
        messages.append(TurnMessage(Role.OTHER, blocks, is_sent=False))
    messages = _counted(messages, request, metadata)
    surroundings = _blocks(child(metadata, "renderedGlobalContext"), ASKED)
    return Turn(surroundings, tuple(messages), tuple(_summaries(metadata, rounds)), tuple(shown_only))


def _counted(messages: list[TurnMessage], request: LoggedRequest, metadata: Slot | None) -> list[TurnMessage]:
    """Set models, and assign the reported usage to the last call: it covers the turn's last request only."""
    fields = request.fields
    chosen = clean_string(value_of(fields.get("modelId"))).removeprefix("copilot/")
    model = clean_string(value_of(child(metadata, "resolvedModel"))) or ("" if chosen == "auto" else chosen)
    prompt = count(value_of(fields.get("promptTokens"))) or count(value_of(child(metadata, "promptTokens")))
    output = count(value_of(fields.get("completionTokens"))) or count(value_of(child(metadata, "outputTokens")))
    rounds = children(child(metadata, "toolCallRounds"))
    thought = count(value_of(child(rounds[-1], "thinking", "tokens"))) if rounds else 0
    usage = Usage(prompt, output=output, reasoning=min(thought, output)).unless_zero()
    for source in (fields, metadata):
        usage = VSCODE.check(usage, value_of(source) if usage is not None else None)
    last = max((place for place, message in enumerate(messages) if message.is_call), default=None)
    if last is None and usage is not None:
        blocks = _blocks(fields.get("requestId"), NOTICE)
        messages.append(TurnMessage(Role.ASSISTANT, blocks, None, request.identifier, is_call=True, is_sent=False))
        last = len(messages) - 1
    return [
        replace(message, model=message.model or model, usage=usage if place == last else None)
        if message.is_call
        else message
        for place, message in enumerate(messages)
    ]


def _round(each: Slot, results: Slot | None, more: Slot | None) -> Iterator[TurnMessage]:
    """Yield a response and the results of its calls."""
    identifier = clean_string(value_of(child(each, "id")))
    time = seconds_of_any(value_of(child(each, "timestamp")))
    model = clean_string(value_of(child(each, "modelId"))) or clean_string(value_of(child(each, "phaseModelId")))
    calls = children(child(each, "toolCalls"))
    blocks = [*_blocks(child(each, "thinking"), THOUGHT), *_blocks(child(each, "response"), ANSWER)]
    found: list[Block] = []
    for call in calls:
        blocks += _blocks(call, CALL)
        name = string(value_of(child(call, "id")))
        result = child(results, name) or child(more, name)
        found += [_answering(block, name, call) for block in _blocks(result, RESULT)]
    yield TurnMessage(Role.ASSISTANT, tuple(blocks), time, identifier, is_call=True, model=model)
    if found:
        yield TurnMessage(Role.TOOL, tuple(found), time)
    if blocks_of_hook := _blocks(child(each, "hookContext"), ASKED):
        yield TurnMessage(Role.USER, blocks_of_hook, time, is_meta=True)


def _answering(block: Block, identifier: str, call: Slot) -> Block:
    tool = clean_string(value_of(child(call, "name")))
    return structs.replace(block, tool_call_id=clean_text(identifier), tool_name=tool)


class DisplayedResponses:
    """Builds responses from displayed parts; text after a tool call starts the next response."""

    def __init__(self, identifier: str, time: float | None) -> None:
        self.messages: list[TurnMessage] = []
        self._identifier, self._time = identifier, time
        self._spoken: list[Block] = []
        self._called: list[Block] = []
        self._results: list[Block] = []

    def add(self, block: Block) -> None:
        if block.kind is BlockKind.TOOL_CALL:
            self._called.append(block)
        elif block.kind is BlockKind.TOOL_RESULT:
            self._results.append(block)
        else:
            if self._called:
                self.end()
            self._spoken.append(block)

    def end(self) -> None:
        if blocks := (*self._spoken, *self._called):
            self.messages.append(TurnMessage(Role.ASSISTANT, blocks, self._time, self._identifier, is_call=True))
        if self._results:
            self.messages.append(TurnMessage(Role.TOOL, tuple(self._results), self._time))
        self._spoken, self._called, self._results = [], [], []


def _shown(parts: Sequence[Slot], identifier: str, time: float | None, shown_only: list[str]) -> list[TurnMessage]:
    """Return the messages of a displayed response; kinds of omitted parts are appended to `shown_only`."""
    answers = DisplayedResponses(identifier, time)
    for part in parts:
        blocks = _blocks(part, PART)
        for block in blocks:
            answers.add(block)
        if not blocks and (kind := clean_string(value_of(child(part, "kind")))):
            shown_only.append(kind)
    answers.end()
    return answers.messages


def _summaries(metadata: Slot | None, rounds: Sequence[Slot]) -> Iterator[Summary]:
    made = children(child(metadata, "summaries"))
    if not made and (single := child(metadata, "summary")) is not None:
        made = [single]
    known: set[str] = set()
    for each in made:
        about = mapping(value_of(each))
        place = clean_string(about.get("toolCallRoundId"))
        blocks = _blocks(child(each, "text"), ASKED)
        if not blocks:
            continue
        known.add(place)
        usage = chat_usage_of(about.get("usage"))
        side = SideCall("summary", clean_string(about.get("model")), usage=usage, identifier=place) if usage else None
        yield Summary(place, blocks, Compaction(0, "auto", count_or_none(about.get("contextLengthBefore"))), side)
    for each in rounds:
        place = clean_string(value_of(child(each, "id")))
        if place not in known and (blocks := _blocks(child(each, "summary"), ASKED)):
            yield Summary(place, blocks, Compaction(0, "auto"), None)


def _blocks(slot: Slot | None, locator: str) -> tuple[Block, ...]:
    """Return the blocks of a value that is read again as a whole; empty if there is none."""
    if slot is None or isinstance(slot, (dict, list)):
        return ()
    origin = Origin(slot.offset, slot.length, locator=locator)
    return tuple(made.block for made in blocks_of_value(slot.value(), origin))


def blocks_of_value(value: Any, origin: Origin) -> list[TextBlock]:
    """Return the blocks of a value according to its origin's locator."""
    if value is None or value == "":
        return []
    match origin.locator:
        case "asked":
            return _asked(value, origin)
        case "answer":
            return [text_block(BlockKind.ASSISTANT_TEXT, clean_text(_text(value)), origin)]
        case "thinking":
            return _thinking(mapping(value), origin)
        case "call":
            return _called(mapping(value), origin)
        case "result":
            return [_result(mapping(value), origin)]
        case "response part":
            return _part(value, origin)
        case _:
            return [text_block(BlockKind.OTHER, clean_text(_text(value)), origin)]


def _asked(value: Any, origin: Origin) -> list[TextBlock]:
    if not isinstance(value, list):
        return [text_block(BlockKind.USER_TEXT, clean_text(_text(value)), origin)]
    made: list[TextBlock] = []
    for part in objects(value):
        at = origin.at(len(made))
        if part.get("type") in (TEXT_PART, "text"):
            made.append(text_block(BlockKind.USER_TEXT, clean_string(part.get("text")), at))
        elif part.get("type") in (IMAGE_PART, "image_url"):
            image = mapping(part.get("imageUrl"))
            url = string(image.get("url"))
            media = media_of_data_url(url, clean_string(image.get("detail")))
            data = (url.encode(errors="replace"),)
            made.append(text_block(BlockKind.IMAGE, "", at, media=(media,), media_data=data))
    return made


def _thinking(value: Mapping[str, Any], origin: Origin) -> list[TextBlock]:
    text = value.get("text", value.get("value"))
    joined = "".join(map(string, text)) if isinstance(text, list) else string(text)
    signature = len(string(value.get("encrypted")))
    if not joined and not signature:
        return []
    return [text_block(BlockKind.THINKING, clean_text(joined), origin, signature_characters=signature)]


def _called(value: Mapping[str, Any], origin: Origin) -> list[TextBlock]:
    text = argument_text(value.get("arguments", {}))
    name, identifier = clean_string(value.get("name")), clean_string(value.get("id"))
    return [text_block(BlockKind.TOOL_CALL, text, origin, tool_call_id=identifier, tool_name=name)]


def _result(value: Mapping[str, Any], origin: Origin) -> TextBlock:
    texts: list[str] = []
    media: list[Media] = []
    data: list[bytes] = []
    for part in sequence(value.get("content")):
        fields = mapping(part)
        inner = fields.get("value")
        if "mimeType" in fields:
            one, encoded = _data(fields)
            media.append(one)
            data.append(encoded)
        elif isinstance(mapping(inner).get("node"), dict):
            texts.append(_rendered(mapping(inner)["node"]))
        else:
            texts.append(_text(inner if inner is not None else part))
    text = clean_text("\n".join(texts))
    is_error = value.get("hasError") is True or value.get("isError") is True
    return text_block(
        BlockKind.TOOL_RESULT,
        text,
        origin,
        is_error=is_error,
        media=tuple(media),
        media_data=data,
        plain_text=len(texts) == 1,
    )


def _data(fields: Mapping[str, Any]) -> tuple[Media, bytes]:
    kind, data = string(fields.get("mimeType")), fields.get("data")
    encoded = string(data if isinstance(data, str) else mapping(data).get("base64"))
    return media_of_base64(kind, encoded.encode(errors="replace")), encoded.encode(errors="replace")


def _rendered(node: Any) -> str:
    """Render a stored prompt tree as text, with line breaks where a text node requests them."""
    made: list[str] = []
    last_was_text = False

    def add(part: Mapping[str, Any], depth: int) -> None:
        nonlocal last_was_text
        if depth > MOST_DEPTH:
            return
        if part.get("type") == TEXT_NODE:
            breaks = part.get("lineBreakBefore")
            breaks = breaks is True or breaks == 1 or (breaks == 2 and not last_was_text)
            if made and breaks and not made[-1].endswith("\n"):
                made.append("\n")
            made.append(string(part.get("text")))
            last_was_text = True
            return
        last_was_text = False
        for inner in objects(part.get("children")):
            add(inner, depth + 1)
        last_was_text = False

    add(mapping(node), 0)
    return "".join(made)


def _part(value: Any, origin: Origin) -> list[TextBlock]:
    """Return the blocks of a displayed response part; empty if no model wrote it."""
    fields = mapping(value)
    kind = string(fields.get("kind"))
    if fields.get("kind") is None or kind in ("markdownContent", "markdownVuln"):
        inner = fields.get("value", fields.get("content"))
        text = clean_text(_text(inner if inner is not None else value))
        return [text_block(BlockKind.ASSISTANT_TEXT, text, origin)] if text else []
    if kind == "thinking":
        return _thinking(fields, origin)
    if kind == "inlineReference":
        place = mapping(fields.get("inlineReference"))
        place = mapping(place.get("location")).get("uri") or place.get("uri") or place
        name = clean_string(fields.get("name")) or clean_string(mapping(place).get("path"))
        return [text_block(BlockKind.ASSISTANT_TEXT, name, origin)] if name else []
    if kind == TOOL:
        return _invocation(fields, origin)
    if kind in SHOWN_ONLY:
        return []
    return [text_block(BlockKind.OTHER, clean_text(compact_json(value)), origin)]


def _invocation(fields: Mapping[str, Any], origin: Origin) -> list[TextBlock]:
    """Return a call and its result as displayed."""
    details, own = mapping(fields.get("resultDetails")), mapping(fields.get("toolSpecificData"))
    line = mapping(own.get("commandLine"))
    command = string(line.get("original")) or string(own.get("command"))
    given = own.get("rawInput") or details.get("input") or ({"command": command} if command else {})
    name = clean_string(fields.get("toolId"))
    identifier = clean_string(fields.get("toolCallId"))
    arguments = argument_text(given or {"message": _text(fields.get("invocationMessage"))})
    made = [text_block(BlockKind.TOOL_CALL, arguments, origin, tool_call_id=identifier, tool_name=name)]
    shown = [_text(one.get("value")) for one in objects(details.get("output")) if isinstance(one.get("value"), str)]
    output = mapping(own.get("terminalCommandOutput")).get("text")
    text = "\n".join(shown) or string(output) or _text(fields.get("pastTenseMessage"))
    if text and fields.get("isComplete") is not False:
        made.append(
            text_block(
                BlockKind.TOOL_RESULT,
                clean_text(text),
                origin.at(1),
                tool_call_id=identifier,
                tool_name=name,
                is_error=details.get("isError") is True,
            )
        )
    return made


def _text(value: Any) -> str:
    """Return plain or Markdown text; other values as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and isinstance(value.get("value"), str):
        return str(value["value"])
    return compact_json(value) if value not in (None, [], {}) else ""


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
    """Writes turns to a builder, each after its predecessor at the time it was made. `side_calls`: summary requests."""

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
