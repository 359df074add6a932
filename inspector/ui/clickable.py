"""Words that run an action when they are clicked."""

from __future__ import annotations

from textual.content import Content
from textual.style import Style

ACTION = "inspector_action"
"""Says in a cell which action a click on it runs. Textual's own `@click` would draw it as a link."""


def clickable(text: str, action: str) -> Content:
    """A text, and the action a click on it runs; empty for none."""
    return Content.styled(text, Style.from_meta({ACTION: action}) if action else "")
