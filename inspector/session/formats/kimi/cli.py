"""Read Kimi CLI's messages from agent to screen, which contain the conversation and its usage."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from inspector.session.files import is_file
from inspector.session.format import can_name_file
from inspector.session.formats.chat import ChatMessage, blocks_of_chat, notice
from inspector.session.formats.kimi import SUBAGENTS, WIRE
from inspector.session.formats.kimi.reader import META, OLD_CLI_STATE, STATE, title_of
from inspector.session.formats.kimi.steps import StepThread, calls_of, parts_of, usage_of
from inspector.session.json.codec import clean_text, compact_json
from inspector.session.json.lines import object_of
from inspector.session.json.values import (
    clean_string,
    count,
    count_or_none,
    mapping,
    seconds_of_any,
    sequence,
    string,
)
from inspector.session.model import Compaction, LinkKind, Role, SessionLink
from inspector.session.reader import Record, RecordInterpreter

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from inspector.session.blocks import TextBlock
    from inspector.session.model import Origin

ELSEWHERE = "SubagentEvent (in its own file)"
"""Name for counting the events of subagents that have their own file, where the same messages are stored."""

QUIET = frozenset(
    {"ApprovalRequest", "ApprovalRequestResolved", "ApprovalResponse", "BtwBegin", "BtwEnd", "CompactionBegin"}
    | {"HookRequest", "HookResolved", "HookResponse", "HookTriggered", "MCPLoadingBegin", "MCPLoadingEnd"}
    | {"MCPStatusSnapshot", "Notification", "PlanDisplay", "QuestionRequest", "QuestionResponse", "StatusUpdate"}
    | {ELSEWHERE}
    | {"StepBegin", "StepInterrupted", "StepRetry", "SubagentEvent", "ToolCallRequest", "TurnEnd", "metadata"}
)
"""Message types that are not sent to the model and not shown."""

INTERPRETED = frozenset(
    {"CompactionEnd", "ContentPart", "SteerInput", "ToolCall", "ToolCallPart", "ToolResult", "TurnBegin"}
)
"""Message types that change the context."""

USAGE_NAMES = ("input_other", "input_cache_read", "input_cache_creation")

COMPACTED = "The compaction summary is recorded only in context.jsonl."

KEPT = 2
"""Number of last user and assistant messages kept by a compaction, with the results between them."""


STARTS = "Agent"
"""The tool that starts subagents."""

STARTED = re.compile(r"^agent_id: (\S+)$", re.MULTILINE)
"""Matches the agent in a result, on its first line or after the task information."""

MOST_LINES_BEFORE = 4


class KimiCliInterpreter(RecordInterpreter):
    """Builds a session from messages.

    Subagents become separate conversations, or separate sessions if they have their own files.

    Attributes:
        documents: Files with session metadata, as for `WireReader`.
    """

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
        return blocks_of_chat(to_chat_messages(message), origin)

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
            for chat in to_chat_messages(message):
                thread.answer(chat.value, origin, time)
        elif kind not in QUIET:
            thread.add_record([ChatMessage(chat.value, time) for chat in to_chat_messages(message)], origin)

    def note(self, about: Mapping[str, Any]) -> None:
        """Record the title of the session or of the subagent's task."""
        self.builder.title = title_of(about)

    def _file_of(self, agent: str) -> Path | None:
        """Return a subagent's own file; None if it has none."""
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
            named = STARTED.search("\n".join(output.split("\n", MOST_LINES_BEFORE + 1)[: MOST_LINES_BEFORE + 1]))
            if named is not None and self._file_of(named[1]) is not None:
                self._link(named[1], call)

    def _link(self, agent: str, call: str, title: str = "") -> None:
        identifier, file = f"{self._session}:{clean_text(agent)}", self._file_of(agent)
        known = self.builder.links.get((LinkKind.SUBAGENT, clean_text(call), identifier))
        if known is None:
            self.builder.link(SessionLink(LinkKind.SUBAGENT, identifier, file, clean_text(call), title))

    def _count(self, thread: StepThread, payload: Mapping[str, Any], origin: Origin) -> None:
        usage = usage_of(payload.get("token_usage"), USAGE_NAMES)
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
        thread.add_record([ChatMessage(chat.value, time) for chat in to_chat_messages(message)], origin)


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


def to_chat_messages(message: Mapping[str, Any]) -> list[ChatMessage]:
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
    return [] if kind in QUIET else [ChatMessage(notice(compact_json(dict(message))))]


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
