"""What the detail shows of a block: its text, how it is sent at a call, and why."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import one_line
from inspector.session.model import BlockKind
from inspector.session.related import full_output
from inspector.strategies.core.rendition import Action
from inspector.ui.detail.content import CutNote, DetailContent
from inspector.ui.timeline.previews import media_label

if TYPE_CHECKING:
    from inspector.session.model import Session
    from inspector.tokens.token_table import TokenTable
    from inspector.ui.outcome import Outcome

_JSON_STARTS = ("{", "[")


def detail_of(session: Session, table: TokenTable, outcome: Outcome | None, index: int) -> DetailContent:
    """What is known of one block.

    Args:
        session: The session now; may have grown since the replay.
        table: Token counts; may be of a shorter session.
        outcome: The newest replay, or None before the first.
        index: Index of the block.
    """
    block = session.all_blocks[index]
    tokens = int(table.tokens[index]) if index < len(table.tokens) else 0
    title = " ".join(word for word in (block.kind.label, block.tool_name) if word)
    content = DetailContent(
        key=(session.path, block.origin, block.digest),
        title=f"{title}, {ON_SCREEN.plural(tokens, 'token')}",
        raw=partial(session.text, block),
        is_json=block.kind is BlockKind.TOOL_CALL or block.preview.lstrip().startswith(_JSON_STARTS),
        is_tool_call=block.kind is BlockKind.TOOL_CALL,
        media=tuple(one_line(media_label(media)) for media in block.media),
        record=partial(session.texts.record, block),
        stored=partial(full_output, session) if block.kind is BlockKind.TOOL_RESULT else None,
    )
    if outcome is None or index >= len(outcome.state.sent):
        return content
    return _at_call(content, outcome, index, is_error=block.is_error)


def detail_of_message(session: Session, table: TokenTable, outcome: Outcome | None, blocks: range) -> DetailContent:
    """What is known of all blocks of a message, which are shown as one.

    Args:
        session: The session now; may have grown since the replay.
        table: Token counts; may be of a shorter session.
        outcome: The newest replay, or None before the first.
        blocks: Their indices.
    """
    parts = tuple(detail_of(session, table, outcome, index) for index in blocks)
    tokens = int(table.tokens[blocks.start : blocks.stop].sum())
    title = f"{ON_SCREEN.plural(len(parts), 'block')}, {ON_SCREEN.plural(tokens, 'token')}"
    key = ("message", *(part.key for part in parts))
    return DetailContent(key, title, str, parts=parts)


def _at_call(content: DetailContent, outcome: Outcome, index: int, *, is_error: bool) -> DetailContent:
    state, replay = outcome.state, outcome.replay
    title = f"{content.title}, failed" if is_error else content.title
    if not state.in_prompt[index]:
        return replace(content, title=title, absent=absence(outcome, index))
    if state.action[index] == Action.WHOLE:
        return replace(content, title=title)
    since = replay.changed_at(index, state.call)
    note = CutNote(
        tokens=int(state.recorded[index]) - int(state.sent[index]),
        reason=replay.reason(index, state.call),
        call=since + 1 if since >= 0 else None,
    )
    rendition = replay.rendition(index, state.call)
    return replace(content, title=title, sent=rendition, note=note)


def absence(outcome: Outcome, index: int) -> str:
    """Why a block is in no prompt, or not in this call's."""
    history, call = outcome.replay.history, outcome.state.call
    enters, leaves = int(history.enters[index]), int(history.leaves[index])
    when = "the next call" if call == history.call_count else f"call {ON_SCREEN.whole(call + 1)}"
    if history.kind[index] == BlockKind.OTHER:
        return "A record the agent kept for itself: it was never sent."
    if enters > history.call_count:
        return f"Not in the prompt of {when}, nor of any other: it was never sent."
    if enters > call:
        return f"Not in the prompt of {when} yet: it is first sent at call {ON_SCREEN.whole(enters + 1)}."
    if leaves <= call:
        return f"No longer in the prompt of {when}: compacted or rewound away at call {ON_SCREEN.whole(leaves + 1)}."
    return f"Not in the prompt of {when}: it belongs to another conversation."
