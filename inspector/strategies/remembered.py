"""What was found in a recorded text, remembered by the text's digest.

Rules that look into texts would read the file again for every limit that is dragged. What they look for does not
depend on the limit, so it is found once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from inspector.session.model import TextUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.session.model import Block, Session

Found = TypeVar("Found")

_MOST = 200_000


class Remembered(Generic[Found]):
    """A function of a block's recorded text that is worked out once for every text."""

    def __init__(self, find: Callable[[str], Found], missing: Found) -> None:
        """Begin with nothing.

        Args:
            find: The function.
            missing: The answer for a text that cannot be read any more; it is not kept.
        """
        self._find = find
        self._missing = missing
        self._known: dict[bytes, Found] = {}

    def __call__(self, session: Session, block: Block) -> Found:
        """What the function says of the block's text."""
        known = self._known
        if block.digest not in known:
            try:
                text = session.text(block)
            except TextUnavailableError:
                return self._missing
            if len(known) >= _MOST:
                known.clear()
            known[block.digest] = self._find(text)
        return known[block.digest]
