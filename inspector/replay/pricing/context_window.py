"""Size of a model's context window, and its source.

Some agents record it. Otherwise the price table lists the model's maximum. Claude models with a million-token window
use it only on request (Anthropic's documentation on context windows), visible as a name that ends in `[1m]` or as a
longer prompt. Until then 200,000 tokens are assumed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.replay.figure import Figure, HowKnown
from inspector.tokens.model_names import parse_model_name

if TYPE_CHECKING:
    from inspector.replay.pricing.prices import Pricing
    from inspector.session.model import Session

CLAUDE_USUAL = 200_000
_LONG = "[1m]"


@dataclass(frozen=True, slots=True)
class ContextWindow:
    """A context window.

    Attributes:
        tokens: Size; None if unknown.
        source: Source of the size, in a few words.
    """

    tokens: Figure
    source: str

    @property
    def size(self) -> int | None:
        """Size in tokens, as an integer; None if unknown."""
        return None if self.tokens.value is None else int(self.tokens.value)


def context_window(session: Session, pricing: Pricing, longest_prompt: int, given: int | None = None) -> ContextWindow:
    """Return the context window of the conversation's model.

    Args:
        session: The session.
        pricing: Prices, including the windows in the table and the price file.
        longest_prompt: Tokens of the longest prompt reported for this model, a lower bound; 0 for none.
        given: Size set by the user.
    """
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
        )
    if longest_prompt > listed:
        return ContextWindow(Figure(None, HowKnown.ESTIMATED), f"a prompt exceeds the price table's {listed:,} tokens")
    return ContextWindow(Figure(listed, HowKnown.ESTIMATED), "the price table")
