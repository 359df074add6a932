"""Replay VS Code's chat operations; every resulting value keeps its place in the file.

An operation is `{"kind": 0, "v": chat}` for a whole chat, `{"kind": 1, "k": path, "v": value}` to set, `{"kind": 2,
"k": path, "v": [...], "i": index}` to truncate an array at an index and append to it, or `{"kind": 3, "k": path}` to
delete. VS Code compacts a long log by rewriting the file with one whole chat.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from inspector.session.json.nodes import FileNode
from inspector.session.json.values import clean_string, mapping

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.session.json.nodes import Node

Slot: TypeAlias = "Node | dict[str, Slot] | list[Slot]"
"""A value as in the file, or opened because an operation changed a part of it."""

CHAT_FIELDS = frozenset({"customTitle", "sessionId"})

DEPTHS = {
    "requestId": 1,
    "timestamp": 1,
    "modelId": 1,
    "promptTokens": 1,
    "completionTokens": 1,
    "shouldBeRemovedOnSend": 1,
    "message": 2,
    "response": 2,
    "result": 4,
}
"""Request fields in use, and how deep operations may change them; values that become blocks are replaced whole."""


@dataclass(eq=False)
class LoggedRequest:
    """A request of the chat: the user's prompt and everything that followed from it.

    Attributes:
        fields: The fields in use.
        identifier: Its id.
        previous: The request before it at the time it was made; None for the first.
        is_removed: True if it was taken back or retried.
        version: Change counter.
    """

    fields: dict[str, Slot]
    identifier: str = ""
    previous: LoggedRequest | None = None
    is_removed: bool = False
    version: int = 0

    @property
    def is_left(self) -> bool:
        """True if the conversation went on without it: it was removed, or a checkpoint before it was restored."""
        undone = mapping(value_of(self.fields.get("shouldBeRemovedOnSend")))
        return self.is_removed or (bool(undone) and not undone.get("afterUndoStop"))


class OperationLog:
    """The current chat and its removed requests.

    Attributes:
        about: The chat's own fields in use.
        requests: The current requests.
        history: Every request, in order of creation.
    """

    def __init__(self) -> None:
        self.about: dict[str, Slot] = {}
        self.requests: list[LoggedRequest] = []
        self.history: list[LoggedRequest] = []
        self._removed: dict[str, LoggedRequest] = {}

    def begin(self, chat: Node) -> None:
        """Replace everything by a whole chat."""
        fields = chat.fields()
        self.about = {name: own(node) for name, node in fields.items() if name in CHAT_FIELDS}
        self.requests, self.history, self._removed = [], [], {}
        self._add(fields.items_of("requests"))

    def set(self, path: Sequence[str | int], value: Node | None) -> bool:
        """Set a value, or delete it if the new value is None; False if the path does not exist."""
        if path[0] != "requests":
            if len(path) == 1 and path[0] in CHAT_FIELDS:
                _put(self.about, path[0], value)
            return True
        if len(path) == 1:
            self._cut(0)
            self._add(value.items() if value is not None else [])
            return True
        request = self._request(path[1])
        if len(path) == 2:
            return self._replace(path[1], value)
        if request is None or path[2] not in DEPTHS:
            return request is not None
        container = _container(request.fields, path[2:])
        request.version += 1
        return container is not None and _put(container, path[-1], value)

    def push(self, path: Sequence[str | int], values: Sequence[Node], start: int | None) -> bool:
        """Truncate an array if `start` is set, and append to it; False if there is no array at the path."""
        if path[0] != "requests":
            return True
        if len(path) == 1:
            if start is not None:
                self._cut(start)
            self._add(values)
            return True
        request = self._request(path[1])
        if request is None or len(path) == 2 or path[2] not in DEPTHS:
            return request is not None and len(path) > 2
        container = _container(request.fields, path[2:])
        if container is None:
            return False
        array = _opened(_child(container, path[-1]), [])
        if not isinstance(array, list):
            return False
        if start is not None:
            del array[start:]
        array.extend(own(value) for value in values)
        request.version += 1
        return _put(container, path[-1], array)

    def _request(self, index: str | int) -> LoggedRequest | None:
        return self.requests[index] if isinstance(index, int) and 0 <= index < len(self.requests) else None

    def _replace(self, index: str | int, value: Node | None) -> bool:
        if value is None or self._request(index) is None or not isinstance(index, int):
            return False
        behind = self.requests[index + 1 :]
        self._cut(index)
        self._add([value])
        for request in behind:
            request.is_removed = False
            self._removed.pop(request.identifier, None)
        if behind:
            behind[0].previous = self.requests[-1]
        self.requests += behind
        self.history = [*(one for one in self.history if one not in behind), *behind]
        return True

    def _add(self, values: Sequence[Node]) -> None:
        for value in values:
            fields: dict[str, Slot] = {name: own(node) for name, node in value.fields().items() if name in DEPTHS}
            identifier = clean_string(value_of(fields.get("requestId")))
            request = LoggedRequest(fields, identifier, self.requests[-1] if self.requests else None)
            if again := self._removed.pop(identifier, None):
                self.history.remove(again)  # it was truncated and is added again
            self.requests.append(request)
            self.history.append(request)

    def _cut(self, start: int) -> None:
        for request in self.requests[max(start, 0) :]:
            request.is_removed = True
            if request.identifier:
                self._removed[request.identifier] = request
        del self.requests[max(start, 0) :]


def own(node: Node) -> Node:
    """Copy a value out of its line, so that a large line is not kept in memory."""
    return FileNode(node.raw(), node.offset) if isinstance(node, FileNode) else node


def child(slot: Slot | None, *names: str) -> Slot | None:
    """Return a nested value by names; None if it does not exist."""
    for name in names:
        if slot is None or isinstance(slot, list):
            return None
        slot = slot.get(name) if isinstance(slot, dict) else slot.fields().get(name)
    return slot


def children(slot: Slot | None) -> list[Slot]:
    """Return an array's items; empty for other values."""
    if slot is None or isinstance(slot, dict):
        return []
    return slot if isinstance(slot, list) else list(slot.items())


def value_of(slot: Slot | None) -> Any:
    """Return the plain value; None for an empty slot."""
    if isinstance(slot, dict):
        return {name: value_of(one) for name, one in slot.items()}
    if isinstance(slot, list):
        return [value_of(one) for one in slot]
    return slot.value() if slot is not None else None


def _opened(slot: Slot | None, otherwise: Slot | None = None) -> dict[str, Slot] | list[Slot] | None:
    """Return an object or array with changeable parts; None for other values."""
    if slot is None:
        slot = otherwise
    if slot is None or isinstance(slot, (dict, list)):
        return slot
    value = slot.value()
    if isinstance(value, dict):
        return dict(slot.fields())
    return list(slot.items()) if isinstance(value, list) else None


def _container(fields: dict[str, Slot], path: Sequence[str | int]) -> dict[str, Slot] | list[Slot] | None:
    """Return the container of a path's last key, opening values on the way; None if invalid or too deep."""
    if len(path) > DEPTHS[str(path[0])]:
        return None
    at: dict[str, Slot] | list[Slot] = fields
    for key in path[:-1]:
        inner = _opened(_child(at, key))
        if inner is None:
            return None
        _put(at, key, inner)
        at = inner
    return at


def _child(at: dict[str, Slot] | list[Slot], key: str | int) -> Slot | None:
    if isinstance(at, dict):
        return at.get(key) if isinstance(key, str) else None
    return at[key] if isinstance(key, int) and 0 <= key < len(at) else None


def _put(at: dict[str, Slot] | list[Slot], key: str | int, value: Slot | None) -> bool:
    if isinstance(value, FileNode):
        value = own(value)
    if isinstance(at, dict) and isinstance(key, str):
        if value is None:
            at.pop(key, None)
        else:
            at[key] = value
        return True
    if value is not None and isinstance(at, list) and isinstance(key, int) and 0 <= key <= len(at):
        at[key : key + 1] = [value]
        return True
    return False
