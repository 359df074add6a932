"""Convert the prompt and response in a span's attributes to chat messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.formats.spans.records import structured
from inspector.session.json.codec import compact_json
from inspector.session.json.values import mapping, objects, sequence, string

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Chat = dict[str, Any]

MOST_INDEX = 100_000
"""Limit of indices in a flattened list; larger ones are invalid."""


def asked(attributes: Mapping[str, Any]) -> list[Chat]:
    """Return a request's prompt: tools, system prompt, messages; empty if contents are not recorded."""
    made: list[Chat] = []
    tools = structured(attributes.get("gen_ai.tool.definitions"))
    schemas = [structured(one.get("tool.json_schema")) for one in _indexed(attributes, "llm.tools.")]
    if tools or schemas:
        made.append({"role": "system", "content": compact_json(tools or schemas)})
    system = structured(attributes.get("gen_ai.system_instructions"))
    if system:
        made += _message({"role": "system", "parts": system if isinstance(system, list) else [system]})
    for name in ("gen_ai.input.messages", "llm.input_messages"):
        for message in objects(structured(attributes.get(name))):
            made += _message(message)
    for prefix in ("llm.input_messages.", "gen_ai.prompt."):
        for fields in _indexed(attributes, prefix):
            made += _flat(fields)
    return made


def answered(attributes: Mapping[str, Any]) -> Chat | None:
    """Return the first response of a request; None if contents are not recorded."""
    for name in ("gen_ai.output.messages", "llm.output_messages"):
        for message in objects(structured(attributes.get(name))):
            return next(iter(_message({"role": "assistant", **message})), None)
    for prefix in ("llm.output_messages.", "gen_ai.completion."):
        for fields in _indexed(attributes, prefix):
            return next(iter(_flat({"role": "assistant", **fields})), None)
    return None


def _message(message: Mapping[str, Any]) -> list[Chat]:
    """Convert a GenAI message with parts; every tool response becomes a separate message."""
    role = string(message.get("role"))
    role = "assistant" if role == "model" else role
    if "parts" not in message:
        return [{**message, "role": role}]
    content: list[Any] = []
    calls: list[Chat] = []
    results: list[Chat] = []
    for part in sequence(message.get("parts")):
        fields = mapping(part)
        kind = string(fields.get("type"))
        if kind == "tool_call":
            function = {"name": string(fields.get("name")), "arguments": fields.get("arguments", {})}
            calls.append({"id": string(fields.get("id")), "type": "function", "function": function})
        elif kind == "tool_call_response":
            result = fields.get("response", fields.get("result", fields.get("content")))
            text = result if isinstance(result, (str, list)) else compact_json(result)
            results.append({"role": "tool", "tool_call_id": string(fields.get("id")), "content": text})
        elif kind == "reasoning":
            content.append({"type": "thinking", "thinking": string(fields.get("content"))})
        elif kind in ("blob", "uri", "file"):
            content.append(_media(fields, kind))
        elif isinstance(fields.get("content"), str):
            content.append({"type": "text", "text": fields["content"]})
        else:
            content.append(part)
    by_name: Chat = {"role": role, "content": content}
    if calls:
        by_name["tool_calls"] = calls
    return [by_name, *results] if content or calls else results or [{"role": role, "content": ""}]


def _media(fields: Mapping[str, Any], kind: str) -> Chat:
    image = string(fields.get("modality")) == "image" or string(fields.get("mime_type")).startswith("image/")
    if kind == "blob":
        source = {"type": "base64", "media_type": fields.get("mime_type"), "data": string(fields.get("content"))}
        return {"type": "image" if image else "document", "source": source}
    address = string(fields.get("uri")) or string(fields.get("file_id"))
    return {"type": "image" if image else "document", "source": {"type": "url", "url": address}}


def _flat(fields: Mapping[str, Any]) -> list[Chat]:
    """Convert a message flattened into attributes; OpenInference prefixes them with `message.`."""
    own = {name.removeprefix("message."): value for name, value in fields.items()}
    by_name: Chat = {"role": string(own.get("role")), "content": structured_text(own.get("content"))}
    parts = [part for one in _indexed(own, "contents.") if (part := _part(one)) is not None]
    if parts:
        by_name["content"] = parts
    calls = []
    for one in _indexed(own, "tool_calls."):
        call = {name.removeprefix("tool_call."): value for name, value in one.items()}
        function = {
            "name": string(call.get("function.name")) or string(call.get("name")),
            "arguments": call.get("function.arguments", call.get("arguments", "{}")),
        }
        calls.append({"id": string(call.get("id")), "type": "function", "function": function})
    if calls:
        by_name["tool_calls"] = calls
    if "tool_call_id" in own:
        by_name["tool_call_id"] = string(own["tool_call_id"])
    if string(own.get("name")):
        by_name["name"] = own["name"]
    return [by_name]


def structured_text(value: Any) -> Any:
    """Return content as text or a list of parts; other values as JSON."""
    return value if isinstance(value, (str, list)) else "" if value is None else compact_json(value)


def _part(fields: Mapping[str, Any]) -> Chat | None:
    own = {name.removeprefix("message_content."): value for name, value in fields.items()}
    kind = string(own.get("type"))
    if address := string(own.get("image.image.url")):
        return {"type": "image_url", "image_url": {"url": address}}
    if kind == "reasoning":
        signature = string(own.get("signature")) or string(own.get("encrypted_content"))
        return {"type": "thinking", "thinking": string(own.get("text")), "signature": signature}
    return {"type": "text", "text": string(own["text"])} if "text" in own else None


def _indexed(attributes: Mapping[str, Any], prefix: str) -> Iterable[dict[str, Any]]:
    """Return the objects of a list flattened into attributes `<prefix><number>.<field>`, in order."""
    found: dict[int, dict[str, Any]] = {}
    for key, value in attributes.items():
        if not key.startswith(prefix):
            continue
        number, _, field = key[len(prefix) :].partition(".")
        if number.isascii() and number.isdigit() and len(number) < 7 and int(number) < MOST_INDEX and field:
            found.setdefault(int(number), {})[field] = value
    return [found[number] for number in sorted(found)]
