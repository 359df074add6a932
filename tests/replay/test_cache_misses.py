"""Why calls missed the prompt cache: a made-up session for every cause, and the sums over real ones."""

from collections.abc import Callable
from dataclasses import replace as changed
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from inspector.errors import SessionError
from inspector.replay.analysis.alternatives import lifetime_change, next_call_cost
from inspector.replay.analysis.cache_misses import (
    CacheMisses,
    cache_misses,
    calls_missed_by_edits,
    describe_evidence,
    duration,
    missed_calls,
)
from inspector.replay.analysis.plan_outcome import cache_rewrite_costs
from inspector.replay.cache.cache_models import CACHE_MODELS
from inspector.replay.cache.miss_causes import MissCause
from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import Replay, replay
from inspector.replay.figure import HowKnown
from inspector.replay.pricing.prices import Pricing
from inspector.replay.sessions import replay_session
from inspector.session.discovery import sessions_in
from inspector.session.model import BlockKind, ReportedMiss, Role, Session, Usage
from inspector.session.open import open_session
from inspector.strategies.core.operations import ReplaceText
from inspector.strategies.core.strategy import Decision
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan, PlanEntry
from inspector.strategies.registry import strategy
from inspector.tokens.token_table import TokenTable
from tests.conftest import ROOT
from tests.examples import examples
from tests.replay.synthetic import CharacterTable, SessionBuilder, Told

OPUS, SONNET, GPT = "claude-opus-4-8", "claude-sonnet-4-5", "gpt-5.1"
STEP = 10_000
"""Tokens that every call of the made-up sessions adds to its prompt."""

Setting = Callable[["Script"], None]


class Call(NamedTuple):
    read: int
    time: float
    model: str = OPUS
    hour: bool = False
    before: Setting | None = None


class Script(SessionBuilder):
    """Writes a session in which every call's prompt is `STEP` tokens longer than the one before it."""

    def play(self, *calls: Call) -> Session:
        """Make the calls."""
        prompt = 0
        self.add(Role.USER, self.block(BlockKind.USER_TEXT, "u" * STEP))
        for number, call in enumerate(calls):
            if call.before is not None:
                call.before(self)
            prompt = sum(self.messages[member].blocks[0].characters for member in self.members)
            written = prompt - call.read
            if call.model == GPT:
                usage = Usage(written, call.read, 0, 0, 10)
            else:
                usage = Usage(0, call.read, 0 if call.hour else written, written if call.hour else 0, 10)
            answer = self.block(BlockKind.ASSISTANT_TEXT, f"{number}a" * (STEP // 4))
            self.respond(answer, usage=usage, model=call.model, time=call.time)
            self.add(Role.USER, self.block(BlockKind.USER_TEXT, f"{number}u" * (STEP // 4)))
        return self.session()


def replayed(session: Session, plan: Plan | None = None) -> Replay:
    return replay(ReplayInputs.of(History.of(session), CharacterTable(session), pricing=Pricing()), plan or Plan())


def misses_of(session: Session, plan: Plan | None = None) -> CacheMisses:
    return cache_misses(replayed(session, plan))


def compact(script: Script) -> None:
    script.compact(0)
    script.add(
        Role.USER,
        script.block(
            BlockKind.USER_TEXT,
            "s" * STEP,
        ),
        is_summary=True,
    )


def rewind(script: Script) -> None:
    script.rewind(1)
    script.add(Role.USER, script.block(BlockKind.USER_TEXT, "another" * (STEP // 7)))


def inherit(script: Script) -> None:
    last = script.calls[-1].response
    script.messages[last] = structs.replace(script.messages[last], is_inherited=True)


def many_blocks(script: Script) -> None:
    for number in range(25):
        script.add(Role.USER, script.block(BlockKind.USER_TEXT, f"{number:03}"))


def system(text: str) -> Setting:
    def begin(script: Script) -> None:
        if script.calls:
            script.rewind(0)
        script.add(Role.SYSTEM, script.block(BlockKind.SYSTEM_TEXT, text * STEP))

    return begin


READS_ALL = (Call(0, 0.0), Call(STEP, 60.0))

SESSIONS: dict[MissCause, tuple[Call, ...]] = {
    MissCause.COMPACTION: (*READS_ALL, Call(0, 90.0, before=compact)),
    MissCause.REWIND: (*READS_ALL, Call(0, 90.0, before=rewind)),
    MissCause.MODEL_CHANGED: (*READS_ALL, Call(0, 90.0, SONNET)),
    MissCause.TTL_EXPIRED_5M: (*READS_ALL, Call(0, 361.0)),
    MissCause.TTL_EXPIRED_1H: (Call(0, 0.0, hour=True), Call(0, 3_601.0, hour=True)),
    MissCause.TTL_EXPIRED: (Call(0, 0.0, GPT), Call(STEP, 10.0, GPT), Call(0, 700.0, GPT)),
    MissCause.RESUMED: (*READS_ALL, Call(0, 90.0, before=inherit)),
    MissCause.LOOK_BACK: (*READS_ALL, Call(STEP, 90.0, before=many_blocks)),
    MissCause.LIKELY_SERVER_SIDE: (Call(0, 0.0, GPT), Call(STEP, 10.0, GPT), Call(0, 20.0, GPT)),
    MissCause.UNKNOWN: (*READS_ALL, Call(0, 90.0)),
    MissCause.SYSTEM_PROMPT_CHANGED: (Call(0, 0.0, before=system("1")), Call(0, 60.0, before=system("2"))),
}


@pytest.mark.parametrize("cause", SESSIONS)
def test_every_cause_is_known_by_what_the_session_shows(cause: MissCause) -> None:
    found = misses_of(Script().play(*SESSIONS[cause]))

    assert [miss.cause for miss in found.all] == [MissCause.FIRST_REQUEST, cause]
    miss = found.all[-1]
    assert miss.known is HowKnown.ESTIMATED
    assert miss.tokens == miss.could_read - miss.read > 0
    assert (miss in found.misses) is not cause.is_expected


def test_a_call_that_reads_what_the_one_before_left_misses_nothing() -> None:
    found = misses_of(Script().play(*READS_ALL, Call(20_000, 120.0)))

    assert not found.misses
    assert found.new_tokens == 20_000


def test_the_call_before_is_that_of_the_same_conversation_whatever_others_did_meanwhile() -> None:
    script = Script()
    session = script.play(Call(0, 0.0), Call(STEP, 400.0))
    aside = structs.replace(session.messages[0], thread=1)
    answer = structs.replace(session.messages[1], thread=1)
    messages = (*session.messages, aside, answer)
    other = structs.replace(session.contexts[0], members=(len(messages) - 2, len(messages) - 1), thread=1)
    call = structs.replace(session.calls[0], response=len(messages) - 1, context=1, time=390.0)
    missed = structs.replace(session.calls[1], usage=Usage(0, 0, 2 * STEP, 0, 10))
    session = changed(
        session, messages=messages, contexts=(*session.contexts, other), calls=(session.calls[0], call, missed)
    )

    miss = misses_of(session).misses[0]

    assert (miss.cause, miss.evidence.previous, miss.evidence.gap_seconds) == (MissCause.TTL_EXPIRED_5M, 0, 400.0)


def test_an_edit_of_the_plan_is_the_cause_of_what_it_makes_a_call_miss_and_names_its_rule() -> None:
    session = Script().play(*READS_ALL, Call(20_000, 90.0), Call(30_000, 120.0))
    cut = Decision(ReplaceText(""), "the answer is old")
    told_at_last = Told(((1, 3, cut),))
    plan = Plan((PlanEntry(told_at_last),))

    assert not misses_of(session).misses
    miss = misses_of(session, plan).misses[0]
    assert (miss.call, miss.cause, miss.evidence.blocks) == (3, MissCause.PLAN_EDIT, (1, 1))
    assert describe_evidence(miss, session).startswith("told: the answer is old")


def test_a_call_that_missed_as_recorded_keeps_its_cause_where_the_plan_edits_its_prompt_too() -> None:
    late = Call(0, 490.0)
    session = Script().play(*READS_ALL, Call(20_000, 90.0), late)
    plan = Plan((PlanEntry(Told(((1, 3, Decision(ReplaceText(""), "the answer is old")),))),))

    recorded, planned = misses_of(session).at(3), misses_of(session, plan).at(3)

    assert recorded is not None
    assert planned is not None
    assert recorded.cause is planned.cause is MissCause.TTL_EXPIRED_5M
    assert MissCause.PLAN_EDIT not in [miss.cause for miss in misses_of(session, plan).all]


def test_a_prompt_too_short_to_be_kept_is_the_cause_where_the_next_one_could_have_read_it() -> None:
    script = Script()
    script.add(Role.USER, script.block(BlockKind.USER_TEXT, "u" * 2_500))
    script.respond(
        script.block(BlockKind.ASSISTANT_TEXT, "a" * STEP), usage=Usage(2_500, 0, 0, 0, 9), model="claude-haiku-4-5"
    )
    script.respond(
        script.block(BlockKind.ASSISTANT_TEXT, "b"), usage=Usage(0, 0, 12_500, 0, 9), model="claude-haiku-4-5"
    )

    found = misses_of(script.session())

    assert [(miss.cause, miss.tokens) for miss in found.all][-1] == (MissCause.BELOW_MINIMUM, 2_500)


def test_results_that_the_agent_cleared_itself_are_an_expected_cause() -> None:
    script = Script()
    script.add(Role.USER, script.block(BlockKind.USER_TEXT, "u" * STEP))
    call = script.block(BlockKind.TOOL_CALL, "{}", "Read", "one")
    script.respond(call, usage=Usage(0, 0, STEP, 0, 9), model=OPUS, time=0.0)
    script.add(Role.USER, script.block(BlockKind.TOOL_RESULT, "r" * STEP, "Read", "one"))
    script.respond(
        script.block(BlockKind.ASSISTANT_TEXT, "a" * STEP),
        usage=Usage(0, STEP, STEP + 2, 0, 9),
        model=OPUS,
        time=9.0,
    )
    script.clear("one")
    script.add(Role.USER, script.block(BlockKind.USER_TEXT, "v" * STEP))
    script.respond(
        script.block(BlockKind.ASSISTANT_TEXT, "b"), usage=Usage(0, STEP, 2 * STEP, 0, 9), model=OPUS, time=20.0
    )

    found = misses_of(script.session())

    assert found.all[-1].cause is MissCause.CLEARING
    assert not found.misses


@pytest.mark.parametrize(
    ("lost", "is_missed"), [(1_999, False), (2_000, True), (2_500, True)], ids=["below", "at the least", "above"]
)
def test_a_miss_is_two_thousand_tokens_or_more(lost: int, is_missed: bool) -> None:
    found = misses_of(Script().play(Call(0, 0.0), Call(STEP - lost, 60.0)))

    assert bool(found.misses) is is_missed
    assert found.noise_tokens == (0 if is_missed else lost)


def test_a_miss_is_a_twentieth_of_what_could_have_been_read_or_more() -> None:
    calls = [Call(STEP * number, 10.0 * number) for number in range(11)]
    few, many = (misses_of(Script().play(*calls, Call(11 * STEP - lost, 110.0))) for lost in (5_400, 5_600))

    assert not few.misses
    assert few.noise_tokens == 5_400
    assert [miss.tokens for miss in many.misses] == [5_600]


REPORTED = {
    "model_changed": MissCause.MODEL_CHANGED,
    "system_changed": MissCause.SYSTEM_PROMPT_CHANGED,
    "tools_changed": MissCause.TOOLS_CHANGED,
    "messages_changed": MissCause.MESSAGES_REWRITTEN,
}


@pytest.mark.parametrize("reason", REPORTED)
def test_what_the_provider_says_counts_and_is_exact(reason: str) -> None:
    session = Script().play(*SESSIONS[MissCause.TTL_EXPIRED_5M])
    said = structs.replace(session.calls[-1], miss=ReportedMiss(reason, 8_000))
    session = changed(session, calls=(*session.calls[:-1], said))

    miss = misses_of(session).misses[0]

    assert (miss.cause, miss.derived, miss.known) == (REPORTED[reason], MissCause.TTL_EXPIRED_5M, HowKnown.EXACT)
    assert f"the provider reports {reason}, 8,000 tokens missed" in describe_evidence(miss, session)


@pytest.mark.parametrize("reason", ["unavailable", "previous_message_not_found", "a reason to come"])
def test_where_the_provider_names_no_cause_what_the_session_shows_counts(reason: str) -> None:
    session = Script().play(*SESSIONS[MissCause.TTL_EXPIRED_5M])
    said = structs.replace(session.calls[-1], miss=ReportedMiss(reason))
    session = changed(session, calls=(*session.calls[:-1], said))

    miss = misses_of(session).misses[0]

    assert (miss.cause, miss.known) == (MissCause.TTL_EXPIRED_5M, HowKnown.ESTIMATED)


def test_messages_that_changed_by_the_providers_word_are_a_compaction_where_there_was_one() -> None:
    session = Script().play(*SESSIONS[MissCause.COMPACTION])
    said = structs.replace(session.calls[-1], miss=ReportedMiss("messages_changed"))
    session = changed(session, calls=(*session.calls[:-1], said))

    assert misses_of(session).all[-1].cause is MissCause.COMPACTION


def test_dollars_of_a_miss_are_what_writing_cost_and_what_reading_would_have() -> None:
    miss = misses_of(Script().play(*READS_ALL, Call(0, 361.0))).misses[0]
    rates = Pricing().rates(OPUS, 361.0)
    assert rates is not None

    assert miss.tokens == 20_000
    assert miss.usd.value == pytest.approx(20_000 * rates.cache_write_5m / 1e6)
    assert miss.read_usd.value == pytest.approx(20_000 * rates.cache_read / 1e6)
    assert miss.extra_usd.value == pytest.approx(20_000 * (rates.cache_write_5m - rates.cache_read) / 1e6)


def test_a_session_without_a_price_has_misses_without_dollars() -> None:
    session = Script().play(*SESSIONS[MissCause.TTL_EXPIRED_5M])
    nobodys = Pricing(model="a model nobody sells")
    found = cache_misses(replay(ReplayInputs.of(History.of(session), CharacterTable(session), pricing=nobodys), Plan()))

    for miss in found.misses:
        assert miss.usd.value is None
    assert found.total.extra_usd is None or not found.misses


def test_a_session_that_never_used_a_cache_has_nothing_to_explain() -> None:
    script = Script()
    script.add(Role.USER, script.block(BlockKind.USER_TEXT, "u" * STEP))
    for _ in range(3):
        script.respond(script.block(BlockKind.ASSISTANT_TEXT, "a"), usage=Usage(STEP, 0, 0, 0, 9), model=OPUS)

    found = misses_of(script.session())

    assert not found.all
    assert found.unread_tokens == 3 * STEP


def test_a_model_whose_cache_no_one_knows_misses_what_its_provider_reports_others_read() -> None:
    nobodys, local = "a-model-nobody-sells", "a-model-without-a-cache"
    calls = (Call(0, 0.0, nobodys), Call(STEP, 60.0, nobodys), Call(0, 4_000.0, nobodys), Call(0, 4_060.0, local))
    script = Script()
    session = script.play(*calls, Call(0, 4_100.0, local))
    plain = tuple(
        structs.replace(call, usage=Usage(call.usage.prompt, 0, 0, 0, 10)) if call.model == local else call
        for call in session.calls
    )

    found = misses_of(changed(session, calls=plain))

    assert [(miss.call, miss.cause) for miss in found.misses] == [(2, MissCause.LIKELY_SERVER_SIDE)]
    assert describe_evidence(found.misses[0], session) == (
        "1 h 6 min after call 2; same model and prefix: a hit is not guaranteed"
    )
    assert found.misses[0].usd.value is None


def test_a_session_without_calls_has_nothing_to_explain() -> None:
    script = Script()
    script.add(Role.USER, script.block(BlockKind.USER_TEXT, "u"))

    assert misses_of(script.session()).all == ()


calls_by_chance = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.sampled_from([1.0, 100.0, 400.0, 4_000.0]),
        st.sampled_from([OPUS, OPUS, OPUS, SONNET, GPT]),
        st.booleans(),
        st.sampled_from([None, None, None, compact, rewind, inherit, many_blocks]),
    ),
    min_size=1,
    max_size=12,
)


def session_by_chance(drawn: list[tuple[float, float, str, bool, Setting | None]]) -> Session:
    calls, time, prompt = [], 0.0, STEP
    for share, gap, model, hour, before in drawn:
        time += gap
        happens = before if calls else None
        prompt = 2 * STEP if happens in (compact, rewind) else prompt
        calls.append(Call(int(share * min(prompt, STEP)), time, model, hour, happens))
        prompt += STEP
    return Script().play(*calls)


@settings(max_examples=examples(60), deadline=None)
@given(calls_by_chance)
def test_every_token_that_was_not_read_is_accounted_for(drawn) -> None:
    assert_accounted(misses_of(session_by_chance(drawn)))


def assert_accounted(found: CacheMisses) -> None:
    ledger = found.replay.ledger
    assert found.unread_tokens == int((ledger.uncached + ledger.cache_write_5m + ledger.cache_write_1h).sum())
    assert found.unread_tokens == (
        found.new_tokens
        + found.noise_tokens
        + found.uncompared_tokens
        + sum(miss.tokens for miss in found.all)
        - found.beyond_tokens
    )
    assert sum(row.tokens for row in found.causes) == sum(miss.tokens for miss in found.all)
    assert sum(row.calls for row in found.causes) == len(found.all)
    assert found.new_tokens >= 0
    for miss in found.misses:
        assert miss.tokens > 0
        assert miss.extra_usd.value is None or miss.extra_usd.value >= 0


@pytest.mark.long
def test_every_token_that_real_sessions_did_not_read_is_accounted_for_with_and_without_a_plan(corpus: Path) -> None:
    paths = [found.path for folder in (corpus, ROOT / "sample_sessions") for found in sessions_in(folder)]
    explained = 0
    for path in paths:
        try:
            session = open_session(path)
        except SessionError:
            continue
        inputs = ReplayInputs.of(History.of(session), TokenTable.estimated(session), pricing=Pricing())
        for plan in (Plan(), Plan((PlanEntry(strategy("clear-old")),))):
            found = cache_misses(replay(inputs, plan))
            assert_accounted(found)
            explained += len(found.misses)
    assert explained > 100


def test_the_four_rewrites_of_a_long_session_are_a_model_an_effort_and_two_pauses(corpus: Path) -> None:
    (path,) = (corpus / "claude-code").glob("e92f5a0b*.jsonl")
    session = open_session(path)

    found = cache_misses(replay_session(session, Plan()))

    assert [(miss.call, miss.cause, miss.tokens, miss.known) for miss in found.misses] == [
        (26, MissCause.MODEL_CHANGED, 134_211, HowKnown.EXACT),
        (34, MissCause.THINKING_CHANGED, 147_489, HowKnown.ESTIMATED),
        (124, MissCause.TTL_EXPIRED_5M, 327_011, HowKnown.ESTIMATED),
        (131, MissCause.TTL_EXPIRED_5M, 346_623, HowKnown.ESTIMATED),
    ]
    assert [miss.derived for miss in found.misses] == [miss.cause for miss in found.misses]
    assert found.misses[0].reported == ReportedMiss("model_changed", 117_962)
    assert found.misses[0].evidence.models == ("claude-fable-5", "claude-opus-4-8")
    assert (
        describe_evidence(found.misses[1], session)
        == "high before, xhigh now; the provider could not determine the cause"
    )


def by_hand(session: Session, *, to_hour: bool) -> float:
    pricing, total = Pricing(), 0.0
    odds = replayed(session).inputs.odds_of(CACHE_MODELS["anthropic-1h" if to_hour else "anthropic"])
    assert odds is not None
    for number, call in enumerate(session.calls):
        rates = pricing.rates(call.model, call.time)
        assert rates is not None
        assert call.usage is not None
        row = rates.at(call.usage.prompt)
        read, written, plain = call.usage.cache_read, call.usage.prompt - call.usage.cache_read, 0
        earlier = session.calls[:number]
        # Every model has its own cache: the last call of the same one counts, if there is any.
        before = next(
            (each for each in reversed(earlier) if each.model == call.model), earlier[-1] if earlier else None
        )
        gap = call.time - before.time if before is not None else 0.0
        held = min(before.usage.prompt, call.usage.prompt) if before is not None else 0
        same = before is not None and before.model == call.model
        chance = odds.chances[2 if gap <= 360 else 3]
        if "claude" not in call.model:
            written, plain = 0, written
        elif to_hour and same and 300 < gap <= 3600 and held - read >= max(2_000, 0.05 * held):
            read += round(chance * (held - read))
            written = call.usage.prompt - read
        elif not to_hour and same and 300 < gap <= 3600 and held - read < max(2_000, 0.05 * held):
            read -= round((1 - chance) * read)
            written = call.usage.prompt - read
        price = row.cache_write_1h if to_hour else row.cache_write_5m
        total += plain * row.input + read * row.cache_read + written * price + call.usage.output * row.output
    return total / 1e6


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.0, 0.5, 1.0]),
            st.sampled_from([10.0, 400.0, 3_000.0, 4_000.0]),
            st.sampled_from([OPUS, OPUS, SONNET]),
        ),
        min_size=1,
        max_size=12,
    ),
    st.booleans(),
)
def test_the_other_lifetime_costs_what_it_does_worked_out_call_by_call(drawn, to_hour: bool) -> None:
    calls, time = [], 0.0
    for number, (share, gap, model) in enumerate(drawn):
        time += gap
        calls.append(Call(int(share * number * STEP), time, model, hour=not to_hour))
    session = Script().play(*calls)

    found = misses_of(session)
    change = lifetime_change(found)

    assert change is not None
    assert change.seconds == (3600.0 if to_hour else 300.0)
    assert change.usd == pytest.approx(by_hand(session, to_hour=to_hour))
    assert change.known["usd"] == HowKnown.PROJECTED
    assert change.saved_usd == pytest.approx(change.miss_usd - change.write_usd)
    if to_hour:
        expired = [miss for miss in found.all if miss.cause is MissCause.TTL_EXPIRED_5M]
        prevented = [miss.extra_usd.value for miss in expired if miss.evidence.gap_seconds <= 3600]
        assert change.misses == len(prevented)
        # As is typical of an hour's cache, nine of ten of these reads succeed.
        assert 0.85 * sum(prevented) <= change.miss_usd <= sum(prevented) + 1e-9


def test_so_many_pauses_make_both_lifetimes_cost_the_same() -> None:
    pauses = [Call(0, 0.0), *(Call(0, 400.0 * number) for number in range(1, 4))]

    change = lifetime_change(misses_of(Script().play(*pauses)))

    assert change is not None
    assert change.misses == 3
    assert change.saved_usd is not None
    assert change.break_even is not None
    assert (change.saved_usd > 0) == (change.misses >= change.break_even)


def test_providers_without_a_choice_of_lifetimes_have_no_other_one() -> None:
    assert lifetime_change(misses_of(Script().play(*SESSIONS[MissCause.TTL_EXPIRED]))) is None


def test_the_next_call_is_priced_warm_cold_afresh_and_compacted() -> None:
    plain = replayed(Script().play(*READS_ALL))
    found = next_call_cost(plain)
    rates = Pricing().rates(OPUS, 60.0)
    assert found is not None
    assert rates is not None

    prompt = round(plain.inputs.sizes.whole[-1])
    assert (found.prompt_tokens, found.cached_tokens, found.fresh_tokens) == (prompt, 2 * STEP, STEP)
    assert found.expires_at == 360.0
    write, read = rates.cache_write_5m / 1e6, rates.cache_read / 1e6
    assert found.warm_usd == pytest.approx(2 * STEP * read + (prompt - 2 * STEP) * write)
    assert found.cold_usd == pytest.approx(prompt * write)
    assert found.fresh_usd == pytest.approx(STEP * write)
    summary = found.compacted_tokens - STEP
    compact_first = prompt * write + summary * rates.output / 1e6 + found.compacted_tokens * write
    assert found.compact_first_usd == pytest.approx(compact_first)
    assert found.compact_pays_after is not None
    assert found.warm_chance == pytest.approx(0.96, abs=0.01)
    saved = (prompt - found.compacted_tokens) * (found.warm_chance * read + (1 - found.warm_chance) * write)
    assert (found.compact_pays_after - 1) * saved < compact_first - prompt * write <= found.compact_pays_after * saved


def test_times_are_reported_in_their_two_largest_units() -> None:
    assert [duration(seconds) for seconds in (27, 60, 218, 790, 3_600, 7_920)] == [
        "27 s",
        "1 min",
        "3 min 38 s",
        "13 min 10 s",
        "1 h",
        "2 h 12 min",
    ]


@pytest.mark.parametrize(
    "name", ["tiered-stale", "clear-old", "token-budget", "vercel-prune", "keep-recent", "prune-old"]
)
def test_what_a_plan_makes_a_call_miss_is_no_more_than_its_edits_recache_there(name: str) -> None:
    session = open_session(ROOT / "sample_sessions" / "coding-agent.jsonl")
    planned = replay_session(session, Plan.from_specs([name]))
    recached = cache_rewrite_costs(planned).resent

    missed = {miss.call: miss.tokens for miss in cache_misses(planned).all if miss.cause is MissCause.PLAN_EDIT}
    assert all(tokens <= recached[call] for call, tokens in missed.items()), (missed, recached)
    # Every request of `vercel-prune` changes what it shares with the last one, so little is there to be missed.
    assert bool(missed) == (name != "vercel-prune")


@pytest.mark.parametrize("name", ["tiered-stale", "clear-old", "token-budget", "keep-recent", "prune-old"])
def test_calls_that_miss_by_edits_are_those_whose_misses_are_explained_so(name: str) -> None:
    session = open_session(ROOT / "sample_sessions" / "coding-agent.jsonl")
    baseline, planned = replay_session(session, Plan()), replay_session(session, Plan.from_specs([name]))

    explained = [miss.call for miss in cache_misses(planned).all if miss.cause is MissCause.PLAN_EDIT]
    assert calls_missed_by_edits(planned, baseline, missed_calls(baseline)).tolist() == explained


def test_the_request_that_summarizes_is_no_miss_of_the_conversation_and_neither_is_the_call_after_it() -> None:
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "u" * 4_000))
    models = ("claude-opus-4-8", "claude-opus-4-8", "claude-haiku-4-5", "claude-opus-4-8")
    for number, model in enumerate(models):
        if number == 3:
            builder.compact(0)
            builder.messages[-1] = structs.replace(builder.messages[-1], is_summary=True)
            builder.members = [len(builder.messages) - 1]
            builder.compactions[-1] = structs.replace(builder.compactions[-1], message=len(builder.messages) - 1)
        # The summarizer reads nothing of the conversation's cache, and the next prompt is new.
        read = 30_000 if number == 1 else 0
        usage = Usage(cache_read=read, cache_write_5m=30_000 + 100 * number - read, output=10)
        text = builder.block(BlockKind.ASSISTANT_TEXT, f"{number:0100}")
        builder.respond(text, usage=usage, model=model, time=float(number))
    session = builder.session()
    inputs = ReplayInputs.of(History.of(session), CharacterTable(session))
    found = cache_misses(replay(inputs, Plan()))
    assert [(miss.call, miss.cause) for miss in found.all] == [
        (0, MissCause.FIRST_REQUEST),
        (2, MissCause.COMPACTION),
        (3, MissCause.COMPACTION),
    ]
    assert found.misses == ()
