"""Compare the costs of sessions with another counter's results, and explain every difference.

Run it by hand, because the sessions are not redistributable; docs/development/accuracy.md holds the table:

    python -m scripts.compare_costs FOLDER
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from inspector.errors import SessionError
from inspector.replay.cache.prompt_usage import PromptUsage
from inspector.replay.pricing.prices import Pricing
from inspector.session.discovery import sessions_in
from inspector.session.open import open_session
from inspector.session.reading_check import totals_of
from scripts.usage_counter import cost_of, count, price_of, repeated_reports

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from inspector.session.model import Call, Session, SideCall
    from scripts.usage_counter import Count

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "development" / "accuracy.md"
BEGIN, END = "<!-- begin counter -->", "<!-- end counter -->"
EQUAL = 1e-9
"""Dollars below which two sums of floats are the same, relative to the sum."""


@dataclass(frozen=True)
class ComparedCost:
    """A session's cost according to both counters.

    Attributes:
        session: The session.
        calls: Its calls with usage, including side requests.
        usd: Dollars of their reported usage.
        other: The other counter's result for the file.
        placeholders: Calls with only a placeholder for the output.
    """

    session: Session
    calls: Sequence[Call | SideCall]
    usd: float
    other: Count
    placeholders: int

    @property
    def difference(self) -> float:
        """Dollars that ours is more."""
        return self.usd - self.other.usd

    @property
    def is_equal(self) -> bool:
        """True if both count the same tokens and the same dollars."""
        return self.has_same_tokens and self._is_none(self.difference)

    @property
    def has_same_tokens(self) -> bool:
        totals = totals_of(self.session)
        return (totals.prompt, totals.output) == (self.other.prompt, self.other.output)

    def explained(self) -> tuple[str, float] | None:
        """Return the reason and the dollars of the difference; None if no known reason explains all of it."""
        if self.session.format == "codex":
            twice = repeated_reports(self.session.path)
            dollars = -sum(cost_of(each) or 0.0 for each in twice)
            if self._is_none(self.difference - dollars):
                reports = "1 report" if len(twice) == 1 else f"{len(twice)} reports"
                return f"it counts {reports} twice that Codex repeated with another time", dollars
        changed = dict.fromkeys(call.model for call in self.calls if self._is_priced_otherwise(call))
        if self.has_same_tokens and changed:
            reason = f"LiteLLM has today's price of {', '.join(changed)}; ours is the price on the day of the call"
            return reason, self.difference
        return None

    def _is_priced_otherwise(self, call: Call | SideCall) -> bool:
        """Return True if the other table has a different price for the call's model on its day."""
        price, ours = price_of(call.model), Pricing().rates(call.model, call.time)
        return price is not None and ours is not None and (price.input, price.output) != (ours.input, ours.output)

    def _is_none(self, dollars: float) -> bool:
        return abs(dollars) <= EQUAL * max(1.0, self.usd)


def compared(folder: Path) -> Iterator[tuple[Path, ComparedCost | None]]:
    """Yield each session of a folder that reports usage, by both; None if one cannot count or price it."""
    for header in sessions_in(folder):
        try:
            session = open_session(header.path)
        except SessionError:
            continue
        calls = [call for call in (*session.calls, *session.side_calls) if call.usage is not None]
        if calls:
            yield session.path, _compare(session, calls)


def _compare(session: Session, calls: Sequence[Call | SideCall]) -> ComparedCost | None:
    usages = [call.usage for call in calls if call.usage is not None]
    times = np.array([np.nan if call.time is None else call.time for call in calls])
    rates = Pricing().call_rates([call.model for call in calls], times, [call.terms for call in calls])
    usd = float(rates.cost(PromptUsage.of(usages), np.array([usage.output for usage in usages])).sum())
    other = count(session.path, session.format)
    if np.isnan(usd) or other is None:
        return None
    return ComparedCost(session, calls, usd, other, sum(usage.output_is_placeholder for usage in usages))


def main() -> None:
    """Compare the sessions of a folder and write the page's part on it."""
    found = list(compared(Path(sys.argv[1])))
    counted = sorted((each for _, each in found if each), key=lambda each: (each.session.format, each.session.path))
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n{results(counted, len(found) - len(counted))}\n{END}{after}", encoding="utf-8")


def results(counted: Sequence[ComparedCost], uncounted: int = 0) -> str:
    """Format the comparison as sentences and a table.

    Args:
        counted: Sessions that both counted.
        uncounted: Number of further sessions that report usage.
    """
    equal = [each for each in counted if each.is_equal]
    different = [each for each in counted if not each.is_equal]
    calls, dollars = sum(len(each.calls) for each in counted), sum(each.usd for each in counted)
    explained = sum(each.explained() is not None for each in different)
    lines = [
        f"{len(counted)} sessions with {calls:,} calls, ${dollars:,.2f}. {len(equal)} cost the same to the last digit,",
        f"with the same tokens; {explained} differ for known reasons.",
        "",
        "| format | read by ccusage | sessions | calls | prompt tokens | output | cost |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
        *(_format_row(name, [each for each in equal if each.session.format == name]) for name in _formats(equal)),
    ]
    if different:
        lines += [
            "",
            "| session | calls | prompt tokens | output | inspector | ccusage | difference | reason |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
            *(_row(each) for each in different),
        ]
    if uncounted:
        lines += ["", f"{uncounted} more sessions report usage that only one of the two can count or price."]
    return "\n".join(lines)


def _formats(sessions: Sequence[ComparedCost]) -> list[str]:
    return list(dict.fromkeys(each.session.format for each in sessions))


def _format_row(name: str, sessions: Sequence[ComparedCost]) -> str:
    """Format the totals of the sessions of a format that cost the same."""
    totals = [totals_of(each.session) for each in sessions]
    placeholders = sum(each.placeholders > 0 for each in sessions)
    cells = (
        name,
        "yes" if sessions[0].other.is_read else "by its rules",
        f"{len(sessions)}",
        f"{sum(len(each.calls) for each in sessions):,}",
        f"{sum(each.prompt for each in totals):,}",
        f"{sum(each.output for each in totals):,}" + (f" † in {placeholders}" if placeholders else ""),
        f"${sum(each.usd for each in sessions):,.4f}",
    )
    return f"| {' | '.join(cells)} |"


def _row(each: ComparedCost) -> str:
    session, other = each.session, each.other
    models = ", ".join(dict.fromkeys(call.model for call in each.calls if call.model))
    totals = totals_of(session)
    reason = (each.explained() or ("**not explained**", 0.0))[0]
    cells = (
        f"{session.format}, {models}",
        f"{len(each.calls):,}",
        f"{totals.prompt:,}",
        f"{totals.output:,}" + (" †" if each.placeholders else ""),
        f"${each.usd:,.4f}",
        f"${other.usd:,.4f}",
        f"{each.difference:+,.5f}",
        reason,
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
