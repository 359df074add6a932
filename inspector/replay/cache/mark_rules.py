"""Where agents put cache control marks: after which parts of a prompt a provider is asked to keep a cache entry.

Anthropic's cache keeps what a request marks with `cache_control`: the beginning of the prompt up to and including the
marked block, for at most four marks a request. The rules change no text.

An agent marks entries of its own history: the system prompt, what a user said, a response with all its tool calls, and
every tool result by itself. Sources: SWE-agent `sweagent/agent/history_processors.py` at 318f9091
(`CacheControlHistoryProcessor`, `last_n_messages` 2, `tagged_roles` user and tool); Hermes `agent/prompt_caching.py` of
hermes-agent 0.19.0, and of its repository at 09ffeaec for 0.21, both in the layout for Anthropic's own API, in which
every entry can carry a mark. SWE-agent marks the first part of a user's message that has several; here a mark stands
behind the whole message.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Final, Self

from inspector.session.model import BlockKind

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_MARKS: Final = 4
"""Marks a request may have (Anthropic's documentation on prompt caching)."""

LOOK_BACK: Final = 20
"""Positions that are searched for an entry from a mark on, its own the first (the same)."""


class MarkRule(StrEnum):
    """Where marks are put: a rule's name, what people read, and where it puts marks in a few words."""

    RECORDED = "recorded", "recorded in the requests", "where the requests had them"
    """Where the recorded requests had them, which is known and not placed."""
    END = "end", "end of each request", "the last block"
    """Behind the last block of each request, as replays take it."""
    SWE_AGENT = "swe-agent", "SWE-agent", "the last 2 messages of user or tool"
    """Behind the last two messages of a user or a tool."""
    HERMES_19 = "hermes-0.19", "Hermes 0.19", "system prompt, last 3 messages"
    """Behind the system prompt and the last three messages."""
    HERMES_21 = "hermes-0.21", "Hermes 0.21", "system prompt, last 2 messages"
    """Behind the system prompt and the last two messages; the mark within the system prompt is not told apart."""
    HERMES_21_TOOLS = (
        "hermes-0.21-tools",
        "Hermes 0.21, tools cached",
        "tools, system prompt, last 2 turns that are done",
    )
    """Behind the tools, the part of the system prompt that does not change, and the last two turns that are done."""

    label: str
    about: str

    def __new__(cls, name: str, label: str, about: str) -> Self:
        """A rule of a name."""
        rule = str.__new__(cls, name)
        rule._value_ = name
        rule.label = label
        rule.about = about
        return rule


class EntryRole(IntEnum):
    """Who an entry of an agent's history is by."""

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
    """The entries of a history, as lists over them in the order they are sent.

    Attributes:
        starts: How many blocks stand before each.
        ends: How many blocks stand before each and in it.
        roles: Who each is by.
        calls_tools: A response that calls tools.
        system_end: How many blocks the system prompt has at the beginning.
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
            kinds: Per block, its `BlockKind`, in the order they are sent.
            messages: Per block, the message it belongs to.
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
                # Pictures stand in the result that shows them.
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


class MarkPlacer:
    """Puts marks into the prompts of one context."""

    def __init__(self, entries: PromptEntries) -> None:
        """Look at its entries once."""
        self._entries = entries
        roles = entries.roles
        self._asked = [place for place, role in enumerate(roles) if role in (EntryRole.USER, EntryRole.TOOL)]
        self._said = [place for place, role in enumerate(roles) if role != EntryRole.SYSTEM]
        self._done, self._is_answer = _done_turns(entries)

    def marks(self, rule: MarkRule, blocks: int) -> tuple[int, ...]:
        """Behind how many blocks of a prompt the marks stand, rising; 0 for behind what the file does not show.

        Args:
            rule: The rule.
            blocks: How many blocks of the context the prompt holds.
        """
        entries = self._entries
        count = bisect_left(entries.starts, blocks)
        system = min(entries.system_end, blocks)
        fixed: tuple[int, ...] = ()
        match rule:
            case MarkRule.RECORDED:
                return ()
            case MarkRule.END:
                return (blocks,)
            case MarkRule.SWE_AGENT:
                chosen = self._newest(self._asked, count, 2)
            case MarkRule.HERMES_19:
                chosen, fixed = self._newest(self._said, count, 3), (system,)
            case MarkRule.HERMES_21:
                chosen, fixed = self._newest(self._said, count, 2), (system,)
            case MarkRule.HERMES_21_TOOLS:
                chosen, fixed = self._newest_done(count, 2), (0, system)
        return tuple(sorted({*fixed, *(min(entries.ends[place], blocks) for place in chosen)}))

    def _newest(self, places: list[int], count: int, most: int) -> list[int]:
        behind = bisect_left(places, count)
        return places[max(behind - most, 0) : behind]

    def _newest_done(self, count: int, most: int) -> list[int]:
        """The last turns that are done among the first so many entries."""
        done = self._newest(self._done, count, most)
        last = count - 1
        # What was asked last is done where nothing follows, and so are results of which the prompt holds no more.
        is_open = last >= 0 and (self._entries.roles[last] == EntryRole.USER or self._is_answer[last])
        return [*done, last][-most:] if is_open and last not in done else done


def _done_turns(entries: PromptEntries) -> tuple[list[int], list[bool]]:
    """The entries that turns end with, whatever follows, and per entry whether it answers a response's tool calls."""
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
