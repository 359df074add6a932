"""Read VS Code's Copilot chats: an operation log per session; a JSON document in older versions and exports.

Checked against microsoft/vscode: `src/vs/workbench/contrib/chat/common/model/objectMutationLog.ts` (operations),
`chatSessionOperationLog.ts` (affected data), and microsoft/vscode-copilot-chat: `prompt/common/conversation.ts`
(`IResultMetadata`), `prompts/node/agent/summarizedConversationHistory.tsx` (construction of prompts).

An operation is `{"kind": 0, "v": chat}` for a whole chat, `{"kind": 1, "k": path, "v": value}` to set, `{"kind": 2,
"k": path, "v": [...], "i": index}` to truncate an array at an index and append to it, or `{"kind": 3, "k": path}` to
delete. VS Code compacts a long log by rewriting the file with one whole chat.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from inspector.session.files import is_folder
from inspector.session.format import Format, editor_folders
from inspector.session.json import FileNode, Node, clean_string, mapping, objects

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from inspector.session.reader import Reader
    from inspector.session.sniff import Sample


FOLDER = "chatSessions"
"""Folder of a workspace's sessions, in its folder below `workspaceStorage`."""

WINDOWS = "emptyWindowChatSessions"
"""Folder of sessions from windows without a workspace, in `globalStorage`."""


def is_operation(record: dict[str, Any]) -> bool:
    kind, path = record.get("kind"), record.get("k")
    if kind == 0 and isinstance(kind, int):
        return is_chat(record.get("v"))
    return kind in (1, 2, 3) and isinstance(path, list) and bool(path) and isinstance(path[0], str)


def is_chat(value: Any) -> bool:
    """Return True for a whole chat: its requests, and fields specific to VS Code."""
    chat = mapping(value)
    if not isinstance(chat.get("requests"), list):
        return False
    own = "responderUsername" in chat or ("sessionId" in chat and "creationDate" in chat)
    return own or any("requestId" in one and "message" in one for one in objects(chat["requests"])[:20])


EMPTY_PARTS = frozenset({"inlineReference", "markdownContent", "markdownVuln", "thinking", "toolInvocationSerialized"})
"""Kinds of response parts that are sent if they have a text."""


class VSCodeChatFormat(Format):
    """Sessions of VS Code's chat."""

    name = "vscode-chat"
    title = "VS Code Copilot Chat"
    where = (
        "chatSessions in workspaceStorage and emptyWindowChatSessions in globalStorage of VS Code and its forks;"
        " `Chat: Export Chat` anywhere"
    )
    exact = "prompt and output tokens of the last call of every turn; cache reads are not recorded"

    def recognize(self, sample: Sample) -> str:
        if sample.is_directory:
            return ""
        if is_chat(sample.only_value):
            return "a JSON document with the requests of a VS Code chat"
        found = [record for record in sample.records if is_operation(record)]
        if not any(record["kind"] == 0 for record in found) or len(found) * 2 <= len(sample.records):
            return ""
        return f"{len(found)} of the first {len(sample.records)} lines are operations on a VS Code chat"

    def homes(self) -> tuple[Path, ...]:
        folders = editor_folders()
        found: list[Path] = []
        for folder in folders:
            workspaces = folder / "User" / "workspaceStorage"
            if is_folder(workspaces):
                found += sorted(workspaces.glob(f"*/{FOLDER}"))
            if is_folder(windows := folder / "User" / "globalStorage" / WINDOWS):
                found.append(windows)
        return tuple(found) or (folders[0] / "User" / "globalStorage" / WINDOWS,)

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.vscode.reader import chat_reader

        return chat_reader(path, self.name)

    def is_bookkeeping(self, count_name: str) -> bool:
        from inspector.session.formats.vscode.reader import SHOWN_ONLY

        return count_name.partition("response:")[2] in SHOWN_ONLY

    def knows_record(self, count_name: str) -> bool:
        from inspector.session.formats.vscode.reader import KINDS

        kind, _, part = count_name.partition(":")
        if kind == "response":  # parts with a text are not counted by kind
            return part in EMPTY_PARTS or self.is_bookkeeping(count_name)
        return kind == "request" or kind in KINDS.values()


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


class LoggedRequest(Struct, eq=False):
    """The user's prompt and all that follows from it. `previous`: the request before it, None at first."""

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
    """The current chat and its removed requests. `history`: every request, in order of creation."""

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


FORMATS = (VSCodeChatFormat(),)
