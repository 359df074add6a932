"""Cost per model of a session, and the name under which each model is priced."""

import re
from pathlib import Path

import pytest

from inspector.replay.analysis.costs import model_costs
from inspector.replay.pricing.prices import Pricing
from inspector.replay.sessions import replay_session
from inspector.session.open import open_session
from inspector.strategies.plan import Plan
from tests.program import run_here

TWO_MODELS = "claude-code/e92f5a0b-1b9e-4913-98b3-c319b4d5e90b.jsonl"
UNDER_ANOTHER_NAME = "codex/rollout-2025-10-04T22-31-*.jsonl"


def the_session(corpus: Path, pattern: str) -> Path:
    found = sorted(corpus.glob(pattern))
    if not found:
        pytest.skip(f"{pattern} is not in the corpus")
    return found[0]


def test_what_models_cost_adds_up_to_what_the_session_cost(corpus: Path) -> None:
    for specs in ([], ["vercel-prune"]):
        found = replay_session(open_session(the_session(corpus, TWO_MODELS)), Plan.from_specs(specs))
        models = model_costs(found)

        assert [each.model for each in models] == ["claude-opus-4-8", "claude-fable-5"]
        assert sum(each.usd or 0.0 for each in models) == pytest.approx(found.figures.cost_usd.value)
        assert sum(each.share or 0.0 for each in models) == pytest.approx(1.0)
        assert sum(each.calls for each in models) == found.figures.calls.value
        assert sum(each.prompt_tokens or 0 for each in models) == found.figures.prompt_tokens.value


def test_why_and_report_say_what_each_of_several_models_cost(corpus: Path, capsys) -> None:
    path = the_session(corpus, TWO_MODELS)
    why = re.sub(" +", " ", run_here(capsys, "why", path).out)
    text = run_here(capsys, "report", path).out
    page = run_here(capsys, "report", path, "--format", "md").out

    assert "by model $29.55 83.2 % of the bill: claude-opus-4-8, 133 calls" in why
    assert "$5.97 16.8 %: claude-fable-5, 26 calls" in why
    assert "claude-fable-5      26" in text
    assert "Cost by model" in page


def test_a_model_priced_under_anothers_name_says_so_wherever_it_is_named(corpus: Path, capsys) -> None:
    path = the_session(corpus, UNDER_ANOTHER_NAME)

    assert "161 calls of gpt-5-codex (priced as gpt-5)" in run_here(capsys, "why", path).out
    assert "gpt-5-codex (priced as gpt-5)" in run_here(capsys, "report", path).out
    assert "gpt-5-codex, priced as gpt-5 (openai): input" in run_here(capsys, "report", path, "--explain").out


@pytest.mark.parametrize(
    ("model", "other"),
    [
        ("gpt-5-codex", "gpt-5"),
        ("gpt-5", ""),
        ("gpt-5-2025-08-07", ""),
        ("claude-opus-4-8[1m]", ""),
        ("anthropic/claude-opus-4.8", ""),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", ""),
        ("nobody-knows-it", ""),
        ("", ""),
    ],
)
def test_only_another_models_name_is_another_name(model: str, other: str) -> None:
    assert Pricing().priced_as(model) == other


def test_as_one_model_or_at_given_rates_nothing_replaces_anything() -> None:
    assert not Pricing(model="gpt-5").priced_as("gpt-5-codex")
    assert not Pricing(given=Pricing().rates("gpt-5")).priced_as("gpt-5-codex")
