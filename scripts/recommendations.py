"""Print the recommended plan of every session of a folder, its net range, and its cost by breakpoint rule, as Markdown.

    python scripts/recommendations.py ../shared/corpus sample_sessions

docs/development/recommendations.md has the table for the reference sessions.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from inspector.cli.reading import replay_inputs
from inspector.errors import InspectorError
from inspector.replay.analysis.best_plan import BestPlanSearch
from inspector.replay.analysis.reuse import ReuseScan
from inspector.replay.cache.agent_breakpoints import RULES
from inspector.replay.engine.replay import replay
from inspector.session.discovery import found_in
from inspector.session.open import open_session
from inspector.strategies.plan import Plan

SHOWN_RULES = ("end", "claude-code", "cline", "hermes-0.19")
"""Rules with a column: from the least caching to the most."""

HEAD = ("session", "cost", "recommended", "net", "re-fetches", *(f"`{name}`" for name in SHOWN_RULES))


def row(path: Path) -> tuple[str, ...] | None:
    """Return the row of a session; None if it has no calls or cannot be read."""
    try:
        session = open_session(path)
    except InspectorError:
        return None
    if not session.calls:
        return None
    inputs = replay_inputs(session)
    baseline = replay(inputs, Plan())
    search = BestPlanSearch(baseline, ReuseScan(baseline.history))
    found = search.run(lambda: False, lambda _: None)
    best = None if found is None else found.best
    cost = baseline.figures.cost_usd.value
    name = f"{session.format} `{session.identifier[:12]}`"
    if best is None:
        return (name, dollars(cost), "none", "", "", *("" for _ in SHOWN_RULES))
    low, high = best.recoveries.net
    count = best.recoveries.expected.count
    costs = ["" for _ in SHOWN_RULES]
    if inputs.breakpoints is not None:
        costs = [
            dollars(replay(inputs.with_rule(RULES[each]), best.plan).figures.cost_usd.value) for each in SHOWN_RULES
        ]
    net = "" if low is None else f"{dollars(low)} to {dollars(high)}"
    return (name, dollars(cost), f"`{best.plan.name}`", net, f"{count.low:.0f} to {count.high:.0f}", *costs)


def dollars(value: float | None) -> str:
    return "" if value is None else f"${value:,.2f}" if value >= 0 else f"\N{MINUS SIGN}${-value:,.2f}"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("paths", nargs="+", type=Path, help="sessions and folders of them")
    print("| " + " | ".join(HEAD) + " |")
    print("| --- | --: | --- | --: | --: |" + " --: |" * len(SHOWN_RULES))
    for path in parser.parse_args().paths:
        for header in sorted(found_in(path), key=lambda each: str(each.path)):
            cells = row(header.path)
            if cells is not None:
                print("| " + " | ".join(cells) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
