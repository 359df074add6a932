"""Alerts: raised once per cause, in plain words, delivered without a shell."""

from __future__ import annotations

import json
import sys
import time
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.live import alerts
from inspector.live.alerts import REARM, Alert, AlertRules, Cause, Notifier, desktop_command, terminal_sequence
from inspector.live.status import Activity, CacheState, CacheStatus, Forecast, HourlyRate, LiveSession, Loop
from inspector.replay.figure import Band, Figure, HowKnown
from inspector.settings import Settings

NOW = 1_790_000_000.0


def exact(value: float | None) -> Figure:
    return Figure(value, HowKnown.EXACT)


def session(**changes: object) -> LiveSession:
    plain = LiveSession(
        path=Path("/home/ada/.claude/projects/api/1.jsonl"),
        identifier="1",
        format="claude-code",
        agent="Claude Code",
        project="api",
        title="",
        model="claude-opus-4-6",
        state=Activity.WORKING,
        prompt=exact(50_000),
        compacts_at=exact(100_000),
        window=exact(200_000),
        last_activity=NOW,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


QUIET = Settings(
    alert_fill=0,
    alert_dollars_per_hour=0,
    alert_dollars_per_session=0,
    alert_cold_return=0,
    alert_loop=0,
    alert_compaction=False,
)


def limits(**changes: object) -> AlertRules:
    return AlertRules(QUIET._replace(**changes))  # type: ignore[arg-type]


def texts(rules: AlertRules, *states: LiveSession, now: float = NOW) -> list[str]:
    return [alert.text for state in states for alert in rules.check([state], now)]


def filled(tokens: int) -> LiveSession:
    return session(prompt=exact(tokens))


def test_a_filling_session_raises_one_alert_until_it_fell_below_70_percent() -> None:
    rules = limits(alert_fill=85)
    # Of 100,000: 84, 85, 90, 70, 86, 69, 85 %. 70 % is not below the line, 69 % is.
    raised = [
        len(rules.check([filled(size)], NOW)) for size in (84_000, 85_000, 90_000, 70_000, 86_000, 69_000, 85_000)
    ]

    assert raised == [0, 1, 0, 0, 0, 0, 1]


def test_the_sentence_on_fill_names_the_compaction_size_and_the_forecast() -> None:
    forecast = Forecast(Band(2, 4.2, 7))
    found = texts(limits(alert_fill=85), replace(filled(87_400), forecast=forecast))

    assert found == ["api is at 87 % of the 100k tokens at which it compacts, in about 4 calls."]


def test_money_alerts_name_the_amount_with_its_certainty_and_the_limit() -> None:
    rules = limits(alert_dollars_per_hour=10, alert_dollars_per_session=25)
    spent = Figure(26.1, HowKnown.EXACT, is_lower_bound=True)
    found = texts(rules, session(recent=HourlyRate(usd=Figure(12.4, HowKnown.ESTIMATED)), spent=spent))

    assert found == ["api costs ~$12.40 an hour, more than $10.00.", "api has cost ≥ $26.10, more than $25.00."]


def cached(left: float, state: Activity = Activity.WAITING) -> LiveSession:
    cache = CacheStatus(CacheState.WARM if left > 0 else CacheState.COLD, NOW + left, 300, exact(0.08), exact(1.6))
    return session(cache=cache, state=state)


def test_a_costly_cold_return_is_announced_once_while_it_can_be_prevented() -> None:
    rules = limits(alert_cold_return=1)
    states = (cached(300), cached(121), cached(119), cached(60), cached(0), cached(290, Activity.WORKING))

    assert texts(rules, *states) == [
        "api goes cold in 1:59: the next prompt then costs $1.60 instead of $0.080.",
    ]
    assert len(texts(rules, cached(100))) == 1, "the cache was used again in between"
    assert not texts(limits(alert_cold_return=2), cached(60)), "$1.60 is below $2"


def test_a_loop_is_announced_with_its_tool_made_safe() -> None:
    rules = limits(alert_loop=5)
    loops = [session(loop=Loop("Ba\x1b[31msh", times)) for times in (4, 5, 6)]

    assert texts(rules, *loops) == ["api called Ba␛[31msh 5 times in a row with the same arguments."]


def test_each_compaction_is_announced_but_none_from_before_the_watch() -> None:
    rules = limits(alert_compaction=True)
    counts = [len(rules.check([session(compactions=count)], NOW)) for count in (2, 2, 3, 3, 5, 0, 1)]

    assert counts == [0, 0, 1, 0, 1, 0, 1]


def test_idle_and_ended_sessions_raise_no_fill_alert() -> None:
    rules = limits(alert_fill=85)
    for state in (Activity.IDLE, Activity.ENDED):
        assert not rules.check([replace(filled(99_000), state=state)], NOW)


def test_two_sessions_have_a_rule_each() -> None:
    rules = limits(alert_fill=85)
    both = [filled(90_000), replace(filled(90_000), path=Path("/other.jsonl"))]

    assert len(rules.check(both, NOW)) == 2
    assert not rules.check(both, NOW)


@given(st.lists(st.one_of(st.none(), st.floats(0, 200)), max_size=60), st.floats(1, 100))
def test_between_two_alerts_of_one_cause_the_value_fell_below_the_line(
    values: list[float | None], limit: float
) -> None:
    rules = limits(alert_dollars_per_session=limit)
    lowest = -1.0
    for value in values:
        raised = rules.check([session(spent=exact(value))], NOW)
        if raised:
            assert value is not None
            assert value >= limit
            assert lowest < REARM * limit
            lowest = value
        elif value is not None:
            lowest = min(lowest, value)


ALERT = Alert(Cause.FILL, "/s/1.jsonl", "a;b", "a;b is at 90 % of its context window.", 90.0, 85.0, NOW)


def test_a_terminal_gets_a_bell_and_both_notifications() -> None:
    assert terminal_sequence(ALERT, ("bell",)) == "\x07"
    assert terminal_sequence(ALERT, ("notification",)) == (
        "\x1b]9;a;b is at 90 % of its context window.\x07"
        "\x1b]777;notify;inspector;a,b is at 90 % of its context window.\x07"
    )
    assert terminal_sequence(ALERT, ("notification",), in_tmux=True).startswith("\x1bPtmux;\x1b\x1b]9;a;b")


@given(st.text(max_size=30))
def test_no_name_of_a_session_adds_a_control_character_to_a_terminal_sequence(name: str) -> None:
    rules = limits(alert_fill=85)
    (alert,) = rules.check([replace(filled(90_000), project=name, title=name)], NOW)
    body = terminal_sequence(alert, ("notification",))

    assert body.count("\x1b") == body.count("\x07") == 2
    assert all(unicodedata.category(character) not in ("Cc", "Cf") or character in "\x1b\x07" for character in body)


def test_a_command_gets_the_alert_in_its_environment_and_no_shell_parses_it(tmp_path: Path) -> None:
    target = tmp_path / "seen.json"
    program = "import json, os, sys; json.dump([sys.argv[1:], dict(os.environ)], open(sys.argv[1], 'w'))"
    hostile = Alert(Cause.LOOP, "/s/$(id).jsonl", "x", "`id`; $(touch /oops) && x", 7, 5, NOW)
    notifier = Notifier((), [sys.executable, "-c", program, str(target)])

    notifier.send(hostile)
    wait_for(lambda: target.exists() and target.read_text().endswith("]"))

    words, variables = json.loads(target.read_text())
    assert words == [str(target)]
    assert variables["INSPECTOR_ALERT"] == "loop"
    assert variables["INSPECTOR_ALERT_TEXT"] == "`id`; $(touch /oops) && x"
    assert variables["INSPECTOR_ALERT_SESSION"] == "/s/$(id).jsonl"
    assert (variables["INSPECTOR_ALERT_VALUE"], variables["INSPECTOR_ALERT_LIMIT"]) == ("7", "5")


def test_a_command_that_fails_or_hangs_is_reported_once_and_never_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alerts, "COMMAND_SECONDS", 0.2)
    problems: list[str] = []
    missing = Notifier((), ["/no/such/program"], report=problems.append)
    missing.send(ALERT)
    missing.send(ALERT)
    hanging = Notifier((), [sys.executable, "-c", "import time; time.sleep(60)"], report=problems.append)
    begun = time.monotonic()
    hanging.send(ALERT)
    assert time.monotonic() - begun < 5

    def is_stopped() -> bool:
        hanging.poll()
        return len(problems) == 2

    wait_for(is_stopped)
    assert "cannot run" in problems[0]
    assert "was stopped" in problems[1]


@pytest.mark.parametrize(("platform", "program"), [("linux", "notify-send"), ("darwin", "osascript")])
def test_a_desktop_notification_gets_the_text_as_one_argument(
    platform: str, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alerts.sys, "platform", platform)
    monkeypatch.setattr(alerts.shutil, "which", lambda name: f"/bin/{name}" if name == program else None)
    words = desktop_command(ALERT)

    assert words is not None
    assert words[0] == program
    assert words[-1] == ALERT.text
    assert sum(ALERT.text in word for word in words) == 1


def test_without_a_program_for_it_a_desktop_notification_is_a_reported_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alerts.shutil, "which", lambda name: None)
    problems: list[str] = []
    Notifier(("desktop",), report=problems.append).send(ALERT)

    assert problems == ["no desktop notifications: neither notify-send nor osascript is on the PATH"]


def wait_for(is_done, seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not is_done():
        assert time.monotonic() < deadline
        time.sleep(0.02)
