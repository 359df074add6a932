"""Measure texts as recorded and as they would be sent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Generic, TypeVar

from inspector.session.model import Block, Session, TextUnavailableError
from inspector.strategies.core import javascript
from inspector.strategies.history.memo import TextMemo, cache_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.strategies.core.strategy import CallContext
    from inspector.strategies.history.conversation_items import ConversationItem
    from inspector.strategies.history.history import History

Size = TypeVar("Size")

CHARACTERS_PER_TOKEN = 4
"""Characters per token assumed by programs without a tokenizer."""


class Measure(TextMemo[int]):
    """A number measured on a text, such as its bytes or lines."""

    def __init__(self, of: Callable[[str], int]) -> None:
        super().__init__(of, -1)

    def recorded(self, session: Session, block: Block) -> int:
        """Measure a recorded block; if its text can no longer be read, measure as many blanks."""
        # Called for every block of every call, and cached after the first time.
        number = self._known.get(block.digest)
        if number is None:
            number = self(session, block)
        return number if number >= 0 else self.of_text(" " * block.characters)

    def sent(self, context: CallContext, block: int) -> int:
        """Measure a block as it would be sent."""
        if context.is_whole(block):
            session = context.history.session
            return self.recorded(session, session.blocks[block])
        rendition = context.rendition(block)
        if all(isinstance(piece, str) for piece in rendition.pieces):
            return self.of_text(rendition.text(""))
        try:
            return self.of_text(context.text(block))
        except TextUnavailableError:
            return self.of_text(" " * rendition.length)


class ItemMeasure(Generic[Size]):
    """A system's size of an item, computed once per session if the item is sent as recorded."""

    def __init__(self, of: Callable[[CallContext, ConversationItem], Size]) -> None:
        self._of = of

    def within(self, history: History) -> Callable[[CallContext, ConversationItem], Size]:
        of = self._of
        known: dict[int, Size] = cache_for(history, self)

        def measured(context: CallContext, item: ConversationItem) -> Size:
            if not context.are_whole(item.blocks):
                return of(context, item)
            first = item.blocks[0]
            if first not in known:
                known[first] = of(context, item)
            return known[first]

        return measured


JSON_CHARACTERS = Measure(javascript.json_length)
"""Length of a text as a JSON string, in UTF-16 units."""


UNITS = Measure(javascript.length)
"""Length of a text in UTF-16 units."""


def _written_again(text: str) -> int:
    try:
        return javascript.length(javascript.compact_json(json.loads(text)) if text else "{}")
    except (ValueError, RecursionError):
        return javascript.length(text)


ARGUMENT_UNITS = Measure(_written_again)
"""Length of a JSON text as `JSON.stringify` writes it, in UTF-16 units; of the text itself if it is not JSON."""
