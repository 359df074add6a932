"""Dialog for the model that prices every call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from inspector.replay.pricing.bundled_prices import closest_known
from inspector.report.as_model import rates_words
from inspector.safe_text import one_line
from inspector.ui.cost.assumptions import TERMS
from inspector.ui.dialogs.dialog import ValueDialog

if TYPE_CHECKING:
    from textual.app import App

    from inspector.replay.pricing.prices import Pricing
    from inspector.ui.controller.session import SessionController

TITLE: Final = "Price as another model"


async def ask_model(app: App[object], controller: SessionController) -> None:
    """Ask for the model that prices every call, and price the session; ctrl+z returns to the previous one.

    Args:
        app: Shows the dialog.
        controller: The session.
    """
    outcome = controller.outcome
    if outcome is None:
        controller.host.show_notice("still counting tokens")
        return
    term, pricing = next(each for each in TERMS if each.name == "model"), outcome.inputs.pricing
    dialog = ValueDialog(
        TITLE,
        term.help,
        term.shown(controller.terms),
        lambda text: problem_with_model(pricing, text),
        remark=lambda text: remark_on_model(pricing, text),
    )
    answer = await app.push_screen_wait(dialog)
    if answer is None:
        return
    terms = term.taken(controller.terms, answer)
    if terms != controller.terms:
        controller.set_terms(terms)
        shown = f"priced as {one_line(terms.model)}" if terms.model else "priced as recorded"
        controller.host.show_notice(f"{shown}; ctrl+z to undo")


def problem_with_model(pricing: Pricing, text: str) -> str:
    """Return the reason why a model cannot price a session, with the nearest names; empty if it can."""
    model = text.strip()
    if not model or pricing.as_model(model).rates(model) is not None:
        return ""
    return "; ".join(filter(None, ("no price for this model", closest_known(model))))


def remark_on_model(pricing: Pricing, text: str) -> str:
    """Return the rates of a model; empty for no model."""
    model = text.strip()
    rates = pricing.as_model(model).rates(model) if model else None
    return "" if rates is None else rates_words(rates)
