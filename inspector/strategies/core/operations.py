"""Operations a strategy can apply to a block's text. Equal operations have the same effect on every block.

An operation receives the rendition that earlier strategies produced and returns the one to send instead. Because it is
a value, results derived from it (the rendition of a block, its token count) can be cached and reused while a limit is
dragged back and forth.

A rendition is how a block is sent (whole, cut, replaced or removed), as slices of its recorded text and inserted text.
It holds positions in the recorded text, never the text itself. Cutting a cut text again is therefore exact and costs
nothing until the characters are needed.
"""

from __future__ import annotations

import re
import shlex
from bisect import bisect_right
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from inspector.session.model import Block, BlockKind, Session, TextUnavailableError
from inspector.strategies.core.parameters import TOKENS, ParameterError
from inspector.tokens.counter import estimated_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence


RECALL = "{recall}"
"""Placeholder for the command in a marker's template."""


def recall_command(session: Session, index: int) -> str:
    """Return the command that prints a block's recorded text: by its unique id, or by its place in the session."""
    identifier = recall_name(session, index)
    option_end = "-- " if identifier.startswith("-") else ""
    return f"inspector recall {option_end}{shlex.quote(identifier)}"


def recall_call_command(session: Session, index: int) -> str:
    """Return the command that prints a tool call's recorded arguments; see `recall_command`."""
    command, _, asked = recall_command(session, index).partition(" recall ")
    return f"{command} recall --call {asked}"


def recall_name(session: Session, index: int) -> str:
    """Return the name to recall a block by: its tool call's id, or session and place if it has no unique id."""
    identifier = session.all_blocks[index].tool_call_id
    if not identifier or identifier in session.repeated_call_ids:
        return _reference(session, index)
    return identifier


def _reference(session: Session, index: int) -> str:
    message = bisect_right(session.first_blocks, index)
    within = index - session.first_blocks[message - 1]
    own = f".{within + 1}" if len(session.messages[message - 1].blocks) > 1 else ""
    return f"{session.identifier}:{message}{own}"


class Action(IntEnum):
    """Change made to a block, from least to most severe."""

    WHOLE = 0
    CUT = 1
    REPLACED = 2
    REMOVED = 3

    @property
    def label(self) -> str:
        return self.name.lower()


class Slice(NamedTuple):
    """Characters `start` to `stop` of the recorded text."""

    start: int
    stop: int


Piece = Slice | str


@dataclass(frozen=True, slots=True)
class Rendition:
    """One block as it is sent.

    Attributes:
        pieces: Sent text in order: slices of the recorded text, and text inserted in place of parts left out.
        kind: Kind the text is sent as if not the block's own, e.g. user text if a summary replaces a tool result;
            otherwise None.
    """

    pieces: tuple[Piece, ...]
    action: Action
    kind: BlockKind | None = None

    @classmethod
    def whole(cls, characters: int) -> Rendition:
        """Return the rendition of an unchanged block of `characters` characters."""
        return cls((Slice(0, characters),), Action.WHOLE)

    @classmethod
    def replaced(cls, text: str, kind: BlockKind | None = None) -> Rendition:
        """Return a rendition that sends `text` instead of the block's own, as a block of `kind` if given."""
        return cls((text,), Action.REPLACED, kind)

    @property
    def length(self) -> int:
        return sum(_length(piece) for piece in self.pieces)

    def text(self, recorded: str) -> str:
        """Return the characters that are sent, given the block's recorded text."""
        return "".join(
            recorded[piece.start : piece.stop] if isinstance(piece, Slice) else piece for piece in self.pieces
        )

    def between(self, start: int, stop: int) -> tuple[Piece, ...]:
        """Return the pieces of characters `start` to `stop` of the sent text (string slicing semantics)."""
        start, stop, _ = slice(start, stop).indices(self.length)
        kept: list[Piece] = []
        position = 0
        for piece in self.pieces:
            length = _length(piece)
            first, last = max(start - position, 0), min(stop - position, length)
            if first < last:
                if isinstance(piece, Slice):
                    kept.append(Slice(piece.start + first, piece.start + last))
                else:
                    kept.append(piece[first:last])
            position += length
        return tuple(kept)

    def cut_to(self, parts: Sequence[tuple[int, int] | str]) -> Rendition:
        """Cut the sent text to parts of it, given as (start, stop), with texts in place of the rest."""
        pieces: list[Piece] = []
        for part in parts:
            pieces.extend((part,) if isinstance(part, str) else self.between(*part))
        return Rendition(tuple(pieces), Action.CUT, self.kind)


REMOVED = Rendition((), Action.REMOVED)
EMPTIED = Rendition((), Action.REMOVED, BlockKind.ASSISTANT_TEXT)
"""A removed block in an assistant message that is still sent although it has no other content."""

EMPTIED_RESULT = Rendition((), Action.REMOVED, BlockKind.TOOL_RESULT)
"""A removed result of a batch that leaves an empty message if no other result of it is sent."""


def _length(piece: Piece) -> int:
    return piece.stop - piece.start if isinstance(piece, Slice) else len(piece)


class BlockSource(Protocol):
    """The facts about a block that an operation may use."""

    @property
    def block(self) -> Block: ...

    @property
    def tool_name(self) -> str:
        """The tool of a call or result; empty for other blocks."""
        ...

    def text(self) -> str:
        """Return the block's recorded text, read on demand."""
        ...

    @property
    def recall(self) -> str:
        """The command that prints the block's recorded text."""
        ...

    @property
    def tokens(self) -> int: ...

    def head_characters(self, tokens: int) -> int:
        """Return how many characters the first `tokens` tokens of the recorded text span."""
        ...

    def tail_characters(self, tokens: int) -> int:
        """Return how many characters the last `tokens` tokens of the recorded text span."""
        ...


@dataclass(frozen=True, slots=True)
class RecordedBlock:
    """A recorded block as operations see it; its text is read on demand."""

    session: Session
    index: int

    @property
    def block(self) -> Block:
        return self.session.blocks[self.index]

    @property
    def tool_name(self) -> str:
        return self.block.tool_name

    def text(self) -> str:
        return self.session.text(self.session.blocks[self.index])

    @property
    def recall(self) -> str:
        return recall_command(self.session, self.index)

    @property
    def tokens(self) -> int:
        """Tokens of its text, estimated because nothing was counted here."""
        return estimated_tokens(self.block.characters)

    def head_characters(self, tokens: int) -> int:
        characters = self.block.characters
        return min(tokens * characters // max(self.tokens, 1), characters)

    def tail_characters(self, tokens: int) -> int:
        return self.head_characters(tokens)


class Operation(Protocol):
    """A function from one rendition of a block to another, as a value."""

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """Return the rendition to send in place of `rendition`; the same object if nothing changes."""
        ...


def sent_text(rendition: Rendition, source: BlockSource) -> str | None:
    """Return the text a rendition sends; None if it can no longer be read."""
    try:
        return rendition.text(source.text())
    except TextUnavailableError:
        return None


@dataclass(frozen=True, slots=True)
class CutText:
    """Keep the first `head` and the last `tail` characters of a text longer than `limit`, with a marker between them.

    Attributes:
        limit: Longest text that is left whole, in characters.
        head: Characters kept from the beginning.
        tail: Characters kept from the end; 0 for none.
        marker: Text in place of the part left out. With `numbered`, a `str.format` template that may name `length` and
            `removed` (characters, before and left out), `tool`, and `recall`, the command that prints the full text.
        numbered: True if `marker` is a template; otherwise it is sent verbatim, including braces, except for
            `{recall}`.
        never_longer: Leave a text whole if the cut would not make it shorter.
    """

    limit: int
    head: int
    tail: int
    marker: str
    numbered: bool = False
    never_longer: bool = False

    @property
    def recalls(self) -> bool:
        """True if the marker names the command that prints the full text, and so differs from block to block."""
        return RECALL in self.marker

    def marker_text(self, length: int, tool: str, recall: str = "") -> str:
        """Format the marker for a text of `length` characters that `tool` produced and the command `recall` prints."""
        if not self.numbered:
            return self.marker.replace(RECALL, recall)
        return self.marker.format(length=length, removed=length - self.head - self.tail, tool=tool, recall=recall)

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        length = rendition.length
        if length <= self.limit:
            return rendition
        marker = self.marker_text(length, source.tool_name, source.recall if self.recalls else "")
        if self.never_longer and self.head + len(marker) + self.tail >= length:
            return rendition
        tail = rendition.between(max(length - self.tail, 0), length) if self.tail else ()
        return Rendition((*rendition.between(0, self.head), marker, *tail), Action.CUT, rendition.kind)


@dataclass(frozen=True, slots=True)
class CutTokens:
    """Keep the first `head` and the last `tail` tokens of a text of more than `limit`, with a marker between them.

    It cuts at token boundaries. In a text that an earlier strategy has changed, the boundaries are estimated from the
    recorded text's ratio of tokens to characters.

    Attributes:
        limit: Longest text that is left whole, in tokens.
        head: Tokens kept from the beginning.
        tail: Tokens kept from the end; 0 for none.
        marker: As in `CutText`; `length` and `removed` are characters, and it may name `tokens`, the text's token
            count.
    """

    limit: int
    head: int
    tail: int
    marker: str
    numbered: bool = False
    never_longer: bool = False

    @property
    def recalls(self) -> bool:
        return RECALL in self.marker

    def marker_text(self, length: int, removed: int, tokens: int, tool: str, recall: str = "") -> str:
        """Format the marker for a text of this length that `tool` produced; see `CutText`."""
        if not self.numbered:
            return self.marker.replace(RECALL, recall)
        return self.marker.format(length=length, removed=removed, tokens=tokens, tool=tool, recall=recall)

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        length, whole, tokens = rendition.length, source.block.characters, source.tokens
        if rendition.action is Action.WHOLE:
            head, tail = source.head_characters(self.head), source.tail_characters(self.tail)
        else:
            tokens = -(-length * tokens // whole) if whole else length
            head, tail = (min(length * each // max(tokens, 1), length) for each in (self.head, self.tail))
        if tokens <= self.limit:
            return rendition
        tail = min(tail, length - head)
        recall = source.recall if self.recalls else ""
        marker = self.marker_text(length, length - head - tail, tokens, source.tool_name, recall)
        if self.never_longer and head + len(marker) + tail >= length:
            return rendition
        end = rendition.between(length - tail, length) if tail else ()
        return Rendition((*rendition.between(0, head), marker, *end), Action.CUT, rendition.kind)


_IN_TEMPLATES = {"length": 1_000, "removed": 500, "tool": "Bash", "recall": "inspector recall toolu_01"}


def check_template(parameter: str, marker: str) -> None:
    """Check that a marker's template can be filled in. Raises `ParameterError` with the allowed names."""
    for name in re.findall(r"\{([^{}]*)\}", marker.replace("{{", "").replace("}}", "")):
        if re.fullmatch(r"(?:length|removed)(?::,)?|tool|recall", name) is None:
            break
    else:
        try:
            marker.format(**_IN_TEMPLATES)
        except (ValueError, LookupError, AttributeError):
            pass
        else:
            return
    raise ParameterError(
        f"{parameter}: {marker!r} is not a valid template; it may use {{length}}, {{removed}}, {{removed:,}}, {{tool}} "
        f"and {{recall}}; write a literal brace twice"
    )


def make_cut(
    unit: str, limit: int, head: int, tail: int, marker: str, *, numbered: bool = False, never_longer: bool = False
) -> CutText | CutTokens:
    kind = CutTokens if unit == TOKENS else CutText
    return kind(limit, head, tail, marker, numbered=numbered, never_longer=never_longer)


@dataclass(frozen=True, slots=True)
class ReplaceText:
    """Send `text` in place of the block's. `never_longer`: leave the block as it is if `text` would not be shorter."""

    text: str
    never_longer: bool = False

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:  # noqa: ARG002  same for every block
        if self.never_longer and len(self.text) >= rendition.length:
            return rendition
        return Rendition.replaced(self.text, rendition.kind)


@dataclass(frozen=True, slots=True)
class ReplaceWithMessage:
    """Send a user or assistant message in place of a block of any kind. `kind`: user text or assistant text."""

    text: str
    kind: BlockKind

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:  # noqa: ARG002  same for every block
        return Rendition.replaced(self.text, self.kind)


@dataclass(frozen=True, slots=True)
class RemoveBlock:
    """Send nothing of the block, not even its envelope.

    Attributes:
        leaves_message: Send an assistant message left with no content and only removed calls as an empty message;
            otherwise drop it too.
        leaves_results: Also send one empty message in place of tool messages that have all lost their results.
    """

    leaves_message: bool = False
    leaves_results: bool = False

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """Remove the block; a message that another strategy has removed does not come back empty."""
        if rendition == REMOVED or not self.leaves_message:
            return REMOVED
        is_result = self.leaves_results and source.block.kind is BlockKind.TOOL_RESULT
        return EMPTIED_RESULT if is_result else EMPTIED


@dataclass(frozen=True, slots=True)
class RemovedPlaceholder:
    """Send `text` in place of a block that represents itself and others, which are removed."""

    text: str

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:  # noqa: ARG002  same for every block
        return Rendition.replaced(self.text, rendition.kind)


def removes_in_group(operation: Operation | None) -> bool:
    """Return True if an operation is part of a group: it removes a block or replaces removed ones with a message."""
    return isinstance(operation, RemoveBlock | ReplaceWithMessage | RemovedPlaceholder)


@dataclass(frozen=True, slots=True)
class ClearInput:
    """Send a call without input."""

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:  # noqa: ARG002  same for every block
        return Rendition(("{}",), Action.CUT, rendition.kind)
