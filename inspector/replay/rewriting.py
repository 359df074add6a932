"""A message list given by an agent, with what a plan changes written into it: everything else stays the same object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.replay.parts import ROLE_OF_KIND, tool_input, with_rendition
from inspector.session.model import BlockKind
from inspector.strategies.core.rendition import EMPTIED, Action

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inspector.session.model import Block, Session
    from inspector.strategies.core.rendition import Rendition

Entry = dict[str, Any]


class _Change(NamedTuple):
    """What is sent of one block of an entry."""

    text: str
    rendition: Rendition


_CONTENT, _CALL = "content", "call"
_REASONING = ("reasoning_content", "reasoning")
_Place = tuple[str, int]


def rewritten(entries: Sequence[Entry], session: Session, sent: Mapping[int, Rendition]) -> list[Entry]:
    """The entries as a plan sends them; the given ones are not changed.

    Args:
        entries: The message list.
        session: The session that was read from it.
        sent: Per block index, its rendition, of blocks that are not sent whole.
    """
    changed: dict[int, dict[_Place, _Change]] = {}
    for index, rendition in sent.items():
        block = session.blocks[index]
        text = rendition.text(session.text(block))
        changed.setdefault(block.origin.offset, {})[_place(block)] = _Change(text, rendition)
    result: list[Entry] = []
    for at, entry in enumerate(entries):
        if at in changed:
            result.extend(_entries(entry, changed[at]))
        else:
            result.append(entry)
    return result


def _place(block: Block) -> _Place:
    if block.kind is BlockKind.TOOL_CALL:
        return _CALL, block.origin.part
    return block.origin.locator or _CONTENT, block.origin.part


def _entries(entry: Entry, changes: Mapping[_Place, _Change]) -> list[Entry]:
    """What is sent in an entry's place: nothing, itself rewritten, or what is said instead and what is left."""
    said = [
        change
        for _, change in sorted(changes.items(), key=_part_of)
        if change.rendition.kind is not None and change.rendition.action is not Action.REMOVED
    ]
    if said and _rewritten_entry(entry, changes, "") is None:
        return [_message(change) for change in said]
    role = str(entry.get("role"))
    left = _rewritten_entry(entry, changes, role)
    before = [_message(change) for change in said if _is_gone(role, change)]
    return [*before, left] if left is not None else before


def _part_of(change: tuple[_Place, _Change]) -> int:
    return change[0][1]


def _message(change: _Change) -> Entry:
    kind = change.rendition.kind
    return {"role": "user" if kind is None else ROLE_OF_KIND[kind], "content": change.text}


def _rewritten_entry(entry: Entry, changes: Mapping[_Place, _Change], role: str) -> Entry | None:
    """The entry with its changed parts and what is said by `role`; None where nothing of it is left."""
    rewritten = dict(entry)
    content = entry.get("content")
    if isinstance(content, str) or (entry.get("role") == "tool" and content is not None):
        whole = changes.get((_CONTENT, 0))
        if whole is not None:
            if _is_gone(role, whole):
                if not entry.get("tool_calls"):
                    return None
                rewritten["content"] = ""
            else:
                rewritten["content"] = whole.text
    elif isinstance(content, list):
        # Anthropic's tool calls are content parts themselves.
        parts = [
            _part(role, part, changes.get((_CALL if _is_call(part) else _CONTENT, at)))
            for at, part in enumerate(content)
        ]
        rewritten["content"] = [part for part in parts if part is not None]
    _rewrite_reasoning(rewritten, changes.get((_REASONING[-1], 0)))
    calls = entry.get("tool_calls")
    if isinstance(calls, list):
        rewritten_calls = [_tool_call(made, changes.get((_CALL, at))) for at, made in enumerate(calls)]
        rewritten["tool_calls"] = [made for made in rewritten_calls if made is not None]
        if not rewritten["tool_calls"]:
            del rewritten["tool_calls"]
        _say_in_place_of_calls(rewritten, changes, role)
    is_emptied = _CONTENT in {place[0] for place, change in changes.items() if not _is_gone(role, change)}
    if not rewritten.get("content") and not rewritten.get("tool_calls") and (content or calls) and not is_emptied:
        stays = any(place[0] == _CALL and change.rendition == EMPTIED for place, change in changes.items())
        return {**rewritten, "content": ""} if stays and not isinstance(content, list) else None
    return rewritten


def _say_in_place_of_calls(entry: Entry, changes: Mapping[_Place, _Change], role: str) -> None:
    """Add what is said in the place of calls that stand beside the content."""
    said = [
        change.text
        for (place, _), change in sorted(changes.items(), key=_part_of)
        if place == _CALL and change.rendition.kind is not None and not _is_gone(role, change)
    ]
    if said and isinstance(content := entry.get("content"), list):
        entry["content"] = [*content, *({"type": "text", "text": text} for text in said)]
    elif said:
        entry["content"] = "\n".join([content, *said] if content else said)


def _rewrite_reasoning(entry: Entry, change: _Change | None) -> None:
    name = next((name for name in _REASONING if entry.get(name)), None)
    if change is None or name is None:
        return
    if change.rendition.action is Action.REMOVED:
        del entry[name]
    else:
        entry[name] = change.text


def _is_gone(role: str, change: _Change) -> bool:
    """Whether nothing is sent of a block in a message of that role: it was removed, or another role says it."""
    kind = change.rendition.kind
    return change.rendition.action is Action.REMOVED or (kind is not None and ROLE_OF_KIND[kind] != role)


def _is_call(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "tool_use"


def _part(role: str, part: Any, change: _Change | None) -> Any:
    if change is None:
        return part
    if _is_gone(role, change):
        return None
    if change.rendition.kind is not None:
        return {"type": "text", "text": change.text}
    return with_rendition(part, change.text, change.rendition) if isinstance(part, dict) else change.text


def _tool_call(made: Any, change: _Change | None) -> Any:
    if change is None or not isinstance(made, dict):
        return made
    if change.rendition.action is Action.REMOVED or change.rendition.kind is not None:
        return None
    function = made.get("function")
    if isinstance(function, dict):
        return {**made, "function": {**function, "arguments": change.text}}
    return {**made, "input": tool_input(change.text)}
