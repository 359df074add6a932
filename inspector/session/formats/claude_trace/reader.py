"""Reading logs of requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.builder import SessionBuilder
from inspector.session.formats.claude_trace.records import is_exchange
from inspector.session.formats.plain.reader import PlainMessage, RequestLog, RequestThread, blocks_of_record
from inspector.session.formats.plain.records import ASKED, PlainConversation, is_message
from inspector.session.formats.streamed_answers import REPLY, StreamNode, answer_of
from inspector.session.json.nodes import Fields, FileNode, inside_string, unescaped
from inspector.session.json.values import mapping, string
from inspector.session.json_reader import JsonReader
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.model import BlockKind, Role
from inspector.session.reader import Record, RecordInterpreter
from inspector.session.sniff import Sample

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.session.blocks import TextBlock
    from inspector.session.builder import SessionBuilder
    from inspector.session.json.nodes import Node
    from inspector.session.model import Origin
    from inspector.session.reader import Reader


CONTINUED = "This session is being continued from a previous conversation"
"""How the message begins in which Claude Code sends its own summary."""

TITLE_CHARACTERS = 120

OFF = "off"
"""What a request asks for that does not speak of thinking."""

TELLING_CHARACTERS = 200
"""So much of an answer in the first message of another conversation is a summary, no coincidence."""


class TraceLog(RequestLog):
    """Takes the requests of a log in order and fills a builder."""

    counts_messages = False

    def __init__(self, builder: SessionBuilder) -> None:
        """Begin."""
        super().__init__(builder)
        self._has_main = False
        self._said: dict[int, str] = {}

    def number_of(self, request: PlainConversation | None) -> int:
        """The first conversation that is no small call beside one is the main one."""
        is_main = not self._has_main and request is not None and not _is_small(request)
        self._has_main |= is_main
        return 0 if is_main else sum(thread.number != 0 for thread in self.threads) + 1

    def compacted(self, messages: list[PlainMessage]) -> RequestThread | None:
        """The conversation whose last answer, the summary, the first message repeats; or the main one."""
        first = next((message for message in messages if message.role is Role.USER), None)
        if first is None:
            return None
        texts = [made.text for made in first.blocks if made.block.kind is BlockKind.USER_TEXT]
        for thread in reversed(self.threads):
            said = self._said.get(thread.number, "")
            middle = said[len(said) // 4 :][:TELLING_CHARACTERS]
            if len(middle) == TELLING_CHARACTERS and any(middle in text for text in texts):
                return thread
        if any(text.lstrip().startswith(CONTINUED) for text in texts):
            return next((thread for thread in self.threads if thread.number == 0 and thread.digests), None)
        return None

    def append(self, thread: RequestThread, sent: PlainMessage, *, is_call: bool, is_repeated: bool = False) -> None:
        """Add a message; note what was answered last, the title, and which message is a summary."""
        if sent.role is Role.ASSISTANT:
            self._said[thread.number] = "\n".join(
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
    """The beginning of what a person says, which stands behind what programs add in tags."""
    texts = (made.text for made in sent.blocks if made.block.kind is BlockKind.USER_TEXT)
    return next((text[:TITLE_CHARACTERS] for text in texts if not text.lstrip().startswith("<")), "")


def _is_small(request: PlainConversation) -> bool:
    """Whether a request is one of those that programs make beside a conversation: for a title, to ask for a quota."""
    tools = request.tools.value() if request.tools is not None else None
    return not tools and ("haiku" in string(request.about.get("model")) or request.about.get("max_tokens") == 1)


class TraceInterpreter(RecordInterpreter):
    """Makes a session out of the exchanges of a log."""

    record_name = "an exchange"

    def __init__(self) -> None:
        super().__init__()
        self._conversation = TraceLog(self.builder)

    def add(self, record: Record) -> None:
        """Take an exchange."""
        value = record.value
        request = _request(FileNode(record.data, record.offset)) if is_exchange(value) else None
        if request is None:
            self.builder.record_counts["other request" if is_exchange(value) else "other"] += 1
            return
        self.builder.record_counts["request" if request.response is not None else "request without an answer"] += 1
        self._conversation.add_request(request)

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
        """The blocks of a message that is read again."""
        return blocks_of_record(unescaped(record), origin)


def trace_reader(path: Path, name: str) -> Reader:
    """A reader for a log, one exchange a line or all in one list."""
    if Sample(path).is_lines:
        return JsonlReader(path, name, TraceInterpreter())
    return JsonReader(path, name, TraceInterpreter)


def _request(node: Node) -> PlainConversation | None:
    """The request of an exchange; None where it asks for no answer of a model."""
    outer = node.fields()
    if "request" not in outer:
        return None
    request = outer["request"].fields()
    body = _body_of(request)
    address = string(request.value_of("url"))
    if "messages" not in body or "count_tokens" in address:
        return None
    about = {"thinking": {"type": OFF}, **body.values_of("model", "max_tokens", *ASKED), **request.values_of("headers")}
    for name in ("timestamp", "time"):
        if name in request:
            about["timestamp"] = request[name].value()
    response, reply = _answer(outer.fields_of("response"))
    return PlainConversation(body["messages"].items(), body.get("system"), body.get("tools"), response, reply, about)


def _body_of(request: Fields) -> Fields:
    """What a request asked: an object, or a string that holds one."""
    if "body" not in request:
        return Fields()
    body = request["body"]
    return (inside_string(body) or body).fields()


def _answer(response: Fields) -> tuple[Node | None, dict[str, Any]]:
    """The message that was answered, and what stands beside it."""
    for name in ("body_raw", "body"):
        if name in response and isinstance(text := response[name].value(), str):
            answer = mapping(answer_of(text))
            if is_message(answer):
                return StreamNode(response[name]), {key: answer[key] for key in REPLY if key in answer}
    body = response.fields_of("body")
    reply = body.values_of(*REPLY)
    for choice in body.items_of("choices"):
        if "message" in (inside := choice.fields()):
            return inside["message"], reply
    if "body" in response and is_message(response["body"].value()):
        return response["body"], reply
    return None, {}
