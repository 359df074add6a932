"""From readings to a bill."""

from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal

from meterbill import clock
from meterbill.tariffs import band

CENT = Decimal("1")


@dataclass
class Line:
    """One hour on a bill.

    Attributes:
        local: Beginning of the hour on the wall clock.
        band: `day` or `night`.
        kilowatt_hours: Energy of the hour.
        cents: What the hour costs.
    """

    local: object
    band: str
    kilowatt_hours: Decimal
    cents: Decimal


@dataclass
class Bill:
    """What one meter owes for one month.

    Attributes:
        meter: Number of the meter.
        year: Year of the local month.
        month: The local month.
        tariff: The tariff it was priced with.
        lines: One for every hour of the month.
    """

    meter: str
    year: int
    month: int
    tariff: object
    lines: list = field(default_factory=list)

    def energy(self, name=None):
        """Kilowatt hours of one band, or of both."""
        return sum((line.kilowatt_hours for line in self.lines if name in (None, line.band)), Decimal(0))

    def energy_cents(self, name=None):
        """Cents of one band, or of both."""
        return sum((line.cents for line in self.lines if name in (None, line.band)), Decimal(0))

    def total_cents(self):
        """What is owed, in whole cents."""
        return (self.energy_cents() + self.tariff.fee_cents).quantize(CENT, ROUND_HALF_UP)


def price(tariff, used, amount, name):
    """Price an amount that comes on top of what was used already in the month.

    An amount that crosses a tier's limit is split there.
    """
    cents = Decimal(0)
    for tier in tariff.tiers:
        if amount <= 0:
            break
        if tier.limit is not None and used >= tier.limit:
            continue
        room = amount if tier.limit is None else min(amount, tier.limit - used)
        cents += room * tier.cents[name]
        used += room
        amount -= room
    return cents.quantize(CENT, ROUND_HALF_UP)


def bill(meter, readings, tariff, year, month):
    """Bill the hours of one local month.

    Readings outside the month are left out. The order of the readings is the order in which tiers fill up.
    """
    result = Bill(meter, year, month, tariff)
    used = {"day": Decimal(0), "night": Decimal(0)}
    for reading in readings:
        local = clock.local(reading.start)
        if (local.year, local.month) != (year, month):
            continue
        name = band(local.hour)
        cents = price(tariff, used[name], reading.kilowatt_hours, name)
        used[name] += reading.kilowatt_hours
        result.lines.append(Line(local, name, reading.kilowatt_hours, cents))
    return result


def bill_all(meters, tariff, year, month):
    """Bill every meter, in order of their numbers."""
    return [bill(meter, readings, tariff, year, month) for meter, readings in sorted(meters.items())]


def check_hours(result):
    """Missing or surplus hours of a bill, as a list of sentences."""
    seen = {}
    for line in result.lines:
        seen.setdefault(line.local.date(), []).append(line.local.hour)
    problems = []
    for day, hours in sorted(seen.items()):
        expected = clock.hours_of_day(day)
        if len(hours) != expected:
            problems.append(f"{day}: {len(hours)} hours, expected {expected}")
    return problems
