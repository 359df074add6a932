"""The types of records, and the names that readers and recognition have in common."""

from __future__ import annotations

NAME = "gemini-cli"

CHATS = "chats"
"""The folder of a project's sessions."""

MESSAGES = "messages"
"""Where a document, or a checkpoint, has its records."""

SPOKEN = frozenset({"user", "gemini"})
"""Types of records that are part of the conversation."""

BESIDE = frozenset({"info", "error", "warning"})
"""Types of records that are shown beside it."""

KINDS = SPOKEN | BESIDE
