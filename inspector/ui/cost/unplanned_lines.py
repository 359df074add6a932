"""Lines of the cost pane while no strategy is on: the parts of the cost, and the possible savings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from inspector.replay.analysis.prompt_overhead import NOT_RECORDED_SHORT, SYSTEM_AND_TOOLS
from inspector.report.export import NONE_THAT_SAVES, answer_for
from inspector.report.numbers import ON_SCREEN
from inspector.report.recovery_words import NOTHING_SAVES, NOTHING_WORTHWHILE, net_after_words, net_words
from inspector.report.subagent_words import cost_words, unread_words
from inspector.safe_text import one_line
from inspector.ui.cost.summary import billed_before, priced_as_words
from inspector.ui.miss_glyphs import dollars, no_misses_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.replay.analysis.best_plan import BestPlan, SavingPlan
    from inspector.replay.analysis.breakdown import BreakdownRow
    from inspector.replay.analysis.cache_misses import CacheMisses, CauseTotal
    from inspector.replay.explain.spending import Spending
    from inspector.replay.figure import Figure
    from inspector.replay.subagents import SubagentCosts

KEY_OF_RESENDS: Final = "v e"
"""Key that lists the resend cost of every kind of block."""
KEY_OF_LARGEST: Final = "g $"
"""Key that goes to the result with the highest resend cost."""
KEY_OF_COMPARE: Final = "c"
"""Key of the comparison of plans."""
KEY_OF_TAKING: Final = "*"
"""Key that makes the best plan the current one."""
KEY_OF_MISSES: Final = "M"

MOST_RESENDS: Final = 3
MOST_CAUSES: Final = 4
RANK_OF_TOKENS: Final = MOST_CAUSES + 3
RANK_OF_APPLICABLE: Final = 3
"""After the best plan and the cost of misses, before the causes of misses."""
RANK_OF_OTHERS: Final = 6
"""After the parts of the cost."""
CELLS_BETWEEN: Final = 3
CELLS_OF_LONG_WORDS: Final = 130
"""Line width below which the short wording is used."""

SEARCHING: Final = "looking for the best plan …"
EXPLAINING: Final = "explaining cache misses …"

_PART_NAMES: Final = {
    "cache_read_usd": ("cache reads", "reads"),
    "cache_write_usd": ("cache writes", "writes"),
    "uncached_usd": ("uncached input", "uncached"),
    "output_usd": ("output", "output"),
    "requests_usd": ("other requests", "requests"),
}
"""Long and short name of each kind of token."""

_TEXT, _FIGURE, _SAVED, _ATTENTION = "cost--text", "cost--figure", "cost--saved", "cost--attention"
_TAKES: Final = (
    (" ", _TEXT),
    (KEY_OF_TAKING, _FIGURE),
    (" uses it, ", _TEXT),
    (KEY_OF_COMPARE, _FIGURE),
    (" explains", _TEXT),
)
_TAKES_SHORT: Final = ((" (", _TEXT), (KEY_OF_TAKING, _FIGURE), (" ", _TEXT), (KEY_OF_COMPARE, _FIGURE), (")", _TEXT))

Styled = tuple[tuple[str, str], ...]
"""Texts with the names of their styles."""


class LineText(NamedTuple):
    """A piece of a line.

    Attributes:
        text: Text.
        rank: On a narrow line the pieces of the highest rank are shortened or left out first; 0 for never.
        shorter: Shorter text; None to leave the piece out.
        right: Align at the right end.
    """

    text: Styled
    rank: int = 0
    shorter: Styled | None = None
    right: bool = False


Line = tuple[LineText, ...]


def answer_lines(
    spending: Spending,
    misses: CacheMisses | None,
    best: BestPlan | None,
    room: tuple[int, int],
    *,
    is_searching: bool,
    advice: str = "",
    is_behind: bool = False,
    subagents: SubagentCosts | None = None,
    as_recorded: Figure | None = None,
) -> tuple[Line, ...]:
    """Build the lines, the most important first.

    Args:
        spending: Parts of the cost.
        misses: The session's cache misses; None until computed.
        best: Result of the plan search; None until there is one.
        room: Available lines and cells.
        is_searching: True while plans are tried.
        advice: Advice about a model without a price; may hold session text.
        is_behind: True if the session has grown since `spending` was computed.
        subagents: Costs of the sessions that this one started; None until they are read.
        as_recorded: Cost at the recorded models, if another model prices every call.
    """
    lines, width = room
    started = _subagents(subagents)
    money = (
        *_money(spending, width, started, as_recorded, is_behind=is_behind),
        LineText((("$ ", _FIGURE), ("all figures", _TEXT)), 9, right=True),
    )
    lost, resends = _missed(misses), _resends(spending)
    plan = _plans(best, spending.replay.history.session.format, is_searching=is_searching)
    both = (*plan[:2], *_later(_causes_of(lost), 1))
    if advice:
        # Without a price there are no costs, so show the resent tokens instead.
        money = (LineText((("cost ", _TEXT), ("unknown", _FIGURE)), 1), *started, *resends)
        found: tuple[Line, ...] = (money, (LineText(((one_line(advice), _ATTENTION),)),), plan)
    elif lines >= 4:
        found = (money, plan, lost, resends)
    else:
        # Resent content explains the cost better than the causes of misses.
        is_brief = width < CELLS_OF_LONG_WORDS
        found = (money, _brief(both), _brief_resends(resends)) if is_brief else (money, both, resends)
    return tuple(line for line in found if line)[:lines]


def _later(line: Line, rank: int) -> Line:
    """Lower the priority of a line's pieces."""
    return tuple(each._replace(rank=each.rank + rank, right=False) for each in line)


def _brief(line: Line) -> Line:
    """Replace the pieces of a line by their short forms."""
    return tuple(each if each.shorter is None else each._replace(text=each.shorter, shorter=None) for each in line)


def _money(
    spending: Spending, width: int, started: Line, as_recorded: Figure | None, *, is_behind: bool
) -> Iterator[LineText]:
    """Yield the cost and its parts by kind of token, the largest first. If space is short, no part has a share."""
    calls = ON_SCREEN.plural(spending.replay.history.call_count, "call")
    behind = ((f" after {calls}", _TEXT),) if is_behind else ()
    model = spending.replay.inputs.other_model
    other = () if as_recorded is None else ((f" {priced_as_words(model, as_recorded)}", _ATTENTION),)
    total = LineText((("cost ", _TEXT), (_dollars(spending.total), _FIGURE), *other, *behind, *_copied(spending)))
    parts = [*_money_parts(spending), *_side_requests(spending), *started]
    has_room = _cells(total, *parts) <= width
    yield total
    for each in parts:
        yield each if has_room or each.rank == RANK_OF_OTHERS else each._replace(text=each.text[:2])


def _copied(spending: Spending) -> Styled:
    """Describe the calls that were billed in the session they were copied from; empty if none."""
    text = billed_before(spending.copied_calls, spending.replay.history.call_count)
    return ((f" ({text})", _ATTENTION),) if text else ()


def _side_requests(spending: Spending) -> Iterator[LineText]:
    """Describe the cost of side requests. It is not part of the total, so it comes after the parts."""
    extra = ON_SCREEN.sum_of_dollars(spending.side_requests)
    if extra is not None and ON_SCREEN.dollars(extra).strip("$0.,"):
        cost = (f"+{ON_SCREEN.dollars(extra)}", _FIGURE)
        yield LineText((cost, (" for side requests", _TEXT)), RANK_OF_OTHERS, (cost, (" side requests", _TEXT)))


def _subagents(found: SubagentCosts | None) -> Line:
    """Describe the cost of subagents, which the total does not include; empty if there are none."""
    if not found:
        return ()
    if not found.sessions:
        return (LineText(((unread_words(found, ON_SCREEN), _ATTENTION),), RANK_OF_OTHERS),)
    cost = (f"+{cost_words(found, ON_SCREEN)}", _FIGURE)
    sessions, calls = ON_SCREEN.plural(len(found.sessions), "subagent"), ON_SCREEN.plural(found.calls, "call")
    unread = ((f", {len(found.unread)} not read", _ATTENTION),) if found.unread else ()
    longer = (cost, (f" for {sessions}, {calls}", _TEXT), *unread)
    return (LineText(longer, RANK_OF_OTHERS, (cost, (f" {sessions}", _TEXT))),)


def _cells(*line: LineText) -> int:
    """Return the width of a line with all pieces in full."""
    return sum(len(text) for each in line for text, _ in each.text) + CELLS_BETWEEN * (len(line) - 1)


def _money_parts(spending: Spending) -> Iterator[LineText]:
    parts = sorted(spending.parts.items(), key=lambda part: -(part[1].value or 0.0))
    written = ON_SCREEN.dollars_of_parts(spending.total.value, [figure.value for _, figure in parts])
    shares = ON_SCREEN.shares_of_parts([spending.share(figure) for _, figure in parts])
    for rank, ((name, figure), amount, share) in enumerate(zip(parts, written, shares, strict=True), start=1):
        # Skip parts that would be displayed as zero.
        if figure.value and amount.strip("$0.,"):
            long, short = _PART_NAMES[name]
            cost = ON_SCREEN.qualified(amount, figure.known.value, is_lower_bound=figure.is_lower_bound)
            longer = ((f"{long} ", _TEXT), (cost, _FIGURE), (f" {share}", _TEXT))
            yield LineText(longer, rank, ((f"{short} ", _TEXT), (share, _FIGURE)))


def _missed(misses: CacheMisses | None) -> Line:
    """Describe the number of cache misses, their extra cost and their causes, the costliest first."""
    if misses is None:
        return (LineText(((EXPLAINING, _TEXT),), 6),)
    if not misses.misses:
        return (LineText(((no_misses_text(misses), _TEXT),), 6),) if misses.has_cache else ()
    total = misses.total
    count, cost = ON_SCREEN.plural(total.calls, "cache miss"), _cost_of(total)
    shorter = count.replace("cache ", "")
    causes = [row for row in misses.causes if not row.cause.is_expected]
    extra = (" extra", _TEXT)
    of_all = (LineText(((f"{count} ", _TEXT), cost, extra), 1, ((f"{shorter} ", _TEXT), cost, extra)),)
    if len(causes) == 1:
        why = f"{count}, {causes[0].cause.short} "
        of_all = (LineText(((why, _TEXT), cost, extra), 1, ((f"{shorter} ", _TEXT), cost, extra)),)
        causes = []
    each = (
        LineText(((f"{row.cause.short} ", _TEXT), _cost_of(row)), place)
        for place, row in enumerate(causes[:MOST_CAUSES], start=2)
    )
    key = ((KEY_OF_MISSES, _FIGURE), (" cost drivers", _TEXT))
    recached = LineText(((f"{ON_SCREEN.short(total.tokens)} tokens rewritten", _TEXT),), RANK_OF_TOKENS)
    return (*of_all, *each, recached, LineText(key, RANK_OF_TOKENS + 1, right=True))


def _causes_of(missed: Line) -> Line:
    """Reduce a line about cache misses to the number of misses, the key for details, and the costliest cause."""
    found = tuple(each for each in missed[:2] if each.rank < RANK_OF_TOKENS)
    if not found or not missed[-1].right:
        return found
    key = ((" (", _TEXT), (KEY_OF_MISSES, _FIGURE), (")", _TEXT))
    first = found[0]
    return (first._replace(text=(*first.text, *key), shorter=(*(first.shorter or first.text), *key)), *found[1:])


def _cost_of(row: CauseTotal) -> tuple[str, str]:
    """Return the extra cost of misses, or without a price the number of tokens rewritten to cache."""
    return (dollars(row.extra_usd) or f"{ON_SCREEN.short(row.tokens)} tokens"), _FIGURE


def _resends(spending: Spending) -> Line:
    """Describe the costliest resent content, with the keys that show it."""
    found = [_kind(spending, row, rank) for rank, row in enumerate(_kinds(spending)[:MOST_RESENDS], start=1)]
    if not found:
        return ()
    first = found[0]
    shorter = None if first.shorter is None else (("most: ", _TEXT), *first.shorter)
    found[0] = first._replace(text=(("largest resends: ", _TEXT), *first.text), shorter=shorter)
    if spending.heaviest:
        key = (KEY_OF_RESENDS, _FIGURE)
        text = (key, (" lists all, ", _TEXT), (KEY_OF_LARGEST, _FIGURE), (" the largest result", _TEXT))
        found.append(LineText(text, MOST_RESENDS + 1, (key,), right=True))
    return tuple(found)


def _brief_resends(resends: Line) -> Line:
    """Shorten the line to one key, placed in front so that it is never cut off."""
    if len(resends) < 2 or not resends[-1].right:
        return resends
    first = resends[0]
    key = ((" (", _TEXT), (KEY_OF_RESENDS, _FIGURE), ("): ", _TEXT))
    text = (("largest resends", _TEXT), *key, *first.text[1:])
    shorter = None if first.shorter is None else (("most", _TEXT), *key, *first.shorter[1:])
    return (first._replace(text=text, shorter=shorter), *resends[1:-1])


def _kinds(spending: Spending) -> tuple[BreakdownRow, ...]:
    """Return the kinds of blocks by resend cost, the highest first; without a price by tokens sent."""
    if spending.total.value is not None:
        return spending.kinds
    return tuple(sorted(spending.kinds, key=lambda row: -(row.sent.value or 0)))


def _kind(spending: Spending, row: BreakdownRow, rank: int) -> LineText:
    name = NOT_RECORDED_SHORT if row.name == SYSTEM_AND_TOOLS else f"{row.part} results" if row.part else row.name
    name = one_line(name)
    if row.cost.value is None:
        share = ON_SCREEN.share(row.share.value)
        longer = ((f"{name} ", _TEXT), (share, _FIGURE), (" of the tokens", _TEXT))
        return LineText(longer, rank, ((f"{name} ", _TEXT), (share, _FIGURE)))
    cost = (_dollars(row.cost), _FIGURE)
    share = ON_SCREEN.share(spending.share(row.cost))
    # Name the base once: the share of all prompt tokens differs and is shown next to it elsewhere.
    of = " of the cost" if rank == 1 else ""
    return LineText(((f"{name} ", _TEXT), cost, (f" {share}{of}", _TEXT)), rank, ((f"{name} ", _TEXT), cost))


def _plans(best: BestPlan | None, format_name: str, *, is_searching: bool) -> Line:
    """Describe the plan to apply first: the one that the session's agent can apply, otherwise the best."""
    if best is None or best.applicable is None or best.applicable == best.best:
        applicable = _none_applicable(best, format_name)
        plan = _plan(best, is_searching=is_searching)
        return (*plan[:1], *applicable, *plan[1:])
    answer = answer_for(format_name, best.applicable.plan)
    own = f"{answer.can_apply(_name(best.applicable))}: "
    longer = ((own, _TEXT), (_net_first(best.applicable), _SAVED), (" ·", _TEXT), *_TAKES)
    first = LineText(
        longer, 1, ((f"{answer.agent} can save ", _TEXT), (_net_first(best.applicable), _SAVED), *_TAKES_SHORT)
    )
    if best.best is None:
        return (first,)
    of = "best plan so far" if is_searching else "best plan"
    saves = (_net_first(best.best), _TEXT)
    other = ((f"{of} for your own code {_name(best.best)}: ", _TEXT), saves)
    return (first, LineText(other, RANK_OF_APPLICABLE, (("own code ", _TEXT), saves)))


def _plan(best: BestPlan | None, *, is_searching: bool) -> Line:
    if best is None:
        return (LineText(((SEARCHING, _TEXT),), 1),) if is_searching else ()
    key = ((" ", _TEXT), (KEY_OF_COMPARE, _FIGURE), (" compares", _TEXT))
    short_key = ((" (", _TEXT), (KEY_OF_COMPARE, _FIGURE), (")", _TEXT))
    if best.best is not None:
        of = "best plan so far" if is_searching else "best plan"
        name = _name(best.best)
        saved = (f"saves {_saving(best.best)}", _SAVED)
        brief = (f"saves {_saving(best.best, brief=True)}", _SAVED)
        shorter = (("best plan ", _TEXT), brief, (_net(best.best), _TEXT), *_TAKES_SHORT)
        return (LineText(((f"{of} ", _TEXT), saved, (f"{_net(best.best)}: {name} ·", _TEXT), *_TAKES), 1, shorter),)
    if is_searching:
        return (LineText(((SEARCHING, _TEXT),), 1),)
    if not best.is_complete:
        return (LineText((("session too long to try every plan ·", _TEXT), *key), 1, (("plans:", _TEXT), *short_key)),)
    if best.most is None:
        return (LineText(((f"{NOTHING_SAVES} ·", _TEXT), *key), 1, ((NOTHING_WORTHWHILE, _TEXT), *short_key)),)
    found = best.most.recoveries
    reason = found.envelope.reason
    risk = f"untested: {reason}" if reason else net_after_words(found.net, found.refetched, ON_SCREEN)
    return (
        LineText(((NOTHING_WORTHWHILE, _TEXT),), 1),
        LineText(
            ((f"{_name(best.most)} {_saving(best.most)}, {risk} ·", _TEXT), *key),
            4,
            ((f"at most {_saving(best.most, brief=True)}", _TEXT), *short_key),
        ),
    )


def _none_applicable(best: BestPlan | None, format_name: str) -> Line:
    """State that the session's agent can apply no plan that saves, once all were tried."""
    if best is None or best.best is None or best.applicable is not None or not best.is_complete:
        return ()
    answer = answer_for(format_name, best.best.plan)
    return (LineText(((answer.can_apply(NONE_THAT_SAVES), _TEXT),), RANK_OF_APPLICABLE),) if answer.is_lacking else ()


def _net_first(saving: SavingPlan) -> str:
    """Format the net saving, or without a price the share of the prompt tokens."""
    return net_words(saving.recoveries.net, ON_SCREEN) or _saving(saving)


def _name(saving: SavingPlan) -> str:
    return one_line(saving.plan.name or " + ".join(strategy.name for strategy in saving.plan.strategies))


def _saving(saving: SavingPlan, *, brief: bool = False) -> str:
    """Format a saving in dollars and as a share, or as a share of the prompt tokens without a price."""
    usd, share = saving.savings.usd, ON_SCREEN.share(saving.savings.share.value)
    if usd.value is None:
        return share if brief else f"{share} of the tokens"
    return _dollars(usd) if brief else f"{_dollars(usd)} ({share})"


def _net(saving: SavingPlan) -> str:
    """Format the saving net of expected re-fetches; empty without a price."""
    net = "" if saving.recoveries.refetched is None else net_words(saving.recoveries.net, ON_SCREEN)
    return f", {net}" if net else ""


def _dollars(figure: Figure) -> str:
    """Format dollars with their qualifier (`~`, `≥`)."""
    return ON_SCREEN.qualified(
        ON_SCREEN.dollars(figure.value), figure.known.value, is_lower_bound=figure.is_lower_bound
    )
