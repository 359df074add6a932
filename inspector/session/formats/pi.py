"""Read pi and its forks (Oh My Pi, OpenClaw): one JSONL file per session with a tree of entries.

The format is described in `packages/coding-agent/docs/session.md` of badlogic/pi-mono and `docs/session.md` of
can1357/oh-my-pi.
"""

from __future__ import annotations

from array import array
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.session.blocks import TextBlock, argument_text, text_block
from inspector.session.builder import Thread
from inspector.session.files import exists
from inspector.session.format import Format, can_name_file, home_of
from inspector.session.json import (
    ObjectDecoder,
    amount,
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
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.media import media_of_all
from inspector.session.model import (
    BlockKind,
    Compaction,
    ContextCause,
    LinkKind,
    Message,
    Origin,
    RecordedTotals,
    Role,
    SessionLink,
    Usage,
)
from inspector.session.reader import Reader, Record, RecordInterpreter
from inspector.session.usage_fields import PI, excludes_reasoning

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.session.model import Block, Media
    from inspector.session.sniff import Sample


QUIET = frozenset(
    {
        "credential_pin",
        "custom",
        "label",
        "mode_change",
        "model_change",
        "service_tier_change",
        "session",
        "session_info",
        "thinking_level_change",
        "title",
        "title_change",
        "ttsr_injection",
    }
)
"""Types that are counted and not shown: settings, names, and data of extensions."""

INJECTED_ROLES = frozenset({"bashExecution", "custom", "fileMention", "hookMessage", "pythonExecution"})
"""Roles of user-side messages that were not typed."""

FAILED = frozenset({"error", "aborted"})
"""Stop reasons of responses that pi does not send again."""


class EntryKind(Enum):
    """Role of an entry in the conversation."""

    RESPONSE = auto()
    RESULT = auto()
    USER = auto()
    INJECTED = auto()
    """A message added by the program in the user's place."""
    SYSTEM = auto()
    """Instructions."""
    SUMMARY = auto()
    """A compaction with its summary."""
    RESET = auto()
    """The conversation restarts."""
    HIDDEN = auto()
    """Shown, never sent: a command with output that the user kept private."""
    NOTICE = auto()
    """An unknown type: shown, never sent."""
    QUIET = auto()
    """Counted only."""


def kind_of(entry: Mapping[str, Any]) -> EntryKind:
    """Classify an entry. Unknown types are notices, so that they are visible."""
    match entry.get("type"):
        case "message":
            return _message_kind(mapping(entry.get("message")))
        case "compaction":
            return EntryKind.SUMMARY
        case "branch_summary":
            return EntryKind.INJECTED if entry.get("summary") else EntryKind.QUIET
        case "custom_message":
            return EntryKind.INJECTED
        case "reset_boundary":
            return EntryKind.RESET
        case "session_init":
            return EntryKind.SYSTEM if entry.get("systemPrompt") else EntryKind.QUIET
        case str(kind) if kind in QUIET:
            return EntryKind.QUIET
    return EntryKind.NOTICE


def _message_kind(message: Mapping[str, Any]) -> EntryKind:
    role = message.get("role")
    match role:
        case "assistant":
            return EntryKind.RESPONSE
        case "toolResult":
            return EntryKind.RESULT
        case "user":
            return EntryKind.USER
        case "developer" | "system":
            return EntryKind.SYSTEM
        case str(name) if name in INJECTED_ROLES:
            return EntryKind.HIDDEN if message.get("excludeFromContext") else EntryKind.INJECTED
    return EntryKind.NOTICE


def count_name(entry: Mapping[str, Any]) -> str:
    """Return the name for counting an entry: its type, plus the role of messages."""
    kind = entry.get("type")
    if not isinstance(kind, str):
        return "(no type)"
    role = mapping(entry.get("message")).get("role")
    return f"{kind}:{role}" if kind == "message" and isinstance(role, str) else kind


MESSAGE_ROLES = frozenset(
    {"assistant", "bashExecution", "custom", "developer", "fileMention", "hookMessage", "pythonExecution"}
    | {"toolResult", "user"}
)

ENTRIES = frozenset(
    {"branch_summary", "compaction", "custom", "custom_message", "label", "model_change", "session_info"}
    | {"thinking_level_change"}
)
"""Non-message entry types shared by pi and its forks."""


def _is_header(record: dict[str, Any]) -> bool:
    return record.get("type") == "session" and isinstance(record.get("id"), str) and "timestamp" in record


def _is_entry(record: dict[str, Any]) -> bool:
    kind = string(record.get("type"))
    if kind == "message":
        return string(mapping(record.get("message")).get("role")) in MESSAGE_ROLES and "uuid" not in record
    return kind in ENTRIES and "timestamp" in record


class PiFormat(Format):
    """Session files of pi and its forks."""

    name = "pi"
    title = "pi, Oh My Pi, OpenClaw"
    where = (
        "~/.pi/agent/sessions, or sessions in $PI_CODING_AGENT_DIR; ~/.omp/agent/sessions; ~/.openclaw/agents, or"
        " agents in $OPENCLAW_STATE_DIR; ~/.prime/agent/sessions"
    )
    exact = "prompt and output tokens of every call"
    file_names = r"\d{4}-\d\d-\d\dT[\d-]+Z?_[0-9a-f-]+\.jsonl"

    def recognize(self, sample: Sample) -> str:
        if not sample.is_lines:
            return ""
        headers = [record for record in sample.records if _is_header(record)]
        entries = [record for record in sample.records if _is_entry(record)]
        if not headers and len(entries) * 2 <= len(sample.records):
            return ""
        titles = [record for record in sample.records if record.get("type") == "title" and "title" in record]
        if not entries and (len(headers) + len(titles)) * 2 <= len(sample.records):
            return ""
        header = "a session header and " if headers else ""
        return f"{header}{len(entries)} of the first {len(sample.records)} records are pi entries"

    def homes(self) -> tuple[Path, ...]:
        return (
            home_of("PI_CODING_AGENT_DIR", ".pi", "agent") / "sessions",
            Path.home() / ".omp" / "agent" / "sessions",
            home_of("OPENCLAW_STATE_DIR", ".openclaw") / "agents",
            Path.home() / ".prime" / "agent" / "sessions",
        )

    def reader(self, path: Path) -> Reader:
        return JsonlReader(path, self.name, PiInterpreter())

    def locate(self, path: Path, identifier: str) -> Path | None:
        sibling = path.with_name(identifier) if can_name_file(identifier) else None
        return sibling if sibling is not None and exists(sibling) else None

    def is_bookkeeping(self, count_name: str) -> bool:
        return count_name in QUIET

    def knows_record(self, count_name: str) -> bool:
        kind, _, role = count_name.partition(":")
        if kind == "message":
            return role in MESSAGE_ROLES or role == "system"
        return kind in ENTRIES or kind in ("reset_boundary", "session_init") or self.is_bookkeeping(count_name)


COMPACTION_SUMMARY = (
    "The conversation history before this point was compacted into the following summary:\n\n<summary>\n",
    "\n</summary>",
)
BRANCH_SUMMARY = (
    "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n",
    "</summary>",
)


def compaction_text(summary: str) -> str:
    return summary.join(COMPACTION_SUMMARY)


def branch_text(summary: str) -> str:
    """Return the message text for the summary of an abandoned branch."""
    return summary.join(BRANCH_SUMMARY)


def shell_text(message: Mapping[str, Any]) -> str:
    text = f"Ran `{string(message.get('command'))}`\n{_output(message)}"
    if message.get("cancelled"):
        text += "\n\n(command cancelled)"
    elif _failed(message):
        text += f"\n\nCommand exited with code {message['exitCode']}"
    path = string(message.get("fullOutputPath"))
    if message.get("truncated") and path:
        text += f"\n\n[Output truncated. Full output: {path}]"
    return text


def python_text(message: Mapping[str, Any]) -> str:
    text = f"Ran Python:\n```python\n{string(message.get('code'))}\n```\n"
    text += ("Output:\n" if message.get("output") else "") + _output(message)
    if message.get("cancelled"):
        text += "\n\n(execution cancelled)"
    elif _failed(message):
        text += f"\n\nExecution failed with code {message['exitCode']}"
    return text


def _output(message: Mapping[str, Any]) -> str:
    output = string(message.get("output"))
    return f"```\n{output}\n```" if output else "(no output)"


def _failed(message: Mapping[str, Any]) -> bool:
    code = message.get("exitCode")
    return isinstance(code, (int, float)) and code != 0


ERROR = "errorMessage"
"""Locator of a response's error message."""


def blocks_of_entry(entry: Mapping[str, Any], kind: EntryKind, line: bytes, offset: int) -> list[TextBlock]:
    origin = Origin(offset, len(line))
    message = mapping(entry.get("message"))
    match kind:
        case EntryKind.RESPONSE:
            return _response(message, origin)
        case EntryKind.RESULT:
            return [_result(message, origin)]
        case EntryKind.USER | EntryKind.INJECTED:
            return _spoken(entry, message, origin)
        case EntryKind.SUMMARY:
            return [text_block(BlockKind.USER_TEXT, compaction_text(clean_string(entry.get("summary"))), origin)]
        case EntryKind.SYSTEM:
            text = clean_string(entry.get("systemPrompt")) if entry.get("type") == "session_init" else _content(message)
            return [text_block(BlockKind.SYSTEM_TEXT, text, origin)]
        case EntryKind.HIDDEN:
            text = _shown(message)
            return [text_block(BlockKind.OTHER, clean_text(text), origin)]
        case EntryKind.NOTICE:
            return [text_block(BlockKind.OTHER, line.decode(errors="replace"), origin)]
    return []


def _spoken(entry: Mapping[str, Any], message: Mapping[str, Any], origin: Origin) -> list[TextBlock]:
    if entry.get("type") == "branch_summary":
        return [text_block(BlockKind.USER_TEXT, branch_text(clean_string(entry.get("summary"))), origin)]
    source = entry if entry.get("type") == "custom_message" else message
    if source.get("role") in ("bashExecution", "pythonExecution", "fileMention"):
        media, data = _images(source.get("images"))
        text = clean_text(_shown(source))
        return [text_block(BlockKind.USER_TEXT, text, origin, media=media, media_data=data)]
    content = source.get("content")
    if isinstance(content, str):
        return [text_block(BlockKind.USER_TEXT, clean_text(content), origin)]
    return [_part(part, BlockKind.USER_TEXT, origin.at(index)) for index, part in enumerate(sequence(content))]


def _response(message: Mapping[str, Any], origin: Origin) -> list[TextBlock]:
    content = message.get("content")
    if isinstance(content, str):
        blocks = [text_block(BlockKind.ASSISTANT_TEXT, clean_text(content), origin)]
    else:
        blocks = [
            _part(part, BlockKind.ASSISTANT_TEXT, origin.at(index)) for index, part in enumerate(sequence(content))
        ]
    if error := string(message.get("errorMessage")):
        blocks.append(text_block(BlockKind.OTHER, clean_text(error), origin.at(0, ERROR)))
    return blocks


def _part(part: Any, text_kind: BlockKind, origin: Origin) -> TextBlock:
    fields = mapping(part)
    match fields.get("type"):
        case "text":
            return text_block(text_kind, clean_string(fields.get("text")), origin)
        case "thinking":
            signature = len(string(fields.get("thinkingSignature")))
            return text_block(
                BlockKind.THINKING, clean_string(fields.get("thinking")), origin, signature_characters=signature
            )
        case "redactedThinking":
            return text_block(BlockKind.THINKING, "", origin, signature_characters=len(string(fields.get("data"))))
        case "toolCall":
            return text_block(
                BlockKind.TOOL_CALL,
                argument_text(fields.get("arguments", {})),
                origin,
                tool_call_id=clean_string(fields.get("id")),
                tool_name=clean_string(fields.get("name")),
                signature_characters=len(string(fields.get("thoughtSignature"))),
            )
        case "image":
            media, data = _images([fields])
            return text_block(BlockKind.IMAGE, "", origin, media=media, media_data=data)
    return text_block(BlockKind.OTHER, clean_text(compact_json(part)), origin)


def _result(message: Mapping[str, Any], origin: Origin) -> TextBlock:
    """Build a tool result. Texts are sent as one string if there are no images (pi-ai's `convertContentBlocks`)."""
    media, data = _images(message.get("content"))
    return text_block(
        BlockKind.TOOL_RESULT,
        _content(message),
        origin,
        tool_call_id=clean_string(message.get("toolCallId")),
        tool_name=clean_string(message.get("toolName")),
        is_error=bool(message.get("isError")),
        media=media,
        media_data=data,
        plain_text=not media,
    )


def _content(message: Mapping[str, Any]) -> str:
    """Return the text of a message, one line per part."""
    content = message.get("content")
    if content is None or isinstance(content, str):
        return clean_text(content or "")
    texts = []
    for part in sequence(content):
        fields = mapping(part)
        if fields.get("type") != "image":
            texts.append(string(fields.get("text")) if fields.get("type") == "text" else compact_json(part))
    return clean_text("\n".join(texts))


def _shown(message: Mapping[str, Any]) -> str:
    match message.get("role"):
        case "bashExecution":
            return shell_text(message)
        case "pythonExecution":
            return python_text(message)
        case "fileMention":
            files = objects(message.get("files"))
            return "\n\n".join(f"{string(file.get('path'))}\n{string(file.get('content'))}" for file in files)
    return compact_json(message)


def _images(parts: Any) -> tuple[tuple[Media, ...], tuple[bytes, ...]]:
    images = (part for part in objects(parts) if part.get("type") == "image")
    return media_of_all((string(part.get("mimeType")), string(part.get("data"))) for part in images)


NONE = -1


class RecordedPiCompaction(NamedTuple):
    """A compaction in the tree. `first_kept`: first of the earlier entries to keep, -1 for none."""

    summary: int
    first_kept: int


class Tree:
    """Entries by number, in file order. A parent always has a smaller number, so every path ends at a root."""

    def __init__(self) -> None:
        self.leaf = NONE
        self._parents = array("i")
        self._numbers: dict[str, int] = {}
        self._sent = array("i")
        self._compactions: dict[int, RecordedPiCompaction] = {}
        self._resets: set[int] = set()
        self._system: list[int] = []

    def __len__(self) -> int:
        return len(self._parents)

    def number(self, identifier: str) -> int:
        """Return an entry's number, -1 if there is no such entry."""
        return self._numbers.get(identifier, NONE)

    def add(self, identifier: str, parent: int) -> int:
        """Add an entry as the new leaf and return its number."""
        number = len(self._parents)
        self._parents.append(parent)
        self._sent.append(NONE)
        if identifier:
            self._numbers[identifier] = number
        self.leaf = number
        return number

    def send(self, number: int, message: int, *, is_system: bool = False) -> None:
        """Set the message of an entry that is sent."""
        self._sent[number] = message
        if is_system:
            self._system.append(number)

    def compact(self, number: int, compaction: RecordedPiCompaction) -> None:
        self._compactions[number] = compaction

    def reset(self, number: int) -> None:
        """Mark an entry after which the conversation restarts."""
        self._resets.add(number)

    def path(self, number: int) -> list[int]:
        path = []
        while number != NONE:
            path.append(number)
            number = self._parents[number]
        path.reverse()
        return path

    def system(self, path: list[int]) -> list[int]:
        """Return a path's system messages, which precede all others even after a compaction."""
        on_path = set(path)
        return [self._sent[number] for number in self._system if number in on_path]

    def kept(self, path: list[int], first_kept: int) -> list[int]:
        """Return the messages of a path from an entry on; empty if the entry is not on it."""
        if first_kept not in path:
            return []
        return self._messages(path[path.index(first_kept) :])

    def members(self, path: list[int]) -> list[int]:
        """Return the messages sent if the path's last entry is the leaf (pi's `buildSessionContext`)."""
        for place in range(len(path) - 1, NONE, -1):
            number = path[place]
            if number in self._resets:
                return [*self.system(path), *self._messages(path[place + 1 :])]
            if number in self._compactions:
                summary, first_kept = self._compactions[number]
                kept = self.kept(path[:place], first_kept)
                return [*self.system(path), summary, *kept, *self._messages(path[place + 1 :])]
        return [*self.system(path), *self._messages(path)]

    def _messages(self, numbers: list[int]) -> list[int]:
        system = set(self._system)
        return [self._sent[number] for number in numbers if self._sent[number] != NONE and number not in system]


COUNTS = ("input", "cacheRead", "cacheWrite", "output", "totalTokens")


def usage_of(message: Mapping[str, Any]) -> Usage | None:
    """Convert usage, None if only zeros, as for aborted requests. `input` always excludes cached tokens."""
    reported = mapping(message.get("usage"))
    uncached, read, written, output, total = (count(reported.get(name)) for name in COUNTS)
    reasoning = count(reported.get("reasoning")) or count(reported.get("reasoningTokens"))
    if excludes_reasoning(total, [uncached + read + written], output, reasoning):
        output += reasoning
    usage = Usage(uncached, read, written, output=output, reasoning=reasoning)
    return PI.check(usage.unless_zero(), reported)


ROLES = {
    EntryKind.RESPONSE: Role.ASSISTANT,
    EntryKind.RESULT: Role.TOOL,
    EntryKind.USER: Role.USER,
    EntryKind.INJECTED: Role.USER,
    EntryKind.SYSTEM: Role.SYSTEM,
    EntryKind.SUMMARY: Role.USER,
}

LEFT_OUT_SINCE = 3
"""First format version of programs that do not send failed responses again."""

OH_MY_PI = frozenset({"title", "title_change", "session_init", "credential_pin", "ttsr_injection", "reset_boundary"})
"""Entry types specific to Oh My Pi."""


class PiInterpreter(RecordInterpreter):
    """Builds a session from entries in file order."""

    decoder = ObjectDecoder("message")

    def __init__(self) -> None:
        super().__init__()
        self._thread = Thread(self.builder)
        self._tree = Tree()
        self._numbers = array("i")  # entry number of each message
        self._positions: list[int] = []  # entry number by position in the file, including headers
        self._has_ids = False
        self._version = 1
        self._model = self._thinking = ""
        self._started: float | None = None
        self._is_copy = False
        self._cost = 0.0
        self._unsent_calls: set[str] = set()

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
        entry, _ = object_of(record)
        return [] if entry is None else blocks_of_entry(entry, kind_of(entry), record, origin.offset)

    def add(self, line: Record) -> None:
        entry = line.value
        self.builder.record_counts[count_name(entry)] += 1
        self._note(entry)
        if entry.get("type") in ("session", "title"):
            if entry.get("type") == "session":
                self._positions.append(NONE)
            return
        kind = kind_of(entry)
        number = self._enter(entry)
        self._positions.append(number)
        blocks = [made.block for made in blocks_of_entry(entry, kind, line.data, line.offset)]
        match kind:
            case EntryKind.RESPONSE:
                self._respond(entry, blocks, number)
            case EntryKind.SUMMARY:
                self._compact(entry, blocks, number, line)
            case EntryKind.RESET:
                self._tree.reset(number)
                system = self._tree.system(self._tree.path(number))
                self._thread.begin(ContextCause.START, system)
            case EntryKind.QUIET:
                pass
            case _ if blocks:
                self._add_messages(entry, kind, blocks, number)

    def settle(self) -> None:
        """Add the cost that pi computed for all responses."""
        if self._cost:
            totals = RecordedTotals("message cost", cost_usd=self._cost, end_call=len(self.builder.calls))
            self.builder.recorded_totals = [totals]

    def _note(self, entry: Mapping[str, Any]) -> None:
        builder = self.builder
        kind = string(entry.get("type"))
        if kind == "session":
            builder.identifier = builder.identifier or string(entry.get("id"))
            builder.working_directory = builder.working_directory or string(entry.get("cwd"))
            version = entry.get("version")
            self._version = version if isinstance(version, int) else 1
            self._started = seconds_of_any(entry.get("timestamp"))
            origin = string(entry.get("parentSession")) or string(entry.get("branchedFrom"))
            self._is_copy = bool(entry.get("parentSession") or entry.get("branchedFrom"))
            if name := clean_text(origin.replace("\\", "/").rpartition("/")[2]):
                builder.link(SessionLink(LinkKind.CONTINUED, name))
        if kind in ("session", "model_change"):
            self._model = string(entry.get("modelId")) or string(entry.get("model")).rpartition("/")[2] or self._model
        if kind in ("session", "thinking_level_change"):
            self._thinking = string(entry.get("thinkingLevel")) or self._thinking
        if kind in ("session", "title", "title_change"):
            builder.title = string(entry.get("title")) or builder.title
        if kind == "session_info":
            builder.title = string(entry.get("name")) or builder.title
        if kind in OH_MY_PI:
            builder.agent = "Oh My Pi"
        builder.agent = builder.agent or "pi"

    def _enter(self, entry: Mapping[str, Any]) -> int:
        """Add an entry to the tree and switch branches if it does not follow the last one."""
        identifier, before = string(entry.get("id")), self._tree.leaf
        parent = before
        if "parentId" in entry and identifier:
            if entry["parentId"] is None:
                parent = NONE if self._has_ids else before
            else:
                known = self._tree.number(string(entry["parentId"]))
                parent = known if known != NONE else before  # its parent's line is unreadable
            self._has_ids = True
        if parent != before:
            self._change_over(parent)
        return self._tree.add(identifier, parent)

    def _change_over(self, leaf: int) -> None:
        path = self._tree.path(leaf)
        on_path = set(path)
        for index, number in enumerate(self._numbers):
            if self.builder.messages[index].is_abandoned != (number not in on_path):
                self.builder.replace_message(index, is_abandoned=number not in on_path)
        members = self._tree.members(path)
        if members != self._thread.members:
            self._thread.begin(ContextCause.REWIND, members)

    def _message(self, entry: Mapping[str, Any], kind: EntryKind, blocks: list[Block], **flags: bool) -> Message:
        time = seconds_of_any(entry.get("timestamp")) or seconds_of_any(mapping(entry.get("message")).get("timestamp"))
        return Message(
            role=ROLES.get(kind, Role.OTHER),
            blocks=tuple(blocks),
            time=time,
            identifier=string(entry.get("id")),
            is_meta=kind is EntryKind.INJECTED,
            is_summary=kind is EntryKind.SUMMARY,
            is_inherited=self._is_copy and time is not None and self._started is not None and time < self._started,
            **flags,
        )

    def _add_messages(self, entry: Mapping[str, Any], kind: EntryKind, blocks: list[Block], number: int) -> None:
        is_sent = kind in ROLES and not any(
            block.kind is BlockKind.TOOL_RESULT and block.tool_call_id in self._unsent_calls for block in blocks
        )
        self._numbers.append(number)
        index = self._thread.add(self._message(entry, kind, blocks), is_sent=is_sent)
        if is_sent:
            self._tree.send(number, index, is_system=entry.get("type") == "session_init")

    def _respond(self, entry: Mapping[str, Any], blocks: list[Block], number: int) -> None:
        response = mapping(entry.get("message"))
        usage = usage_of(response)
        self._cost += amount(mapping(mapping(response.get("usage")).get("cost")).get("total"))
        has_failed = string(response.get("stopReason")) in FAILED
        is_sent = any(block.kind is not BlockKind.OTHER for block in blocks) and not (
            has_failed and self._version >= LEFT_OUT_SINCE
        )
        if not is_sent:
            self._unsent_calls.update(block.tool_call_id for block in blocks if block.kind is BlockKind.TOOL_CALL)
        self._numbers.append(number)
        if has_failed and usage is None and not is_sent:
            index = self._thread.add(self._message(entry, EntryKind.RESPONSE, blocks, is_synthetic=True), is_sent=False)
            return
        index = self._thread.respond(
            self._message(entry, EntryKind.RESPONSE, blocks),
            model=string(response.get("model")) or self._model,
            usage=usage,
            identifier=string(response.get("responseId")),
            thinking=self._thinking,
            is_sent=is_sent,
        )
        if is_sent:
            self._tree.send(number, index)

    def _compact(self, entry: Mapping[str, Any], blocks: list[Block], number: int, line: Record) -> None:
        path = self._tree.path(number)
        first_kept = self._first_kept(entry)
        if first_kept not in path and (entry.get("firstKeptEntryId") or entry.get("firstKeptEntryIndex") is not None):
            reason = "messages kept by a compaction are not in this file"
            self.builder.diagnose(reason, line.line, line.offset, skipped=False)
        kept = self._tree.kept(path, first_kept)
        compaction = Compaction(
            message=0,
            trigger=string(entry.get("method")),
            tokens_before=count_or_none(entry.get("tokensBefore")),
            tokens_after=count_or_none(entry.get("tokensAfter")),
            time=seconds_of_any(entry.get("timestamp")),
        )
        self._numbers.append(number)
        summary = self._message(entry, EntryKind.SUMMARY, blocks)
        index = self._thread.compact(compaction, summary, kept, self._tree.system(path))
        self._tree.compact(number, RecordedPiCompaction(index, first_kept))

    def _first_kept(self, entry: Mapping[str, Any]) -> int:
        """Return the first entry kept by a compaction, by id or, in old files, by line index."""
        if identifier := string(entry.get("firstKeptEntryId")):
            return self._tree.number(identifier)
        place = entry.get("firstKeptEntryIndex")
        if isinstance(place, int) and 0 <= place < len(self._positions):
            return self._positions[place]
        return NONE


FORMATS = (PiFormat(),)
