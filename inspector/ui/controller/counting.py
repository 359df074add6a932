"""How far counting the tokens of the session on the screen has come."""

from __future__ import annotations

from enum import Enum, auto


class Counting(Enum):
    """Whether tokens are being counted, and what is waited for."""

    NONE = auto()
    """Everything is counted, or the rest stays estimated."""
    AWAITING = auto()
    """The tokenizer is not there yet."""
    OUTDATED = auto()
    """The tokenizer is not there yet, and the session has grown since: as soon as it is, counting begins anew."""
    UNDER_WAY = auto()
    """The tokenizer is there, and texts are being counted."""

    @property
    def awaits_tokenizer(self) -> bool:
        """Whether the tokenizer is not there yet, so that counting called off now would have to build it again."""
        return self in (Counting.AWAITING, Counting.OUTDATED)
