"""Costs of a pause, worked out by hand."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

import pytest

from inspector.live.away import PauseAction, PauseAdvice, PausePrices, advice_lines, pause_advice
from inspector.live.figures import LiveFigures
from inspector.live.reading import LiveReader
from inspector.live.watch import session_status
from inspector.replay.pricing.prices import Pricing
from tests.live.made import call_lines, write_session
from tests.program import run_program

if TYPE_CHECKING:
    from pathlib import Path

NOW = 1_790_000_000.0

FIVE_MINUTES = PausePrices(
    prompt=100_000,
    warm_usd=0.06,
    cold_usd=0.63,
    read=0.5e-6,
    write=6.25e-6,
    output=25e-6,
    lifetime=300,
    fresh=20_000,
    compacted=22_000,
)
"""Opus 4.5: $0.50, $6.25 and $25 per million tokens."""


def advise(
    prices: PausePrices = FIVE_MINUTES,
    pauses: tuple[float, ...] = (),
    idle: float = 0,
    format_name: str = "claude-code",
    agent: str = "Claude Code 2.1.300",
) -> PauseAdvice:
    return pause_advice(prices, pauses, format_name=format_name, agent=agent, last=NOW - idle, now=NOW)


def costs(advice: PauseAdvice) -> dict[str, list[float]]:
    return {each.action.value: [round(cost.usd.value or 0.0, 6) for cost in each.costs] for each in advice.options}


def test_each_action_is_priced_for_five_minutes_an_hour_and_eight_hours() -> None:
    assert costs(advise()) == {
        # Warm until five minutes have passed.
        "leave it": [0.06, 0.63, 0.63],
        # 11 renewals until an hour, 95 until eight, at 100,000 x $0.50 per million = $0.05.
        "keep it warm": [0.06, 0.61, 4.81],
        # The warm prompt, a summary of 2,000 x $25 per million = $0.05, then 22,000 x $6.25 per million = $0.1375.
        "compact now": [0.2475, 0.2475, 0.2475],
        # 20,000 x $6.25 per million.
        "new session": [0.125, 0.125, 0.125],
    }


def test_claude_code_compacts_a_large_idle_session_before_an_hours_cache_expires() -> None:
    hour = FIVE_MINUTES._replace(prompt=250_000, warm_usd=0.14, cold_usd=2.5, write=10e-6, lifetime=3600)
    advice = advise(hour)
    # The warm prompt, the summary for $0.05, then 22,000 x $10 per million = $0.22.
    assert costs(advice)["leave it"] == [0.14, 0.41, 0.41]
    assert advice.compacts_at == NOW + 3240
    assert advice.options[0].setting == '"idleCompaction": false'

    for other in (
        advise(hour, agent="Claude Code 2.1.298"),
        advise(hour, format_name="codex"),
        advise(hour._replace(prompt=199_999)),
    ):
        assert costs(other)["leave it"] == [0.14, 0.14, 2.5]
        assert other.compacts_at is None


def test_expected_costs_are_means_over_the_users_longer_pauses() -> None:
    pauses = (120.0,) * 6 + (1800.0,) * 4
    advice = advise(pauses=pauses)
    expected = {each.action: each.expected_usd.value for each in advice.options}
    # 6 x $0.06 and 4 x $0.63; 30 minutes take 5 renewals: 6 x $0.06 and 4 x $0.31.
    assert expected[PauseAction.LEAVE] == pytest.approx((6 * 0.06 + 4 * 0.63) / 10)
    assert expected[PauseAction.KEEP_WARM] == pytest.approx((6 * 0.06 + 4 * 0.31) / 10)
    assert (advice.best, advice.pauses) == (PauseAction.KEEP_WARM, 10)

    shorter = advise(pauses=pauses, idle=200)
    assert (shorter.best, shorter.pauses) == (None, 4), "too few pauses are longer than this one so far"


def test_an_action_of_unknown_size_is_left_out() -> None:
    advice = advise(FIVE_MINUTES._replace(fresh=None, compacted=None))
    assert [each.action for each in advice.options] == [PauseAction.LEAVE, PauseAction.KEEP_WARM]


def test_the_table_marks_the_cheapest_action_that_keeps_the_context() -> None:
    lines = advice_lines("api", advise(pauses=(120.0,) * 6 + (1800.0,) * 4))
    assert lines[0] == "api: cost of a pause with the next prompt"
    assert lines[1].split() == ["pause", "of", "5", "min", "1", "h", "8", "h", "your", "pauses"]
    assert [line[0] for line in lines[2:6]] == [" ", "*", " ", " "]
    assert "~$0.16" in lines[3]
    assert lines[6] == "* cheapest that keeps the context, over 10 pauses of yours"


def test_a_recorded_session_has_its_own_prices_and_pauses(tmp_path: Path) -> None:
    away = session_status(write_session(tmp_path, "/srv/web")).away
    assert away is not None
    # Read 102,000 and write 500; write 102,500; the first prompt has 94,000 tokens.
    assert costs(away)["leave it"] == [0.054125, 0.640625, 0.640625]
    assert costs(away)["new session"][0] == 0.5875
    assert away.pauses == 0


def test_the_time_before_a_message_of_the_user_is_a_pause(tmp_path: Path) -> None:
    path = write_session(tmp_path, "/srv/api", ended=1260)
    now = time.time()
    # The message is written 2 seconds before the response: 1260 - 60 - 2 = 1198 seconds after the last one.
    lines = call_lines(5, now - 60, 0, 104_000, 500, sessionId="one", cwd="/srv/api")
    with path.open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    os.utime(path, (now - 60, now - 60))

    reader = LiveReader(path)
    figures = LiveFigures(Pricing.load(), reader)
    assert [round(pause) for pause in figures.pauses] == [1198]
    away = figures.row(now).away
    assert away is not None
    assert away.pauses == 1


def test_the_command_prints_the_table(private_home: Path) -> None:
    write_session(private_home, "/srv/api")
    outcome = run_program("status", "--away")
    assert (outcome.code, outcome.err) == (0, "")
    assert "  leave it           ~$0.054      ~$0.64      ~$0.64\n" in outcome.out
    assert outcome.out.endswith("/clear\n")
    assert run_program("status", "--away", "--format", "tmux").code == 2
