"""Read Claude Code session files.

Totals are recorded for a printed run in `result` and for a session in `cost-state`. Both have the cost and, in
`modelUsage`, the tokens per model, including subagents and requests without a message. A process writes several, each
with everything since it began. `result` also has the `usage` of the conversation alone. Requests that are in a total
and nowhere else become side requests.
"""

from __future__ import annotations

import re
import sys
from array import array
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from msgspec import structs

from inspector.session.billing_terms import BillingTerms, normalized_value, use_count
from inspector.session.builder import OpenContext, SessionBuilder, Thread
from inspector.session.formats.chat import SEPARATE_ITERATIONS
from inspector.session.formats.claude_code import UUID, SideRuns, is_copy
from inspector.session.formats.claude_code.lineage import (
    Branches,
    ClaudeCodeLineage,
    SessionFamily,
    compaction_of,
    is_injected,
    is_prompt,
    is_request,
    kept_messages,
    sends_kept_first,
)
from inspector.session.formats.claude_code.records import (
    DECODER,
    REPEATED,
    RecordKind,
    blocks_of_line,
    count_name,
    kind_of,
)
from inspector.session.json import clean_string, count, decode_json, mapping, seconds_of_any, string
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.model import (
    NO_MESSAGE,
    BlockKind,
    Compaction,
    ContextCause,
    LinkKind,
    Message,
    Origin,
    RecordedTotals,
    ReportedMiss,
    Role,
    SideCall,
    Usage,
)
from inspector.session.reader import Record, RecordInterpreter
from inspector.session.usage_fields import ANTHROPIC, LineCheck

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from inspector.session.blocks import TextBlock
    from inspector.session.formats.claude_code.records import ClaudeCodeRecord, ReportedUsage
    from inspector.session.model import Block, Call, Session


RESULT: Final = "result"

COST_STATE: Final = "cost-state"

LONG_CONTEXT: Final = "[1m]"
"""Suffix of a model's name in `modelUsage`, not in responses, if its long context window is on."""

SLACK_SECONDS: Final = 600
"""Maximum time from the start of a process to its first record; beyond it, its totals include an earlier session."""


@dataclass(frozen=True)
class _Stretch:
    """Totals of the calls from `first` to before `end`.

    Attributes:
        conversation: Usage of the conversation alone, None if not recorded.
        cost: Recorded dollars, or None.
        started: Start of the process in seconds since the epoch, or None.
    """

    source: str
    first: int
    end: int
    models: dict[str, Usage]
    conversation: Usage | None
    cost: float | None
    started: float | None = None


class TotalsReader:
    """Adds a session's recorded totals, and the requests that only they report, to a builder."""

    def __init__(self, builder: SessionBuilder) -> None:
        self._builder = builder
        self._stretches: list[_Stretch] = []
        self._added: list[str] = []
        self._is_changed = False

    def note(self, record: ClaudeCodeRecord) -> None:
        if record.type not in (RESULT, COST_STATE):
            return
        end = len(self._builder.calls)
        models = dict(_models_in(decode_json(record.model_usage)[0]))
        if record.type == COST_STATE:
            started = seconds_of_any(decode_json(record.start_time)[0])
            made = _Stretch(COST_STATE, 0, end, models, None, record.session_cost, started)
            kept = [each for each in self._stretches if each.source != COST_STATE or each.started != started]
        else:
            conversation = _conversation_usage(decode_json(record.usage)[0])
            kept, first = self._before(models, conversation)
            if not models and conversation is not None:
                models = self._of_one_model(first, end, conversation)
            made = _Stretch(RESULT, first, end, models, conversation, record.run_cost)
        self._stretches = [*kept, made]
        self._is_changed = True

    def settle(self) -> None:
        """Update the builder if a total was added."""
        if not self._is_changed:
            return
        self._is_changed = False
        for key in self._added:
            self._builder.side_calls.pop(key, None)
        self._added.clear()
        self._builder.recorded_totals = [self._recorded(each) for each in self._stretches]

    def _before(self, models: dict[str, Usage], conversation: Usage | None) -> tuple[list[_Stretch], int]:
        """Return the totals that a new one, of the whole process, does not include, and its first call."""
        if not self._stretches:
            return [], 0
        last = self._stretches[-1]
        total = sum(usage.prompt for usage in models.values()) or (conversation.prompt if conversation else 0)
        if total >= _sum(self._builder.calls[last.first :]).prompt:
            return self._stretches[:-1], last.first
        return self._stretches, last.end

    def _of_one_model(self, first: int, end: int, conversation: Usage) -> dict[str, Usage]:
        """Return the conversation's usage by model if it includes all calls of a range and they name the same model."""
        calls = self._builder.calls[first:end]
        names = {call.model for call in calls}
        return {names.pop(): conversation} if len(names) == 1 and _is_prompt_of(conversation, calls) else {}

    def _recorded(self, stretch: _Stretch) -> RecordedTotals:
        calls = self._builder.calls[stretch.first : stretch.end]
        usages = []
        side_usages = []
        for model, total in stretch.models.items() if self._is_of_this_file(stretch) else ():
            mine = [call for call in calls if call.model == model]
            sides = [usage for name, usage in self._side_usages(mine) if name == model]
            known = _add([_sum(mine), *sides])
            rest = _subtract_prompt(total, known)
            if rest is None:
                continue
            if rest.prompt:
                rest = _with_output(rest, self._output_outside(stretch, calls, mine, total))
                sides.append(rest)
                self._add_side_call(stretch, model, rest)
            side_usages += [(model, usage) for usage in sides]
            usages.append((model, _add([_sum(mine), *sides], total.output)))
        return RecordedTotals(
            stretch.source,
            tuple(usages),
            stretch.cost,
            None,
            stretch.first,
            stretch.end,
            stretch.source == COST_STATE,
            tuple(side_usages),
        )

    def _is_of_this_file(self, stretch: _Stretch) -> bool:
        """Return True unless totals may include requests of other files: subagents, earlier sessions, copied calls."""
        if stretch.source == RESULT:
            return True
        messages = self._builder.messages
        first = next((message.time for message in messages if message.time is not None), None)
        is_begun_here = stretch.started is None or first is None or stretch.started >= first - SLACK_SECONDS
        has_subagents = any(link.kind is LinkKind.SUBAGENT for link in self._builder.links.values())
        is_only = sum(each.source == COST_STATE for each in self._stretches) == 1
        return is_begun_here and is_only and not has_subagents and not any(each.is_inherited for each in messages)

    def _side_usages(self, calls: Iterable[Call]) -> Iterator[tuple[str, Usage]]:
        """Yield models and usage of known side requests: those that these calls report, and those of other files."""
        responses = {-1, *(call.response for call in calls)}
        for key, each in self._builder.side_calls.items():
            if each.usage is not None and each.response in responses and key not in self._added:
                yield each.model, each.usage

    def _output_outside(self, stretch: _Stretch, calls: list[Call], mine: list[Call], total: Usage) -> int:
        """Return the response tokens of requests without a message; 0 if not known apart from those of the calls."""
        if all(call.usage is not None and not call.usage.output_is_placeholder for call in mine):
            return max(total.output - _sum(mine).output, 0)
        conversation = stretch.conversation
        is_alone = len(mine) == len(calls) and conversation is not None and _is_prompt_of(conversation, calls)
        return max(total.output - conversation.output, 0) if is_alone and conversation is not None else 0

    def _add_side_call(self, stretch: _Stretch, model: str, usage: Usage) -> None:
        times = [call.time for call in self._builder.calls[: stretch.end] if call.time is not None]
        key = f"{stretch.source} {stretch.first} {model}"
        self._added.append(key)
        identifier = f"{self._builder.identifier} {key}"
        made = SideCall(NO_MESSAGE, model, times[-1] if times else None, usage, identifier, requests=0)
        self._builder.side_calls[key] = made


def _models_in(value: object) -> Iterator[tuple[str, Usage]]:
    found: dict[str, list[Usage]] = {}
    for name, reported in mapping(value).items():
        fields = mapping(reported)
        names = ("inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "outputTokens")
        uncached, read, written, output = (count(fields.get(each)) for each in names)
        found.setdefault(clean_string(name).removesuffix(LONG_CONTEXT), []).append(
            Usage(uncached, read, written, output=output)
        )
    for name, usages in found.items():
        yield name, _add(usages)


def _conversation_usage(value: object) -> Usage | None:
    fields = mapping(value)
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    uncached, read, written, output = (count(fields.get(each)) for each in names)
    return Usage(uncached, read, written, output=output).unless_zero()


def _sum(calls: Iterable[Call]) -> Usage:
    return _add([call.usage for call in calls if call.usage is not None])


def _add(usages: Sequence[Usage], output: int | None = None) -> Usage:
    names = ("uncached", "cache_read", "cache_write_5m", "cache_write_1h", "output")
    totals = {name: sum(getattr(each, name) for each in usages) for name in names}
    return Usage(**(totals if output is None else {**totals, "output": output}))


def _is_prompt_of(total: Usage, calls: Iterable[Call]) -> bool:
    rest = _subtract_prompt(total, _sum(calls))
    return rest is not None and not rest.prompt


def _subtract_prompt(total: Usage, known: Usage) -> Usage | None:
    """Return a total's prompt tokens that are not known, of any cache lifetime; None if more are known."""
    uncached, read = total.uncached - known.uncached, total.cache_read - known.cache_read
    written = total.cache_write_5m - known.cache_write_5m - known.cache_write_1h
    return Usage(uncached, read, written) if min(uncached, read, written) >= 0 else None


def _with_output(usage: Usage, output: int) -> Usage:
    return _add([usage], output)


LINE_CHECK = LineCheck(ANTHROPIC, "message", "usage")
"""Finds fields of the usage that `ReportedUsage` does not declare."""

PLACEHOLDER_VERSIONS = ((2, 1, 12), (2, 1, 29))
"""First and last version that record `output_tokens` as reported when a response begins (1 to 8)."""

PLACEHOLDER_LIMIT = 8

HIGHEST_RATIO = 6.0
"""Limit of characters per token; healthy counts have 1 to 5. Above it, the count is a placeholder."""

LEADING_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")


def usage_of(reported: ReportedUsage | None) -> Usage | None:
    """Convert usage, None for zeros of a server that does not count. Writes are of 5 minutes by default."""
    if reported is None:
        return None
    written = _count(reported.cache_creation_input_tokens)
    detail = reported.cache_creation
    hour = _count(detail.ephemeral_1h_input_tokens) if detail is not None else 0
    minutes = _count(detail.ephemeral_5m_input_tokens) if detail is not None else 0
    return Usage(
        uncached=_count(reported.input_tokens),
        cache_read=_count(reported.cache_read_input_tokens),
        cache_write_5m=max(written - hour, minutes),
        cache_write_1h=hour,
        output=_count(reported.output_tokens),
        ignored=reported.ignored,
    ).unless_zero()


def separate_requests(record: ClaudeCodeRecord, call: Call) -> list[SideCall]:
    """Return the requests that a line's iterations report and the usage of its call excludes."""
    message = record.message
    usage = message.usage if message is not None else None
    if message is None or usage is None or not usage.iterations:
        return []
    terms = _code(None, usage.service_tier, usage.inference_geo, 0, 0)
    return [
        SideCall(purpose, one.model or message.model or "", call.time, counts, call.identifier, terms, call.response)
        for one in usage.iterations
        if (purpose := SEPARATE_ITERATIONS.get(one.type or "")) and (counts := usage_of(one)) is not None
    ]


def are_of_one_response(before: Usage | None, now: Usage | None) -> bool:
    """Return True unless two lines report different prompts; lines without counts may belong to any response."""
    if before is None or now is None or not before.prompt or not now.prompt:
        return True
    return _prompt_counts(before) == _prompt_counts(now)


def _prompt_counts(usage: Usage) -> tuple[int, int, int]:
    return usage.uncached, usage.cache_read, usage.cache_write_5m + usage.cache_write_1h


def later(before: Usage | None, now: Usage | None) -> Usage | None:
    """Return the later of two usage reports of a response, unless it is smaller: the stream was interrupted."""
    if before is None or now is None:
        return before or now
    return now if (now.output, now.prompt) >= (before.output, before.prompt) else before


def mark_placeholder_output(usage: Usage, characters: int, version: str, *, is_printed: bool = False) -> Usage:
    """Mark an output count that cannot be the response's size, as in lines printed by a run (`is_printed`)."""
    is_placeholder = (
        is_printed
        or characters > HIGHEST_RATIO * usage.output
        or (usage.output <= PLACEHOLDER_LIMIT and _is_placeholder_version(version))
    )
    if is_placeholder == usage.output_is_placeholder:
        return usage
    return structs.replace(usage, output_is_placeholder=is_placeholder)


def parse_billing_terms(record: ClaudeCodeRecord) -> str:
    """Return the billing terms besides tokens as a `BillingTerms.code`; empty if none are reported."""
    reported = record.message.usage if record.message is not None else None
    if reported is None:
        return ""
    tools = reported.server_tool_use
    searches, runs = (tools.web_search_requests, tools.code_execution_requests) if tools is not None else (0, 0)
    return _code(reported.speed, reported.service_tier, reported.inference_geo, searches, runs)


@lru_cache(64)
def _code(speed: str | None, tier: str | None, region: str | None, searches: int | None, runs: int | None) -> str:
    """Return the code of billing terms; nearly all responses of a session share one."""
    return BillingTerms(
        normalized_value(speed), normalized_value(tier), normalized_value(region), use_count(searches), use_count(runs)
    ).code


def miss_of(record: ClaudeCodeRecord) -> ReportedMiss | None:
    """Return the cache miss reason reported by the API; None if there is none."""
    diagnostics = record.message.diagnostics if record.message is not None else None
    miss = diagnostics.miss if diagnostics is not None else None
    return ReportedMiss(miss.type, miss.missed) if miss is not None and miss.type else None


def _is_placeholder_version(version: str) -> bool:
    match = LEADING_VERSION.match(version)
    if match is None:
        return False
    first, last = PLACEHOLDER_VERSIONS
    return first <= (int(match[1]), int(match[2]), int(match[3])) <= last


def _count(value: int | None) -> int:
    """Return a valid token count, 0 for null (interrupted streams) or out-of-range values."""
    return value if value is not None and 0 < value < 1 << 53 else 0


NONE = -1


class ClaudeCodeThread(Thread):
    """State of the main conversation or of one subagent's.

    Attributes:
        response: Message of the last response, -1 if the next line cannot continue it.
        user: The user message being extended, -1 if the next user line starts a new one.
        compactions: Compactions waiting for their first message.
        awaits_summary: The context began with a boundary and has no summary yet.
        kept_first: The summary follows the kept messages.
    """

    def __init__(self, builder: SessionBuilder, number: int) -> None:
        super().__init__(builder, number)
        self.response = NONE
        self.user = NONE
        self.compactions: list[int] = []
        self.awaits_summary = False
        self.kept_first = False

    def begin(self, cause: ContextCause, members: Iterable[int] = (), retained: int | None = None) -> OpenContext:
        """Begin a new context; the next line starts a new message."""
        self.user = self.response = NONE
        return super().begin(cause, members, retained)

    def note_compaction(self, compaction: Compaction) -> None:
        """Add a compaction, to be completed by its first message."""
        self._builder.compactions.append(compaction)
        self.compactions.append(len(self._builder.compactions) - 1)

    def resolve_compactions(self, message: int) -> None:
        """Set the first message of the pending compactions."""
        compactions = self._builder.compactions
        for index in self.compactions:
            compactions[index] = structs.replace(compactions[index], message=message)
        self.compactions.clear()


@dataclass(slots=True)
class ClaudeCodeResponse:
    """A response: its message, call and usage as first reported, the length of its text, and if its size is known."""

    message: int
    call: int
    request: str
    usage: Usage | None = None
    characters: int = 0
    is_complete: bool = False


class ClaudeCodeInterpreter(RecordInterpreter):
    """Builds a session from lines in file order."""

    decoder = DECODER

    def __init__(self, path: Path) -> None:
        """Initialize; a session id in the file name identifies lines copied from other sessions."""
        super().__init__()
        self._lineage = ClaudeCodeLineage(path.stem if UUID.fullmatch(path.stem) else "")
        self._family = SessionFamily(path, self.builder)
        self._side_runs = SideRuns(path, _read_run)
        self._totals = TotalsReader(self.builder)
        self._is_copy = is_copy(path)
        self._copied = 0
        self._fork_point = ""  # the last line that a forked subagent copied from its parent
        self._branches = Branches()
        self._threads: dict[int, ClaudeCodeThread] = {}
        self._responses: dict[str, ClaudeCodeResponse] = {}
        self._streaming: dict[str, str] = {}
        self._tool_names: dict[str, str] = {}
        self._message_of_node = array("i")
        self._identity_of_node = array("q")
        self._session_of_message: list[str] = []
        self._turn_of_message = array("i")  # -1 for messages outside the main conversation's context
        self._compacted: list[tuple[OpenContext, int]] = []

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> Sequence[TextBlock]:
        line, _ = DECODER.decode(record)
        return () if line is None else blocks_of_line(line, kind_of(line), record, origin.offset, {})

    def add(self, record: Record) -> None:
        builder = self.builder
        line: ClaudeCodeRecord = record.value
        uuid = line.uuid or None
        is_repeated = self._is_repeated(line)
        builder.record_counts[REPEATED if is_repeated else count_name(line)] += 1
        is_confirmed = self._lineage.confirms(line)
        self._lineage.note(line, builder)
        if line.type == "summary" and self._branches.node(line.leaf) >= 0:
            self._lineage.take_summary(line.leaf or "", builder)
        if is_repeated:
            return
        kind = kind_of(line)
        if line.message is not None and line.message.usage is not None:
            line.message.usage.ignored = LINE_CHECK.ignored(record.data)
        made = blocks_of_line(line, kind, record.data, record.offset, self._tool_names)
        if made and self.takes_texts is not None:
            self.takes_texts(record.origin, made)
        self._note_family(line, made)
        self._note_totals(line)
        blocks = [block for block, _ in made]
        thread = self._thread(line, kind)
        self._note_copies(line, thread, is_confirmed=is_confirmed)
        # The root of a compacted conversation has no parent, but names the line it continues.
        turn = self._branches.add(
            uuid, line.parent or line.logical_parent, is_prompt=thread.number == 0 and is_prompt(line)
        )
        is_spoken = thread.number == 0 and line.message is not None and kind is not RecordKind.SYNTHETIC
        if is_spoken and self._branches.go_to(turn):
            self._rewind(thread)
        if line.type == "last-prompt":
            self._follow_leaf(line)
        elif kind is RecordKind.COMPACTION:
            self._compact(line, thread, turn, record.offset, record.line)
        elif kind is RecordKind.MICROCOMPACTION:
            self._clear(line, thread, record.offset, record.line)
        message = self._add_kind(line, kind, blocks, thread, turn)
        if uuid is not None:
            self._identity_of_node.append(_identity(line))
            self._message_of_node.append(message)
            self._lineage.place(thread.number, line.session or "")

    def _is_repeated(self, record: ClaudeCodeRecord) -> bool:
        """Return True for a line that a later compaction or resume wrote again, with its uuid and time."""
        node = self._branches.node(record.uuid)
        return node >= 0 and self._identity_of_node[node] == _identity(record)

    def settle(self) -> None:
        self._side_runs.note(self.builder)
        self._totals.settle()

    def _note_family(self, record: ClaudeCodeRecord, made: Sequence[TextBlock]) -> None:
        for block, text in made:
            if block.kind is BlockKind.TOOL_CALL:
                self._family.note_call(block.tool_call_id, block.tool_name, text)
        self._family.note(
            record, is_home_agent=self._lineage.is_home_agent(record), is_inherited=self._lineage.is_inherited(record)
        )

    def _note_copies(self, record: ClaudeCodeRecord, thread: ClaudeCodeThread, *, is_confirmed: bool) -> None:
        """Mark earlier messages as inherited if a line shows that they were copied from another session."""
        messages = self.builder.messages
        copied: Sequence[int] = ()
        if is_confirmed:
            copied = [at for at, session in enumerate(self._session_of_message) if self._lineage.is_other(session)]
            for session in dict.fromkeys(self._session_of_message[at] for at in copied):
                self._family.note_origin(session)
        elif origin := self._lineage.origin(record, self._branches.node(record.parent)):
            self._family.note_origin(origin)
            copied = [index for index, session in enumerate(self._session_of_message) if session == origin]
        elif self._fork_point and self._branches.node(self._fork_point) >= 0:
            copied, self._fork_point = range(len(messages)), ""
        elif self._is_copy and is_request(record):
            # A copied conversation ends with one new request.
            copied = range(self._copied, len(messages))
            self._copied = len(messages)
        found = [index for index in copied if not messages[index].is_inherited]
        for index in found:
            self.builder.replace_message(index, is_inherited=True)
        if found:
            thread.user = NONE

    def _follow_leaf(self, record: ClaudeCodeRecord) -> None:
        """Switch to the branch with the recorded last line: the user returned to it without typing."""
        node = self._branches.node(record.leaf)
        if node >= 0 and self._lineage.is_main(node) and self._branches.go_to_leaf(node):
            self._rewind(self._threads[0])

    def _thread(self, record: ClaudeCodeRecord, kind: RecordKind) -> ClaudeCodeThread:
        number = self._lineage.thread(record, self._branches.node(record.parent), is_quiet=kind is RecordKind.QUIET)
        thread = self._threads.get(number)
        if thread is None:
            thread = self._threads[number] = ClaudeCodeThread(self.builder, number)
        return thread

    def _add_kind(
        self, record: ClaudeCodeRecord, kind: RecordKind, blocks: list[Block], thread: ClaudeCodeThread, turn: int
    ) -> int:
        """Add a line's blocks to messages, calls and contexts; return the message index, -1 for none."""
        if kind is RecordKind.RESPONSE:
            return self._respond(record, blocks, thread, turn)
        if not blocks:
            return NONE
        if kind is RecordKind.USER:
            return self._add_user(record, blocks, thread, turn)
        if kind is RecordKind.SUMMARY:
            return self._summarize(record, blocks, thread, turn)
        if kind is RecordKind.SYNTHETIC:
            thread.user = NONE
            return self._show(record, Role.ASSISTANT, blocks, thread, is_synthetic=True)
        return self._show(record, Role.OTHER, blocks, thread)

    def _new_message(
        self, record: ClaudeCodeRecord, role: Role, blocks: list[Block], thread: ClaudeCodeThread, **flags: bool
    ) -> Message:
        return Message(
            role=role,
            blocks=tuple(blocks),
            time=record.time,
            identifier=(record.message is not None and record.message.id) or record.uuid or "",
            thread=thread.number,
            is_inherited=self._lineage.is_inherited(record),
            **flags,
        )

    def _note_message(self, record: ClaudeCodeRecord, thread: ClaudeCodeThread, turn: int, index: int) -> int:
        self._session_of_message.append(sys.intern(record.session or ""))
        self._turn_of_message.append(turn if thread.number == 0 else NONE)
        return index

    def _show(
        self, record: ClaudeCodeRecord, role: Role, blocks: list[Block], thread: ClaudeCodeThread, **flags: bool
    ) -> int:
        """Add a message that is not sent."""
        message = self._new_message(record, role, blocks, thread, **flags)
        return self._note_message(record, thread, NONE, thread.add(message, is_sent=False))

    def _add_user(self, record: ClaudeCodeRecord, blocks: list[Block], thread: ClaudeCodeThread, turn: int) -> int:
        injected = is_injected(record)
        if thread.user == NONE:
            message = self._new_message(record, Role.USER, blocks, thread, is_meta=injected)
            thread.user = self._note_message(record, thread, turn, thread.add(message))
            thread.resolve_compactions(thread.user)
            return thread.user
        self.builder.add_blocks(thread.user, blocks)
        if not injected and self.builder.messages[thread.user].is_meta:
            self.builder.replace_message(thread.user, is_meta=False)
        return thread.user

    def _respond(self, record: ClaudeCodeRecord, blocks: list[Block], thread: ClaudeCodeThread, turn: int) -> int:
        message = record.message
        identifier = (message is not None and message.id) or record.request or record.uuid or ""
        reported = usage_of(message.usage if message is not None else None)
        response = self._responses.get(identifier)
        if response is None or not self._continues(record, reported, thread, response):
            response = self._begin_response(record, identifier, thread, turn)
        self.builder.add_blocks(response.message, blocks)
        for block in blocks:
            response.characters += block.characters
            if block.kind is BlockKind.TOOL_CALL:
                self._tool_names[block.tool_call_id] = block.tool_name
        self._report_usage(record, reported, response)
        return response.message

    def _continues(
        self, record: ClaudeCodeRecord, reported: Usage | None, thread: ClaudeCodeThread, response: ClaudeCodeResponse
    ) -> bool:
        """Return True if a line continues a known response with its id.

        Gateways may repeat ids, so only the thread's last response, or one with the same request id, is continued.
        Lines of one response report the same prompt, and nothing of the user's is between them. Each has an exception
        with the same request id: tools run while a response streams, and server-side tools add to its prompt.
        """
        request = record.request or ""
        if response.request and request and response.request != request:
            return False
        is_same_prompt = are_of_one_response(response.usage, reported)
        is_next = response.message == thread.response and thread.user == NONE
        if request and response.request:
            is_same_thread = self.builder.messages[response.message].thread == thread.number
            return is_same_thread and (is_same_prompt or is_next)
        return is_same_prompt and is_next

    def _begin_response(
        self, record: ClaudeCodeRecord, identifier: str, thread: ClaudeCodeThread, turn: int
    ) -> ClaudeCodeResponse:
        message = thread.respond(
            self._new_message(record, Role.ASSISTANT, [], thread),
            model=(record.message.model if record.message is not None else "") or "",
            identifier=record.request or identifier,
            thinking=record.effort or "",
        )
        self._note_message(record, thread, turn, message)
        thread.resolve_compactions(message)
        response = ClaudeCodeResponse(message, len(self.builder.calls) - 1, record.request or "")
        self._responses[identifier] = response
        thread.response, thread.user, thread.awaits_summary = message, NONE, False
        return response

    def _report_usage(self, record: ClaudeCodeRecord, reported: Usage | None, response: ClaudeCodeResponse) -> None:
        call = self.builder.calls[response.call]
        response.usage = response.usage or reported
        usage = later(call.usage, reported)
        if usage is not None and not response.is_complete:
            usage = mark_placeholder_output(
                usage, response.characters, record.version or "", is_printed=record.is_printed
            )
        miss, terms = miss_of(record) or call.miss, parse_billing_terms(record) or call.terms
        if usage is not call.usage or miss != call.miss or terms != call.terms:
            self.builder.calls[response.call] = structs.replace(call, usage=usage, miss=miss, terms=terms)
        for number, made in enumerate(separate_requests(record, call)):
            self.builder.side_calls[f"{response.message} {number}"] = made

    def _note_totals(self, record: ClaudeCodeRecord) -> None:
        """Take totals, and the size of a response from the last event of its stream: printed lines report its start.

        A forked subagent begins with a copy of its parent's conversation up to the line it names.
        """
        self._totals.note(record)
        self._fork_point = record.fork_point or self._fork_point
        is_event = record.type == "stream_event" and b"message_" in bytes(record.event)
        event = mapping(decode_json(record.event)[0]) if is_event else {}
        conversation = record.parent_tool or ""
        if event.get("type") == "message_start":
            self._streaming[conversation] = string(mapping(event.get("message")).get("id"))
        elif event.get("type") == "message_delta":
            response = self._responses.get(self._streaming.get(conversation, ""))
            output = count(mapping(event.get("usage")).get("output_tokens"))
            if response is None or not output:
                return
            call = self.builder.calls[response.call]
            if call.usage is not None:
                usage = structs.replace(call.usage, output=output, output_is_placeholder=False)
                self.builder.calls[response.call] = structs.replace(call, usage=usage)
                response.is_complete = True

    def _summarize(self, record: ClaudeCodeRecord, blocks: list[Block], thread: ClaudeCodeThread, turn: int) -> int:
        if not thread.awaits_summary and thread.context is not None and thread.context.members:
            self._begin_compacted(thread, turn)
            thread.note_compaction(Compaction(len(self.builder.messages), time=record.time))
        message = self._new_message(record, Role.USER, blocks, thread, is_summary=True)
        index = self._note_message(record, thread, turn, thread.add(message, is_sent=False))
        context = thread.open_context()
        if thread.awaits_summary and context.retained and not thread.kept_first:
            context.members.insert(0, index)
            context.retained += 1
        else:
            context.members.append(index)
        thread.resolve_compactions(index)
        thread.user = thread.response = NONE
        thread.awaits_summary = False
        return index

    def _compact(
        self, record: ClaudeCodeRecord, thread: ClaudeCodeThread, turn: int, offset: int, line_number: int
    ) -> None:
        kept, complete = kept_messages(record.compact_metadata, self._message_of)
        kept = [
            index for index in kept if self.builder.messages[index].thread == thread.number and self._is_sent(index)
        ]
        if not complete:
            reason = "messages kept by a compaction are not in this file"
            self.builder.diagnose(reason, line_number, offset, skipped=False)
        self._begin_compacted(thread, turn, kept)
        thread.awaits_summary, thread.kept_first = True, sends_kept_first(record)
        thread.note_compaction(compaction_of(record, len(self.builder.messages), record.time))

    def _clear(self, record: ClaudeCodeRecord, thread: ClaudeCodeThread, offset: int, line_number: int) -> None:
        """Add a partial compaction, unless it cleared only attachments."""
        metadata = record.microcompact_metadata
        if metadata is not None and metadata.cleared_attachments:
            reason = "attachments cleared by a partial compaction are shown as sent"
            self.builder.diagnose(reason, line_number, offset, skipped=False)
        compaction = compaction_of(record, len(self.builder.messages), record.time)
        if compaction.is_partial:
            thread.note_compaction(compaction)

    def _begin_compacted(self, thread: ClaudeCodeThread, turn: int, kept: Sequence[int] = ()) -> None:
        context = thread.begin(ContextCause.COMPACTION, kept)
        if thread.number == 0:
            self._compacted.append((context, turn))

    def _message_of(self, uuid: str) -> int | None:
        node = self._branches.node(uuid)
        return None if node < 0 else self._message_of_node[node]

    def _is_sent(self, message: int) -> bool:
        known = self.builder.messages[message]
        return known.role in (Role.USER, Role.ASSISTANT) and not (known.is_synthetic or known.is_abandoned)

    def _rewind(self, thread: ClaudeCodeThread) -> None:
        """Update the abandoned messages and begin a context with the remaining ones."""
        abandoned = self._branches.abandoned
        turns = self._turn_of_message
        for index, message in enumerate(self.builder.messages):
            if turns[index] != NONE and message.is_abandoned != (turns[index] in abandoned):
                self.builder.replace_message(index, is_abandoned=not message.is_abandoned)
        before: list[int] = []
        for context, turn in reversed(self._compacted):
            if turn not in abandoned:
                before = context.members
                break
        following = range(max(before, default=NONE) + 1, len(turns))
        members = [index for index in (*before, *following) if turns[index] != NONE and turns[index] not in abandoned]
        thread.begin(ContextCause.REWIND, members)


def _identity(record: ClaudeCodeRecord) -> int:
    """Return a number that lines with the same uuid share only if they are the same line."""
    return hash((record.type, record.timestamp, record.message.id if record.message is not None else None))


def _read_run(path: Path) -> Session:
    reader = JsonlReader(path, "claude-code", ClaudeCodeInterpreter(path))
    for _ in reader.load():
        pass
    return reader.snapshot()
