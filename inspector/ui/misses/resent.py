"""Resent content on the cache miss screen, for sessions without cache misses: its kinds, and the largest results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from inspector.replay.analysis.breakdown import part_label
from inspector.report.catalogue import CarriedBlockFacts, CarriedFacts
from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import one_line
from inspector.ui.figure_table.table import Cell, Column, FigureRow, Table, figure_cell

if TYPE_CHECKING:
    from inspector.replay.analysis.best_plan import BestPlan
    from inspector.replay.engine.replay import Replay
    from inspector.replay.explain.spending import Spending
    from inspector.ui.timeline.rows import Rows

RESULT: Final = "result"
"""First part of a result's row key; the second is its block."""

_KIND_COLUMNS: Final = (
    Column("name", "", 19, 44, is_text=True, falls=False),
    Column.of(CarriedFacts, "blocks", 7, rank=2),
    Column.of(CarriedFacts, "sent_tokens", 12, 14),
    Column.of(CarriedFacts, "share", 8),
    Column.of(CarriedFacts, "usd", 9, rank=1),
)

_RESULT_COLUMNS: Final = (
    Column("number", "#", 6, falls=False),
    Column("tool", "tool", 10, 16, is_text=True, falls=False),
    Column.of(CarriedBlockFacts, "tokens", 8),
    Column.of(CarriedBlockFacts, "calls", 10),
    Column.of(CarriedBlockFacts, "sent_tokens", 12),
    Column("share", "of all", 8, rank=3),
    Column.of(CarriedBlockFacts, "usd", 9, rank=2),
    Column("what", "what", 14, 200, is_text=True, falls=False, rank=1),
)


def kind_table(spending: Spending) -> Table:
    """Build a row per kind of content, most tokens first. Costs are omitted without a price."""
    rows = sorted(spending.kinds, key=lambda row: -(row.sent.value or 0))
    made = tuple(
        FigureRow(
            ("kind", at),
            {
                "name": Cell(one_line(part_label(row.name, row.part)), style="table--name"),
                "blocks": Cell(ON_SCREEN.whole(row.blocks), order=float(row.blocks)) if row.blocks else Cell(),
                "sent_tokens": figure_cell(row.sent, ON_SCREEN.whole, ON_SCREEN.short),
                "share": figure_cell(row.share, ON_SCREEN.share),
                "usd": figure_cell(row.cost, ON_SCREEN.dollars),
            },
        )
        for at, row in enumerate(rows)
    )
    return Table(_priced(_KIND_COLUMNS, spending), made)


def result_table(spending: Spending, rows: Rows) -> Table:
    """Build a row per tool result, most resent tokens first. Costs are omitted without a price."""
    session, made = spending.replay.history.session, []
    for row in sorted(spending.heaviest, key=lambda each: -(each.sent.value or 0)):
        shown = rows.row(rows.index_of(row.block))
        made.append(
            FigureRow(
                (RESULT, row.block),
                {
                    "number": Cell(str(shown.message), order=float(shown.message), style="table--faint"),
                    "tool": Cell(one_line(session.all_blocks[row.block].tool_name)),
                    "tokens": figure_cell(row.tokens, ON_SCREEN.whole, ON_SCREEN.short),
                    "calls": Cell(ON_SCREEN.whole(row.calls), order=float(row.calls)),
                    "sent_tokens": figure_cell(row.sent, ON_SCREEN.whole, ON_SCREEN.short),
                    "share": figure_cell(row.share, ON_SCREEN.share),
                    "usd": figure_cell(row.cost, ON_SCREEN.dollars),
                    "what": Cell(rows.preview(shown.index), style="table--faint"),
                },
            )
        )
    return Table(_priced(_RESULT_COLUMNS, spending), tuple(made))


def _priced(columns: tuple[Column, ...], spending: Spending) -> tuple[Column, ...]:
    return columns if spending.total.value is not None else tuple(each for each in columns if each.name != "usd")


def resent_words(replay: Replay, resent: int) -> str:
    """Describe the tokens that the prompts sent again; empty without calls.

    Args:
        replay: The session.
        resent: Result of `resent_tokens`.
    """
    sent, calls = replay.figures.prompt_tokens, ON_SCREEN.plural(replay.history.call_count, "call")
    if not sent.value:
        return ""
    total, again = (ON_SCREEN.qualified(ON_SCREEN.short(each), sent.known.value) for each in (sent.value, resent))
    return f"{calls} sent {total} prompt tokens, {again} of them again ({ON_SCREEN.share(resent / sent.value)})"


def without_price(best: BestPlan | None, advice: str) -> tuple[str, ...]:
    """Describe what is known without a price: the best plan by tokens, and how to set a price.

    Args:
        best: Result of the plan search; None until there is one, or if a plan is on.
        advice: The reason why there is no price; may hold session text.
    """
    lines = [f"{one_line(advice)}"] if advice else []
    lines.append("S prices it as another model")
    if best is not None and best.best is not None:
        share = ON_SCREEN.share(best.best.savings.share.value)
        name = one_line(best.best.plan.name or " + ".join(each.name for each in best.best.plan.strategies))
        lines.insert(0, f"best plan saves {share} of the tokens: {name}")
    return tuple(lines)
