"""A coding agent repairs a billing program: Claude Code, with usage, parallel tools, one pause and one compaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import write_claude_code
from .coding_audit import find_the_cents, find_the_clock_change
from .coding_features import add_an_export
from .coding_places import BILL, BILLING, CLOCK, MAIN, REPORT, TEST_BILLING, TEST_CLOCK
from .coding_speed import make_it_fast, write_it_down
from .coding_tools import CodingTools
from .conversation import Conversation, at
from .projects_on_disk import meter_readings, sources
from .workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path


def make(folder: Path) -> str:
    """Create the session's file in an empty temporary folder."""
    files = {**sources("meterbill"), "data/march-2024.csv": meter_readings()}
    tools = CodingTools(Workspace(folder, files))
    talk = Conversation(tools.by_name(), seed=4471, now=at(2026, 9, 14, 8, 2))
    find_the_clock_change(talk)
    find_the_cents(talk)
    add_an_export(talk)
    talk.compaction(SUMMARY)
    make_it_fast(talk)
    write_it_down(talk)
    return write_claude_code.write(talk, "claude-opus-4-8", "2.1.219", "Billing audit for March 2024")


SUMMARY = f"""This session is being continued from a previous conversation. The summary below covers what was said so far.

1. What was asked: explain and fix the differences between our bills for March 2024 and the grid operator's statement (meter
   4471: day 289.001 kWh, night 74.919 kWh, 94.58 EUR; meter 4787: day 366.722, night 92.377, 121.56 EUR). Then add --csv.
2. What was found and changed:
   - {CLOCK}: `last_sunday` went back a week when the month ends on a Sunday. Fixed with `% 7`. Affected: March 2019,
     October 2021, March 2024.
   - {BILLING}: `price` rounded every hour to a cent. It is exact now; `Bill.total_cents` rounds once.
   - {BILLING}: `bill` counted the tiers per band. They are counted over both bands now.
   - {BILLING}: `Line` has a field `start` (UTC) besides `local`.
   - {REPORT}: `table(bills)` writes CSV with offsets. {MAIN}: option `--csv`.
   - {TEST_CLOCK} tests every year of CHANGES; {TEST_BILLING} has tests for tiers, rounding and the October hour.
3. State: 135 tests pass (`python -m unittest`). `{BILL}` prints 94.58 EUR and 121.56 EUR.
4. Differences explained to the user: 4471 92.92 -> 94.58 (clock +0.24, rounding +0.02, tiers +1.40), 4787 117.64 -> 121.56
   (clock +0.26, rounding -0.07, tiers +3.73).
5. Open: nothing. The user will say what comes next."""
