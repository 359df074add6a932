"""Read VS Code's Copilot chats: an operation log per session; a JSON document in older versions and exports.

Checked against microsoft/vscode: `src/vs/workbench/contrib/chat/common/model/objectMutationLog.ts` (operations),
`chatSessionOperationLog.ts` (affected data), and microsoft/vscode-copilot-chat: `prompt/common/conversation.ts`
(`IResultMetadata`), `prompts/node/agent/summarizedConversationHistory.tsx` (construction of prompts).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.files import is_folder
from inspector.session.format import Format, editor_folders
from inspector.session.json.values import mapping, objects

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.session.reader import Reader
    from inspector.session.sniff import Sample

FOLDER = "chatSessions"
"""Folder of a workspace's sessions, in its folder below `workspaceStorage`."""

WINDOWS = "emptyWindowChatSessions"
"""Folder of sessions from windows without a workspace, in `globalStorage`."""


def is_operation(record: dict[str, Any]) -> bool:
    """Return True for a line with an operation on a chat."""
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
        from inspector.session.formats.vscode.turns import SHOWN_ONLY

        return count_name.partition("response:")[2] in SHOWN_ONLY

    def knows_record(self, count_name: str) -> bool:
        from inspector.session.formats.vscode.reader import KINDS

        kind, _, part = count_name.partition(":")
        if kind == "response":  # parts with a text are not counted by kind
            return part in EMPTY_PARTS or self.is_bookkeeping(count_name)
        return kind == "request" or kind in KINDS.values()


FORMATS = (VSCodeChatFormat(),)
