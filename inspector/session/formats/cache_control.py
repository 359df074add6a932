"""Marks of requests to Anthropic's API that say where its prompt cache is to keep an entry: `cache_control`.

A mark stands on a part of a message, on a part of the system text, on a tool, or on the request as a whole, where it
stands for one behind its end. Programs that speak through a gateway also put it on a message, or on a part of a tool's
result. Tools for Amazon Bedrock's Converse API have one behind them, the `cachePoint`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.session.formats.bedrock_converse import CACHE_POINT
from inspector.session.formats.chat import SYSTEM
from inspector.session.json.values import clean_string, mapping, objects, sequence
from inspector.session.model import BlockKind, RecordedMark

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from inspector.session.blocks import TextBlock
    from inspector.session.model import Block

CACHE_CONTROL = "cache_control"
"""The field, of parts and of requests."""


class PlacedMark(NamedTuple):
    """A mark inside a message.

    Attributes:
        block: Index of the block it stands behind.
        lifetime: As in `RecordedMark`.
    """

    block: int
    lifetime: str


def lifetime_of(part: Any) -> str | None:
    """How long a mark on a part asks to keep what stands before it, empty for the usual; None without a mark."""
    fields = mapping(part)
    mark = fields.get(CACHE_CONTROL) or fields.get(CACHE_POINT)
    return clean_string(mark.get("ttl")) if isinstance(mark, dict) else None


def marks_of_message(entry: Mapping[str, Any], blocks: Sequence[TextBlock]) -> tuple[PlacedMark, ...]:
    """The marks in a chat message.

    Args:
        entry: The message.
        blocks: Its blocks.
    """
    content = sequence(entry.get("content"))
    found = []
    for index, made in enumerate(blocks):
        origin = made.block.origin
        if made.block.kind is BlockKind.TOOL_RESULT and entry.get("role") == "tool":
            parts = content
        elif not origin.locator and origin.part < len(content):
            part = content[origin.part]
            parts = [*objects(mapping(part).get("content")), part]
        else:
            continue
        found += [PlacedMark(index, lifetime) for part in parts if (lifetime := lifetime_of(part)) is not None]
    if blocks and (lifetime := lifetime_of(entry)) is not None:
        found.append(PlacedMark(len(blocks) - 1, lifetime))
    return tuple(found)


def marks_of_definition(value: Any, locator: str, first: int) -> tuple[PlacedMark, ...]:
    """The marks on system text or tools. All tools are one block, so that a mark on any stands behind it.

    Args:
        value: The system text, or the tools.
        locator: Which of both.
        first: Index of the first block that it makes in its message.
    """
    places = ((index if locator == SYSTEM else 0, part) for index, part in enumerate(sequence(value)))
    found = ((first + place, lifetime_of(part)) for place, part in places)
    return tuple(PlacedMark(place, lifetime) for place, lifetime in found if lifetime is not None)


def marks_of_prompt(
    sent: Iterable[tuple[Sequence[Block], Sequence[PlacedMark], Sequence[Block]]], whole: str | None
) -> tuple[RecordedMark, ...]:
    """The marks of a request, by rising place; of several behind the same block, the last one.

    Args:
        sent: Per message, its blocks as this request has them, their marks, and its blocks in the prompt: those of the
            request that said it first, which may have had reasoning that is not sent again.
        whole: What the mark on the request as a whole asks for, where it has one.
    """
    found: dict[int, str] = {}
    before = 0
    for own, marks, kept in sent:
        for mark in marks:
            found[before + _place_in(own, mark.block, kept) + 1] = mark.lifetime
        before += len(kept)
    if whole is not None and before:
        found.setdefault(before, whole)
    return tuple(RecordedMark(blocks, lifetime) for blocks, lifetime in sorted(found.items()))


def _place_in(own: Sequence[Block], place: int, kept: Sequence[Block]) -> int:
    """Where a block of a message stands among those that are kept of it."""
    if len(own) == len(kept):
        return place
    behind = sum(block.kind is not BlockKind.THINKING for block in own[place + 1 :])
    places = [at for at, block in enumerate(kept) if block.kind is not BlockKind.THINKING]
    return places[-1 - behind] if behind < len(places) else max(len(kept) - 1, 0)
