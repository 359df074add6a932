"""Every recorded session with usage: the baseline equals the report, and predictions are within tolerance."""

import dataclasses
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from genai_prices import Usage as PricedUsage
from genai_prices import calc_price

from inspector.errors import SessionError
from inspector.replay.analysis.validation import prompt_fit, validate
from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import replay
from inspector.replay.pricing.prices import Pricing
from inspector.session.discovery import sessions_in
from inspector.session.model import BlockKind, Call, Role, Session, Usage
from inspector.session.open import open_session
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from inspector.tokens.counter import load_counter
from inspector.tokens.token_table import TokenTable, count_session
from tests.replay.synthetic import CharacterTable, SessionBuilder

PRICING = Pricing()


def reporting_sessions(corpus: Path) -> Iterator[tuple[str, Session]]:
    for found in sessions_in(corpus):
        try:
            session = open_session(found.path)
        except SessionError:
            continue
        if any(call.usage is not None and call.usage.prompt for call in session.calls):
            yield str(found.path.relative_to(corpus)), session


@pytest.fixture(scope="module")
def sessions(corpus: Path) -> dict[str, Session]:
    return dict(reporting_sessions(corpus))


def priced_directly(call: Call, output: int) -> float | None:
    usage = call.usage
    moment = PRICING.today if call.time is None else call.time
    try:
        found = calc_price(
            PricedUsage(
                input_tokens=usage.prompt,
                cache_read_tokens=usage.cache_read,
                cache_write_tokens=usage.cache_write_5m + usage.cache_write_1h,
                cache_write_1h_tokens=usage.cache_write_1h,
                output_tokens=output if usage.output_is_placeholder else usage.output,
            ),
            call.model,
            genai_request_timestamp=datetime.fromtimestamp(moment, UTC),
        )
    except LookupError:
        return None
    return float(found.total_price)


def test_every_baseline_costs_what_genai_prices_says_of_the_recorded_usage_to_the_cent(sessions: dict[str, Session]):
    compared = 0
    for name, session in sessions.items():
        inputs = ReplayInputs.of(History.of(session), TokenTable.estimated(session), pricing=PRICING)
        ledger = replay(inputs, Plan()).ledger
        reported = [(at, call) for at, call in enumerate(session.calls) if call.usage is not None and call.usage.prompt]
        # A stream placeholder is not a length: use the estimate.
        direct = [priced_directly(call, int(ledger.output[at])) for at, call in reported]
        if None in direct:
            continue  # in no price table under the recorded name; the program has its own names for some
        mine = [at for at, _ in reported]
        assert abs(float(ledger.cost[mine].sum()) - sum(direct)) < 0.005, name
        assert ledger.prompt_tokens[mine].tolist() == [call.usage.prompt for _, call in reported], name
        assert ledger.cache_read[mine].tolist() == [call.usage.cache_read for _, call in reported], name
        compared += 1
    assert compared >= 15


def test_prompts_are_met_within_the_promise_or_it_is_stated_which_calls_are_in_the_way(sessions: dict[str, Session]):
    counter = load_counter()
    if not counter.is_exact_tokenizer:
        pytest.skip(counter.advice)
    kept = 0
    for name, session in sessions.items():
        *_, table = count_session(session, counter)
        inputs = ReplayInputs.of(History.of(session), table, pricing=PRICING)
        fit = prompt_fit(inputs)
        if not fit.is_judged:
            assert sum(call.usage is not None for call in session.calls) < 10 or not inputs.scale.calibration.is_fitted
            continue
        if fit.keeps():
            kept += 1
            continue
        assert not name.startswith("claude-code"), name
        assert fit.outliers, name
        assert fit.beyond >= len(fit.outliers)
        for outlier in fit.outliers:
            assert abs(outlier.off) > 0.01
            assert outlier.reported == session.calls[outlier.call - 1].usage.prompt
    assert kept >= 19


def grown_session(reads: list[int | None]) -> Session:
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "goal" * 500))
    size = previous = 2000 + 6
    for turn, read in enumerate(reads):
        read = (previous if turn else 0) if read is None else read
        usage = Usage(cache_read=read, cache_write_5m=size - read, output=5)
        call = builder.block(BlockKind.TOOL_CALL, "{}", "Read", f"c{turn}")
        builder.respond(call, usage=usage, model="claude-opus-4-8", time=60.0 * turn)
        builder.add(Role.USER, builder.block(BlockKind.TOOL_RESULT, f"{turn}" + "r" * 999, "Read", f"c{turn}"))
        previous, size = size, size + 2 + 6 + 1000 + 6
    return builder.session()


def inputs_of(session: Session) -> ReplayInputs:
    return ReplayInputs.of(History.of(session), CharacterTable(session), pricing=PRICING)


def test_what_a_provider_does_by_its_rules_is_predicted():
    found = validate(inputs_of(grown_session([None] * 14)))

    assert found.fit.keeps()
    assert found.cache_read.off == pytest.approx(0, abs=0.01)
    assert found.reads_met == 1
    assert found.cost.off == pytest.approx(0, abs=0.01)
    assert found.baseline_is_recorded
    assert (found.gaps.elsewhere, found.gaps.missed, found.gaps.found) == (0, 0, 0)


def test_reads_that_differ_from_the_rules_are_distinguished_by_why():
    reads: list[int | None] = [None] * 14
    reads[0], reads[5] = 1500, 0
    session = grown_session(reads)
    prompt = session.calls[4].usage.prompt

    found = validate(inputs_of(session))

    assert found.gaps.elsewhere == 1500
    assert found.gaps.missed == pytest.approx(prompt, rel=0.01)
    assert found.gaps.found == 0
    assert found.reads_met == pytest.approx(12 / 14)
    assert found.cost.predicted < found.cost.recorded


def test_a_read_after_the_lifetime_is_found_though_the_rules_hold_it_no_more():
    session = grown_session([None] * 14)
    calls = tuple(
        Call(call.response, call.context, call.prompt_messages, call.model, 400.0 * at, call.usage)
        for at, call in enumerate(session.calls)
    )

    found = validate(inputs_of(dataclasses.replace(session, calls=calls)))

    assert found.cache_read.predicted == 0
    assert found.gaps.found == found.cache_read.recorded


def test_a_session_without_usage_has_nothing_to_check_against():
    session = grown_session([None] * 3)
    calls = tuple(
        Call(call.response, call.context, call.prompt_messages, call.model, call.time) for call in session.calls
    )

    assert validate(inputs_of(dataclasses.replace(session, calls=calls))) is None


def test_calls_that_are_far_off_are_named_with_what_they_brought():
    """More of them than shifts are assumed for: those that are left over are named."""
    session = grown_session([None] * 30)
    calls = list(session.calls)
    for at in range(12, 24, 2):
        more = calls[at].usage.cache_write_5m + 1500
        usage = Usage(calls[at].usage.uncached, calls[at].usage.cache_read, more, output=5)
        calls[at] = Call(calls[at].response, 0, calls[at].prompt_messages, calls[at].model, calls[at].time, usage)

    fit = prompt_fit(inputs_of(dataclasses.replace(session, calls=tuple(calls))))

    assert fit.outliers
    assert all(outlier.call in range(11, 27) for outlier in fit.outliers)
    assert {outlier.brought for outlier in fit.outliers} == {"tool result, tool call"}
    assert fit.beyond >= len(fit.outliers)
    assert not np.isnan(fit.held_out_median)


def test_what_blanking_saved_is_counted_by_the_agents_own_rule_and_on_the_providers_scale(corpus: Path):
    (path,) = (corpus / "claude-code").glob("70d782f7*.jsonl")
    session = open_session(path)
    *_, table = count_session(session, load_counter())

    cuts = validate(ReplayInputs.of(History.of(session), table, pricing=PRICING)).cuts

    blanked = [cut for cut in cuts if cut.what == "tokens saved"]
    recorded = [one for one in session.compactions if one.is_partial]
    assert [(cut.results, cut.recorded) for cut in blanked] == [
        (len(one.cleared_tool_call_ids), one.tokens_saved) for one in recorded
    ]
    for cut in blanked:
        assert cut.missing == 0
        assert abs(cut.off) < 0.1
        assert cut.measured > cut.replayed


def test_our_rule_blanks_the_very_results_the_agent_blanked(corpus: Path):
    (path,) = (corpus / "claude-code").glob("70d782f7*.jsonl")
    session = open_session(path)

    cuts = validate(ReplayInputs.of(History.of(session), TokenTable.estimated(session), pricing=PRICING)).cuts

    blanked = [(cut.recorded, cut.replayed, cut.alike) for cut in cuts if cut.what == "results blanked"]
    assert blanked == [(29, 29, 29), (37, 37, 37)]


def test_what_a_compaction_left_is_met_where_the_file_holds_all_of_it(corpus: Path):
    """Codex records the whole history it goes on with."""
    (path,) = (corpus / "codex").glob("rollout-2026-06-18*.jsonl")
    session = open_session(path)
    *_, table = count_session(session, load_counter())

    cuts = validate(ReplayInputs.of(History.of(session), table, pricing=PRICING)).cuts

    left = [cut for cut in cuts if cut.what == "context after"]
    assert len(left) == len(session.compactions) == 3
    assert max(abs(cut.off) for cut in left) < 0.1


def test_the_longer_prompt_before_a_compaction_comes_to_what_the_agent_says(corpus: Path):
    (path,) = (corpus / "claude-code").glob("0cf3db51*.jsonl")
    session = open_session(path)
    *_, table = count_session(session, load_counter())

    cuts = validate(ReplayInputs.of(History.of(session), table, pricing=PRICING)).cuts

    before = [cut for cut in cuts if cut.what == "context before"]
    assert len(before) == len(session.compactions)
    assert max(abs(cut.off) for cut in before) < 0.01
