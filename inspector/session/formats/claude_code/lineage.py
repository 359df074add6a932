"""Determine a line's thread, session, author and branch, and read compaction records."""

from __future__ import annotations

import sys
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inspector.session.files import exists
from inspector.session.format import can_name_file
from inspector.session.formats.claude_code import SUBAGENTS, parent_file, running_identifier
from inspector.session.formats.claude_code.records import EMPTY, StartedSubagent, attachment_fields
from inspector.session.json import decode_json, json_in, lenient_json, mapping, string
from inspector.session.model import Compaction, LinkKind, SessionLink

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from msgspec import Raw

    from inspector.session.builder import SessionBuilder
    from inspector.session.formats.claude_code.records import ClaudeCodeRecord, CompactMetadata


NOT_TYPED = (
    "<task-notification",
    "<local-command-",
    "<teammate-message",
    "<bash-stdout",
    "<bash-stderr",
    "<system-reminder",
    "<user-prompt-submit-hook",
    "Stop hook feedback:",
    "[Request interrupted by user",
    "Caveat: The messages below",
)
"""Prefixes of user messages written by the program."""


class ClaudeCodeLineage:
    """Assigns lines to threads and sessions.

    Inline subagent conversations are marked `isSidechain`. Newer versions name the agent on every line; older ones only
    link a line to its parent, so a sidechain line without a parent starts a new thread. If the file is a subagent's own
    (all lines are marked), its conversation is thread 0.
    """

    def __init__(self, own_id: str) -> None:
        """Initialize with the id in the file name, which may be wrong: it is used once a line confirms it."""
        self._own_id = own_id
        self._is_confirmed = False
        self._home: str | None = None
        self._threads_of_agents: dict[str, int] = {}
        self._thread_of_node = array("i")
        self._session_of_node: list[str] = []
        self._origins: set[str] = set()
        self._thread_count = 1
        self._last_session = ""
        self._is_title_custom = False
        self._summaries: dict[str, str] = {}
        self._summarized = ""

    def thread(self, record: ClaudeCodeRecord, parent_node: int, *, is_quiet: bool) -> int:
        agent = record.agent or record.parent_tool
        if self._home is None and not is_quiet and record.type in ("user", "assistant", "attachment"):
            self._home = (record.agent or "") if record.is_sidechain else ""
        if not (record.is_sidechain or record.parent_tool) or (agent and agent == self._home):
            return 0
        if agent:
            return self._threads_of_agents.get(agent) or self._new_thread(agent)
        if parent_node >= 0 and (of_parent := self._thread_of_node[parent_node]):
            return of_parent
        return 0 if is_quiet else self._new_thread()

    def is_home_agent(self, record: ClaudeCodeRecord) -> bool:
        """Return True if the file is a subagent's own and the line belongs to that subagent."""
        return bool(self._home) and record.agent == self._home

    def place(self, thread: int, session: str) -> None:
        """Store the thread and session of the line last added to the graph."""
        self._thread_of_node.append(thread)
        self._session_of_node.append(sys.intern(session))

    def is_main(self, node: int) -> bool:
        return self._thread_of_node[node] == 0

    def confirms(self, record: ClaudeCodeRecord) -> bool:
        """Return True for the first line that confirms the session id in the file name."""
        if self._is_confirmed or not self._own_id or record.session != self._own_id:
            return False
        self._is_confirmed = True
        return True

    def is_other(self, session: str) -> bool:
        """Return True if the session differs from the file's own, once that is confirmed."""
        return self._is_confirmed and bool(session) and session != self._own_id

    def origin(self, record: ClaudeCodeRecord, parent_node: int) -> str:
        """Return the session that the line continues, on its first occurrence; empty otherwise.

        A renamed file does not show its own session, but a line with a parent in another session does.
        """
        if self._is_confirmed or parent_node < 0 or not record.session or record.session in self._origins:
            return ""
        origin = self._session_of_node[parent_node]
        if not origin or origin == record.session or origin in self._origins:
            return ""
        self._origins.add(origin)
        return origin

    def is_inherited(self, record: ClaudeCodeRecord) -> bool:
        """Return True if a resume or fork copied the line from another session."""
        if record.forked_from != EMPTY:
            return True
        if record.session in self._origins:
            return True
        return self.is_other(record.session or "")

    def note(self, record: ClaudeCodeRecord, builder: SessionBuilder) -> None:
        """Record the session-wide data of a line: version, directory, id, title."""
        if record.version:
            builder.agent = f"Claude Code {record.version}"
        if not builder.working_directory and record.cwd and record.type == "user":
            builder.working_directory = record.cwd
        if record.session and record.session != self._last_session:
            self._last_session = record.session
            builder.identifier = self._own_id if self._is_confirmed else record.session
        if record.type == "custom-title" and record.custom_title:
            self._is_title_custom, builder.title = True, record.custom_title
        elif record.type == "ai-title" and record.ai_title and not self._is_title_custom:
            builder.title = record.ai_title

        elif record.type == "summary" and record.summary and record.leaf:
            self._summaries[record.leaf] = record.summary
        if record.uuid in self._summaries:
            self.take_summary(record.uuid, builder)

    def take_summary(self, leaf: str, builder: SessionBuilder) -> None:
        """Use a summary as the title once the line it names is in this file; it may belong to another session."""
        if leaf in self._summaries and builder.title == self._summarized:
            self._summarized = builder.title = self._summaries[leaf]

    def _new_thread(self, agent: str = "") -> int:
        number = self._thread_count
        self._thread_count += 1
        if agent:
            self._threads_of_agents[agent] = number
        return number


def is_prompt(record: ClaudeCodeRecord) -> bool:
    """Return True for a prompt typed by the user, to which the conversation can be rewound."""
    if record.type != "user" or record.message is None or record.is_meta or record.is_compact_summary:
        return False
    content = record.message.content
    return isinstance(content, str) and not content.startswith(NOT_TYPED)


def is_injected(record: ClaudeCodeRecord) -> bool:
    """Return True if the program generated a user line."""
    if record.type == "attachment":
        return attachment_fields(bytes(record.attachment)).get("type") != "queued_command"
    return bool(record.is_meta) or record.type == "system" or _plain_text(record).startswith(NOT_TYPED)


def _plain_text(record: ClaudeCodeRecord) -> str:
    """Return the text of a line with a single text; empty for any other."""
    content = record.message.content if record.message is not None else None
    if isinstance(content, list) and len(content) == 1:
        content = content[0].text if content[0].type == "text" else None
    return content.lstrip() if isinstance(content, str) else ""


def is_request(record: ClaudeCodeRecord) -> bool:
    """Return True if a user line is a request rather than a tool result."""
    if record.type != "user" or record.message is None or record.is_meta:
        return False
    content = record.message.content
    return not isinstance(content, list) or not any(part.tool_use_id for part in content)


STARTING_TOOLS = frozenset({"Agent", "Task"})


class SessionFamily:
    """Collects links to the sessions mentioned in a session's lines."""

    def __init__(self, path: Path, builder: SessionBuilder) -> None:
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
        """Record a call that starts a subagent."""
        if tool in STARTING_TOOLS:
            given = mapping(json_in(arguments))
            self._titles[identifier] = string(given.get("description")) or string(given.get("subagent_type"))
            if identifier and (prompt := string(given.get("prompt"))):
                self._running[identifier] = known = running_identifier(prompt)
                self._builder.link(SessionLink(LinkKind.SUBAGENT, known, None, identifier, self._titles[identifier]))

    def note(self, record: ClaudeCodeRecord, *, is_home_agent: bool, is_inherited: bool) -> None:
        """Record a line's links. `is_home_agent`: it belongs to the subagent whose file this is."""
        if is_inherited:
            self._note_origin(record)
        session = record.session or ""
        if is_home_agent and not self._has_parent and can_name_file(session):
            self._has_parent = True
            parent = self._path.with_name(f"{session}.jsonl")
            self._builder.link(SessionLink(LinkKind.PARENT, session, parent))
        for call in self._returned(record):
            self._know(call)
        started = (
            record.tool_use_result if record.type == "user" else record.data if record.type == "progress" else None
        )
        if isinstance(started, StartedSubagent) and started.agent:
            call = self._call_of(record)
            self._know(call)
            title = self._titles.get(call) or _text(started.description) or _text(started.agent_type)
            file = self.file_of(started.agent, record.session or "")
            self._builder.link(SessionLink(LinkKind.SUBAGENT, started.agent, file, call, title))

    def file_of(self, agent: str, session: str) -> Path | None:
        """Return the path of a subagent's file, which may not exist. The folder has the parent session's id."""
        name = f"agent-{agent}.jsonl"
        if not can_name_file(name):
            return None
        parent = parent_file(self._path) or self._path
        sibling = self._path.with_name(name)
        if parent != self._path:
            return sibling  # subagents of subagents are in the same folder
        if exists(sibling):
            return sibling
        file = parent.with_suffix("") / SUBAGENTS / name
        if can_name_file(session) and session != parent.stem and not exists(file):
            renamed = parent.with_name(session) / SUBAGENTS / name
            return renamed if exists(renamed) else file
        return file

    def _know(self, call: str) -> None:
        """Remove the placeholder link of a call that has returned or has a subagent id."""
        if (running := self._running.pop(call, "")) != "":
            self._builder.links.pop((LinkKind.SUBAGENT, call, running), None)

    def _returned(self, record: ClaudeCodeRecord) -> list[str]:
        content = record.message.content if self._running and record.message is not None else None
        return [part.tool_use_id for part in content if part.tool_use_id] if isinstance(content, list) else []

    def _call_of(self, record: ClaudeCodeRecord) -> str:
        if record.type == "progress":
            return record.parent_tool_use or ""
        content = record.message.content if record.message is not None else None
        parts = content if isinstance(content, list) else []
        return next((part.tool_use_id for part in parts if part.tool_use_id), "")

    def _note_origin(self, record: ClaudeCodeRecord) -> None:
        identifier = record.session or ""
        if record.forked_from != EMPTY:
            identifier = string(mapping(lenient_json(bytes(record.forked_from))[0]).get("sessionId")) or identifier
        self.note_origin(identifier)

    def note_origin(self, identifier: str) -> None:
        """Link the session that this one continues."""
        if can_name_file(identifier) and identifier not in self._origins:
            self._origins.add(identifier)
            origin = self._path.with_name(f"{identifier}.jsonl")
            self._builder.link(SessionLink(LinkKind.CONTINUED, identifier, origin))

    def _described(self) -> str:
        """Return a subagent's description or type from its metadata file."""
        try:
            sibling = self._path.with_suffix(".meta.json").read_bytes()[:65_536]
        except OSError:
            return ""
        fields = mapping(decode_json(sibling)[0])
        return string(fields.get("description")) or string(fields.get("agentType"))


def _text(raw: Raw) -> str:
    return string(decode_json(raw)[0])


def compaction_of(record: ClaudeCodeRecord, message: int, time: float | None) -> Compaction:
    """Build a compaction from a full or partial boundary record; `message` is the index of the next message."""
    metadata = record.compact_metadata or record.microcompact_metadata
    if metadata is None:
        return Compaction(message, time=time)
    return Compaction(
        message,
        trigger=metadata.trigger or "",
        tokens_before=metadata.tokens_before,
        tokens_after=metadata.tokens_after,
        cleared_tool_call_ids=tuple(metadata.cleared or ()),
        tokens_saved=metadata.tokens_saved,
        time=time,
    )


def kept_messages(metadata: CompactMetadata | None, message_of: Callable[[str], int | None]) -> tuple[list[int], bool]:
    """Return the messages that a full compaction kept, in order, and True if all of them are in this file.

    A resumed session may begin with the boundary and name messages in another file.

    Args:
        metadata: The boundary's metadata.
        message_of: Maps a line's uuid to its message index: -1 for a line without a message, None for an unknown uuid.
    """
    if metadata is None:
        return [], True
    if metadata.preserved_messages is not None:
        uuids = metadata.preserved_messages.uuids or metadata.preserved_messages.all_uuids or []
        found = [message_of(uuid) for uuid in uuids]
        indices = {index for index in found if index is not None and index >= 0}
        return sorted(indices), None not in found
    segment = metadata.preserved_segment
    if segment is None or not segment.head or not segment.tail:
        return [], True
    first, last = message_of(segment.head), message_of(segment.tail)
    if first is None or last is None or first < 0 or last < 0:
        return [], False
    return list(range(first, last + 1)), True


def sends_kept_first(record: ClaudeCodeRecord) -> bool:
    """Return True if the kept messages precede the summary, i.e. they are anchored at the boundary."""
    metadata = record.compact_metadata
    if metadata is None:
        return False
    kept = (metadata.preserved_messages, metadata.preserved_segment)
    return any(part is not None and part.anchor is not None and part.anchor == record.uuid for part in kept)


NO_NODE = -1


@dataclass(slots=True)
class PromptTurn:
    """From one prompt to the next. `before`: the preceding turn; `fork`: the line it follows; -1 for none."""

    before: int
    fork: int


@dataclass
class Branches:
    """The graph of lines, reduced to turns: line numbers by uuid, and the turns left by rewinding."""

    nodes: dict[str, int] = field(default_factory=dict)
    current: int = 0
    abandoned: frozenset[int] = frozenset()
    _turn_of_node: array[int] = field(default_factory=lambda: array("i"))
    _turns: list[PromptTurn] = field(default_factory=lambda: [PromptTurn(-1, NO_NODE)])
    _prompts_after: dict[int, list[int]] = field(default_factory=dict)

    def node(self, uuid: str | None) -> int:
        """Return the line's number, `NO_NODE` if unknown."""
        return NO_NODE if uuid is None else self.nodes.get(uuid, NO_NODE)

    def add(self, uuid: str | None, parent: str | None, *, is_prompt: bool) -> int:
        """Add a line and return its turn. Lines with an unknown parent belong to the current turn."""
        parent_node = self.node(parent)
        turn = self._turn_of_node[parent_node] if parent_node >= 0 else self.current
        if is_prompt:
            self._turns.append(PromptTurn(turn, parent_node))
            turn = len(self._turns) - 1
            if parent_node >= 0:
                self._prompts_after.setdefault(parent_node, []).append(turn)
        if uuid is not None:
            self.nodes[uuid] = len(self._turn_of_node)
            self._turn_of_node.append(turn)
        return turn

    def go_to(self, turn: int) -> bool:
        """Make `turn` the current one. Return True if the set of abandoned turns changed."""
        if turn == self.current:
            return False
        entered = self._turns[turn]
        continues = entered.before == self.current and len(self._prompts_after.get(entered.fork, ())) < 2
        self.current = turn
        if continues:
            return False
        abandoned = self._left_behind()
        if abandoned == self.abandoned:
            return False
        self.abandoned = abandoned
        return True

    def go_to_leaf(self, node: int) -> bool:
        """Make the turn of a line the last of the conversation. Return True if the set of abandoned turns changed.

        A leaf recorded late may name a line that the conversation has already continued; it changes nothing.
        """
        turn = self._turn_of_node[node]
        return turn != self.current and turn not in self._path() and self.go_to(turn)

    def _left_behind(self) -> frozenset[int]:
        path = self._path()
        abandoned: set[int] = set()
        for number, turn_ in enumerate(self._turns):
            if number in path:
                continue
            alternatives = self._prompts_after.get(turn_.fork, ())
            if turn_.before in abandoned or any(alternative in path for alternative in alternatives):
                abandoned.add(number)
        return frozenset(abandoned)

    def _path(self) -> set[int]:
        """Return the current turn and all turns before it."""
        path = set()
        turn = self.current
        while turn >= 0:
            path.add(turn)
            turn = self._turns[turn].before
        return path
