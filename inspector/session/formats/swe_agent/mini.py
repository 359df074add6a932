"""Putting a run of mini-swe-agent together: chat messages, with what it ran and what was answered beside them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from inspector.session.decoding import lenient_json
from inspector.session.formats.chat import ChatThread, Spoken, all_blocks
from inspector.session.formats.plain.usage import usage_of
from inspector.session.formats.swe_agent.fenced import has_call, parts_of_answer
from inspector.session.model import Origin
from inspector.session.nodes import objects_among
from inspector.session.times import seconds_of_any
from inspector.session.values import mapping, objects, string

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.session.assembly import Assembly
    from inspector.session.blocks import TextBlock
    from inspector.session.nodes import Node


def spoken_in(entry: Mapping[str, Any], *, call: str = "", is_result: bool = False) -> Spoken:
    """What a message says.

    Args:
        entry: The message: of the chat completions API, or an item or a whole response of the Responses API.
        call: The id of the call that a command written between fences is, or that is answered.
        is_result: A user's message that is what a command printed.
    """
    extra = mapping(entry.get("extra"))
    response = mapping(extra.get("response")) or (entry if isinstance(entry.get("output"), list) else {})
    time = seconds_of_any(extra.get("timestamp"))
    if entry.get("type") == "function_call_output":
        value = {"role": "tool", "tool_call_id": string(entry.get("call_id")), "content": entry.get("output")}
        return Spoken(value, time)
    role = string(entry.get("role")) or ("assistant" if isinstance(entry.get("output"), list) else "")
    if role == "assistant":
        return Spoken(
            _answer(entry, call),
            time,
            is_call=True,
            identifier=string(response.get("id")),
            model=string(response.get("model")),
            usage=usage_of(response.get("usage")),
        )
    if is_result and isinstance(entry.get("content"), str):
        return Spoken({"role": "tool", "tool_call_id": call, "content": entry["content"]}, time)
    return Spoken({name: entry[name] for name in ("role", "content", "tool_call_id") if name in entry}, time)


def _answer(entry: Mapping[str, Any], call: str) -> dict[str, Any]:
    if isinstance(entry.get("output"), list):
        return _items(objects(entry["output"]))
    value = {name: entry[name] for name in ("role", "content", "tool_calls", "reasoning_content") if name in entry}
    content = value.get("content")
    if isinstance(content, str) and not value.get("tool_calls"):
        value["content"] = parts_of_answer(content, identifier=call)
    return value


def _items(items: list[dict[str, Any]]) -> dict[str, Any]:
    """A response of the Responses API as one message."""
    parts: list[Any] = []
    calls = []
    for item in items:
        if item.get("type") == "function_call":
            function = {"name": item.get("name"), "arguments": item.get("arguments")}
            calls.append({"id": item.get("call_id"), "function": function})
        elif item.get("type") == "reasoning":
            parts += [{"type": "thinking", "thinking": string(one.get("text"))} for one in objects(item.get("summary"))]
        else:
            parts += objects(item.get("content"))
    return {"role": "assistant", "content": parts, "tool_calls": calls}


def mini_blocks_again(record: bytes, origin: Origin, /) -> list[TextBlock]:
    """The blocks of a message that is read again."""
    return all_blocks([spoken_in(mapping(lenient_json(record)[0]))], origin)


def mini_interpret(node: Node, assembly: Assembly) -> None:
    """Fill an assembly from a run."""
    fields = node.fields()
    info = mapping(fields["info"].value()) if "info" in fields else {}
    assembly.agent = " ".join(filter(None, ("mini-swe-agent", string(info.get("mini_version")))))
    assembly.identifier = string(fields["instance_id"].value()) if "instance_id" in fields else ""
    model = string(mapping(mapping(info.get("config")).get("model")).get("model_name"))
    chat = ChatThread(assembly)
    calls, awaits = 0, ""
    items = fields["messages"].items() if "messages" in fields else node.items()
    for item, entry in objects_among(items, "a message", assembly):
        role = string(entry.get("role")) or string(entry.get("type")) or string(entry.get("object")) or "(no role)"
        assembly.record_counts[role] += 1
        is_result = role == "user" and bool(awaits)
        calls += not is_result
        call = awaits if is_result else f"action-{calls}"
        said = spoken_in(entry, call=call, is_result=is_result)
        if said.is_call and not said.model:
            said = replace(said, model=model)
        chat.add([said], Origin(item.offset, item.length))
        content = said.value.get("content")
        awaits = call if said.is_call and isinstance(content, list) and has_call(content) else ""
