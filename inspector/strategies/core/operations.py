"""Operations a strategy can apply to a block's text. Equal operations have the same effect on every block.

An operation receives the rendition that earlier strategies produced and returns the one to send instead. Because it is
a value, results derived from it (the rendition of a block, its token count) can be cached and reused while a limit is
dragged back and forth.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from inspector.session.model import BlockKind, TextUnavailableError
from inspector.strategies.core.parameters import TOKENS, ParameterError
from inspector.strategies.core.recall_command import RECALL, recall_command
from inspector.strategies.core.rendition import EMPTIED, EMPTIED_RESULT, REMOVED, Action, Rendition
from inspector.tokens.counter import estimated_tokens

if TYPE_CHECKING:
    from inspector.session.model import Block, Session


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
    def tokens(self) -> int:
        """Tokens of its recorded text."""
        ...

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
    """Check that a marker's template can be filled in.

    Raises:
        ParameterError: It cannot; the message names the parameter, the template and the allowed names.
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
    """Send `text` in place of the block's.

    Attributes:
        never_longer: Leave the block as it is if `text` would not be shorter.
    """

    text: str
    never_longer: bool = False

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:  # noqa: ARG002  same for every block
        if self.never_longer and len(self.text) >= rendition.length:
            return rendition
        return Rendition.replaced(self.text, rendition.kind)


@dataclass(frozen=True, slots=True)
class ReplaceWithMessage:
    """Send a user or assistant message in place of a block of any kind.

    Attributes:
        text: Text of the message.
        kind: User text or assistant text.
    """

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
