"""Cost bar: the cost of the session, its cost with the plan, and the saving over many runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from inspector.report.numbers import ON_SCREEN
from inspector.report.recovery_words import needed_words, net_after_words, net_words
from inspector.safe_text import one_line
from inspector.ui.actions.action import bindings
from inspector.ui.actions.parts import COST_BAR
from inspector.ui.cost.summary import priced_as_words
from inspector.ui.part_names import APPLIED, NEEDED_PHRASES
from inspector.ui.toolkit.one_line import LinePiece
from inspector.ui.toolkit.one_line import one_line as line_of

if TYPE_CHECKING:
    from textual.binding import BindingType

    from inspector.replay.figure import Figure
    from inspector.ui.cost.summary import CostSummary, CostUntil


ROWS = 3
RANK_OF_TERMS = 9
"""Rank of definitions, which are dropped first."""


class CostBar(Widget, can_focus=True):
    """Cost bar of three rows. Estimates and projections are qualified; a negative saving is shown as a cost."""

    HELP = """Recorded cost of the session, its cost with the plan, and the difference.

    No mark: reported by the provider, or calibrated to reported usage.
    ~ estimated, or projected for calls that did not happen.  ≥ lower bound."""

    DEFAULT_CSS = """
    CostBar { height: auto; width: 1fr; }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "cost--figure",
        "cost--saved",
        "cost--lost",
        "cost--text",
        "cost--attention",
    }

    BINDINGS: ClassVar[list[BindingType]] = bindings(COST_BAR)

    summary: reactive[CostSummary | None] = reactive(None)
    """The figures; None until computed."""
    waiting_for: reactive[str] = reactive("")
    """Work in progress, shown until there are figures."""
    plan_name: reactive[str] = reactive("the plan")
    """Name of the plan in the line."""

    class RunsRequested(Message):
        """Posted to ask the user for the number of runs per day."""

    def get_content_height(self, container: object, viewport: object, width: int) -> int:  # noqa: ARG002  always the same
        return ROWS

    def action_ask_runs(self) -> None:
        self.post_message(self.RunsRequested())

    def on_click(self) -> None:
        self.action_ask_runs()

    def render(self) -> Content:
        """Render the rows: the cost, the price of the saving, and the projection over time."""
        summary = self.summary
        if summary is None:
            return Content.styled(self.waiting_for, self.get_visual_style("cost--text"))
        now, paid = self._now(summary), self._paid(summary)
        last = self._over_time(summary) if summary.until is None else self._until(summary, summary.until)
        rows = [now, paid, last] if paid and self.content_size.height >= ROWS else [[*now, *paid], last]
        return Content("\n").join([line_of(pieces, self.content_size.width) for pieces in rows])

    def _now(self, summary: CostSummary) -> list[LinePiece]:
        text = self.get_visual_style("cost--text")
        recorded = summary.recorded
        parts = [LinePiece(self._amount("cost", recorded), 1, shorter=self._amount("", recorded))]
        if summary.as_recorded is not None:
            words = Content.styled(priced_as_words(summary.priced_as, summary.as_recorded), text)
            parts.append(LinePiece(words, 3))
        if summary.copied:
            parts.append(LinePiece(Content.styled(f"({summary.copied})", self.get_visual_style("cost--attention")), 3))
        if summary.is_idle:
            hint = "press p and move a limit" if summary.is_on else "press 1, or p and move a limit"
            about = "the plan cuts nothing here" if summary.is_on else "nothing is cut yet"
            longer, shorter = (Content.styled(words, text) for words in (f"{about}: {hint}", hint))
            parts.append(LinePiece(longer, 2, shorter=shorter))
            return parts
        planned = cost_consistent_with_saving(recorded, summary.planned)
        return [
            *parts,
            LinePiece(
                self._amount(f"with {self.plan_name}", planned),
                2,
                shorter=Content.assemble(("→ ", text), self._amount("", planned)),
            ),
            LinePiece(self._saving(summary), shorter=self._saving(summary, brief=True)),
            LinePiece(self._tokens(summary), 6),
        ]

    def _paid(self, summary: CostSummary) -> list[LinePiece]:
        """Build the price of the saving: expected re-fetches, cache rewrites, and the break-even point."""
        if summary.is_idle:
            return []
        text, parts = self.get_visual_style("cost--text"), self._needed(summary)
        if summary.rewrite_usd:
            cost = ON_SCREEN.dollars(summary.rewrite_usd)
            longer, shorter = (
                Content.assemble((words, text), cost) for words in ("cache rewrites cost ", "cache rewrites ")
            )
            parts.append(LinePiece(longer, 5, shorter=shorter))
        if summary.pays_off is not None:
            parts.append(
                LinePiece(Content.assemble(("breaks even at call ", text), ON_SCREEN.whole(summary.pays_off)), 4)
            )
        elif summary.saved.value is not None:
            parts.append(LinePiece(Content.styled("never breaks even", text), 4))
        return parts

    def _saving(self, summary: CostSummary, *, brief: bool = False) -> Content:
        saved = summary.saved.value
        if saved is None:
            return Content("")
        share = "" if brief or summary.saved_share is None else f" ({ON_SCREEN.share(abs(summary.saved_share))})"
        amount = ON_SCREEN.qualified(ON_SCREEN.dollars(abs(saved)), summary.saved.known)
        if saved < 0:
            return Content.styled(f"costs {amount} more{share}", self.get_visual_style("cost--lost"))
        return Content.styled(f"saves {amount}{share}", self.get_visual_style(_style_of_saving(summary)))

    def _needed(self, summary: CostSummary) -> list[LinePiece]:
        """Build the net saving and the text needed later, shown next to the saving at every width."""
        found = summary.recoveries
        if found is None:
            return []
        pieces = []
        longer = net_after_words(found.net, found.refetched, ON_SCREEN)
        shorter = net_words(found.net, ON_SCREEN)
        if found.refetched is None:
            pieces.append(LinePiece(Content.styled(longer, self.get_visual_style("cost--text")), 2))
        elif shorter and (found.saved or 0) > 0:
            style = self.get_visual_style("cost--saved" if found.is_sure else "cost--lost")
            pieces.append(LinePiece(Content.styled(longer, style), 2, shorter=Content.styled(shorter, style)))
        if not found.needed:
            return pieces
        style = self.get_visual_style("cost--lost")
        longer, shorter = f"! {needed_words(found.needed, ON_SCREEN)}", f"! {ON_SCREEN.whole(found.needed)} needed"
        pieces.append(LinePiece(Content.styled(longer, style), 3, shorter=Content.styled(shorter, style)))
        meant, briefly = (Content.styled(words, self.get_visual_style("cost--text")) for words in NEEDED_PHRASES)
        return [*pieces, LinePiece(meant, RANK_OF_TERMS, shorter=briefly)]

    def _tokens(self, summary: CostSummary) -> Content:
        saved = summary.saved_tokens.value
        if saved is None:
            return Content("")
        word, style = ("fewer", "cost--saved") if saved >= 0 else ("more", "cost--lost")
        amount = ON_SCREEN.qualified(ON_SCREEN.short(abs(saved)), summary.saved_tokens.known)
        return Content.styled(f"{amount} {word} tokens", self.get_visual_style(style))

    def _until(self, summary: CostSummary, until: CostUntil) -> list[LinePiece]:
        """Build the row for an earlier selected call. Projections cover the whole session, so they are left out."""
        text = self.get_visual_style("cost--text")
        parts = [
            LinePiece(Content.styled(f"up to call {ON_SCREEN.whole(until.call)}", text)),
            LinePiece(self._amount("cost", until.recorded), 1, shorter=self._amount("", until.recorded)),
        ]
        if summary.is_idle:
            return parts
        word, style, dollars = ("saved", _style_of_saving(summary), until.saved.value or 0.0)
        if dollars < 0:
            word, style = "lost", "cost--lost"
        brief = f"{word} {ON_SCREEN.qualified(ON_SCREEN.dollars(abs(dollars)), until.saved.known)}"
        longer, shorter = (Content.styled(words, self.get_visual_style(style)) for words in (f"{brief} by then", brief))
        planned = cost_consistent_with_saving(until.recorded, until.planned)
        arrow = Content.assemble(("→ ", text), self._amount("", planned))
        return [
            *parts,
            LinePiece(self._amount(f"with {self.plan_name}", planned), 2, shorter=arrow),
            LinePiece(longer, shorter=shorter),
        ]

    def _over_time(self, summary: CostSummary) -> list[LinePiece]:
        text = self.get_visual_style("cost--text")
        if summary.advice:
            return [LinePiece(Content.styled(one_line(summary.advice), self.get_visual_style("cost--attention")))]
        from inspector.report.monthly_saving import daily_saving, monthly_saving, runs_a_day
        from inspector.report.uncertainty import HOLDS

        runs, hint = f"at {runs_a_day(summary.runs)}", Content.styled("z d: runs per day", text)
        # An assumed number of runs is always shown next to its projection.
        is_assumed = summary.runs.is_assumed
        shorter = runs.removeprefix("at ") if is_assumed else runs.removesuffix(f", {summary.runs.origin}")
        parts = [LinePiece(Content.styled(runs, text), 0 if is_assumed else 1, shorter=Content.styled(shorter, text))]
        if summary.runs_question:
            question = Content.styled(summary.runs_question, self.get_visual_style("cost--attention"))
            parts.append(LinePiece(question, 1))
        day, month = summary.per_day, summary.per_month
        if summary.is_idle or day is None or month is None:
            return [*parts, LinePiece(hint, 6)]
        style = self.get_visual_style(_style_of_saving(summary) if day.middle >= 0 else "cost--lost")
        does, by_day = daily_saving(day, ON_SCREEN, is_most=summary.is_at_most).split(" ", 1)
        by_month = f"{does} {monthly_saving(month, ON_SCREEN, is_most=summary.is_at_most)}"
        parts += [
            # The range is dropped last: a single amount would look exact.
            LinePiece(Content.styled(by_month, style), shorter=Content.styled(by_month.replace("about ", "~"), style)),
            LinePiece(Content.styled(HOLDS, text), 2, shorter=Content.styled(HOLDS.partition("hold ")[2], text)),
            LinePiece(Content.styled(by_day, style), 3),
        ]
        if summary.breaks:
            rewritten = f"{ON_SCREEN.plural(summary.breaks, 'prompt')} changed by the plan"
            parts.append(LinePiece(Content.styled(rewritten, text), 4))
        if summary.first_change >= 0:
            first = f"first applied at call {ON_SCREEN.whole(summary.first_change + 1)}"
            parts += [
                LinePiece(Content.styled(first, text), 5),
                LinePiece(Content.styled(APPLIED, text), RANK_OF_TERMS),
            ]
        return [*parts, LinePiece(hint, 6, right=True)]

    def _amount(self, label: str, amount: Figure) -> Content:
        written = ON_SCREEN.qualified(
            ON_SCREEN.dollars(amount.value), amount.known, is_lower_bound=amount.is_lower_bound
        )
        return Content.assemble(
            (f"{label} " if label else "", self.get_visual_style("cost--text")),
            (written, self.get_visual_style("cost--figure")),
        )


def _style_of_saving(summary: CostSummary) -> str:
    """Return the component class of a saving: green only if the plan saves at worst."""
    return "cost--saved" if summary.recoveries is not None and summary.recoveries.is_sure else "cost--figure"


def cost_consistent_with_saving(before: Figure, planned: Figure) -> Figure:
    """Round a plan's cost so that cost and saving, as displayed, add up to the cost before."""
    return replace(planned, value=ON_SCREEN.cost_with_plan(before.value, planned.value))
