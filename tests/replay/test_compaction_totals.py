"""Totals over all compactions of a session equal the sum of the single ones and the causes in the report."""

import dataclasses
from pathlib import Path

import pytest
from msgspec import structs

from inspector.replay.analysis.cache_misses import cache_misses
from inspector.replay.analysis.compactions import CompactionTotals, compaction_totals, sizes_of
from inspector.replay.cache.miss_causes import MissCause
from inspector.replay.figure import HowKnown
from inspector.replay.sessions import replay_session
from inspector.report.numbers import ON_SCREEN
from inspector.report.sentences import compactions_in_short, compactions_words
from inspector.session.model import SideCall, Usage
from inspector.session.open import open_session
from inspector.strategies.plan import Plan
from inspector.ui.timeline.boundaries import boundaries_of
from tests.conftest import ROOT

SAMPLE = ROOT / "sample_sessions" / "coding-agent.jsonl"
MODEL = "claude-sonnet-4-5"
SUMMARY = SideCall("compaction", MODEL, None, Usage(uncached=100_000))


def said_of(found: CompactionTotals) -> str:
    return compactions_words(found, ON_SCREEN)


def totals_of(*beside: SideCall) -> CompactionTotals:
    session = dataclasses.replace(open_session(SAMPLE), side_calls=beside)
    found = compaction_totals(replay_session(session, Plan(), precise=False))
    assert found is not None
    return found


def test_what_they_removed_is_what_the_detail_of_each_of_them_says_it_removed(corpus: Path) -> None:
    (path,) = (corpus / "claude-code").glob("0cf3db51*.jsonl")
    baseline = replay_session(open_session(path), Plan(), precise=False)
    found = compaction_totals(baseline)
    effects = [each.effect for each in boundaries_of(baseline.history) if each.is_compaction]

    assert found is not None
    assert (found.compactions, found.measured) == (6, 6)
    assert found.removed_tokens == sum(sizes_of(each, baseline).removed_total for each in effects if each is not None)
    assert found.figure("removed_tokens").known is baseline.inputs.scale.known


def test_what_was_re_cached_after_them_is_the_row_of_their_cause(corpus: Path) -> None:
    (path,) = (corpus / "claude-code").glob("0cf3db51*.jsonl")
    baseline = replay_session(open_session(path), Plan(), precise=False)
    misses = cache_misses(baseline)
    found = compaction_totals(baseline, misses)

    assert found is not None
    row = next(row for row in misses.causes if row.cause == MissCause.COMPACTION)
    assert (found.misses, found.recached_tokens, found.recached_usd) == (row.calls, row.tokens, row.usd)
    assert found == compaction_totals(baseline)


def test_a_session_without_compactions_has_no_totals_of_them() -> None:
    baseline = replay_session(open_session(ROOT / "sample_sessions" / "mail-and-jobs.jsonl"), Plan(), precise=False)

    assert not baseline.history.session.compactions
    assert compaction_totals(baseline) is None


def test_requests_for_summaries_are_priced_and_others_next_to_the_conversation_are_none_of_them() -> None:
    found = totals_of(SUMMARY, SideCall("title", MODEL, None, Usage(uncached=100_000)), SUMMARY)

    assert found.summaries == 2
    assert found.summaries_usd == pytest.approx(0.6)
    assert found.figure("summaries_usd").known is HowKnown.EXACT


def test_what_a_file_does_not_tell_of_summaries_is_not_stated() -> None:
    assert totals_of().summaries_usd is None
    assert "summaries" not in said_of(totals_of())
    assert totals_of(SideCall("compaction", "nobodys-model", None, Usage(uncached=9))).summaries_usd is None


def test_all_of_it_is_stated_in_a_sentence_and_in_phrases_with_how_it_is_known() -> None:
    found = totals_of(SUMMARY)
    assert found.known["removed_tokens"] == HowKnown.CALIBRATED
    said = said_of(found)

    assert said == (
        f"the only compaction removed {found.removed_tokens:,.0f} tokens (calibrated); cache misses after it: "
        f"{found.recached_tokens:,} tokens rewritten, cost of rewrites ${found.recached_usd:.3f}; "
        "1 request for summaries cost $0.30"
    )
    estimated = structs.replace(found, compactions=3, known={**found.known, "removed_tokens": "estimated"})
    assert said_of(estimated).startswith("1 of 3 compactions removed ~5")
    of_all = structs.replace(estimated, measured=3)
    assert compactions_in_short(of_all, ON_SCREEN)[0].startswith("all 3 removed ~5")
