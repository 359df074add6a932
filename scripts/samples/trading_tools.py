"""The tools of the trading agent: a simulated market, an account and a memory that really stores and finds."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .conversation import ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from .market import Market

MENTIONED = re.compile(r"[a-z0-9]{3,}")

DESCRIPTIONS = {
    "get_market_data": ("Prices, range, funding, open interest and volume of one symbol.", ["symbol"]),
    "get_multi_timeframe": ("Candles of one symbol on three time frames.", ["symbol"]),
    "get_orderbook": ("The first levels of the order book of one symbol.", ["symbol"]),
    "get_liquidations": ("Liquidations of the last four hours.", ["symbol"]),
    "get_account": ("Balance, positions and open risk.", []),
    "search_web": ("Search the web; five results with snippets.", ["query"]),
    "recall_memory": ("Search your own notes; ten results with previews and scores.", ["query"]),
    "store_memory": ("Store a note.", ["title", "text"]),
    "update_memory": ("Change the lifecycle of a note or append to it.", ["identifier", "lifecycle", "addition"]),
    "execute_trade": (
        "Open a position with a stop and a target.",
        ["symbol", "side", "dollars", "stop", "target", "reason"],
    ),
    "modify_position": ("Move a position's stop.", ["symbol", "stop"]),
    "close_position": ("Close a position at the market.", ["symbol", "reason"]),
}


@dataclass
class Note:
    """Something the agent wrote down."""

    identifier: str
    title: str
    text: str
    hour: int
    lifecycle: str = "ACTIVE"


@dataclass
class Position:
    """An open trade."""

    symbol: str
    side: str
    dollars: float
    entry: float
    stop: float
    target: float


class TradingDesk:
    """The market, the portfolio, and the notes."""

    def __init__(self, market: Market, articles: list[tuple[str, str, str]], notes: list[tuple[str, str]]) -> None:
        self.market = market
        self.articles = articles
        self.notes = [
            Note(f"n_{4100 + 37 * i:x}", title, text, -20 * (len(notes) - i)) for i, (title, text) in enumerate(notes)
        ]
        self.positions: dict[str, Position] = {}
        self.balance = 20_000.0

    def by_name(self) -> dict[str, Callable[..., ToolResult | str]]:
        return {name: getattr(self, name) for name in DESCRIPTIONS}

    def get_market_data(self, symbol: str) -> str:
        """Everything about one symbol, in sections."""
        market = self.market
        price = market.price(symbol)
        rows = [f"{symbol}-PERP  {self.clock()}", "", "PRICE", f"  last            {price:>14,.2f}"]
        rows += [f"  change {hours:>2} h     {market.change(symbol, hours):>+13.2f} %" for hours in (1, 4, 24)]
        for hours in (4, 24):
            low, high = market.range(symbol, hours)
            place = (price - low) / (high - low) * 100
            rows.append(f"  range  {hours:>2} h     {low:>14,.2f} to {high:,.2f} (now at {place:.0f} % of it)")
        funding = market.funding(symbol)
        rows += [
            "",
            "FUNDING",
            f"  next 8 h        {funding:>+13.4f} %",
            f"  a year          {funding * 3 * 365:>+13.1f} %",
        ]
        interest = round(410 + market.change(symbol, 24) * 9 + market.swing() * 12, 1)
        rows += [
            "",
            "OPEN INTEREST",
            f"  total           {interest:>14,.1f} M$",
            f"  long accounts   {52 + market.swing() * 6:>13.1f} %",
        ]
        rows += ["", "VOLUME"]
        rows += [f"  {hours:>2} h            {market.volume(symbol, hours) / 1000:>14,.1f} M$" for hours in (1, 4, 24)]
        rows += ["", "BASIS AND VOLATILITY", f"  to spot         {funding * 4:>+13.4f} %"]
        rows += [f"  realised {hours:>2} h   {self.volatility(symbol, hours):>13.1f} % a year" for hours in (4, 24)]
        greed = 50 + round(market.change("BTC", 24) * 7)
        return "\n".join([*rows, "", "SENTIMENT", f"  fear and greed  {greed:>14} of 100"])

    def get_multi_timeframe(self, symbol: str) -> str:
        """Candles on three time frames."""
        rows = [f"{symbol}-PERP candles  {self.clock()}"]
        for name, span, count in (("5 m", 1, 10), ("1 h", 12, 9), ("4 h", 48, 6)):
            rows += ["", f"{name}    open         high         low          close        volume k$"]
            candles = self.market.candles[symbol][-span * count :]
            for start in range(0, span * count, span):
                part = candles[start : start + span]
                low, high = min(candle[2] for candle in part), max(candle[1] for candle in part)
                values = (part[0][0], high, low, part[-1][3])
                rows.append(
                    "     " + "".join(f"{value:>13,.2f}" for value in values) + f"{sum(c[4] for c in part):>13,}"
                )
        return "\n".join(rows)

    def get_orderbook(self, symbol: str) -> str:
        """Twenty levels on both sides."""
        bids, asks = self.market.book(symbol, 20)
        rows = [f"{symbol}-PERP order book  {self.clock()}", "", "          bid        size          ask        size"]
        rows += [f"{b:>13,.2f}{s:>12,.3f}{a:>13,.2f}{t:>12,.3f}" for (b, s), (a, t) in zip(bids, asks, strict=True)]
        deep = [sum(price * size for price, size in side) for side in (bids, asks)]
        spread = asks[0][0] - bids[0][0]
        rows += [
            "",
            f"spread {spread:.2f}  bid depth {deep[0]:,.0f} $  ask depth {deep[1]:,.0f} $  imbalance {deep[0] / sum(deep):.2f}",
        ]
        return "\n".join(rows)

    def get_liquidations(self, symbol: str) -> str:
        """Liquidations of four hours."""
        rows = [f"{symbol}-PERP liquidations, last 4 h", ""]
        listed = self.market.liquidations(symbol, 16)
        rows += [
            f"  {minutes:>3} min ago  {side:<6}{price:>13,.2f}{dollars:>12,} $"
            for minutes, side, price, dollars in listed
        ]
        for side in ("long", "short"):
            rows.append(f"  total {side}: {sum(row[3] for row in listed if row[1] == side):,} $")
        return "\n".join(rows)

    def get_account(self) -> str:
        """Return the portfolio and its current value."""
        rows = [f"ACCOUNT  {self.clock()}", f"  balance       {self.balance:>12,.2f} $"]
        rows += [
            f"  {position.side} {position.symbol}  {position.dollars:,.0f} $ at {position.entry:,.2f}, now "
            f"{self.market.price(position.symbol):,.2f}, result {self.result(position):+,.2f} $, "
            f"stop {position.stop:,.2f}, target {position.target:,.2f}"
            for position in self.positions.values()
        ]
        return "\n".join(rows if self.positions else [*rows, "  no open positions"])

    def search_web(self, query: str) -> str:
        """Articles that share most words with the query."""
        wanted = set(MENTIONED.findall(query.lower()))
        scored = [(len(wanted & set(MENTIONED.findall((t + " " + s).lower()))), t, s, u) for t, s, u in self.articles]
        best = sorted(scored, key=lambda row: (-row[0], row[1]))[:5]
        return "\n\n".join(f"{number}. {t}\n   {u}\n   {s}" for number, (_, t, s, u) in enumerate(best, 1))

    def recall_memory(self, query: str) -> str:
        """Return the notes that share most words with the query."""
        wanted = set(MENTIONED.findall(query.lower()))
        scored = []
        for note in self.notes:
            words = set(MENTIONED.findall((note.title + " " + note.text).lower()))
            scored.append((len(wanted & words) / max(1, len(wanted)), note))
        best = sorted(scored, key=lambda row: (-row[0], row[1].identifier))[:10]
        rows = [f'{len(best)} notes for "{query}"']
        for score, note in best:
            age = self.market.minutes // 60 - note.hour
            rows.append(
                f"\n[{note.identifier}] {note.title}\n  score {score:.2f}  {note.lifecycle}  {age} h ago\n  {note.text[:260]}"
            )
        return "\n".join(rows)

    def store_memory(self, title: str, text: str) -> str:
        """Write a note."""
        note = Note(f"n_{4100 + 37 * len(self.notes):x}", title, text, self.market.minutes // 60)
        self.notes.append(note)
        return f'Stored: "{title}" ({note.identifier})'

    def update_memory(self, identifier: str, lifecycle: str = "", addition: str = "") -> ToolResult | str:
        """Change a note."""
        for note in self.notes:
            if note.identifier == identifier:
                note.lifecycle = lifecycle or note.lifecycle
                note.text += f" {addition}" if addition else ""
                return f'Updated: "{note.title}" ({identifier}) — lifecycle → {note.lifecycle}'
        return ToolResult(f"No note {identifier}", is_error=True)

    def execute_trade(self, symbol: str, side: str, dollars: float, stop: float, target: float, reason: str) -> str:
        """Open a position at the market."""
        entry = self.market.price(symbol)
        position = Position(symbol, side, dollars, entry, stop, target)
        self.positions[symbol] = position
        note = self.store_memory(f"{side} {symbol} at {entry:,.2f}", reason)
        risk = abs(entry - stop) / entry
        return "\n".join(
            [
                f"EXECUTED {side.upper()} {symbol}-PERP",
                f"  size            {dollars:,.0f} $ ({dollars / entry:.4f} {symbol})",
                f"  entry           {entry:,.2f}",
                f"  fee             {dollars * 0.00045:,.2f} $ (taker 0.045 %)",
                f"  stop            {stop:,.2f}  ({(stop / entry - 1) * 100:+.2f} %)",
                f"  target          {target:,.2f}  ({(target / entry - 1) * 100:+.2f} %)",
                f"  reward to risk  {abs(target - entry) / abs(entry - stop):.2f}",
                f"  risk            {dollars * risk:,.2f} $ = {dollars * risk / self.balance * 100:.2f} % of the balance",
                f"  memory          {note}",
                f"  watchpoint      removed every watchpoint on {symbol} that waited for an entry",
                "  watchpoint      stop and target are watched every 10 s",
            ]
        )

    def modify_position(self, symbol: str, stop: float) -> ToolResult | str:
        """Move a stop."""
        if symbol not in self.positions:
            return ToolResult(f"No open position in {symbol}", is_error=True)
        position = self.positions[symbol]
        before, position.stop = position.stop, stop
        return f"MODIFIED {symbol}-PERP\n  stop {before:,.2f} → {stop:,.2f}\n  target {position.target:,.2f} unchanged"

    def close_position(self, symbol: str, reason: str) -> ToolResult | str:
        """Close a position at the market."""
        position = self.positions.pop(symbol, None)
        if position is None:
            return ToolResult(f"No open position in {symbol}", is_error=True)
        result = self.result(position)
        self.balance += result
        note = self.store_memory(f"closed {symbol} with {result:+,.2f}", reason)
        return "\n".join(
            [
                f"CLOSED {position.side.upper()} {symbol}-PERP",
                f"  entry    {position.entry:,.2f}",
                f"  exit     {self.market.price(symbol):,.2f}",
                f"  result   {result:+,.2f} $",
                f"  balance  {self.balance:,.2f} $",
                f"  memory   {note}",
            ]
        )

    def result(self, position: Position) -> float:
        """Return the profit or loss of a position, including fees."""
        sign = 1 if position.side == "long" else -1
        moved = self.market.price(position.symbol) / position.entry - 1
        return round(position.dollars * (sign * moved - 0.0009), 2)

    def volatility(self, symbol: str, hours: int) -> float:
        """Mean absolute move of five minutes, scaled to a year."""
        closes = [candle[3] for candle in self.market.candles[symbol][-hours * 12 - 1 :]]
        moves = [abs(after / before - 1) for before, after in itertools.pairwise(closes)]
        return sum(moves) / len(moves) * 1.2533 * 324.2 * 100

    def clock(self) -> str:
        """Return the session's time of day."""
        return f"{6 + self.market.minutes // 60:02d}:{self.market.minutes % 60:02d} UTC"
