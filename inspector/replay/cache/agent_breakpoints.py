"""Cache breakpoints that agents set in their requests to Anthropic.

Anthropic caches a prompt only up to blocks that a request marks with `cache_control`, at most four per request. The
next request reads the longest earlier entry that ends at one of its own breakpoints or within 20 positions before it,
and whose prefix is unchanged. So the price of an edit depends on where the agent sets breakpoints: with a single one at
the end, an edit more than 20 positions back costs a rewrite of everything after the system prompt.

Each rule cites its source. Claude Code's was captured from requests of released versions to a scripted local model. The
Vercel AI SDK, pydantic-ai and the OpenAI Agents SDK set none unless the program that uses them requests it
(pydantic_ai_slim/pydantic_ai/models/anthropic.py at 4fda3898), so sessions of these have no known rule.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import numpy as np

from inspector.session.model import BlockKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

MAX_PER_REQUEST: Final = 4
"""Maximum breakpoints per request (Anthropic's documentation on prompt caching)."""

LOOKBACK_POSITIONS: Final = 20
"""Positions searched backward from a breakpoint, including its own (same source)."""

NOWHERE: Final = -1
"""Block count of an unused breakpoint."""


class MarkingUnit(StrEnum):
    """The messages that a rule counts.

    `REQUEST`: messages of Anthropic's API, in which all tool results of a batch and the user's text are one message.
    `RESULT`: messages of a chat history, in which every tool result is its own message.
    """

    REQUEST = "request"
    RESULT = "result"


@dataclass(frozen=True, slots=True)
class AgentRule:
    """Positions of the breakpoints in an agent's requests.

    Attributes:
        name: Identifier, for options and JSON.
        label: Name on the screen.
        about: The positions in a few words.
        source: The file or request that shows the rule.
        newest: Number of messages at the end of the prompt with a breakpoint after their last block.
        unit: The messages that are counted.
        users_only: Count only messages of the user and tool results, not responses.
        after_system: Set one after the system prompt, which covers the tools too.
    """

    name: str
    label: str
    about: str
    source: str
    newest: int
    unit: MarkingUnit = MarkingUnit.REQUEST
    users_only: bool = False
    after_system: bool = True


RULES: Final[Mapping[str, AgentRule]] = MappingProxyType(
    {
        rule.name: rule
        for rule in (
            AgentRule(
                "end",
                "one at the end",
                "the last block",
                "automatic caching with one breakpoint (Anthropic's documentation); the least of the known rules",
                newest=1,
                after_system=False,
            ),
            AgentRule(
                "claude-code",
                "Claude Code",
                "system prompt, last block",
                "requests of Claude Code 2.1.197 and 2.1.332 to a scripted local model",
                newest=1,
            ),
            AgentRule(
                "cline",
                "Cline, Roo Code",
                "system prompt, last 2 user messages",
                "RooCodeInc/Roo-Code src/api/providers/anthropic.ts at cb836567; Cline up to version 3 has the same",
                newest=2,
                users_only=True,
            ),
            AgentRule(
                "vscode-copilot",
                "VS Code Copilot",
                "first message, last 2 user messages or rounds of results",
                "microsoft/vscode-copilot-chat src/extension/intents/node/cacheBreakpoints.ts at 31acd00a; the prompt "
                "itself sets one or two, so at least two are left for the newest rounds",
                newest=2,
                users_only=True,
            ),
            AgentRule(
                "langchain",
                "LangChain",
                "tools, system prompt, last block",
                "langchain-anthropic 1.7.10 middleware/prompt_caching.py (AnthropicPromptCachingMiddleware)",
                newest=1,
            ),
            AgentRule(
                "pi",
                "pi",
                "system prompt, last message",
                "badlogic/pi-mono packages/ai/src/providers/anthropic.ts at 83378aad",
                newest=1,
            ),
            AgentRule(
                "openhands",
                "OpenHands",
                "system prompt, last user or tool message",
                "All-Hands-AI/agent-sdk openhands-sdk/openhands/sdk/llm/llm.py at 7e6774f7 (_apply_prompt_caching)",
                newest=1,
                unit=MarkingUnit.RESULT,
                users_only=True,
            ),
            AgentRule(
                "opencode",
                "OpenCode",
                "system prompt, last 2 messages",
                "OpenCode packages/opencode/src/provider/transform.ts (applyCaching)",
                newest=2,
            ),
            AgentRule(
                "swe-agent",
                "SWE-agent",
                "last 2 messages of user or tool",
                "SWE-agent sweagent/agent/history_processors.py at 318f9091 (CacheControlHistoryProcessor)",
                newest=2,
                unit=MarkingUnit.RESULT,
                users_only=True,
                after_system=False,
            ),
            AgentRule(
                "hermes",
                "Hermes",
                "system prompt, last 2 messages",
                "hermes-agent agent/prompt_caching.py at 09ffeaec (0.21)",
                newest=2,
                unit=MarkingUnit.RESULT,
            ),
            AgentRule(
                "hermes-0.19",
                "Hermes 0.19",
                "system prompt, last 3 messages",
                "hermes-agent 0.19.0 agent/prompt_caching.py",
                newest=3,
                unit=MarkingUnit.RESULT,
            ),
        )
    }
)
"""The known rules by name, from the least caching to the most."""

LEAST, MOST = RULES["claude-code"], RULES["hermes-0.19"]
"""Bounds for an unknown agent: breakpoints after the system prompt and at the end, or also after three messages."""

_AGENTS: Final = (
    (re.compile(r"claude code|claude-code"), "claude-code"),
    (re.compile(r"cline|roo|kilo"), "cline"),
    (re.compile(r"vscode-chat|vs code|copilot chat"), "vscode-copilot"),
    (re.compile(r"langchain|langgraph|deepagents"), "langchain"),
    (re.compile(r"^pi\b|oh my pi|openclaw"), "pi"),
    (re.compile(r"openhands"), "openhands"),
    (re.compile(r"opencode|mimocode"), "opencode"),
    (re.compile(r"swe-agent"), "swe-agent"),
    (re.compile(r"hermes\D*0\.(1\d|20)\b"), "hermes-0.19"),
    (re.compile(r"hermes"), "hermes"),
)


def agent_rule(agent: str, session_format: str) -> AgentRule | None:
    """Return the rule of a program by `Session.agent`, which may be empty; None if its rule is unknown."""
    for text in (agent.lower(), session_format.lower()):
        for pattern, name in _AGENTS:
            if text and pattern.search(text):
                return RULES[name]
    return None


_OTHER, _SYSTEM, _USER, _RESULT, _RESPONSE = range(5)

_SIDES: Final = np.full(max(BlockKind) + 1, _OTHER, dtype=np.int8)
_SIDES[[BlockKind.SYSTEM_TEXT]] = _SYSTEM
_SIDES[[BlockKind.USER_TEXT, BlockKind.IMAGE, BlockKind.DOCUMENT]] = _USER
_SIDES[[BlockKind.TOOL_RESULT]] = _RESULT
_SIDES[[BlockKind.ASSISTANT_TEXT, BlockKind.THINKING, BlockKind.TOOL_CALL]] = _RESPONSE


def breakpoints_of_prompts(
    rule: AgentRule, kinds: NDArray[np.integer], messages: NDArray[np.integer], prompt_blocks: Integers
) -> Integers:
    """Return the breakpoints of every prompt of one context, as block counts before each.

    Args:
        kinds: `BlockKind` of each block, in sent order.
        messages: Message index of each block.
        prompt_blocks: Per call, number of blocks in its prompt.

    Returns:
        Array of shape (calls, 4), ascending per row, `NOWHERE` first; int64. A count of 0 is a system prompt that the
        file does not record.
    """
    marks = np.full((len(prompt_blocks), MAX_PER_REQUEST), NOWHERE, dtype=np.int64)
    sides = _SIDES[kinds]
    starts, counted = _message_starts(rule, sides, messages)
    # A message ends where the next one begins, or where the prompt does.
    ends = np.append(starts[1:], len(kinds))[counted]
    counted_starts = starts[counted]
    in_prompt = np.searchsorted(counted_starts, prompt_blocks)
    for back in range(1, rule.newest + 1):
        place = in_prompt - back
        found = place >= 0
        if len(ends):
            end = np.minimum(ends[np.maximum(place, 0)], prompt_blocks)
            marks[:, MAX_PER_REQUEST - back] = np.where(found, end, NOWHERE)
    if rule.after_system:
        not_system = np.flatnonzero((sides != _SYSTEM) & (sides != _OTHER))
        system = int(not_system[0]) if len(not_system) else len(kinds)
        marks[:, MAX_PER_REQUEST - rule.newest - 1] = np.minimum(system, prompt_blocks)
    marks.sort(axis=1)
    return marks


def _message_starts(
    rule: AgentRule, sides: NDArray[np.int8], messages: NDArray[np.integer]
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the first block of every message that the rule can count, and which of them it counts."""
    known = np.flatnonzero(sides != _OTHER)
    if not len(known):
        return known, np.zeros(0, dtype=np.bool_)
    side, message = sides[known], messages[known]
    if rule.unit is MarkingUnit.REQUEST:
        side = np.where(side == _RESULT, _USER, side)
        begins = np.append(True, side[1:] != side[:-1])
    else:
        is_image = np.append(False, (side[1:] == _USER) & (side[:-1] == _RESULT) & (message[1:] == message[:-1]))
        is_media = is_image & (side == _USER)
        side = np.where(is_media, _RESULT, side)
        same = np.append(False, (side[1:] == side[:-1]) & ((side[1:] == _RESPONSE) | (message[1:] == message[:-1])))
        begins = ~(same & (side != _RESULT)) & ~is_media
    starts = known[begins]
    of_start = side[begins]
    counted = (of_start != _SYSTEM) & ((of_start != _RESPONSE) | (not rule.users_only))
    return starts, counted
