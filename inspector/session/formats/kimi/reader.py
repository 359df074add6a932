"""Read one of Kimi's wire files with its metadata files: titles, and parents of subagents.

A step is a call with a response recorded in parts. Kimi Code records context changes call by call; the older Kimi CLI
records messages from agent to screen, which contain the conversation and its usage.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import structs

from inspector.session.files import is_file
from inspector.session.format import can_name_file
from inspector.session.formats.chat import ChatMessage, ChatThread, blocks_of_chat, notice
from inspector.session.formats.kimi import AGENTS, MAIN, SUBAGENTS, WIRE
from inspector.session.json import (
    clean_string,
    clean_text,
    compact_json,
    count,
    count_or_none,
    mapping,
    object_of,
    objects,
    seconds_of_any,
    sequence,
    string,
)
from inspector.session.json_reader import SidecarFile
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.model import Compaction, ContextCause, LinkKind, Role, SessionLink, SideCall, Usage
from inspector.session.reader import FileChange, Record, RecordInterpreter
from inspector.session.usage_fields import KIMI_CLI, KIMI_CODE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from inspector.session.blocks import TextBlock
    from inspector.session.model import Call, Origin, Session


STATE = "state.json"

OLD_STATE = ("session-meta", STATE)
"""Location of a session's state in intermediate versions."""

OLD_CLI_STATE = "metadata.json"
"""Location of a session's state in the first versions of Kimi CLI."""

META = "meta.json"
"""Metadata file of a Kimi CLI subagent."""

UNTITLED = frozenset({"New Session", "Untitled"})
"""Titles of unnamed sessions."""


class WireReader(JsonlReader):
    """Reads a wire file and follows changes to its metadata files."""

    def __init__(
        self,
        path: Path,
        format_name: str,
        interpreter: RecordInterpreter,
        documents: Sequence[Path],
        note: Callable[[Mapping[str, Any]], None],
    ) -> None:
        """Open a file, with possible metadata files: the first with content counts. Raises `SessionError`."""
        super().__init__(path, format_name, interpreter)
        self._note = note
        self._metadata_files = [SidecarFile(document, _metadata) for document in documents]

    def snapshot(self) -> Session:
        self._note(next((found for one in self._metadata_files if (found := one.value())), {}))
        return super().snapshot()

    def refresh(self) -> FileChange:
        # Check all files, so that no change is reported twice.
        changed = [one for one in self._metadata_files if one.changed()]
        change = super().refresh()
        return FileChange.APPENDED if change is FileChange.NONE and changed else change


TITLES = ("title", "customTitle", "custom_title", "description")

METADATA_FIELDS = (*TITLES, "agents", "cwd", "forkedFrom", "workDir")
"""Relevant metadata fields; the others change with every prompt."""


def _metadata(document: Any) -> dict[str, Any]:
    return {name: value for name, value in mapping(document).items() if name in METADATA_FIELDS and value}


def title_of(about: Mapping[str, Any]) -> str:
    """Return a session's title; empty if it has none yet."""
    titles: Iterable[str] = (clean_string(about.get(name)).strip() for name in TITLES)
    return next((title for title in titles if title and title not in UNTITLED), "")


def parent_of_agent(about: Mapping[str, Any], agent: str) -> str:
    """Return the agent that started another one, from the session's state; empty if unknown."""
    found = mapping(mapping(about.get("agents")).get(agent))
    return string(mapping(found.get("labels")).get("parentAgentId")) or string(found.get("parentAgentId"))


class StepThread(ChatThread):
    """A conversation with a separate record for each part of a response."""

    _identifier = ""
    _time: float | None = None
    _response: int | None = None
    _call: int | None = None
    _counted = 0
    model = ""
    agent = ""
    """The conversation's subagent. Its calls may be recorded both in its own file and in its parent's."""

    def begin_step(self, identifier: str, time: float | None) -> None:
        """Begin a call with an empty response."""
        self._identifier, self._time = identifier, time
        self._response = self._call = None

    def answer(self, value: Mapping[str, Any], origin: Origin, time: float | None) -> None:
        chat = ChatMessage(value, self._time or time, self._identifier, is_call=True, model=self.model)
        if self._response is None:
            (self._response,) = self.add_record([chat], origin)
            self._call = len(self._builder.calls) - 1
        else:
            (message,) = self.messages([chat], origin)
            self._builder.add_blocks(self._response, list(message.blocks))

    def add_response(self, chat: ChatMessage, origin: Origin) -> None:
        """Add a response stored as one message; directly after another one it continues that response."""
        if self._response is None or self.members[-1:] != [self._response]:
            self.begin_step(chat.identifier, chat.time)
        self.answer(chat.value, origin, chat.time)

    def discard_step(self, *, is_made_again: bool) -> None:
        """Remove a failed request's messages, and if it is retried its call without usage."""
        if self._response not in self.members:
            return
        first = self.members.index(self._response)
        of_step = [
            member
            for member in self.members[first:]
            if self._builder.messages[member].role in (Role.ASSISTANT, Role.TOOL)
        ]
        for member in of_step:
            self._builder.replace_message(member, is_abandoned=True)
        self.members[first:] = [member for member in self.members[first:] if member not in of_step]
        if is_made_again and self._call == len(self._builder.calls) - 1 and self._builder.calls[-1].usage is None:
            self._builder.calls.pop()
        self._response = self._call = None

    @property
    def last_call(self) -> Call | None:
        """The call of this step; None without any response."""
        return self._builder.calls[self._call] if self._call is not None else None

    def count(self, usage: Usage, model: str, origin: Origin) -> None:
        """Set the usage of this step; a later report replaces it."""
        if self._call is None:
            self.answer({"role": "assistant", "content": []}, origin, self._time)
        if self._call is not None:
            call = self._builder.calls[self._call]
            self._builder.calls[self._call] = structs.replace(call, usage=usage, model=model or call.model)

    def name_response(self, identifier: str) -> None:
        """Set the provider's response id, empty without one; copies in forks have the same id."""
        if self._call is None:
            return
        call = self._builder.calls[self._call]
        copied_as = call.copied_as
        if self.agent:
            self._counted += not copied_as
            copied_as = f"{self.agent} {identifier or self._counted}"
        self._builder.calls[self._call] = structs.replace(
            call, identifier=identifier or call.identifier, copied_as=copied_as
        )

    def name_model(self, model: str) -> None:
        """Set the model of this step's call if it has none."""
        if self._call is not None and model and not self._builder.calls[self._call].model:
            self._builder.calls[self._call] = structs.replace(self._builder.calls[self._call], model=model)


def parts_of(content: Any) -> Any:
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    return [_part(part) for part in content]


def _part(part: Any) -> Any:
    fields = mapping(part)
    kind = string(fields.get("type"))
    if kind == "think":
        signature = string(fields.get("encrypted"))
        return {"type": "thinking", "thinking": string(fields.get("think")), "signature": signature}
    for name in ("image_url", "audio_url", "video_url"):
        if kind == name:
            place = mapping(fields.get(name)) or mapping(fields.get("imageUrl")) or mapping(fields.get("url"))
            url = string(place.get("url")) or string(fields.get("url"))
            known = "image_url" if name == "image_url" else "document"
            return {"type": known, "image_url": {"url": url}}
    return part


def calls_of(calls: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Convert calls to OpenAI form, with or without a `function` object."""
    found = []
    for call in calls:
        function = mapping(call.get("function")) or call
        arguments = function.get("arguments")
        about = {"name": string(function.get("name")), "arguments": arguments if arguments is not None else "{}"}
        found.append({"id": string(call.get("id")), "type": "function", "function": about})
    return found


def usage_of(reported: Any, names: tuple[str, str, str]) -> Usage | None:
    """Convert reported usage. `names` are the fields for uncached input, cache reads and cache writes."""
    fields = mapping(reported)
    plain, read, written = (count(fields.get(name)) for name in names)
    usage = Usage(plain, read, written, output=count(fields.get("output"))).unless_zero()
    return (KIMI_CODE if "inputOther" in names else KIMI_CLI).check(usage, fields)


ELSEWHERE = "SubagentEvent (in its own file)"
"""Name for counting the events of subagents that have their own file, where the same messages are stored."""

CLI_QUIET = frozenset(
    {"ApprovalRequest", "ApprovalRequestResolved", "ApprovalResponse", "BtwBegin", "BtwEnd", "CompactionBegin"}
    | {"HookRequest", "HookResolved", "HookResponse", "HookTriggered", "MCPLoadingBegin", "MCPLoadingEnd"}
    | {"MCPStatusSnapshot", "Notification", "PlanDisplay", "QuestionRequest", "QuestionResponse", "StatusUpdate"}
    | {ELSEWHERE}
    | {"StepBegin", "StepInterrupted", "StepRetry", "SubagentEvent", "ToolCallRequest", "TurnEnd", "metadata"}
)
"""Message types that are not sent to the model and not shown."""

CLI_INTERPRETED = frozenset(
    {"CompactionEnd", "ContentPart", "SteerInput", "ToolCall", "ToolCallPart", "ToolResult", "TurnBegin"}
)
"""Message types that change the context."""

CLI_USAGE_NAMES = ("input_other", "input_cache_read", "input_cache_creation")

COMPACTED = "The compaction summary is recorded only in context.jsonl."

KEPT = 2
"""Number of last user and assistant messages kept by a compaction, with the results between them."""


STARTS = "Agent"
"""The tool that starts subagents."""

CLI_STARTED = re.compile(r"^agent_id: (\S+)$", re.MULTILINE)
"""Matches the agent in a result, on its first line or after the task information."""

MOST_LINES_BEFORE = 4


class KimiCliInterpreter(RecordInterpreter):
    """Builds a session from messages. Subagents are separate conversations, or sessions with a file each."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.builder.agent = "Kimi CLI"
        self._folder = path.parent if path.name == WIRE else None
        self._session = ""
        self.documents: tuple[Path, ...] = ()
        if self._folder is not None:
            self._session = clean_text(self._folder.name)
            self.builder.identifier = self._session
            self.documents = (self._folder / STATE, self._folder / OLD_CLI_STATE)
            if self._folder.parent.name == SUBAGENTS:
                main = self._folder.parent.parent
                self.builder.identifier = f"{clean_text(main.name)}:{self._session}"
                self.builder.link(SessionLink(LinkKind.PARENT, clean_text(main.name), main / WIRE))
                self.documents = (self._folder / META,)
        self._own_name = self._session if self._folder is not None and self._folder.parent.name == SUBAGENTS else ""
        self._starts: set[str] = set()
        self._elsewhere: dict[str, bool] = {}
        self._threads: dict[str, StepThread] = {}
        self._tokens: int | None = None

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
        value, _ = object_of(record)
        if value is None:
            return []
        message, _ = _innermost(mapping(value.get("message")))
        return blocks_of_chat(cli_chat_messages(message), origin)

    def add(self, record: Record) -> None:
        value, origin = record.value, record.origin
        if value.get("type") == "metadata":
            self.builder.record_counts["metadata"] += 1
            return
        outer = mapping(value.get("message"))
        message, agent = _innermost(outer)
        kind = string(message.get("type"))
        if agent and self._has_own_file(agent, mapping(outer.get("payload"))):
            self.builder.record_counts[ELSEWHERE] += 1
            return
        self.builder.record_counts[clean_text(kind) or "(no type)"] += 1
        time = seconds_of_any(value.get("timestamp"))
        thread = self._threads.get(agent)
        if thread is None:
            thread = self._threads[agent] = StepThread(self.builder, len(self._threads))
            # Older versions identify subagents by call ids, which are not unique.
            named = string(mapping(outer.get("payload")).get("agent_id"))
            thread.agent = self._own_name if not agent else clean_text(agent) if agent == named else ""
        self._take(thread, message, origin, time)
        if not agent and kind in ("ToolCall", "ToolResult"):
            self._note_started(kind, mapping(message.get("payload")))

    def _take(self, thread: StepThread, message: Mapping[str, Any], origin: Origin, time: float | None) -> None:
        kind = string(message.get("type"))
        if kind == "StepBegin":
            thread.begin_step("", time)
        elif kind in ("StepInterrupted", "StepRetry"):
            thread.discard_step(is_made_again=kind == "StepRetry")
        elif kind == "StatusUpdate":
            self._count(thread, mapping(message.get("payload")), origin)
        elif kind == "CompactionEnd":
            self._compact(thread, message, origin, time)
        elif kind in ("ContentPart", "ToolCall"):
            for chat in cli_chat_messages(message):
                thread.answer(chat.value, origin, time)
        elif kind not in CLI_QUIET:
            thread.add_record([ChatMessage(chat.value, time) for chat in cli_chat_messages(message)], origin)

    def note(self, about: Mapping[str, Any]) -> None:
        """Record the title of the session or of the subagent's task."""
        self.builder.title = title_of(about)

    def _file_of(self, agent: str) -> Path | None:
        if self._folder is None or not can_name_file(agent):
            return None
        file = self._folder / SUBAGENTS / agent / WIRE
        return file if is_file(file) else None

    def _has_own_file(self, agent: str, about: Mapping[str, Any]) -> bool:
        """Return True if a subagent has its own file, which is created before its first message."""
        if agent not in self._elsewhere:
            file = self._file_of(agent)
            self._elsewhere[agent] = file is not None
            if file is not None:
                self._link(agent, string(about.get("parent_tool_call_id")), clean_string(about.get("subagent_type")))
        return self._elsewhere[agent]

    def _note_started(self, kind: str, payload: Mapping[str, Any]) -> None:
        """Link a subagent started in the background, which is named only in the call's result."""
        if kind == "ToolCall":
            if mapping(payload.get("function")).get("name") == STARTS:
                self._starts.add(string(payload.get("id")))
            return
        call = string(payload.get("tool_call_id"))
        output = mapping(payload.get("return_value")).get("output")
        if call in self._starts and isinstance(output, str):
            named = CLI_STARTED.search("\n".join(output.split("\n", MOST_LINES_BEFORE + 1)[: MOST_LINES_BEFORE + 1]))
            if named is not None and self._file_of(named[1]) is not None:
                self._link(named[1], call)

    def _link(self, agent: str, call: str, title: str = "") -> None:
        identifier, file = f"{self._session}:{clean_text(agent)}", self._file_of(agent)
        known = self.builder.links.get((LinkKind.SUBAGENT, clean_text(call), identifier))
        if known is None:
            self.builder.link(SessionLink(LinkKind.SUBAGENT, identifier, file, clean_text(call), title))

    def _count(self, thread: StepThread, payload: Mapping[str, Any], origin: Origin) -> None:
        usage = usage_of(payload.get("token_usage"), CLI_USAGE_NAMES)
        if thread.number == 0:
            self.builder.window = count(payload.get("max_context_tokens")) or self.builder.window
            self._tokens = count_or_none(payload.get("context_tokens")) or self._tokens
        if usage is not None:
            thread.count(usage, "", origin)
            thread.name_response(clean_string(payload.get("message_id")))

    def _compact(self, thread: StepThread, message: Mapping[str, Any], origin: Origin, time: float | None) -> None:
        """Begin the context left by a compaction: the last messages. The summary is not recorded here."""
        members = list(thread.members)
        kept, seen = len(members), 0
        while kept > 0 and seen < KEPT:
            kept -= 1
            seen += self.builder.messages[members[kept]].role in (Role.USER, Role.ASSISTANT)
        thread.compact(Compaction(0, "auto", self._tokens, time=time), None, members[kept:])
        thread.add_record([ChatMessage(chat.value, time) for chat in cli_chat_messages(message)], origin)


def _innermost(message: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """Unwrap nested subagent events; return the message and the innermost subagent's id or call id."""
    agent = ""
    for _ in range(20):
        payload = mapping(message.get("payload"))
        if message.get("type") != "SubagentEvent" or not mapping(payload.get("event")):
            break
        agent = string(payload.get("agent_id")) or string(payload.get("parent_tool_call_id"))
        agent = agent or string(payload.get("task_tool_call_id")) or "subagent"
        message = mapping(payload.get("event"))
    return message, agent


def cli_chat_messages(message: Mapping[str, Any]) -> list[ChatMessage]:
    kind, payload = string(message.get("type")), mapping(message.get("payload"))
    if kind in ("SteerInput", "TurnBegin"):
        return [ChatMessage({"role": "user", "content": parts_of(payload.get("user_input"))})]
    if kind == "ContentPart":
        return [ChatMessage({"role": "assistant", "content": parts_of([payload])})]
    if kind == "ToolCall":
        return [ChatMessage({"role": "assistant", "content": [], "tool_calls": calls_of([payload])})]
    if kind == "ToolResult":
        return [ChatMessage(_result(payload))]
    if kind == "CompactionEnd":
        return [ChatMessage(notice(COMPACTED))]
    return [] if kind in CLI_QUIET else [ChatMessage(notice(compact_json(dict(message))))]


def _result(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a result to the form sent to the model: status text, then output (`soul/message.py`)."""
    result = mapping(payload.get("return_value")) or mapping(payload.get("result"))
    failed, about, output = result.get("is_error") is True, string(result.get("message")), result.get("output")
    status = f"ERROR: {about}" if failed else about
    parts: list[Any] = [{"type": "text", "text": f"<system>{status}</system>"}] if status else []
    if isinstance(output, str):
        parts += [{"type": "text", "text": output}] if output else []
    else:
        parts += parts_of(sequence(output) or ([output] if mapping(output) else []))
    if not parts:
        parts = [{"type": "text", "text": "<system>Tool output is empty.</system>"}]
    identifier = string(payload.get("tool_call_id"))
    return {"role": "tool", "tool_call_id": identifier, "content": parts, "is_error": failed}


CODE_QUIET = frozenset(
    {"context.update_token_count", "cron.add", "cron.cursor", "cron.delete", "full_compaction.begin"}
    | {"full_compaction.cancel", "full_compaction.complete", "goal.clear", "goal.create", "goal.update"}
    | {"interaction.request", "interaction.resolved", "interruptionReminder.recorded", "llm.request"}
    | {"mcp.tools_discovered", "metadata", "micro_compaction.apply", "permission.record_approval_result"}
    | {"permission.set_mode", "plan.revision", "plan_mode.cancel", "plan_mode.enter", "plan_mode.exit"}
    | {"plugin.session_start", "prompt.accepted", "runtime.set_binding", "staleGuard.cleared", "staleGuard.recorded"}
    | {"swarm_mode.enter", "swarm_mode.exit", "task.started", "task.terminated", "task.waitDelivered"}
    | {"token_counting.measured", "token_counting.rebased", "token_counting.truncated"}
    | {"token_counting.turn_recorded", "tools.register_user_tool", "tools.reset_active_tools"}
    | {"tools.set_active_tools", "tools.unregister_user_tool", "tools.update_store", "tower_mode.enter"}
    | {"tower_mode.exit", "turn.cancel", "turn.ended", "turn.prompt", "turn.steer", "usage.record"}
    | {"step.begin", "step.end"}
)
"""Types of records and events that do not change the context and are not shown."""

CODE_INTERPRETED = frozenset(
    {"agent.message.appended", "config.update", "content.part", "context.append_message", "context.apply_compaction"}
    | {"context.clear", "context.undo", "forked", "llm.tools_snapshot", "profile.bind", "tool.call", "tool.result"}
)
"""Types of records and events that change the context."""

CODE_USAGE_NAMES = ("inputOther", "inputCacheRead", "inputCacheCreation")

FAILED = "<system>ERROR: Tool execution failed.</system>"
EMPTY = "<system>Tool output is empty.</system>"
EMPTY_FAILED = "<system>ERROR: Tool execution failed. Tool output is empty.</system>"
EMPTY_TEXTS = ("", "Tool output is empty.")

SUMMARY = "compaction_summary"

CODE_STARTED = {
    "Agent": re.compile(r"\A(?:task_id: .*\nstatus: .*\n)?agent_id: (\S+)$", re.MULTILINE),
    "AgentSwarm": re.compile(r"^<subagent\b[^>\n]*? agent_id=\"([^\"\n]+)\"", re.MULTILINE),
}
"""Match the agents named in the results of tools that start agents."""


class KimiCodeInterpreter(RecordInterpreter):
    """Builds a session from the records of one agent."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.builder.agent = "Kimi Code"
        self._agents, self._agent = path.parent.parent, path.parent.name
        self._is_placed = path.name == WIRE and self._agents.name == AGENTS
        self.documents: tuple[Path, ...] = ()
        if self._is_placed:
            self.builder.identifier = self._identifier_of(self._agent)
            self.documents = (self._agents.with_name(STATE), self._agents.parent.joinpath(*OLD_STATE))
        self._folder = ""
        self._tools: dict[str, str] = {}
        self._started: set[str] = set()
        self._thread = StepThread(self.builder)
        self._surroundings: dict[str, int] = {}
        self._origins: dict[int, str] = {}
        self._awaited: set[str] = set()
        self._deferred: list[tuple[list[ChatMessage], Origin]] = []
        self._alias = ""
        self._compacting = ""
        self._uncounted: Usage | None = None

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
        value, _ = object_of(record)
        return blocks_of_chat(code_chat_messages(value), origin) if value is not None else []

    def note(self, about: Mapping[str, Any]) -> None:
        """Record the session's state: title, origin of a fork, and the hierarchy of agents."""
        builder = self.builder
        place = clean_string(about.get("cwd")) or clean_string(about.get("workDir"))
        builder.working_directory = self._folder or place
        if not self._is_placed:
            return
        for key in [key for key in builder.links if not key[1]]:  # links from the metadata files
            del builder.links[key]
        agents = mapping(about.get("agents"))
        if self._agent == MAIN:
            builder.title = title_of(about)
            if source := clean_string(about.get("forkedFrom")):
                builder.link(SessionLink(LinkKind.CONTINUED, source))
        else:
            parent = parent_of_agent(about, self._agent) or MAIN
            builder.title = clean_string(mapping(agents.get(self._agent)).get("swarmItem"))
            builder.link(SessionLink(LinkKind.PARENT, self._identifier_of(parent), self._file_of(parent)))
        for agent in agents:
            if agent not in self._started and parent_of_agent(about, agent) == self._agent:
                self._link(agent, "")

    def _identifier_of(self, agent: str) -> str:
        session = self._agents.parent.name
        return clean_text(session if agent == MAIN else f"{session}:{agent}")

    def _file_of(self, agent: str) -> Path | None:
        return self._agents / agent / WIRE if can_name_file(agent) else None

    def _link(self, agent: str, call: str, title: str = "") -> None:
        if self._is_placed and agent != self._agent:
            path = self._file_of(agent)
            self.builder.link(SessionLink(LinkKind.SUBAGENT, self._identifier_of(agent), path, clean_text(call), title))

    def _note_started(self, call: str, result: Any) -> None:
        """Link the agents started by a call, as named in its result: one agent or a swarm."""
        tool = self._tools.get(call)
        if tool is None:
            return
        output = mapping(result).get("output")
        texts = [output] if isinstance(output, str) else [string(part.get("text")) for part in objects(output)]
        for text in texts:
            for agent in CODE_STARTED[tool].findall(text):
                self._started.add(agent)
                self._link(agent, call)

    def add(self, record: Record) -> None:
        value, origin = record.value, record.origin
        kind = string(value.get("type"))
        event = mapping(value.get("event")) if kind == "context.append_loop_event" else {}
        name = string(event.get("type")) if event else kind
        self.builder.record_counts[clean_text(name) or "(no type)"] += 1
        time = seconds_of_any(value.get("time"))
        if event:
            self._add_event(event, record, time)
        elif kind in ("context.append_message", "agent.message.appended"):
            self._append(code_chat_messages(value), origin)
        elif kind in ("config.update", "profile.bind"):
            self._configure(value, origin)
        elif kind == "llm.tools_snapshot":
            self._set_definitions("tools", code_chat_messages(value), origin)
        elif kind == "context.apply_compaction":
            self._compact(value, origin, time)
        elif kind == "context.clear":
            self._abandon(list(self._thread.members))
        elif kind == "context.undo":
            self._undo(count(value.get("count")))
        elif kind == "usage.record":
            self._count(value, origin, time)
        elif kind == "forked":
            self._inherit()
        else:
            self._note(kind, value, origin)

    def _note(self, kind: str, value: Mapping[str, Any], origin: Origin) -> None:
        if kind == "llm.request":
            model = clean_string(value.get("model"))
            self._compacting = "compaction" if value.get("kind") == "compaction" else ""
            if not self._compacting:
                self._thread.model = self._alias if model.startswith("__") else model or self._alias
        elif kind == "task.started":
            about = mapping(value.get("info"))
            agent, call = string(about.get("agentId")), string(about.get("parentToolCallId"))
            if about.get("kind") == "agent" and agent and call:
                self._started.add(agent)
                self._link(agent, call, clean_string(about.get("description")))
        elif kind == "full_compaction.begin":
            self._compacting = clean_string(value.get("source")) or "auto"
        elif kind in ("full_compaction.cancel", "full_compaction.complete"):
            self._compacting = ""
        elif kind not in CODE_QUIET:
            self._thread.add_record(code_chat_messages(value), origin)

    def _configure(self, value: Mapping[str, Any], origin: Origin) -> None:
        place = clean_string(value.get("cwd"))
        place = place or clean_string(mapping(value.get("environmentDisclosure")).get("cwd"))
        self._folder = self._folder or place
        self._alias = clean_string(value.get("modelAlias")) or self._alias
        self._thread.model = clean_string(value.get("modelAlias")) or self._thread.model
        if string(value.get("systemPrompt")):
            self._set_definitions("system", code_chat_messages(value), origin)

    def _set_definitions(self, name: str, chats: list[ChatMessage], origin: Origin) -> None:
        """Set the system prompt or tools; if they changed, begin a new context."""
        if not chats:
            return
        (message,) = self._thread.messages(chats, origin)
        known = self._surroundings.get(name)
        if known is not None:
            before = self.builder.messages[known]
            if [block.digest for block in before.blocks] == [block.digest for block in message.blocks]:
                return
        index = self.builder.add_message(message)
        members = [member for member in self._thread.members if member not in self._surroundings.values()]
        self._surroundings[name] = index
        members = [*self._around(), *members]
        context = self._thread.open_context()
        if any(call.context == context.index for call in self.builder.calls[-1:]):
            self._thread.begin(ContextCause.REWIND, members)
        else:
            context.members[:] = members

    def _around(self) -> list[int]:
        """Return the messages sent before all others: tools, then the system prompt."""
        return [self._surroundings[name] for name in ("tools", "system") if name in self._surroundings]

    def _append(self, chats: list[ChatMessage], origin: Origin) -> None:
        """Add a message, deferred while tool results are pending."""
        if self._awaited and not any(chat.role in (Role.ASSISTANT, Role.TOOL) for chat in chats):
            self._deferred.append((chats, origin))
            return
        for chat in chats:
            if chat.is_call:
                self._thread.add_response(chat, origin)
            else:
                (index,) = self._thread.add_record([chat], origin)
                self._origins[index] = string(chat.value.get("origin"))

    def _flush(self) -> None:
        if not self._awaited:
            deferred, self._deferred = self._deferred, []
            for chats, origin in deferred:
                self._append(chats, origin)

    def _add_event(self, event: Mapping[str, Any], record: Record, time: float | None) -> None:
        kind, value, origin = string(event.get("type")), record.value, record.origin
        if kind == "step.begin":
            self._awaited.clear()
            self._flush()
            self._thread.begin_step(clean_string(event.get("uuid")), time)
            self._uncounted = None
        elif kind == "step.end":
            usage = usage_of(event.get("usage"), CODE_USAGE_NAMES)
            if usage is not None:
                self._thread.count(usage, "", origin)
                self._uncounted = usage
            self._flush()
        elif kind in ("content.part", "tool.call"):
            if kind == "tool.call":
                self._awaited.add(string(event.get("toolCallId")))
                if string(event.get("name")) in CODE_STARTED:
                    self._tools[string(event.get("toolCallId"))] = string(event.get("name"))
            for chat in code_chat_messages(value):
                self._thread.answer(chat.value, origin, time)
        else:
            identifier = string(event.get("toolCallId"))
            self._note_started(identifier, event.get("result"))
            if kind != "tool.result" or identifier in self._awaited:
                self._thread.add_record(code_chat_messages(value), origin)
            self._awaited.discard(identifier)
            self._flush()

    def _count(self, value: Mapping[str, Any], origin: Origin, time: float | None) -> None:
        """Assign a usage report: a step's report repeats the one at its end, any other belongs to a side request."""
        usage, model = usage_of(value.get("usage"), CODE_USAGE_NAMES), clean_string(value.get("model"))
        model = self._alias if model.startswith("__") else model
        scope, call = string(value.get("usageScope")), self._thread.last_call
        if usage is None:
            return
        is_step = scope == "turn" or (not scope and usage == self._uncounted)
        if is_step and (self._uncounted is not None or call is None or call.usage is None):
            if self._uncounted is None:
                self._thread.count(usage, model, origin)
            self._thread.name_model(model)
            self._uncounted = None
            return
        purpose = "compaction" if self._compacting else "side request"
        self.builder.side_calls[f"{origin.offset}"] = SideCall(purpose, model, time, usage)

    def _compact(self, value: Mapping[str, Any], origin: Origin, time: float | None) -> None:
        around = self._around()
        history = [member for member in self._thread.members if member not in around]
        (summary,) = self._thread.messages(code_chat_messages(value), origin)
        kept, before = self._kept(value, history), around
        if "keptUserMessageCount" in value:
            before, kept = [*around, *kept], []
        compaction = Compaction(
            0,
            self._compacting if self._compacting not in ("", "compaction") else "auto",
            count_or_none(value.get("tokensBefore")),
            count_or_none(value.get("tokensAfter")),
            time=time,
        )
        index = self._thread.compact(compaction, summary, kept, before)
        self._origins[index] = SUMMARY
        self._awaited.clear()
        self._deferred.clear()

    def _kept(self, value: Mapping[str, Any], history: list[int]) -> list[int]:
        """Return the messages kept by a compaction: first and last user prompts, or all after the compacted part."""
        if "keptUserMessageCount" not in value:
            return history[count(value.get("compactedCount")) :]
        asked = [member for member in history if self._origins.get(member) == "user"]
        number, first = count(value.get("keptUserMessageCount")), count(value.get("keptHeadUserMessageCount"))
        number = min(number, len(asked))
        first = min(first, number)
        return [*asked[:first], *asked[len(asked) - (number - first) :]]

    def _undo(self, number: int) -> None:
        """Take back a number of user messages and their consequences, but nothing up to the last summary."""
        around = self._around()
        removed: list[int] = []
        found = 0
        for member in reversed(self._thread.members):
            origin = self._origins.get(member, "")
            if found >= number or origin == SUMMARY or member in around:
                break
            if origin == "injection":
                continue
            removed.append(member)
            found += origin == "user"
        self._abandon(removed)

    def _abandon(self, members: list[int]) -> None:
        """Begin a context without some messages."""
        around = self._around()
        left = set(members).difference(around)
        for member in left:
            self.builder.replace_message(member, is_abandoned=True)
        if left:
            self._thread.begin(ContextCause.REWIND, [one for one in self._thread.members if one not in left])
        self._awaited.clear()
        self._deferred.clear()

    def _inherit(self) -> None:
        """Mark all earlier messages as copied from the session this was forked from, which counts their calls."""
        for index in range(len(self.builder.messages)):
            self.builder.replace_message(index, is_inherited=True)
        self.builder.calls.clear()
        self.builder.side_calls.clear()
        self._thread.begin_step("", None)


def code_chat_messages(value: Mapping[str, Any]) -> list[ChatMessage]:
    kind, time = string(value.get("type")), seconds_of_any(value.get("time"))
    if kind == "context.append_loop_event":
        return _event_messages(mapping(value.get("event")), time)
    if kind in ("config.update", "profile.bind"):
        text = string(value.get("systemPrompt"))
        return [ChatMessage({"role": "system", "content": text}, time)] if text else []
    if kind == "llm.tools_snapshot":
        return [ChatMessage({"role": "system", "content": compact_json(sequence(value.get("tools")))}, time)]
    if kind == "context.apply_compaction":
        text = string(value.get("contextSummary")) or string(value.get("summary"))
        return [ChatMessage({"role": "user", "content": text}, time, is_meta=True, is_summary=True)]
    message = mapping(value.get("message"))
    message = mapping(message.get("message")) or message
    if kind in ("context.append_message", "agent.message.appended") and string(message.get("role")):
        return [_message(message, time)]
    return [ChatMessage(notice(compact_json(dict(value))), time)]


def _message(message: Mapping[str, Any], time: float | None) -> ChatMessage:
    role = string(message.get("role"))
    identifier = clean_string(message.get("id"))
    origin = string(mapping(message.get("origin")).get("kind")) or ("user" if role == "user" else "")
    value: dict[str, Any] = {"role": role, "content": parts_of(message.get("content")), "origin": origin}
    if calls := calls_of(objects(message.get("toolCalls")) or objects(message.get("tool_calls"))):
        value["tool_calls"] = calls
    if role == "tool":
        identifier = string(message.get("toolCallId")) or string(message.get("tool_call_id"))
        value |= _code_result(identifier, message.get("content"), message)
    is_call = role == "assistant"
    return ChatMessage(value, time, identifier, is_call=is_call, is_meta=role == "user" and origin != "user")


def _event_messages(event: Mapping[str, Any], time: float | None) -> list[ChatMessage]:
    kind = string(event.get("type"))
    if kind == "content.part":
        content = parts_of([event.get("part")])
        return [ChatMessage({"role": "assistant", "content": content}, time)]
    if kind == "tool.call":
        about = {"id": event.get("toolCallId"), "name": event.get("name"), "arguments": event.get("args")}
        return [ChatMessage({"role": "assistant", "content": [], "tool_calls": calls_of([about])}, time)]
    if kind == "tool.result":
        result = mapping(event.get("result"))
        value = _code_result(string(event.get("toolCallId")), result.get("output"), result)
        return [ChatMessage(value, time)]
    return [] if kind in CODE_QUIET else [ChatMessage(notice(compact_json(dict(event))), time)]


def _code_result(identifier: str, output: Any, about: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a result to the form sent to the model: status before, note after it (`tool-result-render.ts`)."""
    failed, note = about.get("isError") is True, string(about.get("note"))
    parts = sequence(output)
    single = output if isinstance(output, str) else None
    if single is None and len(parts) == 1 and mapping(parts[0]).get("type") == "text":
        single = string(mapping(parts[0]).get("text"))
    content: Any
    if single is not None or not parts:
        text = single or ""
        if failed:
            text = f"{FAILED}\n{text}" if text else EMPTY_FAILED
        elif text.strip() in EMPTY_TEXTS:
            text = EMPTY
        content = f"{text}\n{note}" if note else text
    else:
        content = [{"type": "text", "text": FAILED}] if failed else []
        content += parts_of(parts)
        if note:
            content.append({"type": "text", "text": note})
    return {"role": "tool", "tool_call_id": identifier, "content": content, "is_error": failed}
