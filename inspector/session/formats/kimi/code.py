"""Read Kimi Code's records of context changes, call by call."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from inspector.session.format import can_name_file
from inspector.session.formats.chat import ChatMessage, blocks_of_chat, notice
from inspector.session.formats.kimi import AGENTS, MAIN, WIRE
from inspector.session.formats.kimi.reader import OLD_STATE, STATE, parent_of_agent, title_of
from inspector.session.formats.kimi.steps import StepThread, calls_of, parts_of, usage_of
from inspector.session.json.codec import clean_text, compact_json
from inspector.session.json.lines import object_of
from inspector.session.json.values import (
    clean_string,
    count,
    count_or_none,
    mapping,
    objects,
    seconds_of_any,
    sequence,
    string,
)
from inspector.session.model import Compaction, ContextCause, LinkKind, Role, SessionLink, SideCall
from inspector.session.reader import Record, RecordInterpreter

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from inspector.session.blocks import TextBlock
    from inspector.session.model import Origin, Usage

QUIET = frozenset(
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

INTERPRETED = frozenset(
    {"agent.message.appended", "config.update", "content.part", "context.append_message", "context.apply_compaction"}
    | {"context.clear", "context.undo", "forked", "llm.tools_snapshot", "profile.bind", "tool.call", "tool.result"}
)
"""Types of records and events that change the context."""

USAGE_NAMES = ("inputOther", "inputCacheRead", "inputCacheCreation")

FAILED = "<system>ERROR: Tool execution failed.</system>"
EMPTY = "<system>Tool output is empty.</system>"
EMPTY_FAILED = "<system>ERROR: Tool execution failed. Tool output is empty.</system>"
EMPTY_TEXTS = ("", "Tool output is empty.")

SUMMARY = "compaction_summary"

STARTED = {
    "Agent": re.compile(r"\A(?:task_id: .*\nstatus: .*\n)?agent_id: (\S+)$", re.MULTILINE),
    "AgentSwarm": re.compile(r"^<subagent\b[^>\n]*? agent_id=\"([^\"\n]+)\"", re.MULTILINE),
}
"""Match the agents named in the results of tools that start agents."""


class KimiCodeInterpreter(RecordInterpreter):
    """Builds a session from the records of one agent.

    Attributes:
        documents: Files with session metadata, as for `WireReader`.
    """

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
        return blocks_of_chat(to_chat_messages(value), origin) if value is not None else []

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
            for agent in STARTED[tool].findall(text):
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
            self._append(to_chat_messages(value), origin)
        elif kind in ("config.update", "profile.bind"):
            self._configure(value, origin)
        elif kind == "llm.tools_snapshot":
            self._set_definitions("tools", to_chat_messages(value), origin)
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
        elif kind not in QUIET:
            self._thread.add_record(to_chat_messages(value), origin)

    def _configure(self, value: Mapping[str, Any], origin: Origin) -> None:
        place = clean_string(value.get("cwd"))
        place = place or clean_string(mapping(value.get("environmentDisclosure")).get("cwd"))
        self._folder = self._folder or place
        self._alias = clean_string(value.get("modelAlias")) or self._alias
        self._thread.model = clean_string(value.get("modelAlias")) or self._thread.model
        if string(value.get("systemPrompt")):
            self._set_definitions("system", to_chat_messages(value), origin)

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
            usage = usage_of(event.get("usage"), USAGE_NAMES)
            if usage is not None:
                self._thread.count(usage, "", origin)
                self._uncounted = usage
            self._flush()
        elif kind in ("content.part", "tool.call"):
            if kind == "tool.call":
                self._awaited.add(string(event.get("toolCallId")))
                if string(event.get("name")) in STARTED:
                    self._tools[string(event.get("toolCallId"))] = string(event.get("name"))
            for chat in to_chat_messages(value):
                self._thread.answer(chat.value, origin, time)
        else:
            identifier = string(event.get("toolCallId"))
            self._note_started(identifier, event.get("result"))
            if kind != "tool.result" or identifier in self._awaited:
                self._thread.add_record(to_chat_messages(value), origin)
            self._awaited.discard(identifier)
            self._flush()

    def _count(self, value: Mapping[str, Any], origin: Origin, time: float | None) -> None:
        """Assign a usage report: a step's report repeats the one at its end, any other belongs to a side request."""
        usage, model = usage_of(value.get("usage"), USAGE_NAMES), clean_string(value.get("model"))
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
        (summary,) = self._thread.messages(to_chat_messages(value), origin)
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


def to_chat_messages(value: Mapping[str, Any]) -> list[ChatMessage]:
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
        value |= _result(identifier, message.get("content"), message)
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
        value = _result(string(event.get("toolCallId")), result.get("output"), result)
        return [ChatMessage(value, time)]
    return [] if kind in QUIET else [ChatMessage(notice(compact_json(dict(event))), time)]


def _result(identifier: str, output: Any, about: Mapping[str, Any]) -> dict[str, Any]:
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
