"""A session as `opencode export` writes it: one JSON document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.formats.opencode.conversation import Stored, fill
from inspector.session.formats.opencode.parts import ERROR
from inspector.session.formats.opencode.views import message_view, part_view, session_view
from inspector.session.model import Origin
from inspector.session.values import mapping, string

if TYPE_CHECKING:
    from inspector.session.assembly import Assembly
    from inspector.session.nodes import Node


def is_message(value: Any) -> bool:
    """Whether a value is a message with its parts."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("parts"), list)
        and mapping(value.get("info")).get("role") in ("user", "assistant")
    )


def is_export(value: Any) -> bool:
    """Whether a value is a session, or the messages of one."""
    if isinstance(value, list):
        return bool(value) and sum(map(is_message, value)) * 2 > len(value)
    if not isinstance(value, dict) or not isinstance(value.get("info"), dict):
        return False
    messages = value.get("messages")
    if not isinstance(messages, list):
        return False
    return is_export(messages) if messages else string(value["info"].get("id")).startswith("ses")


def interpret(node: Node, assembly: Assembly) -> None:
    """Fill an assembly from a document."""
    fields = node.fields()
    messages = fields["messages"].items() if "messages" in fields else node.items()
    session = session_view(mapping(fields["info"].value()) if "info" in fields else {})
    stored = []
    for message in messages:
        inner = message.fields()
        if "info" not in inner:
            assembly.diagnose("not a message", 0, max(message.offset, 0), skipped=True)
            continue
        info = inner["info"]
        view = message_view(mapping(info.value()), "", None, Origin(info.offset, info.length, 0, 0, ERROR))
        parts = []
        for part in inner["parts"].items() if "parts" in inner else ():
            value = part.value()
            if isinstance(value, dict):
                parts.append(part_view(value, "", view.role, _origin(part)))
            else:
                assembly.diagnose("not a part", 0, max(part.offset, 0), skipped=True)
        stored.append(Stored(view, parts))
    fill(assembly, session, stored)


def _origin(node: Node) -> Origin:
    return Origin(node.offset, node.length)
