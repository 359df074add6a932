"""Which sessions belong together: subagents, the calls that started them, and sessions that go on from others.

A subagent's conversation stands in a file of its own, `<session>/subagents/agent-<id>.jsonl` or, in versions before
2.1, `agent-<id>.jsonl` beside the session. The result of the call names the agent; while it runs, records of its
progress do in some versions, and otherwise only the prompt it was started with.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import TYPE_CHECKING

from inspector.session.errors import SessionError
from inspector.session.files import exists, open_for_reading
from inspector.session.format import FullOutput
from inspector.session.formats.claude_code.records import EMPTY, Started
from inspector.session.json.codec import lenient_json
from inspector.session.json.values import mapping, objects, string
from inspector.session.model import LinkKind, SessionLink

if TYPE_CHECKING:
    from pathlib import Path

    from msgspec import Raw

    from inspector.session.builder import SessionBuilder
    from inspector.session.formats.claude_code.records import Record


SUBAGENTS = "subagents"

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

COPIES = ("agent-acompact-", "agent-aside_question-", "agent-aprompt_suggestion-")
"""Beginnings of names of runs whose file is a copy of the parent's history, with a question behind it."""


def is_copy(path: Path) -> bool:
    """Whether a file is the run of a summary or a side question: a copy of its parent, counted there."""
    return path.name.startswith(COPIES)


def parent_file(path: Path) -> Path | None:
    """The session in whose folder of subagents a file lies; None where it lies in none."""
    for folder in path.parents:
        if folder.name == SUBAGENTS:
            session = folder.parent
            return session.with_name(f"{session.name}.jsonl")
    return None


STARTING_TOOLS = frozenset({"Agent", "Task"})

RUNNING = "started with "
"""How the identifier begins of a subagent whose own is not known yet."""


def running_identifier(prompt: str) -> str:
    """What a subagent is called whose id is not known: something that tells its prompt from others."""
    return RUNNING + blake2b(prompt.strip().encode(errors="replace"), digest_size=16).hexdigest()


class Family:
    """Notes the sessions that the lines of one speak of."""

    def __init__(self, path: Path, builder: SessionBuilder) -> None:
        """Begin with what the place of the file tells."""
        self._path = path
        self._builder = builder
        self._titles: dict[str, str] = {}
        self._running: dict[str, str] = {}
        self._origins: set[str] = set()
        self._has_parent = False
        if (parent := parent_file(path)) is not None:
            self._has_parent = True
            builder.link(SessionLink(LinkKind.PARENT, parent.stem, parent))
            builder.title = self._described()

    def note_call(self, identifier: str, tool: str, arguments: str) -> None:
        """A tool was called: remember what for, where it starts subagents."""
        if tool in STARTING_TOOLS:
            given = mapping(lenient_json(arguments.encode(errors="replace"))[0])
            self._titles[identifier] = string(given.get("description")) or string(given.get("subagent_type"))
            if identifier and (prompt := string(given.get("prompt"))):
                self._running[identifier] = known = running_identifier(prompt)
                self._builder.link(SessionLink(LinkKind.SUBAGENT, known, None, identifier, self._titles[identifier]))

    def note(self, record: Record, *, is_home_agent: bool, is_inherited: bool) -> None:
        """Take what a line says.

        Args:
            record: The line.
            is_home_agent: The file is the conversation of the subagent that the line is of.
            is_inherited: It was copied from another session.
        """
        if is_inherited:
            self._note_origin(record)
        session = record.session or ""
        if is_home_agent and not self._has_parent and _is_name(session):
            self._has_parent = True
            parent = self._path.with_name(f"{session}.jsonl")
            self._builder.link(SessionLink(LinkKind.PARENT, session, parent))
        for call in self._returned(record):
            self._know(call)
        started = (
            record.tool_use_result if record.type == "user" else record.data if record.type == "progress" else None
        )
        if isinstance(started, Started) and started.agent:
            call = self._call_of(record)
            self._know(call)
            title = self._titles.get(call) or _text(started.description) or _text(started.agent_type)
            file = self.file_of(started.agent, record.session or "")
            self._builder.link(SessionLink(LinkKind.SUBAGENT, started.agent, file, call, title))

    def file_of(self, agent: str, session: str) -> Path | None:
        """Where a subagent's conversation stands, or would stand.

        Args:
            agent: Its id.
            session: The id of the session that started it, by which its folder is called though the file was renamed.
        """
        name = f"agent-{agent}.jsonl"
        if not _is_name(name):
            return None
        parent = parent_file(self._path) or self._path
        beside = self._path.with_name(name)
        if parent != self._path:
            return beside  # agents that agents start stand in the same folder
        if exists(beside):
            return beside
        file = parent.with_suffix("") / SUBAGENTS / name
        if _is_name(session) and session != parent.stem and not exists(file):
            renamed = parent.with_name(session) / SUBAGENTS / name
            return renamed if exists(renamed) else file
        return file

    def _know(self, call: str) -> None:
        """A call returned, or its subagent is named: what stood for it until then goes."""
        if (running := self._running.pop(call, "")) != "":
            self._builder.links.pop((LinkKind.SUBAGENT, call, running), None)

    def _returned(self, record: Record) -> list[str]:
        content = record.message.content if self._running and record.message is not None else None
        return [part.tool_use_id for part in content if part.tool_use_id] if isinstance(content, list) else []

    def _call_of(self, record: Record) -> str:
        if record.type == "progress":
            return record.parent_tool_use or ""
        content = record.message.content if record.message is not None else None
        parts = content if isinstance(content, list) else []
        return next((part.tool_use_id for part in parts if part.tool_use_id), "")

    def _note_origin(self, record: Record) -> None:
        identifier = record.session or ""
        if record.forked_from != EMPTY:
            identifier = string(mapping(lenient_json(bytes(record.forked_from))[0]).get("sessionId")) or identifier
        self.note_origin(identifier)

    def note_origin(self, identifier: str) -> None:
        """The session goes on from another one."""
        if _is_name(identifier) and identifier not in self._origins:
            self._origins.add(identifier)
            origin = self._path.with_name(f"{identifier}.jsonl")
            self._builder.link(SessionLink(LinkKind.CONTINUED, identifier, origin))

    def _described(self) -> str:
        """What stands beside a subagent's file: what it was started for, and what kind of agent it is."""
        try:
            beside = self._path.with_suffix(".meta.json").read_bytes()[:65_536]
        except OSError:
            return ""
        fields = mapping(lenient_json(beside)[0])
        return string(fields.get("description")) or string(fields.get("agentType"))


def _is_name(text: str) -> bool:
    """Whether a recorded id can be (part of) the name of a file."""
    return text not in ("", ".", "..") and "/" not in text and "\x00" not in text


def _text(raw: Raw) -> str:
    return string(lenient_json(bytes(raw))[0])


MOST_BYTES_TO_PROMPT = 1 << 20
"""A first prompt stands within so much of a file."""

MOST_FILES = 200
"""Of the files of subagents, the newest are looked into."""


def locate(path: Path, identifier: str) -> Path | None:
    """The newest file of a subagent that began with a prompt.

    Args:
        path: The session that started it.
        identifier: What `running_identifier` says of the prompt.
    """
    if not identifier.startswith(RUNNING):
        return None
    folder = (parent_file(path) or path).with_suffix("") / SUBAGENTS
    try:
        files = [(file.stat().st_mtime, file) for file in folder.glob("agent-*.jsonl") if not is_copy(file)]
    except OSError:
        return None
    newest = (file for _, file in sorted(files, reverse=True)[:MOST_FILES])
    return next((file for file in newest if file != path and running_identifier(_prompt_of(file)) == identifier), None)


def _prompt_of(file: Path) -> str:
    """What a subagent was asked first; empty where that cannot be read."""
    try:
        with open_for_reading(file) as opened:
            data = opened.read(MOST_BYTES_TO_PROMPT)
    except (SessionError, OSError):
        return ""
    for line in data.splitlines():
        record = mapping(lenient_json(line)[0])
        if record.get("type") == "user":
            content = mapping(record.get("message")).get("content")
            return string(content) or "\n".join(string(part.get("text")) for part in objects(content))
    return ""


FOLDER = "tool-results"

PREVIEW = re.compile(r"<persisted-output>\s.{0,200}?Full output saved to:\s*(?P<path>[^\n]+)", re.DOTALL)

MOST_BYTES_STORED = 1 << 26
"""More of a file is not shown."""


def full_output(path: Path, text: str) -> FullOutput | None:
    """The whole of a result whose preview a session holds; None for any other result.

    Of the path in the preview, only the names of the file and of its session are used: it is looked for where results
    of sessions beside this one are kept.

    Args:
        path: The session.
        text: The result, as the model was sent it.
    """
    found = PREVIEW.match(text.lstrip())
    if found is None:
        return None
    names = found["path"].strip().replace("\\", "/").split("/")
    folder, name = (names[-3] if len(names) > 2 else ""), names[-1]
    if not name or "\x00" in found["path"]:
        return None
    session = parent_file(path) or path
    file = session.with_suffix("") / FOLDER / name
    if folder not in ("", ".", "..") and not exists(file):
        # A session that was renamed, or an early subagent's beside it: the folder keeps the session's own id.
        kept = session.with_name(folder) / FOLDER / name
        file = kept if exists(kept) else file
    try:
        with open_for_reading(file) as opened:
            data = opened.read(MOST_BYTES_STORED)
    except (SessionError, OSError):
        return FullOutput(file, None)
    return FullOutput(file, _stored_text(data) if name.endswith(".json") else data.decode(errors="replace"))


def _stored_text(data: bytes) -> str:
    """The texts of a result kept as JSON: of its parts, one after the other; as it stands where it has none."""
    value, _ = lenient_json(data)
    parts = value if isinstance(value, list) else [value]
    texts = [part if isinstance(part, str) else string(mapping(part).get("text")) for part in parts]
    return "\n".join(text for text in texts if text) or data.decode(errors="replace")
