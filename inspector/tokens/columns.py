"""What a token table knows of each block, kept for all messages that did not change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.session.grown import unchanged
from inspector.session.model import BlockKind
from inspector.tokens.rules import fixed_tokens, sends_text
from inspector.tokens.texts import EMPTY_ROW, digest_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from inspector.session.model import Message
    from inspector.tokens.texts import CountedTexts, TextColumns


@dataclass(frozen=True, eq=False)
class BlockColumns:
    """One row a block.

    Attributes:
        messages: The messages the columns were made from.
        characters: Characters of the text that is sent, int32.
        name_characters: Characters of the tool's name that is sent with a tool call, int32.
        fixed: Tokens besides those of text and name, int32.
        row: Row of the text among the counted ones, `NOT_COUNTED` where it is not among them, int32.
        name_row: The same for the tool's name, int32.
    """

    messages: Sequence[Message]
    characters: NDArray[np.int32]
    name_characters: NDArray[np.int32]
    fixed: NDArray[np.int32]
    row: NDArray[np.int32]
    name_row: NDArray[np.int32]

    @classmethod
    def empty(cls) -> BlockColumns:
        """The columns of no messages."""
        none = np.zeros(0, np.int32)
        return cls((), none, none, none, none, none)

    @classmethod
    def of(cls, messages: Sequence[Message], texts: CountedTexts, earlier: BlockColumns) -> BlockColumns:
        """The columns of `messages`; rows of messages that stood in the same place `earlier` are taken over."""
        kept = unchanged(messages, earlier.messages)
        kept_blocks = len(earlier.row) - sum(len(message.blocks) for message in earlier.messages[kept:])
        names: dict[str, bytes] = {}
        new: list[tuple[int, int, int, int, int]] = []
        for message in messages[kept:]:
            for block in message.blocks:
                characters = block.characters if sends_text(block) else 0
                row = texts.row(block.digest) if characters else EMPTY_ROW
                name_characters, name_row = 0, EMPTY_ROW
                if block.kind is BlockKind.TOOL_CALL and (name := block.tool_name):
                    digest = names.get(name) or names.setdefault(name, digest_of(name))
                    name_characters, name_row = len(name), texts.row(digest)
                new.append((characters, name_characters, fixed_tokens(block), row, name_row))
        added = np.array(new, np.int32).reshape(-1, 5).T
        before = (earlier.characters, earlier.name_characters, earlier.fixed, earlier.row, earlier.name_row)
        joined = [np.concatenate((old[:kept_blocks], fresh)) for old, fresh in zip(before, added, strict=True)]
        return cls(messages, *joined)

    def counted(self) -> NDArray[np.bool_]:
        """Per block, whether everything of it that is text was counted."""
        return (self.row >= 0) & (self.name_row >= 0)

    def text_tokens(self, columns: TextColumns) -> NDArray[np.int32]:
        """Tokens of each block's text."""
        return tokens_or_estimate(columns, self.row, self.characters)

    def other_tokens(self, columns: TextColumns) -> NDArray[np.int32]:
        """Tokens of each block besides its text."""
        return self.fixed + tokens_or_estimate(columns, self.name_row, self.name_characters)


def tokens_or_estimate(
    columns: TextColumns, rows: NDArray[np.int32], characters: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Tokens of whole texts; where one was not counted, an estimate from its characters."""
    return np.where(rows >= 0, columns.tokens(rows), estimated(characters)).astype(np.int32)


def estimated(characters: NDArray[np.int32]) -> NDArray[np.int64]:
    """`counter.estimated_tokens` of many lengths."""
    return (2 * characters.astype(np.int64) + 6) // 7
