"""Read Cline, Roo Code and Kilo Code: task folders with two JSON documents, or the documents of Cline's SDK.

In VS Code, a task folder holds `api_conversation_history.json` (the messages sent) and `ui_messages.json` (the messages
displayed, with usage). The SDK and the command line write `<id>.messages.json` and `<id>.json`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import count as numbers
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from inspector.errors import SessionError
from inspector.session.files import is_file, is_folder
from inspector.session.format import Format, editor_folders
from inspector.session.formats.chat import SYSTEM, ChatMessage, ChatThread, blocks_of_chat, blocks_of_definition
from inspector.session.json import (
    count,
    count_or_none,
    json_in,
    lenient_json,
    mapping,
    objects,
    seconds_of_any,
    sequence,
    string,
)
from inspector.session.json_reader import JsonReader, LinkedDocument, LinkedDocuments, SidecarFile
from inspector.session.model import Compaction, ContextCause, LinkKind, Message, Origin, Role, SessionLink, Usage
from inspector.session.reader import DocumentInterpreter, Reader
from inspector.session.sniff import Sample
from inspector.session.usage_fields import CLINE, CLINE_SHOWN

if TYPE_CHECKING:
    from inspector.session.blocks import TextBlock
    from inspector.session.json import Fields, Node


HISTORY, SHOWN = "api_conversation_history.json", "ui_messages.json"

EDITS = "context_history.json"
"""Changes that Cline made to messages before sending them again."""

METADATA = "task_metadata.json"
"""Files and models used by a task."""

INDEX = "taskHistory.json"
"""Index of all tasks, in `state` next to the tasks folder (`src/core/storage/disk.ts` in cline/cline)."""

SDK_SUFFIX = ".messages.json"


def history_of(path: Path) -> Path:
    """Return the document with a task's messages, given its folder or any of its files."""
    if is_folder(path):
        return path / HISTORY
    if path.name in (SHOWN, EDITS, METADATA):
        return path.with_name(HISTORY)
    if not path.name.endswith(SDK_SUFFIX):
        messages = path.with_name(path.name.removesuffix(".json") + SDK_SUFFIX)
        return messages if is_file(messages) else path
    return path


def sidecars_of(path: Path) -> tuple[Path, ...]:
    """Return the documents that describe the messages in `path`."""
    if path.name.endswith(SDK_SUFFIX):
        return (path.with_name(path.name.removesuffix(SDK_SUFFIX) + ".json"),)
    return (path.with_name(SHOWN),)


def index_of(path: Path) -> Path:
    """Return the task index for the task with its messages in `path`."""
    return path.resolve().parent.parent.parent / "state" / INDEX


OWN_FIELDS = frozenset({"modelInfo", "metrics", "condenseParent", "condenseId", "truncationParent", "isSummary"})
"""Message fields specific to these programs."""

OWN_TEXT = re.compile(r"<environment_details>|\A<task>\n|\A\[[\w.-]+(?: for '[^\n]*')?\] Result:")
"""Matches text that these programs add to user messages."""

ABOUT = frozenset({"session_id", "started_at", "status", "messages_path"})
"""Fields of the metadata document of an SDK session."""

EXTENSIONS = ("saoudrizwan.claude-dev", "rooveterinaryinc.roo-cline", "kilocode.kilo-code")


def _recognize_history(document: Any) -> str:
    if isinstance(document, dict) and isinstance(document.get("messages"), list):
        has_own = "sessionId" in document and ("agent" in document or "updated_at" in document)
        return f"a JSON document with {len(document['messages'])} Cline messages" if has_own else ""
    messages = objects(document)
    if not messages or len(messages) * 2 <= len(document):
        return ""
    asked = sum(message.get("role") == "user" for message in messages)
    found = sum(_has_own_text(message) for message in messages)
    if any(OWN_FIELDS & message.keys() and "role" in message for message in messages) or found * 3 > asked:
        return f"a JSON list of {len(messages)} messages with content specific to Cline or Roo Code"
    return ""


def _recognize_sidecar(path: Path, words: str = "in its ") -> str:
    """Recognize a neighboring file by its messages only: documents that refer to each other would recurse forever."""
    try:
        reason = _recognize_history(Sample(path).only_value) if is_file(path) else ""
    except (SessionError, OSError):
        return ""
    return f"{words}{path.name}, {reason}" if reason else ""


def _has_own_text(message: dict[str, Any]) -> bool:
    if message.get("role") != "user" or "content" not in message:
        return False
    texts = [string(part.get("text")) for part in objects(message["content"])] or [string(message["content"])]
    return any(OWN_TEXT.search(text[:2000]) for text in texts)


def _is_shown(message: dict[str, Any]) -> bool:
    return message.get("type") in ("say", "ask") and "ts" in message and "role" not in message


class ClineFormat(Format):
    """Task folders and SDK documents of Cline and its forks."""

    name = "cline"
    title = "Cline, Roo Code, Kilo Code"
    where = (
        "globalStorage of VS Code and its forks: <extension>/tasks; ~/.cline/data, data in $CLINE_DIR, or"
        " $CLINE_DATA_DIR"
    )
    exact = "tokens of every call with recorded usage, which older versions keep in ui_messages.json"
    session_folders = (frozenset({HISTORY}),)

    def recognize(self, sample: Sample) -> str:
        if sample.is_directory:
            return _recognize_sidecar(sample.path / HISTORY)
        document = sample.only_value
        if isinstance(document, dict) and document.keys() >= ABOUT:
            return _recognize_sidecar(history_of(sample.path), "metadata of ")
        if sample.path.name == METADATA and isinstance(document, dict):
            return _recognize_sidecar(history_of(sample.path), "task metadata for ")
        if sample.path.name == EDITS and isinstance(document, list):
            return _recognize_sidecar(sample.path.with_name(HISTORY), "message changes for ")
        messages = objects(document)
        if sum(_is_shown(message) for message in messages) * 2 > len(messages):
            return _recognize_sidecar(sample.path.with_name(HISTORY), "display messages for ")
        return _recognize_history(document)

    def homes(self) -> tuple[Path, ...]:
        storages = [*(folder / "User" / "globalStorage" for folder in editor_folders())]
        tasks = [storage / extension / "tasks" for storage, extension in product(storages, EXTENSIONS)]
        data = os.environ.get("CLINE_DATA_DIR") or Path(os.environ.get("CLINE_DIR") or Path.home() / ".cline") / "data"
        own = [Path(data) / "sessions", Path(data) / "tasks"]
        # List only existing editor folders; there are too many possible ones.
        return (*own, tasks[0], *(folder for folder in tasks[1:] if is_folder(folder)))

    def reader(self, path: Path) -> Reader:
        return task_reader(path, self.name)

    def is_sidecar(self, path: Path) -> bool:
        if not path.name.endswith(".json") or path.name.endswith(SDK_SUFFIX):
            return False
        history = history_of(path)
        return history not in (path, path / HISTORY) and is_file(history)


TOOLS = (
    "access_mcp_resource",
    "apply_diff",
    "apply_patch",
    "ask_followup_question",
    "attempt_completion",
    "browser_action",
    "codebase_search",
    "condense",
    "execute_command",
    "fetch_instructions",
    "insert_content",
    "list_code_definition_names",
    "list_files",
    "load_mcp_documentation",
    "new_task",
    "plan_mode_respond",
    "read_file",
    "replace_in_file",
    "report_bug",
    "run_slash_command",
    "search_and_replace",
    "search_files",
    "switch_mode",
    "update_todo_list",
    "use_mcp_tool",
    "use_skill",
    "web_fetch",
    "web_search",
    "write_to_file",
)

CALL = re.compile(rf"<(?P<tool>{'|'.join(TOOLS)})>(?P<body>.*?)</(?P=tool)>", re.DOTALL)

PARAMETER = re.compile(r"<(?P<name>\w+)>(?P<value>.*?)</(?P=name)>", re.DOTALL)

LONG = re.compile(r"<(?P<name>content|diff|new_str|args)>(?P<value>.*)</(?P=name)>", re.DOTALL)
"""Parameters with file content, which may contain the same tag; they end at the last closing tag."""

RESULT = re.compile(r"\[(?P<tool>[\w.-]+)(?: for '.*?')?\] Result:", re.DOTALL)

INSERTED_PREFIXES = ("<environment_details>", "<task_progress>")
"""Prefixes of texts that the program adds to messages."""

Part = dict[str, Any]


def parts_with_calls(text: str, names: Iterator[str]) -> list[Part]:
    """Split a model's text into content parts, with its XML tool calls as calls; `names` provides their ids."""
    parts: list[Part] = []
    end = 0
    for found in CALL.finditer(text):
        if before := text[end : found.start()].strip():
            parts.append({"type": "text", "text": before})
        call = {"type": "tool_use", "id": next(names), "name": found["tool"], "input": _parameters(found["body"])}
        parts.append(call)
        end = found.end()
    if not parts:
        return [{"type": "text", "text": text}]
    if after := text[end:].strip():
        parts.append({"type": "text", "text": after})
    return parts


def _parameters(body: str) -> dict[str, str]:
    if (long := LONG.search(body)) is not None:
        rest = body[: long.start()] + body[long.end() :]
        return {**_parameters(rest), long["name"]: long["value"].strip("\n")}
    return {found["name"]: found["value"].strip("\n") for found in PARAMETER.finditer(body)}


def result_places(parts: Sequence[Any]) -> Iterator[tuple[int, str]]:
    """Yield index and tool of a user message's results. A header is in the same part, or in the one before."""
    tool = ""
    for place, part in enumerate(parts):
        text = string(part.get("text")) if isinstance(part, dict) and part.get("type") == "text" else None
        header = RESULT.match(text) if text is not None else None
        if header is not None and text is not None:
            tool = header["tool"]
            if text[header.end() :].strip():
                yield place, tool
                tool = ""
        elif tool and text is not None and not text.lstrip().startswith(INSERTED_PREFIXES):
            yield place, tool
            tool = ""


Called = Sequence[tuple[str, str]]
"""Ids and tools of calls."""


def chat_message(message: Mapping[str, Any], place: int = 0, open_calls: Called = ()) -> ChatMessage:
    """Convert a task message. `place` forms ids for calls without one; `open_calls` have no result yet."""
    role = string(message.get("role"))
    if message.get("type") == "reasoning" and not role:
        texts = [string(part.get("text")) for part in objects(message.get("summary"))] or [string(message.get("text"))]
        signature = string(message.get("encrypted_content"))
        part = {"type": "thinking", "thinking": "\n".join(texts), "signature": signature}
        return ChatMessage({"role": "assistant", "content": [part]})
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}] if content else []
    parts = [_file_as_text(part) for part in content] if isinstance(content, list) else []
    if role == "assistant":
        parts = _with_calls(parts, place)
    elif role == "user":
        parts = _with_results(parts, list(open_calls))
    value: dict[str, Any] = {"role": role, "content": parts}
    if isinstance(message.get("reasoning_content"), str):
        value["reasoning_content"] = message["reasoning_content"]
    is_summary = message.get("isSummary") is True
    model = mapping(message.get("modelInfo"))
    return ChatMessage(
        value,
        seconds_of_any(message.get("ts")),
        identifier=string(message.get("id")),
        is_call=role == "assistant" and not is_summary,
        model=string(model.get("id")) or string(model.get("modelId")),
        usage=usage_of(mapping(message.get("metrics"))),
        is_meta=message.get("isTruncationMarker") is True,
        is_summary=is_summary,
    )


def calls_in(value: Mapping[str, Any]) -> list[tuple[str, str]]:
    parts = objects(value.get("content"))
    return [(string(part.get("id")), string(part.get("name"))) for part in parts if part.get("type") == "tool_use"]


def blocks_of_parts(message: Mapping[str, Any]) -> list[int]:
    """Return the number of blocks per content part; text with XML calls makes several."""
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    if message.get("role") != "assistant" or any(mapping(part).get("type") == "tool_use" for part in parts):
        return [1] * len(parts)
    return [len(_with_calls([part], 0)) for part in parts]


def _file_as_text(part: Any) -> Any:
    if isinstance(part, dict) and part.get("type") == "file" and isinstance(part.get("content"), str):
        return {"type": "text", "text": part["content"]}
    return part


def _with_calls(parts: list[Any], place: int) -> list[Any]:
    """Extract XML calls from a response without native calls."""
    if any(isinstance(part, dict) and part.get("type") == "tool_use" for part in parts):
        return parts
    names: Iterator[str] = (f"call-{place}-{number}" for number in numbers())
    made: list[Any] = []
    for part in parts:
        text = string(part.get("text")) if isinstance(part, dict) and part.get("type") == "text" else ""
        made += parts_with_calls(text, names) if CALL.search(text) else [part]
    return made


def _with_results(parts: list[Any], open_calls: list[tuple[str, str]]) -> list[Any]:
    """Convert the results in a user message's texts to tool results, matched to their calls."""
    answered = {part.get("tool_use_id") for part in parts if isinstance(part, dict)}
    waiting = [call for call in open_calls if call[0] not in answered]
    made = list(parts)
    for place, tool in result_places(parts):
        call = next((one for one in waiting if one[1] == tool), waiting[0] if waiting else ("", tool))
        if call in waiting:
            waiting.remove(call)
        made[place] = {"type": "tool_result", "tool_use_id": call[0], "content": parts[place].get("text")}
    return made


def usage_of(metrics: Mapping[str, Any]) -> Usage | None:
    """Convert a message's metrics, where the input includes cache reads and writes.

    Follows `sdk/packages/llms/src/providers/ai-sdk.ts` and `apps/vscode/src/shared/messages/metrics.ts` in cline/cline.
    """
    tokens = mapping(metrics.get("tokens"))
    read = count(metrics.get("cacheReadTokens")) or count(tokens.get("cached"))
    written = count(metrics.get("cacheWriteTokens"))
    prompt = count(metrics.get("inputTokens")) or count(tokens.get("prompt"))
    output = count(metrics.get("outputTokens")) or count(tokens.get("completion"))
    # Some versions recorded only uncached input, detectable only if it is less than the cached part.
    usage = Usage.of_prompt(prompt, read, written, output)
    return CLINE.check(usage.unless_zero(), metrics)


REQUEST = "api_req_started"

ANSWER_BEHIND = 2
"""`conversationHistoryIndex` is the newest message when the request begins; the response is two after it."""


class ClineRequest(NamedTuple):
    """A request: usage (None if it failed), first and last message left out, and its start in milliseconds."""

    usage: Usage | None
    left_out: tuple[int, int] | None
    time: int = 0


class Condensed(NamedTuple):
    """Token counts before and after a compaction, None if unknown."""

    before: int | None
    after: int | None


def requests_of_answers(shown: Any, answers: Sequence[int]) -> dict[int, ClineRequest]:
    """Match requests to responses by message index, or by order if all are present."""
    by_place: dict[int, ClineRequest] = {}
    in_order: list[ClineRequest] = []
    place = None
    for message in objects(shown):
        left_out = _range(message.get("conversationHistoryDeletedRange"))
        if message.get("say") == REQUEST:
            place = None
            request = ClineRequest(
                _usage(mapping(json_in(string(message.get("text"))))), left_out, count(message.get("ts"))
            )
            index = message.get("conversationHistoryIndex")
            if isinstance(index, int) and not isinstance(index, bool):
                place = index + ANSWER_BEHIND
                by_place[place] = request  # the last attempt is the one with a response
            if request.usage is not None:
                in_order.append(request)
        elif place is not None and left_out is not None:
            by_place[place] = by_place[place]._replace(left_out=left_out)
    if by_place:
        return {index: by_place[index] for index in answers if index in by_place}
    return dict(zip(answers, in_order, strict=True)) if len(answers) == len(in_order) else {}


def left_out_in(tasks: Any, task: str) -> tuple[int, int] | None:
    """Return the range of messages omitted from a task's next request, from the task index; None without one."""
    found = next((one for one in objects(tasks) if one.get("id") == task), {})
    return _range(found.get("conversationHistoryDeletedRange"))


def condensations(shown: Any) -> list[Condensed]:
    """Return the token counts of each compaction in order."""
    found = []
    for message in objects(shown):
        if message.get("say") == "condense_context" and message.get("partial") is not True:
            about = mapping(message.get("contextCondense"))
            if about:
                found.append(
                    Condensed(
                        count_or_none(about.get("prevContextTokens")), count_or_none(about.get("newContextTokens"))
                    )
                )
        elif message.get("say") == "compaction":
            about = mapping(json_in(string(message.get("text"))))
            if about.get("status") == "completed":
                found.append(
                    Condensed(count_or_none(about.get("tokensBefore")), count_or_none(about.get("tokensAfter")))
                )
    return found


def _usage(about: Mapping[str, Any]) -> Usage | None:
    """Convert a request's usage.

    Cline's `tokensIn` excludes cache reads and writes (`getApiMetrics.ts` in cline/cline). Roo's, recognized by
    `apiProtocol`, is the whole prompt (`calculateApiCostAnthropic` in RooCodeInc/Roo-Code), except in older data, where
    it is less than the cached part.
    """
    prompt, read, written = (count(about.get(name)) for name in ("tokensIn", "cacheReads", "cacheWrites"))
    output = count(about.get("tokensOut"))
    is_roo = "apiProtocol" in about
    usage = Usage.of_prompt(prompt, read, written, output) if is_roo else Usage(prompt, read, written, output=output)
    return CLINE_SHOWN.check(usage.unless_zero(), about)


def _range(value: Any) -> tuple[int, int] | None:
    ends = [end for end in sequence(value) if isinstance(end, int) and not isinstance(end, bool)]
    return (ends[0], ends[1]) if len(ends) == 2 and 0 <= ends[0] <= ends[1] else None


MOST_MESSAGES = 1 << 20

LOCATOR = "edit "
"""Locator prefix of changed parts, followed by the role."""


class Edit(NamedTuple):
    """A change to one message part. `time`: time of the request before the change, in milliseconds since the epoch."""

    time: int
    place: int
    part: int
    text: str
    origin: Origin


def edits_in(opened: LinkedDocument | None) -> list[Edit]:
    found = list(_edits(opened)) if opened is not None else []
    return sorted(found, key=lambda edit: edit.time)


def _edits(opened: LinkedDocument) -> Iterator[Edit]:
    for entry in opened.node.items():
        of_message = entry.items()
        if len(of_message) != 2 or not _is_index(place := of_message[0].value()):
            continue
        for by_part in (of_message[1].items() or [of_message[1]])[-1].items():
            of_part = by_part.items()
            if len(of_part) != 2 or not _is_index(part := of_part[0].value()):
                continue
            for change in of_part[1].items():
                text = text_of_change(change.value())
                if text is not None:
                    time = count(sequence(change.value())[0])
                    yield Edit(time, place, part, text, Origin(change.offset, change.length, 0, opened.number))


def text_of_change(change: Any) -> str | None:
    """Return the new text of a part; None for other kinds of changes."""
    fields = sequence(change)
    texts = sequence(fields[2]) if len(fields) > 2 and fields[1] == "text" else []
    return texts[0] if texts and isinstance(texts[0], str) else None


def edited(message: Mapping[str, Any], edits: Mapping[int, Edit]) -> dict[str, Any]:
    """Apply changes to a message's parts, except parts that cannot change."""
    content = sequence(deepcopy(message.get("content")))
    for part, edit in edits.items():
        if part < len(content):
            _set_text(content[part], edit.text)
    return {**message, "content": content}


def _set_text(part: Any, text: str) -> None:
    if not isinstance(part, dict):
        return
    if part.get("type") == "text":
        part["text"] = text
    elif part.get("type") == "tool_result" and isinstance(part.get("content"), str):
        part["content"] = text
    elif part.get("type") == "tool_result":
        for inner in objects(part.get("content")):
            if inner.get("type") == "text":
                inner["text"] = text
                break


def edited_blocks_again(text: str, origin: Origin) -> list[TextBlock]:
    part = {"type": "text", "text": text}
    return blocks_of_chat([chat_message({"role": origin.locator.removeprefix(LOCATOR), "content": [part]})], origin)


def placed(message: Message, value: Mapping[str, Any], edits: Mapping[int, Edit]) -> Message | None:
    """Point a changed message's blocks at the recorded changes; None if a change does not fit its part."""
    role = string(value.get("role"))
    widths = blocks_of_parts(value)
    blocks = list(message.blocks)
    for part, edit in edits.items():
        start = len(blocks) - sum(widths) + sum(widths[:part])
        old = blocks[start : start + widths[part]] if part < len(widths) else []
        new = edited_blocks_again(edit.text, structs.replace(edit.origin, locator=f"{LOCATOR}{role}"))
        if [block.digest for block in old] != [made.block.digest for made in new]:
            return None
        for index, made in enumerate(new):
            blocks[start + index] = structs.replace(old[index], origin=made.block.origin)
    return structs.replace(message, blocks=tuple(blocks))


def _is_index(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_MESSAGES


def task_reader(opened: Path, name: str) -> Reader:
    """Return a reader for a task, given its folder or any of its files."""
    path = history_of(opened)
    (about,) = tuple(SidecarFile(one) for one in sidecars_of(path))
    folder = path.resolve().parent.name
    index = SidecarFile(index_of(path), lambda tasks: left_out_in(tasks, folder))
    others = LinkedDocuments()

    def task() -> ClineTask:
        edits: list[Edit] = []
        if path.name == HISTORY:
            edits = edits_in(others.open(path.with_name(EDITS)))
        left_out = index.value() if path.name == HISTORY else None
        made = ClineTask(about.value(), edits, left_out)
        made.builder.identifier = folder if path.name == HISTORY else ""
        return made

    return JsonReader(path, name, task, (about, index), others, opened)


class ClineTask(DocumentInterpreter):
    """Builds a session from a task's messages."""

    def __init__(
        self,
        about: Any,
        edits: Sequence[Edit] = (),
        next_left_out: tuple[int, int] | None = None,
    ) -> None:
        """Initialize with the display messages or metadata, and the range that the next request omits."""
        super().__init__()
        self.builder.agent = "Cline"
        self._next_left_out = next_left_out
        self._about = about
        self._edits = list(edits)
        self._edited: dict[int, dict[int, Edit]] = {}
        self._sources: dict[int, tuple[Mapping[str, Any], Origin, Called]] = {}
        self._chat = ChatThread(self.builder)
        self._open_calls: Called = []
        self._hidden: dict[str, list[int]] = {}
        self._added: dict[int, list[int]] = {}
        self._left_out: tuple[int, int] | None = None
        self._forked: float | None = None
        self._condensed: list[Condensed] = condensations(about)

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
        value = lenient_json(record)[0]
        if origin.locator == SYSTEM:
            return blocks_of_definition(value, record, origin.offset, origin.length, SYSTEM)
        if origin.locator.startswith(LOCATOR):
            return edited_blocks_again(text_of_change(value) or "", origin)
        return blocks_of_chat([chat_message(mapping(value))], origin)

    def take_document(self, document: Node) -> None:
        fields = document.fields()
        model = self._describe(fields)
        if fields.get("system_prompt") is not None and isinstance(fields["system_prompt"].value(), str):
            system = fields["system_prompt"]
            made = blocks_of_definition(system.value(), system.raw(), system.offset, system.length, SYSTEM)
            self._chat.add(Message(Role.SYSTEM, tuple(block for block, _ in made)))
        items = fields["messages"].items() if "messages" in fields else document.items()
        values = [item.value() for item in items]
        answers = [place for place, value in enumerate(values) if mapping(value).get("role") == "assistant"]
        requests = requests_of_answers(self._about, answers)
        for place, (item, value) in enumerate(zip(items, values, strict=True)):
            if not isinstance(value, dict):
                self.builder.diagnose("not a message", 0, max(item.offset, 0), skipped=True)
                continue
            name = string(value.get("role")) or string(value.get("type")) or "(no role)"
            self.builder.record_counts[name] += 1
            self._add(place, value, Origin(item.offset, item.length), requests.get(place), model)
        # The index is written with the display messages or before them, so a smaller range is outdated.
        is_newer = self._next_left_out is not None and self._next_left_out > (self._left_out or (-1, -1))
        self._change(ClineRequest(None, self._next_left_out) if is_newer else None, None)

    def _describe(self, fields: Fields) -> str:
        """Record the task's metadata and return the default model."""
        about = mapping(self._about)
        details = mapping(about.get("metadata"))
        fork = mapping(details.get("fork"))
        self._forked = seconds_of_any(fork.get("forkedAt"))
        builder = self.builder
        if origin := string(fork.get("forkedFromSessionId")):
            builder.link(SessionLink(LinkKind.CONTINUED, origin))
        builder.title = string(details.get("title"))
        builder.working_directory = string(about.get("cwd"))
        if "sessionId" in fields:
            builder.identifier = string(fields["sessionId"].value()) or builder.identifier
        for message in objects(self._about)[:1]:
            builder.title = string(message.get("text")) if message.get("say") in ("text", "task") else ""
        return string(about.get("model"))

    def _add(self, place: int, value: dict[str, Any], origin: Origin, request: ClineRequest | None, model: str) -> None:
        reported = chat_message(value, place, self._open_calls)
        self._sources[place] = (value, origin, self._open_calls)
        if self._forked is not None and reported.time is not None and reported.time < self._forked:
            reported = structs.replace(reported, is_inherited=True)
        if reported.is_call:
            began = request.time if request is not None and request.time else (reported.time or 0) * 1000
            self._change(request, began)
            usage = request.usage if request is not None and request.usage is not None else reported.usage
            reported = structs.replace(reported, model=reported.model or model, usage=usage)
            self._open_calls = calls_in(reported.value)
        if reported.is_summary or value.get("isTruncationMarker") is True:
            added = [self._compact(value, reported, origin)]
        else:
            added = self._chat.add_record([reported], origin)
        self._added[place] = added
        for name in ("condenseParent", "truncationParent"):
            self._hidden.setdefault(string(value.get(name)), []).extend(added)

    def _compact(self, value: Mapping[str, Any], summary: ChatMessage, origin: Origin) -> int:
        """Apply Roo's compactions: a summary begins a new context, a marker hides the messages tagged with its id."""
        (message,) = self._chat.messages([summary], origin)
        gone = self._hidden.get(string(value.get("truncationId")), [])
        members = self._chat.members
        if summary.is_summary:
            condensed = self._condensed.pop(0) if self._condensed else Condensed(None, None)
            compaction = Compaction(0, "auto", condensed.before, condensed.after, time=summary.time)
            return self._chat.compact(compaction, message)
        if not gone:
            return self._chat.put(summary, message)
        compaction = Compaction(0, "truncation", time=summary.time)
        before = [index for index in members if index < min(gone)]
        kept = [index for index in members if index > min(gone) and index not in gone]
        return self._chat.compact(compaction, message, kept, before)

    def _change(self, request: ClineRequest | None, began: float | None) -> None:
        """Apply compactions: changed and omitted messages. `began` is None for a request not sent yet."""
        first = len(self.builder.messages)
        replaced = self._replaced(began)
        members = [replaced.get(index, index) for index in self._chat.members]
        left_out = request.left_out if request is not None else None
        is_cut = left_out is not None and left_out != self._left_out
        if left_out is not None and is_cut:
            self._left_out = left_out
            place_of = {index: place for place, added in self._added.items() for index in added}
            is_sent = {
                index
                for index, place in place_of.items()
                if not left_out[0] <= place <= left_out[1] and self.builder.messages[index].role is not Role.OTHER
            }
            members = [index for index in members if index not in place_of]
            members += sorted(is_sent, key=lambda index: (place_of[index], index))
        if replaced or is_cut:
            self._chat.begin(ContextCause.COMPACTION, members)
            self.builder.compactions.append(Compaction(first, "truncation" if is_cut else "edit"))

    def _replaced(self, began: float | None) -> dict[int, int]:
        """Add the messages changed before a request; return their indices by the index of the original."""
        due = [edit for edit in self._edits if began is None or edit.time < began]
        self._edits = self._edits[len(due) :]
        for edit in due:
            self._edited.setdefault(edit.place, {})[edit.part] = edit
        replaced = {}
        for place in sorted({edit.place for edit in due}):
            added = [index for index in self._added.get(place, ()) if index in self._chat.members]
            message = self._edited_message(place) if len(added) == 1 else None
            if message is not None:
                replaced[added[0]] = self._chat.add(message, is_sent=False)
                self._added[place] = [replaced[added[0]]]
        return replaced

    def _edited_message(self, place: int) -> Message | None:
        value, origin, open_calls = self._sources[place]
        changed = edited(value, self._edited[place])
        (message,) = self._chat.messages([chat_message(changed, place, open_calls)], origin)
        made = placed(message, changed, self._edited[place])
        if made is None:
            self.builder.diagnose("a recorded change that does not fit its message", 0, origin.offset, skipped=False)
        return structs.replace(made, is_meta=True) if made is not None else None


FORMATS = (ClineFormat(),)
