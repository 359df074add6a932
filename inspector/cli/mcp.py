"""`inspector mcp`: a Model Context Protocol server for an agent's queries on its own session."""

from __future__ import annotations

import io
import re
import sys
import threading
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from inspector import __version__
from inspector.cli.output import CommandError, ExitCode
from inspector.errors import InspectorError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable

    from mcp.server.mcpserver import MCPServer

    from inspector.report.mcp_tools import SessionMemory

INSTALL = "pip install 'session-inspector[mcp]'"

INSTRUCTIONS = (
    "Recovers text that was cut from this conversation. If a notice reports that a tool result was cleared, "
    "truncated or saved elsewhere, call memory_query with the execution_id (the tool call's id) in the notice. "
    "file_state_at returns the content of a file at a turn, changelog the changes with their purpose, context_report "
    "the current content of the context and results that are superseded by later ones. Long answers are paged: "
    "repeat the call with next_offset as offset."
)

_ESCAPES = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)
"""Escapes of JSON: a pair of surrogates, a lone one, or any other."""

DESCRIPTIONS = {
    "memory_query": (
        "Return a tool result of this session. With execution_id (a tool call's id, a prefix of it, or the notice "
        "that replaced it): the full text, paged; with text in addition, only lines that contain it. With only text: "
        "results that contain any of the words. Otherwise: a list of results, newest first. tool filters by tool; "
        "session_id selects another session than the newest."
    ),
    "file_state_at": (
        "Return the content of a file as this session knew it, from its recorded reads, edits and writes: at the "
        "end, or at one of turn (message number from 1), call (from 1) or time (2026-11-23T14:05). Unknown parts are "
        "marked. The disk is not read."
    ),
    "changelog": ("List this session's changes to files with their purpose, newest first; of one path, or of all."),
    "context_report": (
        "Report the content of the context: tokens by kind and tool, the heaviest tool results, and results "
        "superseded by later ones (read again, edited since, repeated text), which could be removed."
    ),
}


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        type=Path,
        help="sessions or folders of sessions to search (default: those of the current folder)",
    )
    parser.add_argument("--allow-secrets", action="store_true", help="do not mask secrets in answers")


def run(options: Namespace) -> int:
    """Serve until standard input ends."""
    from inspector.report.mcp_tools import SessionMemory

    for path in options.paths:
        if not path.exists():
            raise CommandError(f"{path}: no such file or directory. Check the path, or see: inspector mcp --help")
    try:
        memory = SessionMemory(options.paths, Path.cwd(), allow_secrets=options.allow_secrets)
        server = server_of(memory)
    except InspectorError as error:
        raise CommandError(error.explanation) from None
    sys.stdin = io.TextIOWrapper(io.BufferedReader(_EncodableRequests(sys.stdin.buffer)), "utf-8", "replace")
    server.run("stdio")
    return ExitCode.FINE


class _EncodableRequests(io.RawIOBase):
    """Requests with lone surrogates replaced: the SDK drops such a request, and its client waits forever."""

    def __init__(self, lines: BinaryIO) -> None:
        super().__init__()
        self._lines = lines
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._rest:
            self._rest = memoryview(_ESCAPES.sub(_encodable_escape, self._lines.readline()))
        length = min(len(buffer), len(self._rest))
        buffer[:length] = self._rest[:length]
        self._rest = self._rest[length:]
        return length


def _encodable_escape(match: re.Match[bytes]) -> bytes:
    return rb"\ufffd" if match["lone"] else match[0]


def _encodable(value: Any) -> Any:
    """Replace lone surrogates in an answer, which come from broken escapes in a session."""
    match value:
        case str():
            return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case dict():
            return {name: _encodable(each) for name, each in value.items()}
        case list():
            return [_encodable(each) for each in value]
    return value


def server_of(memory: SessionMemory) -> MCPServer[Any]:
    """Build a server of sessions without starting it; raise `CommandError` without the protocol's SDK."""
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.types import ToolAnnotations
    except ImportError:
        message = f"the server needs the Model Context Protocol SDK, an optional part of the program; {INSTALL}"
        raise CommandError(message) from None
    server: MCPServer[Any] = MCPServer(
        "inspector", version=__version__, instructions=INSTRUCTIONS, log_level="ERROR", warn_on_duplicate_tools=True
    )
    reads = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
    lock = threading.Lock()
    for tool in (memory.memory_query, memory.file_state_at, memory.changelog, memory.context_report):
        server.add_tool(_answering(tool, lock), description=DESCRIPTIONS[tool.__name__], annotations=reads)
    return server


def _answering(ask: Callable[..., dict[str, Any]], lock: threading.Lock) -> Callable[..., dict[str, Any]]:
    """Wrap a tool: one call at a time, with errors returned to the model."""
    from mcp.server.mcpserver.exceptions import ToolError

    @wraps(ask)
    def answer(*arguments: Any, **named: Any) -> dict[str, Any]:
        with lock:
            try:
                return {name: _encodable(value) for name, value in ask(*arguments, **named).items()}
            except InspectorError as error:
                raise ToolError(_encodable(error.message or error.explanation)) from None

    return answer
