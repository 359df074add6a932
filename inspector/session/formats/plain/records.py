"""Distinguish message lists, requests and logs, and find their conversations."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from inspector.session.billing_terms import SERVICE_TIER
from inspector.session.formats.streamed_responses import REPLY, answer_of, stream_node
from inspector.session.json.codec import clean_text
from inspector.session.json.nodes import Fields
from inspector.session.json.values import count, mapping, string

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from inspector.session.json.nodes import Node


class MessageForm(StrEnum):
    """The API that a conversation is written for."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"


ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})

LISTS = ("messages", "traj", "conversations", "conversation")
"""Fields with a message list, in requests and in dataset or benchmark files."""

ANTHROPIC_PARTS = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking", "document", "compaction"})

OPENAI_FIELDS = ("tool_calls", "tool_call_id", "function_call", "refusal", "reasoning_content")


ASKED = (
    *("thinking", "output_config", "betas", "anthropic_beta", "headers", "cache_control"),
    *("prompt_cache_options", "reasoning_effort"),
)
"""Fields of a request with further options: Anthropic's, and OpenAI's."""

BETA_HEADER = "anthropic-beta"


def requested_thinking(about: Mapping[str, Any]) -> str:
    """Describe the thinking setting of a request: `adaptive, effort high`; empty if there is none."""
    thinking = mapping(about.get("thinking"))
    budget = count(thinking.get("budget_tokens"))
    tokens = f"{budget:,} tokens" if budget else ""
    effort = clean_text(string(mapping(about.get("output_config")).get("effort")))
    words = (
        *(clean_text(string(thinking.get("type"))), tokens, effort and f"effort {effort}"),
        clean_text(string(about.get("reasoning_effort"))),
    )
    return ", ".join(filter(None, words))


def requested_betas(about: Mapping[str, Any]) -> str | None:
    """Return the sorted beta features of an Anthropic request; None if not recorded."""
    headers = about.get("headers")
    named = [about.get("betas"), about.get("anthropic_beta")]
    if isinstance(headers, dict):
        named += [value for name, value in headers.items() if str(name).lower() == BETA_HEADER]
    if not any(each is not None for each in named):
        return "" if isinstance(headers, dict) and headers else None
    words = (each for value in named for each in (value if isinstance(value, list) else [value]))
    betas = {part.strip() for word in words if isinstance(word, str) for part in word.split(",")}
    return ",".join(sorted(clean_text(beta) for beta in betas if beta))


@dataclass
class PlainConversation:
    """A conversation, or a request of a log, as stored in a file.

    Attributes:
        messages: The message list.
        system: The separate system prompt.
        tools: The separate tool definitions.
        response: The response message.
        reply: The whole response around that message.
        about: Fields outside the messages that describe the call: model, time, usage.
        is_as_sent: True for a request recorded as sent, so absent breakpoints were not set.
        is_billed: False if a program or gateway answered from its own cache, so that no request was made.
    """

    messages: list[Node]
    system: Node | None = None
    tools: Node | None = None
    response: Node | None = None
    reply: dict[str, Any] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)
    is_as_sent: bool = False
    is_billed: bool = True


def is_message(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    if str(value.get("role")) in ROLES:
        return any(name in value for name in ("content", "parts", *OPENAI_FIELDS))
    return isinstance(value.get("from"), str) and isinstance(value.get("value"), str)


def is_request(value: object, depth: int = 0) -> bool:
    """Return True for a value with a message list: itself, in a field, or in the items of a list of runs."""
    if depth > 3:
        return False
    if isinstance(value, list):
        return bool(value) and (
            sum(is_message(item) for item in value) * 2 > len(value)
            or any(is_request(item, depth + 1) for item in value[:10])
        )
    if not isinstance(value, dict):
        return False
    inner = next((value[name] for name in LISTS if isinstance(value.get(name), list)), None)
    if inner is not None:
        return not inner or sum(is_message(item) for item in inner) * 2 > len(inner)
    if _is_completion(value):
        return True
    return any(is_request(value[name], depth + 1) for name in ("request", "body") if isinstance(value.get(name), dict))


def _is_completion(value: dict[str, Any]) -> bool:
    """Return True for an OpenAI response recorded without its request."""
    choices = value.get("choices")
    return isinstance(choices, list) and any(
        isinstance(one, dict) and is_message(one.get("message")) for one in choices
    )


def form_of(values: Sequence[Any]) -> MessageForm:
    """Detect the API from features specific to one of them; OpenAI if there are none."""
    scores = {MessageForm.ANTHROPIC: 0, MessageForm.OPENAI: 0}
    for value in values:
        for form in _signs(value, 0):
            scores[form] += 1
    return MessageForm.ANTHROPIC if scores[MessageForm.ANTHROPIC] > scores[MessageForm.OPENAI] else MessageForm.OPENAI


def _signs(value: Any, depth: int) -> Iterator[MessageForm]:
    if depth > 5:
        return
    if isinstance(value, list):
        for item in value[:40]:
            yield from _signs(item, depth + 1)
        return
    if not isinstance(value, dict):
        return
    yield from _own_signs(value)
    for name in (*LISTS, "content", "tools", "request", "response", "body", "message"):
        if isinstance(value.get(name), (list, dict)):
            yield from _signs(value[name], depth + 1)


def _own_signs(value: dict[str, Any]) -> Iterator[MessageForm]:
    if str(value.get("type")) in ANTHROPIC_PARTS or value.get("type") == "message" or "input_schema" in value:
        yield MessageForm.ANTHROPIC
    if "messages" in value and ("system" in value or str(value.get("model", "")).startswith("claude")):
        yield MessageForm.ANTHROPIC
    if value.get("role") in ("system", "developer", "tool", "function") or any(
        value.get(name) for name in OPENAI_FIELDS
    ):
        yield MessageForm.OPENAI
    if "choices" in value:
        yield MessageForm.OPENAI


def requests_of(node: Node, depth: int = 0) -> Iterator[PlainConversation]:
    """Yield every conversation or request inside a value, in order."""
    if depth > 3:
        return
    items = node.items()
    if items:
        if sum(is_message(item.value()) for item in items) * 2 > len(items):
            yield PlainConversation(items)
            return
        for item in items:
            yield from requests_of(item, depth + 1)
        return
    fields = node.fields()
    inner = fields.fields_of("request")
    around = Fields({**fields, **inner, **inner.fields_of("body")})
    for name in LISTS:
        if name in around and around[name].raw().lstrip().startswith(b"["):
            yield _request(around[name], around)
            return
    if "body" in fields:
        yield from requests_of(fields["body"], depth + 1)
    elif "choices" in fields or string(mapping(node.value()).get("role")) == "assistant":
        yield PlainConversation([], None, None, *_response(node))
    elif is_message(node.value()):
        yield PlainConversation([node])


def _request(messages: Node, fields: Fields) -> PlainConversation:
    response, reply = _response(fields.get("response"))
    if response is None and "choices" in fields:
        response, reply = _message_of_choices(fields), {}
    about = fields.values_of("model", "timestamp", "created", "created_at", "time", "usage", "id", SERVICE_TIER, *ASKED)
    system, tools = fields.get("system"), fields.get("tools")
    return PlainConversation(messages.items(), system, tools, response, reply, about, response is not None)


def _response(node: Node | None) -> tuple[Node | None, dict[str, Any]]:
    """Return a response's message and the other fields of the response."""
    if node is None:
        return None, {}
    fields = node.fields()
    if "body" in fields:
        return _response(fields["body"])
    reply = fields.values_of("model", "usage", "id", "created", SERVICE_TIER)
    if (answer := _message_of_choices(fields)) is not None:
        return answer, reply
    value = node.value()
    if is_message(value):
        return node, reply
    if isinstance(value, str) and is_message(answered := answer_of(value)):
        return stream_node(node), {name: answered[name] for name in REPLY if name in answered}
    return None, reply


def _message_of_choices(fields: Fields) -> Node | None:
    choices = fields.items_of("choices")
    return next((inside["message"] for choice in choices if "message" in (inside := choice.fields())), None)
