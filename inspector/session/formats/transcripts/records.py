"""What a line looks like that holds a conversation written down as a text."""

from __future__ import annotations

from typing import Any

from inspector.session.json.values import mapping, string

FIELD = "messages_display"


def is_transcript(value: Any) -> bool:
    """Whether a value is a conversation written down as a text."""
    return string(mapping(value).get(FIELD)).startswith(("user: ", "assistant: ", "system: "))
