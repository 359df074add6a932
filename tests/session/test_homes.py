"""Session folders of agents, and the environment variables that move them."""

from pathlib import Path

import pytest

from inspector.session.format import Format
from inspector.session.formats import (
    claude_code,
    claude_trace,
    cline,
    codex,
    copilot,
    deepseek_harness,
    gemini,
    goose,
    grok,
    hermes,
    inspect_ai,
    kimi,
    opencode,
    openhands,
    pi,
)
from inspector.session.registry import all_formats

VARIABLES = (
    "CLAUDE_CONFIG_DIR",
    "CLINE_DATA_DIR",
    "CLINE_DIR",
    "CLOUDTAP_DB",
    "CODEX_HOME",
    "COPILOT_HOME",
    "DSH_HOME",
    "GEMINI_CLI_HOME",
    "GOOSE_PATH_ROOT",
    "GROK_HOME",
    "HERMES_HOME",
    "KIMI_CODE_HOME",
    "KIMI_SHARE_DIR",
    "OPENCLAW_STATE_DIR",
    "OPENHANDS_CONVERSATIONS_DIR",
    "OPENHANDS_PERSISTENCE_DIR",
    "PI_CODING_AGENT_DIR",
    "QWEN_HOME",
)


@pytest.fixture(autouse=True)
def unmoved(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("variable", "known", "inside"),
    [
        ("CLAUDE_CONFIG_DIR", claude_code.ClaudeCodeFormat(), "projects"),
        ("CODEX_HOME", codex.CodexFormat(), "sessions"),
        ("CODEX_HOME", codex.CodexFormat(), "archived_sessions"),
        ("COPILOT_HOME", copilot.CopilotFormat(), "session-state"),
        ("XDG_DATA_HOME", opencode.OpenCodeFormat(), "opencode/opencode.db"),
        ("XDG_DATA_HOME", goose.GooseFormat(), "goose/sessions"),
        ("CLINE_DIR", cline.ClineFormat(), "data/tasks"),
        ("CLINE_DATA_DIR", cline.ClineFormat(), "sessions"),
        ("OPENHANDS_PERSISTENCE_DIR", openhands.OpenHandsFormat(), "conversations"),
        ("OPENHANDS_CONVERSATIONS_DIR", openhands.OpenHandsFormat(), ""),
        ("PI_CODING_AGENT_DIR", pi.PiFormat(), "sessions"),
        ("OPENCLAW_STATE_DIR", pi.PiFormat(), "agents"),
        ("GEMINI_CLI_HOME", gemini.GeminiFormat(), ".gemini/tmp"),
        ("HERMES_HOME", hermes.HermesFormat(), "state.db"),
        ("KIMI_CODE_HOME", kimi.KimiCodeFormat(), "sessions"),
        ("KIMI_SHARE_DIR", kimi.KimiCliFormat(), "sessions"),
        ("GOOSE_PATH_ROOT", goose.GooseFormat(), "data/sessions"),
        ("GROK_HOME", grok.GrokFormat(), "sessions"),
        ("DSH_HOME", deepseek_harness.DeepSeekHarnessFormat(), "sessions"),
    ],
)
def test_a_variable_moves_a_home(
    variable: str, known: pi.Format, inside: str, private_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert all(private_home in home.parents for home in known.homes())
    monkeypatch.setenv(variable, "/moved")
    assert Path("/moved") / inside in known.homes()


@pytest.mark.parametrize("variable", VARIABLES)
def test_every_variable_that_moves_a_home_is_reported_with_its_format(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str
) -> None:
    before = {known.name: known.homes() for known in all_formats()}
    monkeypatch.setenv(variable, str(tmp_path / "elsewhere"))
    moved = [known for known in all_formats() if known.homes() != before[known.name]]
    assert moved
    assert all(f"${variable}" in known.where for known in moved)


def test_every_profile_of_hermes_is_a_home(private_home: Path) -> None:
    database = private_home / ".hermes" / "profiles" / "work" / "state.db"
    database.parent.mkdir(parents=True)
    database.touch()
    assert database in hermes.HermesFormat().homes()


def test_logs_are_looked_for_where_evaluations_and_requests_were_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("INSPECT_LOG_DIR", raising=False)
    assert inspect_ai.InspectFormat().homes() == ()
    for named in (str(tmp_path), f"file://{tmp_path}"):
        monkeypatch.setenv("INSPECT_LOG_DIR", named)
        assert inspect_ai.InspectFormat().homes() == (tmp_path,)
    monkeypatch.setenv("INSPECT_LOG_DIR", "s3://bucket/logs")
    assert inspect_ai.InspectFormat().homes() == (), "only folders of this machine"
    monkeypatch.chdir(tmp_path)
    assert claude_trace.ClaudeTraceFormat().homes() == (tmp_path / ".claude-trace",)


@pytest.mark.parametrize(
    ("known", "inside"),
    [
        (claude_code.ClaudeCodeFormat(), ".openclaude/projects"),
        (codex.CodexFormat(), ".trae/cli/sessions"),
        (pi.PiFormat(), ".prime/agent/sessions"),
    ],
)
def test_programs_that_write_what_another_does_have_folders_of_their_own(
    known: Format, inside: str, private_home: Path
) -> None:
    assert private_home / inside in known.homes()


def test_databases_of_opencodes_kin_are_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    (tmp_path / "mimocode").mkdir()
    for name in ("mimocode.db", "mimocode-beta.db"):
        (tmp_path / "mimocode" / name).touch()
    homes = opencode.OpenCodeFormat().homes()
    assert {tmp_path / "kilo" / "kilo.db", tmp_path / "mimocode" / "mimocode-beta.db"} < set(homes)
