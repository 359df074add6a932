"""Record types and shared names of the reader and format detection."""

from __future__ import annotations

NAME = "gemini-cli"

CHATS = "chats"
"""Folder of a project's sessions."""

MESSAGES = "messages"
"""Field with the records of a document or checkpoint."""

SPOKEN = frozenset({"user", "gemini"})
"""Types of conversation records."""

NOTICE_TYPES = frozenset({"info", "error", "warning"})
"""Types that are shown but not sent."""

KINDS = SPOKEN | NOTICE_TYPES
