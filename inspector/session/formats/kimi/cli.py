"""Reading Kimi CLI's messages: what its agent told the screen, which is the conversation and its usage."""

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

ELSEWHERE = "SubagentEvent of a file of its own"
"""What is counted of subagents that have a file of their own, in which their messages stand again."""

QUIET = frozenset(
    {"ApprovalRequest", "ApprovalRequestResolved", "ApprovalResponse", "BtwBegin", "BtwEnd", "CompactionBegin"}
    | {"HookRequest", "HookResolved", "HookResponse", "HookTriggered", "MCPLoadingBegin", "MCPLoadingEnd"}
    | {"MCPStatusSnapshot", "Notification", "PlanDisplay", "QuestionRequest", "QuestionResponse", "StatusUpdate"}
    | {ELSEWHERE}
    | {"StepBegin", "StepInterrupted", "StepRetry", "SubagentEvent", "ToolCallRequest", "TurnEnd", "metadata"}
)
"""Kinds of messages that say nothing to the model and are not shown."""

USAGE_NAMES = ("input_other", "input_cache_read", "input_cache_creation")

COMPACTED = "The summary of what was compacted stands in context.jsonl alone."

KEPT = 2
"""How many of the last messages of user and model a compaction keeps, with the results between them."""


STARTS = "Agent"
"""The tool that starts subagents."""

STARTED = re.compile(r"^agent_id: (\S+)$", re.MULTILINE)
"""Where its results name them: first of all, or behind what they say of a task."""

MOST_LINES_BEFORE = 4


class KimiCliInterpreter(RecordInterpreter):
    """Makes a session out of messages.

    Those of subagents are conversations of their own, or sessions where they have files of their own.

    Attributes:
        documents: Those that tell of its session, as `WireReader` takes them.
    """

    def __init__(self, path: Path) -> None:
        """Begin.

        Args:
            path: The file.
        """
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
        """The blocks of a record that is read again."""
        value, _ = object_of(record)
        if value is None:
            return []
        message, _ = _innermost(mapping(value.get("message")))
        return blocks_of_chat(said(message), origin)

    def add(self, record: Record) -> None:
        """Take a message."""
        value, origin = record.value, record.origin
        if value.get("type") == "metadata":
            self.builder.record_counts["metadata"] += 1
            return
        outer = mapping(value.get("message"))
        message, agent = _innermost(outer)
        kind = string(message.get("type"))
        if agent and self._stands_elsewhere(agent, mapping(outer.get("payload"))):
            self.builder.record_counts[ELSEWHERE] += 1
            return
        self.builder.record_counts[clean_text(kind) or "(no type)"] += 1
        time = seconds_of_any(value.get("timestamp"))
        thread = self._threads.get(agent)
        if thread is None:
            thread = self._threads[agent] = StepThread(self.builder, len(self._threads))
            # The ids of calls, by which older versions name subagents, are not unique.
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
            thread.leave_out(is_made_again=kind == "StepRetry")
        elif kind == "StatusUpdate":
            self._count(thread, mapping(message.get("payload")), origin)
        elif kind == "CompactionEnd":
            self._compact(thread, message, origin, time)
        elif kind in ("ContentPart", "ToolCall"):
            for chat in said(message):
                thread.answer(chat.value, origin, time)
        elif kind not in QUIET:
            thread.say([ChatMessage(chat.value, time) for chat in said(message)], origin)

    def note(self, about: Mapping[str, Any]) -> None:
        """Take what the session, or what the subagent was started for, is called."""
        self.builder.title = title_of(about)

    def _file_of(self, agent: str) -> Path | None:
        """The file of a subagent's own; None where there is none."""
        if self._folder is None or not can_name_file(agent):
            return None
        file = self._folder / SUBAGENTS / agent / WIRE
        return file if is_file(file) else None

    def _stands_elsewhere(self, agent: str, about: Mapping[str, Any]) -> bool:
        """Whether a subagent has a file of its own, which is there before its first message."""
        if agent not in self._elsewhere:
            file = self._file_of(agent)
            self._elsewhere[agent] = file is not None
            if file is not None:
                self._link(agent, string(about.get("parent_tool_call_id")), clean_string(about.get("subagent_type")))
        return self._elsewhere[agent]

    def _note_started(self, kind: str, payload: Mapping[str, Any]) -> None:
        """Note whom a call started that runs in the background: only the call's result names it here."""
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
        """Begin what a compaction leaves: the last messages, as its summary is not among what is told."""
        members = list(thread.members)
        kept, seen = len(members), 0
        while kept > 0 and seen < KEPT:
            kept -= 1
            seen += self.builder.messages[members[kept]].role in (Role.USER, Role.ASSISTANT)
        thread.compact(Compaction(0, "auto", self._tokens, time=time), None, members[kept:])
        thread.say([ChatMessage(chat.value, time) for chat in said(message)], origin)


def _innermost(message: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """A message without the events of subagents around it, and the call that started the innermost of them."""
    agent = ""
    for _ in range(20):
        payload = mapping(message.get("payload"))
        if message.get("type") != "SubagentEvent" or not mapping(payload.get("event")):
            break
        agent = string(payload.get("agent_id")) or string(payload.get("parent_tool_call_id"))
        agent = agent or string(payload.get("task_tool_call_id")) or "subagent"
        message = mapping(payload.get("event"))
    return message, agent


def said(message: Mapping[str, Any]) -> list[ChatMessage]:
    """What a message says, as chat messages."""
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
    """A result as the model is sent it: what the tool says of it, then its output (`soul/message.py`)."""
    result = mapping(payload.get("return_value")) or mapping(payload.get("result"))
    failed, about, output = result.get("is_error") is True, string(result.get("message")), result.get("output")
    said_of_it = f"ERROR: {about}" if failed else about
    parts: list[Any] = [{"type": "text", "text": f"<system>{said_of_it}</system>"}] if said_of_it else []
    if isinstance(output, str):
        parts += [{"type": "text", "text": output}] if output else []
    else:
        parts += parts_of(sequence(output) or ([output] if mapping(output) else []))
    if not parts:
        parts = [{"type": "text", "text": "<system>Tool output is empty.</system>"}]
    identifier = string(payload.get("tool_call_id"))
    return {"role": "tool", "tool_call_id": identifier, "content": parts, "is_error": failed}
