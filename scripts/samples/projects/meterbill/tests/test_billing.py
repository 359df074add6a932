"""Bills."""

import unittest
from datetime import datetime, timedelta, timezone
from decimal import Decimal

from meterbill import billing, readings, tariffs

HOUSEHOLD = tariffs.HOUSEHOLD


def hours(start, amounts, meter="1001"):
    return [readings.Reading(meter, start + timedelta(hours=step), Decimal(a)) for step, a in enumerate(amounts)]


class Price(unittest.TestCase):
    def test_first_tier(self):
        self.assertEqual(billing.price(HOUSEHOLD, Decimal(0), Decimal(100), "day"), Decimal("2461"))

    def test_night_is_cheaper_in_every_tier(self):
        for tier in HOUSEHOLD.tiers:
            self.assertLess(tier.cents["night"], tier.cents["day"])

    def test_amount_is_split_at_a_limit(self):
        expected = (Decimal(50) * Decimal("24.610") + Decimal(50) * Decimal("27.480")).quantize(Decimal(1))
        self.assertEqual(billing.price(HOUSEHOLD, Decimal(100), Decimal(100), "day"), expected)

    def test_last_tier_has_no_limit(self):
        self.assertEqual(billing.price(HOUSEHOLD, Decimal(9000), Decimal(1000), "night"), Decimal("22870"))


class MonthlyBill(unittest.TestCase):
    def setUp(self):
        self.start = datetime(2026, 1, 31, 23, tzinfo=timezone.utc)

    def test_hours_outside_the_month_are_left_out(self):
        result = billing.bill("1001", hours(self.start - timedelta(hours=3), ["1"] * 5), HOUSEHOLD, 2026, 2)
        self.assertEqual(len(result.lines), 2)

    def test_bands_follow_the_wall_clock(self):
        result = billing.bill("1001", hours(self.start, ["1"] * 24), HOUSEHOLD, 2026, 2)
        self.assertEqual((result.energy("night"), result.energy("day")), (Decimal(8), Decimal(16)))

    def test_fee_is_added_once(self):
        result = billing.bill("1001", [], HOUSEHOLD, 2026, 2)
        self.assertEqual(result.total_cents(), HOUSEHOLD.fee_cents)

    def test_complete_days_have_no_problems(self):
        result = billing.bill("1001", hours(self.start, ["0.2"] * 24 * 28), HOUSEHOLD, 2026, 2)
        self.assertEqual(billing.check_hours(result), [])


if __name__ == "__main__":
    unittest.main()
