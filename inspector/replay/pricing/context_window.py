"""Size of a model's context window, and the prompt size at which an agent compacts.

Some agents record it. Otherwise the price table lists the model's maximum. Claude models with a million-token window
use it only on request (Anthropic's documentation on context windows), visible as a name that ends in `[1m]` or as a
longer prompt. Until then 200,000 tokens are assumed.

Compaction sizes are the agents' defaults, read in their sources and changelogs; docs/development/described-systems.md
lists the versions. A session that compacted earlier than the default has another setting.

Claude Code also compacts an idle session, while its cache is still warm: since version 2.1.299, about 54 minutes (90 %
of an hour) after the last reply, if the prompt has 200,000 tokens or more. Source: changelog of Claude Code.

Imports no numpy, so that the status of a running session is shown at once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from inspector.replay.figure import Figure, HowKnown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from inspector.replay.pricing.prices import Pricing
    from inspector.session.model import Session

CLAUDE_USUAL = 200_000

_LONG = "[1m]"

CLAUDE_SUMMARY: Final = 20_000
"""Tokens of the window that Claude Code reserves for the summary; fewer for a model with shorter answers."""

CLAUDE_EARLIER_SUMMARY: Final = 32_000
"""Tokens reserved before version 2.1.21, which "fixed auto-compact triggering too early"."""

CLAUDE_BUFFER: Final = 13_000
"""Tokens reserved in addition."""

CODEX_SHOWN: Final = 0.95
"""Share of a model's window that Codex records as the window."""

CODEX_SHARE: Final = 0.9
"""Share of the full window at which Codex compacts; a setting can only lower it."""

PI_RESERVE: Final = 16_384

GEMINI_SHARE: Final = 0.5

DEFAULT_THRESHOLDS: Final[dict[str, Callable[[int], int]]] = {
    "claude-code": lambda window: window - CLAUDE_SUMMARY - CLAUDE_BUFFER,
    "codex": lambda window: round(CODEX_SHARE * window),
    "gemini-cli": lambda window: round(GEMINI_SHARE * window),
    "pi": lambda window: window - PI_RESERVE,
}
"""Default compaction size for a window, both in tokens, by format."""

_OTHER_SETTING: Final = 0.97
"""A compaction below this share of the default shows another setting."""

CLAUDE_MILLION: Final = (2, 1, 75)
"""Version from which Claude Code uses a million tokens by default on some plans, which no session records."""

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")

AGENT: Final = "claude-code"

FIRST_VERSION: Final = (2, 1, 299)

MIN_TOKENS: Final = 200_000

AFTER_SECONDS: Final = 0.9 * 3_600.0

SETTING: Final = '"idleCompaction": false'

MIN_TOKENS_VARIABLE: Final = "CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS"

SLACK_SECONDS: Final = 300.0
"""A recorded compaction counts as idle if it began up to this long before the usual time, or later."""

SUMMARY_TOKENS = 2_000
"""Assumed length of a summary if the session has no compaction."""


@dataclass(frozen=True, slots=True)
class ContextWindow:
    """Size of a context window, None if unknown, and its source. `may_be_larger`: as far as prompts show."""

    tokens: Figure
    source: str
    may_be_larger: bool = False

    @property
    def size(self) -> int | None:
        """Size in tokens, as an integer; None if unknown."""
        return None if self.tokens.value is None else int(self.tokens.value)


def context_window(session: Session, pricing: Pricing, longest_prompt: int, given: int | None = None) -> ContextWindow:
    """Return the context window of the conversation's model.

    Args:
        pricing: Prices, including the windows in the table and the price file.
        longest_prompt: Tokens of the longest prompt reported for this model, a lower bound; 0 for none.
        given: Size set by the user.
    """
    from inspector.tokens.model_names import parse_model_name

    if given:
        return ContextWindow(Figure(given, HowKnown.EXACT), "set by you")
    if session.window:
        return ContextWindow(Figure(session.window, HowKnown.EXACT), "the session's file")
    model = session.main_model
    own = pricing.own_window(model)
    if own:
        return ContextWindow(Figure(own, HowKnown.EXACT), "your price file")
    listed = pricing.listed_window(model)
    if not listed:
        return ContextWindow(Figure(None, HowKnown.ESTIMATED), "not in the file or the price table")
    usual = "claude" in parse_model_name(model).name and listed > CLAUDE_USUAL and _LONG not in model
    if usual and longest_prompt <= CLAUDE_USUAL:
        return ContextWindow(
            Figure(CLAUDE_USUAL, HowKnown.ESTIMATED),
            f"usual for the model; up to {listed:,} on request",
            may_be_larger=True,
        )
    if longest_prompt > listed:
        return ContextWindow(Figure(None, HowKnown.ESTIMATED), f"a prompt exceeds the price table's {listed:,} tokens")
    return ContextWindow(Figure(listed, HowKnown.ESTIMATED), "the price table")


def compaction_size(session_format: str, agent: str, window: ContextWindow, compacted_at: Iterable[int] = ()) -> Figure:
    """Return the prompt size at which an agent compacts.

    Its value is None if unknown, and a lower bound if the window may be larger than assumed.

    Args:
        agent: The agent with its version, as recorded.
        compacted_at: Prompt sizes at which the session's automatic compactions fired, without those of idle sessions.
    """
    default, seen = DEFAULT_THRESHOLDS.get(session_format), list(compacted_at)
    size, is_claude = None, session_format == "claude-code"
    if default is not None and window.size is not None:
        size = default(round(window.size / CODEX_SHOWN) if session_format == "codex" else window.size)
        if is_claude and (0,) < agent_version(agent) < (2, 1, 21):
            size -= CLAUDE_EARLIER_SUMMARY - CLAUDE_SUMMARY
    usual = sorted(seen)[len(seen) // 2] if seen else None
    if usual is not None and (size is None or usual < _OTHER_SETTING * size):
        return Figure(usual, HowKnown.CALIBRATED)
    may_be_larger = not seen and is_claude and window.may_be_larger and agent_version(agent) >= CLAUDE_MILLION
    return Figure(size, HowKnown.ESTIMATED, may_be_larger)


def agent_version(agent: str) -> tuple[int, ...]:
    """Return the version in an agent's name, `(2, 1, 299)`; empty if there is none."""
    version = _VERSION.search(agent)
    return tuple(map(int, version.groups())) if version else ()
