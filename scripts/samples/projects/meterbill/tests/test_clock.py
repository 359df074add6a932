"""Clock changes."""

import unittest
from datetime import date, datetime, timedelta, timezone

from meterbill import clock

CHANGES = {
    2019: (date(2019, 3, 31), date(2019, 10, 27)),
    2020: (date(2020, 3, 29), date(2020, 10, 25)),
    2021: (date(2021, 3, 28), date(2021, 10, 31)),
    2022: (date(2022, 3, 27), date(2022, 10, 30)),
    2023: (date(2023, 3, 26), date(2023, 10, 29)),
    2024: (date(2024, 3, 31), date(2024, 10, 27)),
    2025: (date(2025, 3, 30), date(2025, 10, 26)),
    2026: (date(2026, 3, 29), date(2026, 10, 25)),
}


class LastSunday(unittest.TestCase):
    def test_2020(self):
        self.assertEqual((clock.last_sunday(2020, 3), clock.last_sunday(2020, 10)), CHANGES[2020])

    def test_2022(self):
        self.assertEqual((clock.last_sunday(2022, 3), clock.last_sunday(2022, 10)), CHANGES[2022])

    def test_2026(self):
        self.assertEqual((clock.last_sunday(2026, 3), clock.last_sunday(2026, 10)), CHANGES[2026])


class LocalHour(unittest.TestCase):
    """One test for every hour around the change of March 2026."""


def add_hour_test(instant):
    wall = instant + (clock.SUMMER if instant >= datetime(2026, 3, 29, 1, tzinfo=timezone.utc) else clock.WINTER)

    def test(self):
        self.assertEqual(clock.local(instant), wall.replace(tzinfo=None))

    name = f"test_local_time_of_{instant:%Y_%m_%d_at_%H}_utc"
    setattr(LocalHour, name, test)


for step in range(120):
    add_hour_test(datetime(2026, 3, 27, tzinfo=timezone.utc) + timedelta(hours=step))


if __name__ == "__main__":
    unittest.main()
