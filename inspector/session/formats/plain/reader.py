"""Reading plain conversations, from files and from memory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from inspector.session.blocks import TextBlock
from inspector.session.builder import SessionBuilder
from inspector.session.call_matching import CallMatcher
from inspector.session.errors import SessionError
from inspector.session.formats.chat import (
    COMPACTION,
    SYSTEM,
    TOOLS,
    Names,
    blocks_beside,
    blocks_of_entry,
    is_summary_part,
    role_of,
    usage_of,
    value_of,
)
from inspector.session.formats.plain.records import Form, form_of, is_message, is_request, requests_of
from inspector.session.formats.streamed_answers import answer_of
from inspector.session.json.lines import line_bounds
from inspector.session.json.nodes import FileNode, MemoryNode
from inspector.session.json.values import mapping, objects, seconds_of_any, sequence
from inspector.session.json_reader import JsonReader
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.model import BlockKind, Call, Compaction, ContextCause, Message, Role
from inspector.session.sniff import Sample
from inspector.session.texts import MemoryTexts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from inspector.session.builder import OpenContext
    from inspector.session.formats.plain.records import Request
    from inspector.session.json.nodes import Node
    from inspector.session.model import Origin, Session
    from inspector.session.reader import Reader
    from inspector.session.texts import BlocksOfRecord

    Keep = Callable[[Sequence[TextBlock], Node], None]


class Compacted(NamedTuple):
    """A message with such a block, taken apart.

    Attributes:
        before: What stands before it, and is sent no more.
        summary: The block.
        after: What stands behind it.
    """

    before: list[TextBlock]
    summary: list[TextBlock]
    after: list[TextBlock]


def taken_apart(message: Mapping[str, Any], blocks: Sequence[TextBlock]) -> Compacted | None:
    """A message's blocks before and behind the last summary in it; None where there is none."""
    content = sequence(message.get("content"))
    place = next((place for place in reversed(range(len(content))) if is_summary_part(content[place])), None)
    if place is None or message.get("role") != "assistant":
        return None
    made = Compacted([], [], [])
    for one in blocks:
        origin = one.block.origin
        if origin.locator == "reasoning" or (not origin.locator and origin.part < place):
            made.before.append(one)
        elif not origin.locator and origin.part == place:
            made.summary.append(one)
        else:
            made.after.append(one)
    return made


def usage_of_summary(usage: Any) -> Any:
    """What was reported for the request that wrote the summary; None where it was not."""
    iterations = objects(mapping(usage).get("iterations"))
    return next((one for one in iterations if one.get("type") == COMPACTION), None)


Digests = tuple[bytes, ...]

DIGEST_BYTES = 16

KEPT_CHARACTERS = 400
"""So much of a message's texts is kept, for those who compare what is said again."""

COUNTER = "x-anthropic-billing-header:"
"""How a system text begins that Claude Code writes anew for every request; the API does not count it."""


@dataclass
class PlainThread:
    """One conversation of a file. A log or a list of runs holds several.

    Attributes:
        number: As in `Message.thread`.
        context: The context that grows.
        digests: What identifies each of its members.
        names: Names of tools by call id.
        pairing: Joins results to calls.
    """

    number: int
    context: OpenContext
    digests: list[Digests] = field(default_factory=list)
    names: Names = field(default_factory=dict)
    pairing: CallMatcher = field(default_factory=lambda: CallMatcher(are_ids_left_out=True))


@dataclass
class PlainMessage:
    """A message about to be added: its blocks, and what is beside them in the record.

    A summary that the API wrote is an entry of its own, and so is what stands before or behind it in the same message.
    """

    node: Node
    role: Role
    blocks: list[TextBlock]
    about: dict[str, Any]
    is_summary: bool = False

    @cached_property
    def digests(self) -> Digests:
        """What identifies the entry: the same in every request that repeats it."""
        return tuple(
            made.block.digest + bytes([made.block.kind])
            for made in self.blocks
            if not made.block.preview.startswith(COUNTER)
        )


def is_same(before: Digests, entry: PlainMessage) -> bool:
    """Whether an entry is what stood in its place before; an answer is so too where its reasoning is not sent again."""
    if before == entry.digests:
        return True
    return entry.role is Role.ASSISTANT and _spoken(before) == _spoken(entry.digests) != ()


def _opening(entries: Sequence[PlainMessage]) -> Digests:
    """What identifies the first of what is said."""
    return next((entry.digests for entry in entries if entry.role not in (Role.SYSTEM, Role.OTHER)), ())


def _shortened(blocks: Sequence[TextBlock]) -> list[TextBlock]:
    return [TextBlock(block, text[:KEPT_CHARACTERS]) for block, text in blocks]


def _spoken(digests: Digests) -> Digests:
    return tuple(digest for digest in digests if digest[-1] != BlockKind.THINKING)


class PlainSession:
    """Takes messages or requests in order and fills a builder.

    Attributes:
        counts_entries: Messages are the file's records, and counted by role.
    """

    counts_entries = True

    def __init__(self, builder: SessionBuilder, keep: Keep | None = None) -> None:
        """Begin.

        Args:
            builder: What to fill.
            keep: Called with the blocks of every entry, where texts cannot be read again.
        """
        self._builder = builder
        self._keep = keep
        self._threads: list[PlainThread] = []
        self._known: dict[bytes, list[PlainMessage]] = {}
        self._threads_of_opening: dict[Digests, list[PlainThread]] = {}

    def add_message(self, node: Node) -> None:
        """Add a message of the one conversation a file of messages is."""
        thread = self._threads[0] if self._threads else self._new_thread()
        for entry in self._entries(node, {}, thread.names):
            self._append(thread, entry, is_call=entry.role is Role.ASSISTANT)

    def add_request(self, request: Request) -> None:
        """Add a request of a log: to the conversation it continues, else as a new one.

        Logs repeat the whole conversation in every request. What a request has in common with the last one of its
        conversation is not added again; where it differs before its end, a new context begins.
        """
        names: Names = {}
        entries = self._beside(request)
        entries += [entry for node in request.messages for entry in self._repeated(node, names)]
        thread, common, entries = self._found(entries)
        opening = _opening(entries)
        is_continued = thread is not None
        if thread is None and (thread := self._compacted(entries)) is not None:
            is_continued, common = True, 0
            self._begin_compacted(thread, entries)
            self._threads_of_opening.setdefault(opening, []).append(thread)
        elif thread is None:
            thread, common = self._new_thread(request), 0
            self._threads_of_opening.setdefault(opening, []).append(thread)
        known = self._begin_again(thread, common) if is_continued and common < len(thread.digests) else {}
        thread.names |= names
        for entry in entries[common:]:
            if places := known.get(entry.digests):
                self._keep_member(thread, places.pop(0), entry)
                continue
            # A request that changed its own history repeats answers that were given before.
            is_call = entry.role is Role.ASSISTANT and not is_continued
            self._append(thread, entry, is_call=is_call, is_repeated=entry.role is Role.ASSISTANT and not is_call)
        if request.response is not None:
            about = {**request.about, **request.reply}
            for answer in self._entries(request.response, about, thread.names):
                self._append(thread, answer, is_call=True)
        elif "usage" in request.about or "model" in request.about:
            self._tell_last_call(thread, request.about)

    def _found(self, entries: list[PlainMessage]) -> tuple[PlainThread | None, int, list[PlainMessage]]:
        """The conversation that a request continues, how much of it is known, and what it sends that counts.

        What stands before a summary is not sent; where the summary is not known yet, what came before it may be.
        """
        beside = next((place for place, entry in enumerate(entries) if entry.role is not Role.SYSTEM), 0)
        summaries = [place for place, entry in enumerate(entries) if entry.is_summary]
        for first in reversed(summaries):
            sent = entries[:beside] + entries[first:]
            thread, common = self._continued(_opening(sent), sent)
            if thread is not None:
                return thread, common, sent
        return *self._continued(_opening(entries), entries), entries

    def _continued(self, opening: Digests, entries: list[PlainMessage]) -> tuple[PlainThread | None, int]:
        best, most = None, -1
        for thread in self._threads_of_opening.get(opening, ()):
            common = 0
            for before, entry in zip(thread.digests, entries, strict=False):
                if not is_same(before, entry):
                    break
                common += 1
            if common >= most:
                best, most = thread, common
        return best, most

    def _begin_behind(self, thread: PlainThread, summary: PlainMessage) -> None:
        """Begin the context of a summary that the API wrote: tools and system text stay before it."""
        members = thread.context.members
        kept = [place for place, index in enumerate(members) if self._builder.messages[index].role is Role.SYSTEM]
        thread.context = self._builder.add_context(thread.number, ContextCause.COMPACTION)
        thread.context.members.extend(members[place] for place in kept)
        thread.context.carried = len(kept)
        thread.digests = [thread.digests[place] for place in kept]
        self._threads_of_opening.setdefault(summary.digests, []).append(thread)
        before = usage_of(summary.about.get("usage"))
        first = len(self._builder.messages) - 1
        self._builder.compactions.append(Compaction(first, "auto", before.prompt if before else None))

    def _begin_again(self, thread: PlainThread, common: int) -> dict[Digests, list[int]]:
        """Begin a context with what a request has in common with the last; where else its entries stand already."""
        members = thread.context.members
        known: dict[Digests, list[int]] = {}
        for digests, index in zip(thread.digests[common:], members[common:], strict=True):
            known.setdefault(digests, []).append(index)
        thread.context = self._builder.add_context(thread.number, ContextCause.REWIND)
        thread.context.members.extend(members[:common])
        thread.context.carried = common
        del thread.digests[common:]
        return known

    def _keep_member(self, thread: PlainThread, index: int, entry: PlainMessage) -> None:
        """Take a message into the context that stood elsewhere in the one before."""
        thread.context.members.append(index)
        thread.context.carried = len(thread.context.members)
        thread.digests.append(entry.digests)

    def _compacted(self, entries: list[PlainMessage]) -> PlainThread | None:  # noqa: ARG002  # for those who can tell
        """The conversation that a request goes on with, where it sends a summary of it alone."""
        return None

    def _begin_compacted(self, thread: PlainThread, entries: list[PlainMessage]) -> None:
        """Begin the context that a compaction leaves."""
        thread.context = self._builder.add_context(thread.number, ContextCause.COMPACTION)
        thread.digests.clear()
        first = len(self._builder.messages)
        time = next(
            (seconds_of_any(entry.about[name]) for entry in entries for name in TIMES if name in entry.about), None
        )
        self._builder.compactions.append(Compaction(first, "auto", time=time))

    def _new_thread(self, request: Request | None = None) -> PlainThread:  # noqa: ARG002  # for those who number them otherwise
        return self._thread_of(len(self._threads))

    def _thread_of(self, number: int) -> PlainThread:
        thread = PlainThread(number, self._builder.add_context(number, ContextCause.START))
        self._threads.append(thread)
        return thread

    def _beside(self, request: Request) -> list[PlainMessage]:
        """Tools and system text as a message before the others: the order in which the API reads them."""
        blocks: list[TextBlock] = []
        first = None
        for node, locator in ((request.tools, TOOLS), (request.system, SYSTEM)):
            value = node.value() if node is not None else None
            if node is not None and value:
                made = blocks_beside(value, node.raw(), node.offset, node.length, locator)
                if self._keep is not None:
                    self._keep(made, node)
                blocks += made
                first = first or node
        return [PlainMessage(first, Role.SYSTEM, blocks, {})] if first is not None else []

    def _repeated(self, node: Node, names: Names) -> list[PlainMessage]:
        """A message of a request: logs repeat each in every later request, and it is not read again there."""
        if self._keep is not None:
            return self._entries(node, {}, names)
        key = blake2b(node.raw(), digest_size=DIGEST_BYTES).digest()
        known = self._known.get(key)
        if known is None:
            known = self._entries(node, {}, names)
            if known:
                self._known[key] = [replace(one, blocks=_shortened(one.blocks)) for one in known]
            return known
        if self.counts_entries:
            self._builder.record_counts[known[0].role.value] += 1
        made = (block for one in known for block, _ in one.blocks)
        names |= {block.tool_call_id: block.tool_name for block in made if block.kind is BlockKind.TOOL_CALL}
        return known

    def _entries(self, node: Node, about: dict[str, Any], names: Names) -> list[PlainMessage]:
        """What a message adds; nothing where it is none."""
        value = node.value()
        if not isinstance(value, dict):
            self._builder.diagnose("not a chat message", 0, max(node.offset, 0), skipped=True)
            return []
        role = role_of(value)
        if self.counts_entries:
            self._builder.record_counts[role.value] += 1
        blocks = blocks_of_entry(value, node.offset, node.length, names)
        for made in blocks:
            if made.block.kind is BlockKind.TOOL_CALL:
                names[made.block.tool_call_id] = made.block.tool_name
        about = {**about, **{name: value[name] for name in ABOUT if value.get(name) is not None}}
        if self._keep is not None:
            self._keep(blocks, node)
        # Who gives a list in memory gets it back message by message.
        apart = taken_apart(value, blocks) if self._keep is None else None
        if apart is None:
            return [PlainMessage(node, role, blocks, about)]
        written = usage_of_summary(about.get("usage"))
        if written is None and not apart.after:
            written = about.get("usage")
        entries = [PlainMessage(node, role, apart.before, {**about, "usage": None})] if apart.before else []
        entries.append(PlainMessage(node, role, apart.summary, {**about, "usage": written}, is_summary=True))
        return entries + ([PlainMessage(node, role, apart.after, about)] if apart.after else [])

    def _append(self, thread: PlainThread, entry: PlainMessage, *, is_call: bool, is_repeated: bool = False) -> None:
        time = next((seconds_of_any(entry.about[name]) for name in TIMES if name in entry.about), None)
        identifier = entry.about.get("id")
        blocks = tuple(made.block for made in entry.blocks)
        # Who gives a list in memory asks for what is done with the very ids in it.
        index = self._builder.add_message(
            Message(
                role=entry.role,
                blocks=blocks if self._keep is not None else thread.pairing.paired(entry.role, blocks),
                time=time,
                identifier=identifier if isinstance(identifier, str) else "",
                thread=thread.number,
                is_summary=entry.is_summary,
                is_inherited=is_repeated,
            )
        )
        if entry.role is Role.OTHER:
            return
        if is_call:
            model = entry.about.get("model")
            self._builder.calls.append(
                Call(
                    response=index,
                    context=thread.context.index,
                    prompt_messages=len(thread.context.members),
                    model=model if isinstance(model, str) else "",
                    time=time,
                    usage=usage_of(entry.about.get("usage")),
                    identifier=identifier if isinstance(identifier, str) else "",
                )
            )
        if entry.is_summary:
            self._begin_behind(thread, entry)
        thread.context.members.append(index)
        thread.digests.append(entry.digests)

    def _tell_last_call(self, thread: PlainThread, about: dict[str, Any]) -> None:
        """A conversation recorded with its last answer inside: what stands beside it speaks of that call."""
        calls = self._builder.calls
        if not calls or calls[-1].context != thread.context.index:
            return
        model = about.get("model")
        if isinstance(model, str):
            for index, call in enumerate(calls):
                if not call.model and self._builder.contexts[call.context].thread == thread.number:
                    calls[index] = structs.replace(call, model=model)
        if calls[-1].usage is None:
            calls[-1] = structs.replace(calls[-1], usage=usage_of(about.get("usage")))


TIMES = ("timestamp", "created", "created_at", "time")
ABOUT = (*TIMES, "model", "usage", "id")


NAMES = {Form.ANTHROPIC: "anthropic-messages", Form.OPENAI: "openai-chat"}


def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
    """The blocks of an entry that is read again."""
    value = value_of(record)
    if origin.locator in (SYSTEM, TOOLS):
        return blocks_beside(value, record, origin.offset, origin.length, origin.locator)
    if isinstance(value, str):
        value = answer_of(value)
    return blocks_of_entry(value, origin.offset, origin.length, {}) if isinstance(value, dict) else []


class PlainInterpreter:
    """Makes a session out of lines that are messages, requests or whole conversations."""

    def __init__(self) -> None:
        self.builder = SessionBuilder()
        self.blocks_of_record: BlocksOfRecord = blocks_of_record
        self._conversation = PlainSession(self.builder)

    def take(self, data: bytes, offset: int, first_line: int) -> None:
        """Take whole lines."""
        for start, end, number in line_bounds(data):
            node = FileNode(data[start:end], offset + start)
            value = node.value()
            if is_message(value):
                self._conversation.add_message(node)
            elif is_request(value):
                for request in requests_of(node):
                    self._conversation.add_request(request)
            elif isinstance(value, dict):
                self.builder.record_counts["other"] += 1
            else:
                reason = "invalid JSON" if value is None else "not a JSON object"
                self.builder.diagnose(reason, first_line + number, offset + start, skipped=True)


def plain_reader(path: Path, name: str) -> Reader:
    """A reader for a file of plain conversations."""
    if Sample(path).is_lines:
        return JsonlReader(path, name, PlainInterpreter())
    return JsonReader(path, name, _interpret, blocks_of_record)


def _interpret(node: Node, builder: SessionBuilder) -> None:
    conversation = PlainSession(builder)
    for request in requests_of(node):
        conversation.add_request(request)


def read_conversation(messages: Sequence[dict[str, Any]] | dict[str, Any], form: str | None = None) -> Session:
    """A session made of a message list in memory. Texts are kept.

    Every assistant message is a call. `block.origin.offset` is the index of the entry in the list, `block.origin.part`
    that of the part in its content, or of the call in its `tool_calls`; what stands beside the list has offset -1.

    Args:
        messages: A message list, or a request with `messages` and perhaps `system`, `tools` and `model`.
        form: `anthropic` or `openai`; told from the content where not given.

    Raises:
        SessionError: It is neither.
    """
    value: Any = messages if isinstance(messages, dict) else list(messages)
    if value and not is_request(value):
        raise SessionError(
            "the messages: neither an Anthropic nor an OpenAI message list. Give dicts with role and content."
        )
    texts = MemoryTexts()
    builder = SessionBuilder()
    conversation = PlainSession(builder, lambda blocks, node: texts.keep(blocks, node.raw()))
    for request in requests_of(MemoryNode(value)):
        conversation.add_request(request)
    name = NAMES[Form(form) if form is not None else form_of([value])]
    return builder.snapshot(name, Path(), texts, ())
