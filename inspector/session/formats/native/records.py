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
    str, Meta(description="Whose conversation it is of: empty for the main one, else any name of a subagent's.")
]


class OwnUsage(Struct, frozen=True, kw_only=True):
    """What the provider reported for one request, every prompt token in exactly one of the first four."""

    uncached: Annotated[Tokens, Meta(description="Prompt tokens neither read from nor written to a cache.")] = 0
    cache_read: Annotated[Tokens, Meta(description="Prompt tokens read from a cache.")] = 0
    cache_write_5m: Annotated[
        Tokens, Meta(description="Written to a cache of five minutes, or the provider's only kind.")
    ] = 0
    cache_write_1h: Annotated[Tokens, Meta(description="Written to a cache of an hour.")] = 0
    output: Annotated[Tokens, Meta(description="Response tokens, reasoning included.")] = 0
    reasoning: Annotated[Tokens, Meta(description="The part of `output` that was reasoning.")] = 0


class OwnSession(Struct, frozen=True, kw_only=True, tag_field="type", tag="session"):
    """The first line: tells the form, and what is known of the session. A later one corrects it."""

    inspector: Annotated[Literal[1], Meta(description="The form's version.")]
    id: Annotated[str, Meta(description="The session's own id.")] = ""
    title: Annotated[str, Meta(description="What the agent calls it.")] = ""
    agent: Annotated[str, Meta(description="The program that ran it, with its version.")] = ""
    working_directory: Annotated[str, Meta(description="Where it worked.")] = ""
    window: Annotated[Tokens | None, Meta(description="The model's context window in tokens.")] = None


class OwnMessage(Struct, frozen=True, kw_only=True, tag_field="type", tag="message"):
    """A message, in the order it was sent. Every one of role `assistant` is a request's response."""

    role: Literal["system", "user", "assistant", "tool"]
    content: Annotated[
        str | list[str | dict[str, Any]] | None,
        Meta(description="A text, or parts as Anthropic's Messages or OpenAI's Chat Completions take them."),
    ] = None
    tool_calls: Annotated[
        list[dict[str, Any]] | None, Meta(description="Calls as OpenAI's Chat Completions have them.")
    ] = None
    tool_call_id: Annotated[str, Meta(description="Of role `tool`: the call that is answered.")] = ""
    name: Annotated[str, Meta(description="Of role `tool`: the tool, where the call does not say it.")] = ""
    is_error: Annotated[bool, Meta(description="Of role `tool`: the tool failed.")] = False
    reasoning_content: Annotated[str | None, Meta(description="Of role `assistant`: what was thought.")] = None
    id: Annotated[
        str, Meta(description="Any name, by which a compaction keeps it; of a response, the provider's id.")
    ] = ""
    time: Time = None
    agent: Agent = ""
    model: Annotated[str, Meta(description="Of role `assistant`: the model that answered.")] = ""
    usage: Annotated[OwnUsage | None, Meta(description="Of role `assistant`: what was reported for the request.")] = (
        None
    )
    injected: Annotated[bool, Meta(description="The agent wrote it in the user's place.")] = False
    inherited: Annotated[bool, Meta(description="Copied from another session, which counts its request.")] = False


class OwnCompaction(Struct, frozen=True, kw_only=True, tag_field="type", tag="compaction"):
    """The agent compacted: later requests send the system messages, the summary and what was kept."""

    summary: Annotated[str, Meta(description="What stands for the rest; empty where nothing does.")] = ""
    kept: Annotated[list[str], Meta(description="The `id` of every message that is still sent.")] = []
    trigger: Annotated[str, Meta(description="`auto`, `manual`, or another word.")] = ""
    tokens_before: Annotated[Tokens | None, Meta(description="Prompt tokens before it, where known.")] = None
    tokens_after: Annotated[Tokens | None, Meta(description="Prompt tokens after it, where known.")] = None
    time: Time = None
    agent: Agent = ""


class OwnSideCall(Struct, frozen=True, kw_only=True, tag_field="type", tag="side_call"):
    """A request that is not the conversation's: billed, and in no prompt of it."""

    purpose: Annotated[str, Meta(description="What it was for: a title, a summary, a side question.", min_length=1)]
    model: Annotated[str, Meta(description="The model that answered.")] = ""
    usage: Annotated[OwnUsage | None, Meta(description="What was reported for it.")] = None
    id: Annotated[str, Meta(description="The provider's id; the same one again replaces the first.")] = ""
    time: Time = None


class OwnNotice(Struct, frozen=True, kw_only=True, tag_field="type", tag="notice"):
    """Something to show between the messages that is never sent."""

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
        "title": "One line of a session in inspector's own form",
        **found,
        "$defs": components,
    }
