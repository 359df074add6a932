"""What Cline changed of messages before it sent them again, which `context_history.json` keeps beside them.

The file holds, by message and content block, every change with the time of the request before it; the last one counts
(`src/core/context/context-management/ContextManager.ts` in cline/cline). Files that were read twice are replaced by a
notice like that, and the first answer tells what was left out.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from inspector.session.formats.chat import all_blocks
from inspector.session.formats.cline.messages import blocks_of_parts, spoken_in
from inspector.session.json.values import count, objects, sequence, string
from inspector.session.model import Origin

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from inspector.session.blocks import TextBlock
    from inspector.session.linked_documents import LinkedDocument
    from inspector.session.model import Message

MOST_MESSAGES = 1 << 20

LOCATOR = "edit "
"""What the locators of changed parts begin with; who speaks follows."""


class Edit(NamedTuple):
    """One change of a message.

    Attributes:
        time: That of the request before the change, in milliseconds since the epoch.
        place: The message's index.
        part: The index of the part of its content.
        text: What that part says from then on.
        origin: Where the change stands.
    """

    time: int
    place: int
    part: int
    text: str
    origin: Origin


def edits_in(opened: LinkedDocument | None) -> list[Edit]:
    """The changes that are recorded, in the order of their times."""
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
    """What a part says from a change on; None for a change of another kind."""
    fields = sequence(change)
    texts = sequence(fields[2]) if len(fields) > 2 and fields[1] == "text" else []
    return texts[0] if texts and isinstance(texts[0], str) else None


def edited(message: Mapping[str, Any], edits: Mapping[int, Edit]) -> dict[str, Any]:
    """A message with changes of its parts; parts that cannot be changed stay as they are."""
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
    """The blocks of one part of a message that was changed; the locator says who speaks."""
    part = {"type": "text", "text": text}
    return all_blocks([spoken_in({"role": origin.locator.removeprefix(LOCATOR), "content": [part]})], origin)


def placed(message: Message, value: Mapping[str, Any], edits: Mapping[int, Edit]) -> Message | None:
    """A changed message whose changed blocks stand where the changes do; None where a change does not fit its part.

    Args:
        message: The message, made of `value`.
        value: What it says now.
        edits: The changes by the index of their part.
    """
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
