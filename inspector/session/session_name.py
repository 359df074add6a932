"""What a session is called wherever it is named: its title, else what was asked first in it. Its id is a detail."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inspector.session.model import Session

_SLASH_COMMAND = re.compile(
    r"<command-name>\s*(?P<name>[^<]*?)\s*</command-name>(?:.*?<command-args>\s*(?P<arguments>[^<]*))?", re.DOTALL
)
"""A slash command as Claude Code records it in place of what was typed."""

_ENVELOPE = re.compile(r"\A(?:\s*<(?P<tag>[a-z]+[_-][a-z_-]+)>(?:(?!</?(?P=tag)>).){0,4000}</(?P=tag)>)+\s*", re.DOTALL)
"""What an agent puts before a prompt that was typed: `<current_datetime>…</current_datetime>`."""


def session_name(session: Session) -> str:
    """The name of a session that was read; empty where it has neither a title nor a prompt. May hold any text."""
    return named(session.title) or named(first_prompt(session))


def named(*told: str) -> str:
    """The first of several names that says something, in one line; a title stands before the first prompt."""
    return next((" ".join(_as_typed(each).split()) for each in told if each.strip()), "")


def _as_typed(text: str) -> str:
    command = _SLASH_COMMAND.search(text)
    if command is None or not text.lstrip().startswith("<command-"):
        return _ENVELOPE.sub("", text) or text
    return " ".join(filter(None, (command["name"], command["arguments"])))


def first_prompt(session: Session) -> str:
    """What was said first in the session itself; in the one it goes on from, where nothing was said since."""
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
