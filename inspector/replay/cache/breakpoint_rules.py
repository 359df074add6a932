"""Cache breakpoint rules: where agents put `cache_control` in a prompt.

Anthropic caches the prompt up to and including each marked block, with at most four marks per request. The rules change
no text.

An agent marks entries of its own history: the system prompt, a user message, a response with all its tool calls, or a
single tool result. Sources: SWE-agent `sweagent/agent/history_processors.py` at 318f9091
(`CacheControlHistoryProcessor`, `last_n_messages` 2, `tagged_roles` user and tool); Hermes `agent/prompt_caching.py` of
hermes-agent 0.19.0, and of its repository at 09ffeaec for 0.21, both in the layout for Anthropic's own API, in which
every entry can carry a mark. SWE-agent marks the first part of a user message that has several; here the mark follows
the whole message.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Final, Self

from inspector.session.model import BlockKind

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_BREAKPOINTS: Final = 4
"""Maximum breakpoints per request (Anthropic's documentation on prompt caching)."""

LOOK_BACK: Final = 20
"""Positions searched backward from a breakpoint, its own included (same source)."""


class BreakpointRule(StrEnum):
    """A breakpoint rule: name, label and a short description."""

    RECORDED = "recorded", "as recorded", "at the recorded breakpoints"
    """At the breakpoints of the recorded requests; nothing is placed."""
    END = "end", "end of each request", "the last block"
    """After the last block of each request, as replays assume."""
    SWE_AGENT = "swe-agent", "SWE-agent", "last 2 user or tool messages"
    """After the last two user or tool messages."""
    HERMES_19 = "hermes-0.19", "Hermes 0.19", "system prompt, last 3 messages"
    """After the system prompt and the last three messages."""
    HERMES_21 = "hermes-0.21", "Hermes 0.21", "system prompt, last 2 messages"
    """After the system prompt and the last two messages; the breakpoint inside the system prompt is not modeled."""
    HERMES_21_TOOLS = (
        "hermes-0.21-tools",
        "Hermes 0.21, tools cached",
        "tools, system prompt, last 2 completed turns",
    )
    """After the tools, the static part of the system prompt, and the last two completed turns."""

    label: str
    about: str

    def __new__(cls, name: str, label: str, about: str) -> Self:
        rule = str.__new__(cls, name)
        rule._value_ = name
        rule.label = label
        rule.about = about
        return rule


class EntryRole(IntEnum):
    """Author of an entry of an agent's history."""

    SYSTEM = 0
    USER = 1
    ASSISTANT = 2
    TOOL = 3


_ROLE_OF: Final = {
    BlockKind.SYSTEM_TEXT: EntryRole.SYSTEM,
    BlockKind.USER_TEXT: EntryRole.USER,
    BlockKind.ASSISTANT_TEXT: EntryRole.ASSISTANT,
    BlockKind.THINKING: EntryRole.ASSISTANT,
    BlockKind.TOOL_CALL: EntryRole.ASSISTANT,
    BlockKind.TOOL_RESULT: EntryRole.TOOL,
    BlockKind.IMAGE: EntryRole.USER,
    BlockKind.DOCUMENT: EntryRole.USER,
}

_MEDIA: Final = (BlockKind.IMAGE, BlockKind.DOCUMENT)


@dataclass(frozen=True, slots=True)
class PromptEntries:
    """Entries of a history, as parallel columns in the order they are sent.

    Attributes:
        starts: Index of each entry's first block.
        ends: Index after each entry's last block.
        roles: Author of each.
        calls_tools: True for a response that calls tools.
        system_end: Number of leading system prompt blocks.
    """

    starts: tuple[int, ...]
    ends: tuple[int, ...]
    roles: tuple[EntryRole, ...]
    calls_tools: tuple[bool, ...]
    system_end: int

    @classmethod
    def of(cls, kinds: Sequence[int], messages: Sequence[int]) -> PromptEntries:
        """Divide a context into entries.

        Args:
            kinds: `BlockKind` of each block, in the order they are sent.
            messages: Index of each block's message.
        """
        starts: list[int] = []
        roles: list[EntryRole] = []
        calls_tools: list[bool] = []
        last_message = -1
        for place, (kind, message) in enumerate(zip(kinds, messages, strict=True)):
            if kind == BlockKind.OTHER:
                continue
            role = _ROLE_OF[BlockKind(kind)]
            goes_on = bool(roles) and (
                (role == EntryRole.ASSISTANT == roles[-1])
                or (role in (EntryRole.SYSTEM, EntryRole.USER) and role == roles[-1] and message == last_message)
                # Images belong to the result that shows them.
                or (kind in _MEDIA and roles[-1] == EntryRole.TOOL and message == last_message)
            )
            if not goes_on:
                starts.append(place)
                roles.append(role)
                calls_tools.append(False)
            if kind == BlockKind.TOOL_CALL:
                calls_tools[-1] = True
            last_message = message
        ends = (*starts[1:], len(kinds)) if starts else ()
        leading = next((place for place, role in enumerate(roles) if role != EntryRole.SYSTEM), len(roles))
        system_end = ends[leading - 1] if leading else 0
        return cls(tuple(starts), tuple(ends), tuple(roles), tuple(calls_tools), system_end)


class BreakpointPlacer:
    """Places breakpoints in the prompts of one context."""

    def __init__(self, entries: PromptEntries) -> None:
        """Index the entries once."""
        self._entries = entries
        roles = entries.roles
        self._asked = [place for place, role in enumerate(roles) if role in (EntryRole.USER, EntryRole.TOOL)]
        self._said = [place for place, role in enumerate(roles) if role != EntryRole.SYSTEM]
        self._done, self._is_answer = _done_turns(entries)

    def marks(self, rule: BreakpointRule, blocks: int) -> tuple[int, ...]:
        """Return the breakpoints as block counts before each, ascending; 0 for parts the file does not record.

        Args:
            rule: The rule.
            blocks: Number of blocks of the context in the prompt.
        """
        entries = self._entries
        count = bisect_left(entries.starts, blocks)
        system = min(entries.system_end, blocks)
        fixed: tuple[int, ...] = ()
        match rule:
            case BreakpointRule.RECORDED:
                return ()
            case BreakpointRule.END:
                return (blocks,)
            case BreakpointRule.SWE_AGENT:
                chosen = self._newest(self._asked, count, 2)
            case BreakpointRule.HERMES_19:
                chosen, fixed = self._newest(self._said, count, 3), (system,)
            case BreakpointRule.HERMES_21:
                chosen, fixed = self._newest(self._said, count, 2), (system,)
            case BreakpointRule.HERMES_21_TOOLS:
                chosen, fixed = self._newest_done(count, 2), (0, system)
        return tuple(sorted({*fixed, *(min(entries.ends[place], blocks) for place in chosen)}))

    def _newest(self, places: list[int], count: int, most: int) -> list[int]:
        behind = bisect_left(places, count)
        return places[max(behind - most, 0) : behind]

    def _newest_done(self, count: int, most: int) -> list[int]:
        """Return the newest `most` completed turns among the first `count` entries."""
        done = self._newest(self._done, count, most)
        last = count - 1
        # The last user message or tool result completes a turn if nothing follows it in the prompt.
        is_open = last >= 0 and (self._entries.roles[last] == EntryRole.USER or self._is_answer[last])
        return [*done, last][-most:] if is_open and last not in done else done


def _done_turns(entries: PromptEntries) -> tuple[list[int], list[bool]]:
    """Return the last entry of each completed turn, and per entry True if it answers a response's tool calls."""
    roles, count = entries.roles, len(entries.roles)
    done: list[int] = []
    is_answer = [False] * count
    place = 0
    while place < count:
        if roles[place] == EntryRole.ASSISTANT:
            end = place + 1
            while entries.calls_tools[place] and end < count and roles[end] == EntryRole.TOOL:
                is_answer[end] = True
                end += 1
            if end > place + 1 or not entries.calls_tools[place]:
                done.append(end - 1)
            place = end
        else:
            place += 1
    return done, is_answer
