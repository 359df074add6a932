"""Process one hook event: apply the plan, store the original, answer with the trimmed result.

On any error, the answer is empty with exit code 0, which all supported agents treat as "unchanged".
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from inspector.hook.events import AGENTS
from inspector.hook.plan_cache import cuts_for
from inspector.hook.records import record_error, record_trim
from inspector.hook.rules import Result, trimmed, version_of
from inspector.recall.originals import evict_originals, state_folder, store_original, stored_path

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROOM_ASKED_EVERY = 16
_FIRST_CLAUDE_CODE = (2, 1, 121)
"""First version that accepts a result from a hook; 2.1.120 was tested and does not."""
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.:")


class HookArguments(NamedTuple):
    """Parsed command line of the hook. `keeps_originals`: store originals for `inspector recall`."""

    agent: str = "claude-code"
    plan: str = ""
    keeps_originals: bool = True


def main(arguments: Sequence[str]) -> int:
    """Answer the event on standard input (`--agent NAME`, `--plan PLAN`, `--no-originals`); return 0."""
    folder = ""
    try:
        os.umask(0o077)
        folder = state_folder()
        answer = respond(sys.stdin.buffer.read(), _asked(arguments), folder)
        if answer:
            sys.stdout.buffer.write(answer)
            sys.stdout.buffer.flush()
            if os.urandom(1)[0] % _ROOM_ASKED_EVERY == 0:
                evict_originals(folder)
    except BaseException as error:  # noqa: BLE001  an error must never lose a result
        _note(folder, error)
    return 0


def _asked(arguments: Sequence[str]) -> HookArguments:
    asked, words = HookArguments(), list(arguments)
    while words:
        name, equals, value = words.pop(0).partition("=")
        if name == "--no-originals" and not equals:
            asked = asked._replace(keeps_originals=False)
        elif name in ("--agent", "--plan"):
            given = value if equals else words.pop(0) if words else ""
            asked = asked._replace(agent=given) if name == "--agent" else asked._replace(plan=given)
        else:
            raise ValueError(f"inspector hook has no option {name}")
    if asked.agent not in AGENTS:
        raise ValueError(f"inspector hook does not support the agent {asked.agent!r}; supported: {', '.join(AGENTS)}")
    if not asked.plan:
        raise ValueError("inspector hook needs --plan")
    return asked


def respond(data: bytes, asked: HookArguments, folder: str) -> bytes:
    """Return the answer to an event as JSON; empty, or any exception, leaves the result unchanged."""
    event = json.loads(data)
    seen = AGENTS[asked.agent](event) if isinstance(event, dict) else None
    if seen is None:
        return b""
    cuts = cuts_for(asked.plan, seen.tool, folder)
    identifier = seen.identifier or _made_identifier(seen.text)
    path = stored_path(folder, identifier, seen.session) if asked.keeps_originals else ""
    result = Result(seen.tool, identifier, _recall_command(identifier), path, seen.transcript)
    sent, is_stored = trimmed(seen.text, cuts, result)
    if sent == seen.text:
        return b""
    written_by = version_of(seen.transcript)
    if written_by and written_by < _FIRST_CLAUDE_CODE:
        # Do not report a trim that has no effect.
        old, first = (".".join(map(str, version)) for version in (written_by, _FIRST_CLAUDE_CODE))
        raise ValueError(f"Claude Code {old} ignores results from hooks; update it to {first} or later")
    answer = json.dumps(seen.answer(sent)).encode()
    if asked.keeps_originals:
        # Do not cut a text that cannot be recalled.
        about: dict[str, object] = {"agent": asked.agent, "tool": seen.tool}
        store_original(folder, identifier, seen.session, seen.text, about, is_stored=is_stored)
    record = {"agent": asked.agent, "session": seen.session, "tool": seen.tool, "id": identifier}
    try:
        record_trim(folder, **record, original=len(seen.text), trimmed=len(sent))
    except OSError as error:
        _note(folder, error)
    return answer


def _made_identifier(text: str) -> str:
    from zlib import crc32

    return f"hook-{crc32(text.encode('utf-8', 'surrogatepass')):08x}-{len(text)}"


def _recall_command(identifier: str) -> str:
    """Equal to `recall_command` of the strategies."""
    if identifier[0] != "-" and _PLAIN.issuperset(identifier):
        return f"inspector recall {identifier}"
    import shlex

    return f"inspector recall {'-- ' if identifier[0] == '-' else ''}{shlex.quote(identifier)}"


def _note(folder: str, error: BaseException) -> None:
    """Log an error once, or print it to standard error if the log is not writable."""
    try:
        message = getattr(error, "message", "") or str(error)
        text = f"{type(error).__name__}: {message}"
        if (not folder or not record_error(folder, text)) and sys.stderr is not None:
            sys.stderr.write(f"inspector hook: {text!a}; the result was left unchanged\n")
    except BaseException:  # noqa: BLE001, S110  there is nowhere left to report it
        pass
