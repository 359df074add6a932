"""Which texts of the user's side the agent's program wrote: one rule for every page that divides a prompt.

A message the format says was injected is; and in any other, a block that begins with one of the marks programs put
around what they add: reminders, notices of tasks, the output of commands, instructions, hooks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from inspector.session.model import BlockKind
from inspector.strategies.history.memo import once_a_history

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.strategies.history.history import History

INJECTED: Final = "injected text"
"""What such texts are called: the field's word for what a program adds in the user's place."""

BEGINNINGS: Final = (
    "# agents.md instructions",
    "<bash-stderr>",
    "<bash-stdout>",
    "<collaboration_mode>",
    "<environment_context>",
    "<environment_details>",
    "<environment_information>",
    "<hook_prompt",
    "<local-command-",
    "<new-diagnostics>",
    "<permissions instructions>",
    "<subagent_notification>",
    "<system-reminder>",
    "<system_reminder>",
    "<task-notification>",
    "<turn_aborted>",
    "<user_instructions>",
    "<teammate-message",
    "<user-prompt-submit-hook",
    "[request interrupted by user",
    "caveat: the messages below",
    "stop hook feedback:",
)
"""How texts begin, in lower case, that programs write."""

QUOTED: Final = "the user sent the following message:"
"""Follows a mark where the program only hands on what a person typed meanwhile."""


@once_a_history
def injected_blocks(history: History) -> NDArray[np.bool_]:
    """Per block, whether it is a text on the user's side that the program wrote, bool."""
    found = np.zeros(len(history.kind), dtype=np.bool_)
    messages, blocks = history.session.messages, history.session.blocks
    for block in np.flatnonzero(history.kind == BlockKind.USER_TEXT).tolist():
        found[block] = messages[history.message[block]].is_meta or _is_marked(blocks[block].preview)
    return found


def _is_marked(text: str) -> bool:
    """Whether a text begins with a mark; what is handed on is looked at itself: it may be a notice, too."""
    text = text.lstrip().lower()
    mark = next((each for each in BEGINNINGS if text.startswith(each)), "")
    handed_on = text.removeprefix(mark).lstrip()
    return _is_marked(handed_on.removeprefix(QUOTED)) if handed_on.startswith(QUOTED) and mark else bool(mark)
