"""A recorded block as operations see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.tokens.counter import estimated_tokens

if TYPE_CHECKING:
    from inspector.session.model import Block, Session


@dataclass(frozen=True, slots=True)
class RecordedBlock:
    """One block as operations see it; its text is read when asked for."""

    session: Session
    index: int

    @property
    def block(self) -> Block:
        """The block as recorded."""
        return self.session.blocks[self.index]

    @property
    def tool_name(self) -> str:
        """The tool of a call or result."""
        return self.block.tool_name

    def text(self) -> str:
        """The recorded text."""
        return self.session.text(self.session.blocks[self.index])

    @property
    def tokens(self) -> int:
        """Tokens of its text, estimated: nothing was counted here."""
        return estimated_tokens(self.block.characters)

    def head_characters(self, tokens: int) -> int:
        """Characters of its first tokens, estimated."""
        characters = self.block.characters
        return min(tokens * characters // max(self.tokens, 1), characters)

    def tail_characters(self, tokens: int) -> int:
        """Characters of its last tokens, estimated."""
        return self.head_characters(tokens)
