"""Where the money of a session went, worked out by hand on small sessions and compared with the costs on real ones."""

from pathlib import Path

import numpy as np
import pytest

from inspector.replay.engine.replay import replay, replay_session
from inspector.replay.explain.spending import recached_tokens, spending_of
from inspector.replay.explain.totals import cost_part_explanations
from inspector.session.model import BlockKind, Role, Session, Usage
from inspector.session.open import open_session
from inspector.strategies.plan import Plan
from tests.conftest import ROOT
from tests.replay.synthetic import SessionBuilder
from tests.replay.test_ledger import inputs_of

SAMPLES = sorted((ROOT / "sample_sessions").glob("*.json*"))

SENT = 1_000
"""Tokens every call of the made-up sessions adds to its prompt."""


def session_that_reads(*reads: int, compacted_before: int = -1) -> Session:
    """A session whose calls read so many tokens from the cache, and write what is left of their prompts."""
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "t" * SENT))
    for call, read in enumerate(reads):
        if call == compacted_before:
            builder.compact(0)
            builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "s" * SENT))
        used = Usage(0, read, (call + 1) * SENT - read, 0, 10)
        builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, "a" * SENT), usage=used)
        builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, f"{call}" * SENT))
    return builder.session()


def recached(session: Session) -> list[int]:
    return recached_tokens(replay(inputs_of(session), Plan())).tolist()


def test_nothing_is_recached_where_every_call_reads_what_the_one_before_left() -> None:
    assert recached(session_that_reads(0, 1_000, 2_000, 3_000)) == [0, 0, 0, 0]


def test_what_the_cache_held_and_a_call_did_not_read_is_recached() -> None:
    assert recached(session_that_reads(0, 1_000, 200, 3_000)) == [0, 0, 1_800, 0]


def test_a_read_that_ends_a_few_tokens_sooner_is_no_miss() -> None:
    assert recached(session_that_reads(0, 990, 1_950, 2_960)) == [0, 0, 0, 0]


def test_a_session_that_never_read_from_a_cache_lost_nothing_in_it() -> None:
    assert recached(session_that_reads(0, 0, 0)) == [0, 0, 0]


def test_calls_after_a_compaction_are_told_apart_from_those_that_found_the_cache_empty() -> None:
    spending = spending_of(replay(inputs_of(session_that_reads(0, 1_000, 0, 0, compacted_before=3)), Plan()))

    assert (spending.misses.calls, spending.expired.calls) == (1, 1)
    assert (spending.misses.tokens.value, spending.expired.tokens.value) == (3_000, 2_000)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_parts_are_those_of_the_costs_and_add_up_to_the_whole(path: Path) -> None:
    plain = replay_session(open_session(path), Plan(), precise=False)
    spending, explained = spending_of(plain), cost_part_explanations(plain)

    assert {name: part.value for name, part in spending.parts.items()} == {
        name: each.value for name, each in explained.items()
    }
    assert spending.total == plain.figures.cost_usd
    assert spending.misses.calls == plain.figures.cache_breaks.value
    if spending.total.value is None:
        return
    assert np.isclose(sum(part.value or 0 for part in spending.parts.values()), spending.total.value)
    rows = sum(row.cost.value or 0 for row in spending.kinds)
    assert np.isclose(rows + (spending.parts["output_usd"].value or 0), spending.total.value)
    lost = (spending.misses.usd.value or 0) + (spending.expired.usd.value or 0)
    assert 0 <= lost < spending.total.value
    costs = [row.cost.value for row in spending.kinds]
    assert costs == sorted(costs, reverse=True)
