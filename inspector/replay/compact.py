"""A plan applied to a plain message list, for agents that shrink their own context with what was tuned here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.replay.inputs import ReplayInputs
from inspector.replay.parts import tool_input, with_rendition
from inspector.replay.replay import replay
from inspector.session.formats import read_conversation
from inspector.session.model import BlockKind
from inspector.strategies.history import History
from inspector.strategies.plan import Plan
from inspector.strategies.rendition import Action
from inspector.tokens.counter import load_counter
from inspector.tokens.table import count_session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.replay.messages import Form
    from inspector.replay.replay import Replay
    from inspector.strategies.rendition import Rendition

Entry = dict[str, Any]


def compact(messages: Sequence[Entry], plan: Plan | str, form: Form | None = None) -> list[Entry]:
    """The messages to send next, under a plan, in the form they came in.

    Every earlier call of the conversation is replayed, each assistant message being the answer to one, so that
    strategies that remember or wait for a trigger stand where they would. The input is not changed; messages the plan
    leaves alone are the same objects in the result.

    Args:
        messages: An Anthropic or OpenAI message list, oldest first.
        plan: A plan, or its one-line form: `tiered-stale:data=400`.
        form: The form of the messages; told from their content where not given.

    Raises:
        PlanError: The plan's text is none.
        SessionError: The messages are no conversation in either form.
    """
    entries = list(messages)
    if not entries:
        return []
    if isinstance(plan, str):
        plan = Plan.from_specs([plan])
    session = read_conversation(entries, form)
    counter = load_counter()
    *_, table = count_session(session, counter)
    outcome = replay(ReplayInputs.of(History.of(session), table, precise=True), plan)
    return _rewritten(entries, outcome)


def _rewritten(entries: list[Entry], outcome: Replay) -> list[Entry]:
    session, call = outcome.history.session, outcome.history.call_count
    changed: dict[int, dict[tuple[bool, int], tuple[str, Rendition]]] = {}
    for index in outcome.changes.block[outcome.changes.in_force(call)].tolist():
        block = session.blocks[index]
        rendition = outcome.rendition(index, call)
        text = rendition.text(session.text(block))
        key = (block.kind is BlockKind.TOOL_CALL, block.origin.part)
        changed.setdefault(block.origin.offset, {})[key] = (text, rendition)
    result: list[Entry] = []
    for at, entry in enumerate(entries):
        rewritten = _rewritten_entry(entry, changed[at]) if at in changed else entry
        if rewritten is not None:
            result.append(rewritten)
    return result


def _rewritten_entry(entry: Entry, changes: dict[tuple[bool, int], tuple[str, Rendition]]) -> Entry | None:
    """The entry with its changed parts; None where nothing of it is left."""
    rewritten = dict(entry)
    content = entry.get("content")
    if isinstance(content, str) or (entry.get("role") == "tool" and content is not None):
        whole = changes.get((False, 0))
        if whole is not None:
            if whole[1].action is Action.REMOVED:
                if not entry.get("tool_calls"):
                    return None
                rewritten["content"] = ""
            else:
                rewritten["content"] = whole[0]
    elif isinstance(content, list):
        # Anthropic's tool calls are content parts themselves.
        parts = [_part(part, changes.get((_is_call(part), at))) for at, part in enumerate(content)]
        rewritten["content"] = [part for part in parts if part is not None]
    calls = entry.get("tool_calls")
    if isinstance(calls, list):
        rewritten_calls = [_tool_call(made, changes.get((True, at))) for at, made in enumerate(calls)]
        rewritten["tool_calls"] = [made for made in rewritten_calls if made is not None]
        if not rewritten["tool_calls"]:
            del rewritten["tool_calls"]
    if not rewritten.get("content") and not rewritten.get("tool_calls") and content:
        return None
    return rewritten


def _is_call(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "tool_use"


def _part(part: Any, change: tuple[str, Rendition] | None) -> Any:
    if change is None:
        return part
    text, rendition = change
    if rendition.action is Action.REMOVED:
        return None
    return with_rendition(part, text, rendition) if isinstance(part, dict) else text


def _tool_call(made: Entry, change: tuple[str, Rendition] | None) -> Entry | None:
    if change is None:
        return made
    text, rendition = change
    if rendition.action is Action.REMOVED:
        return None
    function = made.get("function")
    if isinstance(function, dict):
        return {**made, "function": {**function, "arguments": text}}
    return {**made, "input": tool_input(text)}
