"""Prices and cache rules, compared with the reads, writes and charges that providers reported."""

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from genai_prices import Usage as PricedUsage
from genai_prices import calc_price

from inspector.replay.cache.cache_models import CacheColumns, cache_model_for
from inspector.replay.cache.prompt_usage import PromptUsage, simulated_usage
from inspector.replay.pricing.prices import Pricing
from inspector.session.model import Session
from inspector.session.open import open_session


@pytest.fixture(scope="module", params=["e92f5a0b", "8ecab05f", "0cf3db51", "fe5e1c67"])
def session(request: pytest.FixtureRequest, corpus: Path) -> Session:
    (path,) = (corpus / "claude-code").glob(f"{request.param}*.jsonl")
    return open_session(path)


def test_recorded_usage_costs_what_genai_prices_says_call_by_call(session: Session):
    usage = PromptUsage.of([call.usage for call in session.calls])
    rates = Pricing().call_rates(
        [call.model for call in session.calls], np.array([call.time for call in session.calls])
    )
    cost = rates.cost(usage, np.array([call.usage.output for call in session.calls]))
    expected = [
        float(
            calc_price(
                PricedUsage(
                    input_tokens=call.usage.prompt,
                    cache_read_tokens=call.usage.cache_read,
                    cache_write_tokens=call.usage.cache_write_5m + call.usage.cache_write_1h,
                    cache_write_1h_tokens=call.usage.cache_write_1h,
                    output_tokens=call.usage.output,
                ),
                call.model,
                genai_request_timestamp=datetime.fromtimestamp(call.time, UTC),
            ).total_price
        )
        for call in session.calls
    ]
    assert cost == pytest.approx(expected, abs=1e-9)


def test_nine_of_ten_recorded_reads_are_simulated_to_the_token(session: Session):
    usage = PromptUsage.of([call.usage for call in session.calls])
    previous, last = [], {}
    for index, call in enumerate(session.calls):
        previous.append(last.get(call.context, -1))
        last[call.context] = index
    earlier = np.array(previous)
    time = np.array([call.time for call in session.calls])
    models = np.array([call.model for call in session.calls])
    hour = bool(usage.cache_write_1h.sum() > usage.cache_write_5m.sum())
    caches = [cache_model_for(model, named="anthropic-1h" if hour else "anthropic") for model in models.tolist()]
    simulated = simulated_usage(
        CacheColumns.of(caches),
        usage.prompt,
        np.where(earlier >= 0, (usage.prompt - usage.uncached)[earlier], 0),
        np.where(earlier >= 0, time - time[earlier], np.nan),
        (earlier >= 0) & (models == models[earlier]),
    )
    grown = earlier >= 0
    read, reported = simulated.cache_read[grown], usage.cache_read[grown]
    assert np.mean(read == reported) >= 0.9
    assert np.mean(np.abs(read - reported) <= 0.02 * usage.prompt[grown]) >= 0.98
