import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.tokens.calibration import (
    LEAST_CALLS,
    Expectation,
    PromptContents,
    ResponseModel,
    calibrate,
    robust_fit,
    segment_medians,
)
from inspector.tokens.model_names import typical_coefficients
from tests.examples import examples

MODEL = "claude-opus-4-8"


class Sessions:
    def __init__(self, calls: int, seed: int = 0, contexts: int = 1) -> None:
        generator = np.random.default_rng(seed)
        self.contexts = np.sort(generator.integers(0, contexts, calls)) if contexts > 1 else np.zeros(calls, dtype=int)
        added = np.column_stack(
            (
                generator.lognormal(6, 1.3, calls).astype(int) + 20,
                generator.integers(2, 6, calls),
                generator.choice([0, 400, 1500, 4000], calls),
            )
        )
        columns = np.cumsum(added, axis=0)
        for context in range(1, contexts):
            here = self.contexts == context
            columns[here] -= columns[here][:1] - 50 if here.any() else 0
        self.counted, self.blocks, self.signatures = columns.T
        self.media = np.zeros_like(self.counted)
        self.generator = generator

    def reported(self, ratio: float, block: float, signature: float, overhead: float, noise: float = 0) -> np.ndarray:
        exact = overhead + ratio * self.counted + block * self.blocks + signature * self.signatures
        return np.rint(exact + self.generator.normal(0, 1, len(exact)).cumsum() * noise).astype(np.int64)

    @property
    def contents(self) -> dict[ResponseModel, PromptContents]:
        return {ResponseModel.SIGNATURES: PromptContents(self.counted, self.blocks, self.signatures, self.media)}

    def calibrate(self, reported: np.ndarray, models: list[str] | None = None):
        models = models or [MODEL] * len(reported)
        return calibrate(models, self.contexts, self.contents, reported)


coefficients = st.tuples(st.floats(0.9, 1.9), st.floats(0, 50), st.floats(0.1, 0.35), st.floats(0, 80_000))


@settings(max_examples=examples(50), deadline=None)
@given(coefficients, st.integers(25, 300), st.integers(0, 1000))
def test_a_provider_that_counts_by_the_rule_is_met(truth: tuple[float, float, float, float], calls: int, seed: int):
    session = Sessions(calls, seed)
    reported = session.reported(*truth)
    found = session.calibrate(reported)
    assert found.ratio == pytest.approx(truth[0], rel=0.02)
    assert found.prompt == pytest.approx(reported, rel=0.01, abs=300)
    assert found.residual <= 0.002
    assert found.calls == calls
    assert found.is_fitted


def test_the_overhead_is_what_the_session_does_not_show():
    session = Sessions(200, 3)
    found = session.calibrate(session.reported(1.5, 20, 0.25, 41_000))
    assert found.overhead == pytest.approx(41_000, rel=0.01)


def test_every_context_has_an_overhead_of_its_own():
    session = Sessions(200, 4, contexts=4)
    jumps = np.array([40_000, 55_000, 30_000, 61_000])[session.contexts]
    found = session.calibrate(session.reported(1.5, 20, 0.25, 0) + jumps)
    assert found.shifts == ()
    assert found.residual_p90 < 0.005
    assert found.overhead == pytest.approx(61_000, rel=0.02)


def test_what_is_added_or_taken_away_unseen_is_found_and_spoils_nothing():
    session = Sessions(200, 5)
    reported = session.reported(1.5, 20, 0.25, 40_000, noise=15)
    reported[60:] += 9_000
    reported[130:] -= 27_000
    found = session.calibrate(reported)
    assert [shift.call for shift in found.shifts] == [60, 130]
    assert [shift.tokens for shift in found.shifts] == pytest.approx([9_000, -27_000], abs=300)
    assert found.ratio == pytest.approx(1.5, rel=0.02)
    assert found.residual_p90 <= 0.01


def test_a_single_wrong_report_leaves_the_ratio_alone():
    session = Sessions(100, 6)
    reported = session.reported(1.1, 25, 0.2, 30_000)
    reported[40] = 12
    found = session.calibrate(reported)
    assert found.ratio == pytest.approx(1.1, rel=0.02)
    assert found.calls == 99
    assert {shift.call for shift in found.shifts} == {40, 41}


def test_each_model_is_fitted_to_its_own_calls():
    session = Sessions(240, 7)
    first = session.reported(1.55, 20, 0.25, 40_000)
    second = session.reported(1.12, 20, 0.25, 30_000)
    models = ["claude-opus-4-8"] * 160 + ["claude-opus-4-6"] * 80
    found = session.calibrate(np.where(np.arange(240) < 160, first, second), models)
    assert found.ratio == found.coefficients["claude-opus-4-8"].ratio == pytest.approx(1.55, rel=0.02)
    assert found.coefficients["claude-opus-4-6"].ratio == pytest.approx(1.12, rel=0.02)
    assert set(found.call_ratio[160:]) == {found.coefficients["claude-opus-4-6"].ratio}
    assert found.shifts == ()
    assert found.residual_p90 <= 0.002


def test_calls_without_a_report_are_predicted_from_those_with():
    session = Sessions(120, 8)
    exact = session.reported(1.5, 20, 0.25, 40_000)
    reported = np.where(np.arange(120) % 3 == 0, 0, exact)
    reported[-1] = 0
    found = session.calibrate(reported)
    assert found.calls == int((reported > 0).sum())
    assert found.prompt == pytest.approx(exact, rel=0.01)


def test_a_context_without_any_report_gets_the_usual_overhead():
    session = Sessions(150, 9, contexts=3)
    exact = session.reported(1.5, 20, 0.25, 40_000)
    found = session.calibrate(np.where(session.contexts == 2, 0, exact))
    assert found.overhead == pytest.approx(40_000, rel=0.02)
    assert found.prompt == pytest.approx(exact, rel=0.03)


def test_threads_whose_calls_take_turns_do_not_disturb_each_other():
    session = Sessions(200, 10)
    turns = np.arange(200) % 2
    exact = session.reported(1.5, 20, 0.25, 0) + np.where(turns, 15_000, 60_000)
    found = calibrate([MODEL] * 200, turns, session.contents, exact)
    assert found.shifts == ()
    assert found.residual_p90 <= 0.005


@pytest.mark.parametrize(("model", "ratio"), [("claude-opus-4-8", 1.55), ("claude-opus-4-5", 1.15), ("gpt-5.4", 1.0)])
def test_fewer_than_ten_calls_use_what_is_typical_of_the_family_and_are_no_fit(model: str, ratio: float):
    session = Sessions(LEAST_CALLS - 1, 11)
    typical = typical_coefficients(model)
    reported = session.reported(*typical[:3], 35_000)
    found = session.calibrate(reported, [model] * len(reported))
    assert not found.is_fitted
    assert found.ratio == ratio
    assert math.isnan(found.residual)
    assert found.calls == 0
    # The reported usage still includes the overhead.
    assert found.overhead == pytest.approx(35_000, abs=5)


def test_reports_that_belong_to_other_calls_are_no_fit():
    session = Sessions(200, 14)
    session.signatures = session.signatures * 0
    exact = session.reported(1.0, 6, 0, 20_000)
    found = session.calibrate(np.append(exact[1:], exact[-1] + 500), ["gpt-5.4"] * 200)
    assert not found.is_fitted
    assert found.ratio == 1.0
    assert math.isnan(found.residual)
    assert found.shifts == ()


def test_texts_the_agent_cut_before_it_sent_them_do_not_decide_the_ratio():
    session = Sessions(200, 15)
    added = np.diff(session.counted, prepend=0)
    sent = np.cumsum(np.minimum(added, 2_500))
    reported = np.rint(40_000 + 1.1 * sent + 20 * session.blocks + 0.2 * session.signatures).astype(np.int64)
    assert (added > 2_500).sum() > 5
    assert session.calibrate(reported, ["claude-opus-4-5"] * 200).ratio == pytest.approx(1.1, rel=0.05)


def test_nothing_reported_is_no_fit_and_no_overhead():
    session = Sessions(50, 12)
    found = session.calibrate(np.zeros(50, dtype=np.int64))
    assert not found.is_fitted
    assert found.overhead == 0
    assert found.ratio == typical_coefficients(MODEL).ratio


def test_a_session_without_calls_can_be_calibrated():
    empty = np.zeros(0, dtype=np.int64)
    found = calibrate([], empty, {ResponseModel.SIGNATURES: PromptContents(empty, empty, empty, empty)}, empty)
    assert (found.ratio, found.overhead, found.calls, found.is_fitted) == (1.0, 0.0, 0, False)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(
        st.tuples(*(st.integers(0, 10**7) for _ in range(4)), st.integers(0, 3), st.sampled_from(["a", MODEL])),
        max_size=60,
    )
)
def test_no_numbers_make_it_fail_or_invent_negative_coefficients(rows: list[tuple[int, int, int, int, int, str]]):
    columns = [np.array([row[place] for row in rows], dtype=np.int64) for place in range(5)]
    models = [row[5] for row in rows]
    found = calibrate(
        models,
        columns[4],
        {ResponseModel.SIGNATURES: PromptContents(*columns[:3], np.zeros_like(columns[0]))},
        columns[3],
    )
    assert np.isfinite(found.prompt).all()
    assert all(value >= 0 for part in found.coefficients.values() for value in part)


def test_the_same_session_calibrates_the_same_whatever_the_order_of_its_contexts():
    session = Sessions(100, 13, contexts=2)
    reported = session.reported(1.5, 20, 0.25, 40_000, noise=20)
    there = session.calibrate(reported)
    session.contexts = 1 - session.contexts
    assert session.calibrate(reported).ratio == pytest.approx(there.ratio, rel=1e-6)


def test_a_clean_fit_is_least_squares():
    generator = np.random.default_rng(1)
    features = generator.random((80, 2)) * 1000
    values = features @ (1.3, 7) + 500 + generator.normal(0, 0.5, 80)
    wide = Expectation(np.array((1.0, 1.0)), np.array((1e6, 1e6)))
    fit = robust_fit(features, values, np.zeros(80, dtype=np.intp), wide)
    exact = np.linalg.lstsq(np.column_stack((features, np.ones(80))), values, rcond=None)[0]
    assert [*fit.coefficients, *fit.levels] == pytest.approx(exact, rel=1e-3)


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.integers(0, 4)), max_size=40))
def test_medians_of_segments_are_medians(pairs: list[tuple[float, int]]):
    values = np.array([value for value, _ in pairs])
    segments = np.array([segment for _, segment in pairs], dtype=np.intp)
    expected = [
        float(np.median(values[segments == number])) if (segments == number).any() else 0.0 for number in range(5)
    ]
    assert segment_medians(values, segments, 5).tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("model", "ratio"),
    [
        ("claude-sonnet-4-20250514", 1.15),
        ("us.anthropic.claude-opus-4-6-v1:0", 1.15),
        ("claude-opus-4-7", 1.60),
        ("anthropic/claude-sonnet-5", 1.55),
        ("claude-fable-5-1", 1.55),
        ("claude-opus-6", 1.55),
        ("gpt-5.2-codex", 1.0),
        ("kimi-k2", 1.1),
        ("", 1.1),
    ],
)
def test_every_family_has_a_typical_ratio(model: str, ratio: float):
    assert typical_coefficients(model).ratio == ratio


@pytest.mark.parametrize("kept", [ResponseModel.KEPT, ResponseModel.SINCE_USER, ResponseModel.DROPPED])
def test_what_becomes_of_reasoning_is_read_off_the_reports(kept: ResponseModel):
    """Three agents send the same session: one keeps reasoning, one until the user speaks, one never."""
    session = Sessions(120, 11)
    generator = np.random.default_rng(12)
    reasoning = generator.integers(0, 2_000, 120)
    spoken = np.cumsum(generator.integers(20, 300, 120))
    since_user = np.concatenate([np.cumsum(part) for part in np.split(reasoning, range(15, 120, 15))])
    held = {
        ResponseModel.KEPT: np.cumsum(reasoning),
        ResponseModel.SINCE_USER: since_user,
        ResponseModel.DROPPED: 0 * reasoning,
    }
    responses = {
        reading: PromptContents(session.counted, session.blocks, spoken + each, session.media)
        for reading, each in held.items()
    }
    reported = np.rint(20_000 + 1.2 * session.counted + 10 * session.blocks + spoken + held[kept]).astype(np.int64)
    signatures = PromptContents(session.counted + spoken, session.blocks, 3 * np.cumsum(reasoning), session.media)

    found = calibrate([MODEL] * 120, session.contexts, {ResponseModel.SIGNATURES: signatures, **responses}, reported)

    assert found.readings == {MODEL: kept}
    assert found.ratio == pytest.approx(1.2, rel=0.02)
    assert found.residual_p90 < 0.002


def test_texts_and_signatures_represent_responses_unless_something_else_is_clearly_better():
    session = Sessions(120, 13)
    contents = dict.fromkeys((ResponseModel.SIGNATURES, ResponseModel.KEPT), session.contents[ResponseModel.SIGNATURES])

    found = calibrate([MODEL] * 120, session.contexts, contents, session.reported(1.5, 20, 0.25, 30_000))

    assert found.readings == {MODEL: ResponseModel.SIGNATURES}


@pytest.mark.parametrize(("model", "as_ruled"), [("claude-opus-4-8", 1.0), ("gpt-5.4", 1.0), ("claude-opus-4-6", 0.4)])
def test_images_are_taken_by_their_rule_and_where_reports_say_otherwise_by_these(model: str, as_ruled: float):
    session = Sessions(60)
    session.media = np.where(np.arange(60) >= 30, 1500, 0) + np.where(np.arange(60) >= 45, 2400, 0)
    typical = typical_coefficients(model)
    exact = 20_000 + typical.ratio * session.counted + typical.per_block * session.blocks
    reported = np.rint(exact + 0.22 * session.signatures + as_ruled * session.media).astype(np.int64)
    found = session.calibrate(reported, [model] * 60)
    assert found.main.per_media_token == pytest.approx(as_ruled, rel=0.05)
    assert found.main.ratio == pytest.approx(typical.ratio, rel=0.02)
    assert found.residual_p90 < 0.002
