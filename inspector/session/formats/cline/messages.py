"""Convert task messages to chat messages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count as numbers
from typing import TYPE_CHECKING, Any

from inspector.session.formats.chat import ChatMessage
from inspector.session.json.values import count, mapping, objects, seconds_of_any, string
from inspector.session.model import Usage
from inspector.session.usage_fields import CLINE

if TYPE_CHECKING:
    from collections.abc import Mapping


TOOLS = (
    "access_mcp_resource",
    "apply_diff",
    "apply_patch",
    "ask_followup_question",
    "attempt_completion",
    "browser_action",
    "codebase_search",
    "condense",
    "execute_command",
    "fetch_instructions",
    "insert_content",
    "list_code_definition_names",
    "list_files",
    "load_mcp_documentation",
    "new_task",
    "plan_mode_respond",
    "read_file",
    "replace_in_file",
    "report_bug",
    "run_slash_command",
    "search_and_replace",
    "search_files",
    "switch_mode",
    "update_todo_list",
    "use_mcp_tool",
    "use_skill",
    "web_fetch",
    "web_search",
    "write_to_file",
)

CALL = re.compile(rf"<(?P<tool>{'|'.join(TOOLS)})>(?P<body>.*?)</(?P=tool)>", re.DOTALL)

PARAMETER = re.compile(r"<(?P<name>\w+)>(?P<value>.*?)</(?P=name)>", re.DOTALL)

LONG = re.compile(r"<(?P<name>content|diff|new_str|args)>(?P<value>.*)</(?P=name)>", re.DOTALL)
"""Parameters with file content, which may contain the same tag; they end at the last closing tag."""

RESULT = re.compile(r"\[(?P<tool>[\w.-]+)(?: for '.*?')?\] Result:", re.DOTALL)

INSERTED_PREFIXES = ("<environment_details>", "<task_progress>")
"""Prefixes of texts that the program adds to messages."""

Part = dict[str, Any]


def parts_with_calls(text: str, names: Iterator[str]) -> list[Part]:
    """Split a model's text into content parts, with its XML tool calls as calls; `names` provides their ids."""
    parts: list[Part] = []
    end = 0
    for found in CALL.finditer(text):
        if before := text[end : found.start()].strip():
            parts.append({"type": "text", "text": before})
        call = {"type": "tool_use", "id": next(names), "name": found["tool"], "input": _parameters(found["body"])}
        parts.append(call)
        end = found.end()
    if not parts:
        return [{"type": "text", "text": text}]
    if after := text[end:].strip():
        parts.append({"type": "text", "text": after})
    return parts


def _parameters(body: str) -> dict[str, str]:
    if (long := LONG.search(body)) is not None:
        rest = body[: long.start()] + body[long.end() :]
        return {**_parameters(rest), long["name"]: long["value"].strip("\n")}
    return {found["name"]: found["value"].strip("\n") for found in PARAMETER.finditer(body)}


def result_places(parts: Sequence[Any]) -> Iterator[tuple[int, str]]:
    """Yield the indices of a user message's text parts that are tool results, with the tool's name.

    The header precedes the result in the same part, or is a separate part before it.
    """
    tool = ""
    for place, part in enumerate(parts):
        text = string(part.get("text")) if isinstance(part, dict) and part.get("type") == "text" else None
        header = RESULT.match(text) if text is not None else None
        if header is not None and text is not None:
            tool = header["tool"]
            if text[header.end() :].strip():
                yield place, tool
                tool = ""
        elif tool and text is not None and not text.lstrip().startswith(INSERTED_PREFIXES):
            yield place, tool
            tool = ""


Called = Sequence[tuple[str, str]]
"""Ids and tools of calls."""


def chat_message(message: Mapping[str, Any], place: int = 0, open_calls: Called = ()) -> ChatMessage:
    """Convert a task message to a chat message.

    Args:
        message: The message.
        place: Its index, used to make ids for calls without one.
        open_calls: Preceding calls without a result.
    """
    role = string(message.get("role"))
    if message.get("type") == "reasoning" and not role:
        texts = [string(part.get("text")) for part in objects(message.get("summary"))] or [string(message.get("text"))]
        signature = string(message.get("encrypted_content"))
        part = {"type": "thinking", "thinking": "\n".join(texts), "signature": signature}
        return ChatMessage({"role": "assistant", "content": [part]})
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}] if content else []
    parts = [_file_as_text(part) for part in content] if isinstance(content, list) else []
    if role == "assistant":
        parts = _with_calls(parts, place)
    elif role == "user":
        parts = _with_results(parts, list(open_calls))
    value: dict[str, Any] = {"role": role, "content": parts}
    if isinstance(message.get("reasoning_content"), str):
        value["reasoning_content"] = message["reasoning_content"]
    is_summary = message.get("isSummary") is True
    model = mapping(message.get("modelInfo"))
    return ChatMessage(
        value,
        seconds_of_any(message.get("ts")),
        identifier=string(message.get("id")),
        is_call=role == "assistant" and not is_summary,
        model=string(model.get("id")) or string(model.get("modelId")),
        usage=usage_of(mapping(message.get("metrics"))),
        is_meta=message.get("isTruncationMarker") is True,
        is_summary=is_summary,
    )


def calls_in(value: Mapping[str, Any]) -> list[tuple[str, str]]:
    parts = objects(value.get("content"))
    return [(string(part.get("id")), string(part.get("name"))) for part in parts if part.get("type") == "tool_use"]


def blocks_of_parts(message: Mapping[str, Any]) -> list[int]:
    """Return the number of blocks per content part; text with XML calls makes several."""
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    if message.get("role") != "assistant" or any(mapping(part).get("type") == "tool_use" for part in parts):
        return [1] * len(parts)
    return [len(_with_calls([part], 0)) for part in parts]


def _file_as_text(part: Any) -> Any:
    """Replace a mentioned file by its content, which is sent."""
    if isinstance(part, dict) and part.get("type") == "file" and isinstance(part.get("content"), str):
        return {"type": "text", "text": part["content"]}
    return part


def _with_calls(parts: list[Any], place: int) -> list[Any]:
    """Extract XML calls from a response without native calls."""
    if any(isinstance(part, dict) and part.get("type") == "tool_use" for part in parts):
        return parts
    names: Iterator[str] = (f"call-{place}-{number}" for number in numbers())
    made: list[Any] = []
    for part in parts:
        text = string(part.get("text")) if isinstance(part, dict) and part.get("type") == "text" else ""
        made += parts_with_calls(text, names) if CALL.search(text) else [part]
    return made


def _with_results(parts: list[Any], open_calls: list[tuple[str, str]]) -> list[Any]:
    """Convert the results in a user message's texts to tool results, matched to their calls."""
    answered = {part.get("tool_use_id") for part in parts if isinstance(part, dict)}
    waiting = [call for call in open_calls if call[0] not in answered]
    made = list(parts)
    for place, tool in result_places(parts):
        call = next((one for one in waiting if one[1] == tool), waiting[0] if waiting else ("", tool))
        if call in waiting:
            waiting.remove(call)
        made[place] = {"type": "tool_result", "tool_use_id": call[0], "content": parts[place].get("text")}
    return made


def usage_of(metrics: Mapping[str, Any]) -> Usage | None:
    """Convert a message's metrics, where the input includes cache reads and writes.

    Follows `sdk/packages/llms/src/providers/ai-sdk.ts` and `apps/vscode/src/shared/messages/metrics.ts` in cline/cline.
    """
    tokens = mapping(metrics.get("tokens"))
    read = count(metrics.get("cacheReadTokens")) or count(tokens.get("cached"))
    written = count(metrics.get("cacheWriteTokens"))
    prompt = count(metrics.get("inputTokens")) or count(tokens.get("prompt"))
    # Some versions recorded only uncached input, detectable only if it is less than the cached part.
    uncached = prompt - read - written if prompt >= read + written else prompt
    output = count(metrics.get("outputTokens")) or count(tokens.get("completion"))
    usage = Usage(uncached=uncached, cache_read=read, cache_write_5m=written, output=output)
    return CLINE.check(usage.unless_zero(), metrics)
