"""A conversation before it takes the form of a file.

A session's script contains the texts of the user and the assistant; tool results come from running the tools. Nothing
here depends on the machine: time is a counter, identifiers come from a seeded generator.
"""

from __future__ import annotations

import random
import string
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True)
class ToolResult:
    """Result of a tool.

    Attributes:
        text: Text that the model receives.
        is_error: The tool failed.
        details: Data that an agent records alongside the text for its own screen, or None.
        seconds: Duration of the tool on the session's clock.
    """

    text: str
    is_error: bool = False
    details: Any = None
    seconds: float = 0.2


@dataclass(frozen=True)
class ToolUse:
    """One tool call and its result.

    Attributes:
        identifier: Joins the call and its result.
        name: The tool.
        input: Its arguments.
        result: Its result.
    """

    identifier: str
    name: str
    input: dict[str, Any]
    result: ToolResult


@dataclass(frozen=True)
class UserTurn:
    """Something a person typed.

    Attributes:
        text: As the model receives it.
        time: When.
    """

    text: str
    time: datetime


@dataclass(frozen=True)
class AssistantTurn:
    """One response of the model, and the results of the tools it called.

    Attributes:
        text: Text of the response; empty if it only called tools.
        thinking: Its thinking, if that is recorded; empty otherwise.
        uses: The tools it called, in order; their results answer this response together.
        time: Time of the complete response.
        results_time: Completion time of the last tool.
    """

    text: str
    thinking: str
    uses: tuple[ToolUse, ...]
    time: datetime
    results_time: datetime


@dataclass(frozen=True)
class CompactionTurn:
    """The agent replaced the conversation so far by a summary.

    Attributes:
        summary: The summary.
        time: Time of the compaction.
        seconds: Duration of writing the summary.
    """

    summary: str
    time: datetime
    seconds: float


Turn = UserTurn | AssistantTurn | CompactionTurn


@dataclass
class Conversation:
    """Collects turns; every tool that the assistant calls is run at once.

    Attributes:
        tools: Tools of the assistant, by name.
        seed: Seed of the identifiers.
        now: The session's clock.
        prefix: Prefix of tool call identifiers.
        ran: Called with every finished tool call and its time; an agent with a log of them writes it here.
        turns: The turns so far.
    """

    tools: Mapping[str, Callable[..., ToolResult | str]]
    seed: int
    now: datetime
    prefix: str = "toolu_01"
    ran: Callable[[ToolUse, datetime], None] | None = None
    turns: list[Turn] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)  # noqa: S311 - identifiers of a sample, the same on every run

    def identifier(self, prefix: str, length: int = 22) -> str:
        """Return a new identifier in the style of the providers."""
        return prefix + "".join(self.random.choices(string.ascii_letters + string.digits, k=length))

    def user(self, text: str, after: float = 40.0) -> None:
        """Add a user message, `after` seconds after the last event."""
        self.now += timedelta(seconds=after)
        self.turns.append(UserTurn(text, self.now))

    def assistant(self, text: str = "", *calls: tuple[str, dict[str, Any]], thinking: str = "") -> list[str]:
        """Add a response of the model with its tool calls.

        Args:
            text: Text of the response.
            calls: Names and arguments of parallel tool calls.
            thinking: Thinking before the text.

        Returns:
            The texts of the results, in the order of the calls.
        """
        spoken = len(text) + len(thinking) + sum(len(str(arguments)) for _, arguments in calls)
        self.now += timedelta(seconds=round(1.7 + self.random.random() * 1.6 + spoken / 260, 3))
        spoken_at = self.now
        uses = []
        for name, arguments in calls:
            identifier = self.identifier(self.prefix)
            returned = self.tools[name](**arguments)
            result = ToolResult(returned) if isinstance(returned, str) else returned
            uses.append(ToolUse(identifier, name, arguments, result))
            if self.ran:
                self.ran(uses[-1], spoken_at)
        if uses:
            self.now += timedelta(seconds=round(max(use.result.seconds for use in uses) + self.random.random() / 9, 3))
        self.turns.append(AssistantTurn(text, thinking, tuple(uses), spoken_at, self.now))
        return [use.result.text for use in uses]

    def compaction(self, summary: str, after: float = 30.0) -> None:
        """Add a compaction requested by the user."""
        seconds = round(len(summary) / 260 + 4, 3)
        self.now += timedelta(seconds=after + seconds)
        self.turns.append(CompactionTurn(summary, self.now, seconds))


def call(name: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    """One tool call of a response: `call("Read", file_path="…")`."""
    return name, arguments


def at(year: int, month: int, day: int, hour: int, minute: int) -> datetime:
    """Return the UTC instant at which a session begins."""
    return datetime(year, month, day, hour, minute, tzinfo=UTC)
