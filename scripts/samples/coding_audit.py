"""The coding agent's first task: three mistakes in a bill, found one by one."""

from __future__ import annotations

from .coding_places import BILL, BILLING, CLOCK, TEST_BILLING, TEST_CLOCK
from .conversation import Conversation, call
from .workspace import HOME


def find_the_clock_change(talk: Conversation) -> None:
    """Add the part on wrong bands in the last week of a month that ends on a Sunday."""
    talk.user(
        "We are being audited for March 2024. The grid operator's statement for meter 4471 says day 289.001 kWh, night "
        "74.919 kWh, to pay 94.58 EUR. For 4787 it says day 366.722, night 92.377, 121.56 EUR. Our program disagrees on "
        "both. The readings are in data/march-2024.csv and are the same as theirs, we compared them. Find out what is "
        "wrong and fix it. Please explain every difference, I have to write it down for the auditor.",
        after=0,
    )
    talk.assistant(
        "I'll look at what there is first, and at what the program says today.",
        call("Glob", pattern="**/*.py"),
        call("Read", file_path=f"{HOME}/README.md"),
        call("Bash", command=BILL, description="Bill both meters as the program is now"),
        thinking="The energy total may agree while the bands differ. That would point at the assignment of hours to bands, "
        "not at the readings. I should see the program's figures before I read code.",
    )
    talk.assistant(
        "The total energy agrees (363.920 kWh), only its split does: about 2.4 kWh sit in the night band that belong to the "
        "day. So the hours are counted, but some are put in the wrong band.",
        call("Read", file_path=BILLING),
        call("Read", file_path=f"{HOME}/meterbill/tariffs.py"),
        call("Read", file_path=CLOCK),
    )
    talk.assistant("", call("Bash", command="python -m unittest -v 2>&1", description="Run the test suite"))
    talk.assistant(
        "One test of 134 fails already, about rounding; I keep it in mind for the cents. The tests of the clock only know "
        "March 2026. Let me see the hours as the program bills them around the end of March 2024.",
        call(
            "Bash", command=f"{BILL} --meter 4471 --explain | sed -n '480,780p'", description="Hours from 21 March on"
        ),
        call("Grep", pattern=r"last_sunday|offset\(|local\("),
        thinking="31 March 2024 is a Sunday. last.weekday() is then 6 and the function goes back 7 days to the 24th. For "
        "every other weekday it is right. So in 2024 summer time would begin a week early: seven days in which every hour is "
        "one hour late on the wall clock, which moves the hour from 21 to 22 UTC... That fits a shift of a few kWh between "
        "the bands.",
    )
    talk.assistant(
        "There it is: in the list, 24 March has no 02:00, so the program changes the clocks on the 24th. The real change "
        "was on the 31st. I check the function against the years the test file lists.",
        call(
            "Bash",
            command='python -c "from tests.test_clock import CHANGES; from meterbill.clock import last_sunday; '
            "[print(y, m, last_sunday(y, m), c, 'ok' if last_sunday(y, m) == c else 'WRONG') "
            'for y, pair in CHANGES.items() for m, c in zip((3, 10), pair)]"',
            description="Compare last_sunday with the known clock changes",
        ),
        call("Read", file_path=TEST_CLOCK),
    )
    talk.assistant(
        "Wrong exactly where the month ends on a Sunday: March 2019, October 2021, March 2024. `weekday()` is 6 on a Sunday, "
        "and the function then goes back seven days instead of none.",
        call(
            "Edit",
            file_path=CLOCK,
            old_string="    return last - timedelta(days=last.weekday() + 1)",
            new_string="    return last - timedelta(days=(last.weekday() + 1) % 7)",
            intent="a month that ends on a Sunday changes its clock on that day",
        ),
        call(
            "Edit",
            file_path=TEST_CLOCK,
            old_string="""    def test_2020(self):
        self.assertEqual((clock.last_sunday(2020, 3), clock.last_sunday(2020, 10)), CHANGES[2020])

    def test_2022(self):
        self.assertEqual((clock.last_sunday(2022, 3), clock.last_sunday(2022, 10)), CHANGES[2022])

    def test_2026(self):
        self.assertEqual((clock.last_sunday(2026, 3), clock.last_sunday(2026, 10)), CHANGES[2026])
""",
            new_string="""    def test_every_listed_year(self):
        for year, changes in CHANGES.items():
            with self.subTest(year):
                self.assertEqual((clock.last_sunday(year, 3), clock.last_sunday(year, 10)), changes)
""",
            intent="test every year of the table, not the three that happen to be right",
        ),
    )
    talk.assistant(
        "",
        call("Bash", command=BILL, description="Bill both meters again"),
        call("Bash", command="python -m unittest tests.test_clock 2>&1 | tail -4", description="Run the clock's tests"),
    )
    talk.assistant(
        "The energy now agrees with the operator to the watt hour: day 289.001 and night 74.919 kWh for 4471, day 366.722 "
        "and night 92.377 kWh for 4787.\n\nFor your note: `last_sunday` went back a whole week when the month itself ends on a "
        "Sunday. In March 2024 that put the hours from the 24th to the 30th one hour late, and the hour from 05:00 to 06:00 "
        "was counted as day, the hour from 21:00 to 22:00 as night. Affected months: March 2019, October 2021, March 2024.\n\n"
        "The amounts still differ: we say 93.16 EUR, the operator 94.58. Shall I go on?"
    )


def find_the_cents(talk: Conversation) -> None:
    """Add the part on rounded hours, and on tiers within every band."""
    talk.user("Yes please. 1.42 EUR is too much for rounding alone, isn't it?", after=71)
    talk.assistant(
        "It is, so I expect two causes. I read the pricing again with the README beside it.",
        call("Read", file_path=BILLING),
        call("Grep", pattern="tier|round|quantize", glob="**/*.*"),
        thinking="README: a tier's price holds up to its limit, counted over the whole month and over BOTH bands. The code "
        "keeps used per band. And price() quantizes to a whole cent for every hour. Two separate mistakes; measure each.",
    )
    talk.assistant(
        "Two things disagree with the README. `price` rounds every single hour to a whole cent, and `bill` counts the tiers "
        "for each band separately. I take them one at a time so that each has its own figure.",
        call(
            "Edit",
            file_path=BILLING,
            old_string="    return cents.quantize(CENT, ROUND_HALF_UP)\n\n\ndef bill(",
            new_string="    return cents\n\n\ndef bill(",
            intent="price hours exactly, round the month once",
        ),
        call("Bash", command=BILL, description="The effect of rounding alone"),
    )
    talk.assistant(
        "Rounding the hours is worth 2 cents for 4471 (93.16 to 93.18) and minus 7 for 4787 (117.90 to 117.83). Now the tiers.",
        call("Read", file_path=BILLING, offset=74, limit=44),
    )
    talk.assistant(
        "",
        call(
            "Edit",
            file_path=BILLING,
            old_string='    used = {"day": Decimal(0), "night": Decimal(0)}\n',
            new_string="    used = Decimal(0)\n",
            intent="tiers fill up over both bands together",
        ),
        call(
            "Edit",
            file_path=BILLING,
            old_string="price(tariff, used[name], reading.kilowatt_hours, name)\n        used[name] +=",
            new_string="price(tariff, used, reading.kilowatt_hours, name)\n        used +=",
            intent="price an hour on top of everything used in the month",
        ),
        call("Bash", command=BILL, description="The effect of the tiers"),
    )
    talk.assistant(
        "94.58 EUR and 121.56 EUR: both meters agree with the operator. I read the module once as a whole, then the tests.",
        call("Read", file_path=BILLING),
        call("Read", file_path=TEST_BILLING),
        call("Bash", command="python -m unittest tests.test_billing 2>&1", description="Run the billing tests"),
    )
    talk.assistant(
        "The failing test rounds its own expectation, half to even at that. The price of 100 kWh across the limit is exactly "
        "2604.5 cents; nothing should be rounded there. I correct it and add a test for each of the two mistakes.",
        call(
            "Edit",
            file_path=TEST_BILLING,
            old_string='        expected = (Decimal(50) * Decimal("24.610") + Decimal(50) * Decimal("27.480")).quantize(Decimal(1))\n',
            new_string='        expected = Decimal(50) * Decimal("24.610") + Decimal(50) * Decimal("27.480")\n',
            intent="a price is exact, only a month's total is rounded",
        ),
        call(
            "Edit",
            file_path=TEST_BILLING,
            old_string="    def test_fee_is_added_once(self):",
            new_string="""    def test_tiers_count_both_bands(self):
        result = billing.bill("1001", hours(self.start, ["10"] * 24), HOUSEHOLD, 2026, 2)
        first, second, _ = HOUSEHOLD.tiers
        night, day = Decimal(70), Decimal(80)
        later_night, later_day = Decimal(10), Decimal(80)
        expected = night * first.cents["night"] + day * first.cents["day"]
        expected += later_night * second.cents["night"] + later_day * second.cents["day"]
        self.assertEqual(result.energy_cents(), expected)

    def test_hours_are_not_rounded(self):
        result = billing.bill("1001", hours(self.start, ["0.001"] * 24), HOUSEHOLD, 2026, 2)
        self.assertEqual(result.energy_cents("night"), Decimal("0.008") * HOUSEHOLD.tiers[0].cents["night"])

    def test_fee_is_added_once(self):""",
            intent="hold the two rules that were broken",
        ),
        call("Bash", command="python -m unittest -v 2>&1", description="Run the whole suite"),
    )
    talk.assistant(
        "One of my own tests fails: I assumed the first 24 hours begin at midnight with six night hours, eight of them in "
        "total, and put 150 kWh at the wrong hour. The order matters, so I look at where the limit falls.",
        call(
            "Bash",
            command='python -c "from tests.test_billing import *; '
            "r = billing.bill('1001', hours(datetime(2026, 1, 31, 23, tzinfo=timezone.utc), ['10'] * 24), HOUSEHOLD, 2026, 2); "
            '[print(l.local, l.band, l.kilowatt_hours, l.cents) for l in r.lines]"',
            description="The day of the test, hour by hour",
        ),
        thinking="Hours 0..5 night (60), 6..14 day (90): 150 reached after 15 hours. Then 15..21 day (70), 22..23 night (20). "
        "So night 60 and day 90 in the first tier, night 20 and day 70 in the second.",
    )
    talk.assistant(
        "Six night hours and nine day hours fill the first tier. My expectation was wrong, the program is right.",
        call(
            "Edit",
            file_path=TEST_BILLING,
            old_string="        night, day = Decimal(70), Decimal(80)\n        later_night, later_day = Decimal(10), Decimal(80)\n",
            new_string="        night, day = Decimal(60), Decimal(90)\n        later_night, later_day = Decimal(20), Decimal(70)\n",
            intent="the first tier is full after 15 hours: six of the night, nine of the day",
        ),
        call("Bash", command="python -m unittest 2>&1 | tail -4", description="Run the suite"),
    )
    talk.assistant(
        "All 134 tests pass, and both bills agree with the operator to the cent.\n\n| cause | 4471 | 4787 |\n|---|---|---|\n"
        "| billed so far | 92.92 | 117.64 |\n| clock change a week early | +0.24 | +0.26 |\n| every hour rounded | +0.02 | -0.07 |\n"
        "| tiers counted per band | +1.40 | +3.73 |\n| now, and the operator | 94.58 | 121.56 |\n\nThe last one affects every month of "
        "every customer who passes 150 kWh, always in the customer's favour. You may want to tell the auditor that before "
        "they find it."
    )
