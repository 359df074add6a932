"""The coding agent's second task: a table for the auditor."""

from __future__ import annotations

from .coding_places import BILL, BILLING, MAIN, REPORT, TEST_BILLING
from .conversation import Conversation, call


def add_an_export(talk: Conversation) -> None:
    """Add the part on a second output, next to the text report."""
    talk.user(
        "Good, and thank you for the table. The auditor wants the hours as CSV: meter, local time, band, kWh, cents with three "
        "digits. Add an option --csv to the bill command. Times must be unambiguous in October, so with the offset.",
        after=11 * 60,
    )
    talk.assistant(
        "",
        call("Read", file_path=MAIN),
        call("Read", file_path=REPORT),
        call("Read", file_path=BILLING),
        call(
            "TodoWrite",
            todos=[
                {
                    "content": "Keep the offset on a bill's line",
                    "status": "in_progress",
                    "activeForm": "Keeping the offset",
                },
                {"content": "Write report.table", "status": "pending", "activeForm": "Writing report.table"},
                {"content": "Add --csv to the command line", "status": "pending", "activeForm": "Adding --csv"},
                {"content": "Test October", "status": "pending", "activeForm": "Testing October"},
            ],
        ),
    )
    talk.assistant(
        "A line only keeps the wall clock time, and in October 02:00 exists twice. I keep the instant as well; the offset "
        "follows from it.",
        call(
            "Edit",
            file_path=BILLING,
            old_string="        local: Beginning of the hour on the wall clock.\n",
            new_string="        start: Beginning of the hour, in UTC.\n        local: The same on the wall clock.\n",
            intent="say what the new field is",
        ),
        call(
            "Edit",
            file_path=BILLING,
            old_string="    local: object\n    band: str\n",
            new_string="    start: object\n    local: object\n    band: str\n",
            intent="keep the instant: a wall clock time alone is ambiguous in October",
        ),
        call(
            "Edit",
            file_path=BILLING,
            old_string="Line(local, name, reading.kilowatt_hours, cents)",
            new_string="Line(reading.start, local, name, reading.kilowatt_hours, cents)",
            intent="fill the new field",
        ),
        call(
            "Edit",
            file_path=REPORT,
            old_string="def explain(bill):",
            new_string='''def table(bills):
    """Every hour of every bill as CSV, times with their offset."""
    rows = ["meter,local_time,band,kwh,cents"]
    for bill in bills:
        for line in bill.lines:
            hours = int((line.local - line.start.replace(tzinfo=None)).total_seconds() // 3600)
            time = f"{line.local:%Y-%m-%dT%H:%M}+{hours:02d}:00"
            rows.append(f"{bill.meter},{time},{line.band},{line.kilowatt_hours:.3f},{line.cents:.3f}")
    return "\\n".join(rows)


def explain(bill):''',
            intent="the hours as CSV, unambiguous at the clock changes",
        ),
    )
    talk.assistant(
        "",
        call("Read", file_path=BILLING),
        call(
            "Edit",
            file_path=MAIN,
            old_string='    write = report.explain if "--explain" in arguments else report.summary\n'
            "    for bill in billing.bill_all(meters, tariffs.HOUSEHOLD, first.year, first.month):\n",
            new_string="    bills = billing.bill_all(meters, tariffs.HOUSEHOLD, first.year, first.month)\n"
            '    if "--csv" in arguments:\n        print(report.table(bills))\n        return 0\n'
            '    write = report.explain if "--explain" in arguments else report.summary\n    for bill in bills:\n',
            intent="offer the table on the command line",
        ),
        call("Bash", command=f"{BILL} --csv | sed -n '1,320p'", description="The first fortnight of the table"),
    )
    talk.assistant(
        "The table is right for March. The hours on both sides of the change, and the sum against the bill:",
        call(
            "Bash",
            command=f"{BILL} --csv --meter 4471 | grep -n '2024-03-31T0[0-4]'",
            description="Around the clock change",
        ),
        call(
            "Bash",
            command=f"{BILL} --csv --meter 4471 | awk -F, 'NR>1 {{c+=$5; e[$3]+=$4}} "
            'END {printf "%.3f ct  day %.3f  night %.3f\\n", c, e["day"], e["night"]}\'',
            description="Sum the table",
        ),
    )
    talk.assistant(
        "The hours sum to 90.68 EUR, which is the bill without its fee. Now October, where 02:00 comes twice.",
        call(
            "Edit",
            file_path=TEST_BILLING,
            old_string="class MonthlyBill(unittest.TestCase):",
            new_string="""class Table(unittest.TestCase):
    def test_the_hour_that_comes_twice_is_told_apart(self):
        start = datetime(2026, 10, 24, 22, tzinfo=timezone.utc)
        rows = report.table([billing.bill("7", hours(start, ["1"] * 25), HOUSEHOLD, 2026, 10)]).splitlines()
        self.assertIn("7,2026-10-25T02:00+02:00,night,1.000,18.905", rows)
        self.assertIn("7,2026-10-25T02:00+01:00,night,1.000,18.905", rows)
        self.assertEqual(len(rows), 26)


class MonthlyBill(unittest.TestCase):""",
            intent="hold the October case",
        ),
        call(
            "Edit",
            file_path=TEST_BILLING,
            old_string="from meterbill import billing, readings, tariffs",
            new_string="from meterbill import billing, readings, report, tariffs",
            intent="the new test needs the report",
        ),
        call("Bash", command="python -m unittest -v 2>&1", description="Run the whole suite"),
    )
    talk.assistant(
        "",
        call(
            "TodoWrite",
            todos=[
                {
                    "content": "Keep the offset on a bill's line",
                    "status": "completed",
                    "activeForm": "Keeping the offset",
                },
                {"content": "Write report.table", "status": "completed", "activeForm": "Writing report.table"},
                {"content": "Add --csv to the command line", "status": "completed", "activeForm": "Adding --csv"},
                {"content": "Test October", "status": "completed", "activeForm": "Testing October"},
            ],
        ),
        call("Read", file_path=BILLING),
        call("Grep", pattern="usage:|--explain|--csv"),
    )
    talk.assistant(
        "`--csv` works; the usage line does not mention it yet.",
        call(
            "Edit",
            file_path=MAIN,
            old_string='        print("usage: python -m meterbill bill FILE [--explain] [--meter NUMBER]", file=sys.stderr)',
            new_string='        print("usage: python -m meterbill bill FILE [--explain | --csv] [--meter NUMBER]", file=sys.stderr)',
            intent="name the new option",
        ),
        call("Bash", command="python -m meterbill", description="Show the usage line"),
    )
    talk.assistant(
        "Done. `python -m meterbill bill data/march-2024.csv --csv` prints one line an hour, with the offset, so the two "
        "hours called 02:00 in October are `+02:00` and `+01:00`. 135 tests pass."
    )
