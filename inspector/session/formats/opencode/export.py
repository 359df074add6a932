"""A session as `opencode export` writes it: one JSON document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.session.formats.opencode.conversation import fill
from inspector.session.formats.opencode.parts import ERROR
from inspector.session.formats.opencode.stored import Stored
from inspector.session.formats.opencode.views import message_view, part_view, session_view
from inspector.session.model import Origin
from inspector.session.nodes import objects_among
from inspector.session.values import mapping

if TYPE_CHECKING:
    from inspector.session.assembly import Assembly
    from inspector.session.nodes import Node


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
        for part, value in objects_among(inner["parts"].items() if "parts" in inner else (), "a part", assembly):
            parts.append(part_view(value, "", view.role, _origin(part)))
        stored.append(Stored(view, parts))
    fill(assembly, session, stored)


def _origin(node: Node) -> Origin:
    return Origin(node.offset, node.length)
