"""Recognize lines with a transcript."""

from __future__ import annotations

from typing import Any

from inspector.session.json.values import mapping, string

FIELD = "messages_display"


def is_transcript(value: Any) -> bool:
    return string(mapping(value).get(FIELD)).startswith(("user: ", "assistant: ", "system: "))
