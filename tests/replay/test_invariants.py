"""Invariants of every session hold for real ones, and `check` detects violations."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from inspector.replay.analysis import validation
from inspector.replay.analysis.breakdown import resend_cost
from inspector.replay.analysis.context_blocks import EARLIER, NOT_RECORDED, blank_prompts, context_at
from inspector.replay.analysis.context_breakdown import Grouping, context_breakdown
from inspector.replay.analysis.validation import Invariant, violations_in_file, violations_in_replay
from inspector.replay.engine.replay import Replay
from inspector.replay.pricing.prices import Pricing
from inspector.replay.sessions import replay_session
from inspector.session.discovery import sessions_in
from inspector.session.model import BlockKind, Role, Session, Usage
from inspector.session.open import open_session
from inspector.session.reading_check import COUNTED, compare_followed, independent_totals, totals_of
from inspector.strategies.plan import Plan
from tests.conftest import ROOT
from tests.replay.synthetic import SessionBuilder
from tests.session.growing import GROWING

PRICING = Pricing()


def baseline_of(session: Session) -> Replay:
    return replay_session(session, Plan(), pricing=PRICING)


@pytest.mark.long
def test_they_hold_of_every_real_session(corpus: Path) -> None:
    counted: set[str] = set()
    for header in sessions_in(corpus):
        if header.format == "transcripts":
            continue  # eighty of a few lines each, of which one does
        session = open_session(header.path)
        assert violations_in_file(session) == (), header.path
        assert violations_in_replay(baseline_of(session)) == (), header.path
        if independent_totals(session) is not None:
            counted.add(session.format)
    made_ones = {"atif", "claude-tap", "deepseek-harness", "grok-build", "har", "inspector-lines"}
    made_ones |= {"kimi-cli", "kimi-code", "qwen-code", "vscode-chat"}
    assert counted >= set(COUNTED) - made_ones, "others meet made ones"


def test_they_hold_of_the_samples() -> None:
    for header in sessions_in(ROOT / "sample_sessions"):
        session = open_session(header.path)
        assert (*violations_in_file(session), *violations_in_replay(baseline_of(session))) == ()


@pytest.mark.parametrize("name", GROWING)
def test_they_hold_of_a_session_of_every_format(name: str, tmp_path: Path) -> None:
    known = GROWING[name]
    path = tmp_path / known.name
    known.write(path, 12)
    session = open_session(path)
    assert (*violations_in_file(session), *violations_in_replay(baseline_of(session))) == ()


def said(*, prompts: tuple[int, ...], words: int) -> Session:
    """Calls of these prompts, each after a text of so many words."""
    builder = SessionBuilder()
    for number, prompt in enumerate(prompts):
        builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "word " * words + str(number)))
        builder.respond(usage=Usage(uncached=prompt, output=3))
    return builder.session()


def test_blocks_that_measure_more_than_their_prompt_are_brought_down_to_it() -> None:
    baseline = baseline_of(said(prompts=(40, 60, 90), words=400))
    assert violations_in_replay(baseline) == ()
    for call in range(3):
        context = context_at(baseline, baseline.state(call))
        assert context.rest >= 0
        assert float(context.sent.sum()) + context.rest == pytest.approx(context.prompt.value)
    assert float(baseline.inputs.block_tokens.max()) <= 90


def test_a_prompt_of_which_the_file_shows_nothing_is_called_unknown() -> None:
    builder = SessionBuilder()
    builder.respond(usage=Usage(uncached=40_000, output=3))
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "go on"))
    builder.respond(usage=Usage(uncached=41_000, output=3))
    baseline = baseline_of(builder.session())
    assert blank_prompts(baseline.inputs).tolist() == [True, False]
    resend = resend_cost(baseline)
    for call in (0, 1):
        names = {part.name for part in context_breakdown(baseline, baseline.state(call), resend, Grouping.ROLE).parts}
        assert EARLIER in names
        assert NOT_RECORDED not in names
    assert violations_in_replay(baseline) == ()


def test_figures_that_do_not_add_up_are_seen() -> None:
    baseline = baseline_of(said(prompts=(4_000, 4_100, 4_200), words=20))
    assert violations_in_replay(baseline) == ()
    ledger = baseline.ledger
    off = replace(baseline, ledger=replace(ledger, uncached=ledger.uncached + np.array([0, 1, 0])))
    assert {each.invariant for each in violations_in_replay(off)} == {Invariant.SUMS}
    below = replace(ledger, uncached=ledger.uncached - np.array([0, 5_000, 0]))
    assert Invariant.SHARES in {each.invariant for each in violations_in_replay(replace(baseline, ledger=below))}


def test_usage_that_is_counted_twice_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    GROWING["pi"].write(path, 3)
    session = open_session(path)
    assert independent_totals(session) == totals_of(session)
    twice = structs.replace(session.calls[0], response=session.calls[1].response)
    (broken,) = violations_in_file(replace(session, calls=(*session.calls, twice)))
    assert broken.invariant is Invariant.USAGE


def test_a_session_that_ends_otherwise_when_it_is_followed_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.jsonl"
    GROWING["pi"].write(path, 3)
    assert compare_followed(path) == ""
    monkeypatch.setattr(validation, "compare_followed", lambda _: "messages")
    (broken,) = violations_in_file(open_session(path))
    assert (broken.invariant, broken.detail) == (Invariant.GROWTH, "messages differ")
