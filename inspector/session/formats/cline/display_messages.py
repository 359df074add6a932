"""Extract usage, omitted messages and compactions from the display messages."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from inspector.session.formats.chat import blocks_of_chat
from inspector.session.formats.cline.messages import blocks_of_parts, chat_message
from inspector.session.json.codec import json_in
from inspector.session.json.values import count, count_or_none, mapping, objects, sequence, string
from inspector.session.model import Origin, Usage
from inspector.session.usage_fields import CLINE_SHOWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from inspector.session.blocks import TextBlock
    from inspector.session.linked_documents import LinkedDocument
    from inspector.session.model import Message


REQUEST = "api_req_started"

ANSWER_BEHIND = 2
"""`conversationHistoryIndex` is the newest message when the request begins; the response is two after it."""


class ClineRequest(NamedTuple):
    """A model request.

    Attributes:
        usage: Reported usage, None if the request failed.
        left_out: First and last index of the omitted messages, None if all were sent.
        time: Start in milliseconds since the epoch; 0 if unknown.
    """

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
    is_whole = "apiProtocol" in about and prompt >= read + written
    usage = Usage(
        uncached=prompt - read - written if is_whole else prompt,
        cache_read=read,
        cache_write_5m=written,
        output=count(about.get("tokensOut")),
    )
    return CLINE_SHOWN.check(usage.unless_zero(), about)


def _range(value: Any) -> tuple[int, int] | None:
    ends = [end for end in sequence(value) if isinstance(end, int) and not isinstance(end, bool)]
    return (ends[0], ends[1]) if len(ends) == 2 and 0 <= ends[0] <= ends[1] else None


MOST_MESSAGES = 1 << 20

LOCATOR = "edit "
"""Locator prefix of changed parts, followed by the role."""


class Edit(NamedTuple):
    """A change to one message part.

    Attributes:
        time: Time of the request before the change, in milliseconds since the epoch.
        place: Index of the message.
        part: Index of the content part.
        text: The part's new text.
        origin: Place of the change in the file.
    """

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
    """Return the blocks of a changed part, with the role from the locator."""
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
