"""Apply compactions and rollbacks to a conversation.

Follows `codex-rs/core/src/compact.rs` and `codex-rs/core/src/context_manager/history.rs` in openai/codex.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import structs

from inspector.session.formats.responses.reader import ItemSide, blocks_of_item, side_of
from inspector.session.json.values import count, objects, string
from inspector.session.model import Compaction, ContextCause, Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from inspector.session.blocks import TextBlock
    from inspector.session.builder import SessionBuilder
    from inspector.session.formats.codex.records import RolloutLine
    from inspector.session.formats.responses.reader import ItemThread
    from inspector.session.model import Block, Message, Origin


BEGINNINGS = (
    "# agents.md instructions",
    "<codex_internal_context",
    "<collaboration_mode>",
    "<environment_context>",
    "<goal_context>",
    "<hook_prompt",
    "<permissions instructions>",
    "<recommended_plugins",
    "<skill",
    "<subagent_notification>",
    "<turn_aborted>",
    "<user_action>",
    "<user_instructions>",
    "<user_shell_command>",
)

SUMMARY_BEGINNINGS = (
    "another language model started to solve this problem",
    "you were originally given instructions from a user over one or more turns",
)
"""Prefixes of the user message with a compaction summary."""


def is_injected(blocks: Iterable[Block]) -> bool:
    """Return True if Codex wrote any part of a user message."""
    return any(block.preview.lstrip().lower().startswith(BEGINNINGS) for block in blocks)


def is_summary(blocks: Iterable[Block]) -> bool:
    return any(block.preview.lstrip().lower().startswith(SUMMARY_BEGINNINGS) for block in blocks)


KEPT_CHARACTERS = 80_000
"""Characters of user messages kept with a summary: the newest 20,000 tokens of four bytes."""

NONE = -1


def compacted_items(
    payload: Mapping[str, Any], origin: Origin, names: Mapping[str, str]
) -> Iterator[tuple[Mapping[str, Any], Sequence[TextBlock]]]:
    """Yield the items left by a compaction, each with its blocks; older versions recorded only a summary."""
    items = objects(payload.get("replacement_history"))
    if not items:
        message = string(payload.get("message"))
        items = [{"type": "message", "role": "user", "content": message}] if message else []
    part = 0
    for item in items:
        blocks = blocks_of_item(item, origin.at(part), names)
        part += len(blocks)
        yield item, blocks


class Compactions:
    """Reads compactions with the token counts reported before and after them."""

    def __init__(self, builder: SessionBuilder) -> None:
        self._builder = builder
        self._tokens: int | None = None
        self._open = NONE

    def read(self, line: RolloutLine, origin: Origin, thread: ItemThread, *, system: int, is_inherited: bool) -> None:
        """Begin the context left by a `compacted` line.

        An inherited line was copied from the continued session, which counts the compaction.
        """
        messages = self._builder.messages
        has_history = isinstance(line.payload.get("replacement_history"), list)
        kept = [system] if system != NONE else []
        if not has_history:
            kept += kept_without_history(messages, [index for index in thread.members if index not in kept])
        thread.close()
        thread.begin(ContextCause.COMPACTION, kept)
        if not is_inherited:
            self._note(len(messages), line.time)
        summary = string(line.payload.get("message"))
        for item, made in compacted_items(line.payload, origin, thread.tool_names):
            side = side_of(item)
            thread.join(
                side,
                [block for block, _ in made],
                time=line.time,
                is_call=False,
                is_meta=side is ItemSide.SYSTEM or (side is ItemSide.USER and is_injected(block for block, _ in made)),
                is_summary=side is ItemSide.USER and is_compaction_summary(made, summary, is_alone=not has_history),
                is_inherited=is_inherited,
            )
        thread.close()

    def _note(self, message: int, time: float | None) -> None:
        self._open = len(self._builder.compactions)
        self._builder.compactions.append(Compaction(message, tokens_before=self._tokens, time=time))

    def measure(self, last: Mapping[str, Any]) -> None:
        """Record the latest token count. The first one after a compaction belongs to no call and estimates the rest."""
        spoken = count(last.get("input_tokens")) + count(last.get("output_tokens"))
        if spoken:
            self._tokens, self._open = spoken, NONE
            return
        left = count(last.get("total_tokens"))
        if left and self._open != NONE:
            compactions = self._builder.compactions
            compactions[self._open] = structs.replace(compactions[self._open], tokens_after=left)
            self._tokens, self._open = left, NONE


def is_compaction_summary(made: Sequence[TextBlock], summary: str, *, is_alone: bool) -> bool:
    """Return True if a user message of a compacted conversation is its summary.

    Args:
        made: The message's blocks.
        summary: The summary text, if recorded separately as well.
        is_alone: The message is the only recorded item.
    """
    return is_alone or is_summary(block for block, _ in made) or (bool(summary) and any(summary == t for _, t in made))


def kept_without_history(messages: Sequence[Message], members: Sequence[int]) -> list[int]:
    """Return the messages that older versions kept with a summary: the newest from the user side, without results."""
    kept: list[int] = []
    room = KEPT_CHARACTERS
    for index in reversed(members):
        message = messages[index]
        if message.role not in (Role.USER, Role.SYSTEM) or message.is_summary:
            continue
        if not message.is_meta:
            room -= sum(block.characters for block in message.blocks)
        if message.is_meta or room >= 0:
            kept.append(index)
    return kept[::-1]


def rolled_back(messages: Sequence[Message], members: Sequence[int], turns: int) -> int:
    """Count the members left after rolling back the last turns.

    A turn begins with a user's prompt and includes messages injected immediately before it. Messages before the first
    turn stay.
    """
    starts = [place for place, index in enumerate(members) if _is_typed(messages[index])]
    if not starts or turns <= 0:
        return len(members)
    cut = starts[max(len(starts) - turns, 0)]
    while cut > starts[0] and messages[members[cut - 1]].is_meta:
        cut -= 1
    return cut


def _is_typed(message: Message) -> bool:
    return message.role is Role.USER and not message.is_meta
