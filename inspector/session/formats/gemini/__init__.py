"""Read Gemini CLI: one JSONL log per session with records that replace earlier ones; older versions wrote JSON.

The format is defined by `packages/core/src/services/chatRecordingService.ts` in google-gemini/gemini-cli.
"""

from __future__ import annotations

import glob
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from inspector.session.blocks import TextBlock, text_block
from inspector.session.files import glob_sorted, is_file
from inspector.session.format import ContainedSession, Format, can_name_file, home_of, sessions_at
from inspector.session.json import (
    clean_string,
    clean_text,
    compact_json,
    count,
    mapping,
    object_of,
    objects,
    sequence,
    string,
)
from inspector.session.media import media_of_base64
from inspector.session.model import BlockKind, Media, Origin, Usage
from inspector.session.usage_fields import GEMINI

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from inspector.session.reader import Reader
    from inspector.session.sniff import Sample


NAME = "gemini-cli"

CHATS = "chats"

MESSAGES = "messages"
"""Field with the records of a document or checkpoint."""

SPOKEN = frozenset({"user", "gemini"})
"""Types of conversation records."""

NOTICE_TYPES = frozenset({"info", "error", "warning"})
"""Types that are shown but not sent."""

KINDS = SPOKEN | NOTICE_TYPES


LETTERS_OF_PARENT = 8
"""Length of the session id prefix in file names."""


def _is_session(value: dict[str, Any]) -> bool:
    messages = value.get(MESSAGES)
    if not isinstance(messages, list) or not _is_metadata(value):
        return False
    return not messages or any(_is_record(message) for message in objects(messages[:20]))


def _is_metadata(value: dict[str, Any]) -> bool:
    is_own = isinstance(value.get("projectHash"), str) or ("startTime" in value and "lastUpdated" in value)
    return isinstance(value.get("sessionId"), str) and is_own and "uuid" not in value


def _is_like_a_record(value: dict[str, Any]) -> bool:
    return string(value.get("type")) in KINDS and "content" in value


def _is_record(value: dict[str, Any]) -> bool:
    return (
        string(value.get("type")) in KINDS
        and isinstance(value.get("id"), str)
        and "content" in value
        and "timestamp" in value
        and "parentId" not in value
    )


class GeminiFormat(Format):
    """Gemini CLI logs and documents."""

    name = "gemini-cli"
    title = "Gemini CLI"
    where = "~/.gemini/tmp, or .gemini/tmp in $GEMINI_CLI_HOME"
    exact = "prompt and output tokens of every call"
    file_names = r"session-.+-[0-9a-f]{8}\.jsonl?"

    def recognize(self, sample: Sample) -> str:
        if sample.is_directory:
            return ""
        if not sample.is_lines:
            document = sample.document
            if isinstance(document, dict) and _is_session(document):
                return f"a JSON document with {len(document[MESSAGES])} Gemini CLI messages"
            return ""
        if any(_is_session(record) for record in sample.records):
            return "a line with a whole Gemini CLI session"
        sure = [
            record for record in sample.records if _is_metadata(record) or "$rewindTo" in record or "$set" in record
        ]
        # If any line names the session, records without an id count too.
        is_known = any(map(_is_metadata, sure))
        found = [record for record in sample.records if _is_record(record) or (is_known and _is_like_a_record(record))]
        if len(found) + len(sure) == 0 or (len(found) + len(sure)) * 2 <= len(sample.records):
            return ""
        return f"{len(found) + len(sure)} of the first {len(sample.records)} lines are Gemini CLI records"

    def homes(self) -> tuple[Path, ...]:
        return (home_of("GEMINI_CLI_HOME") / ".gemini" / "tmp",)

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.gemini.reader import gemini_reader

        return gemini_reader(path)

    def is_sidecar(self, path: Path) -> bool:
        """Return True for a document converted to a log when its session was resumed; the log contains all of it."""
        is_old = path.suffix == ".json" and CHATS in (path.parent.name, path.parent.parent.name)
        return is_old and is_file(path.with_suffix(".jsonl"))

    def subagents(self, path: Path, identifier: str) -> Sequence[ContainedSession]:
        """Return the logs in the folder named after a session."""
        if path.parent.name != CHATS or not can_name_file(identifier):
            return ()
        found = glob_sorted(path.parent / identifier, "*.json*")
        return sessions_at(file for file in found if not self.is_sidecar(file))

    def locate(self, path: Path, identifier: str) -> Path | None:
        """Find a subagent of the session at `path`, with its log in `chats/<parent>/`, or its parent."""
        if not can_name_file(identifier):
            return None
        name = glob.escape(identifier)
        if path.parent.parent.name == CHATS and identifier == path.parent.name:
            found = glob_sorted(path.parent.parent, f"session-*-{glob.escape(identifier[:LETTERS_OF_PARENT])}.json*")
        else:
            found = glob_sorted(path.parent, f"*/{name}.json*" if path.parent.name == CHATS else f"{name}.json*")
        # A migrated session exists in both forms; the JSONL log is newer.
        return max(found, key=lambda file: file.suffix, default=None)

    def is_bookkeeping(self, count_name: str) -> bool:
        return count_name in ("$rewindTo", "$set", "metadata")

    def knows_record(self, count_name: str) -> bool:
        return count_name in KINDS or self.is_bookkeeping(count_name)


CONTENT, THOUGHTS, CALLS, RESULTS = "content", "thoughts", "toolCalls", "result"
"""Locators: the record fields that contain blocks."""

FAILED = frozenset({"cancelled", "error"})


class GeminiBlocks(Struct):
    """The blocks of a record.

    Attributes:
        thoughts: Thought summaries, which are not sent again: prompt counts without them match the API's reports to
            within a fraction of a thousandth in a real session.
        results: Results of the tools it calls, sent after it.
    """

    thoughts: list[TextBlock] = field(default_factory=list)
    spoken: list[TextBlock] = field(default_factory=list)
    results: list[TextBlock] = field(default_factory=list)


def blocks_again(record: bytes, origin: Origin, /) -> list[TextBlock]:
    value, _ = object_of(record)
    if value is None:
        return []
    parts = parts_of(value, record, origin.offset)
    return [*parts.thoughts, *parts.spoken, *parts.results]


def parts_of(record: Mapping[str, Any], raw: bytes, offset: int) -> GeminiBlocks:
    """Return the blocks of a record."""
    origin = Origin(offset, len(raw))
    kind = string(record.get("type"))
    if kind == "gemini":
        return _response(record, origin)
    if kind == "user" or (kind in NOTICE_TYPES and _has_data(record)):
        return GeminiBlocks(spoken=list(_content(record, BlockKind.USER_TEXT, origin)))
    if kind in NOTICE_TYPES:
        text = "\n".join(made.text for made in _content(record, BlockKind.OTHER, origin))
        return GeminiBlocks(spoken=[text_block(BlockKind.OTHER, f"{kind}: {text}", origin.at(0, CONTENT))])
    return GeminiBlocks(spoken=[text_block(BlockKind.OTHER, raw.decode(errors="replace"), origin.at(0, CONTENT))])


def is_sent(record: Mapping[str, Any]) -> bool:
    """Return True if a record is part of the conversation, including `info` records with images read by a tool."""
    kind = string(record.get("type"))
    return kind in SPOKEN or (kind in NOTICE_TYPES and _has_data(record))


def _has_data(record: Mapping[str, Any]) -> bool:
    return any("inlineData" in part or "fileData" in part for part in objects(record.get("content")))


def _response(record: Mapping[str, Any], origin: Origin) -> GeminiBlocks:
    content = list(_content(record, BlockKind.ASSISTANT_TEXT, origin))
    calls = objects(record.get("toolCalls"))
    # Newer versions also store calls in the content once the program has changed its message list.
    has_calls = any(made.block.kind is BlockKind.TOOL_CALL for made in content)
    parts = GeminiBlocks(spoken=content)
    for index, thought in enumerate(objects(record.get("thoughts"))):
        subject, text = string(thought.get("subject")), string(thought.get("description"))
        text = clean_text(f"**{subject}** {text}" if subject else text)
        parts.thoughts.append(text_block(BlockKind.THINKING, text, origin.at(index, THOUGHTS)))
    for index, call in enumerate(calls):
        place = origin.at(index, CALLS)
        if not has_calls:
            parts.spoken.append(_call(call, place))
        if call.get("result"):
            parts.results.append(_result_of_call(call, origin.at(index, RESULTS)))
    return parts


def _content(record: Mapping[str, Any], text_kind: BlockKind, origin: Origin) -> Iterator[TextBlock]:
    content = record.get("content")
    if isinstance(content, str):
        if content:
            yield text_block(text_kind, clean_text(content), origin.at(0, CONTENT))
        return
    for index, part in enumerate(content if isinstance(content, list) else [content] if content else []):
        yield _part(part, text_kind, origin.at(index, CONTENT))


def _part(part: Any, text_kind: BlockKind, origin: Origin) -> TextBlock:
    if isinstance(part, str):
        return text_block(text_kind, clean_text(part), origin)
    fields = mapping(part)
    signature = len(string(fields.get("thoughtSignature")))
    if isinstance(fields.get("text"), str):
        kind = BlockKind.THINKING if fields.get("thought") else text_kind
        return text_block(kind, clean_text(fields["text"]), origin, signature_characters=signature)
    if "functionCall" in fields:
        return _call(mapping(fields["functionCall"]), origin, signature)
    if "functionResponse" in fields:
        return _result([part], string(mapping(fields["functionResponse"]).get("id")), "", origin)
    media, data = _media([part])
    if media:
        kind = BlockKind.IMAGE if media[0].media_type.startswith("image/") else BlockKind.DOCUMENT
        return text_block(kind, "", origin, media=media, media_data=data)
    return text_block(BlockKind.OTHER, clean_text(compact_json(part)), origin)


def _call(call: Mapping[str, Any], origin: Origin, signature: int = 0) -> TextBlock:
    return text_block(
        BlockKind.TOOL_CALL,
        clean_text(compact_json(call.get("args", {}))),
        origin,
        tool_call_id=clean_string(call.get("id")),
        tool_name=clean_string(call.get("name")),
        signature_characters=signature,
    )


def _result_of_call(call: Mapping[str, Any], origin: Origin) -> TextBlock:
    result = call.get("result")
    has_failed = string(call.get("status")) in FAILED
    parts = result if isinstance(result, list) else [result]
    return _result(parts, string(call.get("id")), string(call.get("name")), origin, has_failed=has_failed)


def _result(parts: list[Any], call: str, name: str, origin: Origin, *, has_failed: bool = False) -> TextBlock:
    """Build a tool result, usually one function response, possibly with texts, images and documents."""
    texts, inner = [], []
    for part in parts:
        fields = mapping(part)
        if "functionResponse" in fields:
            answer = mapping(fields["functionResponse"])
            name = name or string(answer.get("name"))
            response = answer.get("response")
            has_failed = has_failed or (bool(mapping(response).get("error")) and "output" not in mapping(response))
            texts.append(answer_text(response))
            inner += sequence(answer.get("parts"))
        elif isinstance(part, str) or isinstance(fields.get("text"), str):
            texts.append(part if isinstance(part, str) else fields["text"])
        elif "inlineData" not in fields and "fileData" not in fields:
            texts.append(compact_json(part))
    media, data = _media([*parts, *inner])
    return text_block(
        BlockKind.TOOL_RESULT,
        clean_text("\n".join(texts)),
        origin,
        tool_call_id=clean_text(call),
        tool_name=clean_text(name),
        is_error=has_failed,
        media=media,
        media_data=data,
        plain_text=len(parts) == 1 and not media,
    )


def answer_text(response: Any) -> str:
    """Return a tool's `output`, or its `error`, or the whole response."""
    if isinstance(response, str):
        return response
    for key in ("output", "error"):
        value = mapping(response).get(key)
        if isinstance(value, str) and len(response) == 1:
            return value
    return compact_json(response)


def _media(parts: list[Any]) -> tuple[tuple[Media, ...], tuple[bytes, ...]]:
    media, encoded = [], []
    for part in objects(parts):
        inline, file = mapping(part.get("inlineData")), mapping(part.get("fileData"))
        if inline:
            data = string(inline.get("data")).encode(errors="replace")
            media.append(media_of_base64(clean_string(inline.get("mimeType")), data))
            encoded.append(data)
        elif file:
            media.append(Media(clean_string(file.get("mimeType")), 0))
            encoded.append(string(file.get("fileUri")).encode(errors="replace"))
    return tuple(media), tuple(encoded)


def usage_of(record: Mapping[str, Any]) -> Usage | None:
    """Convert a response's usage; None if there is none.

    `input` includes cache reads. `output` excludes thoughts, and `input` excludes the prompt tokens of server-side
    tools (`toolUsePromptTokenCount`). The five add up to `total`.
    """
    reported = mapping(record.get("tokens"))
    cached, thoughts = count(reported.get("cached")), count(reported.get("thoughts"))
    usage = Usage(
        uncached=max(count(reported.get("input")) - cached, 0) + count(reported.get("tool")),
        cache_read=cached,
        output=count(reported.get("output")) + thoughts,
        reasoning=thoughts,
    )
    return GEMINI.check(usage.unless_zero(), reported)


FORMATS = (GeminiFormat(),)
