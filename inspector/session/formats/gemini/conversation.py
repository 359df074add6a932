"""From a log to messages, calls and contexts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from inspector.session.assembly import OpenContext
from inspector.session.formats.gemini.log import Share
from inspector.session.model import BlockKind, Call, Compaction, ContextCause, Message, Role
from inspector.session.times import seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.session.assembly import Assembly
    from inspector.session.formats.gemini.log import Log, Segment, Unit
    from inspector.session.model import Block

INJECTED = ("<session_context>", "<hook_context>", "<system-reminder>")
"""How user messages begin that nobody typed."""

SNAPSHOT = "<state_snapshot>"
"""What the summary of a compressed conversation holds (`chatCompressionService.ts`)."""


def settle(log: Log, assembly: Assembly) -> None:
    """Put what a log says at the moment into an assembly."""
    answered = {
        block.tool_call_id
        for entry in log.entries
        for unit in entry.units
        if unit.share is Share.RESULTS
        for block in unit.blocks
        if block.tool_call_id
    }
    index_of: dict[int, int] = {}
    messages: list[Message] = []
    names: dict[str, str] = {}
    for unit in _rows(log):
        blocks = _shown(unit, answered, names)
        if blocks or not unit.blocks:
            index_of[id(unit)] = len(messages)
            messages.append(_message(unit, blocks))
    contexts, calls, compactions = [], list[Call](), []
    called: set[int] = set()
    for number, segment in enumerate(log.segments):
        members = [unit for unit in segment.members if id(unit) in index_of]
        places = [index_of[id(unit)] for unit in members]
        carried = sum(id(unit) in index_of for unit in segment.members[: segment.carried])
        contexts.append(OpenContext(number, places, segment.cause, 0, carried))
        for place, unit in enumerate(members):
            before = members[place - 1] if place else None
            if place >= carried and id(unit) not in called and _is_call(unit, before):
                called.add(id(unit))
                calls.append(_call(unit, number, place, places[place]))
        if segment.cause is ContextCause.COMPACTION:
            compactions.append(_compaction(segment, index_of, len(messages)))
            _mark_summary(members, index_of, messages)
    if len(contexts) == 1 and not contexts[0].members:
        contexts = []
    calls.sort(key=lambda call: (call.response, call.context))
    assembly.put(messages, calls, contexts, compactions)


def _rows(log: Log) -> list[Unit]:
    """Every unit in the order of the file: of those of a record, results last; and those no longer of any record."""
    known = [unit for entry in log.entries for unit in entry.units]
    present = set(map(id, known))
    gone = {id(unit): unit for segment in log.segments for unit in segment.members if id(unit) not in present}
    if gone:
        known = sorted([*known, *gone.values()], key=lambda unit: (unit.entry, unit.share))
    return known


def _shown(unit: Unit, answered: set[str], names: dict[str, str]) -> tuple[Block, ...]:
    """A unit's blocks, without results that the record of their call has too, and results with their tool's name."""
    kinds = {block.kind for block in unit.blocks}
    if BlockKind.TOOL_CALL in kinds:
        names.update(
            {block.tool_call_id: block.tool_name for block in unit.blocks if block.kind is BlockKind.TOOL_CALL}
        )
    if unit.share is not Share.SPOKEN or BlockKind.TOOL_RESULT not in kinds:
        return unit.blocks
    return tuple(
        structs.replace(block, tool_name=block.tool_name or names.get(block.tool_call_id, ""))
        if block.kind is BlockKind.TOOL_RESULT
        else block
        for block in unit.blocks
        if block.kind is not BlockKind.TOOL_RESULT or block.tool_call_id not in answered
    )


def _message(unit: Unit, blocks: tuple[Block, ...]) -> Message:
    """What a unit is, the same object as before where nothing changed."""
    made = unit.message
    if made is not None and made.is_abandoned == unit.is_abandoned and made.blocks is blocks:
        return made
    role = Role.OTHER
    if unit.is_sent:
        role = Role.ASSISTANT if unit.is_response else Role.USER
    unit.message = Message(
        role=role,
        blocks=blocks,
        time=unit.about.time,
        identifier=unit.about.identifier,
        is_meta=role is Role.USER and bool(blocks) and blocks[0].preview.lstrip().startswith(INJECTED),
        is_abandoned=unit.is_abandoned,
    )
    return unit.message


def _is_call(unit: Unit, before: Unit | None) -> bool:
    """Whether a unit is a response of its own, with a call that it answered; `before` is sent before it."""
    if unit.is_copy or not unit.is_response:
        return False
    return unit.about.usage is not None or (bool(unit.about.model) and not _continues(unit, before))


def _continues(unit: Unit, before: Unit | None) -> bool:
    """Whether a record holds the calls of the response before it, which a notice between the two kept apart."""
    if before is None or not before.is_response:
        return False
    says_nothing = not any(block.kind is BlockKind.ASSISTANT_TEXT for block in unit.blocks)
    return says_nothing and not any(block.kind is BlockKind.TOOL_CALL for block in before.blocks)


def _call(unit: Unit, context: int, prompt_messages: int, response: int) -> Call:
    return Call(
        response=response,
        context=context,
        prompt_messages=prompt_messages,
        model=unit.about.model,
        time=unit.about.time,
        usage=unit.about.usage,
        identifier=unit.about.identifier,
    )


def _compaction(segment: Segment, index_of: dict[int, int], count: int) -> Compaction:
    """A checkpoint that changed what was there; the first message after it is the first that is new."""
    new = [index_of[id(unit)] for unit in segment.members if unit.entry >= segment.first_entry and id(unit) in index_of]
    return Compaction(min(new, default=count), time=seconds(segment.time))


def _mark_summary(members: Sequence[Unit], index_of: dict[int, int], messages: list[Message]) -> None:
    for unit in members:
        if unit.about.type == "user" and any(SNAPSHOT in block.preview for block in unit.blocks):
            index = index_of[id(unit)]
            messages[index] = structs.replace(messages[index], is_summary=True)
            return
