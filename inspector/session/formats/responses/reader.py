"""Reading items and exchanges of the Responses API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.session.assembly import Assembly
from inspector.session.decoding import lenient_json, line_bounds
from inspector.session.documents import DocumentReader
from inspector.session.escaped import unescaped
from inspector.session.formats.plain.entries import SYSTEM, TOOLS, blocks_beside
from inspector.session.formats.responses.conversation import ResponsesConversation, item_of
from inspector.session.formats.responses.events import is_event
from inspector.session.formats.responses.items import blocks_of_item
from inspector.session.formats.responses.shapes import exchanges_of, is_exchange
from inspector.session.lines import LinesReader
from inspector.session.model import Origin
from inspector.session.nodes import FileNode
from inspector.session.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from inspector.session.blocks import TextBlock
    from inspector.session.nodes import Node
    from inspector.session.reading import Reader
    from inspector.session.texts import BlocksOfRecord


def responses_reader(path: Path, name: str) -> Reader:
    """A reader for a file of items or exchanges."""
    if Sample(path).is_lines:
        return LinesReader(path, name, ResponsesInterpreter())
    return DocumentReader(path, name, interpret, blocks_of_record)


def blocks_of_record(record: bytes, origin: Origin, /) -> Sequence[TextBlock]:
    """The blocks of an item that is read again."""
    record = unescaped(record)
    value = lenient_json(record)[0]
    if origin.locator in (SYSTEM, TOOLS):
        return blocks_beside(value, record, origin.offset, origin.length, origin.locator)
    item = item_of(value)
    return [] if item is None else blocks_of_item(item, Origin(origin.offset, origin.length), {})


class ResponsesInterpreter:
    """Makes a session out of lines that are items or exchanges."""

    def __init__(self) -> None:
        self.assembly = Assembly()
        self.blocks_of_record: BlocksOfRecord = blocks_of_record
        self._conversation = ResponsesConversation(self.assembly)

    def take(self, data: bytes, offset: int, first_line: int) -> None:
        """Take whole lines."""
        for start, end, number in line_bounds(data):
            node = FileNode(data[start:end], offset + start)
            value = node.value()
            try:
                if is_event(value):
                    self._conversation.add_event(node, value["type"])
                elif is_exchange(value):
                    for exchange in exchanges_of(node):
                        self._conversation.add_exchange(exchange)
                elif isinstance(value, dict):
                    self._conversation.add_item(node)
                else:
                    reason = "invalid JSON" if value is None else "not a JSON object"
                    self.assembly.diagnose(reason, first_line + number, offset + start, skipped=True)
            except RecursionError:
                self.assembly.diagnose("JSON nested too deeply", first_line + number, offset + start, skipped=True)


def interpret(node: Node, assembly: Assembly) -> None:
    """Fill an assembly from a document."""
    conversation = ResponsesConversation(assembly)
    try:
        for exchange in exchanges_of(node):
            conversation.add_exchange(exchange)
    except RecursionError:
        assembly.diagnose("JSON nested too deeply", 0, node.offset, skipped=True)
