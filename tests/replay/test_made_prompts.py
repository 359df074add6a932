"""How prompts of made requests are met, whose provider counts by a known rule, whatever comes and goes in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from inspector.replay.analysis.invariants import broken_in_replay
from inspector.replay.analysis.validation import prompt_fit
from inspector.replay.engine.replay import replay_session
from inspector.session.open import open_session
from inspector.strategies.plan import Plan
from tests.session.run_files import exchange, jsonl

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from inspector.replay.engine.replay import Replay

WORDS = "alpha river stone market window garden paper silver engine yellow doctor bridge winter summer planet friend"
RATIO, AROUND, UNSEEN = 1.2, 20, 300
OPUS, HAIKU, GPT = "claude-opus-4-5", "claude-haiku-4-5", "gpt-5.1"


def words(drawn: np.random.Generator, count: int) -> str:
    """Words of a token each."""
    return " ".join(drawn.choice(WORDS.split(), count).tolist())


def counted(value: Any) -> int:
    if isinstance(value, str):
        return len(value.split())
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(map(counted, parts))


def requests(
    folder: Path,
    calls: int = 30,
    *,
    tools: Callable[[int], int] = lambda _: 40,
    system: Callable[[int], int] = lambda _: 1_000,
    model: Callable[[int], str] = lambda _: OPUS,
) -> Replay:
    """A conversation of requests, every one of which repeats it; how many tools and words of instructions each has."""
    drawn = np.random.default_rng(3)
    every_tool = [{"name": f"tool{number}", "description": words(drawn, 60)} for number in range(120)]
    instructions = words(drawn, 4_000).split()
    messages: list[dict[str, Any]] = [{"role": "user", "content": words(drawn, 50)}]
    lines = []
    for call in range(calls):
        asked = {"system": " ".join(instructions[: system(call)]), "tools": every_tool[: tools(call)]}
        tokens = counted(asked["system"]) + 1.3 * counted(asked["tools"]) + counted(messages)
        prompt = round(RATIO * tokens) + AROUND * len(messages) + UNSEEN
        said = {"type": "tool_use", "id": f"c{call}", "name": "tool1", "input": {"a": words(drawn, 3)}}
        reply = {"id": f"m{call}", "type": "message", "role": "assistant", "model": model(call), "content": [said]}
        usage = {"input_tokens": prompt, "output_tokens": 80}
        lines.append(exchange(list(messages), {**reply, "usage": usage}, 20 * call, model=model(call), **asked))
        result = {
            "type": "tool_result",
            "tool_use_id": f"c{call}",
            "content": words(drawn, int(drawn.integers(50, 900))),
        }
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
    assert broken_in_replay(baseline) == ()


def test_another_familys_few_calls_are_counted_as_is_typical_of_it(tmp_path: Path) -> None:
    """Six calls of a model whose family shows nothing else, and whose provider counts a fifth more than is typical."""
    baseline = requests(tmp_path, model=lambda call: OPUS if call % 5 else GPT)
    scale, reported = baseline.inputs.scale, baseline.inputs.recorded.prompt

    assert scale.calibration.coefficients[GPT].ratio == 1.0
    assert np.median(np.abs(scale.prompt[:-1] / reported - 1)[::5]) < 0.12
    assert broken_in_replay(baseline) == ()
