"""Readings: one hour of one meter."""

import csv
from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal


@dataclass(frozen=True)
class Reading:
    """What one meter counted in one hour.

    Attributes:
        meter: Number of the meter.
        start: Beginning of the hour, in UTC.
        kilowatt_hours: Energy used in that hour.
    """

    meter: str
    start: datetime
    kilowatt_hours: Decimal


class ReadingError(ValueError):
    """A line that is not a reading."""


def parse_line(row, number):
    """Turn one line of a file into a reading."""
    try:
        meter, start, amount = row["meter"], row["start_utc"], row["kwh"]
    except KeyError as missing:
        raise ReadingError(f"line {number}: no column {missing}") from None
    try:
        instant = datetime.strptime(start, "%Y-%m-%dT%H:%MZ").replace(tzinfo=timezone.utc)
    except ValueError:
        raise ReadingError(f"line {number}: {start!r} is not a time like 2024-03-01T00:00Z") from None
    return Reading(meter, instant, Decimal(amount))


def load(path):
    """All readings of a file, in file order."""
    with open(path, newline="", encoding="utf-8") as file:
        return [parse_line(row, number) for number, row in enumerate(csv.DictReader(file), 2)]


def by_meter(readings):
    """Readings of every meter, in order of first appearance."""
    meters = {}
    for reading in readings:
        meters.setdefault(reading.meter, []).append(reading)
    return meters
