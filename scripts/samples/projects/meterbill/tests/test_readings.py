"""Readings."""

import unittest
from decimal import Decimal

from meterbill import readings


class ParseLine(unittest.TestCase):
    def test_amounts_are_exact(self):
        reading = readings.parse_line({"meter": "7", "start_utc": "2024-03-01T00:00Z", "kwh": "0.105"}, 2)
        self.assertEqual(reading.kilowatt_hours, Decimal("0.105"))

    def test_a_bad_time_names_its_line(self):
        with self.assertRaisesRegex(readings.ReadingError, "line 9"):
            readings.parse_line({"meter": "7", "start_utc": "yesterday", "kwh": "1"}, 9)

    def test_a_missing_column_is_named(self):
        with self.assertRaisesRegex(readings.ReadingError, "kwh"):
            readings.parse_line({"meter": "7", "start_utc": "2024-03-01T00:00Z"}, 3)


if __name__ == "__main__":
    unittest.main()
