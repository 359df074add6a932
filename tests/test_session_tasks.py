"""Sessions as input of commands on many: calls counted elsewhere are left out, reported usage is not."""

from pathlib import Path

import numpy as np
import pytest

from inspector.fleet.session_tasks import SessionTask, SessionTerms
from inspector.replay.analysis.validation import violations_in_replay
from inspector.replay.engine.replay import replay
from inspector.replay.figure import HowKnown
from inspector.replay.pricing.prices import Pricing
from inspector.session.open import open_session
from inspector.session.related import call_keys, calls_counted_elsewhere, without_calls
from inspector.strategies.plan import Plan
from tests.replay.test_borrowed_fits import RATIO, conversation
from tests.session.claude_lines import SESSION

FORK = "22222222-2222-4333-8444-555555555555"


def test_a_fork_is_measured_by_what_its_copied_calls_report_and_billed_for_its_own_alone(tmp_path: Path) -> None:
    script = conversation(34, 20_000)
    later = script.lines[60:]
    script.lines = script.lines[:60]
    origin = open_session(script.write(tmp_path / f"{SESSION}.jsonl"))
    script.lines += later
    for line in script.lines:
        line["sessionId"] = FORK
    path = script.write(tmp_path / f"{FORK}.jsonl")
    whole = open_session(path)
    _, elsewhere = calls_counted_elsewhere([(1.0, call_keys(origin)), (2.0, call_keys(whole))])
    session = without_calls(whole, elsewhere)
    assert (len(whole.calls), len(session.calls)) == (34, 4)

    task = SessionTask(path, SessionTerms(Pricing()), elsewhere)
    everything = task.inputs(whole)
    inputs = task.inputs_without_copies(everything, session)
    baseline = replay(inputs, Plan())

    assert inputs.scale.known is HowKnown.CALIBRATED
    assert inputs.scale.calibration.ratio == pytest.approx(RATIO, rel=0.01)
    assert np.abs(inputs.scale.prompt[:-1] / inputs.recorded.prompt - 1).max() < 0.001
    assert inputs.recorded.prompt.tolist() == everything.recorded.prompt[30:].tolist()
    assert inputs.scale.prompt[-1] == everything.scale.prompt[-1]
    assert baseline.figures.calls.value == 4
    assert baseline.figures.prompt_tokens.value == everything.recorded.prompt[30:].sum()
    assert violations_in_replay(baseline) == ()
    assert task.inputs_without_copies(everything, whole) is everything
