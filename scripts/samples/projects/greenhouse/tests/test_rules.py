"""Rules."""

import unittest

from control.loop import step
from control.rules import RULES, decide


class Decide(unittest.TestCase):
    def test_below_switches_on(self):
        self.assertIs(decide(RULES[0], 12.0, False), True)

    def test_above_switches_off(self):
        self.assertIs(decide(RULES[0], 30.0, True), False)

    def test_inside_leaves_alone(self):
        self.assertIsNone(decide(RULES[0], 20.0, True))

    def test_a_missing_value_switches_nothing(self):
        self.assertEqual(step({}, {}), [])


if __name__ == "__main__":
    unittest.main()
