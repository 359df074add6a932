"""The tools of the local agent. Every run is recorded in a database, and one of the tools asks that database."""

from __future__ import annotations

import ast
import json
import sqlite3
from typing import TYPE_CHECKING

from .conversation import ToolResult, ToolUse

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from .workspace import Workspace

PREVIEW = 1_000

SUMMARY = 200

DESCRIPTIONS = {
    "file_glob": ("Files that match a pattern.", {"pattern": "string"}),
    "file_read": ("A file's text.", {"path": "string"}),
    "file_search": ("Lines that match a regular expression.", {"pattern": "string", "files": "string"}),
    "file_write": ("Write a file.", {"path": "string", "content": "string"}),
    "splice_patch": ("Replace one passage of a file.", {"path": "string", "old": "string", "new": "string"}),
    "symbols_in_file": ("Functions, classes and constants of a Python file.", {"path": "string"}),
    "bash_exec": ("Run a shell command.", {"command": "string"}),
    "memory_query": (
        "Search earlier tool executions, newest first.",
        {"tool": "string", "limit": "integer", "include_output": "boolean"},
    ),
}


class LocalTools:
    """Files, a shell and the execution record."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.database = sqlite3.connect(":memory:")
        self.database.execute(
            "CREATE TABLE executions (id TEXT PRIMARY KEY NOT NULL, tool_name TEXT NOT NULL, arguments_json TEXT NOT NULL,"
            " timestamp INTEGER NOT NULL, success BOOLEAN NOT NULL, output TEXT NOT NULL)"
        )

    def by_name(self) -> dict[str, Callable[..., ToolResult | str]]:
        return {name: getattr(self, name) for name in DESCRIPTIONS}

    def record(self, use: ToolUse, time: datetime) -> None:
        """Keep an execution."""
        row = (use.identifier, use.name, json.dumps(use.input), int(time.timestamp() * 1000), not use.result.is_error)
        self.database.execute("INSERT INTO executions VALUES (?, ?, ?, ?, ?, ?)", (*row, use.result.text))

    def file_glob(self, pattern: str) -> str:
        """Paths, one a line."""
        return "\n".join(self.workspace.glob(pattern)) or "no files"

    def file_read(self, path: str) -> str:
        return self.workspace.read(path)

    def file_search(self, pattern: str, files: str = "**/*.py") -> str:
        """Return matches with file and line."""
        found = [f"{name}:{number}: {line}" for name, number, line in self.workspace.search(pattern, files)]
        return "\n".join(found) or "no matches"

    def file_write(self, path: str, content: str) -> str:
        """Create or replace a file."""
        self.workspace.write(path, content)
        return f"wrote {len(content.encode())} bytes to {path}"

    def splice_patch(self, path: str, old: str, new: str) -> ToolResult | str:
        """Replace a passage that occurs once."""
        try:
            self.workspace.edit(path, old, new)
        except ValueError as problem:
            return ToolResult(f"FAILED: {problem}", is_error=True)
        return f"patched {path}: -{len(old.splitlines())} +{len(new.splitlines())} lines"

    def symbols_in_file(self, path: str) -> str:
        """List the definitions of a module, with line numbers."""
        rows = []
        for node in ast.parse(self.workspace.read(path)).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                rows.append(
                    f"{node.lineno:>4}  {'class' if isinstance(node, ast.ClassDef) else 'function'} {node.name}"
                )
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                rows.append(f"{node.lineno:>4}  constant {node.targets[0].id} = {ast.unparse(node.value)[:80]}")
        return "\n".join(rows)

    def bash_exec(self, command: str) -> ToolResult:
        """Run a command; exit code, output and errors."""
        finished = self.workspace.run(command)
        parts = [f"exit code {finished.exit_code}", finished.output.rstrip("\n"), finished.errors.rstrip("\n")]
        return ToolResult("\n".join(part for part in parts if part), is_error=finished.exit_code != 0, seconds=1.2)

    def memory_query(self, tool: str = "", limit: int = 10, include_output: bool = False) -> str:
        """Earlier executions of a tool."""
        rows = self.database.execute(
            "SELECT id, tool_name, arguments_json, success, output FROM executions WHERE tool_name LIKE ?"
            " ORDER BY timestamp DESC, rowid DESC LIMIT ?",
            (tool or "%", limit),
        ).fetchall()
        parts = [f"{len(rows)} executions"]
        for identifier, name, arguments, success, output in rows:
            shown = output[:PREVIEW] if include_output else output[:SUMMARY].replace("\n", " ")
            parts.append(f"\nexecution_id: {identifier}\ntool: {name} {arguments}\nsuccess: {bool(success)}\n{shown}")
        return "\n".join(parts)
