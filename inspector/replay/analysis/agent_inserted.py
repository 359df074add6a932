"""Detect user-side texts that the agent's program wrote: one rule for every page that divides a prompt.

If the format marks injected messages, these marks decide. In other formats, a text is injected if it begins with a
known prefix that programs add: reminders, task notices, command output, instructions, hooks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from inspector.session.model import BlockKind
from inspector.strategies.history.memo import cached_per_history

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.strategies.history.history import History

INJECTED: Final = "injected text"
"""Label of such texts: the usual term for text that a program adds in the user's role."""

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
"""Lower-case prefixes of injected texts."""

QUOTED: Final = "the user sent the following message:"
"""Follows a prefix if the program only forwards user input from the meantime."""


@cached_per_history
def injected_blocks(history: History) -> NDArray[np.bool_]:
    """Return True per block for user-side text that the program wrote, bool."""
    found = np.zeros(len(history.kind), dtype=np.bool_)
    messages, blocks = history.session.messages, history.session.blocks
    for block in np.flatnonzero(history.kind == BlockKind.USER_TEXT).tolist():
        found[block] = messages[history.message[block]].is_meta or _is_marked(blocks[block].preview)
    return found


def _is_marked(text: str) -> bool:
    """Return True if a text begins with a known prefix; forwarded text is tested too, because it may be a notice."""
    text = text.lstrip().lower()
    mark = next((each for each in BEGINNINGS if text.startswith(each)), "")
    forwarded = text.removeprefix(mark).lstrip()
    return _is_marked(forwarded.removeprefix(QUOTED)) if forwarded.startswith(QUOTED) and mark else bool(mark)
