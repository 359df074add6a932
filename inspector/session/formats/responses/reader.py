"""Read items and exchanges of the Responses API.

An item is a message, reasoning, a tool call or a tool output. Types and fields follow the API reference, with the ones
added by Codex (`codex-rs/protocol/src/models.rs` of openai/codex).
"""

from __future__ import annotations

import re
from enum import Enum, auto
from itertools import count
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from inspector.session.billing_terms import SERVICE_TIER, BillingTerms, parse_billing_terms
from inspector.session.blocks import TextBlock, argument_text, text_block
from inspector.session.builder import SessionBuilder, Thread, ToolNames
from inspector.session.formats.chat import (
    CACHE_OPTIONS,
    ROLE_OF,
    SYSTEM,
    TOOLS,
    blocks_of_definition,
    blocks_of_message,
    breakpoints_of_message,
    lifetime_of,
    miss_of_diagnostics,
    result_block,
    usage_of,
    with_lifetime,
    with_options,
)
from inspector.session.formats.responses import (
    BEGUN,
    CALL,
    CALLS,
    ENDED,
    ITEM_DONE,
    OUTPUT,
    OUTPUTS,
    SUMMARIES,
    exchanges_of,
    is_event,
    is_exchange,
    packed,
    response_alone,
)
from inspector.session.json import (
    EmbeddedNode,
    FileNode,
    clean_string,
    clean_text,
    compact_json,
    lenient_json,
    mapping,
    seconds_of_any,
    sequence,
    string,
    unescaped,
)
from inspector.session.json_reader import JsonReader
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.media import media_of_base64
from inspector.session.model import BlockKind, ContextCause, Message, Origin, RecordedBreakpoint, Role, SideCall
from inspector.session.reader import Reader, Record, RecordInterpreter
from inspector.session.sniff import Sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from inspector.session.formats.responses import Exchange
    from inspector.session.json import Node
    from inspector.session.model import Block, Usage


EXIT_CODE = re.compile(r"\A(?:Chunk ID: .*\n|Wall time: .*\n)*(?:Exit code:|Process exited with code) (-?\d+)")
"""Start of command output in Codex 0.72 and later."""

JSON_OUTPUT = re.compile(r'\A\s*\{\s*"output"\s*:')
"""Wrapper of command output in older versions: the model receives the JSON string."""

FAILURES = (
    "apply_patch verification failed",
    "aborted",
    "collab spawn failed",
    "err: ",
    "exec_command failed",
    "execution error",
    "failed in sandbox",
    "failed to parse function arguments",
    "Script failed",
    "unsupported call",
    "unsupported custom tool call",
    "write_stdin failed",
)
"""Prefixes of outputs that report a failure without an exit code."""


def reports_failure(output: Any) -> bool:
    """Return True if a tool's output reports a failure: by a non-zero exit code or a known prefix."""
    if isinstance(output, dict):
        return output.get("success") is False or reports_failure(output.get("content"))
    if isinstance(output, list):
        if any(_exit_code(item) for item in output):
            return True
        texts = (item.get("text") for item in output if isinstance(item, dict))
        return reports_failure(next((text for text in texts if isinstance(text, str)), None))
    if not isinstance(output, str):
        return False
    if (match := EXIT_CODE.match(output)) is not None:
        return int(match[1]) != 0
    if JSON_OUTPUT.match(output):
        return _recorded_code(output) not in (None, 0)
    return output.startswith(FAILURES)


def content_of_output(output: Any) -> Any:
    """Return the content of an output: a string, or a list of parts."""
    return output["content"] if isinstance(output, dict) and "content" in output else output


def _exit_code(item: Any) -> Any:
    """Return the exit code of a command in `shell_call_output`, None if it has none."""
    outcome = item.get("outcome") if isinstance(item, dict) else None
    return outcome.get("exit_code") if isinstance(outcome, dict) else None


def _recorded_code(output: str) -> Any:
    value, _ = lenient_json(output.encode(errors="replace"))
    metadata = value.get("metadata") if isinstance(value, dict) else None
    return metadata.get("exit_code") if isinstance(metadata, dict) else None


NOT_SENT = frozenset({"compaction_trigger", "configuration_update", "ghost_snapshot", "item_reference"})
"""Types that are not part of a prompt."""

SERVER_CALL_RESULTS = ("output", "outputs", "result", "results", "error")
"""Fields with the result or error of a server-side call."""

CALL_ARGUMENTS = (
    *("arguments", "input", "action", "actions", "query", "queries", "code", "operation", "tools", "revised_prompt"),
)

IMAGE_CALL = "image_generation_call"


class ItemSide(Enum):
    """The side that adds an item to the conversation."""

    RESPONSE = auto()
    USER = auto()
    SYSTEM = auto()
    TOOL = auto()
    SUMMARY = auto()
    OTHER = auto()
    """Shown and not sent."""


def is_known_item(kind: str) -> bool:
    """Return True for a type of item that a prompt or a response can have; empty for messages."""
    return (
        kind in ("", "agent_message", "message")
        or kind in NOT_SENT
        or kind in SIDE_OF_TYPE
        or kind in SUMMARIES
        or kind in CALLS
        or kind in OUTPUTS
    )


def side_of(item: Mapping[str, Any]) -> ItemSide:
    kind = item.get("type")
    if kind == "message" or (kind is None and "role" in item):
        role = ROLE_OF.get(string(item.get("role")), Role.OTHER)
        return SIDE_OF_ROLE.get(role, ItemSide.OTHER)
    if not isinstance(kind, str) or kind in NOT_SENT:
        return ItemSide.OTHER
    if kind in SIDE_OF_TYPE:
        return SIDE_OF_TYPE[kind]
    if kind in SUMMARIES:
        return ItemSide.SUMMARY
    if kind.endswith(CALL):
        return ItemSide.RESPONSE
    return ItemSide.TOOL if kind.endswith(OUTPUT) else ItemSide.OTHER


SIDE_OF_ROLE = {
    Role.SYSTEM: ItemSide.SYSTEM,
    Role.USER: ItemSide.USER,
    Role.ASSISTANT: ItemSide.RESPONSE,
    Role.TOOL: ItemSide.TOOL,
}

SIDE_OF_TYPE = {
    "additional_tools": ItemSide.SYSTEM,
    "agent_message": ItemSide.USER,
    "mcp_approval_request": ItemSide.RESPONSE,
    "mcp_approval_response": ItemSide.USER,
    "mcp_list_tools": ItemSide.SYSTEM,
    "reasoning": ItemSide.RESPONSE,
}


def blocks_of_item(item: Mapping[str, Any], origin: Origin, names: Mapping[str, str]) -> list[TextBlock]:
    """Return the blocks of an item, numbered from `origin.part`."""
    side, kind = side_of(item), string(item.get("type"))
    if side is ItemSide.OTHER:
        return [text_block(BlockKind.OTHER, clean_text(compact_json(dict(item))), origin)]
    if kind in ("message", "agent_message", ""):
        spoken = item if "role" in item else {**item, "role": "user"}
        made = blocks_of_message(spoken, origin.offset, origin.length, names)
        return [one.moved(origin.at(origin.part + number)) for number, one in enumerate(made)]
    if kind == "reasoning":
        return [_reasoning(item, origin)]
    if side is ItemSide.SUMMARY:
        encrypted = len(string(item.get("encrypted_content")))
        return [text_block(BlockKind.THINKING, "", origin, signature_characters=encrypted)]
    if side is ItemSide.TOOL:
        return [_output(item, origin, names)]
    if side is ItemSide.RESPONSE and kind.endswith(CALL):
        return _call(item, kind, origin)
    text = clean_text(compact_json(item.get("tools", dict(item))))
    return [text_block(BlockKind.SYSTEM_TEXT if side is ItemSide.SYSTEM else BlockKind.OTHER, text, origin)]


def name_of_call(item: Mapping[str, Any]) -> str:
    """Return the tool name of a call, with its namespace if any, or a name derived from the item type."""
    name = string(item.get("name"))
    if not name:
        return string(item.get("type")).removesuffix(CALL)
    namespace = string(item.get("namespace")) or string(item.get("server_label"))
    if not namespace or name.startswith(namespace):
        return name
    return f"{namespace}{name}" if namespace.endswith("_") else f"{namespace}__{name}"


def call_id_of(item: Mapping[str, Any]) -> str:
    """Return the id shared by a call and its output, or the item's own id for server-side tools."""
    return string(item.get("call_id")) or string(item.get("id"))


def _reasoning(item: Mapping[str, Any], origin: Origin) -> TextBlock:
    parts = sequence(item.get("content")) or sequence(item.get("summary"))
    texts = [string(part.get("text")) if isinstance(part, dict) else string(part) for part in parts]
    text = "\n\n".join(text for text in texts if text)
    encrypted = len(string(item.get("encrypted_content")))
    return text_block(BlockKind.THINKING, clean_text(text), origin, signature_characters=encrypted)


def _call(item: Mapping[str, Any], kind: str, origin: Origin) -> list[TextBlock]:
    given = next((item[name] for name in CALL_ARGUMENTS if item.get(name) is not None), None)
    text = argument_text(given if given is not None else {})
    identifier, name = call_id_of(item), name_of_call(item)
    blocks = [text_block(BlockKind.TOOL_CALL, text, origin, tool_call_id=identifier, tool_name=name)]
    returned = next((item[field] for field in SERVER_CALL_RESULTS if item.get(field)), None)
    if returned is None:
        return blocks
    result = origin.at(origin.part + 1)
    if kind == IMAGE_CALL and isinstance(returned, str):
        data = returned.encode(errors="replace")
        media = (media_of_base64("image/png", data),)
        shown = text_block(
            BlockKind.TOOL_RESULT, "", result, tool_call_id=identifier, tool_name=name, media=media, media_data=(data,)
        )
    else:
        shown = result_block(returned, identifier, name, bool(item.get("error")), result)
    return [*blocks, shown]


def _output(item: Mapping[str, Any], origin: Origin, names: Mapping[str, str]) -> TextBlock:
    call = string(item.get("call_id")) or string(item.get("tool_call_id"))
    output = next((item[name] for name in ("output", "tools", "content") if name in item), None)
    if isinstance(output, dict) and not isinstance(output.get("content"), (str, list)):
        output = [output] if "type" in output else compact_json(output)
    elif item.get("type") == "tool_search_output":
        output = compact_json(output)
    is_error = reports_failure(output) or item.get("status") == "failed"
    return result_block(content_of_output(output), call, names.get(call, string(item.get("name"))), is_error, origin)


NONE = -1

ROLE_OF_SIDE = {
    ItemSide.RESPONSE: Role.ASSISTANT,
    ItemSide.USER: Role.USER,
    ItemSide.SYSTEM: Role.SYSTEM,
    ItemSide.TOOL: Role.TOOL,
    ItemSide.SUMMARY: Role.ASSISTANT,
    ItemSide.OTHER: Role.OTHER,
}


class ItemThread(Thread):
    """A thread of items. Those of a response form one message, as do outputs; -1 if the next starts one."""

    def __init__(self, builder: SessionBuilder, number: int = 0) -> None:
        super().__init__(builder, number)
        self.response = NONE
        self.results = NONE
        self.tool_names = ToolNames()

    def join(
        self,
        side: ItemSide,
        blocks: Iterable[Block],
        *,
        time: float | None = None,
        identifier: str = "",
        is_call: bool = True,
        model: str = "",
        usage: Usage | None = None,
        thinking: str = "",
        terms: str = "",
        is_meta: bool = False,
        is_summary: bool = False,
        is_inherited: bool = False,
    ) -> int:
        """Add an item's blocks and return their message's index; new responses make a call if `is_call`."""
        blocks = list(blocks)
        self.tool_names.note(blocks)
        grows = self._growing(side)
        if grows != NONE:
            self._builder.add_blocks(grows, blocks)
            return grows
        message = Message(
            role=ROLE_OF_SIDE[side],
            blocks=tuple(blocks),
            time=time,
            identifier=identifier,
            thread=self.number,
            is_meta=is_meta,
            is_summary=is_summary or side is ItemSide.SUMMARY,
            is_inherited=is_inherited,
        )
        if side is ItemSide.OTHER:
            return self.add(message, is_sent=False)
        self.close()
        if side is ItemSide.RESPONSE and is_call:
            self.response = self.respond(
                message, model=model, usage=usage, identifier=identifier, thinking=thinking, terms=terms
            )
            return self.response
        index = self.add(message)
        if side is ItemSide.RESPONSE:
            self.response = index
        elif side is ItemSide.TOOL:
            self.results = index
        return index

    def close(self) -> None:
        """Close the open messages, so that the next item starts a new one."""
        self.response = self.results = NONE

    def _growing(self, side: ItemSide) -> int:
        if side is ItemSide.RESPONSE:
            return self.response
        return self.results if side is ItemSide.TOOL else NONE


EMPTY = "empty response"
"""Purpose of requests with a response without items: Codex caches a prompt this way."""

MOST_PARTS = 1 << 16
"""Exceeds the number of blocks in an item."""

TIMES = ("created_at", "created", "timestamp", "time")

Digest = tuple[bytes, ...]


class ReadItem(Struct):
    """A parsed item. `marks`: indices of the blocks with a cache breakpoint."""

    side: ItemSide
    blocks: list[Block]
    marks: frozenset[int] = frozenset()

    @property
    def digest(self) -> Digest:
        """Identity of the item, equal in every request; empty for items that requests need not repeat."""
        if self.side is ItemSide.OTHER or any(block.kind is BlockKind.THINKING for block in self.blocks):
            return ()
        return tuple(block.digest + bytes([block.kind]) for block in self.blocks)


class LoggedThread(ItemThread):
    """A conversation of a log: items that requests repeat, and the message of its definitions, -1 for none."""

    def __init__(self, builder: SessionBuilder, number: int) -> None:
        super().__init__(builder, number)
        self.definition_digests: Digest = ()
        self.sent: list[tuple[Digest, int]] = []
        self.responses: set[str] = set()
        self.definitions = NONE


class ResponsesInterpreter(RecordInterpreter):
    """Builds a session from items, or from exchanges that repeat them."""

    def __init__(self, builder: SessionBuilder | None = None, numbers: Iterator[int] | None = None) -> None:
        """Initialize alone, or with others' builder and thread numbers, in which case items are not counted."""
        super().__init__(builder)
        self._conversations: list[LoggedThread] = []
        self._streaming: int | None = None
        self._numbers = numbers if numbers is not None else count()
        self._counts_items = numbers is None

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> Sequence[TextBlock]:
        record = unescaped(record)
        value = lenient_json(record)[0]
        if origin.locator in (SYSTEM, TOOLS):
            return blocks_of_definition(value, record, origin.offset, origin.length, origin.locator)
        item = item_of(value)
        return [] if item is None else blocks_of_item(item, Origin(origin.offset, origin.length), {})

    def add(self, record: Record) -> None:
        node = FileNode(record.data, record.offset)
        if is_event(record.value):
            self._add_event(node, record.value["type"])
        elif is_exchange(record.value):
            for exchange in exchanges_of(node):
                self.add_exchange(exchange)
        else:
            self._add_item(node)

    def take_document(self, document: Node) -> None:
        try:
            for exchange in exchanges_of(document):
                self.add_exchange(exchange)
        except RecursionError:
            self.builder.diagnose("JSON nested too deeply", 0, document.offset, skipped=True)

    def _add_item(self, node: Node) -> None:
        """Add an item of a file with one conversation."""
        conversation = self._conversations[0] if self._conversations else self._new()
        for item in self._items([node], conversation.tool_names):
            self._add(conversation, item, is_call=True)

    def add_exchange(self, exchange: Exchange) -> None:
        """Add an exchange to the conversation it continues, or to a new one."""
        conversation = self._named(exchange)
        if conversation is None:
            names = ToolNames()
            items = self._items(exchange.input, names)
            definitions = self._definitions(exchange)
            conversation, start = self._continued(items, definitions)
            is_new = conversation is None
            if conversation is None:
                conversation, start = self._new(), 0
                self._add_definitions(conversation, definitions)
            elif conversation.definition_digests != digest_of(definitions):
                self._change_definitions(conversation, definitions)
            conversation.tool_names.update(names)
            for item in items[start:]:
                # A request with a changed history repeats earlier responses.
                self._add(conversation, item, is_call=is_new, is_repeated=not is_new)
        else:
            items = self._items(exchange.input if exchange.is_request else (), conversation.tool_names)
            for item in items:
                self._add(conversation, item, is_call=False, is_repeated=True)
        if exchange.is_answered:
            call, prompt = len(self.builder.calls), list(conversation.members)
            self._answer(conversation, exchange)
            self._set_breakpoints(call, prompt, items, exchange.about.get(CACHE_OPTIONS))
        elif exchange.about.get("model"):
            conversation.note_model(string(exchange.about["model"]))

    def _add_event(self, event: Node, kind: str) -> None:
        """Add a stream event: items as they are completed, and the call's data at the end."""
        fields = event.fields()
        self.builder.record_counts[kind] += 1
        conversation = self._conversations[-1] if self._conversations else self._new()
        if kind in BEGUN:
            conversation.close()
            self._streaming = None
        elif kind == ITEM_DONE and "item" in fields:
            if self._streaming is None:
                self._streaming = len(self.builder.calls)
            for item in self._items([fields["item"]], conversation.tool_names):
                self._add(conversation, item, is_call=True)
        elif kind in ENDED and "response" in fields:
            exchange = response_alone(fields["response"])
            if self._streaming is None:
                self._answer(conversation, exchange)
            else:
                self._update_call(conversation, self._streaming, exchange)
            conversation.close()
            self._streaming = None

    def _answer(self, conversation: LoggedThread, exchange: Exchange) -> None:
        conversation.close()
        call = len(self.builder.calls)
        for item in self._items(exchange.output, conversation.tool_names):
            self._add(conversation, item, is_call=exchange.is_billed)
        if exchange.is_billed:
            self._update_call(conversation, call, exchange)
        else:
            conversation.responses.add(string(exchange.about.get("id")))

    def _update_call(self, conversation: LoggedThread, call: int, exchange: Exchange) -> None:
        """Update a call from its response's fields. A response without items is billed as well."""
        about = exchange.about
        identifier = string(about.get("id"))
        conversation.responses.add(identifier)
        model = string(about.get("model"))
        usage = with_lifetime(usage_of(about.get("usage")), about.get(CACHE_OPTIONS))
        miss, effort = miss_of_diagnostics(about.get("prompt_cache_diagnostics")), mapping(about.get("reasoning"))
        time = next((seconds_of_any(about[name]) for name in TIMES if name in about), None)
        terms = _with_uses(parse_billing_terms(about.get("usage"), about.get(SERVICE_TIER)), exchange.output).code
        if call < len(self.builder.calls):
            made = self.builder.calls[call]
            self.builder.calls[call] = structs.replace(
                made,
                model=model,
                usage=usage,
                time=time,
                identifier=identifier or made.identifier,
                miss=miss,
                thinking=clean_string(effort.get("effort")),
                terms=terms,
            )
        elif usage is not None:
            side_calls = self.builder.side_calls
            # Gateways repeat ids.
            side_calls[f"response {identifier or len(side_calls)} {usage}"] = SideCall(
                EMPTY, model, time, usage, identifier, terms
            )

    def _set_breakpoints(self, call: int, prompt: Sequence[int], items: Sequence[ReadItem], options: object) -> None:
        """Set the breakpoints of a request's call: a request may send only the end of its prompt."""
        if call >= len(self.builder.calls) or (options is None and not any(item.marks for item in items)):
            return
        messages = self.builder.complete_messages()
        blocks = [block for index in prompt for block in messages[index].blocks]
        places = [place for place, block in enumerate(blocks) if block.kind is not BlockKind.THINKING]
        sent = [
            number in item.marks
            for item in items
            if item.side is not ItemSide.OTHER
            for number, block in enumerate(item.blocks)
            if block.kind is not BlockKind.THINKING
        ][-len(places) :]
        marked = zip(places[-len(sent) :], sent, strict=True) if sent else ()
        found = [RecordedBreakpoint(place + 1) for place, is_marked in marked if is_marked]
        marks = with_options(found, options, len(blocks))
        self.builder.calls[call] = structs.replace(self.builder.calls[call], marks=marks)

    def _named(self, exchange: Exchange) -> LoggedThread | None:
        """Return the conversation named by an exchange; the newest for a response without its request."""
        if not exchange.is_request:
            return self._conversations[-1] if self._conversations else None
        before = string(exchange.about.get("previous_response_id"))
        return next((one for one in reversed(self._conversations) if before and before in one.responses), None)

    def _continued(
        self, items: Sequence[ReadItem], definitions: Sequence[TextBlock]
    ) -> tuple[LoggedThread | None, int]:
        """Return the conversation with the most items in common with a request, and the number of known items."""
        digests = [(place, item.digest) for place, item in enumerate(items) if item.digest]
        best: LoggedThread | None = None
        changed: LoggedThread | None = None
        most = 0
        for conversation in self._conversations:
            common = 0
            for (known, _), (_, digest) in zip(conversation.sent, digests, strict=False):
                if known != digest:
                    break
                common += 1
            if common >= max(most, 1) and conversation.definition_digests == digest_of(definitions):
                best, most = conversation, common
            # Small side requests begin the same way, with other instructions, and repeat no response.
            elif best is None and common == len(conversation.sent) > 1:
                changed = conversation
        if best is None and changed is not None:
            best, most = changed, len(changed.sent)
        if best is None:
            return None, 0
        if most < len(best.sent):
            most = self._begin_again(best, most)
        return best, digests[most - 1][0] + 1 if most else 0

    def _begin_again(self, conversation: LoggedThread, common: int) -> int:
        """Rewind a conversation to its first items and return their number, in whole messages."""
        sent = conversation.sent
        while common and common < len(sent) and sent[common - 1][1] == sent[common][1]:
            common -= 1
        first_gone = sent[common][1]
        members = list(conversation.members)
        kept = members[: members.index(first_gone)] if first_gone in members else members
        conversation.close()
        conversation.begin(ContextCause.REWIND, kept)
        del sent[common:]
        return common

    def _new(self) -> LoggedThread:
        conversation = LoggedThread(self.builder, next(self._numbers))
        self._conversations.append(conversation)
        return conversation

    def _definitions(self, exchange: Exchange) -> list[TextBlock]:
        """Return tools and system prompt in the order used by the API."""
        made: list[TextBlock] = []
        for node, locator in ((exchange.tools, TOOLS), (exchange.instructions, SYSTEM)):
            value = node.value() if node is not None else None
            if node is not None and value:
                made += blocks_of_definition(value, node.raw(), node.offset, node.length, locator)
        return made

    def _add_definitions(self, conversation: LoggedThread, made: Sequence[TextBlock]) -> None:
        conversation.definition_digests = digest_of(made)
        if made:
            conversation.definitions = conversation.join(ItemSide.SYSTEM, [block for block, _ in made])

    def _change_definitions(self, conversation: LoggedThread, made: Sequence[TextBlock]) -> None:
        """Begin a context with other tools or another system prompt."""
        kept = [index for index in conversation.members if index != conversation.definitions]
        conversation.close()
        context = conversation.begin(ContextCause.REWIND)
        conversation.definitions = NONE
        self._add_definitions(conversation, made)
        context.members.extend(kept)
        context.retained = len(context.members)

    def _items(self, nodes: Iterable[Node], names: ToolNames) -> list[ReadItem]:
        """Parse items; `names` receives the tools of their calls."""
        found = []
        for node in nodes:
            value = item_of(node.value())
            if value is None:
                self.builder.diagnose("not an item", 0, max(node.offset, 0), skipped=True)
                continue
            made = blocks_of_item(value, Origin(node.offset, node.length), names)
            blocks = [block for block, _ in (_numbered(made, node) if isinstance(node, EmbeddedNode) else made)]
            names.note(blocks)
            if self._counts_items:
                self.builder.record_counts[string(value.get("type")) or "message"] += 1
            marks = {mark.block for mark in breakpoints_of_message(value, made)}
            if any(lifetime_of(part) is not None for part in sequence(value.get("output"))):
                marks.add(len(blocks) - 1)
            found.append(ReadItem(side_of(value), blocks, frozenset(marks)))
        return found

    def _add(self, conversation: LoggedThread, item: ReadItem, *, is_call: bool, is_repeated: bool = False) -> None:
        is_inherited = is_repeated and item.side is ItemSide.RESPONSE
        index = conversation.join(item.side, item.blocks, is_call=is_call, is_inherited=is_inherited)
        if index != NONE and item.digest:
            conversation.sent.append((item.digest, index))


def blocks_of_packed(text: str, origin: Origin) -> list[TextBlock]:
    """Return the blocks of all items in a response logged as base64."""
    _, items = packed(text, FileNode(b"", 0))
    made = ((blocks_of_item(mapping(item.value()), Origin(origin.offset, origin.length), {}), item) for item in items)
    return [one for blocks, item in made for one in _numbered(blocks, item)]


def _numbered(made: Sequence[TextBlock], node: Node) -> list[TextBlock]:
    """Assign part numbers to an item's blocks that are unique among all items with the same place."""
    first = node.number * MOST_PARTS if isinstance(node, EmbeddedNode) else 0
    return [one.moved(one.block.origin.at(first + one.block.origin.part)) for one in made]


def item_of(value: Any) -> Mapping[str, Any] | None:
    """Return an item; a plain string in a request is a user message."""
    if isinstance(value, str):
        return {"type": "message", "role": "user", "content": value}
    return value if isinstance(value, dict) else None


def digest_of(made: Sequence[TextBlock]) -> Digest:
    return tuple(block.digest for block, _ in made)


def responses_reader(path: Path, name: str) -> Reader:
    if Sample(path).is_lines:
        return JsonlReader(path, name, ResponsesInterpreter())
    return JsonReader(path, name, ResponsesInterpreter)


def _with_uses(terms: BillingTerms, output: Sequence[Node]) -> BillingTerms:
    """Add uses of OpenAI's built-in tools: response items, of which opened pages and finds are not billed."""
    items = [mapping(node.value()) for node in output]
    searches = [item for item in items if item.get("type") == "web_search_call"]
    made = sum(mapping(item.get("action")).get("type", "search") == "search" for item in searches)
    runs = sum(item.get("type") == "code_interpreter_call" for item in items)
    return terms._replace(web_searches=terms.web_searches + made, code_runs=terms.code_runs + runs)
