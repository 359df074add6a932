"""`inspector status`: one line on the running session, in a prompt, in tmux and in Claude Code."""

import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import msgspec
import pexpect
import pytest

from inspector import __version__
from inspector.atomic_files import cache_folder
from inspector.live import status_line
from inspector.live.snapshot import schema_text
from inspector.live.status import FILL_ALARM, FILL_WARNING, SOON_SECONDS
from inspector.live.status_line import keep_saving
from tests.conftest import ROOT
from tests.live.made import call_lines, write_session
from tests.program import environment, run_program


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "api"
    folder.mkdir()
    return folder


@pytest.fixture
def session(private_home: Path, project: Path) -> Path:
    return write_session(private_home, str(project))


def status(*words: str, cwd: Path | None = None, stdin: bytes = b"", **more: str) -> str:
    """Run the command, which has to succeed with one line and nothing on standard error."""
    outcome = run_program("status", *words, cwd=cwd, env=more, stdin=stdin)
    assert (outcome.code, outcome.err) == (0, "")
    line = outcome.out
    assert line.count("\n") == 1
    assert line.endswith("\n")
    return line[:-1]


def document(*words: str, cwd: Path | None = None) -> dict[str, Any]:
    outcome = run_program("status", "--format", "json", *words, cwd=cwd)
    assert (outcome.code, outcome.err) == (0, "")
    return json.loads(outcome.out)


def test_a_line_has_fill_forecast_rate_and_cache(session: Path, project: Path) -> None:
    (entry,) = document(cwd=project)["sessions"]
    size = entry["compacts_at"]["value"]
    line = status(cwd=project)

    # The next prompt is the last one with its response: 102,000 + 500 tokens.
    assert entry["prompt"]["value"] == 102_500
    assert line.startswith(f"api · {100 * 102_500 / size:.0f} % of {size / 1000:.0f}k · ")
    # Reads of 92,000 to 100,000 and 5 x 2,000 written, 5 x 500 answered:
    # 480,000 x $0.50 + 10,000 x $6.25 + 2,500 x $25, per million = $0.24 + $0.0625 + $0.0625 = $0.365 in 15 minutes.
    assert "$1.46/h" in line
    # 102,500 tokens written to the cache at $6.25 per million.
    assert re.search(r"cold in (3:\d\d|4:00), then ~\$0\.64$", line)
    assert f"compacts in ~{entry['forecast']['calls']['middle']:.0f} calls" in line


def test_a_kept_saving_of_the_best_plan_ends_the_line_if_it_saves_at_worst(session: Path, project: Path) -> None:
    keep_saving(str(session), __version__, 0.081, 0.139)
    assert status(cwd=project).endswith(" · plan saves 8\N{EN DASH}14 %")
    assert document(cwd=project)["sessions"][0]["plan_saves"] == {"low": 0.081, "high": 0.139}

    keep_saving(str(session), __version__, -0.01, 0.139)
    assert document(cwd=project)["sessions"][0]["plan_saves"] is None


def test_the_kept_line_is_shown_until_the_file_changes(session: Path, project: Path) -> None:
    first = status(cwd=project)
    assert status(cwd=project)[:20] == first[:20]

    # Another call, with a prompt of 122,000 tokens.
    appended = call_lines(5, time.time(), 102_000, 20_000, 500, sessionId="one", cwd=str(project))
    with session.open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in appended)

    size = document(cwd=project)["sessions"][0]["compacts_at"]["value"]
    assert f" {100 * 122_500 / size:.0f} % of " in status(cwd=project)


def test_a_status_line_shows_the_kept_state_at_once_and_refreshes_it_in_the_background(
    session: Path, project: Path
) -> None:
    before = status("--format", "tmux", cwd=project)
    appended = call_lines(5, time.time(), 102_000, 40_000, 500, sessionId="one", cwd=str(project))
    with session.open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in appended)

    assert status("--format", "tmux", cwd=project)[:16] == before[:16]
    deadline = time.monotonic() + 60
    while status("--format", "tmux", cwd=project)[:16] == before[:16]:
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_the_session_of_the_folder_wins_over_a_newer_one_elsewhere(
    session: Path, project: Path, tmp_path: Path, private_home: Path
) -> None:
    other = tmp_path / "web"
    other.mkdir()
    write_session(private_home, str(other), ended=5, name="two")
    below = project / "src"
    below.mkdir()

    assert status(cwd=below).startswith("api · ")
    assert status(cwd=other).startswith("web · ")
    assert status(cwd=tmp_path).startswith("web · "), "the newest of all"
    assert [entry["project"] for entry in document("--all")["sessions"]].sort() == ["api", "web"].sort()


def test_without_a_session_the_line_says_so(tmp_path: Path) -> None:
    for style in ("text", "tmux", "claude"):
        assert status("--format", style, cwd=tmp_path) == "no running session"
    assert document(cwd=tmp_path)["sessions"] == []


def test_a_missing_session_is_an_error_only_for_people(tmp_path: Path) -> None:
    missing = str(tmp_path / "none.jsonl")
    outcome = run_program("status", "--session", missing)
    assert outcome.code == 1
    assert missing in outcome.complaint
    assert status("--format", "tmux", "--session", missing) == "no running session"


REPORTED = {
    "session_id": "one",
    "model": {"id": "claude-opus-4-5", "display_name": "Opus 4.5"},
    "context_window": {
        "context_window_size": 200_000,
        "used_percentage": 61,
        "current_usage": {
            "input_tokens": 0,
            "output_tokens": 1_000,
            "cache_creation_input_tokens": 4_000,
            "cache_read_input_tokens": 118_000,
        },
    },
    "cost": {"total_cost_usd": 4.2},
    "rate_limits": {"five_hour": {"used_percentage": 31.4, "resets_at": 1}, "seven_day": {"used_percentage": 92}},
}


def reported(session: Path, project: Path, **more: object) -> bytes:
    cache = {"warm": True, "ttl": "5m", "expires_at": time.time() + 200.5, "recache_tokens_if_cold": 120_000}
    folder = {"project_dir": str(project), "current_dir": str(project)}
    return json.dumps(
        {**REPORTED, "transcript_path": str(session), "workspace": folder, "prompt_cache": cache, **more}
    ).encode()


def test_what_claude_code_reports_is_used_instead_of_older_records(session: Path, project: Path) -> None:
    (entry,) = document(cwd=project)["sessions"]
    size = entry["compacts_at"]["value"]
    line = status("--format", "claude", stdin=reported(session, project), NO_COLOR="1")

    # 118,000 + 4,000 + 1,000 tokens; the recorded prompt was 102,500.
    assert line.startswith(f"api · {100 * 123_000 / size:.0f} % of {size / 1000:.0f}k · ")
    left = entry["forecast"]["calls"]["middle"] * (size - 123_000) / (size - 102_500)
    assert f"compacts in ~{left:.0f} calls" in line
    # 120,000 tokens at $6.25 per million.
    assert re.search(r"cold in 3:(0\d|1\d|20), then ~\$0\.75", line)
    assert line.endswith(" · 5 h 31 % · week 92 %")


def test_a_status_line_of_claude_code_has_colors_and_the_width_of_its_terminal(session: Path, project: Path) -> None:
    full = reported(session, project)
    assert "\x1b[31mweek 92 %\x1b[0m" in status("--format", "claude", stdin=full)
    narrow = status("--format", "claude", stdin=full, COLUMNS="40", NO_COLOR="1")
    assert narrow.startswith("api · ")
    assert len(narrow) <= 40


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"transcript_path": 7, "context_window": [], "cost": {"total_cost_usd": "x"}, "prompt_cache": {"warm": 1}}',
        b'{"transcript_path": "a\\u0000b", "workspace": 1}',
        b'{"transcript_path": "/no/such/file", "context_window": {"current_usage": {"input_tokens": 1e400}}}',
        b"[" * 100_000,
    ],
)
def test_a_broken_report_never_breaks_the_status_line(data: bytes, tmp_path: Path) -> None:
    assert status("--format", "claude", stdin=data, cwd=tmp_path)


def test_hostile_names_reach_no_terminal_and_no_format_of_tmux(private_home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "a#(touch x)\x1b]0;t\x07#[fg=red]"
    folder.mkdir()
    write_session(private_home, str(folder))
    for style in ("text", "claude", "tmux"):
        line = status("--format", style, cwd=folder, stdin=b"{}", NO_COLOR="1")
        assert "\x07" not in line
        assert "\x1b]" not in line
        if style == "tmux":
            name = line.partition(" · ")[0]
            assert name.startswith("a##(touch x)")
            assert "#[" not in name.replace("##", "")


def test_the_document_matches_the_published_schema(session: Path, project: Path) -> None:
    published = (ROOT / "docs" / "status.schema.json").read_text(encoding="utf-8")
    assert published == schema_text(), "run: python -m inspector.live.snapshot > docs/status.schema.json"
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(document("--all"), json.loads(published))
    assert msgspec.json.encode(document("--all"))


def test_installing_prints_the_setting_and_changes_nothing(private_home: Path) -> None:
    outcome = run_program("status", "--install", "claude")
    setting = json.loads(outcome.out)["statusLine"]
    assert setting["type"] == "command"
    assert setting["command"].endswith("status --format claude")
    assert "--yes" in outcome.err
    assert not (private_home / ".claude").exists()
    assert "status-right" in run_program("status", "--install", "tmux").out
    assert not (private_home / ".tmux.conf").exists()


FOREIGN = '{\n    "model": "opus", "statusLine": {"type": "command", "command": "mine.sh"}\n}'


def test_another_status_line_is_replaced_with_a_backup_and_restored_byte_for_byte(private_home: Path) -> None:
    settings = private_home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(FOREIGN)

    assert run_program("status", "--install", "claude", "--if-none", "--yes").code == 0
    assert settings.read_text() == FOREIGN
    assert run_program("status", "--install", "claude", "--yes").code == 0
    assert json.loads(settings.read_text())["statusLine"]["command"].endswith("status --format claude")
    assert json.loads(settings.read_text())["model"] == "opus"
    assert [path.read_text() for path in settings.parent.glob("settings.json.before-inspector-*")] == [FOREIGN]
    assert "already" in run_program("status", "--install", "claude", "--yes").err

    assert run_program("status", "--uninstall", "claude", "--yes").code == 0
    assert settings.read_text() == FOREIGN
    assert "not installed" in run_program("status", "--uninstall", "claude", "--yes").err


def test_changes_after_the_installation_survive_its_removal(private_home: Path) -> None:
    settings = private_home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(FOREIGN)
    run_program("status", "--install", "claude", "--yes")
    changed = {**json.loads(settings.read_text()), "model": "sonnet"}
    settings.write_text(json.dumps(changed))

    run_program("status", "--uninstall", "claude", "--yes")
    assert json.loads(settings.read_text()) == {**json.loads(FOREIGN), "model": "sonnet"}


def test_settings_that_cannot_be_changed_safely_are_left_alone(private_home: Path, tmp_path: Path) -> None:
    settings = private_home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text("{ // mine\n}")
    outcome = run_program("status", "--install", "claude", "--yes")
    assert outcome.code == 1
    assert "not valid JSON" in outcome.complaint
    assert settings.read_text() == "{ // mine\n}"

    settings.unlink()
    os.mkfifo(settings)
    assert run_program("status", "--install", "claude", "--yes").code == 1

    settings.unlink()
    target = tmp_path / "dotfiles.json"
    target.write_text("{}")
    settings.symlink_to(target)
    assert run_program("status", "--install", "claude", "--yes").code == 0
    assert settings.is_symlink()
    assert "statusLine" in json.loads(target.read_text())


def test_lines_in_tmux_configuration_are_added_and_removed(private_home: Path) -> None:
    path = private_home / ".tmux.conf"
    path.write_text("set -g mouse on")
    assert run_program("status", "--install", "tmux", "--yes").code == 0
    installed = path.read_text()
    assert installed.startswith("set -g mouse on\n# begin inspector status\n")
    assert "already" in run_program("status", "--install", "tmux", "--yes").err
    assert path.read_text() == installed
    assert run_program("status", "--uninstall", "tmux", "--yes").code == 0
    assert path.read_text() == "set -g mouse on\n"


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_tmux_shows_the_line_of_its_panes_folder(private_home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "a (b) $x #(touch oops) 50%"
    folder.mkdir()
    write_session(private_home, str(folder))
    status(cwd=folder)
    run_program("status", "--install", "tmux", "--yes")
    socket = f"inspector-test-{os.getpid()}"

    def tmux(*words: str) -> None:
        subprocess.run(["tmux", "-L", socket, *words], cwd=folder, env=environment(TERM="xterm-256color"), check=False)

    tmux("-f", str(private_home / ".tmux.conf"), "new-session", "-d", "-x", "200", "-y", "20")
    tmux("set", "-g", "status-interval", "1")
    screen = pexpect.spawn(
        "tmux", ["-L", socket, "attach"], dimensions=(20, 200), env=environment(TERM="xterm-256color"), encoding="utf-8"
    )
    try:
        screen.expect_exact("a (b) $x #(touch oops) 50% · ", timeout=60)
        screen.expect(r"61 % of 167k · compacts in ~\d+ calls · \$1\.46/h · cold in \d:\d\d, then ~\$0\.64")
    finally:
        tmux("kill-server")
        screen.close(force=True)
    assert not list(tmp_path.rglob("oops"))


def test_the_light_module_has_the_thresholds_and_the_folder_of_the_others() -> None:
    assert dict(status_line.FILL_LEVELS) == {FILL_ALARM: "alarm", FILL_WARNING: "warning"}
    assert status_line.SOON_SECONDS == SOON_SECONDS
    assert Path(status_line.kept_path("x")).parent == cache_folder("status")
