"""Reading rollouts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.session.assembly import Assembly
from inspector.session.documents import DocumentReader
from inspector.session.formats.codex.conversation import Rollout
from inspector.session.formats.codex.records import blocks_of_line, unwrapped
from inspector.session.formats.codex.stream import StreamInterpreter
from inspector.session.formats.responses.reader import blocks_of_record, interpret
from inspector.session.lines import LinesReader
from inspector.session.objects import object_lines
from inspector.session.values import mapping, string

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.session.nodes import Node
    from inspector.session.reading import Reader
    from inspector.session.texts import BlocksOfRecord


def codex_reader(path: Path, name: str, *, is_document: bool = False, is_stream: bool = False) -> Reader:
    """A reader for a rollout, of lines or, as some early ones are, one JSON document, or for a printed stream."""
    if is_stream:
        return LinesReader(path, name, StreamInterpreter())
    if is_document:
        return DocumentReader(path, name, _interpret, blocks_of_record)
    return LinesReader(path, name, CodexInterpreter())


def _interpret(node: Node, assembly: Assembly) -> None:
    interpret(node, assembly)
    assembly.agent = "Codex"
    session = node.fields()["session"].value() if "session" in node.fields() else {}
    assembly.identifier = string(mapping(session).get("id"))


class CodexInterpreter:
    """Makes a session out of the lines of a rollout."""

    def __init__(self) -> None:
        self.assembly = Assembly()
        self.blocks_of_record: BlocksOfRecord = blocks_of_line
        self._rollout = Rollout(self.assembly)

    def take(self, data: bytes, offset: int, first_line: int) -> None:
        """Take whole lines. What cannot be read becomes a diagnostic."""
        for value, line, start, number in object_lines(data, offset, first_line, self.assembly, "payload"):
            try:
                self._rollout.add(unwrapped(value), line, start)
            except RecursionError:
                self.assembly.diagnose("JSON nested too deeply", number, start, skipped=True)
