"""Finding the contents of files in Cline's messages: of reads, of edits that show the file, and of files mentioned.

Cline writes a tool's result as two texts of the user, a heading (`[read_file for 'a.py'] Result:`) and what follows; a
result of a tool that reads, in any agent's session, counts as a read too. The rules and texts are those of Cline's
`ContextManager` (cline/cline `src/core/context/context-management/ContextManager.ts`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from inspector.session.model import BlockKind, TextUnavailableError
from inspector.strategies.arguments import path_of
from inspector.strategies.measures import sent_text
from inspector.strategies.rendition import Action, Rendition
from inspector.strategies.tools import Meaning, meaning_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.strategies.alternation import Turn
    from inspector.strategies.history import History
    from inspector.strategies.operations import BlockSource
    from inspector.strategies.rendition import Piece

NOTICE = (
    "[[NOTE] This file read has been removed to save space in the context window. Refer to the latest file read for "
    "the most up to date version of this file.]"
)
_HEADING = re.compile(r"\[([^\s]+) for '([^']+)'\] Result:")
_MENTION = re.compile(r'<file_content path="([^"]*)">([\s\S]*?)</file_content>')
_EDITED = re.compile(r'(<final_file_content path="[^"]*">)[\s\S]*?(</final_file_content>)')


class Shown(NamedTuple):
    """A file's content that stands in a message.

    Attributes:
        path: The file.
        block: The block it stands in.
        mention: Its place among the files mentioned in the block, -1 where the whole block is of one file.
    """

    path: str
    block: int
    mention: int = -1


def shown_files(history: History, turn: Turn) -> Iterator[Shown]:
    """The contents of files in a message of the user."""
    session = history.session
    texts = [block for block in turn.blocks if history.kind[block] == BlockKind.USER_TEXT]
    heading = _HEADING.fullmatch(session.blocks[texts[0]].preview) if texts else None
    if heading is not None and len(texts) > 1:
        tool, path = heading.groups()
        edits = tool in ("replace_in_file", "write_to_file")
        if tool == "read_file" or (edits and _EDITED.search(_text(history, texts[1]))):
            yield Shown(path, texts[1])
        elif not edits:
            yield from _mentions(history, texts[1])
    elif len(texts) > 1:
        yield from _mentions(history, texts[1])
    for block in turn.blocks:
        call = int(history.call_block[block])
        if call >= 0 and meaning_of(session.blocks[block].tool_name) is Meaning.READ:
            path = path_of(session, session.blocks[call])
            if path:
                yield Shown(path, block)


def _mentions(history: History, block: int) -> Iterator[Shown]:
    for at, match in enumerate(_MENTION.finditer(_text(history, block))):
        yield Shown(match[1], block, at)


def _text(history: History, block: int) -> str:
    try:
        return history.session.text(history.session.blocks[block])
    except TextUnavailableError:
        return ""


@dataclass(frozen=True, slots=True)
class ReplaceContents:
    """Put a notice in the place of files' contents.

    Attributes:
        mentions: Which of the files mentioned in the text; empty for the one file the whole text is of.
    """

    mentions: frozenset[int] = frozenset()

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """Replace them in what is sent so far."""
        text = sent_text(rendition, source)
        if text is None:
            return rendition
        if self.mentions:
            return self._without_mentions(rendition, text)
        edited = _EDITED.search(text) if source.block.kind is BlockKind.USER_TEXT else None
        if edited is None:
            return Rendition.replaced(NOTICE, rendition.kind)
        before = rendition.between(0, edited.end(1))
        after = rendition.between(edited.start(2), len(text))
        return Rendition((*before, f" {NOTICE} ", *after), Action.CUT, rendition.kind)

    def _without_mentions(self, rendition: Rendition, text: str) -> Rendition:
        pieces: list[Piece] = []
        position = 0
        for at, match in enumerate(_MENTION.finditer(text)):
            if at in self.mentions:
                pieces.extend((*rendition.between(position, match.start(2)), NOTICE))
                position = match.end(2)
        if not pieces:
            return rendition
        return Rendition((*pieces, *rendition.between(position, len(text))), Action.CUT, rendition.kind)
