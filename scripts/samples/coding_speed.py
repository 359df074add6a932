"""The coding agent's last tasks, after the conversation was compacted: speed, and a note for the auditor."""

from __future__ import annotations

from .coding_places import BILL, BILLING, CLOCK
from .conversation import Conversation, call
from .workspace import HOME

COUNT_CALLS = """python - <<'PROGRAM'
import collections, sys
calls = collections.Counter()
def count(frame, event, argument):
    if event == "call" and "/meterbill/" in frame.f_code.co_filename:
        calls[frame.f_code.co_name] += 1
from meterbill import billing, readings, tariffs
meters = readings.by_meter(readings.load("data/march-2024.csv"))
sys.setprofile(count)
billing.bill_all(meters, tariffs.HOUSEHOLD, 2024, 3)
sys.setprofile(None)
for name, number in calls.most_common():
    if not name.startswith("<"):
        print(f"{number:>8,}  {name}")
PROGRAM"""


def make_it_fast(talk: Conversation) -> None:
    """Add the part on the clock change that is computed for every reading."""
    talk.user(
        "Next: the yearly run has 40,000 meters and takes the whole night. Where does the time go? Don't tell me seconds from "
        "this small machine, tell me how often what is called.",
        after=74,
    )
    talk.assistant(
        "I count calls rather than time them, then.",
        call("Read", file_path=BILLING),
        call("Read", file_path=CLOCK),
        call(
            "Bash",
            command=COUNT_CALLS,
            description="Count calls while billing two meters",
        ),
        thinking="1492 readings, offset twice per reading... change() is called twice per offset, last_sunday twice. Caching by "
        "year removes nearly all of it. price() is called once a reading, which is needed.",
    )
    talk.assistant(
        "For 1,492 readings the two clock changes of the year are worked out 2,984 times: two dates that never change within a "
        "year. I remember them by year and month.",
        call(
            "Edit",
            file_path=CLOCK,
            old_string="from datetime import date, datetime, timedelta, timezone\n",
            new_string="from datetime import date, datetime, timedelta, timezone\nfrom functools import cache\n",
            intent="remember what depends on the year alone",
        ),
        call(
            "Edit",
            file_path=CLOCK,
            old_string="def change(year, month):",
            new_string="@cache\ndef change(year, month):",
            intent="a year has two clock changes, compute them once",
        ),
    )
    talk.assistant(
        "",
        call(
            "Bash",
            command=COUNT_CALLS,
            description="Count calls again",
        ),
        call("Bash", command=f"{BILL}", description="The figures must not move"),
    )
    talk.assistant(
        "From 2,984 to 2, and the figures are the same. What is left is one `local`, one `offset`, one `band` and one `price` "
        "for every hour, which is the work itself. Does the bill keep anything it need not keep? Let me look at the lines.",
        call("Read", file_path=BILLING, offset=1, limit=70),
        call("Grep", pattern=r"\.lines|energy\("),
        call(
            "Bash",
            command=f"{BILL} --meter 4787 --explain | sed -n '1,260p'",
            description="What is kept for every hour",
        ),
    )
    talk.assistant(
        "`summary` walks over all lines five times, through `energy` and `energy_cents`. At 743 hours and 40,000 meters that is "
        "149 million steps for five sums. A bill can keep its sums while it is filled.",
        call(
            "Edit",
            file_path=BILLING,
            old_string='''    lines: list = field(default_factory=list)

    def energy(self, name=None):
        """Kilowatt hours of one band, or of both."""
        return sum((line.kilowatt_hours for line in self.lines if name in (None, line.band)), Decimal(0))

    def energy_cents(self, name=None):
        """Cents of one band, or of both."""
        return sum((line.cents for line in self.lines if name in (None, line.band)), Decimal(0))
''',
            new_string='''    lines: list = field(default_factory=list)
    sums: dict = field(default_factory=lambda: {"day": [Decimal(0), Decimal(0)], "night": [Decimal(0), Decimal(0)]})

    def add(self, line):
        """Append an hour."""
        self.lines.append(line)
        self.sums[line.band][0] += line.kilowatt_hours
        self.sums[line.band][1] += line.cents

    def energy(self, name=None):
        """Kilowatt hours of one band, or of both."""
        return sum((self.sums[band][0] for band in ([name] if name else self.sums)), Decimal(0))

    def energy_cents(self, name=None):
        """Cents of one band, or of both."""
        return sum((self.sums[band][1] for band in ([name] if name else self.sums)), Decimal(0))
''',
            intent="keep sums while a bill is filled instead of walking over its hours",
        ),
        call(
            "Edit",
            file_path=BILLING,
            old_string="        result.lines.append(Line(",
            new_string="        result.add(Line(",
            intent="fill the sums",
        ),
    )
    talk.assistant(
        "",
        call("Read", file_path=BILLING),
        call("Bash", command="python -m unittest 2>&1 | tail -4", description="Run the suite"),
        call("Bash", command=BILL, description="The figures must not move"),
    )
    talk.assistant(
        "135 tests pass and the bills are unchanged to the cent. Per meter and month the program did 2,984 computations of a "
        "clock change and about 3,700 steps for sums; it now does none of the former after the first meter and ten of the "
        "latter."
    )


def write_it_down(talk: Conversation) -> None:
    """Add the part on the note for the auditor."""
    talk.user(
        "Great. Put the three corrections into a file CHANGES.md, dated today, in words an auditor understands.",
        after=95,
    )
    text = """# Changes

## 14 September 2026

Three corrections to how a month is billed. All were found by comparing March 2024 with the grid operator's statement.

1. **The clock change.** In a month that ends on a Sunday, the program changed to summer or winter time a week early. The
   hours of that week were one hour off, and two of them a day fell into the wrong band. Months affected: March 2019,
   October 2021 and March 2024.
2. **Rounding.** Every hour was rounded to a whole cent. Hours are now priced exactly and the month is rounded once.
3. **Tiers.** The limits of 150 and 400 kWh were counted separately for day and night. They hold for both together. This
   affects every month in which a customer used more than 150 kWh, always in the customer's favour.

| meter | billed | correct |
|---|---|---|
| 4471 | 92.92 EUR | 94.58 EUR |
| 4787 | 117.64 EUR | 121.56 EUR |
"""
    talk.assistant(
        "",
        call("Write", file_path=f"{HOME}/CHANGES.md", content=text),
        call("Bash", command="python -m unittest 2>&1 | tail -3 && ls", description="A last look"),
    )
    talk.assistant(
        "`CHANGES.md` is written: the three causes, the months they affect, and both meters before and after."
    )
