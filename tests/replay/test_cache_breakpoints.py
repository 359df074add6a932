"""Coverage of cache breakpoints in short sessions with one token per character, computed by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from inspector.replay.analysis.cache_breakpoints import NOWHERE, BreakpointUsage, CacheBreakpoints, cache_marks
from inspector.replay.cache.breakpoint_rules import LOOK_BACK, MAX_BREAKPOINTS, BreakpointRule
from inspector.replay.figure import HowKnown
from inspector.replay.pricing.prices import Pricing
from inspector.replay.sessions import replay_session
from inspector.session.model import BlockKind, RecordedBreakpoint, Role, Usage
from inspector.session.open import open_session
from inspector.strategies.plan import Plan
from tests.conftest import ROOT
from tests.replay.synthetic import SessionBuilder, sessions
from tests.replay.test_cache_misses import GPT, OPUS, replayed

if TYPE_CHECKING:
    from inspector.session.model import Session

SIZE = 1000


class Talk(SessionBuilder):
    def __init__(self, model: str = OPUS) -> None:
        super().__init__()
        self.model = model
        self.clock = 1_780_000_000.0
        self.said = 0

    def text(self, size: int = SIZE) -> str:
        self.said += 1
        return f"{self.said:04}" * (size // 4)

    def ask(self) -> None:
        self.add(Role.USER, self.block(BlockKind.USER_TEXT, self.text()))

    def answer(self, calls: int = 0, after: float = 10.0, size: int = 4) -> None:
        self.clock += after
        prompt = sum(block.characters for member in self.members for block in self.messages[member].blocks)
        said = self.block(BlockKind.ASSISTANT_TEXT, self.text())
        asked = [
            self.block(BlockKind.TOOL_CALL, self.text(4), "Read", f"c{self.said}-{number}") for number in range(calls)
        ]
        usage = Usage(0, 0, prompt, 0, 10)
        self.respond(said, *asked, usage=usage, model=self.model, time=self.clock)
        if calls:
            results = (self.block(BlockKind.TOOL_RESULT, self.text(size), "Read", call.tool_call_id) for call in asked)
            self.add(Role.USER, *results)


@st.composite
def talks(draw) -> Session:
    """Sessions with turns of many texts and calls, pauses, rewinds and other models."""
    talk = Talk()
    if draw(st.booleans()):
        talk.add(Role.SYSTEM, talk.block(BlockKind.SYSTEM_TEXT, talk.text(2000)))
    talk.ask()
    for _ in range(draw(st.integers(1, 6))):
        for _ in range(draw(st.sampled_from([0, 1, 2, 15, 19, 25]))):
            talk.add(Role.USER, talk.block(BlockKind.USER_TEXT, talk.text(200)))
        talk.model = draw(st.sampled_from([OPUS, OPUS, OPUS, "claude-sonnet-4-6"]))
        talk.answer(draw(st.sampled_from([0, 0, 1, 3])), draw(st.sampled_from([10.0, 10.0, 200.0, 400.0])))
        if draw(st.integers(0, 4)) == 0:
            talk.rewind(draw(st.integers(1, len(talk.members))))
            talk.ask()
    return talk.session()


def marked(session: Session, rule: BreakpointRule, plan: Plan | None = None) -> BreakpointUsage:
    return next(each for each in cache_marks(replayed(session, plan)).rules if each.rule is rule)


def test_a_call_reads_to_the_mark_of_the_call_before_and_writes_what_came_since() -> None:
    talk = Talk()
    for _ in range(3):
        talk.ask()
        talk.answer()
    found = marked(talk.session(), BreakpointRule.END)

    # Prompts of 1, 3 and 5 texts: the first is below the minimum of 1,024 tokens, and leaves nothing.
    assert found.tokens[:, 0].tolist() == [SIZE, 3 * SIZE, 5 * SIZE]
    assert found.is_kept[:, 0].tolist() == [False, True, True]
    assert found.read.tolist() == [0, 0, 3 * SIZE]
    assert found.written.tolist() == [0, 3 * SIZE, 2 * SIZE]
    assert found.uncached.tolist() == [SIZE, 0, 0]


def test_what_stands_behind_the_last_mark_is_neither_read_nor_written() -> None:
    talk = Talk()
    talk.ask()
    talk.answer()
    talk.ask()
    talk.answer()
    talk.add(Role.ASSISTANT, talk.block(BlockKind.ASSISTANT_TEXT, talk.text()))
    talk.answer()
    found = marked(talk.session(), BreakpointRule.SWE_AGENT)

    # The last prompt ends with a response: the breakpoints follow both questions before it.
    assert found.blocks[2].tolist()[:2] == [1, 3]
    assert (found.found[2], found.written[2]) == (3, 0)
    assert found.uncached[2] == pytest.approx(2 * SIZE, rel=0.05)


def test_an_entry_is_found_nineteen_positions_before_a_mark_and_not_twenty() -> None:
    def read_after(texts: int) -> int:
        talk = Talk()
        talk.ask()
        talk.ask()
        talk.answer()
        for _ in range(texts):
            talk.add(Role.USER, talk.block(BlockKind.USER_TEXT, talk.text(40)))
        talk.answer()
        return int(marked(talk.session(), BreakpointRule.END).read[1])

    # The response to the first call is a position, too.
    assert read_after(18) == 2 * SIZE
    assert read_after(19) == 0


def test_a_run_of_calls_and_a_run_of_results_are_a_position_each() -> None:
    talk = Talk()
    talk.ask()
    talk.ask()
    talk.answer(calls=40)
    talk.answer()
    assert marked(talk.session(), BreakpointRule.END).read[1] == 2 * SIZE


def test_an_earlier_mark_within_reach_finds_what_the_last_one_does_not() -> None:
    talk = Talk()
    talk.add(Role.SYSTEM, talk.block(BlockKind.SYSTEM_TEXT, talk.text(2000)))
    talk.ask()
    talk.answer()
    for _ in range(25):
        talk.add(Role.USER, talk.block(BlockKind.USER_TEXT, talk.text(40)))
    talk.answer()
    session = talk.session()
    assert marked(session, BreakpointRule.END).found[1] == NOWHERE
    assert marked(session, BreakpointRule.HERMES_19).found[1] == 1
    assert marked(session, BreakpointRule.HERMES_19).read[1] == pytest.approx(2000, rel=0.1)


@pytest.mark.parametrize(("pause", "read"), [(300.0, 2 * SIZE), (301.0, 0)])
def test_an_entry_is_found_for_as_long_as_the_provider_keeps_it(pause: float, read: int) -> None:
    talk = Talk()
    talk.ask()
    talk.ask()
    talk.answer()
    talk.ask()
    talk.answer(after=pause)
    assert marked(talk.session(), BreakpointRule.END).read[1] == read


def test_an_edit_of_the_plan_takes_what_was_kept_behind_it_and_leaves_what_stood_before() -> None:
    talk = Talk()
    talk.add(Role.SYSTEM, talk.block(BlockKind.SYSTEM_TEXT, talk.text(2000)))
    talk.ask()
    talk.answer(calls=1, size=SIZE)
    talk.answer()
    talk.ask()
    talk.answer()
    session = talk.session()
    replay = replayed(session, Plan.from_specs(["tiered-stale"]))
    assert replay.ledger.is_break[2]
    rules = {each.rule: each for each in cache_marks(replay).rules}

    # The second call's prompt ends with the result, its fifth block, which is cut at the third.
    assert rules[BreakpointRule.END].blocks[:2, 0].tolist() == [2, 5]
    assert rules[BreakpointRule.END].found[2] == 2
    assert rules[BreakpointRule.HERMES_19].blocks[1].tolist() == [1, 2, 4, 5]
    assert rules[BreakpointRule.HERMES_19].found[2] == 4
    assert marked(session, BreakpointRule.END).found[2] == 5


def test_a_compaction_leaves_what_both_prompts_begin_with() -> None:
    talk = Talk()
    talk.add(Role.SYSTEM, talk.block(BlockKind.SYSTEM_TEXT, talk.text(2000)))
    talk.ask()
    talk.answer()
    talk.rewind(1)
    talk.ask()
    talk.answer()
    session = talk.session()
    assert marked(session, BreakpointRule.END).found[1] == NOWHERE
    assert marked(session, BreakpointRule.HERMES_21).found[1] == 1


def test_another_model_finds_nothing_and_the_first_one_its_own_again() -> None:
    talk = Talk()
    talk.ask()
    talk.ask()
    talk.answer()
    talk.model = "claude-sonnet-4-6"
    talk.answer()
    talk.model = OPUS
    talk.answer()
    assert marked(talk.session(), BreakpointRule.END).read.tolist() == [0, 0, 2 * SIZE]


def test_marks_cost_what_the_prices_of_reads_and_writes_come_to() -> None:
    talk = Talk()
    for _ in range(3):
        talk.ask()
        talk.answer()
    session = talk.session()
    found = marked(session, BreakpointRule.END)
    rates = Pricing().rates(OPUS, session.calls[0].time)
    assert rates is not None
    expected = SIZE * rates.input + 5 * SIZE * rates.cache_write_5m + 3 * SIZE * rates.cache_read
    assert found.usd.value == pytest.approx(expected / 1e6)
    assert found.usd.known is HowKnown.PROJECTED


def test_caches_that_keep_what_they_choose_have_no_rules() -> None:
    talk = Talk(GPT)
    talk.ask()
    talk.answer()
    found = cache_marks(replayed(talk.session()))
    assert found.rules == ()
    assert not found.uses_breakpoints.any()


def check(found: CacheBreakpoints) -> None:
    prompt = found.replay.ledger.prompt_tokens
    for each in found.rules:
        assert ((each.read >= 0) & (each.written >= 0) & (each.uncached >= 0)).all()
        sums = each.read + each.written + each.uncached
        assert (sums == np.where(each.covers, prompt, 0)).all()
        for call in range(len(prompt)):
            marks = found.breakpoints_at(each, call)
            tokens = [mark.tokens for mark in marks]
            assert len(marks) <= MAX_BREAKPOINTS
            assert tokens == sorted(tokens)
            assert all(0 < count <= prompt[call] for count in tokens)
            blocks = set(found.replay.history.prompt(call).tolist())
            assert all(mark.block in blocks or mark.blocks == 0 for mark in marks)


@given(sessions())
def test_every_token_of_a_prompt_is_read_written_or_neither(session: Session) -> None:
    check(cache_marks(replayed(session)))


def found_by_hand(found: BreakpointUsage, session: Session, lifetime: float) -> list[int]:
    replay = replayed(session)
    entries: list[tuple[str, tuple[int, ...], float]] = []
    read = []
    for number, call in enumerate(session.calls):
        prompt = tuple(replay.history.prompt(number).tolist())
        kinds = replay.history.kind[list(prompt)].tolist()
        starts = [
            place
            for place, kind in enumerate(kinds)
            if place == 0 or kind != kinds[place - 1] or kind not in (BlockKind.TOOL_CALL, BlockKind.TOOL_RESULT)
        ]
        time = call.time or 0.0
        marks = found.blocks[number][found.is_kept[number]].tolist()
        reached = {
            place
            for mark in marks
            for place in range(mark + 1)
            if sum(start < mark for start in starts) - sum(start < place for start in starts) < LOOK_BACK
        }
        alive = {entry for model, entry, end in entries if model == call.model and time <= end}
        hits = [place for place in reached if prompt[:place] in alive]
        read.append(max(hits, default=NOWHERE))
        used = {prompt[:place] for place in (*marks, *([read[-1]] if hits else []))}
        entries += [(call.model, entry, time + lifetime) for entry in used]
    return read


@given(sessions())
def test_entries_are_found_as_by_a_search_of_all_that_was_kept(session: Session) -> None:
    for each in cache_marks(replayed(session)).rules:
        assert each.found.tolist() == found_by_hand(each, session, 300.0)


@given(talks())
@pytest.mark.long
def test_the_same_holds_of_long_prompts_and_wide_turns(session: Session) -> None:
    for each in cache_marks(replayed(session)).rules:
        assert each.found.tolist() == found_by_hand(each, session, 300.0)


def with_marks(session: Session, *marks: tuple[RecordedBreakpoint, ...] | None) -> Session:
    own = (*marks, *[()] * len(session.calls))
    calls = tuple(structs.replace(call, marks=found) for call, found in zip(session.calls, own, strict=False))
    return replace(session, calls=calls)


def grown(*pauses: float) -> Session:
    """Prompts of two texts, four, six and so on, each so many seconds after the one before."""
    talk = Talk()
    talk.ask()
    for pause in pauses:
        talk.ask()
        talk.answer(after=pause)
    return talk.session()


def test_recorded_marks_read_and_write_what_they_reach() -> None:
    session = with_marks(
        grown(10.0, 10.0, 10.0), (RecordedBreakpoint(2),), (), (RecordedBreakpoint(2), RecordedBreakpoint(4))
    )
    found = marked(session, BreakpointRule.RECORDED)
    assert found.blocks[:, :2].tolist() == [[2, NOWHERE], [NOWHERE, NOWHERE], [2, 4]]
    assert found.read.tolist() == pytest.approx([0, 0, 2 * SIZE], rel=0.02)
    assert found.written.tolist() == pytest.approx([2 * SIZE, 0, 2 * SIZE], rel=0.02)
    assert found.uncached.tolist() == pytest.approx([0, 4 * SIZE, 2 * SIZE], rel=0.02)


@pytest.mark.parametrize(("pause", "read"), [(3600.0, 2 * SIZE), (3601.0, 0)])
def test_an_entry_that_a_mark_asks_an_hour_for_is_found_for_an_hour(pause: float, read: int) -> None:
    whole = RecordedBreakpoint(2, "1h"), RecordedBreakpoint(4)
    session = with_marks(grown(10.0, 10.0, pause), (whole[0],), whole, whole)
    found = marked(session, BreakpointRule.RECORDED)
    assert found.read.tolist() == pytest.approx([0, 2 * SIZE, read], rel=0.02), "what was kept for five minutes is gone"
    rates = Pricing().rates(OPUS, session.calls[0].time)
    assert rates is not None
    long = 2 * SIZE + (2 * SIZE - read)
    expected = long * rates.cache_write_1h + 4 * SIZE * rates.cache_write_5m + (2 * SIZE + read) * rates.cache_read
    assert found.usd.value == pytest.approx((expected + 2 * SIZE * rates.input) / 1e6, rel=0.02)


def test_calls_whose_request_nobody_recorded_are_not_among_those_of_recorded_marks() -> None:
    session = with_marks(grown(10.0, 10.0), (RecordedBreakpoint(2),), None)
    found = cache_marks(replayed(session))
    recorded = found.rules[0]
    assert recorded.rule is BreakpointRule.RECORDED
    assert (recorded.covers.tolist(), found.are_recorded.tolist()) == ([True, False], [True, False])
    assert recorded.read.tolist() == [0, 0]
    assert (found.breakpoints_at(recorded, 1), found.rules[1].covers.tolist()) == ((), [True, True])


def test_recorded_marks_have_no_rule_where_no_request_has_one() -> None:
    session = grown(10.0, 10.0)
    assert BreakpointRule.RECORDED not in [each.rule for each in cache_marks(replayed(session)).rules]
    found = cache_marks(replayed(with_marks(session)))
    assert BreakpointRule.RECORDED not in [each.rule for each in found.rules]
    assert found.are_recorded.all()


def test_the_lifetime_that_a_recorded_mark_names_is_said_of_it() -> None:
    session = with_marks(grown(10.0), (RecordedBreakpoint(1, "1h"), RecordedBreakpoint(2)))
    found = cache_marks(replayed(session))
    assert [mark.lifetime for mark in found.breakpoints_at(found.rules[0], 0)] == ["1h", ""]
    assert [mark.lifetime for mark in found.breakpoints_at(found.rules[1], 0)] == [""]


@given(talks(), st.sampled_from([rule for rule in BreakpointRule if rule is not BreakpointRule.RECORDED]))
def test_marks_that_were_recorded_where_a_rule_puts_them_hold_what_the_rule_s_do(
    session: Session, rule: BreakpointRule
) -> None:
    placed = marked(session, rule)
    places = [[place for place in row if place > 0] for row in placed.blocks.tolist()]
    same = with_marks(session, *(tuple(map(RecordedBreakpoint, row)) for row in places))
    check(cache_marks(replayed(same)))
    if (placed.blocks == 0).any():
        return  # a breakpoint after content that the file does not show
    found = marked(same, BreakpointRule.RECORDED)
    for name in ("found", "read", "written", "uncached"):
        assert getattr(found, name).tolist() == getattr(placed, name).tolist()


@pytest.mark.parametrize("spec", ["tiered-stale", "keep-recent:keep=3", "token-budget:budget=9000"])
def test_the_same_holds_of_sample_sessions_under_plans(spec: str) -> None:
    for name in ("coding-agent.jsonl", "mail-and-jobs.jsonl"):
        session = open_session(ROOT / "sample_sessions" / name)
        check(cache_marks(replay_session(session, Plan.from_specs([spec]))))


def test_marks_at_the_end_read_what_the_sample_s_provider_reported_where_nothing_was_missed() -> None:
    replay = replay_session(open_session(ROOT / "sample_sessions" / "coding-agent.jsonl"), Plan())
    found = next(each for each in cache_marks(replay).rules if each.rule is BreakpointRule.END)
    reported = replay.ledger.cache_read
    growing = (
        replay.inputs.anchored & ~replay.inputs.restarts & (replay.inputs.previous_call >= 0) & (reported > 30_000)
    )
    assert growing.sum() > 20
    assert np.abs(found.read - reported)[growing].max() < 0.02 * reported.max()
