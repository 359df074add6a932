"""Tariffs: bands by the hour, tiers by the amount."""

from dataclasses import dataclass
from decimal import Decimal

NIGHT_BEGINS = 22
NIGHT_ENDS = 6


@dataclass(frozen=True)
class Tier:
    """A price that holds up to an amount.

    Attributes:
        limit: Kilowatt hours of the month up to which the price holds; None for the last tier.
        cents: Price of one kilowatt hour, in cents, by band.
    """

    limit: Decimal | None
    cents: dict


@dataclass(frozen=True)
class Tariff:
    """A name, a monthly fee in cents and tiers in rising order."""

    name: str
    fee_cents: Decimal
    tiers: tuple


HOUSEHOLD = Tariff(
    name="household",
    fee_cents=Decimal("390"),
    tiers=(
        Tier(Decimal("150"), {"day": Decimal("24.610"), "night": Decimal("18.905")}),
        Tier(Decimal("400"), {"day": Decimal("27.480"), "night": Decimal("20.115")}),
        Tier(None, {"day": Decimal("31.225"), "night": Decimal("22.870")}),
    ),
)


def band(hour):
    """The band of a local hour."""
    return "night" if hour >= NIGHT_BEGINS or hour < NIGHT_ENDS else "day"
