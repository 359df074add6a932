"""Display name of a session: its title, otherwise its first prompt."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inspector.session.model import Session

_SLASH_COMMAND = re.compile(
    r"<command-name>\s*(?P<name>[^<]*?)\s*</command-name>(?:.*?<command-args>\s*(?P<arguments>[^<]*))?", re.DOTALL
)
"""A slash command as Claude Code records it instead of the typed text."""

_ENVELOPE = re.compile(r"\A(?:\s*<(?P<tag>[a-z]+[_-][a-z_-]+)>(?:(?!</?(?P=tag)>).){0,4000}</(?P=tag)>)+\s*", re.DOTALL)
"""Text that an agent puts before a typed prompt: `<current_datetime>…</current_datetime>`."""


def session_name(session: Session) -> str:
    """Return the name of a session that was read; empty without a title and a prompt. May contain any characters."""
    return first_name(session.title) or first_name(first_prompt(session))


def first_name(*candidates: str) -> str:
    """Return the first non-empty name on one line; pass a title before the first prompt."""
    return next((" ".join(_as_typed(each).split()) for each in candidates if each.strip()), "")


def _as_typed(text: str) -> str:
    command = _SLASH_COMMAND.search(text)
    if command is None or not text.lstrip().startswith("<command-"):
        return _ENVELOPE.sub("", text) or text
    return " ".join(filter(None, (command["name"], command["arguments"])))


def first_prompt(session: Session) -> str:
    """Return the first prompt made in this session, or the first inherited one if there are none."""
    from inspector.session.model import BlockKind, Role

    inherited = ""
    for message in session.messages:
        if message.role is Role.USER and not (message.is_meta or message.is_summary):
            for block in message.blocks:
                if block.kind is BlockKind.USER_TEXT and block.preview.strip():
                    if not message.is_inherited:
                        return block.preview
                    inherited = inherited or block.preview
    return inherited
