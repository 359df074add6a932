"""Prompt sizes of generated requests with a known token rule, while their content changes."""

import base64
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inspector.replay.analysis.validation import prompt_fit, violations_in_replay
from inspector.replay.engine.replay import Replay
from inspector.replay.explain.explanation import block_explanation
from inspector.replay.figure import HowKnown
from inspector.replay.sessions import replay_session
from inspector.session.open import open_session
from inspector.strategies.plan import Plan
from inspector.tokens.model_names import typical_coefficients
from tests.session.claude_lines import png
from tests.session.run_files import exchange, jsonl

WORDS = "alpha river stone market window garden paper silver engine yellow doctor bridge winter summer planet friend"
RATIO, AROUND, UNSEEN = 1.2, 20, 300
OPUS, HAIKU, GPT = "claude-opus-4-5", "claude-haiku-4-5", "gpt-5.1"


def words(drawn: np.random.Generator, count: int) -> str:
    """Words of a token each."""
    return " ".join(drawn.choice(WORDS.split(), count).tolist())


def counted(value: Any) -> int:
    if isinstance(value, str):
        return len(value.split())
    if isinstance(value, dict) and value.get("type") == "base64":
        return 0
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(map(counted, parts))


def requests(
    folder: Path,
    calls: int = 30,
    *,
    tools: Callable[[int], int] = lambda _: 40,
    system: Callable[[int], int] = lambda _: 1_000,
    model: Callable[[int], str] = lambda _: OPUS,
    ratio: float = RATIO,
    pictures: Mapping[int, tuple[int, int, int]] = {},
) -> Replay:
    drawn = np.random.default_rng(3)
    every_tool = [{"name": f"tool{number}", "description": words(drawn, 60)} for number in range(120)]
    instructions = words(drawn, 4_000).split()
    messages: list[dict[str, Any]] = [{"role": "user", "content": words(drawn, 50)}]
    lines = []
    for call in range(calls):
        asked = {"system": " ".join(instructions[: system(call)]), "tools": every_tool[: tools(call)]}
        tokens = counted(asked["system"]) + 1.3 * counted(asked["tools"]) + counted(messages)
        seen = sum(taken for shown, (*_, taken) in pictures.items() if shown < call)
        prompt = round(ratio * tokens) + AROUND * len(messages) + UNSEEN + seen
        said = {"type": "tool_use", "id": f"c{call}", "name": "tool1", "input": {"a": words(drawn, 3)}}
        reply = {"id": f"m{call}", "type": "message", "role": "assistant", "model": model(call), "content": [said]}
        usage = {"input_tokens": prompt, "output_tokens": 80}
        lines.append(exchange(list(messages), {**reply, "usage": usage}, 20 * call, model=model(call), **asked))
        content: Any = words(drawn, int(drawn.integers(50, 900)))
        if call in pictures:
            width, height, _ = pictures[call]
            held = {"type": "base64", "media_type": "image/png", "data": png(width, height)}
            source = held if width else {"type": "url", "url": "https://example.invalid/screen.png"}
            content = [{"type": "text", "text": content}, {"type": "image", "source": source}]
        result = {"type": "tool_result", "tool_use_id": f"c{call}", "content": content}
        messages += [{"role": "assistant", "content": [said]}, {"role": "user", "content": [result]}]
    path = folder / "log.jsonl"
    path.write_bytes(jsonl(lines))
    return replay_session(open_session(path), Plan())


@pytest.mark.parametrize(
    "what",
    [
        {},
        {"tools": lambda call: 120 if 8 <= call < 16 else 40},
        {"system": lambda call: 1_000 + 60 * call},
        {"model": lambda call: OPUS if call % 5 else HAIKU},
    ],
    ids=["nothing changes", "tools come and go", "the system prompt grows", "a gateway changes the model"],
)
def test_prompts_are_met_whatever_comes_and_goes_in_the_open(tmp_path: Path, what: dict[str, Any]) -> None:
    baseline = requests(tmp_path, **what)
    fit = prompt_fit(baseline.inputs)

    assert fit.is_judged
    assert fit.keeps()
    assert fit.held_out_median < 0.005
    assert baseline.inputs.scale.calibration.coefficients[OPUS].ratio == pytest.approx(RATIO, rel=0.02)
    assert violations_in_replay(baseline) == ()


def test_another_familys_few_calls_are_counted_as_is_typical_of_it(tmp_path: Path) -> None:
    baseline = requests(tmp_path, model=lambda call: OPUS if call % 5 else GPT)
    scale, reported = baseline.inputs.scale, baseline.inputs.recorded.prompt

    assert scale.calibration.coefficients[GPT].ratio == 1.0
    assert np.median(np.abs(scale.prompt[:-1] / reported - 1)[::5]) < 0.12
    assert violations_in_replay(baseline) == ()


PICTURES = {
    # From the providers' documentation on images of these sizes.
    "claude-opus-4-5": ((1920, 1080, 1560), (1000, 1000, 1296)),
    "claude-opus-4-8": ((1920, 1080, 2691), (3840, 2160, 4784)),
    "gpt-5.1": ((1024, 1024, 630), (2048, 4096, 910)),
    "gpt-5.4": ((1024, 1024, 1229), (2048, 2048, 3000)),
    "gemini-2.5-pro": ((960, 540, 1548), (300, 300, 258)),
    "gemini-3-pro": ((960, 540, 1120), (3840, 2160, 1120)),
}


@pytest.mark.parametrize("model", PICTURES)
def test_prompts_with_images_are_met_whoever_measures_them(tmp_path: Path, model: str) -> None:
    one, other = PICTURES[model]
    ratio = typical_coefficients(model).ratio
    baseline = requests(
        tmp_path, 30, model=lambda _: model, ratio=ratio, pictures={6: one, 13: other, 14: one, 21: other}
    )
    fit, scale = prompt_fit(baseline.inputs), baseline.inputs.scale

    assert fit.keeps(0.001, 0.001)
    assert fit.held_out_median < 0.002
    assert scale.calibration.main.per_media_token == pytest.approx(1, abs=0.03)
    assert violations_in_replay(baseline) == ()
    blocks = [number for number, block in enumerate(baseline.history.session.blocks) if block.media]
    for block, (*_, taken) in zip(blocks, (one, other, one, other), strict=True):
        counted_text = baseline.table.tokens[block] - baseline.table.media[block]
        whole = scale.calibration.ratio * baseline.table.tokens[block] + scale.uncounted[block]
        assert whole - scale.calibration.ratio * counted_text == pytest.approx(taken + AROUND, rel=0.05)


def test_an_image_whose_size_the_file_does_not_tell_says_how_far_it_may_be_off(tmp_path: Path) -> None:
    baseline = requests(tmp_path, 20, ratio=1.15, pictures={4: (0, 0, 1000), 9: (1000, 1000, 1296)})
    state = baseline.state(20)
    unsized, sized = (number for number, block in enumerate(baseline.history.session.blocks) if block.media)
    explained = {block: block_explanation(baseline, state, block, {}) for block in (unsized, sized)}

    told = {given.label: given.value for given in explained[unsized].inputs}
    assert told["images of unknown size"] == 1
    assert (told["minimum tokens of such an image"], told["maximum tokens of such an image"]) == (64, 1560)
    assert explained[unsized].known is HowKnown.ESTIMATED
    assert explained[sized].known is HowKnown.CALIBRATED
    assert not any("such an image" in given.label for given in explained[sized].inputs)


def test_a_pdf_says_what_it_may_take_by_what_is_on_its_pages(tmp_path: Path) -> None:
    pages = b"".join(b"%d 0 obj<</Type/Page>>endobj " % at for at in range(3))
    data = base64.b64encode(b"%PDF-1.4 " + pages).decode()
    known = {"type": "base64", "media_type": "application/pdf", "data": data}
    named = {"type": "url", "url": "https://example.com/a.pdf"}
    said = [{"role": "user", "content": [{"type": "document", "source": source}]} for source in (known, named)]
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"model": OPUS, "messages": [*said, {"role": "assistant", "content": "read"}]}))
    baseline = replay_session(open_session(path), Plan())
    told = [
        {given.label: given.value for given in block_explanation(baseline, baseline.state(0), block, {}).inputs}
        for block in (0, 1)
    ]
    least, most = (f"{which} tokens, depending on their content" for which in ("minimum", "maximum"))
    assert (told[0]["pages of its documents"], told[0][least], told[0][most]) == (3, 4_770, 13_770)
    assert (told[1]["documents with unknown page count"], told[1][least], told[1][most]) == (
        1,
        1_590,
        459_000,
    )
