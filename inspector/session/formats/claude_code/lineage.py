"""Where a line comes from: which thread, which session, and who wrote it."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from inspector.session.formats.claude_code.attachments import attachment_fields
from inspector.session.formats.claude_code.records import EMPTY

if TYPE_CHECKING:
    from inspector.session.builder import SessionBuilder
    from inspector.session.formats.claude_code.records import Record

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
"""Beginnings of plain user texts that the program wrote."""


class Lineage:
    """Assigns lines to threads and sessions.

    Inline subagent conversations are marked `isSidechain`: newer versions name the agent on every line, older ones
    only link a line to its parent, so that a line without a parent in the same subagent begins a new thread. A file
    whose own subject is a subagent (all its lines are marked) has its conversation in thread 0.
    """

    def __init__(self, own_id: str) -> None:
        """Begin. `own_id` is the session's id where the file's name tells it, else empty.

        A name may lie: it counts from the first line on that has this id.
        """
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
        self._summarised = ""

    def thread(self, record: Record, parent_node: int, *, is_quiet: bool) -> int:
        """The thread of a line."""
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

    def is_home_agent(self, record: Record) -> bool:
        """Whether the file is a subagent's own, and the line is of it."""
        return bool(self._home) and record.agent == self._home

    def place(self, thread: int, session: str) -> None:
        """Remember the thread and the session of the line added to the graph last."""
        self._thread_of_node.append(thread)
        self._session_of_node.append(session)

    def is_main(self, node: int) -> bool:
        """Whether a line of the graph is of the main conversation."""
        return self._thread_of_node[node] == 0

    def confirms(self, record: Record) -> bool:
        """Whether a line is the first that shows the file's name to be its session's id."""
        if self._is_confirmed or not self._own_id or record.session != self._own_id:
            return False
        self._is_confirmed = True
        return True

    def is_other(self, session: str) -> bool:
        """Whether a line of this session was copied into the file, as far as its name tells so."""
        return self._is_confirmed and bool(session) and session != self._own_id

    def origin(self, record: Record, parent_node: int) -> str:
        """The session that the line goes on from, the first time that this shows; empty otherwise.

        A file that was renamed does not say which session is its own, but a line of a session that goes on from another
        one's line does.
        """
        if self._is_confirmed or parent_node < 0 or not record.session or record.session in self._origins:
            return ""
        origin = self._session_of_node[parent_node]
        if not origin or origin == record.session or origin in self._origins:
            return ""
        self._origins.add(origin)
        return origin

    def is_inherited(self, record: Record) -> bool:
        """Whether a resume or fork copied the line from another session."""
        if record.forked_from != EMPTY:
            return True
        if record.session in self._origins:
            return True
        return self.is_other(record.session or "")

    def note(self, record: Record, builder: SessionBuilder) -> None:
        """Take over what a line says of the whole session."""
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
        """Take a summary for the title: it is of the session that holds the line it names, which may be another one."""
        if leaf in self._summaries and builder.title == self._summarised:
            self._summarised = builder.title = self._summaries[leaf]

    def _new_thread(self, agent: str = "") -> int:
        number = self._thread_count
        self._thread_count += 1
        if agent:
            self._threads_of_agents[agent] = number
        return number


def is_prompt(record: Record) -> bool:
    """Whether a line is a prompt that somebody typed, and so a place to which the conversation may be rewound."""
    if record.type != "user" or record.message is None or record.is_meta or record.is_compact_summary:
        return False
    content = record.message.content
    return isinstance(content, str) and not content.startswith(NOT_TYPED)


def is_injected(record: Record) -> bool:
    """Whether the program added a user line by itself."""
    if record.type == "attachment":
        return attachment_fields(bytes(record.attachment)).get("type") != "queued_command"
    return bool(record.is_meta) or record.type == "system" or _plain_text(record).startswith(NOT_TYPED)


def _plain_text(record: Record) -> str:
    """The text of a line that is nothing but one; empty for any other."""
    content = record.message.content if record.message is not None else None
    if isinstance(content, list) and len(content) == 1:
        content = content[0].text if content[0].type == "text" else None
    return content.lstrip() if isinstance(content, str) else ""


def is_request(record: Record) -> bool:
    """Whether a line asks the model something, rather than telling what a tool returned."""
    if record.type != "user" or record.message is None or record.is_meta:
        return False
    content = record.message.content
    return not isinstance(content, list) or not any(part.tool_use_id for part in content)
