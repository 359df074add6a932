"""`inspector mcp`: a Model Context Protocol server for an agent's queries on its own session."""

from __future__ import annotations

import threading
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspector import __version__
from inspector.cli.exit_codes import CommandError, ExitCode
from inspector.errors import InspectorError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable

    from mcp.server.mcpserver import MCPServer

    from inspector.report.mcp_tools import SessionMemory

INSTALL = "pip install 'session-inspector[mcp]'"

INSTRUCTIONS = (
    "Gets back what was cut from this conversation. Where a notice says that a tool result was cleared, truncated or "
    "saved elsewhere, ask memory_query with the execution_id (the tool call's id) that the notice names. "
    "file_state_at tells what a file held at a turn, changelog what was changed and what for, context_report what "
    "fills the context now and which results something later stands for. Long answers come in pages: ask again with "
    "next_offset as offset."
)

DESCRIPTIONS = {
    "memory_query": (
        "Get back a tool result of this session. With execution_id (a tool call's id, its beginning, or the notice "
        "that stands in its place): the whole of it, in pages; with text as well, only lines that hold the text. With "
        "text alone: results that hold any of the words. Otherwise: a list of results, the newest first. tool keeps to "
        "one tool; session_id names another session than the newest."
    ),
    "file_state_at": (
        "What a file held as this session knew it, from its recorded reads, edits and writes: at the end, or at one of "
        "turn (message number from 1), call (from 1) or time (2026-11-23T14:05). What is not known is said as such. "
        "The disk is not read."
    ),
    "changelog": (
        "What this session changed in its files and what for, the newest change first; of one path, or of all."
    ),
    "context_report": (
        "What fills the context now: tokens by kind and tool, the heaviest tool results, and results that something "
        "later stands for (read again, edited since, the same text again), which could go."
    ),
}


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        type=Path,
        help="sessions or folders of them that may be asked about (default: those of the folder it is started in)",
    )
    parser.add_argument(
        "--allow-secrets", action="store_true", help="leave secrets in answers; they are masked otherwise"
    )


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
    server.run("stdio")
    return ExitCode.FINE


def server_of(memory: SessionMemory) -> MCPServer[Any]:
    """Build the server of some sessions, not yet running.

    Raises:
        CommandError: The protocol's SDK is not installed.
    """
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.types import ToolAnnotations
    except ImportError:
        message = f"the server needs the Model Context Protocol's SDK, an optional part of the program; {INSTALL}"
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
                return ask(*arguments, **named)
            except InspectorError as error:
                raise ToolError(error.message or error.explanation) from None

    return answer
