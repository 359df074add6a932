"""Error of prompt sizes against reported ones, and equality of a session's cost with its priced usage."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.promises import Measurement
from benchmarks.workbench import reference_sessions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.workbench import Workbench
    from inspector.replay.engine.inputs import ReplayInputs

CALIBRATED, COST = "calibrated prompt size", "baseline cost"
HOW = """All real Claude Code sessions next to the checkout are read, counted and calibrated. For every call with
reported usage, the difference between the calibrated and the reported prompt is a share of the latter; sessions
with fewer than ten such calls are left out. The baseline cost of a session is compared with the sum of the
genai-prices cost of every call's usage, with an estimated response length in place of a placeholder."""


def measure(bench: Workbench) -> Iterator[Measurement]:
    """Shares over all calls of all sessions, the worst session, and the largest difference in dollars."""
    from benchmarks.replaying import inputs_of_file

    shares: list[np.ndarray] = []
    differences, costs = [], 0.0
    paths = sorted((reference_sessions() / "claude-code").glob("*.jsonl"), key=lambda path: path.stat().st_size)
    for path in paths[: 1 if bench.is_quick else None]:
        inputs = inputs_of_file(path)
        if inputs.scale.calibration.is_fitted:
            shares.append(_shares(inputs))
        cost = baseline_cost(inputs)
        differences.append(abs(cost - direct_cost(inputs)))
        costs += cost
    pooled = np.concatenate(shares)
    for name, share, limit in (("median", 0.5, 0.005), ("p90", 0.9, 0.01)):
        value = float(np.quantile(pooled, share))
        worst = max(float(np.quantile(each, share)) for each in shares)
        note = f"{value:.2%} (worst session {worst:.2%})"
        case = f"{name}, {len(pooled):,} calls of {len(shares)} sessions"
        yield Measurement(CALIBRATED, case, note, f"≤ {limit:.1%}", value <= limit)
    largest = max(differences)
    case = f"largest difference, {len(differences)} sessions, ${costs:,.2f} in total"
    yield Measurement(COST, case, f"${largest:.6f}", "< $0.005", largest < 0.005)


def _shares(inputs: ReplayInputs) -> np.ndarray:
    prompt = inputs.scale.calibration.prompt[:-1]
    reported = inputs.recorded.prompt[inputs.reported]
    distances: np.ndarray = np.abs(prompt[inputs.reported] - reported) / reported
    return distances


def baseline_cost(inputs: ReplayInputs) -> float:
    """Dollars of a session replayed with an empty plan."""
    from inspector.replay.engine.replay import replay
    from inspector.strategies.plan import Plan

    return replay(inputs, Plan()).figures.cost_usd.value or 0.0


def direct_cost(inputs: ReplayInputs) -> float:
    """Dollars of the usage a session reports, priced call by call.

    Responses of which a stream's placeholder was reported are taken to be as long as a replay takes them to be.
    """
    from genai_prices import Usage, calc_price

    total = 0.0
    for call, output in zip(inputs.history.session.calls, inputs.output.tolist(), strict=True):
        if call.usage is None:
            continue
        usage = Usage(
            input_tokens=call.usage.prompt,
            cache_read_tokens=call.usage.cache_read,
            cache_write_tokens=call.usage.cache_write_5m + call.usage.cache_write_1h,
            cache_write_5m_tokens=call.usage.cache_write_5m,
            cache_write_1h_tokens=call.usage.cache_write_1h,
            output_tokens=output if call.usage.output_is_placeholder else call.usage.output,
        )
        timestamp = datetime.fromtimestamp(call.time, UTC) if call.time is not None else None
        total += float(calc_price(usage, call.model, genai_request_timestamp=timestamp).total_price)
    return total
