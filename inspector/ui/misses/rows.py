"""Table rows of the cache miss screen (causes and calls), and its lines about alternatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from inspector.replay.analysis.idle_compaction import SETTING
from inspector.replay.explain.miss_wording import describe_evidence, duration
from inspector.replay.figure import Figure, lowest_confidence
from inspector.report.numbers import ON_SCREEN
from inspector.report.recovery_words import net_words
from inspector.safe_text import one_line
from inspector.ui.figure_table.table import Cell, Column, FigureRow, Table, figure_cell, number_cell
from inspector.ui.miss_glyphs import dollars, mark_of

if TYPE_CHECKING:
    from collections.abc import Hashable

    from inspector.replay.analysis.best_plan import BestPlan
    from inspector.replay.analysis.cache_lifetime import LifetimeChange
    from inspector.replay.analysis.cache_misses import CacheMiss, CacheMisses, CauseTotal
    from inspector.replay.analysis.next_call import NextCallCost
    from inspector.replay.explain.spending import LargestPart
    from inspector.ui.controller.answers import CacheAnswers

ALL: Final = "all"
"""Row key of all avoidable misses."""
FOLDED: Final = "folded"
"""Row key of the folded unavoidable misses."""

CAUSE_COLUMNS: Final = (
    Column("name", "", 19, 30, is_text=True, falls=False),
    Column("calls", "calls", 6),
    Column("tokens", "tokens rewritten to cache", 9, 25, short="rewritten"),
    Column("cost", "cost", 8, rank=3),
    Column("extra", "extra cost", 10),
    Column("share", "share of cost", 8, 17, short="of cost", rank=1),
    Column("prevented", "prevention", 26, 80, is_text=True, falls=False, rank=4),
)

CALL_COLUMNS: Final = (
    Column("number", "call", 6, falls=False),
    Column("cause", "cause", 18, 24, is_text=True, falls=False),
    Column("tokens", "tokens rewritten to cache", 9, 25, short="rewritten", rank=2),
    Column("cost", "cost", 8, rank=3),
    Column("extra", "extra cost", 10),
    Column("why", "evidence", 28, 200, is_text=True, falls=False, rank=1),
)


def cause_table(found: CacheMisses, *, is_folded: bool) -> Table:
    """Build the table of the total, the avoidable causes and the unavoidable ones.

    Args:
        found: The misses.
        is_folded: Fold the unavoidable misses into one row.
    """
    bill = found.replay.figures.cost_usd
    causes = [row for row in found.causes if not row.cause.is_expected]
    expected = [row for row in found.causes if row.cause.is_expected]
    rows = [_total(found.total, bill), *(_cause(row, bill) for row in causes)] if causes else []
    if is_folded and expected:
        names = ", ".join(f"{row.cause.short} {ON_SCREEN.whole(row.calls)}" for row in expected)
        rows.append(
            FigureRow(FOLDED, {}, words=f"expected, not included above (⏎ shows them): {names}", style="table--faint")
        )
    else:
        rows += [_cause(row, bill) for row in expected]
    return Table(CAUSE_COLUMNS, tuple(rows))


def _total(row: CauseTotal, bill: Figure) -> FigureRow:
    cells = {"name": Cell("all cache misses", style="table--name", order=""), **_sums(row, bill)}
    return FigureRow(ALL, cells, is_first=True)


def _cause(row: CauseTotal, bill: Figure) -> FigureRow:
    name = f"{mark_of(row.cause).glyph} {row.cause.short}"
    cells = {"name": Cell(name, order=row.cause.short), **_sums(row, bill)}
    cells["prevented"] = Cell(row.cause.prevention, style="table--faint", order=row.cause.prevention)
    return FigureRow(row.cause, cells, style="table--faint" if row.cause.is_expected else "")


def _sums(row: CauseTotal, bill: Figure) -> dict[str, Cell]:
    return {
        "calls": Cell(ON_SCREEN.whole(row.calls), order=float(row.calls)),
        "tokens": Cell(ON_SCREEN.whole(row.tokens), ON_SCREEN.short(row.tokens), order=float(row.tokens)),
        "cost": figure_cell(row.usd, ON_SCREEN.dollars),
        "extra": figure_cell(row.extra_usd, ON_SCREEN.dollars),
        "share": _share(row.extra_usd, bill),
    }


def _share(figure: Figure, bill: Figure) -> Cell:
    if figure.value is None or not bill.value:
        return Cell("·", style="table--faint")
    share = Figure(figure.value / bill.value, lowest_confidence(figure.known, bill.known))
    return number_cell(ON_SCREEN.share(share.value), "", share)


_OF_PART: Final = {
    "cache_read_usd": "cache reads: each of {calls} resent {prompt} tokens",
    "cache_write_usd": "cache writes: new text, or text that missed the cache",
    "uncached_usd": "uncached input: {uncached} of {sent} tokens sent were not cached",
    "output_usd": "output: text the model wrote",
    "requests_usd": "requests made by the plan's strategies",
}


def spent_on(part: LargestPart | None) -> str:
    """Describe the largest part of the cost in a line of at most 80 cells; empty without a price."""
    if part is None:
        return ""
    cost = ON_SCREEN.qualified(
        ON_SCREEN.dollars(part.total.value), part.total.known.value, is_lower_bound=part.total.is_lower_bound
    )
    words = _OF_PART[part.name].format(
        calls=ON_SCREEN.plural(part.calls, "call"),
        prompt=ON_SCREEN.short(part.prompt),
        sent=ON_SCREEN.short(part.sent),
        uncached=ON_SCREEN.short(part.uncached),
    )
    return f"{ON_SCREEN.share(part.share)} of {cost} is {words}"


def avoidable(found: CacheMisses, best: BestPlan | None, change: LifetimeChange | None, width: int) -> str:
    """Describe the avoidable cost in a line of `width` cells; empty if unknown.

    Args:
        found: The misses.
        best: Result of the plan search; None until there is one, or if a plan is on.
        change: Effect of the other cache lifetime on the session; None if there is none.
        width: Cells of the line.
    """
    if found.replay.figures.cost_usd.value is None:
        return ""
    could, lost = found.preventable.extra_usd, found.total.extra_usd
    misses = [f"{dollars(could) if could.value else '$0'} of {dollars(lost)} in cache misses"] if lost.value else []
    net = "" if best is None or best.best is None else net_words(best.best.recoveries.net, ON_SCREEN)
    plan, short_plan = ([f"best plan saves {net}"], [f"best plan {net}"]) if net else ([], [])
    wordings = [misses + plan, misses + short_plan]
    if misses and could.value and change is not None and change.misses > 0 and (change.saved_usd.value or 0.0) > 0:
        # Fewer misses have a price: cache writes with a longer lifetime cost more.
        kept, saved = duration(change.lifetime), dollars(change.saved_usd)
        alone = [f"{misses[0]}, {saved} with a {kept} cache"], [f"{misses[0]} ({kept} cache: {saved})"]
        wordings[:0] = [alone[0] + plan, alone[1] + short_plan]
    lines = [f"avoidable: {'; '.join(parts)}" for parts in wordings if parts]
    return next((line for line in lines if len(line) <= width), lines[-1] if lines else "")


def misses_of(found: CacheMisses, key: Hashable) -> tuple[CacheMiss, ...]:
    """Return the misses of a row of the cause table, the costliest first."""
    if key in (ALL, None):
        return found.dearest
    misses = tuple(miss for miss in found.all if key == miss.cause or (key == FOLDED and miss.cause.is_expected))
    return tuple(sorted(misses, key=lambda miss: (-(miss.extra_usd.value or 0.0), -miss.tokens, miss.call)))


def call_table(found: CacheMisses, misses: tuple[CacheMiss, ...]) -> Table:
    """Build a row per miss."""
    return Table(CALL_COLUMNS, tuple(_call(found, miss) for miss in misses))


def _call(found: CacheMisses, miss: CacheMiss) -> FigureRow:
    why = one_line(describe_evidence(miss, found.replay.history.session))
    cells = {
        "number": Cell(ON_SCREEN.whole(miss.call + 1), order=float(miss.call)),
        "cause": Cell(f"{mark_of(miss.cause).glyph} {miss.cause.short}", order=miss.cause.short),
        "tokens": Cell(ON_SCREEN.whole(miss.tokens), ON_SCREEN.short(miss.tokens), order=float(miss.tokens)),
        "cost": figure_cell(miss.usd, ON_SCREEN.dollars),
        "extra": figure_cell(miss.extra_usd, ON_SCREEN.dollars),
        "why": Cell(why, order=why, style="table--faint"),
    }
    return FigureRow(miss.call, cells)


def what_ifs(cache: CacheAnswers, width: int) -> tuple[str, ...]:
    """Build projected lines about alternatives, each at most `width` cells if its shortest form fits."""
    lines: list[tuple[str, ...]] = []
    if cache.lifetime is not None:
        lines.append(_other_lifetime(cache.lifetime))
    lines += [(f"setting: {one_line(each.text)}", f"setting: {one_line(each.setting)}") for each in cache.settings]
    if cache.next_call is not None and cache.next_call.cold_usd.value is not None:
        lines += [_next_call(cache.next_call), *_idle(cache.next_call), _instead(cache.next_call)]
    return tuple(next((each for each in line if len(each) <= width), line[-1]) for line in lines)


def _other_lifetime(change: LifetimeChange) -> tuple[str, ...]:
    kept = f"{duration(change.lifetime)} cache lifetime"
    if change.usd.value is None:
        fewer = "fewer" if change.misses >= 0 else "more"
        return (f"{kept}: {ON_SCREEN.plural(abs(change.misses), f'{fewer} cache miss')}",)
    size = dollars(_size(change.saved_usd))
    saved = f"saves {size}" if (change.saved_usd.value or 0.0) >= 0 else f"costs {size} more"
    short = f"{kept}: {dollars(change.usd)}, {saved}"
    dearer = (change.write_usd.value or 0.0) >= 0
    parts = [f"writes {dollars(_size(change.write_usd))} {'more' if dearer else 'less'}"]
    if change.misses:
        fewer = "fewer" if change.misses > 0 else "more"
        parts.append(f"{ON_SCREEN.plural(abs(change.misses), f'{fewer} miss')} {dollars(_size(change.miss_usd))}")
    if change.break_even is not None:
        pauses = ON_SCREEN.plural(change.break_even, "such pause")
        longer = f"{short} ({', '.join(parts)}); breaks even at {pauses}"
        return longer, f"{short}; breaks even at {pauses}", f"{short}; even at {pauses}"
    return f"{short} ({', '.join(parts)})", short


def _next_call(cost: NextCallCost) -> tuple[str, ...]:
    lived = f"cached for {duration(cost.lifetime)}"
    short = f"next call: {dollars(cost.warm_usd)} while the cache is warm, {dollars(cost.cold_usd)} once it is cold"
    return f"{short} ({ON_SCREEN.whole(cost.prompt_tokens)} tokens, {lived} after the last call)", short


def _idle(cost: NextCallCost) -> list[tuple[str, ...]]:
    """Describe the idle compaction that comes before the cache goes cold; empty if there is none."""
    if cost.idle is None:
        return []
    short = f"left alone: compacted for {dollars(cost.idle.request_usd)}, then {dollars(cost.idle.next_usd)} a call"
    return [(f"{short}, before the cache goes cold ({SETTING} turns that off)", short)]


def _instead(cost: NextCallCost) -> tuple[str, ...]:
    fresh = f"new conversation {dollars(cost.fresh_usd)}"
    compact = f"compact {dollars(cost.compact_first_usd)}"
    pays = cost.compact_pays_after
    when = "never pays off" if pays is None else f"pays off after {ON_SCREEN.plural(pays, 'call')}"
    short = f"instead: {fresh}; {compact}, {when}"
    sizes = f"prompts of {ON_SCREEN.short(cost.fresh_tokens)} and {ON_SCREEN.short(cost.compacted_tokens)} tokens"
    longer = short.replace("instead:", "instead of a cold call:")
    return f"{longer} ({sizes})", longer, short, f"instead: {fresh}; {compact}"


def _size(figure: Figure) -> Figure:
    return Figure(None if figure.value is None else abs(figure.value), figure.known)
