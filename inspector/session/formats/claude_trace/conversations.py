"""Separate a log's requests into conversations: the main one, small side requests, and compactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.billing_terms import SERVICE_TIER, parse_billing_terms
from inspector.session.call_matching import ToolNames
from inspector.session.formats.bedrock_converse import converse_node
from inspector.session.formats.chat import usage_of
from inspector.session.formats.plain.reader import Digests, PlainMessage, RequestLog, RequestThread
from inspector.session.formats.plain.records import ASKED, PlainConversation, is_message
from inspector.session.formats.streamed_responses import REPLY, answer_of, stream_node
from inspector.session.json.nodes import ComputedNode
from inspector.session.json.values import clean_string, mapping, string
from inspector.session.model import BlockKind, Message, Role, SideCall

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from inspector.session.builder import SessionBuilder
    from inspector.session.json.nodes import Fields, Node

CONTINUED = "This session is being continued from a previous conversation"
"""First words of the message with Claude Code's compaction summary."""

TITLE_CHARACTERS = 120

PURPOSES = (
    ("command prefix", "command prefix"),
    ("command_prefix", "command prefix"),
    ("title", "title"),
    ("summarize this coding conversation", "summary"),
)
"""Phrases in the instructions of small requests, with the purpose of the request."""

OFF = "off"
"""Thinking setting of a request without one."""

IS_SIDE_REQUEST = "is_aside"
"""Marks a request, of any size, with a response meant for the program."""

SUMMARY_MATCH_CHARACTERS = 200
"""Length of response text that identifies a summary in another conversation's first message."""


class TraceLog(RequestLog):
    """Adds the requests of a log to a session in order.

    Attributes:
        numbers: Numbers for conversations that are not side requests, the main one's first.
    """

    counts_messages = False

    def __init__(self, builder: SessionBuilder) -> None:
        super().__init__(builder)
        self.numbers = self._numbered()
        self._has_main = False
        self._others = 0
        self._last_responses: dict[int, str] = {}
        self._asides: dict[Digests, list[RequestThread]] = {}

    def read(self, node: Node, about: dict[str, Any], names: ToolNames) -> list[PlainMessage]:
        """Return the messages of a value from any API; assembled streams are in Anthropic form."""
        return super().read(node if isinstance(node, ComputedNode) else converse_node(node), about, names)

    def add_request(self, request: PlainConversation) -> None:
        """Add a request to a conversation, or as a side request if the program made it for its own purpose."""
        purpose = _purpose_of(request) if request.response is not None else ""
        if request.about.get(IS_SIDE_REQUEST):
            self._add_side_request(request)
            return
        if request.response is None or not purpose:
            super().add_request(request)
            return
        about = {**request.about, **request.reply}
        for answer in self.read(request.response, about, ToolNames()):
            blocks = tuple(made.block for made in answer.blocks)
            self._builder.add_message(Message(Role.OTHER, blocks, answer.time, string(answer.about.get("id"))))
            usage = answer.about.get("usage")
            # Gateways repeat ids: a response is logged twice only if its content and usage are equal.
            content = " ".join(block.digest.hex() for block in blocks)
            key = string(request.reply.get("id")) or f"{purpose} {len(self._builder.side_calls)}"
            self._builder.side_calls[f"{key} {content} {usage_of(usage)}"] = SideCall(
                purpose,
                clean_string(answer.about.get("model")),
                answer.time,
                usage_of(usage),
                clean_string(request.reply.get("id")),
                parse_billing_terms(usage, answer.about.get(SERVICE_TIER)).code,
            )

    def _add_side_request(self, request: PlainConversation) -> None:
        """Add a request with a response meant for the program; it continues no other conversation."""
        threads, self._threads_of_opening = self._threads_of_opening, self._asides
        try:
            super().add_request(request)
        finally:
            self._threads_of_opening = threads

    def number_of(self, request: PlainConversation | None) -> int:
        """Return a conversation's number: 0 for the first one that is not a small side request."""
        is_main = not self._has_main and request is not None and not _is_small(request)
        return next(self.numbers) if is_main else self._next_other()

    def _numbered(self) -> Iterator[int]:
        if not self._has_main:
            self._has_main = True
            yield 0
        while True:
            yield self._next_other()

    def _next_other(self) -> int:
        self._others += 1
        return self._others

    def compacted(self, messages: list[PlainMessage]) -> RequestThread | None:
        """Return the conversation summarized in the first message: by its last response, or the main one by wording."""
        first = next((message for message in messages if message.role is Role.USER), None)
        if first is None:
            return None
        texts = [made.text for made in first.blocks if made.block.kind is BlockKind.USER_TEXT]
        for thread in reversed(self.threads):
            reported = self._last_responses.get(thread.number, "")
            middle = reported[len(reported) // 4 :][:SUMMARY_MATCH_CHARACTERS]
            if len(middle) == SUMMARY_MATCH_CHARACTERS and any(middle in text for text in texts):
                return thread
        if any(text.lstrip().startswith(CONTINUED) for text in texts):
            return next((thread for thread in self.threads if thread.number == 0 and thread.digests), None)
        return None

    def append(self, thread: RequestThread, sent: PlainMessage, *, is_call: bool, is_repeated: bool = False) -> None:
        """Add a message, and record the last response, the title, and a compaction's summary."""
        if sent.role is Role.ASSISTANT:
            self._last_responses[thread.number] = "\n".join(
                made.text for made in sent.blocks if made.block.kind is BlockKind.ASSISTANT_TEXT
            )
        if thread.number == 0 and sent.role is Role.USER and not self._builder.title:
            self._builder.title = _asked(sent)
        index = len(self._builder.messages)
        super().append(thread, sent, is_call=is_call, is_repeated=is_repeated)
        compactions = self._builder.compactions
        if (
            sent.role is Role.USER
            and compactions
            and not any(message.is_summary for message in self._builder.messages[compactions[-1].message :])
        ):
            self._builder.replace_message(index, is_summary=True)


def _asked(sent: PlainMessage) -> str:
    """Return the beginning of the user's text, skipping texts in tags inserted by programs."""
    texts = (made.text for made in sent.blocks if made.block.kind is BlockKind.USER_TEXT)
    return next((text[:TITLE_CHARACTERS] for text in texts if not text.lstrip().startswith("<")), "")


def _purpose_of(request: PlainConversation) -> str:
    """Return the purpose of a small request with one message, by Claude Code's wording; empty if unknown."""
    if not _is_small(request) or len(request.messages) != 1:
        return ""
    if request.about.get("max_tokens") == 1:
        return "quota"
    asked = request.system if request.system is not None else request.messages[0]
    text = str(asked.value()).lower()
    return next((purpose for words, purpose in PURPOSES if words in text), "")


def _is_small(request: PlainConversation) -> bool:
    """Return True for a side request of a program, such as a title or quota request."""
    tools = request.tools.value() if request.tools is not None else None
    is_cheap = "haiku" in string(request.about.get("model")) or request.about.get("max_tokens") == 1
    return not tools and (is_cheap or bool(request.about.get(IS_SIDE_REQUEST)))


def conversation_of(body: Fields, response: Node | None, about: Mapping[str, Any]) -> PlainConversation:
    """Build a conversation from a request body and its response; `about` is request data outside the body."""
    asked = {"thinking": {"type": OFF}, **body.values_of("model", "max_tokens", *ASKED), **about}
    answer, reply = _answer(response) if response is not None else (None, {})
    system, tools = body.get("system"), body.get("tools")
    return PlainConversation(body["messages"].items(), system, tools, answer, reply, asked, is_as_sent=True)


def _answer(body: Node) -> tuple[Node | None, dict[str, Any]]:
    """Return the response's message and its other fields."""
    value = body.value()
    if isinstance(value, str):
        answer = mapping(answer_of(value))
        return (stream_node(body), {key: answer[key] for key in REPLY if key in answer}) if answer else (None, {})
    fields = body.fields()
    reply = fields.values_of(*REPLY)
    for choice in fields.items_of("choices"):
        if "message" in (inside := choice.fields()):
            return inside["message"], reply
    return (body, reply) if is_message(value) else (None, {})
