"""Calibration borrowed from the parent session or the model family when a session reports too little."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inspector.replay import sessions as calibration_source
from inspector.replay.analysis.validation import violations_in_replay
from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.token_scale import TokenScale
from inspector.replay.explain.explanation import scale_source
from inspector.replay.figure import HowKnown
from inspector.replay.pricing.prices import Pricing
from inspector.replay.sessions import counted_inputs, replay_session
from inspector.report.mcp_tools import SessionMemory
from inspector.session.open import open_session
from inspector.session.related import parent_of
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from inspector.tokens.counter import load_counter
from inspector.tokens.model_names import tokenizer_family, typical_coefficients
from inspector.tokens.token_table import TokenTable, count_session
from inspector.ui.controller.replaying import replay_plan
from inspector.ui.outcome import Outcome
from inspector.ui.session_screen import scale_words
from tests.session.claude_lines import SESSION, Script
from tests.session.codex_lines import Rollout

WORDS = "alpha river stone market window garden paper silver engine yellow doctor bridge winter summer planet friend"
OPUS = "claude-opus-4-8"
CHILD, PARENT = "019d683e-1ac9-7fb1-99eb-e46acbee7ff0", "019d6839-0000-7fb1-99eb-e46acbee7ff0"
RATIO, AROUND = 1.35, 12


@pytest.fixture(autouse=True)
def _nothing_lent_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration_source, "_BORROWED", type(calibration_source._BORROWED)())


def said(drawn: np.random.Generator) -> str:
    """Words of a token each."""
    return " ".join(drawn.choice(WORDS.split(), int(drawn.integers(40, 900))).tolist())


def conversation(calls: int, unseen: int, *, model: str = OPUS, seed: int = 1, **fields: Any) -> Script:
    drawn, script, prompt = np.random.default_rng(seed), Script(), float(unseen)
    for call in range(calls):
        asked, answer = said(drawn), said(drawn)
        prompt += RATIO * len(asked.split()) + AROUND
        script.prompt(asked, **fields)
        output = round(RATIO * len(answer.split()))
        usage = {"input_tokens": round(prompt), "output_tokens": output}
        message = {
            "id": f"m{seed}-{call}",
            "role": "assistant",
            "model": model,
            "content": [{"type": "text", "text": answer}],
            "usage": usage,
            "stop_reason": "end_turn",
        }
        script.add(type="assistant", requestId=f"r{seed}-{call}", message=message, **fields)
        prompt += RATIO * len(answer.split()) + AROUND
    return script


def family(folder: Path, *, calls: int = 4, parents: str = OPUS, model: str = OPUS) -> Path:
    conversation(30, 20_000, model=parents).write(folder / f"{SESSION}.jsonl")
    return subagent(folder, calls, model)


def subagent(folder: Path, calls: int = 4, model: str = OPUS) -> Path:
    path = folder / SESSION / "subagents" / "agent-a1.jsonl"
    path.parent.mkdir(parents=True)
    return conversation(calls, 9_000, model=model, seed=2, isSidechain=True, agentId="a1").write(path)


def inputs_of(path: Path) -> ReplayInputs:
    baseline = replay_session(open_session(path), Plan())
    assert violations_in_replay(baseline) == ()
    return baseline.inputs


def test_a_subagents_file_opened_alone_borrows_its_parents_fit_and_says_so(tmp_path: Path) -> None:
    inputs = inputs_of(family(tmp_path))
    scale = inputs.scale

    assert scale.calibration.ratio == pytest.approx(RATIO, rel=0.01)
    assert scale.calibration.main.per_block == pytest.approx(AROUND, abs=3)
    assert scale.known is HowKnown.ESTIMATED
    assert scale.borrowed == f"fitted to 30 calls of {OPUS} in the session that started this one, {SESSION}"
    assert scale.borrowed in scale_source(inputs)
    assert scale_words(scale) == "tokens: calibrated by parent session"
    assert np.abs(scale.prompt[:-1] / inputs.recorded.prompt - 1).max() < 0.001


def test_a_subagent_with_calls_enough_is_fitted_to_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = family(tmp_path, calls=12)
    monkeypatch.setattr(calibration_source, "_fitted", lambda *_: pytest.fail("nothing needs to be read"))
    scale = inputs_of(path).scale
    assert (scale.known, scale.borrowed) == (HowKnown.CALIBRATED, "")


@pytest.mark.parametrize("calls", [0, 9])
def test_a_parent_that_is_gone_or_shows_too_little_lends_nothing(tmp_path: Path, calls: int) -> None:
    path = subagent(tmp_path)
    if calls:
        conversation(calls, 20_000).write(tmp_path / f"{SESSION}.jsonl")
    scale = inputs_of(path).scale
    assert scale.calibration.main == typical_coefficients(OPUS)
    assert scale.borrowed == ""


def test_another_model_of_the_family_borrows_what_is_typical_of_it_in_proportion(tmp_path: Path) -> None:
    scale = inputs_of(family(tmp_path, model="claude-opus-5")).scale
    assert scale.calibration.ratio == pytest.approx(RATIO / 1.55 * 1.5, rel=0.01)
    assert f"calls of {OPUS}" in scale.borrowed


def test_a_model_of_another_family_borrows_nothing(tmp_path: Path) -> None:
    scale = inputs_of(family(tmp_path, model="claude-haiku-4-5")).scale
    assert scale.calibration.main == typical_coefficients("claude-haiku-4-5")
    assert scale.borrowed == ""


def test_few_calls_of_a_session_borrow_from_its_other_model_of_the_family(tmp_path: Path) -> None:
    script = conversation(34, 20_000)
    for line in script.lines[60:]:
        if line["type"] == "assistant":
            line["message"]["model"] = "claude-sonnet-5"
    calibration = inputs_of(script.write(tmp_path / f"{SESSION}.jsonl")).scale.calibration
    assert calibration.is_fitted
    assert calibration.main_borrowed is None
    assert calibration.borrowed["claude-sonnet-5"].model == OPUS
    assert calibration.coefficients["claude-sonnet-5"].ratio == pytest.approx(RATIO, rel=0.01)


def test_no_more_than_the_beginning_of_a_huge_parent_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration_source, "MOST_BYTES", 100_000)
    path = conversation(600, 20_000).write(tmp_path / f"{SESSION}.jsonl")
    size = path.stat().st_size
    assert size > 3 << 20
    beginning = calibration_source._beginning(path, size)
    assert beginning is not None
    assert 10 < len(beginning.calls) < 400
    assert inputs_of(subagent(tmp_path)).scale.calibration.ratio == pytest.approx(RATIO, rel=0.01)


def test_nothing_is_looked_for_until_the_session_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = open_session(family(tmp_path))
    monkeypatch.setattr(
        calibration_source, "_fitted", lambda *_: pytest.fail("first figures do not wait for another file")
    )
    assert calibration_source.calibration_source_of(History.of(session), TokenTable.estimated(session)) is None


def by_a_command(path: Path) -> TokenScale:
    return counted_inputs(open_session(path), Pricing(), cache=None, window=None).scale


def on_the_screen(path: Path) -> TokenScale:
    session = open_session(path)
    found: list[Outcome] = []
    *_, table = count_session(session, load_counter())
    replay_plan(History.of(session), table, Plan(), None, None, None, found.append, lambda: False)
    return found[0].inputs.scale


@pytest.mark.parametrize("scale_of", [by_a_command, on_the_screen])
def test_all_ways_to_make_inputs_find_the_calibration_source(
    tmp_path: Path, scale_of: Callable[[Path], TokenScale]
) -> None:
    scale = scale_of(family(tmp_path))
    assert scale.borrowed.startswith(f"fitted to 30 calls of {OPUS}")


def test_what_an_agent_asks_of_its_context_is_reported_on_a_borrowed_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lent, fitted = [], calibration_source._fitted
    monkeypatch.setattr(calibration_source, "_fitted", lambda *told: lent.append(told[0]) or fitted(*told))
    path = family(tmp_path)
    SessionMemory([path], tmp_path, allow_secrets=True).context_report()
    assert lent == [tmp_path / f"{SESSION}.jsonl"]


def test_the_engine_borrows_what_it_is_handed_and_looks_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = open_session(family(tmp_path))
    *_, table = count_session(session, load_counter())
    history = History.of(session)
    source = calibration_source.calibration_source_of(history, table)
    assert source is not None
    monkeypatch.setattr(calibration_source, "_fitted", lambda *_: pytest.fail("another file was read"))
    monkeypatch.setattr(calibration_source, "_BORROWED", type(calibration_source._BORROWED)())
    assert ReplayInputs.of(history, table).scale.calibration_source is None
    assert ReplayInputs.of(history, table, calibration_source=source).scale.calibration.ratio == pytest.approx(
        RATIO, rel=0.01
    )


def test_a_parent_is_read_once_though_it_grows_while_its_subagents_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, fitted = [], calibration_source._fitted
    monkeypatch.setattr(calibration_source, "_fitted", lambda *told: read.append(told[0]) or fitted(*told))
    path = family(tmp_path)
    parent = tmp_path / f"{SESSION}.jsonl"
    for _ in range(3):
        assert inputs_of(path).scale.borrowed
        with parent.open("ab") as file:
            file.write(conversation(3, 20_000).encoded()[-1])
    assert read == [parent]


def test_a_parent_that_showed_too_little_is_read_again_when_it_has_grown_by_half(tmp_path: Path) -> None:
    path = subagent(tmp_path)
    parent = conversation(9, 20_000).write(tmp_path / f"{SESSION}.jsonl")
    assert inputs_of(path).scale.borrowed == ""
    conversation(10, 20_000).write(parent)
    assert inputs_of(path).scale.borrowed == ""
    conversation(30, 20_000).write(parent)
    assert inputs_of(path).scale.borrowed


def rollout(identifier: str, calls: int, unseen: int, **fields: Any) -> Rollout:
    drawn, script, prompt = np.random.default_rng(3), Rollout(), float(unseen)
    script.header(identifier, **fields)
    script.turn("gpt-5.4")
    for _ in range(calls):
        asked, answer = said(drawn), said(drawn)
        prompt += 1.1 * len(asked.split()) + 4
        script.prompt(asked)
        script.message("assistant", answer)
        output = len(answer.split()) + 60
        script.usage(round(prompt), output)
        prompt += output + 4
    return script


def test_a_thread_of_codex_borrows_from_the_one_that_spawned_it(tmp_path: Path) -> None:
    day = tmp_path / "sessions" / "2026" / "04" / "07"
    day.mkdir(parents=True)
    rollout(PARENT, 30, 12_000).write(day / f"rollout-2026-04-07T13-54-20-{PARENT}.jsonl")
    source = {"subagent": {"thread_spawn": {"parent_thread_id": PARENT, "depth": 1}}}
    child = rollout(CHILD, 5, 4_000, source=source).write(day / f"rollout-2026-04-07T13-59-53-{CHILD}.jsonl")
    session = open_session(child)
    assert parent_of(session) is not None
    inputs = inputs_of(child)

    assert inputs.scale.borrowed == f"fitted to 30 calls of gpt-5.4 in the session that started this one, {PARENT}"
    assert inputs.scale.calibration.main_reading.value.startswith("reported length")
    assert np.abs(inputs.scale.prompt[:-1] / inputs.recorded.prompt - 1).max() < 0.005


@pytest.mark.parametrize(
    ("models", "alike"),
    [
        (("claude-opus-4-8", "claude-sonnet-5", "anthropic/claude-fable-5"), True),
        (("claude-opus-4-5", "claude-haiku-4-5", "claude-sonnet-4-20250514"), True),
        (("claude-opus-4-8", "claude-opus-4-6"), False),
        (("gpt-5.4", "gpt-5.4-mini", "o4-mini"), True),
        (("gemini-2.5-pro", "gemini-3-flash"), True),
        (("gemini-2.5-pro", "glm-4.6"), False),
    ],
)
def test_models_are_of_a_family_where_their_tokenizers_count_alike(models: tuple[str, ...], alike: bool) -> None:
    assert (len({tokenizer_family(model) for model in models}) == 1) is alike


def test_a_fork_of_codex_whose_copied_calls_are_none_of_its_own_borrows_from_its_origin(tmp_path: Path) -> None:
    day = tmp_path / "sessions" / "2026" / "04" / "07"
    day.mkdir(parents=True)
    origin = rollout(PARENT, 30, 12_000)
    origin.write(day / f"rollout-2026-04-07T13-54-20-{PARENT}.jsonl")
    fork = Rollout(clock=origin.clock + 500)
    fork.header(CHILD, forked_from_id=PARENT)
    for line in origin.lines:
        fork.add(line["type"], line["payload"], step=0)
    fork.clock += 60
    prompt = float(origin.lines[-1]["payload"]["info"]["last_token_usage"]["total_tokens"] + 4)
    drawn = np.random.default_rng(9)
    for _ in range(4):
        asked, answer = said(drawn), said(drawn)
        prompt += 1.1 * len(asked.split()) + 4
        fork.prompt(asked)
        fork.message("assistant", answer)
        output = len(answer.split()) + 60
        fork.usage(round(prompt), output)
        prompt += output + 4
    path = fork.write(day / f"rollout-2026-04-07T13-59-53-{CHILD}.jsonl")
    inputs = inputs_of(path)

    assert len(inputs.history.session.calls) == 4
    assert scale_words(inputs.scale) == "tokens: calibrated by earlier session"
    assert inputs.scale.borrowed == f"fitted to 30 calls of gpt-5.4 in the session that this one continues, {PARENT}"
    assert np.abs(inputs.scale.prompt[:-1] / inputs.recorded.prompt - 1).max() < 0.005


def test_a_copy_of_a_session_is_fitted_to_the_calls_it_copied_too(tmp_path: Path) -> None:
    script = conversation(33, 20_000)
    own = "99999999-2222-4333-8444-555555555555"
    for line in script.lines[60:]:
        line["sessionId"] = own
    session = open_session(script.write(tmp_path / f"{own}.jsonl"))
    assert len(session.own_calls) == 3
    scale = inputs_of(tmp_path / f"{own}.jsonl").scale
    assert (scale.known, scale.calibration.calls) == (HowKnown.CALIBRATED, 33)
    assert scale.calibration.ratio == pytest.approx(RATIO, rel=0.01)
