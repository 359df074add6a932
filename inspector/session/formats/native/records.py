"""The line types of inspector's own format, printed as JSON Schema by `inspector formats --schema`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

Tokens = Annotated[int, Meta(ge=0, lt=1 << 53)]
Time = Annotated[
    str | float | None, Meta(description="ISO 8601 (UTC without a zone), or seconds or milliseconds since the epoch.")
]
Agent = Annotated[
    str,
    Meta(description="The conversation it belongs to: empty for the main one, otherwise any name for a subagent's."),
]


class OwnUsage(Struct, frozen=True, kw_only=True):
    """Usage reported for one request. The first four counts add up to the prompt."""

    uncached: Annotated[Tokens, Meta(description="Prompt tokens not read from or written to a cache.")] = 0
    cache_read: Annotated[Tokens, Meta(description="Prompt tokens read from a cache.")] = 0
    cache_write_5m: Annotated[
        Tokens, Meta(description="Prompt tokens written to a 5-minute cache, or to the provider's only kind of cache.")
    ] = 0
    cache_write_1h: Annotated[Tokens, Meta(description="Prompt tokens written to a 1-hour cache.")] = 0
    output: Annotated[Tokens, Meta(description="Response tokens, including reasoning.")] = 0
    reasoning: Annotated[Tokens, Meta(description="The reasoning part of `output`.")] = 0


class OwnSession(Struct, frozen=True, kw_only=True, tag_field="type", tag="session"):
    """The first line of a session: the format's version and metadata. A later one replaces earlier values."""

    inspector: Annotated[Literal[1], Meta(description="Version of the format.")]
    id: Annotated[str, Meta(description="The session's id.")] = ""
    title: Annotated[str, Meta(description="Title of the session.")] = ""
    agent: Annotated[str, Meta(description="The agent program with its version.")] = ""
    working_directory: Annotated[str, Meta(description="Working directory of the agent.")] = ""
    window: Annotated[Tokens | None, Meta(description="The model's context window in tokens.")] = None


class OwnMessage(Struct, frozen=True, kw_only=True, tag_field="type", tag="message"):
    """A message, in the order sent. Every message of role `assistant` is the response to a request."""

    role: Literal["system", "user", "assistant", "tool"]
    content: Annotated[
        str | list[str | dict[str, Any]] | None,
        Meta(description="Text, or parts in the form of Anthropic's Messages API or OpenAI's Chat Completions."),
    ] = None
    tool_calls: Annotated[
        list[dict[str, Any]] | None, Meta(description="Tool calls in the form of OpenAI's Chat Completions.")
    ] = None
    tool_call_id: Annotated[str, Meta(description="For role `tool`: id of the call that this answers.")] = ""
    name: Annotated[str, Meta(description="For role `tool`: name of the tool, if the call does not include it.")] = ""
    is_error: Annotated[bool, Meta(description="For role `tool`: true if the tool failed.")] = False
    reasoning_content: Annotated[str | None, Meta(description="For role `assistant`: the reasoning text.")] = None
    id: Annotated[
        str, Meta(description="Any name, used by compactions to keep the message; for a response, the provider's id.")
    ] = ""
    time: Time = None
    agent: Agent = ""
    model: Annotated[str, Meta(description="For role `assistant`: the responding model.")] = ""
    usage: Annotated[OwnUsage | None, Meta(description="For role `assistant`: usage reported for the request.")] = None
    injected: Annotated[bool, Meta(description="True if the agent wrote the message in the user's place.")] = False
    inherited: Annotated[bool, Meta(description="True if copied from another session, which counts the request.")] = (
        False
    )


class OwnCompaction(Struct, frozen=True, kw_only=True, tag_field="type", tag="compaction"):
    """A compaction: later requests send the system messages, the summary and the kept messages."""

    summary: Annotated[
        str, Meta(description="Replaces the messages that are no longer sent; empty if nothing does.")
    ] = ""
    kept: Annotated[list[str], Meta(description="The `id` of every message that is still sent.")] = []
    trigger: Annotated[str, Meta(description="`auto`, `manual`, or any other word.")] = ""
    tokens_before: Annotated[Tokens | None, Meta(description="Prompt tokens before the compaction, if known.")] = None
    tokens_after: Annotated[Tokens | None, Meta(description="Prompt tokens after the compaction, if known.")] = None
    time: Time = None
    agent: Agent = ""


class OwnSideCall(Struct, frozen=True, kw_only=True, tag_field="type", tag="side_call"):
    """A request outside the conversation: billed, but in none of its prompts."""

    purpose: Annotated[
        str, Meta(description="Purpose of the request, such as a title, a summary or a side question.", min_length=1)
    ]
    model: Annotated[str, Meta(description="The responding model.")] = ""
    usage: Annotated[OwnUsage | None, Meta(description="Usage reported for the request.")] = None
    id: Annotated[
        str, Meta(description="The provider's id; a later line with the same id replaces the earlier one.")
    ] = ""
    time: Time = None


class OwnNotice(Struct, frozen=True, kw_only=True, tag_field="type", tag="notice"):
    """A text shown between the messages and never sent."""

    text: str
    time: Time = None
    agent: Agent = ""


OwnLine = OwnSession | OwnMessage | OwnCompaction | OwnSideCall | OwnNotice

KINDS = frozenset({"compaction", "message", "notice", "session", "side_call"})


def schema() -> dict[str, Any]:
    """Return the JSON Schema of one line."""
    (found,), components = msgspec.json.schema_components([OwnLine], ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of a session in inspector's own format",
        **found,
        "$defs": components,
    }
