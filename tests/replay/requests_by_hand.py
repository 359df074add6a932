"""Requests to Anthropic as agents make them, and a cache that holds what they mark, entry by entry.

Written from the agents' sources and Anthropic's documentation alone. A request is a list of messages with
`cache_control` on some blocks. The cache holds one entry per mark and reads the longest entry that ends within 20
positions of a mark.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from inspector.replay.cache.cache_models import CacheModel
from inspector.session.model import BlockKind
from tests.replay.cache_by_hand import Served
from tests.replay.resending import Resent, Sent

ASSISTANT = (BlockKind.ASSISTANT_TEXT, BlockKind.THINKING, BlockKind.TOOL_CALL)


@dataclass
class Part:
    """A block of a request."""

    key: tuple[int, str]
    tokens: int
    kind: BlockKind
    cache_control: bool = False


@dataclass
class ChatMessage:
    role: str
    parts: list[Part] = field(default_factory=list)


def chat(resent: Resent, call: int) -> list[ChatMessage]:
    """Return a prompt as a chat history: one message per response, per tool result, and per message of the user."""
    found: list[ChatMessage] = []
    before = -1
    for sent in resent.prompts[call]:
        block = resent.session.blocks[sent.block]
        message = int(resent.history.message[sent.block])
        role = role_of(block.kind)
        if role == "tool" or not found or found[-1].role != role or (role != "assistant" and message != before):
            found.append(ChatMessage(role))
        found[-1].parts.append(Part(key_of(sent), sent.tokens, block.kind))
        before = message
    return found


def role_of(kind: BlockKind) -> str:
    if kind is BlockKind.SYSTEM_TEXT:
        return "system"
    if kind in ASSISTANT:
        return "assistant"
    return "tool" if kind is BlockKind.TOOL_RESULT else "user"


def key_of(sent: Sent) -> tuple[int, str]:
    return sent.block, "" if sent.is_removed else sent.text


def api(messages: list[ChatMessage]) -> list[ChatMessage]:
    """Return the messages of a request to Anthropic: results and text of the user alternate with responses."""
    found: list[ChatMessage] = []
    for message in messages:
        role = "user" if message.role == "tool" else message.role
        if not found or found[-1].role != role:
            found.append(ChatMessage(role))
        found[-1].parts += message.parts
    return found


def mark(message: ChatMessage) -> None:
    message.parts[-1].cache_control = True


def end(messages: list[ChatMessage]) -> list[ChatMessage]:
    mark([each for each in messages if each.role != "system"][-1])
    return messages


def claude_code(messages: list[ChatMessage]) -> list[ChatMessage]:
    mark(api(messages)[-1])
    return mark_system(messages)


def cline(messages: list[ChatMessage]) -> list[ChatMessage]:
    for message in [each for each in api(messages) if each.role == "user"][-2:]:
        mark(message)
    return mark_system(messages)


def openhands(messages: list[ChatMessage]) -> list[ChatMessage]:
    mark([each for each in messages if each.role in ("user", "tool")][-1])
    return mark_system(messages)


def opencode(messages: list[ChatMessage]) -> list[ChatMessage]:
    for message in [each for each in api(messages) if each.role != "system"][-2:]:
        mark(message)
    return mark_system(messages)


def swe_agent(messages: list[ChatMessage]) -> list[ChatMessage]:
    for message in [each for each in messages if each.role in ("user", "tool")][-2:]:
        mark(message)
    return messages


def hermes(messages: list[ChatMessage], newest: int = 2) -> list[ChatMessage]:
    for message in [each for each in messages if each.role != "system"][-newest:]:
        mark(message)
    return mark_system(messages)


def hermes_19(messages: list[ChatMessage]) -> list[ChatMessage]:
    return hermes(messages, 3)


def mark_system(messages: list[ChatMessage]) -> list[ChatMessage]:
    for message in messages:
        if message.role == "system":
            mark(message)
    return messages


AGENTS: dict[str, Callable[[list[ChatMessage]], list[ChatMessage]]] = {
    "end": end,
    "claude-code": claude_code,
    "cline": cline,
    "pi": claude_code,
    "openhands": openhands,
    "opencode": opencode,
    "swe-agent": swe_agent,
    "hermes": hermes,
    "hermes-0.19": hermes_19,
}


@dataclass
class Entry:
    prefix: tuple[tuple[int, str], ...]
    used: float


def served_with_breakpoints(resent: Resent, agent: str, cache: CacheModel) -> list[Served]:
    """Send every prompt of a session with one model to a cache, and return how each was served."""
    entries: dict[int, list[Entry]] = {}
    found = []
    for call, made in enumerate(resent.session.calls):
        thread = resent.session.contexts[int(resent.history.call_context[call])].thread
        parts = [part for message in AGENTS[agent](chat(resent, call)) for part in message.parts]
        held = [each for each in entries.get(thread, []) if not made.time - each.used > cache.lifetime]
        keys = tuple(part.key for part in parts)
        sizes, at = [0], [0]
        for place, part in enumerate(parts):
            runs = (
                part.kind in (BlockKind.TOOL_CALL, BlockKind.TOOL_RESULT)
                and place
                and parts[place - 1].kind is part.kind
            )
            sizes.append(sizes[-1] + part.tokens)
            at.append(at[-1] + (0 if runs else 1))
        marks = [place + 1 for place, part in enumerate(parts) if part.cache_control]
        within = [
            entry
            for entry in held
            if keys[: len(entry.prefix)] == entry.prefix
            and any(0 <= at[mark] - at[len(entry.prefix)] < 20 and mark >= len(entry.prefix) for mark in marks)
        ]
        longest = max(within, key=lambda entry: len(entry.prefix), default=None)
        read = sizes[len(longest.prefix)] if longest else 0
        read = read if read >= cache.minimum_prefix else 0
        if longest:
            longest.used = made.time
        for mark_place in marks:
            prefix = keys[:mark_place]
            known = next((each for each in held if each.prefix == prefix), None)
            if known:
                known.used = made.time
            else:
                held.append(Entry(prefix, made.time))
        entries[thread] = held
        prompt = sizes[-1]
        write = prompt - read if prompt >= cache.minimum_prefix else 0
        found.append(Served(prompt - read - write, read, *((0, write) if cache.writes_one_hour else (write, 0))))
    return found
