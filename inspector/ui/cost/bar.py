"""What the session cost, what it would cost with the plan, and what that comes to over many runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import one_line
from inspector.ui.actions.action import bindings
from inspector.ui.actions.parts import COST_BAR
from inspector.ui.toolkit.one_line import LinePiece
from inspector.ui.toolkit.one_line import one_line as line_of

if TYPE_CHECKING:
    from textual.binding import BindingType

    from inspector.ui.cost.summary import CostSummary, CostUntil, KnownNumber


class CostBar(Widget, can_focus=True):
    """Two rows. Every figure is followed by how it is known; a saving below zero is shown as a cost."""

    HELP = """What the session cost as it was recorded, what it would cost with the plan, and the difference.

    exact: reported by the provider.  calibrated: fitted to reported usage.
    estimated: local estimate or default.  projected: about calls that did not happen."""

    DEFAULT_CSS = """
    CostBar { height: auto; width: 1fr; }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "cost--figure",
        "cost--known",
        "cost--saved",
        "cost--lost",
        "cost--text",
        "cost--attention",
    }

    BINDINGS: ClassVar[list[BindingType]] = bindings(COST_BAR)

    summary: reactive[CostSummary | None] = reactive(None)
    """What is shown; None before anything is known."""
    waiting_for: reactive[str] = reactive("")
    """What is done before there are figures, while there are none."""
    plan_name: reactive[str] = reactive("the plan")
    """How the plan is called in the line."""

    class RunsAsked(Message):
        """The number of runs a day should be asked for."""

    def get_content_height(self, container: object, viewport: object, width: int) -> int:  # noqa: ARG002  always two rows
        """Two rows."""
        return 2

    def action_ask_runs(self) -> None:
        """Ask for another number of runs."""
        self.post_message(self.RunsAsked())

    def on_click(self) -> None:
        """The same with the mouse."""
        self.action_ask_runs()

    def render(self) -> Content:
        """The two rows."""
        summary = self.summary
        width = self.content_size.width
        if summary is None:
            return Content.styled(self.waiting_for, self.get_visual_style("cost--text"))
        first = line_of(self._now(summary), width)
        second = line_of(
            self._over_time(summary) if summary.until is None else self._until(summary, summary.until), width
        )
        return Content("\n").join([first, second])

    def _now(self, summary: CostSummary) -> list[LinePiece]:
        text = self.get_visual_style("cost--text")
        parts = [LinePiece(self._recorded(summary, "recorded"), 1, shorter=self._recorded(summary, ""))]
        if summary.is_idle:
            hint = "p and move a limit" if summary.is_on else "press 1, or p and move a limit"
            about = "the plan cuts nothing here" if summary.is_on else "nothing is cut yet"
            longer, shorter = (Content.styled(said, text) for said in (f"{about}: {hint}", hint))
            parts.append(LinePiece(longer, 2, shorter=shorter))
            return parts
        parts += [
            LinePiece(
                self._amount(f"with {self.plan_name}", summary.planned),
                2,
                shorter=Content.assemble(("→ ", text), self._amount("", summary.planned)),
            ),
            LinePiece(self._saving(summary), shorter=self._saving(summary, brief=True)),
            LinePiece(self._tokens(summary), 3),
        ]
        if summary.rebuilds:
            cost = ON_SCREEN.dollars(-summary.rebuilds)
            parts.append(
                LinePiece(
                    Content.assemble(("cache misses ", text), cost),
                    5,
                    shorter=Content.assemble(("misses ", text), cost),
                )
            )
        if summary.pays_off is not None:
            parts.append(
                LinePiece(Content.assemble(("breaks even at call ", text), ON_SCREEN.whole(summary.pays_off)), 4)
            )
        elif summary.saved.value is not None:
            parts.append(LinePiece(Content.styled("never breaks even here", text), 4))
        return parts

    def _recorded(self, summary: CostSummary, label: str) -> Content:
        """The session's cost; where responses are longer than the file says, what it cost at least."""
        if not summary.is_least or summary.recorded.value is None:
            return self._amount(label, summary.recorded)
        least = f"≥ {ON_SCREEN.dollars(summary.recorded.value)}"
        words = ("cost " if label else "", self.get_visual_style("cost--text"))
        return Content.assemble(words, (least, self.get_visual_style("cost--figure")))

    def _saving(self, summary: CostSummary, *, brief: bool = False) -> Content:
        saved = summary.saved.value
        if saved is None:
            return Content("")
        share = "" if brief or summary.saved_share is None else f" ({ON_SCREEN.share(abs(summary.saved_share))})"
        if saved < 0:
            said = Content.styled(f"costs {ON_SCREEN.dollars(-saved)} more{share}", self.get_visual_style("cost--lost"))
        else:
            said = Content.styled(f"saves {ON_SCREEN.dollars(saved)}{share}", self.get_visual_style("cost--saved"))
        return said + self._known(summary.saved)

    def _tokens(self, summary: CostSummary) -> Content:
        saved = summary.saved_tokens.value
        if saved is None:
            return Content("")
        word, style = ("fewer", "cost--saved") if saved >= 0 else ("more", "cost--lost")
        amount = Content.styled(f"{ON_SCREEN.short(abs(saved))} {word} tokens", self.get_visual_style(style))
        return amount + self._known(summary.saved_tokens)

    def _known(self, amount: KnownNumber) -> Content:
        return Content.styled("" if amount.value is None else f" {amount.known}", self.get_visual_style("cost--known"))

    def _until(self, summary: CostSummary, until: CostUntil) -> list[LinePiece]:
        """At the call looked at; what is projected of the whole session is not about then."""
        text = self.get_visual_style("cost--text")
        parts = [
            LinePiece(Content.styled(f"up to call {ON_SCREEN.whole(until.call)}", text)),
            LinePiece(self._amount("recorded", until.recorded), 1, shorter=self._amount("", until.recorded)),
        ]
        if summary.is_idle:
            return parts
        word, style, dollars = ("saved", "cost--saved", until.saved.value or 0.0)
        if dollars < 0:
            word, style = "lost", "cost--lost"
        brief = f"{word} {ON_SCREEN.dollars(abs(dollars))}"
        longer, shorter = (
            Content.styled(said, self.get_visual_style(style)) + self._known(until.saved)
            for said in (f"{brief} by then", brief)
        )
        planned = Content.assemble(("→ ", text), self._amount("", until.planned))
        return [
            *parts,
            LinePiece(self._amount(f"with {self.plan_name}", until.planned), 2, shorter=planned),
            LinePiece(longer, shorter=shorter),
        ]

    def _over_time(self, summary: CostSummary) -> list[LinePiece]:
        text = self.get_visual_style("cost--text")
        if summary.advice:
            return [LinePiece(Content.styled(one_line(summary.advice), self.get_visual_style("cost--attention")))]
        runs = f"at {summary.runs:,.6g} {'run' if summary.runs == 1 else 'runs'} a day"
        hint = Content.styled("d: runs a day", text)
        parts = [LinePiece(Content.styled(runs, text), 1)]
        day, month = summary.per_day.value, summary.per_month.value
        if summary.is_idle or day is None or month is None:
            return [*parts, LinePiece(hint, 6)]
        verb, more, style = ("saves", "", "cost--saved") if day >= 0 else ("costs", " more", "cost--lost")
        band = "" if summary.plus_minus is None else f" ±{ON_SCREEN.share(summary.plus_minus)}"
        by_month = f"{ON_SCREEN.dollars(abs(month))} a month"
        longer, shorter = (
            Content.styled(said, self.get_visual_style(style)) for said in (f"{by_month}{more}", by_month)
        )
        parts += [
            LinePiece(
                Content.styled(f"{verb} {ON_SCREEN.dollars(abs(day))} a day{more}", self.get_visual_style(style))
            ),
            LinePiece(longer, 3, shorter=shorter),
            # How they are known goes last of all: a figure without it would be taken for a fact.
            LinePiece(Content.styled(f"{summary.per_month.known}{band}", self.get_visual_style("cost--known"))),
        ]
        if summary.breaks:
            parts.append(LinePiece(Content.styled(f"{ON_SCREEN.plural(summary.breaks, 'cache miss')}", text), 4))
        if summary.first_change >= 0:
            parts.append(
                LinePiece(Content.styled(f"first applied at call {ON_SCREEN.whole(summary.first_change + 1)}", text), 5)
            )
        return [*parts, LinePiece(hint, 6, right=True)]

    def _amount(self, label: str, amount: KnownNumber) -> Content:
        return Content.assemble(
            (f"{label} " if label else "", self.get_visual_style("cost--text")),
            (ON_SCREEN.dollars(amount.value), self.get_visual_style("cost--figure")),
            self._known(amount),
        )
