"""Read Qwen Code: one JSONL file per session with a tree of records.

Checked against QwenLM/qwen-code: `packages/core/src/services/chatRecordingService.ts` (records),
`session-api-history.ts` (messages sent by a resumed session) and `core/openaiContentGenerator/converter.ts` (usage).
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field, structs

from inspector.errors import SessionError
from inspector.session.billing_terms import parse_billing_terms
from inspector.session.files import exists, glob_sorted
from inspector.session.format import ContainedSession, Format, can_name_file, home_of, sessions_at
from inspector.session.formats.chat import ChatMessage, ChatThread, blocks_of_chat, chat_blocks, notice
from inspector.session.json import (
    clean_string,
    clean_text,
    compact_json,
    count,
    count_or_none,
    mapping,
    object_of,
    objects,
    seconds,
    string,
)
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.model import Compaction, ContextCause, LinkKind, Message, Origin, SessionLink, Usage
from inspector.session.reader import Reader, Record, RecordInterpreter
from inspector.session.sniff import Sample, beginning_size
from inspector.session.usage_fields import QWEN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from inspector.session.blocks import TextBlock


TYPES = frozenset({"assistant", "system", "tool_result", "user"})


MOST_SIBLINGS = 500
"""Limit on the files of a folder searched for subagents."""


@lru_cache(maxsize=4 * MOST_SIBLINGS)
def _parent_in(file: Path, size: int) -> str:  # noqa: ARG001  a key of the cache
    records = Sample(file).records
    named = (mapping(record.get("systemPayload")) for record in records if record.get("subtype") == "parent_session")
    return next((string(about.get("parentSessionId")) for about in named), "")


def _is_record(record: dict[str, Any]) -> bool:
    if string(record.get("type")) not in TYPES or not isinstance(record.get("sessionId"), str):
        return False
    if record["type"] == "system":
        return isinstance(record.get("subtype"), str) and ("systemPayload" in record or "cwd" in record)
    return isinstance(mapping(record.get("message")).get("parts"), list) or "toolCallResult" in record


def _is_qwen_record(record: dict[str, Any]) -> bool:
    return isinstance(mapping(record.get("message")).get("parts"), list)


class QwenFormat(Format):
    """Qwen Code session files."""

    name = "qwen-code"
    title = "Qwen Code"
    where = "~/.qwen/projects, or projects in $QWEN_HOME"
    exact = "prompt and output tokens of every call"

    def recognize(self, sample: Sample) -> str:
        found = [record for record in sample.records if _is_record(record)]
        if not any(map(_is_qwen_record, found)) or len(found) * 2 <= len(sample.records):
            return ""
        return f"{len(found)} of the first {len(sample.records)} lines are Qwen Code records"

    def homes(self) -> tuple[Path, ...]:
        return (home_of("QWEN_HOME", ".qwen") / "projects",)

    def reader(self, path: Path) -> Reader:
        return JsonlReader(path, self.name, QwenInterpreter(path))

    def subagents(self, path: Path, identifier: str) -> Sequence[ContainedSession]:
        siblings = glob_sorted(path.parent, "*.jsonl") if identifier else []
        found = []
        for file in siblings[:MOST_SIBLINGS]:
            with suppress(SessionError, OSError):
                is_child = file != path and _parent_in(file, beginning_size(file)) == identifier
                found += [file] if is_child else []
        return sessions_at(found)

    def locate(self, path: Path, identifier: str) -> Path | None:
        sibling = path.with_name(f"{identifier}.jsonl") if can_name_file(identifier) else None
        return sibling if sibling is not None and exists(sibling) else None

    def is_bookkeeping(self, count_name: str) -> bool:
        return count_name.partition("system:")[2] in QUIET

    def knows_record(self, count_name: str) -> bool:
        kind, _, inner = count_name.partition(":")
        is_shown = kind in TYPES and (kind != "system" or inner == COMPRESSION or inner in NOTICES)
        return is_shown or self.is_bookkeeping(count_name)


QUIET = frozenset(
    {"agent_session_ready", "attribution_snapshot", "branch_checkpoint", "custom_title", "file_history_snapshot"}
    | {"goal_state", "goal_turn_end", "parent_session", "session_approval_mode", "session_artifact_event"}
    | {"session_artifact_snapshot", "session_execution_engine", "session_model", "session_notes", "session_source"}
    | {"session_sources_snapshot", "turn_result", "ui_telemetry", "user_text_elements", "rewind"}
)
"""Kinds of system records that are counted and not shown."""

COMPRESSION = "chat_compression"

NOTICES = frozenset({"at_command", "slash_command", "cron", "notification", "error", "info", "warning"})
"""Kinds of system records that are shown but not sent."""

INJECTED = frozenset({"background_task_completed", "cron", "goal_runtime", "notification"})
"""Kinds of user records that were not typed."""


class QwenNode(Struct):
    """A record in the tree, the messages it sent, and those that a compression left; None for other records."""

    parent: str
    sent: list[int] = field(default_factory=list)
    replaces: list[int] | None = None


class QwenThread(ChatThread):
    """A conversation in which a compression begins a new context, reusing some existing messages."""

    def compress(self, contents: Sequence[ChatMessage], origin: Origin, about: Mapping[str, Any]) -> list[int]:
        """Begin the context left by a compression, with the given contents, and return its members."""
        known: dict[tuple[bytes, ...], list[int]] = {}
        for index in self.members:
            blocks = self._builder.complete_messages()[index].blocks
            known.setdefault(tuple(block.digest for block in blocks), []).append(index)
        first = len(self._builder.messages)
        members: list[int] = []
        kept = 0
        found = chat_blocks([one.value for one in contents], origin)
        for one, made in zip(contents, found, strict=True):
            places = known.get(tuple(block.digest for block, _ in made))
            if places:
                members.append(places.pop(0))
                kept = len(members)
                continue
            is_summary = len(self._builder.messages) == first
            blocks = tuple(block for block, _ in made)
            message = Message(one.role, blocks, one.time, thread=self.number, is_summary=is_summary, is_meta=True)
            members.append(self._builder.add_message(message))
        self.begin(ContextCause.COMPACTION, members, kept)
        info = mapping(about.get("info"))
        compaction = Compaction(
            first,
            clean_string(info.get("triggerReason")) or "auto",
            count_or_none(info.get("originalTokenCount")),
            count_or_none(info.get("newTokenCount")),
            time=contents[0].time if contents else None,
        )
        self._builder.compactions.append(compaction)
        return members


class QwenInterpreter(RecordInterpreter):
    """Builds a session from records. Subagents in the same file become separate conversations."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.builder.agent = "Qwen Code"
        self._path = path
        self._threads: dict[str, QwenThread] = {}
        self._nodes: dict[str, QwenNode] = {}
        self._leaf = ""

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
        value, _ = object_of(record)
        return blocks_of_chat(to_chat_messages(value), origin) if value is not None else []

    def add(self, record: Record) -> None:
        value, origin = record.value, record.origin
        kind, subtype = string(value.get("type")), string(value.get("subtype"))
        self.builder.record_counts[clean_text(f"system:{subtype}" if kind == "system" else kind) or "(no type)"] += 1
        self._note(value, kind, subtype)
        agent = clean_string(value.get("agentId")) if value.get("isSidechain") is True else ""
        thread = self._thread(agent)
        if agent:
            self._add_messages(thread, value, origin, None)
            return
        identifier, parent = string(value.get("uuid")), string(value.get("parentUuid"))
        if identifier and identifier in self._nodes:
            self._extend_message(thread, value, origin, self._nodes[identifier])
            return
        node = QwenNode(parent)
        if identifier:
            if self._nodes and parent != self._leaf:
                self._branch(thread, parent, record)
            self._nodes[identifier] = node
            self._leaf = identifier
        self._add_messages(thread, value, origin, node)

    def _note(self, value: Mapping[str, Any], kind: str, subtype: str) -> None:
        builder, about = self.builder, mapping(value.get("systemPayload"))
        builder.identifier = builder.identifier or clean_string(value.get("sessionId"))
        builder.working_directory = builder.working_directory or clean_string(value.get("cwd"))
        builder.window = count(value.get("contextWindowSize")) or builder.window
        if version := clean_string(value.get("version")):
            builder.agent = f"Qwen Code {version}"
        if kind == "system" and subtype == "custom_title":
            builder.title = clean_string(about.get("customTitle")) or builder.title
        if subtype == "parent_session" and (parent := clean_string(about.get("parentSessionId"))):
            builder.link(SessionLink(LinkKind.PARENT, parent))
        if origin := clean_string(mapping(value.get("forkedFrom")).get("sessionId")):
            builder.link(SessionLink(LinkKind.CONTINUED, origin))

    def _add_messages(
        self, thread: QwenThread, value: Mapping[str, Any], origin: Origin, node: QwenNode | None
    ) -> None:
        """Add a record's messages, or begin a new context for a compression."""
        chats = to_chat_messages(value)
        if string(value.get("subtype")) == COMPRESSION and chats and chats[0].role.value != "other":
            members = thread.compress(chats, origin, mapping(value.get("systemPayload")))
            if node is not None:
                node.replaces = members
            return
        for chat, index in zip(chats, thread.add_record(chats, origin), strict=True):
            if node is not None and chat.role.value != "other":
                node.sent.append(index)

    def _extend_message(self, thread: QwenThread, value: Mapping[str, Any], origin: Origin, node: QwenNode) -> None:
        """Add another part of a message recorded earlier and update its usage."""
        chats = to_chat_messages(value)
        if not node.sent or len(chats) != 1:
            return
        index = node.sent[-1]
        (message,) = thread.messages(chats, origin)
        self.builder.add_blocks(index, list(message.blocks))
        if chats[0].usage is not None:
            calls = self.builder.calls
            for place in range(len(calls) - 1, -1, -1):
                if calls[place].response == index:
                    calls[place] = structs.replace(calls[place], usage=chats[0].usage, terms=chats[0].terms)
                    break

    def _branch(self, thread: QwenThread, parent: str, record: Record) -> None:
        """Return to an earlier record; the messages after it are no longer sent."""
        if parent and parent not in self._nodes:
            self.builder.diagnose("the previous record is not in this file", record.line, record.offset, skipped=False)
        members: list[int] = []
        on_path: set[int] = set()
        is_whole = False
        seen: set[str] = set()
        at = parent
        while at in self._nodes and at not in seen:
            seen.add(at)
            node = self._nodes[at]
            on_path.update(node.sent)
            if not is_whole:
                members[:0] = node.sent
                if node.replaces is not None:
                    members[:0] = node.replaces
                    is_whole = True
            on_path.update(node.replaces or ())
            at = node.parent
        for other in self._nodes.values():
            for index in (*other.sent, *(other.replaces or ())):
                left = index not in on_path
                if self.builder.messages[index].is_abandoned != left:
                    self.builder.replace_message(index, is_abandoned=left)
        if members != list(thread.members):
            thread.begin(ContextCause.REWIND, members)

    def _thread(self, agent: str) -> QwenThread:
        thread = self._threads.get(agent)
        if thread is None:
            others = sum(bool(name) for name in self._threads)
            thread = self._threads[agent] = QwenThread(self.builder, others + 1 if agent else 0)
        return thread


def to_chat_messages(value: Mapping[str, Any]) -> list[ChatMessage]:
    """Convert a record to chat messages; empty if it is counted and not shown."""
    kind, subtype = string(value.get("type")), string(value.get("subtype"))
    time = seconds(string(value.get("timestamp")))
    identifier = clean_string(value.get("uuid"))
    if kind == "system":
        contents = objects(mapping(value.get("systemPayload")).get("compressedHistory"))
        if subtype == COMPRESSION and contents:
            return [ChatMessage(chat, time, is_meta=True) for one in contents for chat in _content(one, {})]
        if subtype in QUIET:
            return []
        text = compact_json(mapping(value.get("systemPayload")) or mapping(value.get("message")))
        return [ChatMessage(notice(f"{subtype or 'system'}: {text}"), time, identifier)]
    message = mapping(value.get("message"))
    if kind not in ("assistant", "tool_result", "user") or not message:
        return [ChatMessage(notice(compact_json(dict(value))), time, identifier)]
    is_copied = bool(mapping(value.get("forkedFrom")))
    is_call = kind == "assistant" and not is_copied
    return [
        ChatMessage(
            chat,
            time,
            identifier,
            is_call=is_call,
            model=clean_string(value.get("model")) if is_call else "",
            usage=usage_of(value.get("usageMetadata")) if is_call else None,
            terms=parse_billing_terms(value.get("usageMetadata")).code if is_call else "",
            is_meta=subtype in INJECTED,
            is_inherited=is_copied,
        )
        for chat in _content(message, mapping(value.get("toolCallResult")), is_answer=kind == "assistant")
    ]


def _content(message: Mapping[str, Any], result: Mapping[str, Any], *, is_answer: bool = False) -> list[dict[str, Any]]:
    """Convert a Gemini content object to one message, plus one for each tool response in it."""
    is_answer = is_answer or message.get("role") == "model"
    content: list[Any] = []
    calls: list[dict[str, Any]] = []
    answers: list[dict[str, Any]] = []
    for part in objects(message.get("parts")):
        call, answer = mapping(part.get("functionCall")), mapping(part.get("functionResponse"))
        if call:
            function = {"name": string(call.get("name")), "arguments": call.get("args", {})}
            calls.append({"id": string(call.get("id")), "type": "function", "function": function})
        elif answer:
            answers.append(_answer(answer, result))
        elif isinstance(part.get("text"), str):
            kind = {"type": "thinking", "thinking": part["text"]} if part.get("thought") is True else None
            content.append(kind or {"type": "text", "text": part["text"]})
        else:
            content.append(_media(part))
    made: dict[str, Any] = {"role": "assistant" if is_answer else "user", "content": content}
    if calls:
        made["tool_calls"] = calls
    return [*answers, made] if content or calls or not answers else answers


def _answer(answer: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    response = answer.get("response")
    fields = mapping(response)
    text = next((fields[name] for name in ("output", "error") if isinstance(fields.get(name), str)), None)
    content: list[Any] = [{"type": "text", "text": text if text is not None else compact_json(response)}]
    content += [_media(part) for part in objects(answer.get("parts"))]
    return {
        "role": "tool",
        "tool_call_id": string(answer.get("id")) or string(result.get("callId")),
        "name": string(answer.get("name")),
        "is_error": "error" in fields or string(result.get("status")) in ("error", "failed"),
        "content": content if len(content) > 1 else content[0]["text"],
    }


def _media(part: Mapping[str, Any]) -> Any:
    inline, file = mapping(part.get("inlineData")), mapping(part.get("fileData"))
    about = inline or file
    if not about:
        return dict(part)
    kind = "image" if string(about.get("mimeType")).startswith("image/") else "document"
    if inline:
        data = {"type": "base64", "media_type": string(inline.get("mimeType")), "data": string(inline.get("data"))}
        return {"type": kind, "source": data}
    return {"type": kind, "source": {"type": "url", "url": string(file.get("fileUri"))}}


def usage_of(reported: Any) -> Usage | None:
    """Convert reported usage; None if there is none.

    `promptTokenCount` includes cache reads. `candidatesTokenCount` includes thoughts in OpenAI's convention and
    excludes them in Google's; the total shows which one applies. Without a total, it includes them, as for Qwen's
    models.
    """
    fields = mapping(reported)
    prompt, output_tokens, thoughts, total = (
        count(fields.get(name))
        for name in ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "totalTokenCount")
    )
    cached = min(count(fields.get("cachedContentTokenCount")), prompt)
    excludes_thoughts = thoughts > 0 and total == prompt + output_tokens + thoughts
    output = output_tokens + thoughts if excludes_thoughts else max(output_tokens, thoughts)
    usage = Usage(prompt - cached, cached, output=output, reasoning=min(thoughts, output))
    return QWEN.check(usage.unless_zero(), reported)


FORMATS = (QwenFormat(),)
