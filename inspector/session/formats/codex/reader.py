"""Read rollouts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import structs

from inspector.session.blocks import TextBlock, text_block
from inspector.session.formats.codex.compactions import (
    Compactions,
    compacted_items,
    is_injected,
    is_summary,
    rolled_back,
)
from inspector.session.formats.codex.lineage import CodexLineage
from inspector.session.formats.codex.records import (
    NOTICES,
    QUIET,
    QUIET_EVENTS,
    TURN_STARTS,
    USAGE,
    RolloutLine,
    unwrapped,
)
from inspector.session.formats.codex.related import locate, note_event, note_header
from inspector.session.formats.codex.stream import StreamInterpreter
from inspector.session.formats.codex.usage import (
    INHERITED,
    NONE,
    Attribution,
    CodexUsage,
    TokenCounts,
    TurnSettings,
)
from inspector.session.formats.responses.reader import (
    ItemSide,
    ItemThread,
    ResponsesInterpreter,
    blocks_of_item,
    side_of,
)
from inspector.session.json.codec import clean_text, compact_json
from inspector.session.json.lines import ObjectDecoder, object_of
from inspector.session.json.values import count, mapping, string
from inspector.session.json_reader import JsonReader
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.model import BlockKind, ContextCause, Message, Origin, Role, SideCall
from inspector.session.reader import Record, RecordInterpreter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from inspector.session.json.nodes import Node
    from inspector.session.reader import Reader


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
    """Return the blocks at the start of every prompt: the header's instructions and user-supplied tools.

    Up to about version 0.80, a header has only `instructions`, which a user message may repeat.
    """
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
        """Make the newest response and its prompt the rollout's own: its usage shows that they only equal the origin's.

        The origin may continue with the same text, such as a short answer.
        """
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
        """Add a call with nothing recorded except its usage.

        Args:
            report: The usage.
            compacts: The call made a compaction summary, so it is a side call.
        """
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
    """Return a reader for a rollout (JSON lines, or one document in early versions) or a printed stream.

    Args:
        path: The file to read.
        name: Name of the format.
        is_document: It is one JSON document.
        is_stream: It is a printed stream.
        near: Path near which related rollouts are searched for: the file's, or that of its compressed original.
    """
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
