"""Explanation of a cache miss: one line above the call's response, the details below it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from inspector.replay.cache.miss_causes import MissCause
from inspector.replay.explain.miss_wording import describe_evidence, provider_reason
from inspector.replay.figure import HowKnown
from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import one_line
from inspector.ui.miss_glyphs import WITH_PLAN, dollars, mark_of, rewritten_tokens_text
from inspector.ui.timeline.previews import preview

if TYPE_CHECKING:
    from inspector.replay.analysis.cache_misses import CacheMiss
    from inspector.strategies.history.history import History
    from inspector.ui.detail.content import DetailContent

LONGEST_TEXT: Final = 200
"""Maximum length of the texts shown at the point where two prompts diverge, in characters."""


def detail_of_miss(
    content: DetailContent, miss: CacheMiss, history: History, *, with_plan: bool = False
) -> DetailContent:
    """Add the explanation of a cache miss, recorded or under the plan, to a call's response."""
    of = f" {WITH_PLAN}" if with_plan else ""
    parts = (
        f"{mark_of(miss.cause).glyph} cache miss{of}: {miss.cause.short}",
        rewritten_tokens_text(miss),
        dollars(miss.extra_usd),
    )
    head = ", ".join(filter(None, parts))
    return replace(content, lead=(head, *content.lead), tail=miss_lines(miss, history, of))


def miss_lines(miss: CacheMiss, history: History, of: str = "") -> tuple[str, ...]:
    """Return a heading and the details of a cache miss, one safe line each."""
    unread = f"{ON_SCREEN.whole(miss.tokens)} tokens"
    rows = [
        ("cause", miss.cause.label),
        ("source", _confidence_words(miss)),
        ("evidence", describe_evidence(replace(miss, reported=None), history.session)),
        *_parting(miss, history),
        ("provider", provider_reason(miss).removeprefix("the provider ")),
        ("in cache", f"{ON_SCREEN.whole(miss.could_read)} tokens of the prompt, {ON_SCREEN.whole(miss.read)} read"),
        ("rewritten", unread if miss.usd.value is None else f"{unread}, for {dollars(miss.usd)}"),
        ("if read", dollars(miss.read_usd)),
        ("extra cost", dollars(miss.extra_usd)),
        ("prevention", miss.cause.prevention or "none known"),
    ]
    width = max(len(name) for name, _ in rows)
    lines = (f"{name:<{width}}  {one_line(text)}" for name, text in rows if text)
    return (f"Cache miss{of} at call {ON_SCREEN.whole(miss.call + 1)}", *lines)


def _confidence_words(miss: CacheMiss) -> str:
    cause = "the provider named the cause" if miss.known is HowKnown.EXACT else "inferred from the file"
    tokens = "the provider's token counts" if miss.usd.known is HowKnown.EXACT else f"tokens {miss.usd.known.value}"
    return f"{cause}; {tokens}"


def _parting(miss: CacheMiss, history: History) -> list[tuple[str, str]]:
    """Return the texts where two prompts diverge: before and now."""
    before, now = miss.evidence.blocks
    if miss.cause is MissCause.PLAN_EDIT:
        return [("changed", _text_at(history, now))]
    return [("before", _text_at(history, before)), ("now", _text_at(history, now))]


def _text_at(history: History, block: int) -> str:
    """Return the message number of a block and the start of its text; empty for none."""
    session = history.session
    if not 0 <= block < len(session.all_blocks):
        return ""
    found = session.all_blocks[block]
    message = int(history.message[block]) + 1
    name = " ".join(filter(None, (found.kind.label, found.tool_name)))
    text = one_line(preview(found, session.working_directory), LONGEST_TEXT)
    return f"message {ON_SCREEN.whole(message)}, {one_line(name)}: {text}"
