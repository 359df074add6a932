"""A conversation as Claude Code records it: one content block a line, its usage on every line of a response."""

from __future__ import annotations

import base64
import json
import random
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from .conversation import AssistantTurn, CompactionTurn, Conversation, UserTurn
from .measure import reported
from .workspace import HOME

SYSTEM_TOKENS = 17_842
"""System prompt and tools: in every prompt, in no line of the file."""

REMINDER_TOKENS = 1_368
"""Tokens sent along with the first message of a context: project notes and reminders."""

LIFETIME = timedelta(minutes=5)
"""Lifetime of a cache entry after its last read."""


@dataclass
class Prompt:
    """The growing prompt, and its cached part.

    Attributes:
        tokens: Size of the next prompt.
        cached: Tokens of it in the cache.
        used: Time of the last cache read.
    """

    tokens: int = SYSTEM_TOKENS + REMINDER_TOKENS
    cached: int = 0
    used: datetime | None = None

    def call(self, output: int, uncached: int, now: datetime) -> dict[str, Any]:
        """Return the usage of one call; the response joins the prompt."""
        if self.used is not None and now - self.used > LIFETIME:
            self.cached = 0
        written = self.tokens - self.cached - uncached
        usage = {
            "input_tokens": uncached,
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": self.cached,
            "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
            "output_tokens": output,
            "service_tier": "standard",
        }
        self.cached += written
        self.tokens += output
        self.used = now
        return usage


@dataclass
class Transcript:
    """The lines of one file.

    Attributes:
        model: The model's name.
        version: Version of the agent.
        seed: Of the identifiers.
        lines: The records, in file order.
    """

    model: str
    version: str
    seed: int
    lines: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)  # noqa: S311 - identifiers of a sample, the same on every run
        self.session = self.uuid()
        self.leaf: str | None = None
        self.prompt = Prompt()

    def uuid(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def add(self, kind: str, time: datetime, parent: str | None, **record: Any) -> str:
        """Append a line of the conversation and return its identifier."""
        identifier = self.uuid()
        self.lines.append(
            {
                "parentUuid": parent,
                "isSidechain": False,
                **record,
                "type": kind,
                "uuid": identifier,
                "timestamp": stamp(time),
                "userType": "external",
                "entrypoint": "cli",
                "cwd": HOME,
                "sessionId": self.session,
                "version": self.version,
                "gitBranch": "main",
            }
        )
        self.leaf = identifier
        return identifier

    def snapshot(self, time: datetime) -> None:
        """Add the line that precedes every user message."""
        identifier = self.uuid()
        inner = {"messageId": identifier, "trackedFileBackups": {}, "timestamp": stamp(time)}
        line = {"type": "file-history-snapshot", "messageId": identifier, "snapshot": inner, "isSnapshotUpdate": False}
        self.lines.append(line)

    def user(self, turn: UserTurn) -> None:
        """Add a user message."""
        self.snapshot(turn.time)
        self.add("user", turn.time, self.leaf, message={"role": "user", "content": turn.text})
        self.prompt.tokens += reported(turn.text) + 6

    def assistant(self, conversation: Conversation, turn: AssistantTurn) -> None:
        """Add a response, a line for every block, and the results of its tools."""
        blocks: list[dict[str, Any]] = []
        if turn.thinking:
            signature = base64.b64encode(self.random.randbytes(180 + len(turn.thinking) // 2)).decode()
            blocks.append({"type": "thinking", "thinking": turn.thinking, "signature": signature})
        if turn.text:
            blocks.append({"type": "text", "text": turn.text})
        blocks += [
            {"type": "tool_use", "id": use.identifier, "name": use.name, "input": use.input} for use in turn.uses
        ]
        output = reported(turn.thinking) + reported(turn.text) + 3
        output += sum(reported(use.name + json.dumps(use.input)) + 12 for use in turn.uses)
        usage = self.prompt.call(output, self.random.choice((2, 3, 4, 6)), turn.time)
        identifier, request = conversation.identifier("msg_01"), conversation.identifier("req_011C", 20)
        written = []
        for position, block in enumerate(blocks):
            message = {
                "model": self.model,
                "id": identifier,
                "type": "message",
                "role": "assistant",
                "content": [block],
                "stop_reason": "tool_use" if turn.uses else "end_turn",
                "stop_sequence": None,
                "usage": usage,
            }
            time = turn.time - timedelta(milliseconds=430 * (len(blocks) - 1 - position))
            written.append(self.add("assistant", time, self.leaf, message=message, requestId=request))
        self.results(turn, written[len(blocks) - len(turn.uses) :])

    def results(self, turn: AssistantTurn, callers: list[str]) -> None:
        """Add a line for every tool result as it arrives, each the child of the line with its call."""
        for use, caller in sorted(zip(turn.uses, callers, strict=True), key=lambda pair: pair[0].result.seconds):
            content: dict[str, Any] = {"tool_use_id": use.identifier, "type": "tool_result", "content": use.result.text}
            if use.name == "Bash" or use.result.is_error:
                content["is_error"] = use.result.is_error
            self.add(
                "user",
                min(turn.time + timedelta(seconds=use.result.seconds), turn.results_time),
                caller,
                message={"role": "user", "content": [content]},
                toolUseResult=use.result.details,
                sourceToolAssistantUUID=caller,
            )
            self.prompt.tokens += reported(use.result.text) + 9
        self.prompt.tokens += 4

    def turn_end(self, started: datetime, time: datetime) -> None:
        """Add the line with the duration of the agent's work."""
        milliseconds = round((time - started) / timedelta(milliseconds=1))
        self.add("system", time, self.leaf, subtype="turn_duration", durationMs=milliseconds, isMeta=False)

    def compaction(self, turn: CompactionTurn) -> None:
        """Add the boundary, the summary, and the command that requested it."""
        before = self.prompt.tokens
        command = "<command-name>/compact</command-name>\n<command-message>compact</command-message>\n<command-args></command-args>"
        self.prompt.tokens = SYSTEM_TOKENS + REMINDER_TOKENS + reported(turn.summary) + reported(command) + 12
        self.prompt.cached = SYSTEM_TOKENS
        metadata = {
            "trigger": "manual",
            "preTokens": before,
            "postTokens": self.prompt.tokens,
            "durationMs": round(turn.seconds * 1000),
        }
        boundary = {"content": "Conversation compacted", "isMeta": False, "level": "info", "compactMetadata": metadata}
        self.add("system", turn.time, None, logicalParentUuid=self.leaf, subtype="compact_boundary", **boundary)
        flags = {"isVisibleInTranscriptOnly": True, "isCompactSummary": True}
        self.add("user", turn.time, self.leaf, message={"role": "user", "content": turn.summary}, **flags)
        self.add("user", turn.time, self.leaf, message={"role": "user", "content": command})


def stamp(time: datetime) -> str:
    """Format an instant as in the file."""
    return time.strftime("%Y-%m-%dT%H:%M:%S.") + f"{time.microsecond // 1000:03d}Z"


def write(conversation: Conversation, model: str, version: str, title: str) -> str:
    """Return the file's text.

    Args:
        conversation: The conversation.
        model: The model's name.
        version: Version of the agent.
        title: The agent's title of the session.
    """
    transcript = Transcript(model, version, conversation.seed)
    started = conversation.turns[0].time
    for turn in conversation.turns:
        if isinstance(turn, UserTurn):
            started = turn.time
            transcript.user(turn)
        elif isinstance(turn, CompactionTurn):
            transcript.compaction(turn)
        else:
            transcript.assistant(conversation, turn)
            if not turn.uses:
                transcript.turn_end(started, turn.time)
                transcript.lines.append({"type": "ai-title", "aiTitle": title, "sessionId": transcript.session})
    return "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in transcript.lines)
