"""Convert Gemini API requests and responses to the Anthropic Messages format.

Checked against google-gemini/gemini-cli `code_assist/converter.ts` (requests, and responses, which Code Assist wraps in
`response`) and liaohch3/claude-tap `sse.py` (assembling stream chunks) and `usage.py` (contents of the token counts).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard

from inspector.session.formats.gemini import answer_text
from inspector.session.json import ComputedNode, Node, count, mapping, objects, sequence, string

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


TEXT_FIELDS = frozenset({"text", "thought"})
"""Fields of a part that can continue in the next chunk; parts with other fields are complete."""


def content_node(node: Node) -> ComputedNode:
    """Convert a content object or response candidate to a chat message lazily; other values are unchanged."""
    return ComputedNode(node, lambda value: message_of(value) if isinstance(value, dict) else value)


def is_content(value: object) -> TypeGuard[dict[str, Any]]:
    """Return True for a Gemini content object, False for messages of other APIs."""
    return isinstance(value, dict) and isinstance(value.get("parts"), list) and "content" not in value


def message_of(content: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a content object to an Anthropic message, part by part."""
    role = "assistant" if content.get("role") == "model" else "user"
    return {"role": role, "content": [_part(part) for part in sequence(content.get("parts"))]}


def _part(part: Any) -> Any:
    fields = mapping(part)
    if isinstance(fields.get("text"), str):
        if fields.get("thought"):
            signature = string(fields.get("thoughtSignature"))
            return {"type": "thinking", "thinking": fields["text"], "signature": signature}
        return {"type": "text", "text": fields["text"]}
    if "functionCall" in fields:
        call = mapping(fields["functionCall"])
        return {"type": "tool_use", "id": call.get("id"), "name": call.get("name"), "input": call.get("args") or {}}
    if "functionResponse" in fields:
        return _result(mapping(fields["functionResponse"]))
    return _media(fields) or part


def _result(answer: Mapping[str, Any]) -> dict[str, Any]:
    response = answer.get("response")
    text, inner = answer_text(response), [media for part in objects(answer.get("parts")) if (media := _media(part))]
    has_failed = bool(mapping(response).get("error")) and "output" not in mapping(response)
    content: Any = [{"type": "text", "text": text}, *inner] if inner else text
    return {"type": "tool_result", "tool_use_id": answer.get("id"), "content": content, "is_error": has_failed}


def _media(part: Mapping[str, Any]) -> dict[str, Any] | None:
    inline, file = mapping(part.get("inlineData")), mapping(part.get("fileData"))
    if not inline and not file:
        return None
    media_type = string((inline or file).get("mimeType"))
    source = {"type": "base64", "data": string(inline.get("data"))} if inline else {"url": string(file.get("fileUri"))}
    kind = "image" if media_type.startswith("image/") else "document"
    return {"type": kind, "source": {**source, "media_type": media_type}}


def usage_of_metadata(reported: Any) -> dict[str, Any]:
    """Convert reported usage to OpenAI's fields, where prompts include cache reads; empty if there is none.

    Prompt tokens from server-side tools are counted separately. So are thought tokens, unless the total shows that the
    response includes them, as reported by gateways to other models.
    """
    fields = mapping(reported)
    names = ("promptTokenCount", "toolUsePromptTokenCount", "candidatesTokenCount", "thoughtsTokenCount")
    asked, by_tools, result, thoughts = (count(fields.get(name)) for name in names)
    if not any((asked, by_tools, result, thoughts)):
        return {}
    prompt, total = asked + by_tools, count(fields.get("totalTokenCount"))
    is_inside = bool(total) and total == prompt + result and thoughts <= result
    return {
        **fields,
        "prompt_tokens": prompt,
        "prompt_tokens_details": {"cached_tokens": min(count(fields.get("cachedContentTokenCount")), asked)},
        "completion_tokens": result if is_inside else result + thoughts,
        "completion_tokens_details": {"reasoning_tokens": thoughts},
    }


def answer_in(value: object) -> Mapping[str, Any]:
    """Return a response or chunk, unwrapped from Code Assist's `response`; empty for other values."""
    fields = mapping(value)
    inner = mapping(fields.get("response"))
    found = next((one for one in (fields, inner) if "candidates" in one or "usageMetadata" in one), {})
    return {} if "role" in found or "choices" in found else found


def reply_of(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return a response's id, model and usage under the field names of other APIs."""
    usage = usage_of_metadata(answer.get("usageMetadata"))
    named = {"id": string(answer.get("responseId")), "model": string(answer.get("modelVersion")), "usage": usage}
    return {name: value for name, value in named.items() if value}


def answer_of_chunks(chunks: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Assemble the message of a streamed response, with id, model and usage; empty if it has no candidates."""
    parts: list[Any] = []
    reply: dict[str, Any] = {}
    is_answer = False
    for chunk in chunks:
        reply |= reply_of(chunk)
        for candidate in objects(chunk.get("candidates"))[:1]:
            is_answer = True
            for part in sequence(mapping(candidate.get("content")).get("parts")):
                _add_part(parts, part)
    return {**reply, **message_of({"role": "model", "parts": parts})} if is_answer else {}


def _add_part(parts: list[Any], part: Any) -> None:
    before, fields = mapping(parts[-1]) if parts else {}, mapping(part)
    texts = (before.get("text"), fields.get("text"))
    is_more = all(isinstance(text, str) for text in texts) and {*before, *fields} <= TEXT_FIELDS
    if is_more and bool(before.get("thought")) == bool(fields.get("thought")):
        parts[-1] = {**before, "text": f"{texts[0]}{texts[1]}"}
    else:
        parts.append(part)
