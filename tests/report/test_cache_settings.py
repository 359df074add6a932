"""The setting of the agent that would have prevented cache misses, with its value."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from inspector.cli.reading import replay_inputs
from inspector.report.document import ReportOptions
from inspector.report.session_report import report_of
from inspector.report.text import report_text
from inspector.report.why import why_text
from inspector.session.open import open_session
from tests.session.claude_lines import SESSION, Script

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.report.cache_document import CacheSetting
    from inspector.report.document import Report


def at(minute: float) -> str:
    return f"2026-10-20T{10 + int(minute) // 60:02d}:{int(minute) % 60:02d}:00.000Z"


def paused(
    version: str, minutes: tuple[float, ...], *, hours: bool = False, size: int = 100_000, first: int = 0
) -> Script:
    """A session with a call at these minutes; pauses above the cache's lifetime find it cold."""
    script = Script(version=version)
    before, last = 0, 0.0
    for number, minute in enumerate(minutes):
        script.prompt(f"ask {number}", timestamp=at(minute))
        prompt = size + 100 * number if number else first or size
        read = before if number and minute - last < (60 if hours else 5) else 0
        name = "ephemeral_1h_input_tokens" if hours else "ephemeral_5m_input_tokens"
        usage: dict[str, Any] = {"input_tokens": 1, "cache_read_input_tokens": read, "output_tokens": 10}
        usage |= {"cache_creation_input_tokens": prompt - read, "cache_creation": {name: prompt - read}}
        script.block(f"m{number}", {"type": "text", "text": "yes"}, usage, timestamp=at(minute))
        before, last = prompt, minute
    return script


def report(path: Path) -> Report:
    return report_of(replay_inputs(open_session(path)), options=ReportOptions(details=True))


def settings(path: Path) -> list[CacheSetting]:
    found = report(path).cache_misses
    assert found is not None
    return found.settings


COFFEE = tuple(float(20 * number) for number in range(8))


# Eight prompts of 100,000 tokens, 20 minutes apart. Opus 4.8 ($6.25 per million written for 5 minutes, $10 for an hour,
# $0.50 read): all written is 8 x 0.625 = $5.00; written once and read seven times about 1.00 + 7 x 0.05 = $1.35.
@pytest.mark.parametrize(
    ("version", "setting", "place"),
    [
        ("2.1.243", '"promptCacheTtl": "1h"', "~/.claude/settings.json"),
        ("2.1.242", "ENABLE_PROMPT_CACHING_1H=1", "the environment"),
        ("2.1.107", '"promptCacheTtl": "1h"', "~/.claude/settings.json"),
    ],
)
def test_pauses_beyond_five_minutes_name_the_setting_for_an_hour(
    tmp_path: Path, version: str, setting: str, place: str
) -> None:
    path = paused(version, COFFEE).write(tmp_path / f"{SESSION}.jsonl")
    (found,) = settings(path)
    assert (found.setting, found.place) == (setting, place)
    amount = re.match(r"would have saved ~\$([\d.]+)", found.effect)
    assert amount is not None
    # Not every call after a pause finds the cache: the usual hit rate is about 80 %.
    assert float(amount[1]) == pytest.approx(0.8 * (5.00 - 1.35), rel=0.05)
    assert ("2.1.243 and later" in found.effect) is (version == "2.1.107")
    for text in (why_text(report(path)), report_text(report(path))):
        assert f"setting {setting} in {place}" in " ".join(text.split())


def test_a_subagent_has_a_setting_apart(tmp_path: Path) -> None:
    script = paused("2.1.260", COFFEE)
    for line in script.lines:
        line |= {"isSidechain": True, "agentId": "a1"}
    folder = tmp_path / SESSION / "subagents"
    folder.mkdir(parents=True)
    assert [each.setting for each in settings(script.write(folder / "agent-a1.jsonl"))] == [
        '"subagentPromptCacheTtl": "1h"'
    ]


def test_an_hour_that_no_pause_needs_names_the_shorter_one(tmp_path: Path) -> None:
    path = paused("2.1.260", tuple(map(float, range(8))), hours=True).write(tmp_path / f"{SESSION}.jsonl")
    assert [each.setting for each in settings(path)] == ['"promptCacheTtl": "5m"']


def test_a_lifetime_that_saves_nothing_is_not_named(tmp_path: Path) -> None:
    path = paused("2.1.260", tuple(map(float, range(8)))).write(tmp_path / f"{SESSION}.jsonl")
    assert settings(path) == []


LONG = (0.0, 1.0, 2.0, 130.0, 131.0, 260.0, 261.0)


# Two hours later 300,000 tokens are written again for $3.00; compacted at 54 minutes they are read for $0.15.
def test_a_large_session_that_waited_uncompacted_names_idle_compaction(tmp_path: Path) -> None:
    path = tmp_path / f"{SESSION}.jsonl"
    new, old = (paused(version, LONG, hours=True, size=300_000, first=20_000) for version in ("2.1.299", "2.1.280"))
    found = {each.setting: each for each in settings(new.write(path))}
    assert found['"idleCompaction": true'].effect.startswith("1 compaction of the idle session would have saved")
    assert not any("idleCompaction" in each.setting for each in settings(old.write(path)))


# Never continued: the summary request after the last call reads 300,000 for $0.15 and writes 2,000 for $0.05, in
# addition to a session of $3.20 or so.
def test_a_large_session_that_is_never_continued_names_how_to_turn_it_off(tmp_path: Path) -> None:
    script = paused("2.1.299", LONG[:3], hours=True, size=300_000, first=20_000)
    found = {each.setting: each for each in settings(script.write(tmp_path / f"{SESSION}.jsonl"))}
    assert found['"idleCompaction": false'].effect == "1 compaction of the idle session cost ~$0.20"
