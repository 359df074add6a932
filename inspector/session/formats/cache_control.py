"""Read the cache breakpoints of requests: Anthropic's `cache_control`, OpenAI's `prompt_cache_breakpoint`.

A breakpoint is set on a content part, a part of the system prompt, a tool, or the whole request, where it means the end
of the prompt. Gateway clients also set it on a message or on a part of a tool result. In the Bedrock Converse API,
tools are followed by a `cachePoint` instead.

OpenAI sets breakpoints on content parts (GPT-5.6 and later); `prompt_cache_options` has their lifetime. Unless its mode
is `explicit`, there is one more at the end of the prompt. A request writes the last four.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.session.formats.bedrock_converse import CACHE_POINT
from inspector.session.formats.chat import SYSTEM
from inspector.session.json import clean_string, mapping, objects, sequence
from inspector.session.model import BlockKind, RecordedBreakpoint

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from inspector.session.blocks import TextBlock
    from inspector.session.model import Block

CACHE_CONTROL = "cache_control"
"""Field name, in parts and in requests."""

CACHE_OPTIONS, CACHE_BREAKPOINT = "prompt_cache_options", "prompt_cache_breakpoint"
"""OpenAI's fields, in requests and in parts."""

MOST_WRITTEN = 4
"""Breakpoints that an OpenAI request writes at most."""

USUAL_LIFETIME = "30m"
"""Lifetime of OpenAI's cache entries unless the options have another one."""


class PlacedBreakpoint(NamedTuple):
    """A cache breakpoint inside a message.

    Attributes:
        block: Index of the block that the breakpoint follows.
        lifetime: As in `RecordedBreakpoint`.
    """

    block: int
    lifetime: str


def lifetime_of(part: Any) -> str | None:
    """Return the cache lifetime that a part requests, empty for the default; None without a breakpoint."""
    fields = mapping(part)
    mark = fields.get(CACHE_CONTROL) or fields.get(CACHE_POINT) or fields.get(CACHE_BREAKPOINT)
    return clean_string(mark.get("ttl")) if isinstance(mark, dict) else None


def with_options(marks: Sequence[RecordedBreakpoint], options: object, blocks: int) -> tuple[RecordedBreakpoint, ...]:
    """Return the breakpoints that an OpenAI request writes.

    Args:
        marks: Its explicit breakpoints, in ascending order.
        options: Its `prompt_cache_options`.
        blocks: Number of blocks in its prompt.
    """
    fields = mapping(options)
    lifetime = clean_string(fields.get("ttl")) or USUAL_LIFETIME
    places = {mark.blocks for mark in marks} | ({blocks} - {0} if fields.get("mode") != "explicit" else set())
    return tuple(RecordedBreakpoint(place, lifetime) for place in sorted(places))[-MOST_WRITTEN:]


def breakpoints_of_message(entry: Mapping[str, Any], blocks: Sequence[TextBlock]) -> tuple[PlacedBreakpoint, ...]:
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
        found += [PlacedBreakpoint(index, lifetime) for part in parts if (lifetime := lifetime_of(part)) is not None]
    if blocks and (lifetime := lifetime_of(entry)) is not None:
        found.append(PlacedBreakpoint(len(blocks) - 1, lifetime))
    return tuple(found)


def breakpoints_of_definition(value: Any, locator: str, first: int) -> tuple[PlacedBreakpoint, ...]:
    """Return the breakpoints of a system prompt or tool list. All tools form one block.

    Args:
        value: The system prompt or the tools.
        locator: `SYSTEM` or `TOOLS`.
        first: Index of the first resulting block in its message.
    """
    places = ((index if locator == SYSTEM else 0, part) for index, part in enumerate(sequence(value)))
    found = ((first + place, lifetime_of(part)) for place, part in places)
    return tuple(PlacedBreakpoint(place, lifetime) for place, lifetime in found if lifetime is not None)


def breakpoints_of_prompt(
    sent: Iterable[tuple[Sequence[Block], Sequence[PlacedBreakpoint], Sequence[Block]]], whole: str | None
) -> tuple[RecordedBreakpoint, ...]:
    """Return a request's breakpoints in order of position; of several after the same block, the last one.

    Args:
        sent: Per message: its blocks in this request, their breakpoints, and its blocks in the prompt. The latter come
            from the request that first contained the message and may include reasoning that is not sent again.
        whole: Lifetime of the breakpoint on the whole request, None without one.
    """
    found: dict[int, str] = {}
    before = 0
    for own, marks, kept in sent:
        for mark in marks:
            found[before + _place_in(own, mark.block, kept) + 1] = mark.lifetime
        before += len(kept)
    if whole is not None and before:
        found.setdefault(before, whole)
    return tuple(RecordedBreakpoint(blocks, lifetime) for blocks, lifetime in sorted(found.items()))


def _place_in(own: Sequence[Block], place: int, kept: Sequence[Block]) -> int:
    """Map the index of a sent block to its index among the prompt's blocks."""
    if len(own) == len(kept):
        return place
    behind = sum(block.kind is not BlockKind.THINKING for block in own[place + 1 :])
    places = [at for at, block in enumerate(kept) if block.kind is not BlockKind.THINKING]
    return places[-1 - behind] if behind < len(places) else max(len(kept) - 1, 0)
