"""Table rows of the compare screen, one per plan, and the details of one plan."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from inspector.replay.analysis.hazards import Hazard, HazardKind
from inspector.replay.analysis.recoveries import Exclusion, NeededLater, Recoveries, net_share
from inspector.replay.quantity import quantity
from inspector.report.catalogue import PlanFacts
from inspector.report.numbers import ON_SCREEN, UNKNOWN
from inspector.report.recovery_words import (
    NOT_MEASURED,
    REFETCHES_NOT_MEASURED,
    needed_words,
    recovery_words,
    saved_words,
)
from inspector.safe_text import one_line
from inspector.session.model import BlockKind
from inspector.strategies.presets import PRESETS, display_name
from inspector.strategies.registry import STRATEGIES
from inspector.ui.figure_table.table import Cell, Column, FigureRow, Length, Table, figure_cell, savings_style

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from inspector.replay.analysis.best_plan import ComparedPlan
    from inspector.replay.analysis.plan_outcome import Savings
    from inspector.replay.figure import Figure
    from inspector.report.export import AgentSupport
    from inspector.strategies.plan import Plan

NOTHING_CUT: Final = "nothing cut"
CURRENT: Final = "current plan"
CURRENT_MARK: Final = "●"
BEST_MARK: Final = "★"
SAFEST_MARK: Final = "◆"
NOT_RECOMMENDED_MARK: Final = "✗"
APPLIES_MARK: Final = "✓"
NEVER_APPLIED: Final = "never applied"
"""Row key of all plans that changed nothing."""
UNTESTED_MARK: Final = "?"
FOLDED, UNFOLDED = "▸", "▾"
KEY_OF_FOLD: Final = "_"
WAITING: Final = "…"
NOTHING: Final = "·"

PARTS: Final = 1_000_000


def _title(path: str) -> str:
    return quantity(PlanFacts, path).short_label


COLUMNS: Final = (
    Column("name", "plan", 17, 34, is_text=True, falls=False, keeps_end=True),
    Column("kind", "kind", 8, is_text=True, falls=False, rank=1),
    Column("tokens", _title("figures.prompt_tokens"), 6, 12, rank=2),
    Column("token-bar", "█ sent ░ cut", 8, 28, is_bar=True, short="█ sent", rank=5),
    Column("peak", _title("figures.peak_prompt_tokens"), 7, rank=8),
    Column("cost", _title("figures.cost_usd"), 8, 9, falls=False, rank=3),
    Column("cost-bar", "█ cost ░ saved", 8, 28, is_bar=True, short="█ cost", rank=6, falls=False),
    Column("saved", _title("saved.usd"), 9, 10),
    Column("share", _title("saved.percent"), 8),
    Column("net", quantity(NeededLater, "saved_at_least_usd").short_label, 9, 10),
    Column("needed", "needed", 7, falls=False),
    Column("breaks", _title("figures.cache_breaks"), 7, falls=False, rank=4),
    Column("fires", _title("first_firing"), 8, falls=False, rank=7),
    Column("hazards", "risks", 6, falls=False, rank=9),
    Column("pays", _title("break_even_call"), 11, falls=False, rank=10),
)


_OF_PRICES: Final = frozenset({"cost", "cost-bar", "saved", "net", "pays"})
"""Columns without a value for a session without a price."""


class PlanKind(StrEnum):
    """Origin of a compared plan, as its row shows it."""

    RECORDED = "recorded"
    CURRENT = "current"
    YOURS = "yours"
    STRATEGY = "strategy"
    PRESET = "built-in"
    PART = "part"

    @classmethod
    def of(cls, plan: Plan) -> PlanKind:
        """Return the kind of a built-in plan: a single strategy or a preset."""
        return cls.STRATEGY if plan.name in STRATEGIES else cls.PRESET


_KIND_WORDS: Final = {
    PlanKind.YOURS: "Your own plan.",
    PlanKind.STRATEGY: "One strategy with its defaults for this session.",
    PlanKind.PRESET: "A built-in plan: a complete plan of a known agent, or made for inspector.",
    PlanKind.PART: "The part of a plan that the session's agent can apply.",
}


@dataclass(frozen=True, slots=True)
class CompareRow:
    """A compared plan and its results so far.

    Attributes:
        key: Row key.
        name: Display name; may hold user text.
        plan: The plan.
        kind: Origin of the plan.
        found: Result of the replay; None until replayed.
        recoveries: Cut text that was needed later, priced; None until computed.
        failure: Error message; empty if none.
        answer: Whether the session's agent can apply it; None if not checked.
    """

    key: str
    name: str
    plan: Plan
    kind: PlanKind
    found: ComparedPlan | None = None
    recoveries: Recoveries | None = None
    failure: str = ""
    answer: AgentSupport | None = None

    @property
    def is_baseline(self) -> bool:
        """True for the session with nothing cut."""
        return self.kind is PlanKind.RECORDED

    @property
    def is_current(self) -> bool:
        """True for the plan of the main screen."""
        return self.kind is PlanKind.CURRENT

    @property
    def is_part(self) -> bool:
        """True for the applicable part of another plan."""
        return self.kind is PlanKind.PART

    @property
    def can_be_applied(self) -> bool:
        """True if the session's agent can apply the whole plan."""
        return self.answer is not None and self.answer.is_whole

    @property
    def saved_share(self) -> float:
        """Saved share of the cost, or of the prompt tokens; 0 until replayed."""
        return 0.0 if self.found is None else self.found.savings.share.value or 0.0

    @property
    def net_share(self) -> float | None:
        """Score of the plan (`recoveries.net_share`); None until computed."""
        if self.found is None or self.recoveries is None:
            return None
        return net_share(self.found.savings, self.recoveries)

    @property
    def is_own(self) -> bool:
        """True for a plan of the user, which is ranked but never the best plan: that is a built-in one, as in reports.

        A plan that was tuned on this session says nothing about the next one.
        """
        return self.kind in (PlanKind.YOURS, PlanKind.CURRENT)

    @property
    def exclusion(self) -> Exclusion | None:
        """Why it is never recommended; None if it may be, or if it is not replayed yet."""
        if self.is_baseline or self.found is None:
            return None
        return Exclusion.of(self.recoveries, self.found.hazards, drops_text=self.found.drops_text)

    @property
    def excluded_mark(self) -> str:
        """Mark of the row for its exclusion; empty without one, and for the current plan, which has its own mark."""
        excluded = None if self.is_current else self.exclusion
        if excluded is None:
            return ""
        return UNTESTED_MARK if excluded is Exclusion.UNTESTED else NOT_RECOMMENDED_MARK

    @property
    def is_measured(self) -> bool:
        """True if it cuts tool results and keeps user and assistant text, for which no rate of re-fetches is known."""
        measured = self.recoveries is not None and self.recoveries.refetched is not None
        return measured and self.found is not None and not self.found.drops_text

    @property
    def is_idle(self) -> bool:
        """True if it was replayed, changed nothing, and is not there for reference."""
        stays_hidden = self.is_baseline or self.is_current or self.is_part
        return not stays_hidden and self.found is not None and self.found.first_firing is None


def current_name(plan: Plan) -> str:
    """Return the name of the current plan, or of its strategies."""
    names = display_name(plan.name, plan.to_specs())
    return f"{CURRENT}: {names}" if names else CURRENT


class PlanPurpose(StrEnum):
    """Groups of plans by what they do, in the order of the rows. The names are the keys of the groups' title rows."""

    LIMITS = "limits on old results"
    NEWEST = "keep the newest"
    ARRIVAL = "trim on arrival"
    REPEATS = "drop repeats"
    SUMMARIES = "summaries"

    @classmethod
    def of(cls, plan: Plan) -> PlanPurpose:
        """Return the group of a plan: the most far-reaching purpose of its strategies."""
        found = {_PURPOSE_OF.get(strategy.name, cls.LIMITS) for strategy in plan.strategies}
        order = (cls.SUMMARIES, cls.NEWEST, cls.LIMITS, cls.REPEATS, cls.ARRIVAL)
        return next((each for each in order if each in found), cls.LIMITS)


_NAMES_OF_PURPOSE: Final = {
    PlanPurpose.NEWEST: (
        "clear-old keep-recent anthropic-clear-tool-uses anthropic-clear-thinking langchain-clear-tool-uses "
        "last-observations mask-observations mask-browser-output recent-events amortized-forgetting vercel-prune "
        "maf-tool-results maf-tool-calls maf-window maf-truncation maf-context-window adk-filter strands-window "
        "roo-truncate cline-truncate"
    ),
    PlanPurpose.ARRIVAL: (
        "trim-at-insertion cap-at-insertion store-large deepagents-evict opencode-truncate codex-truncate "
        "gemini-truncate pi-truncate strands-offload cozempic-trim"
    ),
    PlanPurpose.REPEATS: (
        "dedupe-reads smart-diff-compression dcp-dedupe dcp-purge-errors closed-windows headroom-stale-reads "
        "cozempic-stale-reads remove-regex"
    ),
    PlanPurpose.SUMMARIES: (
        "summarize anthropic-compact langchain-summarization openhands-condenser gemini-compress pi-compaction "
        "cline-compaction"
    ),
}
"""Strategies of the groups; others limit old results."""

_PURPOSE_OF: Final = {name: each for each, names in _NAMES_OF_PURPOSE.items() for name in names.split()}

MOST_OF_GROUP: Final = 5
"""Rows of a group until it is opened."""


def compare_table(
    contenders: Sequence[CompareRow],
    best: str = "",
    safest: str = "",
    applicable: str = "",
    *,
    opened: Collection[PlanPurpose] = (),
    is_unfolded: bool = False,
) -> Table:
    """Build the table of all results so far. Plans with equal sort values are ordered by their saving.

    The session with nothing cut, the current plan and the recommended plans come first, then the groups of
    `PlanPurpose`: in each the plans that the agent can apply, the others, the not recommended and the untested ones.

    Of the applicable parts of plans only the best gets a row, if it is the best applicable plan.

    Args:
        contenders: The plans.
        best: Key of the best plan.
        safest: Key of the safest plan.
        applicable: Key of the best plan that the session's agent can apply.
        opened: Groups with all their rows.
        is_unfolded: Give plans that changed nothing their own rows, and all groups all their rows.
    """
    baseline = next((each.found for each in contenders if each.is_baseline), None)
    idle = [each for each in contenders if each.is_idle]
    shown = _each_once(
        [each for each in contenders if not each.is_idle and (not each.is_part or each.key == applicable)]
    )
    shown.sort(key=lambda each: (each.is_baseline, each.key == best, each.saved_share), reverse=True)
    marks = {each.key: each.excluded_mark for each in shown}
    marks |= {safest: SAFEST_MARK} | {best: BEST_MARK}
    if not any(each.is_current for each in shown):
        marks |= {each.key: CURRENT_MARK for each in shown if each.is_baseline}
    is_first = {best, safest, applicable}
    first = [each for each in shown if each.is_baseline or each.is_current or each.key in is_first]
    rows = [_row(each, baseline, marks.get(each.key, "")) for each in first]
    others = [each for each in shown if each not in first]
    for place, purpose in enumerate(PlanPurpose):
        members = [each for each in others if PlanPurpose.of(each.plan) is purpose]
        members.sort(key=lambda each: (_tier(each), -(each.net_share or 0.0)))
        is_open = is_unfolded or purpose in opened
        group = TIERS * (place + 1)
        if members:
            words = _title_words(purpose, len(members), is_open=is_open)
            rows.append(FigureRow(purpose, {}, style="table--name", is_first=True, words=words, group=group))
        rows += [
            replace(_row(each, baseline, marks.get(each.key, "")), group=group + _tier(each))
            for each in (members if is_open else members[:MOST_OF_GROUP])
        ]
    if idle:
        words = _fold_words(idle, is_unfolded=is_unfolded)
        rows += [replace(_row(each, baseline, ""), group=IDLE) for each in idle if is_unfolded]
        rows.append(FigureRow(NEVER_APPLIED, {}, style="table--faint", words=words, group=IDLE + 1))
    is_unpriced = baseline is not None and baseline.figures.cost_usd.value is None
    columns = tuple(each for each in COLUMNS if not (is_unpriced and each.name in _OF_PRICES))
    return Table(columns, tuple(rows))


TIERS: Final = 4
"""Number of subgroups of a group, in this order: plans the agent can apply, others, not recommended, untested."""

IDLE: Final = 1_000
"""Group of the plans that changed nothing; the row for all of them is in the next one."""


def _tier(each: CompareRow) -> int:
    if each.excluded_mark:
        return 3 if each.excluded_mark == UNTESTED_MARK else 2
    return 0 if each.can_be_applied else 1


def _title_words(purpose: PlanPurpose, count: int, *, is_open: bool) -> str:
    plans = ON_SCREEN.plural(count, "plan")
    if count <= MOST_OF_GROUP:
        return f"  {purpose} · {plans}"
    fold = "⏎ folds them" if is_open else f"{MOST_OF_GROUP} shown, ⏎ shows all"
    return f"{UNFOLDED if is_open else FOLDED} {purpose} · {plans} · {fold}"


def _each_once(shown: list[CompareRow]) -> list[CompareRow]:
    """Drop the current plan if another row has the same strategies, and mark that row as current.

    An empty current plan equals the session with nothing cut.
    """
    current = next((each for each in shown if each.is_current), None)
    if current is None:
        return shown
    if not current.plan.strategies:
        return [each for each in shown if each is not current]
    same = (each for each in shown if each.found is not None and not (each.is_baseline or each.is_current))
    twin = next((each for each in same if each.plan.strategies == current.plan.strategies), None)
    if twin is None:
        return shown
    return [replace(each, kind=PlanKind.CURRENT) if each is twin else each for each in shown if each is not current]


def _fold_words(idle: Sequence[CompareRow], *, is_unfolded: bool) -> str:
    mark, does = (UNFOLDED, "hides them") if is_unfolded else (FOLDED, "shows them")
    return f"{mark} {_counted(idle)} never applied in this session · {KEY_OF_FOLD} {does}"


def _counted(idle: Sequence[CompareRow]) -> str:
    """Return `12 strategies`, or `12 plans` if not all are strategies."""
    are_strategies = all(each.kind is PlanKind.STRATEGY for each in idle)
    many, one = ("strategies", "strategy") if are_strategies else ("plans", "plan")
    return f"{ON_SCREEN.whole(len(idle))} {one if len(idle) == 1 else many}"


def _amount(found: ComparedPlan, name: str) -> float | None:
    figures = found.figures
    return (figures.prompt_tokens if name == "tokens" else figures.cost_usd).value


def _row(each: CompareRow, baseline: ComparedPlan | None, verdict: str) -> FigureRow:
    is_best = verdict == BEST_MARK
    mark = verdict or (CURRENT_MARK if each.is_current else APPLIES_MARK if each.can_be_applied else " ")
    found = each.found
    kind = Cell(each.kind.value, style="table--name" if each.kind is PlanKind.PRESET else "", order=each.kind.value)
    if found is None:
        text = one_line(each.failure) if each.failure else WAITING
        style = "table--lost" if each.failure else "table--waiting"
        name = Cell(one_line(each.name), style="table--waiting", order=each.name)
        cells = {"name": name, "kind": kind, "tokens": Cell(text)}
        return FigureRow(each.key, cells, mark, style)
    figures, savings = found.figures, found.savings
    style = saved_style(each, savings)
    is_idle = found.first_firing is None
    cells = {
        "name": Cell(
            one_line(each.name),
            # Its mark and kind already show that it is the current plan.
            short=one_line(each.name).removeprefix(f"{CURRENT}: ") if each.is_current else "",
            style="table--name" if each.is_current or is_best else "",
            order=each.name,
        ),
        "kind": kind,
        "tokens": figure_cell(figures.prompt_tokens, ON_SCREEN.whole, ON_SCREEN.short),
        "token-bar": _bar(found, baseline, "tokens"),
        "peak": figure_cell(figures.peak_prompt_tokens, ON_SCREEN.short),
        "cost": figure_cell(figures.cost_usd, lambda cost: _consistent_cost(cost, baseline)),
        "cost-bar": _bar(found, baseline, "cost"),
        "breaks": figure_cell(figures.cache_breaks, ON_SCREEN.whole),
    }
    if not each.is_baseline:
        cells["fires"] = _first_firing(found)
        cells["hazards"] = _hazards(found)
        if not is_idle:
            cells["saved"] = figure_cell(savings.usd, ON_SCREEN.dollars, style=style)
            cells["share"] = figure_cell(savings.share, ON_SCREEN.share, style=style)
            cells["net"] = net_cell(each)
            cells["needed"] = needed_cell(each)
            cells["pays"] = _pays_off(found)
        else:
            cells["saved"] = cells["share"] = Cell(NOTHING, style="table--faint", order=0.0)
    return FigureRow(
        each.key,
        cells,
        mark,
        "table--faint" if is_idle and not each.is_baseline else "",
        is_first=each.is_baseline or is_best or (each.is_current and bool(each.plan.strategies)),
    )


def _bar(found: ComparedPlan, baseline: ComparedPlan | None, name: str) -> Cell:
    amount = _amount(found, name)
    if amount is None:
        return Cell()
    recorded = (_amount(baseline, name) if baseline is not None else None) or amount
    # The session with nothing cut fills the column, in tokens and in dollars. Longer bars extend beyond it.
    full = recorded or 1.0
    # Bars need whole numbers, and dollar amounts are small.
    return Cell(order=amount, length=Length(PARTS * amount / full, PARTS * recorded / full, PARTS))


def _first_firing(found: ComparedPlan) -> Cell:
    if found.first_firing is None:
        return Cell("never", style="table--faint")
    calls = found.figures.calls.value
    text = "next" if found.first_firing == calls else ON_SCREEN.whole(found.first_firing + 1)
    return Cell(text, order=float(found.first_firing))


def net_cell(each: CompareRow) -> Cell:
    """Build the cell with the net saving at worst; green only if the whole range is known and positive."""
    if each.recoveries is None:
        return Cell(WAITING, style="table--waiting")
    low, _ = each.recoveries.net
    if low is None:
        return Cell(NOTHING, style="table--faint")
    text = ON_SCREEN.dollars(low)
    return Cell(text, style="table--lost" if low <= 0 else "table--saved" if each.recoveries.is_sure else "", order=low)


def saved_style(each: CompareRow, savings: Savings) -> str:
    """Return the component class of a saving: green only if the plan saves at worst."""
    return savings_style(savings, is_sure=each.recoveries is not None and each.recoveries.is_sure)


def needed_cell(each: CompareRow) -> Cell:
    """Build the cell with the later calls that needed cut text; no detector covers user and assistant text."""
    found = each.recoveries
    if found is None:
        return Cell(WAITING, style="table--waiting")
    if not found.needed and not each.is_measured:
        return Cell(NOT_MEASURED, "?", style="table--faint")
    text = ON_SCREEN.qualified(ON_SCREEN.whole(found.needed), "", is_lower_bound=not each.is_measured)
    return Cell(text, style="table--lost" if found.needed else "", order=float(found.needed))


def _hazards(found: ComparedPlan) -> Cell:
    kinds = {hazard.kind for hazard in found.hazards if _is_risk(hazard)}
    return Cell(str(len(kinds)) if kinds else NOTHING, style="" if kinds else "table--faint", order=float(len(kinds)))


def _is_risk(hazard: Hazard) -> bool:
    """Exclude the hazard that a strategy never applies, which has its own column."""
    return hazard.kind is not HazardKind.NEVER_FIRES


def _pays_off(found: ComparedPlan) -> Cell:
    if found.savings.usd.value is None:
        return Cell("?", style="table--faint")
    if found.break_even_call is None:
        return Cell("never", style="table--lost")
    return Cell(f"call {ON_SCREEN.whole(found.break_even_call)}", order=float(found.break_even_call))


def about(
    each: CompareRow,
    baseline: ComparedPlan | None,
    why: str = "",
    passed_over: str = "",
    *,
    is_best: bool = False,
    part: CompareRow | None = None,
) -> list[tuple[str, str]]:
    """Build the details of one plan as pairs of a label and a text, which may hold user text.

    Args:
        each: The plan.
        baseline: The session with nothing cut.
        why: Why it is or is not the best.
        passed_over: Why it is not recommended; empty if it may be.
        is_best: True for the best plan.
        part: The part that the session's agent can apply, if not the whole plan.
    """
    strategies = each.plan.strategies
    if each.is_baseline:
        what = "The recorded session, replayed with nothing cut."
    elif each.plan.name in PRESETS and each.plan.name == each.key:
        what = PRESETS[each.plan.name].summary
    elif len(strategies) == 1:
        what = f"{strategies[0].title}. {strategies[0].summary}"
    else:
        what = f"{len(strategies)} strategies in order, each applied to the result of the previous ones."
    # A small pane cuts off the end, so facts that the row already shows come last.
    use = [] if each.answer is None else [("use it", f"{_used(each.answer, part)} (w e)")]
    lines = [*_found(each, baseline), ("about", what), *_when(each), *use, *_risks(each)]
    gone = leaves_out(each)
    if gone:
        lines.insert(0, ("leaves out", gone))
    if passed_over:
        lines.insert(0, ("excluded", passed_over))
    elif why:
        lines.insert(0, ("best" if is_best else "vs. best", why))
    if each.kind in _KIND_WORDS:
        lines.append(("kind", _KIND_WORDS[each.kind]))
    specs = " + ".join(each.plan.to_specs())
    if specs:
        lines.append(("spec", specs))
    return [*lines, ("source", strategies[0].source)] if len(strategies) == 1 else lines


def _used(answer: AgentSupport, part: CompareRow | None) -> str:
    """Describe whether the session's agent can apply a plan, and the saving of the applicable part."""
    if part is None:
        return answer.in_short
    words = f"{answer.in_short}: {', '.join(strategy.name for strategy in part.plan.strategies)}"
    if part.found is None:
        return words
    if part.found.first_firing is None:
        return f"{words}, which changes nothing here"
    usd, net = part.found.savings.usd.value, (None, None) if part.recoveries is None else part.recoveries.net
    if usd is None:
        return f"{words}, which saves {ON_SCREEN.share(part.saved_share)} of the tokens"
    return f"{words}; {saved_words(usd, net, ON_SCREEN) or f'saves {ON_SCREEN.dollars(usd)}'}"


_LEFT_OUT: Final = {
    BlockKind.SYSTEM_TEXT: "system text",
    BlockKind.USER_TEXT: "user text",
    BlockKind.ASSISTANT_TEXT: "assistant text",
    BlockKind.THINKING: "thinking",
    BlockKind.TOOL_CALL: "tool calls",
    BlockKind.TOOL_RESULT: "tool results",
    BlockKind.IMAGE: "images",
    BlockKind.DOCUMENT: "documents",
}


def leaves_out(each: CompareRow) -> str:
    """List the kinds it removes or replaces, as `thinking, tool calls`; empty if it only shortens."""
    kinds = () if each.found is None else each.found.left_out
    return ", ".join(dict.fromkeys(_LEFT_OUT[kind] for kind in kinds if kind in _LEFT_OUT))


def about_never_applied(contenders: Sequence[CompareRow]) -> list[tuple[str, str]]:
    """Build the details of the row of all plans that changed nothing."""
    idle = [each for each in contenders if each.is_idle]
    return [
        ("about", f"{_counted(idle)} found nothing to cut in this session, so the cost stays the same."),
        ("plans", ", ".join(one_line(each.name) for each in idle)),
    ]


def _found(each: CompareRow, baseline: ComparedPlan | None) -> list[tuple[str, str]]:
    found = each.found
    if found is None:
        return [("failed", each.failure)] if each.failure else [("result", "not replayed yet")]
    if each.is_baseline:
        return [("result", _comes_to(found, None))]
    return [("result", _comes_to(found, baseline))]


def _when(each: CompareRow) -> list[tuple[str, str]]:
    return [] if each.found is None or each.is_baseline else [("active", _acts(each.found))]


def _risks(each: CompareRow) -> list[tuple[str, str]]:
    if each.found is None or each.is_baseline or each.found.first_firing is None:
        return []
    risks = [f"{hazard.kind.label} ({_times(hazard.count)})" for hazard in each.found.hazards if _is_risk(hazard)]
    if each.recoveries is not None:
        risks.insert(0, refetch_risk(each.recoveries) if each.is_measured else not_measured_words(each))
    return [("risks", ", ".join(risks))] if risks else []


def not_measured_words(each: CompareRow) -> str:
    """Describe the risk of a plan with cuts that no detector covers: the re-fetches, and the calls found anyway."""
    found = each.recoveries
    needed = "" if found is None else needed_words(found.needed, ON_SCREEN)
    return f"{REFETCHES_NOT_MEASURED}; {needed}" if needed else REFETCHES_NOT_MEASURED


def refetch_risk(found: Recoveries) -> str:
    """Describe the cut text that was needed later and the remaining saving; see `recovery_words`."""
    even = found.later.break_even_recoveries
    return recovery_words(found.refetched, found.needed, (found.saved, found.net), even, ON_SCREEN)


def _consistent_cost(cost: float, baseline: ComparedPlan | None) -> str:
    """Round a plan's cost so that cost and saving, as displayed, add up to the cost with nothing cut."""
    before = None if baseline is None else baseline.figures.cost_usd.value
    return ON_SCREEN.dollars(ON_SCREEN.cost_with_plan(before, cost))


def _comes_to(found: ComparedPlan, baseline: ComparedPlan | None) -> str:
    def written_figure(figure: Figure, written: Callable[[float], str], unit: str = "") -> str:
        if figure.value is None:
            return UNKNOWN + unit
        return ON_SCREEN.qualified(
            f"{written(figure.value)}{unit}", figure.known.value, is_lower_bound=figure.is_lower_bound
        )

    cost, tokens = found.figures.cost_usd, found.figures.prompt_tokens
    parts = [
        written_figure(cost, lambda cost: _consistent_cost(cost, baseline)),
        written_figure(tokens, ON_SCREEN.whole, " prompt tokens"),
    ]
    if baseline is not None:
        parts[0] += f" instead of {written_figure(baseline.figures.cost_usd, ON_SCREEN.dollars)}"
        parts[1] += f" of {written_figure(baseline.figures.prompt_tokens, ON_SCREEN.whole)}"
    return "; ".join(parts if cost.value is not None else parts[1:])


def _acts(found: ComparedPlan) -> str:
    if found.first_firing is None:
        return "changes nothing in this session"
    calls = found.figures.calls.value
    first = "at the next prompt" if found.first_firing == calls else f"from call {found.first_firing + 1} on"
    parts = [f"{first}, {ON_SCREEN.plural(found.edits, 'edit')}"]
    if found.break_even_call is not None:
        parts.append(f"breaks even at call {ON_SCREEN.whole(found.break_even_call)}")
    elif found.savings.usd.value is not None:
        parts.append("never breaks even")
    return ", ".join(parts)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{ON_SCREEN.whole(count)} times"
