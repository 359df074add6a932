"""A market that exists only here: prices, order books, funding and liquidations from a seeded random walk.

All arithmetic is on integers and plain fractions, so that every machine gets the same digits.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

BEGINNING = {"BTC": 61_240.0, "ETH": 2_412.0, "SOL": 146.0}

TICK = {"BTC": 1.0, "ETH": 0.1, "SOL": 0.01}


@dataclass
class Market:
    """Three perpetual futures, a candle every five minutes.

    Attributes:
        seed: Of the random walk.
        minutes: Minutes since the session began.
        candles: Open, high, low, close and volume in thousand dollars of every five minutes, by symbol, oldest first.
    """

    seed: int
    minutes: int = 0
    candles: dict[str, list[tuple[float, float, float, float, int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)  # noqa: S311 - a simulation, the same on every run
        self.candles = {symbol: [(price, price, price, price, 900)] for symbol, price in BEGINNING.items()}
        self.advance(24 * 60)
        self.minutes = 0

    def advance(self, minutes: int) -> None:
        """Let time pass, in steps of five minutes."""
        self.minutes += minutes
        for _ in range(minutes // 5):
            common = self.swing()
            for candles in self.candles.values():
                opened = candles[-1][3]
                closed = opened * (1 + (0.7 * common + 0.6 * self.swing()) / 230)
                reach = opened * abs(self.swing()) / 520
                volume = round(700 + 4000 * abs(common) + self.random.randrange(500))
                high, low = max(opened, closed) + reach, min(opened, closed) - reach
                candles.append((opened, high, low, closed, volume))

    def swing(self) -> float:
        """Draw a number around 0, rarely beyond -1 or 1."""
        return sum(self.random.random() for _ in range(4)) / 2 - 1

    def price(self, symbol: str) -> float:
        """Return the last price."""
        tick = TICK[symbol]
        return round(round(self.candles[symbol][-1][3] / tick) * tick, 2)

    def change(self, symbol: str, hours: int) -> float:
        """Percent since some hours ago."""
        candles = self.candles[symbol]
        before = candles[max(0, len(candles) - 1 - hours * 12)][3]
        return (candles[-1][3] / before - 1) * 100

    def range(self, symbol: str, hours: int) -> tuple[float, float]:
        """Lowest and highest price of the last hours."""
        recent = self.candles[symbol][-hours * 12 :]
        return min(candle[2] for candle in recent), max(candle[1] for candle in recent)

    def volume(self, symbol: str, hours: int) -> int:
        """Traded in the last hours, in thousand dollars."""
        return sum(candle[4] for candle in self.candles[symbol][-hours * 12 :])

    def funding(self, symbol: str) -> float:
        """Funding for eight hours in percent; it follows the last day's direction."""
        return round(0.0100 + self.change(symbol, 24) / 250 + self.swing() / 400, 4)

    def book(self, symbol: str, levels: int) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
        """Bids and asks, best first: price and size in coins."""
        price, tick = self.price(symbol), TICK[symbol]
        unit = 40_000 / price
        sides = []
        for sign in (-1, 1):
            level, side = price, []
            for _ in range(levels):
                level += sign * tick * self.random.randrange(1, 6)
                side.append((round(level, 2), round(unit * (0.2 + 3 * self.random.random() ** 3), 3)))
            sides.append(side)
        return sides[0], sides[1]

    def liquidations(self, symbol: str, count: int) -> list[tuple[int, str, float, int]]:
        """Recent liquidations: minutes ago, side, price, dollars; newest first."""
        low, high = self.range(symbol, 4)
        rows = []
        for _ in range(count):
            minutes = self.random.randrange(1, 240)
            side = "long" if self.random.random() < 0.5 - self.change(symbol, 4) / 6 else "short"
            price = round(low + (high - low) * self.random.random(), 2)
            rows.append((minutes, side, price, 1000 * self.random.randrange(3, 400)))
        return sorted(rows)
