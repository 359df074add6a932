"""Tools of the coding agent, modeled on Claude Code's, on the temporary project."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from .conversation import ToolResult
from .workspace import HOME, Workspace

if TYPE_CHECKING:
    from collections.abc import Callable


class CodingTools:
    """Read, Edit, Write, Bash, Grep, Glob and TodoWrite in one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.todos: list[dict[str, str]] = []

    def by_name(self) -> dict[str, Callable[..., ToolResult | str]]:
        return {
            "Read": self.read,
            "Edit": self.edit,
            "Write": self.write,
            "Bash": self.bash,
            "Grep": self.grep,
            "Glob": self.glob,
            "TodoWrite": self.todo,
        }

    def read(self, file_path: str, offset: int = 1, limit: int = 2000) -> ToolResult:
        """Return a file's lines with their numbers."""
        lines = self.workspace.read(file_path).splitlines()
        chosen = lines[offset - 1 : offset - 1 + limit]
        file = {
            "filePath": file_path,
            "content": "\n".join(chosen),
            "numLines": len(chosen),
            "startLine": offset,
            "totalLines": len(lines),
        }
        text = "\n".join(f"{number}\t{line}" for number, line in enumerate(chosen, offset))
        return ToolResult(text, details={"type": "text", "file": file}, seconds=0.03)

    def edit(self, file_path: str, old_string: str, new_string: str, intent: str) -> ToolResult:
        """Replace one passage. The intent is for readers of the history."""
        before = self.workspace.read(file_path)
        self.workspace.edit(file_path, old_string, new_string)
        details = {
            "filePath": file_path,
            "oldString": old_string,
            "newString": new_string,
            "originalFile": None,
            "structuredPatch": patch(before, self.workspace.read(file_path)),
            "userModified": False,
            "replaceAll": False,
        }
        return ToolResult(f"The file {file_path} has been updated: {intent}", details=details, seconds=0.05)

    def write(self, file_path: str, content: str) -> ToolResult:
        """Create a file."""
        self.workspace.write(file_path, content)
        details = {
            "type": "create",
            "filePath": file_path,
            "content": content,
            "structuredPatch": [],
            "originalFile": None,
        }
        return ToolResult(f"File created successfully at: {file_path}", details=details, seconds=0.04)

    def bash(self, command: str, description: str) -> ToolResult:
        """Run a command. Its description holds the purpose."""
        del description
        finished = self.workspace.run(command)
        output = "\n".join(part.rstrip("\n") for part in (finished.output, finished.errors) if part)
        if finished.exit_code:
            text = f"Exit code {finished.exit_code}\n{output}"
            return ToolResult(text, is_error=True, details=f"Error: {text}", seconds=1.4)
        details = {
            "stdout": finished.output.rstrip("\n"),
            "stderr": finished.errors.rstrip("\n"),
            "interrupted": False,
            "isImage": False,
            "noOutputExpected": False,
        }
        return ToolResult(output or "(no output)", details=details, seconds=1.1)

    def grep(self, pattern: str, glob: str = "**/*.py") -> ToolResult:
        """Lines that match, with file and number."""
        found = [f"{name}:{number}:{line}" for name, number, line in self.workspace.search(pattern, glob)]
        text = "\n".join(found) or "No matches found"
        details = {"mode": "content", "numFiles": 0, "filenames": [], "content": text, "numLines": len(found)}
        return ToolResult(text, details=details, seconds=0.2)

    def glob(self, pattern: str) -> ToolResult:
        """Paths that match."""
        names = [f"{HOME}/{name}" for name in self.workspace.glob(pattern)]
        details = {"filenames": names, "durationMs": 12, "numFiles": len(names), "truncated": False}
        return ToolResult("\n".join(names) or "No files found", details=details, seconds=0.1)

    def todo(self, todos: list[dict[str, str]]) -> ToolResult:
        """Update the to-do list."""
        details = {"oldTodos": self.todos, "newTodos": todos}
        self.todos = todos
        done = sum(entry["status"] == "completed" for entry in todos)
        return ToolResult(f"Todo list updated: {done} of {len(todos)} done.", details=details, seconds=0.02)


def patch(before: str, after: str) -> list[dict[str, Any]]:
    """Return the hunks of a change, as the agent records them for its screen."""
    matcher = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines())
    old, new = before.splitlines(), after.splitlines()
    hunks = []
    for group in matcher.get_grouped_opcodes(3):
        lines: list[str] = []
        for tag, old_start, old_end, new_start, new_end in group:
            if tag == "equal":
                lines += [f" {line}" for line in old[old_start:old_end]]
                continue
            lines += [f"-{line}" for line in old[old_start:old_end]]
            lines += [f"+{line}" for line in new[new_start:new_end]]
        hunks.append(
            {
                "oldStart": group[0][1] + 1,
                "oldLines": group[-1][2] - group[0][1],
                "newStart": group[0][3] + 1,
                "newLines": group[-1][4] - group[0][3],
                "lines": lines,
            }
        )
    return hunks
