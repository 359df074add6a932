"""Read an Antigravity conversation: one database with a row per step and a row per request.

A tool's step holds the call it executed and its result. Steps change while they run, and a rewind deletes them. A fork
begins with copies of the original's steps.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import structs

from inspector.session.blocks import TextBlock, argument_text, text_block
from inspector.session.builder import SessionBuilder, Thread
from inspector.session.formats.antigravity.protobuf import ProtobufError
from inspector.session.formats.antigravity.records import (
    CHECKPOINT,
    FAILED,
    HISTORY,
    RESPONSE,
    RUNNING,
    STEP_NAMES,
    SYSTEM_MESSAGE,
    USER_INPUT,
    Fork,
    Generation,
    Trajectory,
    fork_of,
    generation_of,
    step_record,
    trajectory_of,
)
from inspector.session.json.codec import clean_text, compact_json
from inspector.session.json.lines import object_of
from inspector.session.json.values import mapping, objects, sequence, string
from inspector.session.media import media_of_all
from inspector.session.model import (
    NO_MESSAGE,
    BlockKind,
    Compaction,
    ContextCause,
    LinkKind,
    Message,
    Origin,
    Role,
    SessionLink,
    SideCall,
    Usage,
)
from inspector.session.sqlite import Selector
from inspector.session.sqlite_reader import RowInterpreter, RowsGoneError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from inspector.session.sqlite import Columns

STEP = "step "
"""Prefix of row names."""

STEP_COLUMNS = ("idx", "step_type", "status", "metadata", "error_details", "step_payload")

CLI_SOURCE = 17
"""`trajectory_meta.source` of the command-line program."""

SUMMARY = "summary"
"""Purpose of requests for a summary of the conversation."""

Record = dict[str, Any]


def blocks_of_step(step: Mapping[str, Any], origin: Origin) -> list[TextBlock]:
    """Return the blocks of a step's record."""
    kind, text = step.get("type", 0), string(step.get("text"))
    if kind == RESPONSE:
        return list(_of_response(step, text, origin))
    if call := mapping(step.get("call")):
        return [_of_result(step, call, origin)]
    if kind == USER_INPUT:
        return _of_user(step, text, origin)
    if kind == SYSTEM_MESSAGE or (kind in (CHECKPOINT, HISTORY) and text):
        return [text_block(BlockKind.USER_TEXT, text, origin)]
    name = STEP_NAMES.get(kind, f"step of type {kind}")
    rest = text or string(step.get("error")) or string(step.get("title"))
    return [text_block(BlockKind.OTHER, f"{name}: {rest}" if rest else name, origin)]


def _of_response(step: Mapping[str, Any], text: str, origin: Origin) -> Iterable[TextBlock]:
    thinking, signature = string(step.get("thinking")), step.get("signature", 0)
    if thinking or signature:
        yield text_block(BlockKind.THINKING, thinking, origin, signature_characters=signature)
    if text:
        yield text_block(BlockKind.ASSISTANT_TEXT, text, origin.at(1))
    for index, call in enumerate(objects(step.get("calls"))):
        yield text_block(
            BlockKind.TOOL_CALL,
            argument_text(string(call.get("arguments"))),
            origin.at(2 + index),
            tool_call_id=string(call.get("id")),
            tool_name=string(call.get("name")),
        )


def _of_result(step: Mapping[str, Any], call: Mapping[str, Any], origin: Origin) -> TextBlock:
    error = string(step.get("error"))
    return text_block(
        BlockKind.TOOL_RESULT,
        string(step.get("result")) or error,
        origin,
        tool_call_id=string(call.get("id")),
        tool_name=string(call.get("name")),
        is_error=step.get("status") == FAILED or bool(error) or bool(step.get("exit_code")),
    )


def _of_user(step: Mapping[str, Any], text: str, origin: Origin) -> list[TextBlock]:
    blocks = [text_block(BlockKind.USER_TEXT, text, origin)]
    for index, item in enumerate(objects(step.get("media"))):
        media, data = media_of_all([(string(item.get("type")), string(item.get("data")))])
        kind = BlockKind.DOCUMENT if media[0].media_type == "application/pdf" else BlockKind.IMAGE
        blocks.append(text_block(kind, "", origin.at(1 + index), media=media, media_data=data))
    return blocks


class AntigravityRows(RowInterpreter):
    """Interpreter for the rows of one conversation."""

    known_tables = frozenset(
        {
            *("steps", "gen_metadata", "trajectory_meta", "trajectory_metadata_blob", "parent_references"),
            "executor_metadata",
        }
    )
    owner_columns = None

    def __init__(self, program: str) -> None:
        """Initialize with the program's name, used if the database does not contain it."""
        super().__init__()
        self._program = program
        self._steps: list[Record] = []
        self._generations: list[Generation] = []
        self._about = Trajectory()
        self._forks: list[Fork] = []
        self._identifier = ""
        self._broken: list[tuple[str, int]] = []
        self._known: dict[tuple[str, int], tuple[int, Any]] = {}
        self._columns: Columns = {}

    def read(self, connection: sqlite3.Connection) -> None:
        """Read the current rows, decoding only the changed ones.

        Raises:
            RowsGoneError: There is no table of steps.
        """
        self._columns.clear()
        self._broken.clear()
        selector = Selector(connection, self._columns)
        before, self._known = self._known, {}
        decode = partial(self._decoded, before)
        names, steps = selector.select("steps", STEP_COLUMNS, "ORDER BY idx")
        if not names:
            raise RowsGoneError("no table of steps")
        self._steps = decode("step", steps, lambda _, row: step_record(dict(zip(names, row, strict=True))))
        _, rows = selector.select("gen_metadata", ("idx", "data"), "ORDER BY idx")
        self._generations = decode("request", rows, lambda number, row: generation_of(number, _blob(row[1])))
        _, rows = selector.select("trajectory_metadata_blob", ("data",), "")
        self._about = next(iter(decode("metadata", rows, lambda _, row: trajectory_of(_blob(row[0])))), Trajectory())
        _, rows = selector.select("parent_references", ("data",), "ORDER BY rowid")
        references = decode("reference", rows, lambda _, row: fork_of(_blob(row[0])))
        self._forks = [fork for fork in references if fork is not None]
        meta = selector.rows("trajectory_meta", ("cascade_id", "source"), "LIMIT 1")
        about = meta[0] if meta else {}
        self._identifier = clean_text(string(about.get("cascade_id")))
        if about.get("source") == CLI_SOURCE:
            self._program = "Antigravity CLI"

    def _decoded(
        self,
        before: Mapping[tuple[str, int], tuple[int, Any]],
        kind: str,
        rows: Sequence[tuple[Any, ...]],
        make: Callable[[int, tuple[Any, ...]], Any],
    ) -> list[Any]:
        found = []
        for place, row in enumerate(rows):
            number = row[0] if isinstance(row[0], int) else place
            fingerprint = hash(row)
            known = before.get((kind, number))
            try:
                made = known[1] if known is not None and known[0] == fingerprint else make(number, row)
            except ProtobufError:
                self._broken.append((kind, number))
                continue
            self._known[kind, number] = (fingerprint, made)
            found.append(made)
        return found

    def settle(self) -> None:
        builder = self.builder = SessionBuilder()
        builder.agent = self._program
        builder.identifier, builder.working_directory = self._identifier, self._about.folder
        for kind, number in self._broken:
            builder.diagnose(f"not a readable {kind}", 0, number, skipped=True)
        if self._about.parent:
            builder.link(SessionLink(LinkKind.PARENT, self._about.parent))
        builder.record_counts["request"] = len(self._generations)
        names = (STEP_NAMES.get(step.get("type", 0), f"step of type {step.get('type', 0)}") for step in self._steps)
        builder.record_counts |= Counter(names)
        forks = [fork for fork in self._forks if fork.conversation != self._identifier]
        copied = forks[-1].last_step if forks else -1
        for fork in forks[-1:]:
            builder.link(SessionLink(LinkKind.CONTINUED, fork.conversation))
        ConversationSteps(builder, self._steps, self._generations, copied).add_all()

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
        step, _ = object_of(record)
        return [] if step is None else blocks_of_step(step, Origin(0, 0, 0, 0, origin.locator))

    def fetch(self, connection: sqlite3.Connection, name: str) -> bytes | None:
        selector = Selector(connection, self._columns)
        names, rows = selector.select("steps", STEP_COLUMNS, "WHERE idx = ?", name.removeprefix(STEP))
        if not rows:
            return None
        try:
            return compact_json(step_record(dict(zip(names, rows[0], strict=True)))).encode(errors="replace")
        except ProtobufError:
            return None


class ConversationSteps:
    """Adds the steps of a conversation to a builder."""

    def __init__(
        self, builder: SessionBuilder, steps: Sequence[Record], generations: Sequence[Generation], copied: int
    ) -> None:
        """Prepare the steps.

        Args:
            builder: Receives the conversation.
            steps: All steps, in order.
            generations: All requests, in order.
            copied: Number of the last step copied from another conversation, -1 for none.
        """
        self._builder = builder
        self._steps = steps
        self._thread = Thread(builder)
        self._copied = copied
        self._requests = match_requests(steps, generations)
        self._generations = generations
        self._names = {each.model_code: each.model for each in generations if each.model_code and each.model}
        self._number_of: dict[int, int] = {}
        self._summaries: dict[int, int] = {}
        self._covered: frozenset[int] = frozenset()
        self._unknown_results = 0

    def add_all(self) -> None:
        for step in self._steps:
            self._add(step)
        self._add_side_requests()
        if self._unknown_results:
            reason = f"{self._unknown_results:,} tool results have no known text"
            self._builder.diagnose(reason, 0, 0, skipped=False)

    def _add(self, step: Record) -> None:
        kind, number = step.get("type", 0), step.get("number", 0)
        is_tool, is_running = "call" in step, step.get("status") in RUNNING
        if is_tool and is_running:
            self._link(step)
            return
        blocks = [made.block for made in blocks_of_step(step, Origin(0, 0, 0, 0, f"{STEP}{number}"))]
        message = Message(
            role=_role(kind, is_tool=is_tool),
            blocks=tuple(blocks),
            time=step.get("time"),
            is_meta=kind in (SYSTEM_MESSAGE, HISTORY) or bool(step.get("is_implicit")),
            is_inherited=number <= self._copied,
        )
        if kind == RESPONSE:
            self._respond(step, message, is_running=is_running)
        elif kind == CHECKPOINT:
            self._builder.title = string(step.get("title")) or self._builder.title
            is_summary = bool(step.get("text"))
            index = self._thread.add(structs.replace(message, is_summary=is_summary), is_sent=False)
            if is_summary:
                self._summaries[step.get("checkpoint", 0)] = index
        else:
            self._link(step)
            self._unknown_results += is_tool and not blocks[0].characters
            index = self._thread.add(message, is_sent=message.role is not Role.OTHER)
            self._number_of[index] = number

    def _respond(self, step: Record, message: Message, *, is_running: bool) -> None:
        number = step.get("number", 0)
        request = self._requests.get(number)
        if request is not None:
            self._compact(request, message)
        if not message.blocks and (is_running or request is None):
            return  # the model has not answered
        if is_running:
            index = self._thread.add(message)
        else:
            usage = request.usage if request is not None else None
            index = self._thread.respond(
                message,
                model=self._model(step, request),
                usage=usage or _own_usage(step),
                identifier=request.identifier if request is not None else string(step.get("response_id")),
                terms=request.terms if request is not None else "",
            )
        self._number_of[index] = number

    def _model(self, step: Record, request: Generation | None) -> str:
        named = request.model if request is not None else ""
        return named or self._names.get(step.get("model_code", 0), "")

    def _compact(self, request: Generation, message: Message) -> None:
        """Begin the context of a request with a checkpoint in place of earlier steps."""
        summary = self._summaries.get(request.checkpoint)
        if summary is None or not request.covered or request.covered == self._covered:
            return
        self._covered = request.covered
        kept = [at for at in self._thread.members if self._number_of.get(at, -1) not in request.covered]
        kept = [at for at in kept if not self._builder.messages[at].is_summary]
        self._thread.begin(ContextCause.COMPACTION, [summary, *kept], 1 + len(kept))
        # A checkpoint is prepared in the background, so calls recorded before this one may come after it.
        last = len(self._builder.messages)
        first = summary if summary + 1 == last else last
        self._builder.compactions.append(Compaction(first, trigger="auto", time=message.time))

    def _link(self, step: Record) -> None:
        call = string(mapping(step.get("call")).get("id"))
        for identifier in map(string, sequence(step.get("subagents"))):
            self._builder.link(SessionLink(LinkKind.SUBAGENT, identifier, tool_call_id=call))

    def _add_side_requests(self) -> None:
        """Add requests whose responses are not in the conversation."""
        used = {id(request) for request in self._requests.values()}
        kinds = {step.get("number", 0): step.get("type", 0) for step in self._steps}
        seen = {request.identifier for request in self._generations} - {""}
        side_calls = self._builder.side_calls
        for request in self._generations:
            if id(request) not in used and request.usage is not None:
                is_summary = any(kinds.get(step) == CHECKPOINT for step in request.steps)
                purpose = SUMMARY if is_summary else NO_MESSAGE
                side_calls[f"request {request.number}"] = SideCall(
                    purpose, request.model, request.time, request.usage, request.identifier, request.terms
                )
        for step in self._steps:
            identifier, usage = string(step.get("response_id")), _own_usage(step)
            if step.get("type") == RESPONSE or usage is None or not identifier or identifier in seen:
                continue
            seen.add(identifier)
            purpose = SUMMARY if step.get("type") == CHECKPOINT else NO_MESSAGE
            model = self._names.get(step.get("model_code", 0), "")
            side_calls[f"step {step.get('number', 0)}"] = SideCall(purpose, model, step.get("time"), usage, identifier)


def _role(kind: int, *, is_tool: bool) -> Role:
    if is_tool:
        return Role.TOOL
    if kind in (USER_INPUT, SYSTEM_MESSAGE, HISTORY, CHECKPOINT):
        return Role.USER
    return Role.ASSISTANT if kind == RESPONSE else Role.OTHER


def _own_usage(step: Record) -> Usage | None:
    reported = mapping(step.get("usage"))
    return Usage(**reported) if reported else None


def match_requests(steps: Sequence[Record], generations: Sequence[Generation]) -> dict[int, Generation]:
    """Return the request of each response, by the response's step number.

    A request names its steps. Where it does not, the response's id is used, then the time: a response belongs to the
    last request before it.
    """
    responses = {step.get("number", 0): step for step in steps if step.get("type") == RESPONSE}
    found: dict[int, Generation] = {}
    rest: list[Generation] = []
    by_id = {string(step.get("response_id")): number for number, step in responses.items()}
    for request in generations:
        named = [step for step in request.steps if step in responses and step not in found]
        named = named or [by_id[request.identifier]] if request.identifier in by_id else named
        if named and named[0] not in found:
            found[named[0]] = request
        elif not request.steps:
            rest.append(request)
    place = 0
    for number, step in responses.items():
        if number in found:
            continue
        ends = [time for name in ("time", "completed") if (time := step.get(name)) is not None]
        last = place
        while last < len(rest) and (not ends or (rest[last].time or 0.0) <= max(ends)):
            last += 1
            if not ends:
                break
        if last > place:
            found[number] = rest[last - 1]
            place = last
    return found


def _blob(value: object) -> bytes:
    return value if isinstance(value, bytes) else b""
