"""Numbers worked out from texts, remembered by the text's digest: a text is read for them once, however often asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar
from weakref import WeakKeyDictionary

from inspector.session.model import TextUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.session.model import Block, Session
    from inspector.strategies.core.operations import BlockSource
    from inspector.strategies.core.rendition import Rendition
    from inspector.strategies.core.strategy import Moment
    from inspector.strategies.history.conversation_items import Entry
    from inspector.strategies.history.history import History

Size = TypeVar("Size")

_REMEMBERED = 200_000


class Measure:
    """A number a text has, such as its bytes or lines."""

    def __init__(self, of: Callable[[str], int]) -> None:
        """Make a measure.

        Args:
            of: Works the number out.
        """
        self._of = of
        self._known: dict[bytes, int] = {}

    def of_text(self, text: str) -> int:
        """The number of a text."""
        return self._of(text)

    def recorded(self, session: Session, block: Block) -> int:
        """The number of a recorded block; that of its length in blanks where its text cannot be read any more."""
        known = self._known.get(block.digest)
        if known is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            try:
                text = session.text(block)
            except TextUnavailableError:
                return self._of(" " * block.characters)
            known = self._known[block.digest] = self._of(text)
        return known

    def sent(self, moment: Moment, block: int) -> int:
        """The number of what would be sent of a block."""
        if moment.is_whole(block):
            session = moment.history.session
            return self.recorded(session, session.blocks[block])
        rendition = moment.rendition(block)
        if all(isinstance(piece, str) for piece in rendition.pieces):
            return self._of(rendition.text(""))
        try:
            return self._of(moment.text(block))
        except TextUnavailableError:
            return self._of(" " * rendition.length)


class EntryMeasure(Generic[Size]):
    """What a system takes an entry for, worked out once for a session where it is sent as it was recorded."""

    def __init__(self, of: Callable[[Moment, Entry], Size]) -> None:
        """Make a measure.

        Args:
            of: Works it out as the entry would be sent now.
        """
        self._of = of
        self._known: WeakKeyDictionary[History, dict[int, Size]] = WeakKeyDictionary()

    def within(self, history: History) -> Callable[[Moment, Entry], Size]:
        """The measure for one session's entries."""
        of, known = self._of, self._known.setdefault(history, {})

        def measured(moment: Moment, entry: Entry) -> Size:
            if not moment.are_whole(entry.blocks):
                return of(moment, entry)
            first = entry.blocks[0]
            if first not in known:
                known[first] = of(moment, entry)
            return known[first]

        return measured


def sent_text(rendition: Rendition, source: BlockSource) -> str | None:
    """The text a rendition sends; None where it cannot be read any more."""
    try:
        return rendition.text(source.text())
    except TextUnavailableError:
        return None
