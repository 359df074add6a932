"""What a strategy can do to a block's text. An operation is a value: equal operations do the same to every block.

An operation sees the rendition the strategies before it left and answers with the one to send instead. Because it is
a value, whatever is computed about it (the rendition of a block, its tokens) can be kept and found again while a limit
is dragged back and forth.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from inspector.session.model import TextUnavailableError
from inspector.strategies.core.parameters import TOKENS, ParameterError
from inspector.strategies.core.recall_command import RECALL, recall_command
from inspector.strategies.core.rendition import EMPTIED, REMOVED, Action, Rendition
from inspector.tokens.counter import estimated_tokens

if TYPE_CHECKING:
    from inspector.session.model import Block, BlockKind, Session


class BlockSource(Protocol):
    """What an operation may ask about the block it is applied to."""

    @property
    def block(self) -> Block:
        """The block as recorded."""
        ...

    @property
    def tool_name(self) -> str:
        """The tool of a call or result; empty for other blocks."""
        ...

    def text(self) -> str:
        """The block's recorded text, read when asked for."""
        ...

    @property
    def recall(self) -> str:
        """The command that prints the block's recorded text."""
        ...

    @property
    def tokens(self) -> int:
        """Tokens of its recorded text."""
        ...

    def head_characters(self, tokens: int) -> int:
        """How many characters the first `tokens` tokens of its recorded text make up."""
        ...

    def tail_characters(self, tokens: int) -> int:
        """How many characters the last `tokens` tokens of its recorded text make up."""
        ...


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
    def recall(self) -> str:
        """The command that prints the recorded text."""
        return recall_command(self.session, self.index)

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


class Operation(Protocol):
    """Turns the rendition of a block into another."""

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """The rendition to send in place of `rendition`; the same object where nothing changes."""
        ...


def sent_text(rendition: Rendition, source: BlockSource) -> str | None:
    """The text a rendition sends; None where it cannot be read any more."""
    try:
        return rendition.text(source.text())
    except TextUnavailableError:
        return None


@dataclass(frozen=True, slots=True)
class CutText:
    """Keep the first `head` and the last `tail` characters of a text longer than `limit`, and a marker between them.

    Attributes:
        limit: Longest text, in characters, that stays as it is.
        head: Characters kept from the beginning.
        tail: Characters kept from the end; 0 for none.
        marker: What stands for the part left out. With `numbered`, a `str.format` template that may name `length`
            and `removed` (characters, before and left out), `tool` and `recall`, the command that prints the whole.
        numbered: `marker` is a template; otherwise it is sent as it stands, braces and all, but for `{recall}`.
        never_longer: Leave a text whole when the cut would not make it shorter.
    """

    limit: int
    head: int
    tail: int
    marker: str
    numbered: bool = False
    never_longer: bool = False

    @property
    def recalls(self) -> bool:
        """Whether the marker says the command that prints the whole, and so differs from block to block."""
        return RECALL in self.marker

    def marker_text(self, length: int, tool: str, recall: str = "") -> str:
        """The marker for a text of `length` characters that `tool` produced and the command `recall` prints."""
        if not self.numbered:
            return self.marker.replace(RECALL, recall)
        return self.marker.format(length=length, removed=length - self.head - self.tail, tool=tool, recall=recall)

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """Cut what is sent so far, if it is longer than the limit."""
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
    """Keep the first `head` and the last `tail` tokens of a text of more than `limit`, and a marker between them.

    It cuts where tokens end. Of a text that a strategy before it has changed, they end where they would if what is left
    of it had as many tokens to a character as the whole has.

    Attributes:
        limit: Most tokens of a text that stays as it is.
        head: Tokens kept from the beginning.
        tail: Tokens kept from the end; 0 for none.
        marker: As in `CutText`; `length` and `removed` are characters, and it may name `tokens`, what the text has.
        numbered: As in `CutText`.
        never_longer: As in `CutText`.
    """

    limit: int
    head: int
    tail: int
    marker: str
    numbered: bool = False
    never_longer: bool = False

    @property
    def recalls(self) -> bool:
        """As in `CutText`."""
        return RECALL in self.marker

    def marker_text(self, length: int, removed: int, tokens: int, tool: str, recall: str = "") -> str:
        """The marker for a text of so many characters and tokens that `tool` produced; see `CutText`."""
        if not self.numbered:
            return self.marker.replace(RECALL, recall)
        return self.marker.format(length=length, removed=removed, tokens=tokens, tool=tool, recall=recall)

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """Cut what is sent so far, if it has more tokens than the limit."""
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
    """See that a marker's template can be filled in.

    Raises:
        ParameterError: It cannot; the message names the parameter, the template and what it may name.
    """
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
        f"{parameter}: {marker!r} is no template; it may name {{length}}, {{removed}}, {{removed:,}}, {{tool}}, "
        f"{{recall}}, and a brace is written twice"
    )


def cut_in(
    unit: str, limit: int, head: int, tail: int, marker: str, *, numbered: bool = False, never_longer: bool = False
) -> CutText | CutTokens:
    """A cut whose limits count characters or tokens."""
    kind = CutTokens if unit == TOKENS else CutText
    return kind(limit, head, tail, marker, numbered=numbered, never_longer=never_longer)


@dataclass(frozen=True, slots=True)
class ReplaceText:
    """Send `text` in place of the block's.

    Attributes:
        text: What is sent instead.
        never_longer: Leave the block as it is when `text` would not be shorter.
    """

    text: str
    never_longer: bool = False

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:  # noqa: ARG002  the same for every block
        """Replace whatever is sent so far."""
        if self.never_longer and len(self.text) >= rendition.length:
            return rendition
        return Rendition.replaced(self.text, rendition.kind)


@dataclass(frozen=True, slots=True)
class ReplaceWithMessage:
    """Send a message of the user's or the model's in the place of a block, whatever that is.

    Attributes:
        text: What the message says.
        kind: Whose words they are: user text or assistant text.
    """

    text: str
    kind: BlockKind

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:  # noqa: ARG002  the same for every block
        """Replace whatever is sent so far."""
        return Rendition.replaced(self.text, self.kind)


@dataclass(frozen=True, slots=True)
class RemoveBlock:
    """Send nothing of the block, not even its envelope.

    Attributes:
        leaves_message: A message of the model of which only removed calls beside its content are left is sent empty;
            otherwise it goes too.
    """

    leaves_message: bool = False

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:  # noqa: ARG002  of every block alike
        """Remove whatever is sent so far; a message that another strategy has removed does not come back empty."""
        return EMPTIED if self.leaves_message and rendition != REMOVED else REMOVED


@dataclass(frozen=True, slots=True)
class StandForRemoved:
    """Send `text` in place of a block that stands for itself and for others, which are removed.

    Attributes:
        text: What is sent instead.
    """

    text: str

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:  # noqa: ARG002  the same for every block
        """Replace whatever is sent so far."""
        return Rendition.replaced(self.text, rendition.kind)


def goes_with_others(operation: Operation | None) -> bool:
    """Whether an operation is but a part: a block goes, a message is sent in its place, or stands for such."""
    return isinstance(operation, RemoveBlock | ReplaceWithMessage | StandForRemoved)


@dataclass(frozen=True, slots=True)
class ClearInput:
    """Send a call without input."""

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:  # noqa: ARG002  the same for every block
        """An empty object in place of whatever is sent so far."""
        return Rendition(("{}",), Action.CUT, rendition.kind)
