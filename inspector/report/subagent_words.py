"""Words for the calls and the cost of subagents, which no other figure of a session's report includes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from inspector.replay.quantity import DOLLAR_DIGITS
from inspector.report.numbers import rounded
from inspector.report.secret_redaction import shown_name, shown_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.replay.sessions import StartedTotals, SubagentCost, SubagentCosts
    from inspector.report.numbers import NumberFormat

NOT_INCLUDED = "not included above"


def costliest_first(found: SubagentCosts) -> list[SubagentCost]:
    return sorted(found.sessions, key=lambda each: (-(each.cost_usd or 0.0), -each.prompt_tokens))


def count_words(found: SubagentCosts, numbers: NumberFormat) -> str:
    """Return the number of calls and subagents: `3 calls of 1 subagent`."""
    calls = numbers.plural(found.calls, "call")
    return f"{calls} of {numbers.plural(len(found.sessions), 'subagent')}"


def cost_words(found: SubagentCosts, numbers: NumberFormat) -> str:
    """Return the cost, or without a price the number of prompt tokens."""
    text = f"{numbers.short(found.prompt_tokens)} tokens" if found.cost_usd is None else numbers.dollars(found.cost_usd)
    is_lower_bound = found.is_lower_bound and found.cost_usd is not None
    return numbers.qualified(text, found.known, is_lower_bound=is_lower_bound)


def unread_words(found: SubagentCosts, numbers: NumberFormat) -> str:
    """Return the number of subagents that could not be read, and the first of them; empty if there are none."""
    if not found.unread:
        return ""
    first, count = found.unread[0], numbers.plural(len(found.unread), "subagent")
    example = "" if len(found.unread) == 1 else "for example "
    return f"{count} could not be read, {example}{shown_name(first.id)}: {shown_name(first.problem)}"


def started_words(found: StartedTotals, numbers: NumberFormat) -> str:
    """Return `12 calls of 2 subagents cost $0.34 more, not included above` for several sessions; empty for none."""
    parts = []
    if found.sessions:
        counted = f"{numbers.plural(found.calls, 'call')} of {numbers.plural(found.sessions, 'subagent')}"
        amount = numbers.qualified(numbers.dollars(found.cost_usd), found.known, is_lower_bound=found.is_lower_bound)
        cost = "have no price" if found.cost_usd is None else f"cost {amount} more"
        parts.append(f"{counted} {cost}, {NOT_INCLUDED}")
    if found.unread:
        parts.append(f"{numbers.plural(found.unread, 'subagent')} could not be read")
    return "; ".join(parts)


def subagents_text(found: SubagentCosts, numbers: NumberFormat, together: float | None = None) -> str:
    """Return a sentence without its period: `2 calls of 1 subagent cost $0.010 more, not included above`.

    Args:
        found: The subagents; at least one was read or could not be read.
        numbers: Number format.
        together: Dollars of the session with its subagents; None to leave it out.
    """
    parts = []
    if found.sessions:
        verb = "sent" if found.cost_usd is None else "cost"
        parts.append(f"{count_words(found, numbers)} {verb} {cost_words(found, numbers)} more, {NOT_INCLUDED}")
    if together is not None and found.sessions:
        total = numbers.qualified(numbers.dollars(together), found.known, is_lower_bound=found.is_lower_bound)
        parts.append(f"{total} with them")
    return "; ".join(filter(None, [*parts, unread_words(found, numbers)]))


def without_texts(found: SubagentCosts, title: Callable[[str], str]) -> SubagentCosts:
    """Return the costs for a report: paths and names masked, dollars rounded.

    Args:
        found: The costs.
        title: Masks a title, or returns an empty text.
    """
    sessions = tuple(
        replace(
            each,
            path=shown_path(Path(each.path)),
            id=shown_name(each.id),
            title=title(each.title),
            cost_usd=rounded(each.cost_usd, DOLLAR_DIGITS),
            side_requests_usd=rounded(each.side_requests_usd, DOLLAR_DIGITS),
        )
        for each in found.sessions
    )
    unread = tuple(replace(each, id=shown_name(each.id), problem=shown_name(each.problem)) for each in found.unread)
    return replace(found, sessions=sessions, unread=unread, cost_usd=rounded(found.cost_usd, DOLLAR_DIGITS))
