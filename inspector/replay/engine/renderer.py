"""Render blocks: their renditions and tokens under the operations of a plan's strategies.

A stack is the sequence of operations of a plan's strategies on one block. Most blocks have a stack of one, and most of
those are cuts, so these are computed for all blocks at once; all others are computed block by block and cached.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from inspector.errors import InspectorError
from inspector.strategies.core.operations import (
    Action,
    CutText,
    CutTokens,
    Operation,
    RecordedBlock,
    RemoveBlock,
    Rendition,
    ReplaceText,
    Slice,
    recall_command,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from inspector.strategies.history.history import History
    from inspector.tokens.token_table import TokenTable

Stack = tuple[Operation, ...]

MOST_CUTS = 16
"""Number of most recent cuts with cached block tokens."""

_FEW = 8
"""Number of blocks below which lists are faster than arrays."""

MAX_CACHED = 250_000
"""Maximum cached renditions, and rendered blocks in addition to the last plan's: tens of megabytes."""


class ReplayCancelledError(InspectorError):
    """A replay was cancelled because its result is no longer needed."""

    advice = "start the replay again"


@dataclass(frozen=True, slots=True)
class _CountedBlock(RecordedBlock):
    table: TokenTable

    @property
    def tokens(self) -> int:
        return int(self.table.tokens[self.index] - self.table.beyond_text[self.index])

    def head_characters(self, tokens: int) -> int:
        return int(self.table.head_characters([self.index], tokens)[0])

    def tail_characters(self, tokens: int) -> int:
        return int(self.table.tail_characters([self.index], tokens)[0])


@dataclass(frozen=True, eq=False, slots=True)
class RenderedBlocks:
    """Results of stacks applied to blocks, as columns of one length.

    Attributes:
        tokens: Tokens sent, int32.
        action: `Action`, uint8; `WHOLE` if the stack changes nothing.
        signature: Hash of a block's rendition: equal signatures mean equal renditions. int64.
    """

    tokens: NDArray[np.int32]
    action: NDArray[np.uint8]
    signature: NDArray[np.int64]


class _Cuts(NamedTuple):
    """Results of one cut applied to blocks.

    Attributes:
        asked: The blocks, int32.
        over: True for blocks longer than its limit, bool.
        tokens: Per block over the limit, its tokens, int32.
        signature: Per block over the limit, as in `RenderedBlocks.signature`, int64.
    """

    asked: NDArray[np.int32]
    over: NDArray[np.bool_]
    tokens: NDArray[np.int32]
    signature: NDArray[np.int64]


@dataclass
class Renderer:
    """Applies stacks to the blocks of one session, and caches expensive results.

    Attributes:
        precise: Count the tokens of every cut text exactly, which reads it; otherwise interpolate from recorded token
            offsets, within a few tokens.
        cancelled: Polled during a replay; once it returns True, the replay raises `ReplayCancelledError`. Every replay
            calls its renderer often enough to be stopped here.
    """

    history: History
    table: TokenTable
    precise: bool = False
    cancelled: Callable[[], bool] | None = None
    _renditions: dict[Stack, dict[int, Rendition]] = field(default_factory=dict)
    _rendered: dict[Stack, dict[int, tuple[int, int, int]]] = field(default_factory=dict)
    _rendition_count: int = 0
    _rendered_count: int = 0
    _cuts: dict[CutText, _Cuts] = field(default_factory=dict)

    def check_cancelled(self) -> None:
        """Raise `ReplayCancelledError` if the replay was cancelled; called regularly during a replay."""
        if self.cancelled is not None and self.cancelled():
            raise ReplayCancelledError

    def rendition(self, block: int, stack: Stack) -> Rendition:
        known = self._renditions.get(stack)
        if known is None:
            known = self._renditions[stack] = {}
        if block not in known:
            known[block] = self._rendition(block, stack)
            self._rendition_count += 1
            if self._rendition_count > MAX_CACHED:
                self._rendition_count = 0
                self._renditions.clear()
        return known[block]

    def _rendition(self, block: int, stack: Stack) -> Rendition:
        self.check_cancelled()
        source = _CountedBlock(self.history.session, block, self.table)
        rendition = Rendition.whole(int(self.history.characters[block]))
        for operation in stack:
            rendition = operation.apply(rendition, source)
        return rendition

    def tokens(self, block: int, rendition: Rendition) -> int:
        if rendition.action is Action.WHOLE:
            return int(self.table.tokens[block])
        if rendition.action is not Action.CUT and all(isinstance(piece, str) for piece in rendition.pieces):
            return sum(self.table.text_tokens(piece) for piece in rendition.pieces if isinstance(piece, str))
        if self.precise:
            return int(self._tokens_of([block], [rendition])[0])
        beyond = int(self.table.beyond_text[block]) if rendition.action is Action.CUT else 0
        return beyond + sum(
            self.table.text_tokens(piece) if isinstance(piece, str) else max(self.table.span_tokens(block, *piece), 0)
            for piece in rendition.pieces
        )

    def render(self, blocks: NDArray[np.int32], stacks: NDArray[np.int32], table: tuple[Stack, ...]) -> RenderedBlocks:
        """Apply the stack `table[stacks[i]]` to `blocks[i]`, for all `i`."""
        self.check_cancelled()
        result = RenderedBlocks(
            tokens=self.table.tokens[blocks].astype(np.int32),
            action=np.zeros(len(blocks), dtype=np.uint8),
            signature=np.zeros(len(blocks), dtype=np.int64),
        )
        # Small integers sort much faster than large ones, and tables are short.
        order = np.argsort(stacks.astype(np.min_scalar_type(len(table))), kind="stable")
        bounds = np.searchsorted(stacks[order], np.arange(len(table) + 1)).tolist()
        left: list[tuple[Stack, int, int]] = []
        for stack, first, last in zip(table, bounds, bounds[1:], strict=False):
            if first == last or not stack:
                continue
            where = order[first:last]
            is_quicker_one_by_one = last - first < _FEW and isinstance(stack[0], ReplaceText | RemoveBlock)
            if is_quicker_one_by_one or not self._apply(blocks[where], where, stack, result):
                left.append((stack, first, last))
        self._one_by_one(left, blocks, order, result)
        return result

    def _apply(self, blocks: NDArray[np.int32], where: NDArray[np.int64], stack: Stack, result: RenderedBlocks) -> bool:
        """Apply a stack to all its blocks at once, and return False if that is not possible."""
        match stack:
            case (CutText() as cut,) if not self.precise and not (cut.numbered and cut.never_longer):
                self._cut_all(cut, blocks, where, result)
            case (CutTokens() as cut,) if not self.precise and not cut.never_longer:
                self._cut_tokens_of_all(cut, blocks, where, result)
            case (ReplaceText(text=text, never_longer=False),):
                result.tokens[where] = self.table.text_tokens(text)
                result.action[where] = Action.REPLACED
                result.signature[where] = _signature_of(Rendition.replaced(text), 0)
            case (RemoveBlock(),):
                result.tokens[where] = 0
                result.action[where] = Action.REMOVED
                result.signature[where] = _SIGNATURE_OF_REMOVED
            case _:
                return False
        return True

    def _cut_all(
        self, cut: CutText, blocks: NDArray[np.int32], where: NDArray[np.int64], result: RenderedBlocks
    ) -> None:
        # When limits are changed one at a time, most cuts are the same as in the previous plan.
        known = self._cuts.pop(cut, None)
        if known is None or not np.array_equal(known.asked, blocks):
            known = self._cut(cut, blocks)
        self._cuts[cut] = known
        for forgotten in list(self._cuts)[:-MOST_CUTS]:
            self._cuts.pop(forgotten, None)
        where = where[known.over]
        result.tokens[where] = known.tokens
        result.action[where] = Action.CUT
        result.signature[where] = known.signature

    def _cut(self, cut: CutText, blocks: NDArray[np.int32]) -> _Cuts:
        asked, characters = blocks, self.history.characters[blocks]
        over = characters > cut.limit
        if cut.never_longer:
            if cut.recalls:
                lengths = np.array([len(marker) for marker in self._markers(cut, blocks[over], characters[over])])
                over[over] = cut.head + lengths.astype(np.int64) + cut.tail < characters[over]
            else:
                over &= cut.head + len(cut.marker) + cut.tail < characters
        blocks, characters = blocks[over], characters[over]
        head = np.minimum(cut.head, characters).astype(np.int32)
        tokens = self.table.head_tokens(blocks, head).astype(np.int32)
        if cut.tail:
            tokens += self.table.tail_tokens(blocks, np.minimum(cut.tail, characters).astype(np.int32))
        tokens += self.table.beyond_text[blocks]
        markers = self._markers(cut, blocks, characters)
        if len(markers) == 1:
            tokens += self.table.text_tokens(markers[0])
        else:
            tokens += np.array([self.table.text_tokens(marker) for marker in markers], dtype=np.int32)
        of_marker = np.array([_number(marker) for marker in markers], dtype=np.int64)
        return _Cuts(asked, over, tokens, _signature(of_marker, head, np.minimum(cut.tail, characters)))

    def _cut_tokens_of_all(
        self, cut: CutTokens, blocks: NDArray[np.int32], where: NDArray[np.int64], result: RenderedBlocks
    ) -> None:
        counted = (self.table.tokens[blocks] - self.table.beyond_text[blocks]).astype(np.int64)
        over = counted > cut.limit
        blocks, where, counted = blocks[over], where[over], counted[over]
        characters = self.history.characters[blocks].astype(np.int64)
        head = self.table.head_characters(blocks, cut.head)
        tail = np.minimum(self.table.tail_characters(blocks, cut.tail), characters - head)
        # If a token ends inside a character, the text kept ends before that character.
        tokens = self.table.head_tokens(blocks, head).astype(np.int64) + self.table.tail_tokens(blocks, tail)
        markers = self._token_markers(cut, blocks, characters, characters - head - tail, counted)
        tokens += self.table.beyond_text[blocks] + np.array(
            [self.table.text_tokens(each) for each in markers], np.int64
        )
        result.tokens[where] = tokens
        result.action[where] = Action.CUT
        result.signature[where] = _signature(np.array([_number(each) for each in markers], dtype=np.int64), head, tail)

    def _token_markers(
        self,
        cut: CutTokens,
        blocks: NDArray[np.int32],
        characters: NDArray[np.int64],
        removed: NDArray[np.int64],
        counted: NDArray[np.int64],
    ) -> list[str]:
        if not (cut.numbered or cut.recalls):
            return [cut.marker] * len(blocks)
        names, tools = (*self.history.tool_names, ""), self.history.tool[blocks].tolist()
        recalls = self._recalls(cut, blocks)
        columns = zip(characters.tolist(), removed.tolist(), counted.tolist(), tools, recalls, strict=True)
        return [cut.marker_text(length, out, tokens, names[tool], says) for length, out, tokens, tool, says in columns]

    def _markers(self, cut: CutText, blocks: NDArray[np.int32], characters: NDArray[np.int32]) -> list[str]:
        """Return the marker of every block, or a single marker if all are the same."""
        if not (cut.numbered or cut.recalls) or not len(blocks):
            return [cut.marker]
        names, tools = self.history.tool_names, self.history.tool[blocks].tolist()
        return [
            cut.marker_text(length, names[tool] if tool >= 0 else "", says)
            for length, tool, says in zip(characters.tolist(), tools, self._recalls(cut, blocks), strict=True)
        ]

    def _recalls(self, cut: CutText | CutTokens, blocks: NDArray[np.int32]) -> list[str]:
        """Return the command that prints each block's original text, if the marker contains it."""
        if not cut.recalls:
            return [""] * len(blocks)
        return [recall_command(self.history.session, block) for block in blocks.tolist()]

    def _one_by_one(
        self,
        stacks: list[tuple[Stack, int, int]],
        blocks: NDArray[np.int32],
        order: NDArray[np.int64],
        result: RenderedBlocks,
    ) -> None:
        """Apply stacks block by block; each stack has the bounds of its rows in `order`, the result's row numbers."""
        if not stacks:
            return
        of_stacks = [blocks[order[first:last]].tolist() for _, first, last in stacks]
        rendered: list[dict[int, tuple[int, int, int]]] = []
        missing: list[tuple[dict[int, tuple[int, int, int]], int, Rendition]] = []
        for (stack, *_), of_stack in zip(stacks, of_stacks, strict=True):
            known = self._rendered.get(stack)
            if known is None:
                known = self._rendered[stack] = {}
            rendered.append(known)
            missing += [(known, block, self._rendition(block, stack)) for block in of_stack if block not in known]
        if missing:
            of_blocks = [block for _, block, _ in missing]
            tokens = self._tokens_of(of_blocks, [rendition for *_, rendition in missing]).tolist()
            lengths = self.history.characters[of_blocks].tolist()
            for (known, block, rendition), sent, length in zip(missing, tokens, lengths, strict=True):
                whole = rendition.action is Action.WHOLE
                known[block] = (
                    int(self.table.tokens[block]) if whole else sent,
                    int(rendition.action),
                    0 if whole else _signature_of(rendition, length),
                )
            self._forget(rendered, len(missing))
        found = array("q")
        for known, of_stack in zip(rendered, of_stacks, strict=True):
            for block in of_stack:
                found.extend(known[block])
        columns = np.array(found, dtype=np.int64).reshape(-1, 3)
        at = np.concatenate([order[first:last] for _, first, last in stacks])
        result.tokens[at], result.action[at], result.signature[at] = columns.T

    def _forget(self, used: list[dict[int, tuple[int, int, int]]], added: int) -> None:
        """Evict the oldest renditions of earlier plans above the limit: dragging a limit creates many."""
        self._rendered_count += added
        if self._rendered_count <= MAX_CACHED:
            return
        needed = set(map(id, used))
        for stack, known in list(self._rendered.items()):
            if self._rendered_count <= MAX_CACHED:
                break
            if id(known) not in needed:
                del self._rendered[stack]
                self._rendered_count -= len(known)

    def _tokens_of(self, blocks: list[int], renditions: list[Rendition]) -> NDArray[np.int32]:
        # Content besides the text (images, a call's name) is replaced together with the whole block.
        totals = np.where(
            [rendition.action in (Action.WHOLE, Action.CUT) for rendition in renditions],
            self.table.beyond_text[blocks],
            0,
        ).astype(np.int32)
        if self.precise:
            totals += [
                self.table.pieces_tokens(block, rendition.pieces)
                for block, rendition in zip(blocks, renditions, strict=True)
            ]
            return totals
        owners: list[int] = []
        slices: list[Slice] = []
        for at, rendition in enumerate(renditions):
            for piece in rendition.pieces:
                if isinstance(piece, Slice):
                    owners.append(at)
                    slices.append(piece)
                else:
                    totals[at] += self.table.text_tokens(piece)
        if owners:
            of_block = np.array(blocks, dtype=np.int32)[owners]
            starts, stops = np.array(slices, dtype=np.int32).T
            spans = self.table.head_tokens(of_block, stops) - self.table.head_tokens(of_block, starts)
            ends = (starts > 0) & (stops == self.history.characters[of_block])
            if ends.any():
                spans[ends] = self.table.tail_tokens(of_block[ends], (stops - starts)[ends])
            np.add.at(totals, owners, np.maximum(spans, 0))
        return totals


def _signature_of(rendition: Rendition, characters: int) -> int:
    """Return the signature of a rendition, which depends only on its pieces and block kind."""
    if rendition.action is Action.REMOVED:
        return _SIGNATURE_OF_REMOVED
    if rendition.kind is not None:
        return hash((rendition.pieces, rendition.kind))
    match rendition.pieces:
        case (str() as marker,):
            head = tail = 0
        case (Slice(start=0, stop=head), str() as marker):
            tail = 0
        case (str() as marker, Slice(start=tail_start, stop=end)) if end == characters:
            head, tail = 0, end - tail_start
        case (Slice(start=0, stop=head), str() as marker, Slice(start=tail_start, stop=end)) if end == characters:
            tail = end - tail_start
        case _:
            return hash((rendition.pieces, "sent"))
    mixed = _number(marker) + head * _OF_HEAD + tail * _OF_TAIL
    return (mixed + (1 << 63)) % (1 << 64) - (1 << 63)


def _number(marker: str) -> int:
    """Hash the replacement marker to a nonzero number, even for an empty marker; 0 is a whole block."""
    return hash((marker, "marker"))


_SIGNATURE_OF_REMOVED = hash("removed")
_OF_HEAD, _OF_TAIL = 0x9E3779B97F4A7C1, 0x2545F4914F6CDD1


def _signature(
    marker: NDArray[np.int64], head: NDArray[np.integer[Any]], tail: NDArray[np.integer[Any]]
) -> NDArray[np.int64]:
    """Hash marker, head and tail of cuts into signatures; sums wrap around."""
    heads, tails = head.astype(np.int64), tail.astype(np.int64)
    mixed: NDArray[np.int64] = marker + heads * _OF_HEAD + tails * _OF_TAIL
    return mixed
