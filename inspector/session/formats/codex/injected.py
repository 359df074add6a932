"""User messages that nobody typed: what Codex tells the model in the user's name.

The beginnings are those by which Codex itself tells them (`codex-rs/core/src/context/contextual_user_message.rs` and
`codex-rs/protocol/src/instruction_markers.rs` of openai/codex).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inspector.session.model import Block

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
"""How the user message begins that hands a compacted conversation over."""


def is_injected(blocks: Iterable[Block]) -> bool:
    """Whether a user message was written by Codex: one of its parts is."""
    return any(block.preview.lstrip().lower().startswith(BEGINNINGS) for block in blocks)


def is_summary(blocks: Iterable[Block]) -> bool:
    """Whether a user message stands for a compacted conversation."""
    return any(block.preview.lstrip().lower().startswith(SUMMARY_BEGINNINGS) for block in blocks)
