"""The command line: `python -m meterbill bill FILE [--explain] [--meter NUMBER]`."""

import sys

from meterbill import billing, readings, report, tariffs


def main(arguments):
    """Run one command and return its exit code."""
    if len(arguments) < 2 or arguments[0] != "bill":
        print("usage: python -m meterbill bill FILE [--explain] [--meter NUMBER]", file=sys.stderr)
        return 2
    meters = readings.by_meter(readings.load(arguments[1]))
    if "--meter" in arguments:
        number = arguments[arguments.index("--meter") + 1]
        meters = {number: meters[number]}
    first = next(iter(meters.values()))[24].start
    write = report.explain if "--explain" in arguments else report.summary
    for bill in billing.bill_all(meters, tariffs.HOUSEHOLD, first.year, first.month):
        print(write(bill))
        for problem in billing.check_hours(bill):
            print(f"  warning: {problem}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
