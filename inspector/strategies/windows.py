"""The size of the model's context window, for rules that count in fractions of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inspector.strategies.history import History

USUAL_WINDOW = 200_000
"""Taken where neither the plan nor the session says, in tokens."""


def window_of(history: History, given: int) -> int:
    """The window in tokens: what the plan gives, or else what is known of the session's model, or the usual one."""
    return given or history.window or history.session.window or USUAL_WINDOW
