"""Expected re-fetches of a plan, prompt by prompt: every result is followed through the prompts that send it.

The rates are those of `docs/development/recorded-cuts.md`, copied here. Of the engine, only the texts it sends and the
tokens and rates of its calls are used.
"""

import json
from statistics import median
from typing import NamedTuple

from inspector.replay.engine.replay import Replay
from inspector.replay.pricing.rates import RateColumn
from inspector.session.model import BlockKind

Three = tuple[float, float, float]

YOUNGER_THAN_3: Three = (0.359, 0.217, 0.488)
YOUNGER_THAN_5: Three = (0.334, 0.211, 0.462)
UP_TO_20: Three = (0.151, 0.086, 0.224)
OLDER: Three = (0.057, 0.031, 0.084)
LARGE: Three = (0.160, 0.098, 0.225)
COMMAND: Three = (0.0, 0.0, 0.016)
OTHER: Three = (0.058, 0.015, 0.094)

COMMANDS = ("Bash", "Grep", "Glob", "Edit", "Write", "TodoWrite")
READS = ("Read", "read_file")
SHARED_CALL = 247 / 341


class ExpectedRefetch(NamedTuple):
    """One cut of a result: how often it is fetched again, at which call, and the price of once."""

    block: int
    cut_at: int
    age: int
    expected: Three
    at: int
    usd: float


def refetches_by_hand(planned: Replay) -> list[ExpectedRefetch]:
    history, session = planned.history, planned.history.session
    found = []
    for block, content in enumerate(session.blocks):
        if content.kind is not BlockKind.TOOL_RESULT:
            continue
        thread = session.messages[int(history.message[block])].thread
        calls = [call for call, made in enumerate(session.calls) if session.contexts[made.context].thread == thread]
        sending = [call for call in calls if block in history.prompt(call)]
        left = whole = int(planned.table.tokens[block])
        for call in sending:
            now = planned.table.text_tokens(planned.text(block, call))
            if now < left:
                age = calls.index(call) - calls.index(sending[0])
                share = (left - now) / whole
                expected = tuple(share * rate / (1 - share * rate) for rate in rate_of(planned, block, age))
                place = min(calls.index(call) + 5, len(calls) - 1)
                usd = price(planned, calls, place, whole, age)
                found.append(ExpectedRefetch(block, call, age, expected, calls[place], usd))
            left = min(now, whole)
    return found


def rate_of(planned: Replay, block: int, age: int) -> Three:
    session, content = planned.history.session, planned.history.session.blocks[block]
    if content.tool_name in COMMANDS:
        return COMMAND
    if content.tool_name not in READS:
        return OTHER
    asked = [each for each in session.blocks if each.kind is BlockKind.TOOL_CALL]
    (call,) = [session.text(each) for each in asked if each.tool_call_id == content.tool_call_id]
    if not {"file_path", "path"} & set(json.loads(call)):
        return OTHER
    by_age = YOUNGER_THAN_3 if age < 3 else YOUNGER_THAN_5 if age < 5 else UP_TO_20 if age < 20 else OLDER
    if len(session.text(content)) <= 16_000:
        return by_age
    first, second, third = (max(pair) for pair in zip(by_age, LARGE, strict=True))
    return first, second, third


def price(planned: Replay, calls: list[int], place: int, tokens: int, age: int) -> float:
    """Dollars of one re-fetch: its share of a call, the result written, and read as often as it was before."""
    ledger, ratio, call = planned.ledger, planned.inputs.sizes.ratio, calls[place]
    rates = planned.inputs.rates.of_prompts(ledger.prompt_tokens)[call]
    is_cached = ledger.cache_read[call] + ledger.cache_write[call] > 0
    again = ledger.prompt_tokens[call] * (rates[RateColumn.CACHE_READ] if is_cached else not_read(planned, call))
    answer = usual_answer(planned) * rates[RateColumn.OUTPUT] + rates[RateColumn.PER_CALL]
    result = tokens * ratio[call] * not_read(planned, call)
    for later in calls[place + 1 : place + max(age, 1)]:
        row = planned.inputs.rates.of_prompts(ledger.prompt_tokens)[later]
        each = row[RateColumn.CACHE_READ] if ledger.cache_read[later] > 0 else not_read(planned, later)
        result += tokens * ratio[later] * each
    return float(SHARED_CALL * (again + answer) + result)


def not_read(planned: Replay, call: int) -> float:
    """Dollars of a token of a prompt that is not read from the cache, on average."""
    ledger = planned.ledger
    rates = planned.inputs.rates.of_prompts(ledger.prompt_tokens)[call]
    columns = (ledger.uncached, ledger.cache_write_5m, ledger.cache_write_1h)
    kinds = (RateColumn.UNCACHED, RateColumn.CACHE_WRITE_5M, RateColumn.CACHE_WRITE_1H)
    tokens = [int(column[call]) for column in columns]
    if not sum(tokens):
        return float(rates[RateColumn.UNCACHED])
    return float(sum(n * rates[kind] for n, kind in zip(tokens, kinds, strict=True)) / sum(tokens))


def usual_answer(planned: Replay) -> float:
    """The middle of the outputs of responses that call a tool."""
    session = planned.history.session
    asking = [
        int(planned.inputs.output[index])
        for index, call in enumerate(session.calls)
        if any(block.kind is BlockKind.TOOL_CALL for block in session.messages[call.response].blocks)
    ]
    return float(median(asking)) if asking else 0.0
