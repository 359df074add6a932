"""Build sessions from records that are first converted to chat messages.

Most formats store the same content under other names: roles, tool calls, results. Their readers convert each record to
chat messages in OpenAI or Anthropic form; the rest works as for a plain conversation.

A request's cache breakpoints are Anthropic's `cache_control` and OpenAI's `prompt_cache_breakpoint`. One is set on a
content part, a part of the system prompt, a tool, or the whole request, where it means the end of the prompt. Gateway
clients also set it on a message or on a part of a tool result. In the Bedrock Converse API, tools are followed by a
`cachePoint` instead. OpenAI sets breakpoints on content parts (GPT-5.6 and later); `prompt_cache_options` has their
lifetime. Unless its mode is `explicit`, there is one more at the end of the prompt. A request writes the last four.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct, structs

from inspector.session.billing_terms import parse_billing_terms
from inspector.session.blocks import CHAT, TextBlock, argument_text, text_block
from inspector.session.builder import CallMatcher, SessionBuilder, Thread
from inspector.session.formats.bedrock_converse import CACHE_POINT
from inspector.session.json import (
    clean_string,
    clean_text,
    compact_json,
    count,
    json_in,
    mapping,
    objects,
    sequence,
    string,
)
from inspector.session.media import PDF, media_of_base64, media_of_data_url
from inspector.session.model import (
    BlockKind,
    Media,
    Message,
    Origin,
    RecordedBreakpoint,
    ReportedMiss,
    Role,
    SideCall,
    Usage,
)
from inspector.session.usage_fields import API, excludes_reasoning

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from inspector.session.json import Node
    from inspector.session.model import Block


ROLE_OF = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}

TEXT_KIND = {
    Role.SYSTEM: BlockKind.SYSTEM_TEXT,
    Role.USER: BlockKind.USER_TEXT,
    Role.ASSISTANT: BlockKind.ASSISTANT_TEXT,
    Role.TOOL: BlockKind.TOOL_RESULT,
    Role.OTHER: BlockKind.OTHER,
}

TEXT_PARTS = frozenset({"text", "input_text", "output_text"})

IMAGE_PARTS = frozenset({"computer_screenshot", "image", "image_url", "input_image"})

DOCUMENT_PARTS = frozenset({"audio", "document", "file", "input_audio", "input_file"})
"""Content part types read as documents, including audio."""

NAMED_AS_PDF = frozenset({"document", "file", "input_file"})
"""Part types assumed to be PDFs if only named: APIs fetch no other type."""

SEARCH_RESULT = "search_result"
"""An Anthropic part with quotable texts and their source, sent unchanged."""

COMPACTION = "compaction"
"""An Anthropic part with the summary that replaces everything before it."""

SYSTEM, TOOLS = "system", "tools"
"""Locators of the system prompt and tool definitions, stored outside the message list."""


def role_of(entry: Mapping[str, Any]) -> Role:
    name = entry.get("role") or entry.get("from") or ""
    return ROLE_OF.get(SPEAKERS.get(name, name) if isinstance(name, str) else "", Role.OTHER)


def blocks_of_message(entry: Mapping[str, Any], offset: int, length: int, names: Mapping[str, str]) -> list[TextBlock]:
    """Return the blocks of one chat message; `names` are tool names by call id, for results."""
    role = role_of(entry)
    blocks = []
    reasoning = entry.get("reasoning_content") or entry.get("reasoning")
    if role is Role.ASSISTANT and isinstance(reasoning, str):
        blocks.append(text_block(BlockKind.THINKING, clean_text(reasoning), Origin(offset, length, 0, 0, "reasoning")))
    if role is Role.TOOL:
        blocks.append(_tool_entry(entry, Origin(offset, length), names))
        return blocks
    content = entry["value"] if "from" in entry and "role" not in entry else entry.get("content")
    if entry.get("from") == FUNCTION_CALL and (called := _called(content)):
        return [_call(one, "", Origin(offset, length, index)) for index, one in enumerate(called)]
    if isinstance(content, str):
        if content or not entry.get("tool_calls"):
            blocks.append(text_block(TEXT_KIND[role], clean_text(content), Origin(offset, length)))
    elif content is not None:
        for index, part in enumerate(content if isinstance(content, list) else [content]):
            blocks.append(_block_of_part(part, role, Origin(offset, length, index), names))
    if isinstance(entry.get("refusal"), str):
        blocks.append(
            text_block(TEXT_KIND[role], clean_text(entry["refusal"]), Origin(offset, length, 0, 0, "refusal"))
        )
    blocks.extend(_tool_calls(entry, offset, length))
    return blocks


def _called(content: Any) -> list[dict[str, Any]]:
    """Parse tool calls that a ShareGPT file stores as message text; empty if it is not JSON."""
    value = json_in(content) if isinstance(content, str) else content
    calls = value if isinstance(value, list) else [value]
    return objects(calls) if all(isinstance(call, dict) and "name" in call for call in calls) else []


def blocks_of_definition(value: Any, raw: bytes, offset: int, length: int, locator: str) -> list[TextBlock]:
    """Return the blocks of a system prompt or tool definitions stored outside the message list."""
    if locator == SYSTEM and isinstance(value, list):
        return [
            text_block(BlockKind.SYSTEM_TEXT, text_of_part(part), Origin(offset, length, index, 0, locator))
            for index, part in enumerate(value)
        ]
    # Line breaks and indentation of a pretty-printed document are not sent.
    written = compact_json(value) if b"\n" in raw else raw.decode(errors="replace")
    text = value if isinstance(value, str) else written
    return [text_block(BlockKind.SYSTEM_TEXT, clean_text(text), Origin(offset, length, 0, 0, locator))]


def _tool_calls(entry: Mapping[str, Any], offset: int, length: int) -> Iterator[TextBlock]:
    calls = entry.get("tool_calls")
    for index, call in enumerate(calls if isinstance(calls, list) else ()):
        if isinstance(call, dict):
            function = call.get("function") or call.get("custom") or call
            origin = Origin(offset, length, index, 0, "tool_calls")
            yield _call(function if isinstance(function, dict) else {}, string(call.get("id")), origin)
    call = entry.get("function_call")
    if isinstance(call, dict):
        yield _call(call, "", Origin(offset, length, 0, 0, "function_call"))


def _call(function: Mapping[str, Any], identifier: str, origin: Origin) -> TextBlock:
    text = argument_text(function.get("arguments", function.get("input", "{}")))
    name = string(function.get("name"))
    return text_block(BlockKind.TOOL_CALL, text, origin, tool_call_id=identifier, tool_name=name)


def _tool_entry(entry: Mapping[str, Any], origin: Origin, names: Mapping[str, str]) -> TextBlock:
    call = string(entry.get("tool_call_id"))
    name = (names.get(call) if call else "") or string(entry.get("name"))
    content = entry["value"] if "from" in entry and "role" not in entry else entry.get("content")
    return result_block(content, call, name, bool(entry.get("is_error")), origin)


def _block_of_part(part: Any, role: Role, origin: Origin, names: Mapping[str, str]) -> TextBlock:
    kind = str(part.get("type")) if isinstance(part, dict) else ""
    if isinstance(part, str) or kind in TEXT_PARTS or kind == SEARCH_RESULT:
        return text_block(TEXT_KIND[role], text_of_part(part), origin)
    if not isinstance(part, dict):
        return text_block(BlockKind.OTHER, clean_text(compact_json(part)), origin)
    if is_summary_part(part):
        return text_block(TEXT_KIND[role], clean_text(part["content"]), origin)
    if kind in ("thinking", "reasoning"):
        text = clean_text(string(part.get("thinking") or part.get("text") or part.get("reasoning")))
        return text_block(BlockKind.THINKING, text, origin, signature_characters=len(string(part.get("signature"))))
    if kind == "redacted_thinking":
        return text_block(BlockKind.THINKING, "", origin, signature_characters=len(string(part.get("data"))))
    if kind == "refusal":
        return text_block(TEXT_KIND[role], clean_text(string(part.get("refusal"))), origin)
    if kind.endswith("tool_use"):
        return _call(part, string(part.get("id")), origin)
    if kind.endswith("tool_result"):
        call = string(part.get("tool_use_id"))
        name = names.get(call, "") if call else ""
        return result_block(part.get("content"), call, name, bool(part.get("is_error")), origin)
    if kind in IMAGE_PARTS or kind in DOCUMENT_PARTS:
        media, data, text = media_of_part(part)
        block_kind = BlockKind.IMAGE if kind in IMAGE_PARTS else BlockKind.DOCUMENT
        return text_block(block_kind, text, origin, media=(media,), media_data=(data,))
    return text_block(BlockKind.OTHER, clean_text(compact_json(part)), origin)


def is_summary_part(part: Any) -> bool:
    """Return True for a compaction summary. A part without text is a failed compaction."""
    return isinstance(part, dict) and part.get("type") == COMPACTION and bool(string(part.get("content")))


def result_block(content: Any, call: str, name: str, is_error: bool, origin: Origin) -> TextBlock:
    """Build a tool result block from a string or a list of parts."""
    if content is None or isinstance(content, str):
        text = clean_text(content or "")
        return text_block(BlockKind.TOOL_RESULT, text, origin, tool_call_id=call, tool_name=name, is_error=is_error)
    texts, media, data = [], [], []
    for item in content if isinstance(content, list) else [content]:
        kind = str(item.get("type")) if isinstance(item, dict) else ""
        if kind in IMAGE_PARTS or kind in DOCUMENT_PARTS:
            one, encoded, text = media_of_part(item)
            media.append(one)
            data.append(encoded)
            if text:
                texts.append(text)
        else:
            texts.append(text_of_part(item))
    return text_block(
        BlockKind.TOOL_RESULT,
        "\n".join(texts),
        origin,
        tool_call_id=call,
        tool_name=name,
        is_error=is_error,
        media=tuple(media),
        media_data=data,
        plain_text=False,
    )


def media_of_part(part: Mapping[str, Any]) -> tuple[Media, bytes, str]:
    """Return a part's media type and size, its encoded bytes, and its text if it is a plain text document."""
    source = part.get("source")
    if isinstance(source, dict):
        data, media_type = source.get("data"), string(source.get("media_type"))
        if isinstance(data, str) and source.get("type") == "text":
            text = clean_text(data)
            return Media(media_type or "text/plain", len(text.encode())), b"", text
        if isinstance(data, str):
            encoded = data.encode(errors="replace")
            return media_of_base64(media_type, encoded), encoded, ""
        text = _joined(source.get("content"))
        if text:
            return Media(media_type or "text/plain", len(text.encode())), b"", text
        is_pdf = str(part.get("type")) in NAMED_AS_PDF and not media_type
        return Media(PDF if is_pdf else media_type, 0), _address(source, part), ""
    sound = part.get("input_audio")
    if isinstance(sound, dict):
        encoded = string(sound.get("data")).encode(errors="replace")
        return media_of_base64(f"audio/{string(sound.get('format')) or 'unknown'}", encoded), encoded, ""
    url = part.get("image_url") or part.get("file_data") or part.get("file") or part.get("url")
    # `detail` is next to the URL in Chat Completions, in the part itself in the Responses API.
    detail = part.get("detail")
    if isinstance(url, dict):
        detail = url.get("detail") or detail
        url = url.get("url") or url.get("file_data")
    address = string(url).encode(errors="replace") or _address(part, {})
    media = media_of_data_url(string(url), clean_text(string(detail)))
    if str(part.get("type")) in NAMED_AS_PDF and not media.media_type:
        media = structs.replace(media, media_type=PDF)
    return media, address, ""


def _address(*places: Mapping[str, Any]) -> bytes:
    """Return a reference that distinguishes media recorded only by URL or file id."""
    named = (place.get(name) for place in places for name in ("url", "file_url", "file_id"))
    return next((name.encode(errors="replace") for name in named if isinstance(name, str)), b"")


def _joined(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(text_of_part(part) for part in content)
    return clean_text(string(content))


def text_of_part(part: Any) -> str:
    """Return the text of a content part, or its JSON if the form is unknown."""
    if isinstance(part, str):
        return clean_text(part)
    if isinstance(part, dict):
        for name in ("text", "content", "tool_name", "logs"):
            if isinstance(part.get(name), str):
                return clean_text(part[name])
        if part.get("type") == SEARCH_RESULT:
            return _joined(part.get("content"))
    return clean_text(compact_json(part))


NOTICE = "notice"
"""Role of messages that are shown but never sent."""


class ChatMessage(Struct, frozen=True):
    """One chat message in OpenAI or Anthropic form. `is_call`: True for a response, which makes an API call."""

    value: Mapping[str, Any]
    time: float | None = None
    identifier: str = ""
    is_call: bool = False
    model: str = ""
    usage: Usage | None = None
    is_meta: bool = False
    is_summary: bool = False
    is_inherited: bool = False
    is_synthetic: bool = False
    terms: str = ""

    @property
    def role(self) -> Role:
        return role_of(self.value)


def chat_blocks(messages: Iterable[Mapping[str, Any]], origin: Origin) -> list[list[TextBlock]]:
    """Return the blocks of each chat message of a record, numbered across the record."""
    locator = origin.locator or CHAT
    part = 0
    found = []
    for message in messages:
        own = []
        for made in blocks_of_message(message, origin.offset, origin.length, {}):
            own.append(made.moved(origin.at(part, locator)))
            part += 1
        found.append(own)
    return found


def notice(text: str) -> dict[str, Any]:
    """Build a chat message that is shown but never sent."""
    return {"role": NOTICE, "content": text}


def blocks_of_chat(record: Iterable[ChatMessage], origin: Origin) -> list[TextBlock]:
    """Return the blocks of a record that is read again."""
    return [made for own in chat_blocks([one.value for one in record], origin) for made in own]


class ChatThread(Thread):
    """A thread built from chat messages."""

    def __init__(self, builder: SessionBuilder, number: int = 0) -> None:
        super().__init__(builder, number)
        self._calls = CallMatcher()

    def tool_definitions(self, node: Node | None, file: int = 0) -> Message | None:
        """Build the message for the tool definitions, which precede all others; None if there are none."""
        value = node.value() if node is not None else None
        if node is None or not value:
            return None
        made = blocks_of_definition(value, node.raw(), node.offset, node.length, TOOLS)
        blocks = (structs.replace(block, origin=structs.replace(block.origin, file=file)) for block, _ in made)
        return Message(Role.SYSTEM, tuple(blocks), thread=self.number)

    def add_record(self, record: Sequence[ChatMessage], origin: Origin) -> list[int]:
        """Add the messages of the record at `origin` and return their indices. Notices are marked as not sent."""
        made = self.messages(record, origin)
        return [self.put(one, message) for one, message in zip(record, made, strict=True)]

    def put(self, chat: ChatMessage, message: Message) -> int:
        is_sent = chat.role is not Role.OTHER and not chat.is_synthetic
        if not chat.is_call:
            return self.add(message, is_sent=is_sent)
        return self.respond(
            message,
            model=chat.model,
            usage=chat.usage,
            identifier=chat.identifier,
            is_sent=is_sent,
            terms=chat.terms,
        )

    def messages(self, record: Sequence[ChatMessage], origin: Origin) -> list[Message]:
        """Build the messages of a record without adding them."""
        found = chat_blocks([one.value for one in record], origin)
        return [
            self._message(one, self._calls.paired(one.role, [block for block, _ in own]))
            for one, own in zip(record, found, strict=True)
        ]

    def _message(self, chat: ChatMessage, blocks: Sequence[Block]) -> Message:
        return Message(
            role=chat.role,
            blocks=tuple(blocks),
            time=chat.time,
            identifier=chat.identifier,
            thread=self.number,
            is_synthetic=chat.is_synthetic,
            is_meta=chat.is_meta,
            is_summary=chat.is_summary,
            is_inherited=chat.is_inherited,
        )


def usage_of(reported: object) -> Usage | None:
    """Convert reported usage; None if there is none or only zeros.

    Anthropic's `input_tokens` excludes cache reads and writes. OpenAI's `prompt_tokens`, and `input_tokens` together
    with `input_tokens_details`, include cache reads; proxies that respond in OpenAI form also include cache writes.
    `completion_tokens` includes reasoning, except for providers with a `total_tokens` that adds it (xAI).
    """
    if not isinstance(reported, dict):
        return None
    prompt_details = _details(reported, "prompt_tokens_details", "input_tokens_details")
    output_details = _details(reported, "completion_tokens_details", "output_tokens_details")
    read = _count(prompt_details, "cached_tokens") or _count(
        reported, "cache_read_input_tokens", "prompt_cache_hit_tokens", "cached_tokens"
    )
    creation = _details(reported, "cache_creation")
    hour = _count(creation, "ephemeral_1h_input_tokens")
    written = _count(reported, "cache_creation_input_tokens") or _count(
        prompt_details, "cache_creation_tokens", "cache_write_tokens"
    )
    written = max(written, hour + _count(creation, "ephemeral_5m_input_tokens"))
    prompt = _count(reported, "prompt_tokens", "input_tokens")
    output = _count(reported, "completion_tokens", "output_tokens")
    reasoning = _count(output_details, "reasoning_tokens")
    if excludes_reasoning(_count(reported, "total_tokens"), [prompt], output, reasoning):
        output += reasoning
    if "prompt_tokens" in reported or "input_tokens_details" in reported:
        prompt = max(prompt - read - written, 0)
    usage = Usage(prompt, read, written - hour, hour, output, reasoning)
    return API.check(usage.unless_zero(), reported)


SEPARATE_ITERATIONS = {"advisor_message": "advisor", "compaction": "compaction"}
"""Types in Anthropic's `usage.iterations` that are billed but not included in the totals, with their purpose.

The totals sum the `message` entries. With a `fallback_message`, they repeat that entry, which is the attempt that
answered, and exclude the declined attempts, which are not billed. Source: anthropic-sdk-python,
`types/beta/beta_iterations_usage.py`.
"""


def separate_requests(
    reported: object, model: str, time: float | None, identifier: str, response: int
) -> list[SideCall]:
    """Return the requests in Anthropic's `usage.iterations`, which its totals exclude. `model` is the default."""
    usage = reported if isinstance(reported, dict) else {}
    terms = parse_billing_terms({name: usage.get(name) for name in ("service_tier", "inference_geo")}).code
    return [
        SideCall(purpose, string(one.get("model")) or model, time, counts, identifier, terms, response)
        for one in objects(usage.get("iterations"))
        if (purpose := SEPARATE_ITERATIONS.get(string(one.get("type")))) and (counts := usage_of(one)) is not None
    ]


def miss_of(diagnostics: object) -> ReportedMiss | None:
    """Return the cache miss reason of an Anthropic response, which requests must opt into; None without one."""
    reason = diagnostics.get("cache_miss_reason") if isinstance(diagnostics, dict) else None
    if not isinstance(reason, dict) or not isinstance(reason.get("type"), str):
        return None
    return ReportedMiss(reason["type"], _count(reason, "cache_missed_input_tokens") or None)


def miss_of_diagnostics(diagnostics: object) -> ReportedMiss | None:
    """Return the cache miss in an OpenAI response's `prompt_cache_diagnostics`, which requests must opt into."""
    if not isinstance(diagnostics, dict) or diagnostics.get("type") != "cache_miss":
        return None
    reason = string(diagnostics.get("reason"))
    return ReportedMiss(reason, _count(diagnostics, "cache_missed_tokens") or None) if reason else None


LONG_LIFETIME = "12h"
"""The longer of OpenAI's cache lifetimes; the default is 30 minutes."""


def with_lifetime(usage: Usage | None, options: object) -> Usage | None:
    """Return the usage with its cache writes at the lifetime in OpenAI's `prompt_cache_options`."""
    if usage is None or not isinstance(options, dict) or options.get("ttl") != LONG_LIFETIME:
        return usage
    return structs.replace(usage, cache_write_5m=0, cache_write_1h=usage.cache_write_5m + usage.cache_write_1h)


def _details(reported: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    return next((reported[name] for name in names if isinstance(reported.get(name), dict)), {})


def _count(counts: Mapping[str, Any], *names: str) -> int:
    return next((found for name in names if (found := count(counts.get(name)))), 0)


FUNCTION_CALL = "function_call"

SPEAKERS = {"human": "user", "gpt": "assistant", FUNCTION_CALL: "assistant", "observation": "tool"}
"""Message roles of ShareGPT files (field `from`; the text is in `value`)."""


CACHE_CONTROL = "cache_control"

CACHE_OPTIONS, CACHE_BREAKPOINT = "prompt_cache_options", "prompt_cache_breakpoint"
"""OpenAI's fields, in requests and in parts."""

MOST_WRITTEN = 4
"""Breakpoints that an OpenAI request writes at most."""

USUAL_LIFETIME = "30m"
"""Lifetime of OpenAI's cache entries unless the options have another one."""


class PlacedBreakpoint(NamedTuple):
    """A cache breakpoint inside a message. `block`: index of the block that the breakpoint follows."""

    block: int
    lifetime: str


def lifetime_of(part: Any) -> str | None:
    """Return the cache lifetime that a part requests, empty for the default; None without a breakpoint."""
    fields = mapping(part)
    mark = fields.get(CACHE_CONTROL) or fields.get(CACHE_POINT) or fields.get(CACHE_BREAKPOINT)
    return clean_string(mark.get("ttl")) if isinstance(mark, dict) else None


def with_options(marks: Sequence[RecordedBreakpoint], options: object, blocks: int) -> tuple[RecordedBreakpoint, ...]:
    """Return the breakpoints that an OpenAI request writes. `marks`: its explicit breakpoints, in ascending order."""
    fields = mapping(options)
    lifetime = clean_string(fields.get("ttl")) or USUAL_LIFETIME
    places = {mark.blocks for mark in marks} | ({blocks} - {0} if fields.get("mode") != "explicit" else set())
    return tuple(RecordedBreakpoint(place, lifetime) for place in sorted(places))[-MOST_WRITTEN:]


def breakpoints_of_message(entry: Mapping[str, Any], blocks: Sequence[TextBlock]) -> tuple[PlacedBreakpoint, ...]:
    content = sequence(entry.get("content"))
    found = []
    for index, made in enumerate(blocks):
        origin = made.block.origin
        if made.block.kind is BlockKind.TOOL_RESULT and entry.get("role") == "tool":
            parts = content
        elif not origin.locator and origin.part < len(content):
            part = content[origin.part]
            parts = [*objects(mapping(part).get("content")), part]
        else:
            continue
        found += [PlacedBreakpoint(index, lifetime) for part in parts if (lifetime := lifetime_of(part)) is not None]
    if blocks and (lifetime := lifetime_of(entry)) is not None:
        found.append(PlacedBreakpoint(len(blocks) - 1, lifetime))
    return tuple(found)


def breakpoints_of_definition(value: Any, locator: str, first: int) -> tuple[PlacedBreakpoint, ...]:
    """Return the breakpoints of a system prompt (`SYSTEM`), or of tools (`TOOLS`), which form one block."""
    places = ((index if locator == SYSTEM else 0, part) for index, part in enumerate(sequence(value)))
    found = ((first + place, lifetime_of(part)) for place, part in places)
    return tuple(PlacedBreakpoint(place, lifetime) for place, lifetime in found if lifetime is not None)


def breakpoints_of_prompt(
    sent: Iterable[tuple[Sequence[Block], Sequence[PlacedBreakpoint], Sequence[Block]]], whole: str | None
) -> tuple[RecordedBreakpoint, ...]:
    """Return a request's breakpoints in order of position; of several after the same block, the last one.

    Args:
        sent: Per message: its blocks in this request, their breakpoints, and its blocks in the prompt. The latter come
            from the request that first contained the message and may include reasoning that is not sent again.
        whole: Lifetime of the breakpoint on the whole request, None without one.
    """
    found: dict[int, str] = {}
    before = 0
    for own, marks, kept in sent:
        for mark in marks:
            found[before + _place_in(own, mark.block, kept) + 1] = mark.lifetime
        before += len(kept)
    if whole is not None and before:
        found.setdefault(before, whole)
    return tuple(RecordedBreakpoint(blocks, lifetime) for blocks, lifetime in sorted(found.items()))


def _place_in(own: Sequence[Block], place: int, kept: Sequence[Block]) -> int:
    """Map the index of a sent block to its index among the prompt's blocks."""
    if len(own) == len(kept):
        return place
    behind = sum(block.kind is not BlockKind.THINKING for block in own[place + 1 :])
    places = [at for at, block in enumerate(kept) if block.kind is not BlockKind.THINKING]
    return places[-1 - behind] if behind < len(places) else max(len(kept) - 1, 0)
