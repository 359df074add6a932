"""Table rows of the cache miss screen (causes and calls), and its lines about alternatives."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from inspector.live.away import advice_lines
from inspector.replay.analysis.alternatives import main_calls, model_switch, other_models
from inspector.replay.analysis.breakdown import BreakdownRow, ResentBlock, part_label
from inspector.replay.analysis.cache_misses import describe_evidence, duration, evidence_parts
from inspector.replay.cache.miss_causes import MissCause
from inspector.replay.figure import Figure, lowest_confidence
from inspector.replay.pricing.context_window import SETTING
from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import one_line
from inspector.ui.figure_table.table import Cell, Column, FigureRow, Table, figure_cell, number_cell, result_cells
from inspector.ui.miss_glyphs import costs, dollars, mark_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from inspector.live.away import PauseAdvice
    from inspector.replay.analysis.alternatives import LifetimeChange, ModelSwitch, NextCallCost
    from inspector.replay.analysis.cache_misses import CacheMiss, CacheMisses, CauseTotal
    from inspector.replay.engine.replay import Replay
    from inspector.replay.explain.cost_sheet import LargestPart, Spending
    from inspector.ui.controller.answers import CacheAnswers
    from inspector.ui.cost.summary import Recommended
    from inspector.ui.timeline.rows import Rows


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
    causes = [row for row in found.causes if not row.expected]
    expected = [row for row in found.causes if row.expected]
    rows = [_total(found.total, bill), *(_cause(row, bill) for row in causes)] if causes else []
    if is_folded and expected:
        names = ", ".join(f"{row.short} {ON_SCREEN.whole(row.calls)}" for row in expected)
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
    cause = MissCause(row.cause)
    cells = {"name": Cell(f"{mark_of(cause).glyph} {row.short}", order=row.short), **_sums(row, bill)}
    cells["prevented"] = Cell(row.prevention, style="table--faint", order=row.prevention)
    return FigureRow(cause, cells, style="table--faint" if row.expected else "")


def _sums(row: CauseTotal, bill: Figure) -> dict[str, Cell]:
    return {
        "calls": Cell(ON_SCREEN.whole(row.calls), order=float(row.calls)),
        "tokens": Cell(ON_SCREEN.whole(row.tokens), ON_SCREEN.short(row.tokens), order=float(row.tokens or 0)),
        "cost": figure_cell(row.figure("usd"), ON_SCREEN.dollars),
        "extra": figure_cell(row.figure("extra_usd"), ON_SCREEN.dollars),
        "share": _share(row.figure("extra_usd"), bill),
    }


def _share(figure: Figure, bill: Figure) -> Cell:
    if figure.value is None or not bill.value:
        return Cell("·", style="table--faint")
    share = Figure(figure.value / bill.value, lowest_confidence(figure.known, bill.known))
    return number_cell(ON_SCREEN.share(share.value), "", share)


_OF_PART: Final = {
    "cache_read_usd": "cache reads: {calls} resent about {prompt} tokens each",
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


def avoidable(found: CacheMisses, best: Recommended | None, change: LifetimeChange | None, width: int) -> str:
    """Describe the avoidable cost and the recommended plan in a line of `width` cells; empty if unknown.

    Args:
        found: The misses.
        best: The recommended plan; None if there is none, or if a plan is on.
        change: Effect of the other cache lifetime on the session; None if there is none.
        width: Cells of the line.
    """
    if found.replay.figures.cost_usd.value is None:
        return ""
    could, lost = (each.figure("extra_usd") for each in (found.preventable, found.total))
    amount = f"avoidable: {dollars(could)}" if could.value else "no avoidable cache misses"
    lost_in = f"{dollars(lost)} in cache misses"
    longer = f"{amount} of {lost_in}" if could.value else f"{lost_in}, none avoidable"
    misses, short_misses = ([longer], [amount]) if lost.value else ([], [])
    plans = ([],) if best is None else tuple([wording] for wording in best.wordings())
    wordings = [first + then for first in (misses, short_misses) for then in plans]
    if misses and could.value and change is not None and (change.misses or 0) > 0 and (change.saved_usd or 0.0) > 0:
        # Fewer misses have a price: cache writes with a longer lifetime cost more.
        kept, saved = duration(change.seconds), dollars(change.figure("saved_usd"))
        alone = [f"{misses[0]}, {saved} with a {kept} cache"], [f"{misses[0]} ({kept} cache: {saved})"]
        wordings[:0] = [alone[0] + plans[0], alone[1] + plans[0], alone[1] + plans[-1]]
    lines = ["; ".join(parts) for parts in wordings if parts]
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


def call_phrases(found: CacheMisses, call: Hashable) -> tuple[str, ...]:
    """Describe a miss in phrases by importance: `call 65: $0.42`, then the evidence for its cause; empty for others."""
    miss = next((each for each in found.all if each.call == call), None)
    if miss is None:
        return ()
    evidence = evidence_parts(miss, found.replay.history.session)
    return (f"call {ON_SCREEN.whole(miss.call + 1)}: {costs(miss)}", *(one_line(each) for each in evidence))


def what_ifs(cache: CacheAnswers, width: int, away: PauseAdvice | None = None) -> tuple[str, ...]:
    """Build projected lines about alternatives, each at most `width` cells if its shortest form fits.

    Costs of a pause take the place of the lines about the next call.
    """
    lines: list[tuple[str, ...]] = []
    if cache.lifetime is not None:
        lines.append(_other_lifetime(cache.lifetime))
    lines += [(f"setting: {one_line(each.text)}", f"setting: {one_line(each.setting)}") for each in cache.settings]
    if away is not None:
        longer, shorter = advice_lines("", away)[1:], advice_lines("", away, has_settings=False)[1:]
        lines += zip(longer, shorter, strict=True)
    elif cache.next_call is not None and cache.next_call.cold_usd is not None:
        lines += [_next_call(cache.next_call), *_idle(cache.next_call), _instead(cache.next_call)]
    return tuple(next((each for each in line if len(each) <= width), line[-1]) for line in lines)


def _other_lifetime(change: LifetimeChange) -> tuple[str, ...]:
    kept = f"{duration(change.seconds)} cache lifetime"
    misses = change.misses or 0
    if change.usd is None:
        fewer = "fewer" if misses >= 0 else "more"
        return (f"{kept}: {ON_SCREEN.plural(abs(misses), f'{fewer} cache miss')}",)
    size = dollars(_size(change.figure("saved_usd")))
    saved = f"saves {size}" if (change.saved_usd or 0.0) >= 0 else f"costs {size} more"
    short = f"{kept}: {dollars(change.figure('usd'))}, {saved}"
    dearer = (change.write_usd or 0.0) >= 0
    parts = [f"writes {dollars(_size(change.figure('write_usd')))} {'more' if dearer else 'less'}"]
    if misses:
        fewer, cost = "fewer" if misses > 0 else "more", dollars(_size(change.figure("miss_usd")))
        parts.append(f"{ON_SCREEN.plural(abs(misses), f'{fewer} miss')} {cost}")
    if change.break_even is not None:
        pauses = ON_SCREEN.plural(change.break_even, "such pause")
        longer = f"{short} ({', '.join(parts)}); breaks even at {pauses}"
        return longer, f"{short}; breaks even at {pauses}", f"{short}; even at {pauses}"
    return f"{short} ({', '.join(parts)})", short


def _next_call(cost: NextCallCost) -> tuple[str, ...]:
    lived = f"cached for {duration(cost.lifetime_seconds)}"
    warm, cold = (dollars(cost.figure(name)) for name in ("warm_usd", "cold_usd"))
    short = f"next call: {warm} while the cache is warm, {cold} once it is cold"
    return f"{short} ({ON_SCREEN.whole(cost.prompt_tokens)} tokens, {lived} after the last call)", short


def _idle(cost: NextCallCost) -> list[tuple[str, ...]]:
    """Describe the idle compaction that comes before the cache goes cold; empty if there is none."""
    if "idle_request_usd" not in cost.known:
        return []
    request, then = (dollars(cost.figure(name)) for name in ("idle_request_usd", "idle_next_usd"))
    short = f"idle session: compacted for {request}, then {then} a call"
    return [(f"{short}, before the cache goes cold ({SETTING} turns that off)", short)]


def _instead(cost: NextCallCost) -> tuple[str, ...]:
    fresh = f"new conversation {dollars(cost.figure('fresh_usd'))}"
    compact = f"compact {dollars(cost.figure('compact_first_usd'))}"
    pays = cost.compact_pays_after
    when = "never pays off" if pays is None else f"pays off after {ON_SCREEN.plural(pays, 'call')}"
    short = f"instead: {fresh}; {compact}, {when}"
    sizes = f"prompts of {ON_SCREEN.short(cost.fresh_tokens)} and {ON_SCREEN.short(cost.compacted_tokens)} tokens"
    longer = short.replace("instead:", "instead of a cold call:")
    return f"{longer} ({sizes})", longer, short, f"instead: {fresh}; {compact}"


def _size(figure: Figure) -> Figure:
    return Figure(None if figure.value is None else abs(figure.value), figure.known)


RESULT: Final = "result"
"""First part of a result's row key; the second is its block."""

_KIND_COLUMNS: Final = (
    Column("name", "", 19, 44, is_text=True, falls=False),
    Column.of(BreakdownRow, "blocks", 7, rank=2),
    Column.of(BreakdownRow, "sent_tokens", 12, 14),
    Column.of(BreakdownRow, "share", 8),
    Column.of(BreakdownRow, "usd", 9, rank=1),
)

_RESULT_COLUMNS: Final = (
    Column("number", "#", 6, falls=False),
    Column("tool", "tool", 10, 16, is_text=True, falls=False),
    Column.of(ResentBlock, "tokens", 8),
    Column.of(ResentBlock, "calls", 10),
    Column.of(ResentBlock, "sent_tokens", 12),
    Column("share", "of all", 8, rank=3),
    Column.of(ResentBlock, "usd", 9, rank=2),
    Column("what", "what", 14, 200, is_text=True, falls=False, rank=1),
)


def kind_table(spending: Spending) -> Table:
    """Build a row per kind of content, most tokens first. Costs are omitted without a price."""
    rows = sorted(spending.kinds, key=lambda row: -(row.sent_tokens or 0))
    made = tuple(
        FigureRow(
            ("kind", at),
            {
                "name": Cell(one_line(part_label(row.kind, row.tool)), style="table--name"),
                "blocks": Cell(ON_SCREEN.whole(row.blocks), order=float(row.blocks)) if row.blocks else Cell(),
                **result_cells(row, "sent_tokens", "share", "usd"),
            },
        )
        for at, row in enumerate(rows)
    )
    return Table(_priced(_KIND_COLUMNS, spending), made)


def result_table(spending: Spending, rows: Rows) -> Table:
    """Build a row per tool result, most resent tokens first. Costs are omitted without a price."""
    made, prompts = [], spending.replay.figures.prompt_tokens.value
    for block, row in sorted(spending.heaviest.items(), key=lambda each: -(each[1].sent_tokens or 0)):
        shown, sent = rows.row(rows.index_of(block)), row.figure("sent_tokens")
        share = Figure(sent.value / prompts if sent.value is not None and prompts else None, sent.known)
        made.append(
            FigureRow(
                (RESULT, block),
                {
                    "number": Cell(str(shown.message), order=float(shown.message), style="table--faint"),
                    "tool": Cell(one_line(row.tool)),
                    "calls": Cell(ON_SCREEN.whole(row.calls), order=float(row.calls)),
                    **result_cells(row, "tokens", "sent_tokens", "usd"),
                    "share": figure_cell(share, ON_SCREEN.share),
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


def without_price(best: Recommended | None, advice: str) -> tuple[str, ...]:
    """Describe what is known without a price: the best plan by tokens, and how to set a price.

    Args:
        best: The recommended plan; None if there is none, or if a plan is on.
        advice: The reason why there is no price; may hold session text.
    """
    lines = [f"{one_line(advice)}"] if advice else []
    lines.append("S prices it as another model")
    if best is not None:
        lines.insert(0, best.wordings()[0])
    return tuple(lines)


HELP: Final = "Model to continue with from a call on: NAME at CALL, for example {example}."

_ASKED: Final = re.compile(r"\s*(?P<model>\S.*?)(?:\s+at\s+(?:call\s+)?(?P<call>[\d,]+))?\s*")


class RequestedModel(NamedTuple):
    """Another model and the first call it takes over, counted from 0."""

    model: str
    call: int


def call_to_switch_at(found: CacheMisses, wanted: int | None) -> int | None:
    """Return the main conversation's first call at or after `wanted`, or its last one; None if it has no calls."""
    calls = main_calls(found.replay)
    if not len(calls):
        return None
    later = calls[calls >= wanted] if wanted is not None else calls
    return int(later[0]) if len(later) else int(calls[-1])


def parse_model_switch(text: str, found: CacheMisses, call: int) -> RequestedModel | str:
    """Parse the user's input, or return an error line with advice.

    Args:
        text: `claude-sonnet-4-6 at 40`, or only a name.
        found: The misses of the session.
        call: Default call.
    """
    typed = _ASKED.fullmatch(text)
    if typed is None:
        return "enter the name of a model"
    model, replay = typed["model"], found.replay
    if typed["call"]:
        number = int(typed["call"].replace(",", "") or 0)
        calls = main_calls(replay)
        if number - 1 not in calls:
            return f"no call {number:,} in the main conversation; enter {int(calls[0]) + 1:,} to {int(calls[-1]) + 1:,}"
        call = number - 1
    if replay.inputs.pricing.rates(model, replay.history.session.calls[call].time) is None:
        known = ", ".join(other_models(replay))
        return f"no price for {model}" + (f"; known models: {known}" if known else "")
    return RequestedModel(model, call)


def switches_at(found: CacheMisses, call: int, asked: RequestedModel | None) -> tuple[ModelSwitch, ...]:
    """Price the session with other models: the requested one first, then the known ones, the cheapest first.

    Models with a window that is too small come last.
    """
    mine = found.replay.history.session.calls[call].model
    names = [name for name in other_models(found.replay) if name != mine]
    offered = [each for name in names if (each := model_switch(found, call, name)) is not None]
    offered.sort(key=lambda each: (each.beyond_window > 0, each.usd or 0.0))
    first = None if asked is None else model_switch(found, asked.call, asked.model)
    return tuple(offered) if first is None else (first, *(each for each in offered if each != first))


def switch_text(switch: ModelSwitch) -> str:
    """Describe a switch in a few words: `claude-sonnet-4-6 saves ~$7.12`."""
    saved = switch.figure("saved_usd")
    if saved.value is None:
        return f"{one_line(switch.model)} {dollars(switch.figure('usd'))}"
    size = dollars(_size(saved))
    beyond = ", but some prompts are too long" if switch.beyond_window else ""
    return f"{one_line(switch.model)} {f'saves {size}' if saved.value >= 0 else f'costs {size} more'}{beyond}"


def switch_detail(switch: ModelSwitch) -> str:
    """Describe a switch in one line, including the lost cache."""
    text = switch_text(switch)
    if not switch.recache_tokens:
        return text
    tokens = ON_SCREEN.short(switch.recache_tokens)
    pays = "" if switch.pays_after is None else f", pays off after {ON_SCREEN.plural(switch.pays_after, 'call')}"
    return f"{text}; {tokens} tokens rewritten for {dollars(switch.figure('recache_usd'))}{pays}"


def switch_lines(switches: Sequence[ModelSwitch], width: int) -> tuple[str, ...]:
    """Build a line about as many other models as fit `width` cells; empty without any."""
    if not switches:
        return ()
    first = switches[0]
    together = [each for each in switches if each.call == first.call]
    since = f" from call {ON_SCREEN.whole(first.call)} on" if first.call > 1 else ""
    long, short = (
        f"another model{since or ' throughout'}, same answers: ",
        f"another model{since.removesuffix(' on')}, same answers: ",
    )
    text = switch_text(first)
    ways = [long + (switch_detail(first) if len(together) == 1 else text), long + text, short + text]
    line = next((way for way in ways if len(way) <= width), ways[-1])
    for each in together[1:]:
        longer = f"{line} · {switch_text(each)}"
        if len(longer) > width:
            break
        line = longer
    return (line,)
