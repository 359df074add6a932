"""How large the model's context window is, and how that is known.

The file says it with some agents. Where it does not, the price table lists the most a model takes. Claude models that
take a million tokens are asked for more than 200,000 only by those who say so (Anthropic's documentation on context
windows; the name then ends in `[1m]`, or a prompt is longer), so 200,000 are assumed until then.
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
        tokens: Its size; None where nothing says.
        source: What says so, in a few words.
    """

    tokens: Figure
    source: str

    @property
    def size(self) -> int | None:
        """Its size in tokens; None where nothing says."""
        return None if self.tokens.value is None else int(self.tokens.value)


def context_window(session: Session, pricing: Pricing, longest_prompt: int, given: int | None = None) -> ContextWindow:
    """The window of the model that answered the last call.

    Args:
        session: The session.
        pricing: Prices, whose table and file list windows.
        longest_prompt: Tokens of the longest prompt the provider reported, which the window holds; 0 for none.
        given: What the user says.
    """
    if given:
        return ContextWindow(Figure(given, HowKnown.EXACT), "as you gave it")
    if session.window:
        return ContextWindow(Figure(session.window, HowKnown.EXACT), "the session's file")
    model = next((call.model for call in reversed(session.calls) if call.model), "")
    own = pricing.own_window(model)
    if own:
        return ContextWindow(Figure(own, HowKnown.EXACT), "your price file")
    listed = pricing.listed_window(model)
    if not listed:
        return ContextWindow(Figure(None, HowKnown.ESTIMATED), "neither the file nor the price table")
    usual = "claude" in parse_model_name(model).name and listed > CLAUDE_USUAL and _LONG not in model
    if usual and longest_prompt <= CLAUDE_USUAL:
        return ContextWindow(
            Figure(CLAUDE_USUAL, HowKnown.ESTIMATED),
            f"usual for the model, which takes up to {listed:,} where that is asked for",
        )
    return ContextWindow(
        Figure(max(listed, longest_prompt), HowKnown.ESTIMATED), "the model's listing in the price table"
    )
