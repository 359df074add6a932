"""Read plain conversations: message lists of the Anthropic Messages and OpenAI Chat Completions APIs.

They are stored as a JSON document (a list of messages, a request with its response, a list of runs) or as JSONL (one
message, request or whole conversation per line).

The part that a request shares with the last one of its conversation is not added again. If it differs before its end, a
new context begins.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct, field, structs

from inspector.errors import SessionError
from inspector.session.billing_terms import SERVICE_TIER, parse_billing_terms
from inspector.session.blocks import MemoryTexts, TextBlock
from inspector.session.builder import CallMatcher, SessionBuilder, Thread, ToolNames
from inspector.session.format import Format
from inspector.session.formats.chat import (
    CACHE_OPTIONS,
    COMPACTION,
    SYSTEM,
    TOOLS,
    PlacedBreakpoint,
    blocks_of_definition,
    blocks_of_message,
    breakpoints_of_definition,
    breakpoints_of_message,
    breakpoints_of_prompt,
    is_summary_part,
    lifetime_of,
    miss_of,
    role_of,
    separate_requests,
    usage_of,
    with_lifetime,
    with_options,
)
from inspector.session.formats.streamed_responses import REPLY, answer_of, stream_node
from inspector.session.json import (
    Fields,
    FileNode,
    MemoryNode,
    ValueDecoder,
    clean_text,
    count,
    lenient_json,
    mapping,
    objects,
    seconds_of_any,
    sequence,
    string,
)
from inspector.session.json_reader import JsonReader
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.model import (
    BlockKind,
    Compaction,
    ContextCause,
    Message,
    Origin,
    RecordedBreakpoint,
    Role,
    Session,
)
from inspector.session.reader import Reader, Record, RecordInterpreter
from inspector.session.sniff import Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from inspector.session.json import Node

    Keep = Callable[[Sequence[TextBlock], Node], None]


class MessageForm(StrEnum):
    """The API that a conversation is written for."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"


ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})

LISTS = ("messages", "traj", "conversations", "conversation")
"""Fields with a message list, in requests and in dataset or benchmark files."""

ANTHROPIC_PARTS = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking", "document", "compaction"})

OPENAI_FIELDS = ("tool_calls", "tool_call_id", "function_call", "refusal", "reasoning_content")


ASKED = (
    *("thinking", "output_config", "betas", "anthropic_beta", "headers", "cache_control"),
    *("prompt_cache_options", "reasoning_effort"),
)
"""Fields of a request with further options: Anthropic's, and OpenAI's."""

BETA_HEADER = "anthropic-beta"


def requested_thinking(about: Mapping[str, Any]) -> str:
    """Describe the thinking setting of a request: `adaptive, effort high`; empty if there is none."""
    thinking = mapping(about.get("thinking"))
    budget = count(thinking.get("budget_tokens"))
    tokens = f"{budget:,} tokens" if budget else ""
    effort = clean_text(string(mapping(about.get("output_config")).get("effort")))
    words = (
        *(clean_text(string(thinking.get("type"))), tokens, effort and f"effort {effort}"),
        clean_text(string(about.get("reasoning_effort"))),
    )
    return ", ".join(filter(None, words))


def requested_betas(about: Mapping[str, Any]) -> str | None:
    """Return the sorted beta features of an Anthropic request; None if not recorded."""
    headers = about.get("headers")
    named = [about.get("betas"), about.get("anthropic_beta")]
    if isinstance(headers, dict):
        named += [value for name, value in headers.items() if str(name).lower() == BETA_HEADER]
    if not any(each is not None for each in named):
        return "" if isinstance(headers, dict) and headers else None
    words = (each for value in named for each in (value if isinstance(value, list) else [value]))
    betas = {part.strip() for word in words if isinstance(word, str) for part in word.split(",")}
    return ",".join(sorted(clean_text(beta) for beta in betas if beta))


class PlainConversation(Struct):
    """A conversation, or a request of a log, as stored in a file.

    Attributes:
        about: Fields outside the messages that describe the call: model, time, usage.
        is_as_sent: True for a request recorded as sent, so absent breakpoints were not set.
        is_billed: False if a program or gateway answered from its own cache, so that no request was made.
    """

    messages: list[Node]
    system: Node | None = None
    tools: Node | None = None
    response: Node | None = None
    reply: dict[str, Any] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)
    is_as_sent: bool = False
    is_billed: bool = True


def is_message(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    if str(value.get("role")) in ROLES:
        return any(name in value for name in ("content", "parts", *OPENAI_FIELDS))
    return isinstance(value.get("from"), str) and isinstance(value.get("value"), str)


def is_request(value: object, depth: int = 0) -> bool:
    """Return True for a value with a message list: itself, in a field, or in the items of a list of runs."""
    if depth > 3:
        return False
    if isinstance(value, list):
        return bool(value) and (
            sum(is_message(item) for item in value) * 2 > len(value)
            or any(is_request(item, depth + 1) for item in value[:10])
        )
    if not isinstance(value, dict):
        return False
    inner = next((value[name] for name in LISTS if isinstance(value.get(name), list)), None)
    if inner is not None:
        return not inner or sum(is_message(item) for item in inner) * 2 > len(inner)
    if _is_completion(value):
        return True
    return any(is_request(value[name], depth + 1) for name in ("request", "body") if isinstance(value.get(name), dict))


def _is_completion(value: dict[str, Any]) -> bool:
    """Return True for an OpenAI response recorded without its request."""
    choices = value.get("choices")
    return isinstance(choices, list) and any(
        isinstance(one, dict) and is_message(one.get("message")) for one in choices
    )


def form_of(values: Sequence[Any]) -> MessageForm:
    """Detect the API from features specific to one of them; OpenAI if there are none."""
    scores = {MessageForm.ANTHROPIC: 0, MessageForm.OPENAI: 0}
    for value in values:
        for form in _signs(value, 0):
            scores[form] += 1
    return MessageForm.ANTHROPIC if scores[MessageForm.ANTHROPIC] > scores[MessageForm.OPENAI] else MessageForm.OPENAI


def _signs(value: Any, depth: int) -> Iterator[MessageForm]:
    if depth > 5:
        return
    if isinstance(value, list):
        for item in value[:40]:
            yield from _signs(item, depth + 1)
        return
    if not isinstance(value, dict):
        return
    yield from _own_signs(value)
    for name in (*LISTS, "content", "tools", "request", "response", "body", "message"):
        if isinstance(value.get(name), (list, dict)):
            yield from _signs(value[name], depth + 1)


def _own_signs(value: dict[str, Any]) -> Iterator[MessageForm]:
    if str(value.get("type")) in ANTHROPIC_PARTS or value.get("type") == "message" or "input_schema" in value:
        yield MessageForm.ANTHROPIC
    if "messages" in value and ("system" in value or str(value.get("model", "")).startswith("claude")):
        yield MessageForm.ANTHROPIC
    if value.get("role") in ("system", "developer", "tool", "function") or any(
        value.get(name) for name in OPENAI_FIELDS
    ):
        yield MessageForm.OPENAI
    if "choices" in value:
        yield MessageForm.OPENAI


def requests_of(node: Node, depth: int = 0) -> Iterator[PlainConversation]:
    """Yield every conversation or request inside a value, in order."""
    if depth > 3:
        return
    items = node.items()
    if items:
        if sum(is_message(item.value()) for item in items) * 2 > len(items):
            yield PlainConversation(items)
            return
        for item in items:
            yield from requests_of(item, depth + 1)
        return
    fields = node.fields()
    inner = fields.fields_of("request")
    around = Fields({**fields, **inner, **inner.fields_of("body")})
    for name in LISTS:
        if name in around and around[name].raw().lstrip().startswith(b"["):
            yield _request(around[name], around)
            return
    if "body" in fields:
        yield from requests_of(fields["body"], depth + 1)
    elif "choices" in fields or string(mapping(node.value()).get("role")) == "assistant":
        yield PlainConversation([], None, None, *_response(node))
    elif is_message(node.value()):
        yield PlainConversation([node])


def _request(messages: Node, fields: Fields) -> PlainConversation:
    response, reply = _response(fields.get("response"))
    if response is None and "choices" in fields:
        response, reply = _message_of_choices(fields), {}
    about = fields.values_of("model", "timestamp", "created", "created_at", "time", "usage", "id", SERVICE_TIER, *ASKED)
    system, tools = fields.get("system"), fields.get("tools")
    return PlainConversation(messages.items(), system, tools, response, reply, about, response is not None)


def _response(node: Node | None) -> tuple[Node | None, dict[str, Any]]:
    if node is None:
        return None, {}
    fields = node.fields()
    if "body" in fields:
        return _response(fields["body"])
    reply = fields.values_of("model", "usage", "id", "created", SERVICE_TIER)
    if (answer := _message_of_choices(fields)) is not None:
        return answer, reply
    value = node.value()
    if is_message(value):
        return node, reply
    if isinstance(value, str) and is_message(answered := answer_of(value)):
        return stream_node(node), {name: answered[name] for name in REPLY if name in answered}
    return None, reply


def _message_of_choices(fields: Fields) -> Node | None:
    choices = fields.items_of("choices")
    return next((inside["message"] for choice in choices if "message" in (inside := choice.fields())), None)


def _conversation_in(sample: Sample) -> tuple[list[Any], str]:
    """Return the sampled messages or requests, and the reason in words."""
    if sample.is_directory:
        return [], ""
    if sample.is_lines:
        found = [record for record in sample.records if is_message(record) or is_request(record)]
        if len(found) * 2 >= len(sample.records):
            return found, f"{len(found)} of the first {len(sample.records)} lines are chat messages or requests"
        return [], ""
    document = sample.document
    if is_request(document):
        return [document], "a JSON document with a list of chat messages"
    if is_message(document):
        return [document], "a JSON document with one chat message"
    return [], ""


class PlainFormat(Format):
    """Message lists of one API."""

    exact = "tokens of calls recorded with their usage"

    def __init__(self, form: MessageForm, name: str, title: str) -> None:
        self._form = form
        self.name = name
        self.title = title

    def recognize(self, sample: Sample) -> str:
        found, reason = _conversation_in(sample)
        return reason if found and form_of(found) is self._form else ""

    def reader(self, path: Path) -> Reader:
        return plain_reader(path, self.name)


Digests = tuple[bytes, ...]

DIGEST_BYTES = 16

KEPT_CHARACTERS = 400
"""Number of characters of a message's texts kept for comparing repetitions."""

COUNTER = "x-anthropic-billing-header:"
"""Prefix of a system text that Claude Code regenerates for every request; the API does not count it."""

TIMES = ("timestamp", "created", "created_at", "time")
ABOUT = (*TIMES, "model", "usage", "id", "diagnostics", SERVICE_TIER)
"""Fields of a message, or of its envelope, that describe the call."""


class RequestThread(Thread):
    """One of the conversations in a file. `digests`: digests of each member of the current context."""

    def __init__(self, builder: SessionBuilder, number: int) -> None:
        super().__init__(builder, number)
        self.digests: list[Digests] = []
        self.tool_names = ToolNames()
        self.calls = CallMatcher(are_ids_left_out=True)
        self.begin(ContextCause.START)


class PlainMessage(Struct, dict=True):
    """A message to be added: its blocks and the other data of its record.

    A summary written by the API is a separate message; so are the parts before and after it in the same record. `marks`
    are the cache breakpoints in the record.
    """

    node: Node
    role: Role
    blocks: list[TextBlock]
    about: dict[str, Any]
    is_summary: bool = False
    marks: tuple[PlacedBreakpoint, ...] = ()

    @cached_property
    def digests(self) -> Digests:
        """Identity of the message, equal in every request that repeats it."""
        return tuple(
            made.block.digest + bytes([made.block.kind])
            for made in self.blocks
            if not made.block.preview.startswith(COUNTER)
        )

    @property
    def time(self) -> float | None:
        return next((seconds_of_any(self.about[name]) for name in TIMES if name in self.about), None)

    def repeats(self, before: Digests) -> bool:
        """Return True if it repeats an earlier message; a response may be repeated without its reasoning."""
        if before == self.digests:
            return True
        return self.role is Role.ASSISTANT and _without_thinking(before) == _without_thinking(self.digests) != ()


class RequestLog:
    """Adds messages or requests in order. `counts_messages`: messages are the records, counted by role."""

    counts_messages = True

    def __init__(self, builder: SessionBuilder, keep: Keep | None = None) -> None:
        """Initialize; `keep` receives the blocks of every message if texts cannot be read again later."""
        self._builder = builder
        self._keep = keep
        self.threads: list[RequestThread] = []
        self._known: dict[bytes, list[PlainMessage]] = {}
        self._threads_of_opening: dict[Digests, list[RequestThread]] = {}

    def add_message(self, node: Node) -> None:
        """Add a message of a file with one conversation."""
        thread = self.threads[0] if self.threads else self._begin_thread()
        for message in self.read(node, {}, thread.tool_names):
            self.append(thread, message, is_call=message.role is Role.ASSISTANT)

    def add_request(self, request: PlainConversation) -> None:
        """Add a request of a log to the conversation it continues, or to a new one."""
        names = ToolNames()
        messages = self._definitions(request)
        messages += [
            message for node in self._within_limit(request.messages) for message in self._repeated(node, names)
        ]
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
            # A request with a changed history repeats earlier responses.
            is_call = message.role is Role.ASSISTANT and not is_continued
            self.append(thread, message, is_call=is_call, is_repeated=message.role is Role.ASSISTANT and not is_call)
        if request.response is not None:
            about = {**request.about, **request.reply}
            calls, marks = len(self._builder.calls), self._breakpoints_of(thread, messages, request)
            for answer in self.read(request.response, about, thread.tool_names):
                self.append(thread, answer, is_call=request.is_billed)
            self._set_breakpoints(calls, marks)
        elif "usage" in request.about or "model" in request.about:
            self._note_last_call(thread, request.about)

    def _within_limit(self, nodes: list[Node]) -> list[Node]:
        """Return the messages of a request up to the limit of a session; lists in memory have none."""
        most = self._builder.most_messages
        if self._keep is not None or len(nodes) <= most:
            return nodes
        self._builder.leave_out(len(nodes) - most, 0, nodes[most].offset)
        return nodes[:most]

    def number_of(self, request: PlainConversation | None) -> int:  # noqa: ARG002  # for subclasses
        """Return the thread number of a conversation that begins with a request or message."""
        return len(self.threads)

    def compacted(self, messages: list[PlainMessage]) -> RequestThread | None:  # noqa: ARG002  # for subclasses
        """Return the conversation that a request continues with only a summary; None by default."""
        return None

    def read(self, node: Node, about: dict[str, Any], names: ToolNames) -> list[PlainMessage]:
        """Parse a record: one message, several if the API compacted it, none if invalid; add to `names`."""
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
        # A list from memory is returned message by message.
        split = _split_at_summary(value, blocks) if self._keep is None else None
        if split is None:
            return [PlainMessage(node, role, blocks, about, marks=breakpoints_of_message(value, blocks))]
        written = _usage_of_summary(about.get("usage"))
        if written is None and not split.after:
            written = about.get("usage")
        messages = [PlainMessage(node, role, split.before, {**about, "usage": None})] if split.before else []
        messages.append(PlainMessage(node, role, split.summary, {**about, "usage": written}, is_summary=True))
        rest = {**about, "usage": _without_summary(about.get("usage"))}
        return messages + ([PlainMessage(node, role, split.after, rest)] if split.after else [])

    def append(self, thread: RequestThread, sent: PlainMessage, *, is_call: bool, is_repeated: bool = False) -> None:
        """Add a message at the end of a conversation. `is_call`: true for the response to its own call."""
        identifier = string(sent.about.get("id"))
        blocks = tuple(made.block for made in sent.blocks)
        message = Message(
            role=sent.role,
            # A list from memory keeps its original ids.
            blocks=blocks if self._keep is not None else thread.calls.paired(sent.role, blocks),
            time=sent.time,
            identifier=identifier,
            thread=thread.number,
            is_summary=sent.is_summary,
            is_inherited=is_repeated,
        )
        if is_call and sent.role is not Role.OTHER:
            model, options = string(sent.about.get("model")), sent.about.get(CACHE_OPTIONS)
            usage = with_lifetime(usage_of(sent.about.get("usage")), options)
            miss = miss_of(sent.about.get("diagnostics"))
            asked = requested_thinking(sent.about), requested_betas(sent.about)
            terms = parse_billing_terms(sent.about.get("usage"), sent.about.get(SERVICE_TIER)).code
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
            made = separate_requests(sent.about.get("usage"), model, sent.time, identifier, index)
            self._builder.side_calls |= {f"{index} {number}": one for number, one in enumerate(made)}
        else:
            index = thread.add(message, is_sent=False)
        if sent.role is Role.OTHER:
            return
        if sent.is_summary:
            self._begin_behind(thread, sent)
        thread.members.append(index)
        thread.digests.append(sent.digests)

    def _found(self, messages: list[PlainMessage]) -> tuple[RequestThread | None, int, list[PlainMessage]]:
        """Return the continued conversation, the length of the known part, and the messages that are sent.

        Messages before a summary are not sent. If the summary is not known yet, those before it may identify the
        conversation.
        """
        first_turn = next((place for place, message in enumerate(messages) if message.role is not Role.SYSTEM), 0)
        summaries = [place for place, message in enumerate(messages) if message.is_summary]
        for first in reversed(summaries):
            sent = messages[:first_turn] + messages[first:]
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
        """Begin the context of a summary written by the API; tools and system prompt stay before it."""
        members = thread.members
        kept = [place for place, index in enumerate(members) if self._builder.messages[index].role is Role.SYSTEM]
        thread.begin(ContextCause.COMPACTION, [members[place] for place in kept])
        thread.digests = [thread.digests[place] for place in kept]
        self._threads_of_opening.setdefault(summary.digests, []).append(thread)
        before = usage_of(summary.about.get("usage"))
        first = len(self._builder.messages) - 1
        self._builder.compactions.append(Compaction(first, "auto", before.prompt if before else None))

    def _begin_again(self, thread: RequestThread, common: int) -> dict[Digests, list[int]]:
        """Begin a context with the common part of two requests; return the indices of the remaining members."""
        members = thread.members
        known: dict[Digests, list[int]] = {}
        for digests, index in zip(thread.digests[common:], members[common:], strict=True):
            known.setdefault(digests, []).append(index)
        thread.begin(ContextCause.REWIND, members[:common])
        del thread.digests[common:]
        return known

    def _begin_compacted(self, thread: RequestThread, messages: list[PlainMessage]) -> None:
        thread.begin(ContextCause.COMPACTION)
        thread.digests.clear()
        time = next((message.time for message in messages if any(name in message.about for name in TIMES)), None)
        self._builder.compactions.append(Compaction(len(self._builder.messages), "auto", time=time))

    def _keep_member(self, thread: RequestThread, index: int, message: PlainMessage) -> None:
        """Add a member that was elsewhere in the previous context."""
        context = thread.open_context()
        context.members.append(index)
        context.retained = len(context.members)
        thread.digests.append(message.digests)

    def _definitions(self, request: PlainConversation) -> list[PlainMessage]:
        """Return tools and system prompt as a first message, in the order used by the API."""
        blocks: list[TextBlock] = []
        marks: tuple[PlacedBreakpoint, ...] = ()
        first = None
        for node, locator in ((request.tools, TOOLS), (request.system, SYSTEM)):
            value = node.value() if node is not None else None
            if node is not None and value:
                made = blocks_of_definition(value, node.raw(), node.offset, node.length, locator)
                if self._keep is not None:
                    self._keep(made, node)
                marks += breakpoints_of_definition(value, locator, len(blocks))
                blocks += made
                first = first or node
        return [PlainMessage(first, Role.SYSTEM, blocks, {}, marks=marks)] if first is not None else []

    def _repeated(self, node: Node, names: ToolNames) -> list[PlainMessage]:
        """Read a message of a request, or reuse it if an earlier request contained it."""
        if self._keep is not None:
            return self.read(node, {}, names)
        key = blake2b(node.raw(), digest_size=DIGEST_BYTES).digest()
        known = self._known.get(key)
        if known is None:
            known = self.read(node, {}, names)
            if known:
                self._known[key] = [structs.replace(one, blocks=_shortened(one.blocks)) for one in known]
            return known
        if self.counts_messages:
            self._builder.record_counts[known[0].role.value] += 1
        names.note(block for one in known for block, _ in one.blocks)
        return known

    def _breakpoints_of(
        self, thread: RequestThread, messages: Sequence[PlainMessage], request: PlainConversation
    ) -> tuple[RecordedBreakpoint, ...] | None:
        """Return a request's cache breakpoints; None if unknown."""
        if not request.is_as_sent:
            return None
        sent = [message for message in messages if message.role is not Role.OTHER]
        summary = max((place for place, message in enumerate(sent) if message.is_summary), default=0)
        sent = [message for place, message in enumerate(sent) if place >= summary or message.role is Role.SYSTEM]
        whole, options = lifetime_of(request.about), request.about.get(CACHE_OPTIONS)
        if whole is None and options is None and not any(message.marks for message in sent):
            return ()
        if len(sent) != len(thread.members):
            return None
        kept = [self._builder.messages[index].blocks for index in thread.members]
        own = [[block for block, _ in message.blocks] for message in sent]
        found = breakpoints_of_prompt(zip(own, (message.marks for message in sent), kept, strict=True), whole)
        return found if options is None else with_options(found, options, sum(map(len, kept)))

    def _set_breakpoints(self, call: int, marks: tuple[RecordedBreakpoint, ...] | None) -> None:
        """Set the breakpoints of a request's call. Later calls made by the API itself have none."""
        if marks is not None and call < len(self._builder.calls):
            self._builder.calls[call] = structs.replace(self._builder.calls[call], marks=marks)

    def _note_last_call(self, thread: RequestThread, about: dict[str, Any]) -> None:
        """Apply the fields around a conversation that includes its last response to that response's call."""
        calls = self._builder.calls
        if not calls or calls[-1].context != thread.open_context().index:
            return
        model = about.get("model")
        if isinstance(model, str):
            thread.note_model(model)
        if calls[-1].usage is None:
            terms = parse_billing_terms(about.get("usage"), about.get(SERVICE_TIER)).code
            calls[-1] = structs.replace(calls[-1], usage=usage_of(about.get("usage")), terms=terms)


class _SplitMessage(NamedTuple):
    """A message split at a summary, which replaces all earlier blocks: those `before` are no longer sent."""

    before: list[TextBlock]
    summary: list[TextBlock]
    after: list[TextBlock]


def _split_at_summary(message: Mapping[str, Any], blocks: Sequence[TextBlock]) -> _SplitMessage | None:
    """Split a message at its last summary, with which Anthropic's API begins a response; None if it has none."""
    content = sequence(message.get("content"))
    place = next((place for place in reversed(range(len(content))) if is_summary_part(content[place])), None)
    if place is None or message.get("role") != "assistant":
        return None
    made = _SplitMessage([], [], [])
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
    iterations = objects(mapping(usage).get("iterations"))
    return next((one for one in iterations if one.get("type") == COMPACTION), None)


def _without_summary(usage: Any) -> Any:
    """Return a usage without the summary request, which has its own call."""
    if not isinstance(usage, dict) or "iterations" not in usage:
        return usage
    return {**usage, "iterations": [one for one in objects(usage["iterations"]) if one.get("type") != COMPACTION]}


def _opening(messages: Sequence[PlainMessage]) -> Digests:
    """Return the digests of the first conversation message."""
    return next((message.digests for message in messages if message.role not in (Role.SYSTEM, Role.OTHER)), ())


def _shortened(blocks: Sequence[TextBlock]) -> list[TextBlock]:
    return [TextBlock(block, text[:KEPT_CHARACTERS]) for block, text in blocks]


def _without_thinking(digests: Digests) -> Digests:
    return tuple(digest for digest in digests if digest[-1] != BlockKind.THINKING)


NAMES = {MessageForm.ANTHROPIC: "anthropic-messages", MessageForm.OPENAI: "openai-chat"}


def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
    value = lenient_json(record)[0]
    if origin.locator in (SYSTEM, TOOLS):
        return blocks_of_definition(value, record, origin.offset, origin.length, origin.locator)
    if isinstance(value, str):
        value = answer_of(value)
    return blocks_of_message(value, origin.offset, origin.length, {}) if isinstance(value, dict) else []


class PlainInterpreter(RecordInterpreter):
    """Builds a session from messages, requests or whole conversations."""

    decoder = ValueDecoder()

    def __init__(self) -> None:
        super().__init__()
        self._conversation = RequestLog(self.builder)

    def add(self, record: Record) -> None:
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
        for request in requests_of(document):
            self._conversation.add_request(request)

    blocks_of_record = staticmethod(blocks_of_record)


def plain_reader(path: Path, name: str) -> Reader:
    if Sample(path).is_lines:
        return JsonlReader(path, name, PlainInterpreter())
    return JsonReader(path, name, PlainInterpreter)


def read_conversation(messages: Sequence[dict[str, Any]] | dict[str, Any], form: str | None = None) -> Session:
    """Build a session from a message list in memory, with its texts kept in memory.

    Every assistant message is a call. `block.origin.offset` is the index of the entry in the list, `block.origin.part`
    the index of the part in its content or of the call in its `tool_calls`. Data outside the list has offset -1.

    Args:
        messages: A message list, or a request with `messages` and optionally `system`, `tools` and `model`.
        form: `anthropic` or `openai`; detected from the content by default.

    Raises:
        SessionError: The messages are in no known form.
    """
    value: Any = messages if isinstance(messages, dict) else list(messages)
    if value and not is_request(value):
        raise SessionError("the messages: not an Anthropic or OpenAI message list. Give dicts with role and content.")
    texts = MemoryTexts()
    builder = SessionBuilder()
    conversation = RequestLog(builder, lambda blocks, node: texts.keep(blocks, node.raw()))
    for request in requests_of(MemoryNode(value)):
        conversation.add_request(request)
    name = NAMES[MessageForm(form) if form is not None else form_of([value])]
    return builder.snapshot(name, Path(), texts, ())


FORMATS = (
    PlainFormat(MessageForm.ANTHROPIC, "anthropic-messages", "Anthropic Messages (JSON or JSON lines)"),
    PlainFormat(MessageForm.OPENAI, "openai-chat", "OpenAI Chat Completions (JSON or JSON lines)"),
)
