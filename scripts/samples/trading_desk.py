"""A trading agent wakes up every half hour, looks, remembers, trades and writes notes: an Anthropic request body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import write_anthropic
from .conversation import Conversation, at, call
from .market import Market
from .trading_tools import DESCRIPTIONS, TradingDesk

if TYPE_CHECKING:
    from pathlib import Path

SYSTEM = """You run a small paper-trading account of 20,000 dollars in three perpetual futures: BTC, ETH and SOL.

You are woken every half hour. Each wake begins with the live state of the account and, in the morning, with a briefing. What
you did before is in your notes: recall them before you act, and store what you will want to know later, one idea a note.

Rules
- Risk at most 1 % of the balance in one trade, counted from entry to stop. No second position in the same symbol.
- Every trade has a reason that could turn out wrong, and the note of the trade says which fact would show that.
- Reward to risk is at least 1.5. A stop is moved only in the direction of the trade.
- When funding, order book and time frames disagree, do nothing. Doing nothing needs no reason.
- Answer in a few sentences. Say what changed since the last wake, what you did, and what you are waiting for."""

NOTES = [
    (
        "funding above 0.03 % fades",
        "Three times this month funding above 0.03 % for eight hours was followed by a fall of 1 to 2 % within a day. Small sample. Wrong if price makes a new high while funding stays there.",
    ),
    (
        "SOL follows BTC with more range",
        "SOL moved 1.6 times as far as BTC in the last thirty days, in the same direction on 24 of them. Use SOL only when BTC is clear, and give it a wider stop.",
    ),
    (
        "thin books before the European open",
        "Between 05:00 and 07:00 UTC the twenty best levels hold about half of what they hold at 14:00. Entries at the market cost 2 to 3 ticks more. Wait or use a smaller size.",
    ),
    (
        "lesson: moved a stop too early",
        "ETH long of the 3rd was right and was stopped out at break-even because the stop followed after 0.4 %. Let a trade reach half its target before the stop moves.",
    ),
    (
        "ETH lags on the way up",
        "When BTC gains more than 1 % in four hours, ETH follows one to two hours later in two of three cases. Entry on the first hourly close above its range.",
    ),
    (
        "liquidation clusters as targets",
        "Prices where many longs were liquidated were revisited within a day in 7 of 11 cases. Useful as targets, not as entries.",
    ),
    ("weekend volume", "Volume on Saturday and Sunday is a third lower; breakouts failed more often. Halve the size."),
    (
        "thesis: range until the rate decision",
        "BTC has stayed between 60,200 and 62,400 for nine days. As long as the daily close is inside, sell the upper and buy the lower fifth of the range. Wrong on a daily close outside.",
    ),
]

ARTICLES = [
    (
        "Bitcoin holds its range before the rate decision",
        "Traders expect no change of the key rate on Thursday. Options are priced for a move of 2.1 percent in either direction on the day; the range of the last nine days is narrower than that. Volumes on the spot exchanges fell for the third week in a row.",
        "https://markets.example/btc-range-before-decision",
    ),
    (
        "Ether funds see outflows for a fourth day",
        "Exchange traded ether products lost 41 million dollars on Tuesday. Bitcoin products gained 87 million. Analysts call it rotation rather than flight, because stablecoin supply kept growing.",
        "https://markets.example/ether-fund-flows",
    ),
    (
        "Solana's fee market changes with the next release",
        "Validators vote this week on a change that would burn a larger share of priority fees. Supporters expect fewer failed transactions at peak load. The change would be active in November at the earliest.",
        "https://chains.example/solana-fee-market",
    ),
    (
        "Funding rates: what they say and what they don't",
        "Funding is the price of leverage, not a forecast. Over four years, extreme funding preceded a reversal in 58 percent of cases, hardly more than a coin toss after costs. It said more about how far a move ran once it began.",
        "https://research.example/funding-rates",
    ),
    (
        "Liquidations shake out leveraged longs in early trade",
        "Positions worth 96 million dollars were closed by force on Monday morning, two thirds of them long. The largest single order was a bitcoin position of 3.4 million. Open interest fell by four percent.",
        "https://markets.example/monday-liquidations",
    ),
    (
        "Order book depth recovers after the summer",
        "Depth within one percent of the mid price is back at the level of May on the large venues. The hours before the European open remain the thinnest of the day.",
        "https://research.example/depth-recovers",
    ),
    (
        "Central bank minutes: inflation risks balanced",
        "Members saw the risks to inflation as broadly balanced. Two wanted to wait for the wage data of October. Futures put the chance of a cut on Thursday at eleven percent.",
        "https://news.example/minutes",
    ),
    (
        "Bitcoin miners sell into strength",
        "Listed miners sold 3,100 bitcoin in September, more than they mined. The sales were spread over weeks and are small against daily volume.",
        "https://markets.example/miners-sell",
    ),
]


def make(folder: Path) -> str:
    """Create the session's file. Nothing is written to the folder."""
    del folder
    market = Market(seed=77)
    desk = TradingDesk(market, ARTICLES, NOTES)
    talk = Conversation(desk.by_name(), seed=20, now=at(2026, 10, 7, 6, 0))
    for wake in range(WAKES):
        run_wake(talk, desk, wake)
        market.advance(30)
    return write_anthropic.document(talk, "claude-sonnet-4-6", SYSTEM, definitions())


WAKES = 17


def definitions() -> list[dict[str, Any]]:
    """Return the tools as they are sent to the model."""
    numbers = {"dollars", "stop", "target"}
    return [
        {
            "name": name,
            "description": description,
            "input_schema": {
                "type": "object",
                "properties": {key: {"type": "number" if key in numbers else "string"} for key in keys},
                "required": [key for key in keys if key not in ("lifecycle", "addition")],
            },
        }
        for name, (description, keys) in DESCRIPTIONS.items()
    ]


def snapshot(desk: TradingDesk, wake: int) -> str:
    """Return the part of a message that is true only at its time."""
    market = desk.market
    rows = [f"[Live State {desk.clock()}]", desk.get_account()]
    rows += [
        f"{symbol} {market.price(symbol):,.2f} ({market.change(symbol, 1):+.2f} % 1 h)" for symbol in market.candles
    ]
    text = "\n".join([*rows, "[End Live State]"]) + "\n\n"
    if wake % 6:
        return text
    items = "\n".join(f"- {title}: {body}" for title, body, _ in ARTICLES[wake // 6 : wake // 6 + 3])
    active = sum(note.lifecycle == "ACTIVE" for note in desk.notes)
    return text + f"[Briefing]\nHeadlines\n{items}\nNotes: {active} active of {len(desk.notes)}\n[End Briefing]\n\n"


def run_wake(talk: Conversation, desk: TradingDesk, wake: int) -> None:
    """Add one wake: look, recall, act if there is a reason to, and report."""
    market = desk.market
    talk.user(snapshot(desk, wake) + ASKS[wake % len(ASKS)], after=0 if wake == 0 else 30 * 60 - 40)
    symbol = max(market.candles, key=lambda name: abs(market.change(name, 4)))
    moved = market.change(symbol, 4)
    talk.assistant(
        LOOKS[wake % len(LOOKS)].format(symbol=symbol, moved=f"{moved:+.2f} %"),
        call("get_market_data", symbol=symbol),
        call(
            "recall_memory",
            query=f"{symbol} {'range upper short' if moved > 0 else 'range lower long'} funding stop lesson",
        ),
        *([call("get_account")] if desk.positions else []),
    )
    if wake % 5 == 2:
        talk.assistant("", call("search_web", query=QUERIES[wake // 5]), call("get_liquidations", symbol=symbol))
    manage(talk, desk)
    low, high = market.range(symbol, 24)
    place = (market.price(symbol) - low) / (high - low)
    if symbol not in desk.positions and (place > 0.8 or place < 0.2) and len(desk.positions) < 2:
        enter(talk, desk, symbol, "short" if place > 0.8 else "long")
    elif wake % 3 == 1:
        look_closer(talk, desk, symbol, place)
    talk.assistant(closing(desk, symbol, place))


def manage(talk: Conversation, desk: TradingDesk) -> None:
    """Close positions at their stop or target; trail a stop after half of the way."""
    for position in list(desk.positions.values()):
        price = desk.market.price(position.symbol)
        sign = 1 if position.side == "long" else -1
        way = sign * (price - position.entry) / abs(position.target - position.entry)
        if sign * (price - position.stop) <= 0 or way >= 1:
            word = "target" if way >= 1 else "stop"
            reason = f"{position.side} from {position.entry:,.2f} reached its {word} at {price:,.2f}. "
            reason += (
                "The reason held."
                if way >= 1
                else "The reason was wrong or early; no second attempt before the range is clear."
            )
            (result,) = talk.assistant(
                f"{position.symbol} is beyond the {word}, so I close it.",
                call("close_position", symbol=position.symbol, reason=reason),
            )
            identifier = next(
                note.identifier for note in desk.notes if note.title.startswith(f"{position.side} {position.symbol} at")
            )
            talk.assistant(
                "",
                call(
                    "update_memory", identifier=identifier, lifecycle="DORMANT", addition=result.splitlines()[3].strip()
                ),
            )
        elif way > 0.5 and position.stop != position.entry and sign * (position.entry - position.stop) > 0:
            talk.assistant(
                f"{position.symbol} has gone {way:.0%} of the way to its target. My note about stops that follow too early says "
                "half the way; that is reached, so the stop goes to the entry.",
                call("modify_position", symbol=position.symbol, stop=position.entry),
            )


def enter(talk: Conversation, desk: TradingDesk, symbol: str, side: str) -> None:
    """Look at the book and the candles, then trade at the edge of the range."""
    market = desk.market
    edge = "upper" if side == "short" else "lower"
    book, _ = talk.assistant(
        f"{symbol} is in the {edge} fifth of its day. Before I trade that I want the book and the candles.",
        call("get_orderbook", symbol=symbol),
        call("get_multi_timeframe", symbol=symbol),
    )
    price = market.price(symbol)
    low, high = market.range(symbol, 24)
    distance = max((high - low) * 0.22, price * 0.004)
    sign = 1 if side == "long" else -1
    stop, target = round(price - sign * distance, 2), round(price + sign * distance * 1.9, 2)
    dollars = float(round(min(desk.balance * 0.008 / (distance / price), 9000) / 100) * 100)
    leaning = float(book.rsplit(" ", 1)[1])
    leans = (
        "evenly filled" if 0.45 < leaning < 0.55 else "heavier on the bids" if leaning > 0.5 else "heavier on the asks"
    )
    talk.assistant(
        f"The book is {leans} ({leaning:.2f}). I go {side} at the edge of the range with a stop {distance / price:.2%} away.",
        call(
            "execute_trade",
            symbol=symbol,
            side=side,
            dollars=dollars,
            stop=stop,
            target=target,
            reason=f"{edge} fifth of the 24 h range {low:,.0f} to {high:,.0f}. Wrong if an hour closes beyond {stop:,.2f}.",
        ),
        call(
            "store_memory",
            title=f"waiting for {symbol} at {target:,.2f}",
            text=f"Target of the {side} is near the middle of the day's range. Look at liquidations there before taking it off early.",
        ),
    )


def look_closer(talk: Conversation, desk: TradingDesk, symbol: str, place: float) -> None:
    """Look, find no reason, and write that down."""
    reason = "there is a position in it already" if symbol in desk.positions else "no edge of the range is near"
    talk.assistant("", call("get_orderbook", symbol=symbol), call("get_liquidations", symbol=symbol))
    talk.assistant(
        "",
        call(
            "store_memory",
            title=f"no trade in {symbol} at {desk.clock()}",
            text=f"At {place:.0%} of its day's range; {reason}. Nothing done.",
        ),
    )


def closing(desk: TradingDesk, symbol: str, place: float) -> str:
    """Return the agent's last message before it sleeps again."""
    open_now = ", ".join(f"{p.side} {p.symbol} {desk.result(p):+,.2f} $" for p in desk.positions.values()) or "nothing"
    where = "near its high" if place > 0.8 else "near its low" if place < 0.2 else f"at {place:.0%} of its day's range"
    waits = ("an hourly close at an edge of a range", "the European open", "the stop or the target", "funding to turn")
    waiting = waits[desk.market.minutes // 30 % len(waits)]
    return f"{symbol} is {where}. Open: {open_now}. Balance {desk.balance:,.2f} $. I wait for {waiting}."


LOOKS = (
    "{symbol} has moved furthest, {moved} in four hours. I look at it and at what I know about such moves.",
    "The largest move of the last four hours is {symbol} with {moved}.",
    "",
    "{symbol} again stands out ({moved} in four hours). Numbers and notes first.",
)

ASKS = (
    "Wake for a regular review. What has changed, and is there something to do?",
    "Regular review.",
    "Regular review. Check the open positions first.",
    "Wake: price alert. Look at the symbol that moved furthest.",
)

QUERIES = (
    "bitcoin range rate decision",
    "funding rates leverage reversal",
    "liquidations longs order book depth",
    "ether fund flows bitcoin miners",
)
