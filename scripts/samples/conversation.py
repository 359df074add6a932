"""A conversation while it is being written down, before it takes the form of a file.

A session's script says what the person and the assistant say; the tool results are whatever the tools return when they
are run. Nothing here depends on the machine: time is a counter, identifiers come from a seeded generator.
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
    """What a tool returned.

    Attributes:
        text: What the model receives.
        is_error: The tool failed.
        details: What an agent records beside the text for its own screen, or None.
        seconds: How long the tool took on the session's clock.
    """

    text: str
    is_error: bool = False
    details: Any = None
    seconds: float = 0.2


@dataclass(frozen=True)
class ToolUse:
    """One call of a tool and what came back.

    Attributes:
        identifier: Joins the call and its result.
        name: The tool.
        input: Its arguments.
        result: What it returned.
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
        text: What it said; empty where it only called tools.
        thinking: What it thought, where that is recorded; empty otherwise.
        uses: The tools it called, in order; their results answer this response together.
        time: When the response was complete.
        results_time: When the last of the tools was done.
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
        summary: What stands for it.
        time: When.
        seconds: How long the summary took to write.
    """

    summary: str
    time: datetime
    seconds: float


Turn = UserTurn | AssistantTurn | CompactionTurn


@dataclass
class Conversation:
    """Collects turns; every tool that the assistant calls is run at once.

    Attributes:
        tools: What the assistant can call, by name.
        seed: Of the identifiers.
        now: The session's clock.
        prefix: How a tool call's identifier begins.
        ran: Told of every tool call once it has run, and when; an agent that keeps a log of them writes it here.
        turns: What has been said so far.
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
        """A new identifier in the manner of the providers."""
        return prefix + "".join(self.random.choices(string.ascii_letters + string.digits, k=length))

    def user(self, text: str, after: float = 40.0) -> None:
        """A person types something, `after` seconds after the last thing that happened."""
        self.now += timedelta(seconds=after)
        self.turns.append(UserTurn(text, self.now))

    def assistant(self, text: str = "", *calls: tuple[str, dict[str, Any]], thinking: str = "") -> list[str]:
        """The model answers and calls tools.

        Args:
            text: What it says.
            calls: Names and arguments of the tools it calls in parallel.
            thinking: What it thinks first.

        Returns:
            The texts of the results, in the order of the calls.
        """
        spoken = len(text) + len(thinking) + sum(len(str(arguments)) for _, arguments in calls)
        self.now += timedelta(seconds=round(1.7 + self.random.random() * 1.6 + spoken / 260, 3))
        said = self.now
        uses = []
        for name, arguments in calls:
            identifier = self.identifier(self.prefix)
            returned = self.tools[name](**arguments)
            result = ToolResult(returned) if isinstance(returned, str) else returned
            uses.append(ToolUse(identifier, name, arguments, result))
            if self.ran:
                self.ran(uses[-1], said)
        if uses:
            self.now += timedelta(seconds=round(max(use.result.seconds for use in uses) + self.random.random() / 9, 3))
        self.turns.append(AssistantTurn(text, thinking, tuple(uses), said, self.now))
        return [use.result.text for use in uses]

    def compaction(self, summary: str, after: float = 30.0) -> None:
        """The agent compacts the conversation when the person asks it to."""
        seconds = round(len(summary) / 260 + 4, 3)
        self.now += timedelta(seconds=after + seconds)
        self.turns.append(CompactionTurn(summary, self.now, seconds))


def call(name: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    """One tool call of a response: `call("Read", file_path="…")`."""
    return name, arguments


def at(year: int, month: int, day: int, hour: int, minute: int) -> datetime:
    """An instant in UTC at which a session begins."""
    return datetime(year, month, day, hour, minute, tzinfo=UTC)
