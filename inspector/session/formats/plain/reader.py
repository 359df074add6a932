"""Reading plain conversations, from files and from memory: messages, or requests that repeat the whole conversation.

What a request has in common with the last one of its conversation is not added again; where it differs before its end,
a new context begins.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from inspector.session.billing_terms import SERVICE_TIER, terms_of
from inspector.session.blocks import TextBlock
from inspector.session.builder import SessionBuilder, Thread
from inspector.session.call_matching import CallMatcher, ToolNames
from inspector.session.errors import SessionError
from inspector.session.formats.cache_control import (
    PlacedMark,
    lifetime_of,
    marks_of_definition,
    marks_of_message,
    marks_of_prompt,
)
from inspector.session.formats.chat import (
    COMPACTION,
    SYSTEM,
    TOOLS,
    blocks_of_definition,
    blocks_of_message,
    is_summary_part,
    miss_of,
    role_of,
    usage_of,
)
from inspector.session.formats.plain.records import (
    MessageForm,
    betas_asked,
    form_of,
    is_message,
    is_request,
    requests_of,
    thinking_asked,
)
from inspector.session.formats.streamed_answers import answer_of
from inspector.session.json.codec import lenient_json
from inspector.session.json.lines import ValueDecoder
from inspector.session.json.nodes import FileNode, MemoryNode
from inspector.session.json.values import mapping, objects, seconds_of_any, sequence, string
from inspector.session.json_reader import JsonReader
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.model import BlockKind, Compaction, ContextCause, Message, Origin, RecordedMark, Role, Session
from inspector.session.reader import Record, RecordInterpreter
from inspector.session.sniff import Sample
from inspector.session.texts import MemoryTexts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from inspector.session.formats.plain.records import PlainConversation
    from inspector.session.json.nodes import Node
    from inspector.session.reader import Reader

    Keep = Callable[[Sequence[TextBlock], Node], None]

Digests = tuple[bytes, ...]

DIGEST_BYTES = 16

KEPT_CHARACTERS = 400
"""So much of a message's texts is kept, for those who compare what is said again."""

COUNTER = "x-anthropic-billing-header:"
"""How a system text begins that Claude Code writes anew for every request; the API does not count it."""

TIMES = ("timestamp", "created", "created_at", "time")
ABOUT = (*TIMES, "model", "usage", "id", "diagnostics", SERVICE_TIER)
"""Fields of a message, or of what stands around it, that say something of the call."""


class RequestThread(Thread):
    """One conversation of a file. A log or a list of runs holds several.

    Attributes:
        digests: What identifies each member of the context that grows.
        tool_names: Names of tools by call id.
        calls: Joins results to calls.
    """

    def __init__(self, builder: SessionBuilder, number: int) -> None:
        """Begin a conversation with the given thread number, and its first context."""
        super().__init__(builder, number)
        self.digests: list[Digests] = []
        self.tool_names = ToolNames()
        self.calls = CallMatcher(are_ids_left_out=True)
        self.begin(ContextCause.START)


@dataclass
class PlainMessage:
    """A message about to be added: its blocks, and what is beside them in the record.

    A summary that the API wrote is a message of its own, and so is what stands before or behind it in the same record.
    `marks` are where the record asks for cache entries.
    """

    node: Node
    role: Role
    blocks: list[TextBlock]
    about: dict[str, Any]
    is_summary: bool = False
    marks: tuple[PlacedMark, ...] = ()

    @cached_property
    def digests(self) -> Digests:
        """What identifies the message: the same in every request that repeats it."""
        return tuple(
            made.block.digest + bytes([made.block.kind])
            for made in self.blocks
            if not made.block.preview.startswith(COUNTER)
        )

    @property
    def time(self) -> float | None:
        """Seconds since the epoch, or None."""
        return next((seconds_of_any(self.about[name]) for name in TIMES if name in self.about), None)

    def repeats(self, before: Digests) -> bool:
        """Whether it is what stood in its place before; an answer is so too where its reasoning is not sent again."""
        if before == self.digests:
            return True
        return self.role is Role.ASSISTANT and _without_thinking(before) == _without_thinking(self.digests) != ()


class RequestLog:
    """Takes messages or requests in order and fills a builder.

    Attributes:
        counts_messages: Messages are the file's records, and counted by role.
        threads: The conversations.
    """

    counts_messages = True

    def __init__(self, builder: SessionBuilder, keep: Keep | None = None) -> None:
        """Begin.

        Args:
            builder: What to fill.
            keep: Called with the blocks of every message, where texts cannot be read again.
        """
        self._builder = builder
        self._keep = keep
        self.threads: list[RequestThread] = []
        self._known: dict[bytes, list[PlainMessage]] = {}
        self._threads_of_opening: dict[Digests, list[RequestThread]] = {}

    def add_message(self, node: Node) -> None:
        """Add a message of the one conversation a file of messages is."""
        thread = self.threads[0] if self.threads else self._begin_thread()
        for message in self.read(node, {}, thread.tool_names):
            self.append(thread, message, is_call=message.role is Role.ASSISTANT)

    def add_request(self, request: PlainConversation) -> None:
        """Add a request of a log: to the conversation it continues, else as a new one."""
        names = ToolNames()
        messages = self._beside(request)
        messages += [message for node in request.messages for message in self._repeated(node, names)]
        thread, common, messages = self._found(messages)
        opening = _opening(messages)
        is_continued = thread is not None
        if thread is None and (thread := self.compacted(messages)) is not None:
            is_continued, common = True, 0
            self._begin_compacted(thread, messages)
            self._threads_of_opening.setdefault(opening, []).append(thread)
        elif thread is None:
            thread, common = self._begin_thread(request), 0
            self._threads_of_opening.setdefault(opening, []).append(thread)
        known = self._begin_again(thread, common) if is_continued and common < len(thread.digests) else {}
        thread.tool_names.update(names)
        for message in messages[common:]:
            if places := known.get(message.digests):
                self._keep_member(thread, places.pop(0), message)
                continue
            # A request that changed its own history repeats answers that were given before.
            is_call = message.role is Role.ASSISTANT and not is_continued
            self.append(thread, message, is_call=is_call, is_repeated=message.role is Role.ASSISTANT and not is_call)
        if request.response is not None:
            about = {**request.about, **request.reply}
            calls, marks = len(self._builder.calls), self._marks_of(thread, messages, request)
            for answer in self.read(request.response, about, thread.tool_names):
                self.append(thread, answer, is_call=True)
            self._note_marks(calls, marks)
        elif "usage" in request.about or "model" in request.about:
            self._note_last_call(thread, request.about)

    def number_of(self, request: PlainConversation | None) -> int:  # noqa: ARG002  # for those who number them otherwise
        """The number of the conversation that begins with a request, or with a message."""
        return len(self.threads)

    def compacted(self, messages: list[PlainMessage]) -> RequestThread | None:  # noqa: ARG002  # for those who can tell
        """The conversation that a request goes on with, where it sends a summary of it alone."""
        return None

    def read(self, node: Node, about: dict[str, Any], names: ToolNames) -> list[PlainMessage]:
        """What a record adds: a message, or the parts of one that the API compacted; nothing where it is none.

        Args:
            node: The record.
            about: What the request around it says.
            names: The tools of the calls before it; those of its own are added.
        """
        value = node.value()
        if not isinstance(value, dict):
            self._builder.diagnose("not a chat message", 0, max(node.offset, 0), skipped=True)
            return []
        role = role_of(value)
        if self.counts_messages:
            self._builder.record_counts[role.value] += 1
        blocks = blocks_of_message(value, node.offset, node.length, names)
        names.note(made.block for made in blocks)
        about = {**about, **{name: value[name] for name in ABOUT if value.get(name) is not None}}
        if self._keep is not None:
            self._keep(blocks, node)
        # Who gives a list in memory gets it back message by message.
        apart = _apart(value, blocks) if self._keep is None else None
        if apart is None:
            return [PlainMessage(node, role, blocks, about, marks=marks_of_message(value, blocks))]
        written = _usage_of_summary(about.get("usage"))
        if written is None and not apart.after:
            written = about.get("usage")
        messages = [PlainMessage(node, role, apart.before, {**about, "usage": None})] if apart.before else []
        messages.append(PlainMessage(node, role, apart.summary, {**about, "usage": written}, is_summary=True))
        return messages + ([PlainMessage(node, role, apart.after, about)] if apart.after else [])

    def append(self, thread: RequestThread, sent: PlainMessage, *, is_call: bool, is_repeated: bool = False) -> None:
        """Add a message at the end of a conversation.

        Args:
            thread: The conversation.
            sent: The message.
            is_call: It is the answer to a call of its own.
            is_repeated: It is an answer that was given before.
        """
        identifier = string(sent.about.get("id"))
        blocks = tuple(made.block for made in sent.blocks)
        message = Message(
            role=sent.role,
            # Who gives a list in memory asks for what is done with the very ids in it.
            blocks=blocks if self._keep is not None else thread.calls.paired(sent.role, blocks),
            time=sent.time,
            identifier=identifier,
            thread=thread.number,
            is_summary=sent.is_summary,
            is_inherited=is_repeated,
        )
        if is_call and sent.role is not Role.OTHER:
            model, usage = string(sent.about.get("model")), usage_of(sent.about.get("usage"))
            miss = miss_of(sent.about.get("diagnostics"))
            asked = thinking_asked(sent.about), betas_asked(sent.about)
            terms = terms_of(sent.about.get("usage"), sent.about.get(SERVICE_TIER)).code
            index = thread.respond(
                message,
                model=model,
                usage=usage,
                is_sent=False,
                miss=miss,
                thinking=asked[0],
                betas=asked[1],
                terms=terms,
            )
        else:
            index = thread.add(message, is_sent=False)
        if sent.role is Role.OTHER:
            return
        if sent.is_summary:
            self._begin_behind(thread, sent)
        thread.members.append(index)
        thread.digests.append(sent.digests)

    def _found(self, messages: list[PlainMessage]) -> tuple[RequestThread | None, int, list[PlainMessage]]:
        """The conversation that a request continues, how much of it is known, and what it sends that counts.

        What stands before a summary is not sent; where the summary is not known yet, what came before it may be.
        """
        beside = next((place for place, message in enumerate(messages) if message.role is not Role.SYSTEM), 0)
        summaries = [place for place, message in enumerate(messages) if message.is_summary]
        for first in reversed(summaries):
            sent = messages[:beside] + messages[first:]
            thread, common = self._continued(_opening(sent), sent)
            if thread is not None:
                return thread, common, sent
        return *self._continued(_opening(messages), messages), messages

    def _continued(self, opening: Digests, messages: list[PlainMessage]) -> tuple[RequestThread | None, int]:
        best, most = None, -1
        for thread in self._threads_of_opening.get(opening, ()):
            common = 0
            for before, message in zip(thread.digests, messages, strict=False):
                if not message.repeats(before):
                    break
                common += 1
            if common >= most:
                best, most = thread, common
        return best, most

    def _begin_thread(self, request: PlainConversation | None = None) -> RequestThread:
        thread = RequestThread(self._builder, self.number_of(request))
        self.threads.append(thread)
        return thread

    def _begin_behind(self, thread: RequestThread, summary: PlainMessage) -> None:
        """Begin the context of a summary that the API wrote: tools and system text stay before it."""
        members = thread.members
        kept = [place for place, index in enumerate(members) if self._builder.messages[index].role is Role.SYSTEM]
        thread.begin(ContextCause.COMPACTION, [members[place] for place in kept])
        thread.digests = [thread.digests[place] for place in kept]
        self._threads_of_opening.setdefault(summary.digests, []).append(thread)
        before = usage_of(summary.about.get("usage"))
        first = len(self._builder.messages) - 1
        self._builder.compactions.append(Compaction(first, "auto", before.prompt if before else None))

    def _begin_again(self, thread: RequestThread, common: int) -> dict[Digests, list[int]]:
        """Begin a context with what a request has in common with the last; where the rest of that stands already."""
        members = thread.members
        known: dict[Digests, list[int]] = {}
        for digests, index in zip(thread.digests[common:], members[common:], strict=True):
            known.setdefault(digests, []).append(index)
        thread.begin(ContextCause.REWIND, members[:common])
        del thread.digests[common:]
        return known

    def _begin_compacted(self, thread: RequestThread, messages: list[PlainMessage]) -> None:
        """Begin the context that a compaction leaves."""
        thread.begin(ContextCause.COMPACTION)
        thread.digests.clear()
        time = next((message.time for message in messages if any(name in message.about for name in TIMES)), None)
        self._builder.compactions.append(Compaction(len(self._builder.messages), "auto", time=time))

    def _keep_member(self, thread: RequestThread, index: int, message: PlainMessage) -> None:
        """Take a message into the context that stood elsewhere in the one before."""
        context = thread.open_context()
        context.members.append(index)
        context.carried = len(context.members)
        thread.digests.append(message.digests)

    def _beside(self, request: PlainConversation) -> list[PlainMessage]:
        """Tools and system text as a message before the others: the order in which the API reads them."""
        blocks: list[TextBlock] = []
        marks: tuple[PlacedMark, ...] = ()
        first = None
        for node, locator in ((request.tools, TOOLS), (request.system, SYSTEM)):
            value = node.value() if node is not None else None
            if node is not None and value:
                made = blocks_of_definition(value, node.raw(), node.offset, node.length, locator)
                if self._keep is not None:
                    self._keep(made, node)
                marks += marks_of_definition(value, locator, len(blocks))
                blocks += made
                first = first or node
        return [PlainMessage(first, Role.SYSTEM, blocks, {}, marks=marks)] if first is not None else []

    def _repeated(self, node: Node, names: ToolNames) -> list[PlainMessage]:
        """A message of a request: logs repeat each in every later request, and it is not read again there."""
        if self._keep is not None:
            return self.read(node, {}, names)
        key = blake2b(node.raw(), digest_size=DIGEST_BYTES).digest()
        known = self._known.get(key)
        if known is None:
            known = self.read(node, {}, names)
            if known:
                self._known[key] = [replace(one, blocks=_shortened(one.blocks)) for one in known]
            return known
        if self.counts_messages:
            self._builder.record_counts[known[0].role.value] += 1
        names.note(block for one in known for block, _ in one.blocks)
        return known

    def _marks_of(
        self, thread: RequestThread, messages: Sequence[PlainMessage], request: PlainConversation
    ) -> tuple[RecordedMark, ...] | None:
        """Where a request asks for cache entries, whose messages are in a conversation; None where nobody knows."""
        if not request.is_as_sent:
            return None
        sent = [message for message in messages if message.role is not Role.OTHER]
        summary = max((place for place, message in enumerate(sent) if message.is_summary), default=0)
        sent = [message for place, message in enumerate(sent) if place >= summary or message.role is Role.SYSTEM]
        whole = lifetime_of(request.about)
        if whole is None and not any(message.marks for message in sent):
            return ()
        if len(sent) != len(thread.members):
            return None
        kept = [self._builder.messages[index].blocks for index in thread.members]
        own = [[block for block, _ in message.blocks] for message in sent]
        return marks_of_prompt(zip(own, (message.marks for message in sent), kept, strict=True), whole)

    def _note_marks(self, call: int, marks: tuple[RecordedMark, ...] | None) -> None:
        """Note the marks of the call that a request was; what the API itself asked behind it has none of its own."""
        if marks is not None and call < len(self._builder.calls):
            self._builder.calls[call] = structs.replace(self._builder.calls[call], marks=marks)

    def _note_last_call(self, thread: RequestThread, about: dict[str, Any]) -> None:
        """A conversation recorded with its last answer inside: what stands beside it speaks of that call."""
        calls = self._builder.calls
        if not calls or calls[-1].context != thread.open_context().index:
            return
        model = about.get("model")
        if isinstance(model, str):
            thread.note_model(model)
        if calls[-1].usage is None:
            terms = terms_of(about.get("usage"), about.get(SERVICE_TIER)).code
            calls[-1] = structs.replace(calls[-1], usage=usage_of(about.get("usage")), terms=terms)


class _Apart(NamedTuple):
    """A message with a summary that stands for everything before it, taken apart.

    Attributes:
        before: What stands before it, and is sent no more.
        summary: The block.
        after: What stands behind it.
    """

    before: list[TextBlock]
    summary: list[TextBlock]
    after: list[TextBlock]


def _apart(message: Mapping[str, Any], blocks: Sequence[TextBlock]) -> _Apart | None:
    """A message's blocks before and behind the last summary in it; None where there is none.

    Anthropic's API compacts by itself: an answer begins with a block that stands for everything before it.
    """
    content = sequence(message.get("content"))
    place = next((place for place in reversed(range(len(content))) if is_summary_part(content[place])), None)
    if place is None or message.get("role") != "assistant":
        return None
    made = _Apart([], [], [])
    for one in blocks:
        origin = one.block.origin
        if origin.locator == "reasoning" or (not origin.locator and origin.part < place):
            made.before.append(one)
        elif not origin.locator and origin.part == place:
            made.summary.append(one)
        else:
            made.after.append(one)
    return made


def _usage_of_summary(usage: Any) -> Any:
    """What was reported for the request that wrote the summary; None where it was not."""
    iterations = objects(mapping(usage).get("iterations"))
    return next((one for one in iterations if one.get("type") == COMPACTION), None)


def _opening(messages: Sequence[PlainMessage]) -> Digests:
    """What identifies the first of what is said."""
    return next((message.digests for message in messages if message.role not in (Role.SYSTEM, Role.OTHER)), ())


def _shortened(blocks: Sequence[TextBlock]) -> list[TextBlock]:
    return [TextBlock(block, text[:KEPT_CHARACTERS]) for block, text in blocks]


def _without_thinking(digests: Digests) -> Digests:
    return tuple(digest for digest in digests if digest[-1] != BlockKind.THINKING)


NAMES = {MessageForm.ANTHROPIC: "anthropic-messages", MessageForm.OPENAI: "openai-chat"}


def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
    """The blocks of an entry that is read again."""
    value = lenient_json(record)[0]
    if origin.locator in (SYSTEM, TOOLS):
        return blocks_of_definition(value, record, origin.offset, origin.length, origin.locator)
    if isinstance(value, str):
        value = answer_of(value)
    return blocks_of_message(value, origin.offset, origin.length, {}) if isinstance(value, dict) else []


class PlainInterpreter(RecordInterpreter):
    """Makes a session out of messages, requests or whole conversations."""

    decoder = ValueDecoder()

    def __init__(self) -> None:
        super().__init__()
        self._conversation = RequestLog(self.builder)

    def add(self, record: Record) -> None:
        """Take a line."""
        value = record.value
        if is_message(value):
            self._conversation.add_message(FileNode(record.data, record.offset))
        elif is_request(value):
            self.take_document(FileNode(record.data, record.offset))
        elif isinstance(value, dict):
            self.builder.record_counts["other"] += 1
        else:
            self.builder.diagnose("not a JSON object", record.line, record.offset, skipped=True)

    def take_document(self, document: Node) -> None:
        """Take the requests of a document."""
        for request in requests_of(document):
            self._conversation.add_request(request)

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
        """The blocks of a message that is read again."""
        return blocks_of_record(record, origin)


def plain_reader(path: Path, name: str) -> Reader:
    """A reader for a file of plain conversations."""
    if Sample(path).is_lines:
        return JsonlReader(path, name, PlainInterpreter())
    return JsonReader(path, name, PlainInterpreter)


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
    conversation = RequestLog(builder, lambda blocks, node: texts.keep(blocks, node.raw()))
    for request in requests_of(MemoryNode(value)):
        conversation.add_request(request)
    name = NAMES[MessageForm(form) if form is not None else form_of([value])]
    return builder.snapshot(name, Path(), texts, ())
