"""Files of the billing program, and the command the coding agent runs most."""

from .workspace import HOME

CLOCK = f"{HOME}/meterbill/clock.py"
BILLING = f"{HOME}/meterbill/billing.py"
MAIN = f"{HOME}/meterbill/__main__.py"
REPORT = f"{HOME}/meterbill/report.py"
TEST_CLOCK = f"{HOME}/tests/test_clock.py"
TEST_BILLING = f"{HOME}/tests/test_billing.py"

BILL = "python -m meterbill bill data/march-2024.csv"
