"""Calibration of real sessions, compared with the usage that their provider reported."""

import dataclasses
from pathlib import Path

import msgspec
import numpy as np
import pytest

from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import replay
from inspector.replay.engine.token_scale import calibrate_session, response_contents, signature_contents
from inspector.replay.pricing.prices import Pricing
from inspector.session.model import BlockKind, Role, Usage
from inspector.session.open import open_session
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from inspector.tokens.calibration import ResponseModel
from inspector.tokens.counter import Counter, load_counter
from inspector.tokens.token_table import CountCache, TokenTable, count_session
from tests.replay.synthetic import CharacterTable, SessionBuilder
from tests.session.gemini_lines import GeminiScript

SESSIONS = [
    "0cf3db51-1c73-43bb-8d05-dc02739514a5",
    "5c0375b4-57a5-4f26-b12d-d022ee4e51b7",
    "70d782f7-b303-4e48-9512-6bec16c37abd",
    "8ecab05f-4481-43d6-9428-a6b177981877",
    "acc53d32-5580-4747-9273-e2acff2ba566",
    "be2220da-eaff-40d2-b482-9f05cced3187",
    "e92f5a0b-1b9e-4913-98b3-c319b4d5e90b",
    "fe5e1c67-53e7-4862-81ae-d0e013e3270b",
]


@pytest.fixture(scope="module")
def counter() -> Counter:
    loaded = load_counter()
    if not loaded.is_exact_tokenizer:
        pytest.skip(loaded.advice)
    return loaded


@pytest.fixture(scope="module", params=SESSIONS)
def session(
    request: pytest.FixtureRequest, corpus: Path, counter: Counter, tmp_path_factory: pytest.TempPathFactory
) -> tuple[History, TokenTable]:
    recorded = open_session(corpus / "claude-code" / f"{request.param}.jsonl")
    *_, table = count_session(recorded, counter, cache=CountCache(tmp_path_factory.mktemp("counts")))
    return History.of(recorded), table


def test_calibrated_prompts_are_within_half_a_percent_of_what_was_reported(session: tuple[History, TokenTable]):
    history, table = session
    found = calibrate_session(history, table)
    reported = np.array([call.usage.prompt if call.usage else 0 for call in history.session.calls])
    seen = reported > 0
    distance = np.abs(found.prompt[:-1][seen] - reported[seen]) / reported[seen]
    assert found.is_fitted
    assert found.calls >= 0.85 * seen.sum()
    assert np.median(distance) <= 0.005
    assert np.quantile(distance, 0.9) <= 0.01


def test_a_fit_to_the_first_half_predicts_how_prompts_grow_in_the_second(session: tuple[History, TokenTable]):
    history, table = session
    calls = history.call_count
    if calls < 40:
        pytest.skip("too few calls to fit to half of them")
    reported = np.array([call.usage.prompt for call in history.session.calls])
    whole = calibrate_session(history, table)
    half = calibrate_session(_first_half_reported(history), table)
    assert half.calls < whole.calls
    later = np.arange(calls // 2 + 1, calls)
    grows = history.call_context[later] == history.call_context[later - 1]
    same_model = half.call_ratio[later] == half.call_ratio[later - 1]
    later = later[grows & same_model]
    # Both are on the first half's overhead, which cancels out where it is one overhead.
    predicted = half.prompt[later] - half.prompt[later - 1]
    distance = np.abs(predicted - (reported[later] - reported[later - 1])) / reported[later]
    assert np.median(distance) <= 0.005


def _first_half_reported(history: History) -> History:
    half = len(history.session.calls) // 2
    calls = tuple(
        call if index < half else msgspec.structs.replace(call, usage=None)
        for index, call in enumerate(history.session.calls)
    )
    return dataclasses.replace(history, session=dataclasses.replace(history.session, calls=calls))


def test_columns_of_prompts_are_those_of_the_blocks_in_them(session: tuple[History, TokenTable]):
    """Against adding up block by block, at the first and last call of every context and the next one."""
    history, table = session
    counted, counts, signatures, _ = signature_contents(history, table)
    first_and_last: dict[int, tuple[int, int]] = {}
    for call, context in enumerate(history.call_context.tolist()):
        first_and_last[context] = (first_and_last.get(context, (call, call))[0], call)
    for call in {call for pair in first_and_last.values() for call in pair}:
        prompt = [int(block) for block in history.prompt(call)]
        blocks = [history.session.blocks[block] for block in prompt]
        unsigned = [index for index, block in zip(prompt, blocks, strict=True) if not block.signature_characters]
        assert counted[call] == sum(int(table.tokens[index] - table.media[index]) for index in unsigned)
        assert counts[call] == sum(block.kind is not BlockKind.OTHER for block in blocks)
        assert signatures[call] == sum(block.signature_characters for block in blocks)


@pytest.mark.parametrize(
    ("model", "kept"), [("gpt-5.5", [0, 100, 300, 0, 400]), ("claude-opus-4-8", [0, 100, 300, 300, 700])]
)
def test_reasoning_leaves_prompts_of_openai_models_with_the_next_message_of_the_user(model: str, kept: list[int]):
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "first question"))
    for turn, signature in enumerate((100, 200, 300, 400)):
        thought = builder.block(BlockKind.THINKING, f"thought {turn}", signature_characters=signature)
        call = builder.block(BlockKind.TOOL_CALL, "{}", "shell", f"c{turn}")
        if turn == 2:
            # An answer without tools, then a question: earlier thinking is no longer needed.
            builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, "answer"), model=model)
            builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "next question"))
            continue
        builder.respond(thought, call, model=model)
        builder.add(Role.USER, builder.block(BlockKind.TOOL_RESULT, f"result {turn}", "shell", f"c{turn}"))
    session = builder.session()

    signatures = signature_contents(History.of(session), CharacterTable(session)).reasoning

    assert signatures.tolist() == kept


def test_prompts_hold_of_reasoning_what_each_reading_says():
    """Adding up by hand: four responses of 100, 200, 300 and 400 tokens, of which half was reasoning."""
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "first question"))
    for turn, output in enumerate((100, 200, 300, 400)):
        if turn == 2:
            builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "next question"))
        usage = Usage(1, 0, 0, 0, output=output, reasoning=output // 2)
        builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, f"answer {turn}"), usage=usage)
    session = builder.session()

    columns = response_contents(History.of(session), CharacterTable(session))

    assert {reading: each.reasoning.tolist() for reading, each in columns.items()} == {
        ResponseModel.KEPT: [0, 100, 300, 600, 1000],
        ResponseModel.SINCE_USER: [0, 100, 150, 450, 850],
        ResponseModel.LAST: [0, 100, 250, 450, 700],
        ResponseModel.DROPPED: [0, 50, 150, 300, 500],
    }
    questions = [len("first question"), len("first question") + len("next question")]
    assert columns[ResponseModel.KEPT].counted.tolist() == [questions[0]] * 2 + [questions[1]] * 3


def test_a_response_without_a_reported_length_is_counted():
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "question"))
    for placeholder in (False, True):
        usage = Usage(1, 0, 0, 0, output=70, output_is_placeholder=placeholder)
        builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, "an answer"), usage=usage)
    session = builder.session()

    kept = response_contents(History.of(session), CharacterTable(session))[ResponseModel.KEPT]

    assert kept.reasoning.tolist() == [0, 70, 70]
    assert kept.counted.tolist() == [len("question"), len("question"), len("question") + len("an answer")]


def test_two_models_that_take_turns_get_a_calibration_and_a_cache_each(tmp_path: Path, counter: Counter) -> None:
    """Every word is a token for the first model and 1.25 for the second; each reads its own prompt of two calls ago."""
    models, tokens_per_word, overhead = ("gemini-2.5-pro", "gemini-2.5-flash"), (1.0, 1.25), (6_000, 9_000)
    script, words, prompts = GeminiScript(), 0, [0, 0]
    script.header()
    for number in range(40):
        mine, size = number % 2, 200 + 37 * (number * number % 11)
        script.user(f"u{number}", "the " * size)
        words += size
        prompt = round(overhead[mine] + tokens_per_word[mine] * words)
        tokens = {"input": prompt, "output": 20, "cached": prompts[mine], "thoughts": 0, "tool": 0}
        script.answer(f"a{number}", "the " * 20, model=models[mine], tokens=tokens)
        words, prompts[mine] = words + 20, prompt
    session = open_session(script.write(tmp_path / "session.jsonl"))

    *_, table = count_session(session, counter, cache=CountCache(tmp_path / "counts"))
    inputs = ReplayInputs.of(History.of(session), table, pricing=Pricing(), cache="gemini")

    ratios = [inputs.scale.calibration.coefficients[model].ratio for model in models]
    assert ratios[1] / ratios[0] == pytest.approx(1.25, rel=0.01)
    assert inputs.scale.calibration.residual < 0.005
    served = replay(inputs, Plan()).ledger
    recorded = [call.usage.cache_read for call in session.calls if call.usage is not None]
    assert served.cache_read.tolist() == pytest.approx(recorded, rel=0.01)
    assert served.cache_read[:2].tolist() == [0, 0]
