"""Read rollouts and streams printed by `codex exec --json`.

Compactions and rollbacks follow `codex-rs/core/src/compact.rs` and `codex-rs/core/src/context_manager/history.rs` in
openai/codex.

Responses are not marked in a stream. A new one begins with the first model output after a tool result, unless an
earlier tool call is still running: the next request waits for all results.

The usage printed at the end of a turn is the thread's running total (`last_total_token_usage` in
`codex-rs/exec/src/event_processor_with_jsonl_output.rs`). The increase is the usage of the turn's call if it has just
one; the usage of several calls cannot be separated and is shown as printed. A stream does not show that it resumes a
thread, in which case the first total includes earlier turns. This is detected if the output tokens exceed the
characters of the response.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import structs

from inspector.session.blocks import TextBlock, text_block
from inspector.session.formats.codex import (
    ENDS_OF_TURNS,
    ITEM_ENDS,
    ITEMS,
    NOTICES,
    ONLY_MARKERS,
    QUIET,
    QUIET_EVENTS,
    THREAD,
    TURN_ENDS,
    TURN_STARTS,
    USAGE,
    RolloutLine,
    locate,
    note_event,
    note_header,
    unwrapped,
)
from inspector.session.formats.codex.usage import (
    INHERITED,
    Attribution,
    CodexLineage,
    CodexUsage,
    TokenCounts,
    TurnSettings,
    usage_of,
)
from inspector.session.formats.responses.reader import (
    NONE,
    ItemSide,
    ItemThread,
    ResponsesInterpreter,
    blocks_of_item,
    side_of,
)
from inspector.session.json import (
    ObjectDecoder,
    clean_string,
    clean_text,
    compact_json,
    count,
    mapping,
    object_of,
    objects,
    sequence,
    string,
)
from inspector.session.json_reader import JsonReader
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.model import (
    BlockKind,
    Compaction,
    ContextCause,
    LinkKind,
    Message,
    Origin,
    Role,
    SessionLink,
    SideCall,
)
from inspector.session.reader import Reader, Record, RecordInterpreter
from inspector.session.usage_fields import CODEX

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from inspector.session.builder import SessionBuilder
    from inspector.session.json import Node
    from inspector.session.model import Block


BEGINNINGS = (
    "# agents.md instructions",
    "<codex_internal_context",
    "<collaboration_mode>",
    "<environment_context>",
    "<goal_context>",
    "<hook_prompt",
    "<permissions instructions>",
    "<recommended_plugins",
    "<skill",
    "<subagent_notification>",
    "<turn_aborted>",
    "<user_action>",
    "<user_instructions>",
    "<user_shell_command>",
)

SUMMARY_BEGINNINGS = (
    "another language model started to solve this problem",
    "you were originally given instructions from a user over one or more turns",
)
"""Prefixes of the user message with a compaction summary."""


def is_injected(blocks: Iterable[Block]) -> bool:
    """Return True if Codex wrote any part of a user message."""
    return any(block.preview.lstrip().lower().startswith(BEGINNINGS) for block in blocks)


def is_summary(blocks: Iterable[Block]) -> bool:
    return any(block.preview.lstrip().lower().startswith(SUMMARY_BEGINNINGS) for block in blocks)


KEPT_CHARACTERS = 80_000
"""Characters of user messages kept with a summary: the newest 20,000 tokens of four bytes."""


def compacted_items(
    payload: Mapping[str, Any], origin: Origin, names: Mapping[str, str]
) -> Iterator[tuple[Mapping[str, Any], Sequence[TextBlock]]]:
    """Yield the items left by a compaction, each with its blocks; older versions recorded only a summary."""
    items = objects(payload.get("replacement_history"))
    if not items:
        message = string(payload.get("message"))
        items = [{"type": "message", "role": "user", "content": message}] if message else []
    part = 0
    for item in items:
        blocks = blocks_of_item(item, origin.at(part), names)
        part += len(blocks)
        yield item, blocks


class Compactions:
    """Reads compactions with the token counts reported before and after them."""

    def __init__(self, builder: SessionBuilder) -> None:
        self._builder = builder
        self._tokens: int | None = None
        self._open = NONE

    def read(self, line: RolloutLine, origin: Origin, thread: ItemThread, *, system: int, is_inherited: bool) -> None:
        """Begin the context left by a `compacted` line. A copied one is counted in the continued session."""
        messages = self._builder.messages
        has_history = isinstance(line.payload.get("replacement_history"), list)
        kept = [system] if system != NONE else []
        if not has_history:
            kept += kept_without_history(messages, [index for index in thread.members if index not in kept])
        thread.close()
        thread.begin(ContextCause.COMPACTION, kept)
        if not is_inherited:
            self._note(len(messages), line.time)
        summary = string(line.payload.get("message"))
        for item, made in compacted_items(line.payload, origin, thread.tool_names):
            side = side_of(item)
            thread.join(
                side,
                [block for block, _ in made],
                time=line.time,
                is_call=False,
                is_meta=side is ItemSide.SYSTEM or (side is ItemSide.USER and is_injected(block for block, _ in made)),
                is_summary=side is ItemSide.USER and is_compaction_summary(made, summary, is_alone=not has_history),
                is_inherited=is_inherited,
            )
        thread.close()

    def _note(self, message: int, time: float | None) -> None:
        self._open = len(self._builder.compactions)
        self._builder.compactions.append(Compaction(message, tokens_before=self._tokens, time=time))

    def measure(self, last: Mapping[str, Any]) -> None:
        """Record the latest token count. The first one after a compaction belongs to no call and estimates the rest."""
        spoken = count(last.get("input_tokens")) + count(last.get("output_tokens"))
        if spoken:
            self._tokens, self._open = spoken, NONE
            return
        left = count(last.get("total_tokens"))
        if left and self._open != NONE:
            compactions = self._builder.compactions
            compactions[self._open] = structs.replace(compactions[self._open], tokens_after=left)
            self._tokens, self._open = left, NONE


def is_compaction_summary(made: Sequence[TextBlock], summary: str, *, is_alone: bool) -> bool:
    """Return True for a compaction's summary: by form, by the recorded text, or as the only item (`is_alone`)."""
    return is_alone or is_summary(block for block, _ in made) or (bool(summary) and any(summary == t for _, t in made))


def kept_without_history(messages: Sequence[Message], members: Sequence[int]) -> list[int]:
    """Return the messages that older versions kept with a summary: the newest from the user side, without results."""
    kept: list[int] = []
    room = KEPT_CHARACTERS
    for index in reversed(members):
        message = messages[index]
        if message.role not in (Role.USER, Role.SYSTEM) or message.is_summary:
            continue
        if not message.is_meta:
            room -= sum(block.characters for block in message.blocks)
        if message.is_meta or room >= 0:
            kept.append(index)
    return kept[::-1]


def rolled_back(messages: Sequence[Message], members: Sequence[int], turns: int) -> int:
    """Count the members left without the last turns. A turn begins with messages injected before its prompt."""
    starts = [place for place, index in enumerate(members) if _is_typed(messages[index])]
    if not starts or turns <= 0:
        return len(members)
    cut = starts[max(len(starts) - turns, 0)]
    while cut > starts[0] and messages[members[cut - 1]].is_meta:
        cut -= 1
    return cut


def _is_typed(message: Message) -> bool:
    return message.role is Role.USER and not message.is_meta


ARGUMENTS = {
    "command_execution": ("command",),
    "file_change": ("changes",),
    "web_search": ("query", "action"),
    "collab_tool_call": ("prompt", "receiver_thread_ids"),
}
"""Tool items, with the fields that hold the call's arguments."""

MCP = "mcp_tool_call"

PLAN = "todo_list"
"""Printed whenever the model changes its plan, and again at the end of the turn."""

Made = tuple[ItemSide, "TextBlock"]


def is_tool(item: Mapping[str, Any]) -> bool:
    """Return True for a tool call, which has a start and an end event."""
    return item.get("type") in (MCP, *ARGUMENTS)


def is_plan(item: Mapping[str, Any]) -> bool:
    return item.get("type") == PLAN


def count_name(value: Mapping[str, Any]) -> str:
    """Return the name for counting: the event's type, plus the type of its item."""
    kind = string(value.get("type")) or "(no type)"
    inner = string(mapping(value.get("item")).get("type"))
    return f"{kind}:{inner}" if inner else kind


def blocks_of_event(value: Mapping[str, Any], data: bytes, origin: Origin) -> list[Made]:
    """Return all blocks of an event, numbered in order, each with the side that adds it."""
    item = mapping(value.get("item"))
    made: list[Made] = []
    for one in _items(item, is_ended=value.get("type") == ITEM_ENDS) if value.get("type") in ITEMS else ():
        place = Origin(origin.offset, origin.length, len(made))
        made += [(side_of(one), block) for block in blocks_of_item(one, place, {})]
    return made or [(ItemSide.OTHER, text_block(BlockKind.OTHER, data.decode(errors="replace"), origin))]


def blocks_again(data: bytes, origin: Origin, /) -> Sequence[TextBlock]:
    value, _ = object_of(data)
    first = Origin(origin.offset, origin.length)
    return [] if value is None else [block for _, block in blocks_of_event(value, data, first)]


def _items(item: Mapping[str, Any], *, is_ended: bool) -> list[dict[str, Any]]:
    """Convert a model or tool item to Responses API items; empty for other items."""
    kind, identifier = string(item.get("type")), string(item.get("id"))
    if is_tool(item):
        name = f"mcp__{string(item.get('server'))}__{string(item.get('tool'))}" if kind == MCP else kind
        if kind == "collab_tool_call":
            name = string(item.get("tool")) or kind
        call = {"type": "function_call", "name": name, "call_id": identifier, "arguments": _arguments(item)}
        if not is_ended:
            return [call]
        output = {"type": "function_call_output", "call_id": identifier, "name": name, "output": _output(item)}
        return [call, {**output, "status": "failed"} if _failed(item) else output]
    if kind == PLAN:
        call = {"type": "function_call", "name": kind, "call_id": identifier, "arguments": {"items": item.get("items")}}
        return [call, {"type": "function_call_output", "call_id": identifier, "name": kind, "output": ""}]
    text = clean_string(item.get("text"))
    if kind in ("agent_message", "assistant_message"):
        return [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}]
    if kind == "reasoning":
        return [{"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}]
    return []


def _arguments(item: Mapping[str, Any]) -> Any:
    if item.get("type") == MCP:
        return item.get("arguments")
    return {name: item[name] for name in ARGUMENTS[string(item.get("type"))] if item.get(name) is not None}


def _output(item: Mapping[str, Any]) -> Any:
    error = mapping(item.get("error"))
    if error:
        return string(error.get("message"))
    if item.get("type") == MCP:
        result = item.get("result")
        content = mapping(result).get("content")
        return content if isinstance(content, (str, list)) else result
    if item.get("type") == "collab_tool_call":
        return mapping(item.get("agents_states")) or ""
    return string(item.get("aggregated_output"))


def _failed(item: Mapping[str, Any]) -> bool:
    code = item.get("exit_code")
    return item.get("status") in ("failed", "declined") or (isinstance(code, int) and code != 0)


SPARE_TOKENS = 64
"""Tokens a response may have in excess of its characters, for the delimiters of its parts."""

COUNTS = ("input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens", "reasoning_output_tokens")


class StreamInterpreter(RecordInterpreter):
    """Builds a session from the lines of a stream."""

    decoder = ObjectDecoder("item")

    def __init__(self) -> None:
        super().__init__()
        self.builder.agent = "Codex"
        self._thread = ItemThread(self.builder)
        self._running: set[str] = set()
        self._response = NONE
        self._first_call = 0
        self._characters = 0
        self._is_first_report = True
        self._total = dict.fromkeys(COUNTS, 0)
        self._totals: set[tuple[int, ...]] = set()

    blocks_of_record = staticmethod(blocks_again)

    def add(self, record: Record) -> None:
        self._add(record.value, record.data, record.origin)

    def _add(self, value: Mapping[str, Any], data: bytes, origin: Origin) -> None:
        kind, item = string(value.get("type")), mapping(value.get("item"))
        self.builder.record_counts[count_name(value)] += 1
        if kind == THREAD:
            self._begin_thread(string(value.get("thread_id")))
        if is_tool(item):
            self._tool(item, blocks_of_event(value, data, origin), is_ended=kind == ITEM_ENDS)
        elif kind == TURN_ENDS:
            self._report(mapping(value.get("usage")), blocks_of_event(value, data, origin))
        elif kind not in ONLY_MARKERS and (kind not in ITEMS or (kind == ITEM_ENDS) is not is_plan(item)):
            self._add_messages(blocks_of_event(value, data, origin))
        if kind in ENDS_OF_TURNS:
            self._thread.close()
            self._running.clear()
            self._response, self._first_call, self._characters = NONE, len(self.builder.calls), 0

    def _begin_thread(self, identifier: str) -> None:
        if self.builder.identifier and identifier != self.builder.identifier:
            self._total, self._is_first_report = dict.fromkeys(COUNTS, 0), True
            self._totals.clear()
        self.builder.identifier = self.builder.identifier or identifier

    def _tool(self, item: Mapping[str, Any], made: Sequence[Made], *, is_ended: bool) -> None:
        identifier = string(item.get("id"))
        is_known = identifier in self._running
        self._add_messages([(side, block) for side, block in made if side is ItemSide.TOOL or not is_known])
        if is_ended:
            self._running.discard(identifier)
            for thread in sequence(item.get("receiver_thread_ids")):
                if item.get("tool") == "spawn_agent" and isinstance(thread, str):
                    self.builder.link(SessionLink(LinkKind.SUBAGENT, thread, None, identifier))
        else:
            self._running.add(identifier)

    def _add_messages(self, made: Sequence[Made]) -> None:
        for side, (block, _) in made:
            if side is ItemSide.RESPONSE and block.kind is not BlockKind.THINKING:
                self._characters += block.characters
            if side is ItemSide.RESPONSE and self._running and self._response != NONE:
                self.builder.add_blocks(self._response, [block])
            elif side is ItemSide.RESPONSE:
                self._response = self._thread.join(side, [block])
            else:
                self._thread.join(side, [block])

    def _report(self, total: Mapping[str, Any], shown: Sequence[Made]) -> None:
        """Assign the increase of a thread's running total to the current turn."""
        now = {name: count(total.get(name)) for name in COUNTS}
        if tuple(now.values()) in self._totals:  # printed once more, possibly after newer ones
            return
        self._totals.add(tuple(now.values()))
        is_continued = all(now[name] >= self._total[name] for name in COUNTS)
        usage = usage_of({name: now[name] - self._total[name] for name in COUNTS} if is_continued else now)
        usage = CODEX.check(usage, total)
        self._total = now
        calls = self.builder.calls
        is_of_turn = not (self._is_first_report and self._holds_more(total, now))
        self._is_first_report = False
        if usage is not None and is_of_turn and len(calls) == self._first_call + 1:
            calls[-1] = structs.replace(calls[-1], usage=usage)
        elif usage is not None:
            self._add_messages(shown)

    def _holds_more(self, total: Mapping[str, Any], now: Mapping[str, int]) -> bool:
        """Return True if a first report exceeds the output of its turn; it must report reasoning tokens separately."""
        written = now["output_tokens"] - now["reasoning_output_tokens"]
        return "reasoning_output_tokens" in total and written > self._characters + SPARE_TOKENS


def blocks_of(line: RolloutLine, data: bytes, origin: Origin, names: Mapping[str, str]) -> Sequence[TextBlock]:
    """Return all blocks of a line, numbered in order."""
    first = Origin(origin.offset, origin.length)
    match line.kind:
        case "response_item" if line.payload:
            return blocks_of_item(line.payload, first, names)
        case "compacted":
            return [made for _, blocks in compacted_items(line.payload, first, names) for made in blocks]
        case "session_meta":
            return system_blocks(line.payload, first)
        case "inter_agent_communication":
            text = line.payload.get("content")
            plain = text if isinstance(text, str) else compact_json(dict(line.payload))
            return [text_block(BlockKind.USER_TEXT, clean_text(plain), first)]
    return [text_block(BlockKind.OTHER, data.decode(errors="replace"), first)]


def system_blocks(payload: Mapping[str, Any], origin: Origin) -> list[TextBlock]:
    """Return instructions and tools at the start of prompts; before 0.80, a user message may repeat them."""
    instructions = payload.get("base_instructions")
    text = string(mapping(instructions).get("text")) or string(instructions) or string(payload.get("instructions"))
    tools = payload.get("dynamic_tools")
    texts = [text, compact_json(tools) if tools else ""]
    return [
        text_block(BlockKind.SYSTEM_TEXT, clean_text(text), origin.at(part)) for part, text in enumerate(texts) if text
    ]


UNRECORDED = "unrecorded response"
"""Purpose of a request whose response the rollout does not hold."""


class CodexInterpreter(RecordInterpreter):
    """Builds a session from the lines of a rollout."""

    decoder = ObjectDecoder("payload")

    def __init__(self, path: Path) -> None:
        """Start before the first line; rollouts that others continue are searched for near a path."""
        super().__init__()
        self._thread = ItemThread(self.builder)
        self._lineage = CodexLineage(partial(locate, path))
        self._counts = TokenCounts()
        self._attribution = Attribution()
        self._compactions = Compactions(self.builder)
        self._settings = TurnSettings()
        self._calls_of_responses: dict[str, int] = {}
        self._unmeasured: Mapping[str, Any] = {}
        self._system = NONE
        self._instructions = ""
        self._is_inherited = False

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> Sequence[TextBlock]:
        value, _ = object_of(record)
        return [] if value is None else blocks_of(unwrapped(value), record, origin, {})

    def add(self, record: Record) -> None:
        line, data, origin = unwrapped(record.value), record.data, record.origin
        self.builder.record_counts[line.count_name] += 1
        self._separate_copies(line)
        match line.kind:
            case "response_item":
                self._item(line.payload, blocks_of(line, data, origin, self._thread.tool_names), line.time)
            case "event_msg":
                self._event(line, data, origin)
            case "compacted":
                self._compact(line, origin)
            case "turn_context":
                self._settings.begin_turn(line.payload)
                self._attribution.pass_by()
            case kind if kind == USAGE:
                self._report_response(line, data, origin)
            case "session_meta":
                self._header(line.payload, origin)
            case "inter_agent_communication":
                self._speak(ItemSide.USER, blocks_of(line, data, origin, {}), line.time, is_meta=True)
            case kind if kind not in QUIET:
                self._show(blocks_of(line, data, origin, {}), line.time)

    def settle(self) -> None:
        """Bill a pending report even if its response is not recorded (yet)."""
        sides, waiting = self.builder.side_calls, self._attribution.waiting
        sides.pop(UNRECORDED, None)
        if waiting is not None and not self._is_inherited:
            sides[UNRECORDED] = self._side_call(UNRECORDED, waiting)

    def _separate_copies(self, line: RolloutLine) -> None:
        was_inherited, self._is_inherited = self._is_inherited, self._lineage.is_inherited(line)
        if was_inherited and not self._is_inherited:
            self._attribution.forget()
            if line.is_usage:
                self._claim_response()
            self._thread.close()

    def _header(self, payload: Mapping[str, Any], origin: Origin) -> None:
        if self._is_inherited or self.builder.identifier:
            return
        self.builder.identifier = self._lineage.identifier
        self.builder.working_directory = string(payload.get("cwd"))
        version = string(payload.get("cli_version"))
        self.builder.agent = f"Codex {version}" if version else "Codex"
        note_header(payload, self.builder)
        made = system_blocks(payload, origin)
        if made and self._system == NONE:
            self._system = self._thread.join(ItemSide.SYSTEM, [block for block, _ in made], is_meta=True)
            self._instructions = "" if payload.get("base_instructions") else string(payload.get("instructions"))

    def _claim_response(self) -> None:
        """Make the newest response and prompt the rollout's own, by its usage: the origin's equals it."""
        messages, members = self.builder.complete_messages(), self._thread.members
        place = next((at for at in reversed(range(len(members))) if messages[members[at]].role is Role.ASSISTANT), NONE)
        if place == NONE or not messages[members[place]].is_inherited or messages[members[place]].is_summary:
            return
        first = place
        while first and messages[members[first - 1]].role is Role.USER:
            first -= 1
        for index in members[first:]:
            self.builder.replace_message(index, is_inherited=False)
        call = len(self.builder.calls)
        settings = self._settings
        self._thread.add_call(
            members[place], place, model=settings.model, thinking=settings.effort, terms=settings.terms
        )
        self._attribution.begin(call)

    def _item(self, item: Mapping[str, Any], made: Sequence[TextBlock], time: float | None) -> None:
        side = side_of(item)
        if side is ItemSide.RESPONSE:
            self._respond(made, time)
        elif side is ItemSide.OTHER:
            self._show(made, time)
        else:
            self._speak(side, made, time)

    def _speak(self, side: ItemSide, made: Sequence[TextBlock], time: float | None, *, is_meta: bool = False) -> int:
        """Add a message that is not a response."""
        blocks = [block for block, _ in made]
        if side is not ItemSide.TOOL:
            self._attribution.pass_by()
        if self._instructions and side is ItemSide.USER and any(self._instructions in text for _, text in made):
            self._forget_instructions()
        is_typed = side is ItemSide.USER and not is_meta and not is_injected(blocks)
        return self._thread.join(
            side,
            blocks,
            time=time,
            is_meta=side in (ItemSide.USER, ItemSide.SYSTEM) and not is_typed,
            is_summary=is_typed and is_summary(blocks),
            is_inherited=self._is_inherited,
        )

    def _forget_instructions(self) -> None:
        """Exclude the header's instructions from prompts, because a message repeats them."""
        context = self._thread.context
        if context is not None and self._system in context.members:
            context.members.remove(self._system)
            self.builder.replace_message(self._system, role=Role.OTHER)
        self._system, self._instructions = NONE, ""

    def _respond(self, made: Sequence[TextBlock], time: float | None) -> None:
        blocks = [block for block, _ in made]
        if self._thread.response != NONE:
            self._thread.join(ItemSide.RESPONSE, blocks)
            return
        self._instructions = ""
        self._measure()
        self._counts.begin_response()
        self._add_usage_only_call(self._attribution.take_unassigned())
        call = len(self.builder.calls)
        report = self._attribution.begin(INHERITED if self._is_inherited else call)
        self._thread.join(
            ItemSide.RESPONSE,
            blocks,
            time=time,
            is_call=not self._is_inherited,
            model=self._settings.model,
            thinking=self._settings.effort,
            terms=self._settings.terms,
            is_inherited=self._is_inherited,
        )
        if report is not None and not self._is_inherited:
            self._assign(call, report)

    def _event(self, line: RolloutLine, data: bytes, origin: Origin) -> None:
        payload, name = line.payload, string(line.payload.get("type"))
        if not self._is_inherited:
            note_event(payload, self.builder)
        match name:
            case "token_count":
                self._report(line, data, origin)
            case "thread_settings_applied":
                self._settings.apply(mapping(payload.get("thread_settings")))
            case _ if name in TURN_STARTS:
                self._settings.begin_turn(payload, is_start=True)
                self.builder.window = count(payload.get("model_context_window")) or self.builder.window
            case "thread_name_updated":
                self.builder.title = string(payload.get("thread_name")) or self.builder.title
            case "thread_rolled_back":
                self._roll_back(count(payload.get("num_turns")))
            case _ if name in NOTICES or name not in QUIET_EVENTS:
                self._show(blocks_of(line, data, origin, {}), line.time)
        if name in ("turn_aborted", "task_complete", "turn_complete"):
            self._add_usage_only_call(self._attribution.take_unassigned(ends=True))

    def _report(self, line: RolloutLine, data: bytes, origin: Origin) -> None:
        info = mapping(line.payload.get("info"))
        self.builder.window = count(info.get("model_context_window")) or self.builder.window
        usage = self._counts.add_event(info)
        if self._counts.is_current(info):
            self._measure()
            self._compactions.measure(mapping(info.get("last_token_usage")))
        if usage is not None:
            self._attribute(CodexUsage(usage, line.time, blocks_of(line, data, origin, {})[0].block))

    def _report_response(self, line: RolloutLine, data: bytes, origin: Origin) -> None:
        """Take the usage of one response, as recorded since 0.151."""
        self._measure()
        usage, identifier = self._counts.add_record(line.payload), string(line.payload.get("response_id"))
        self._unmeasured = line.payload
        if usage is not None:
            self._attribute(CodexUsage(usage, line.time, blocks_of(line, data, origin, {})[0].block, identifier))

    def _measure(self) -> None:
        """Note the newest response's tokens, unless it turned out to be the request of a compaction."""
        self._compactions.measure(mapping(self._unmeasured.get("usage")))
        self._unmeasured = {}

    def _attribute(self, report: CodexUsage) -> None:
        call, waited_in_vain = self._attribution.report(report)
        self._add_usage_only_call(waited_in_vain)
        if call >= 0:
            self._assign(call, report)

    def _assign(self, call: int, report: CodexUsage) -> None:
        calls = self.builder.calls
        calls[call] = structs.replace(
            calls[call], usage=report.usage, identifier=report.identifier, copied_as=report.identifier
        )
        if report.identifier:
            self._calls_of_responses[report.identifier] = call

    def _add_usage_only_call(self, report: CodexUsage | None, *, compacts: bool = False) -> None:
        """Add a call of which only usage is recorded; one that makes a summary is a side call."""
        if report is None or self._is_inherited:
            return
        if compacts:
            sides = self.builder.side_calls
            sides[report.identifier or str(report.block.origin.offset)] = self._side_call("compaction", report)
            return
        message = Message(Role.ASSISTANT, (report.block,), report.time, thread=self._thread.number)
        call = len(self.builder.calls)
        settings = self._settings
        self._thread.respond(
            message,
            model=settings.model,
            usage=report.usage,
            is_sent=False,
            thinking=settings.effort,
            terms=settings.terms,
        )
        self._assign(call, report)

    def _side_call(self, purpose: str, report: CodexUsage) -> SideCall:
        settings = self._settings
        return SideCall(purpose, settings.model, report.time, report.usage, report.identifier, settings.terms)

    def _show(self, made: Sequence[TextBlock], time: float | None) -> None:
        """Add a message that is shown but not sent."""
        self._thread.join(ItemSide.OTHER, [block for block, _ in made], time=time, is_inherited=self._is_inherited)

    def _compact(self, line: RolloutLine, origin: Origin) -> None:
        self._take_summary_request(line, origin)
        self._attribution.pass_by()
        self._compactions.read(line, origin, self._thread, system=self._system, is_inherited=self._is_inherited)

    def _take_summary_request(self, line: RolloutLine, origin: Origin) -> None:
        """Add the request that made a compaction's summary: the one it names, or the last one without a response."""
        identifier = string(line.payload.get("compaction_response_id"))
        if identifier and identifier == self._unmeasured.get("response_id"):
            self._unmeasured = {}
        self._measure()
        waiting = self._attribution.take_unassigned(ends=True)
        self._add_usage_only_call(waiting, compacts=waiting is not None and waiting.identifier in ("", identifier))
        if not identifier:
            return
        record, call = mapping(line.payload.get("latest_token_usage_record")), self._calls_of_responses.get(identifier)
        usage = self._counts.add_record(record) if record.get("response_id") == identifier else None
        if call is not None and not self._is_inherited:
            calls = self.builder.calls
            usage = calls[call].usage
            calls[call] = structs.replace(calls[call], usage=None, identifier="", copied_as="")
        if usage is not None:
            block = text_block(BlockKind.OTHER, "", origin).block
            self._add_usage_only_call(CodexUsage(usage, line.time, block, identifier), compacts=True)

    def _roll_back(self, turns: int) -> None:
        thread = self._thread
        members = list(thread.members)
        cut = rolled_back(self.builder.messages, members, turns)
        if cut == len(members):
            return
        for index in members[cut:]:
            self.builder.replace_message(index, is_abandoned=True)
        self._thread.close()
        self._attribution.pass_by()
        thread.begin(ContextCause.REWIND, members[:cut])


def codex_reader(path: Path, name: str, *, is_document: bool = False, is_stream: bool = False, near: Path) -> Reader:
    """Return a reader for a rollout or a printed stream; related rollouts are searched for near a path."""
    if is_stream:
        return JsonlReader(path, name, StreamInterpreter())
    if is_document:
        return JsonReader(path, name, CodexDocumentInterpreter)
    return JsonlReader(path, name, CodexInterpreter(near))


# Its third base class is the reader protocol itself; a rollout holds Responses API items as records.
class CodexDocumentInterpreter(ResponsesInterpreter):
    """Builds a session from a rollout in one JSON document."""

    def take_document(self, document: Node) -> None:
        super().take_document(document)
        self.builder.agent = "Codex"
        fields = document.fields()
        session = fields.value_of("session", {})
        self.builder.identifier = string(mapping(session).get("id"))
