"""Reading plain conversations, from files and from memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspector.session.assembly import Assembly
from inspector.session.decoding import line_bounds
from inspector.session.documents import DocumentReader
from inspector.session.errors import SessionError
from inspector.session.formats.plain.conversation import PlainConversation
from inspector.session.formats.plain.entries import SYSTEM, TOOLS, blocks_beside, blocks_of_entry, value_of
from inspector.session.formats.plain.shapes import Form, form_of, is_message, is_request, requests_of
from inspector.session.formats.streams import answer_of
from inspector.session.lines import LinesReader
from inspector.session.nodes import FileNode, MemoryNode
from inspector.session.sample import Sample
from inspector.session.texts import MemoryTexts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.session.blocks import TextBlock
    from inspector.session.model import Origin, Session
    from inspector.session.nodes import Node
    from inspector.session.reading import Reader
    from inspector.session.texts import BlocksOfRecord

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
        self.assembly = Assembly()
        self.blocks_of_record: BlocksOfRecord = blocks_of_record
        self._conversation = PlainConversation(self.assembly)

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
                self.assembly.record_counts["other"] += 1
            else:
                reason = "invalid JSON" if value is None else "not a JSON object"
                self.assembly.diagnose(reason, first_line + number, offset + start, skipped=True)


def plain_reader(path: Path, name: str) -> Reader:
    """A reader for a file of plain conversations."""
    if Sample(path).is_lines:
        return LinesReader(path, name, PlainInterpreter())
    return DocumentReader(path, name, _interpret, blocks_of_record)


def _interpret(node: Node, assembly: Assembly) -> None:
    conversation = PlainConversation(assembly)
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
    assembly = Assembly()
    conversation = PlainConversation(assembly, lambda blocks, node: texts.keep(blocks, node.raw()))
    for request in requests_of(MemoryNode(value)):
        conversation.add_request(request)
    name = NAMES[Form(form) if form is not None else form_of([value])]
    return assembly.snapshot(name, Path(), texts, ())
