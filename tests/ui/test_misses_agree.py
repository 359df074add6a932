"""The screen of cache misses equals the report for every real session, to the cent and to the token."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

from inspector.cli.reading import read_session, replay_inputs
from inspector.replay.analysis.cache_misses import cache_misses
from inspector.replay.cache.miss_causes import MissCause
from inspector.replay.engine.replay import replay
from inspector.report.numbers import ON_SCREEN
from inspector.report.session_report import report_of
from inspector.session.discovery import found_in
from inspector.strategies.plan import Plan
from inspector.ui.miss_glyphs import mark_of
from inspector.ui.misses.drawing import bill_of
from inspector.ui.misses.rows import ALL, call_table, cause_table
from tests.conftest import ROOT
from tests.live.made import write_session
from tests.program import run_program
from tests.report.test_cache_facts import AGENTS
from tests.ui.studies import Misses

if TYPE_CHECKING:
    from pathlib import Path


def agree(path: Path) -> None:
    inputs = replay_inputs(read_session(path))
    report, baseline = report_of(inputs), replay(inputs, Plan())
    facts, found = report.cache_misses, cache_misses(baseline)
    assert facts is not None
    table = {row.key: row.cells for row in cause_table(found, is_folded=False).rows}
    for row, cause in zip(facts.causes, (MissCause(each.cause) for each in found.causes), strict=True):
        cells = table[cause]
        assert cells["name"].text == f"{mark_of(cause).glyph} {row.short}"
        assert cells["calls"].text == ON_SCREEN.whole(row.calls)
        assert cells["tokens"].text == ON_SCREEN.whole(row.tokens)
        for name, value in (("cost", row.usd), ("extra", row.extra_usd)):
            known = row.known.get("usd" if name == "cost" else "extra_usd", "")
            written = ON_SCREEN.qualified(ON_SCREEN.dollars(value), known)
            assert value is None or cells[name].text.strip() in (written, ON_SCREEN.dollars(value))
    if facts.calls:
        assert table[ALL]["calls"].text == ON_SCREEN.whole(facts.calls)
        assert table[ALL]["tokens"].text == ON_SCREEN.whole(facts.tokens)
    calls = {row.key: row.cells["cause"].text for row in call_table(found, found.all).rows}
    causes = {miss.call: MissCause(miss.cause) for miss in facts.misses}
    assert calls == {call - 1: f"{mark_of(cause).glyph} {cause.short}" for call, cause in causes.items()}
    bill = bill_of(found)
    if report.baseline.cost_usd is not None and report.baseline.cost_usd > 0 and bill is not None:
        requests = (report.cost.requests_usd or 0.0) if report.cost is not None else 0.0
        assert bill.dollars.sum() + requests == pytest.approx(report.baseline.cost_usd, abs=1e-5)
    usages = [call.usage for call in inputs.history.session.calls]
    if all(usage is not None and usage.prompt for usage in usages):
        unread = sum(usage.uncached + usage.cache_write_5m + usage.cache_write_1h for usage in usages if usage)
        assert facts.unread_tokens == unread == int(np.sum(baseline.ledger.prompt_tokens - baseline.ledger.cache_read))


@pytest.mark.parametrize("agent", AGENTS)
def test_the_screen_says_of_a_real_session_what_its_report_says(corpus: Path, agent: str) -> None:
    paths = [header.path for header in found_in(corpus / agent) if not header.problem]

    assert paths
    for path in paths:
        agree(path)


def test_the_screen_says_of_a_sample_what_its_report_says() -> None:
    for path in sorted((ROOT / "sample_sessions").glob("*.json*")):
        agree(path)


async def test_the_costs_of_a_pause_are_those_of_the_status(running, private_home: Path) -> None:
    path = write_session(private_home, "/srv/api")
    outcome = run_program("status", "--session", path, "--format", "json")
    (reported,) = json.loads(outcome.out)["sessions"]
    async with running(path, size=(120, 36)) as run:
        await run.until(lambda: run.explains_newest)
        await Misses.opened(run)
        await run.until_shown("pause of")
        for option in reported["away"]["options"]:
            line = next(each for each in run.lines() if option["action"] in each)
            shown = [
                ON_SCREEN.qualified(ON_SCREEN.dollars(cost["usd"]["value"]), "projected") for cost in option["costs"]
            ]
            assert re.findall(r"~\S+", line) == shown
            assert option["setting"] in line
        assert "instead of a cold call" not in run.text()
