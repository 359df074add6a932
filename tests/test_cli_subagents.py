"""Calls of subagents are part of folder totals, and named next to the figures of the session that started them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from inspector.cli import main
from tests.session.claude_lines import SESSION, Script
from tests.session.harness_lines import HarnessScript
from tests.session.qwen_lines import QwenScript
from tests.session.run_files import jsonl
from tests.session.test_related import claude_child, claude_parent

MAIN_USD = (10 * 3 + 9_300 * 3.75 + 9_000 * 0.3 + 80 * 15) / 1e6
"""Case 20: two calls of Claude Sonnet 4.6 at $3, $3.75, $0.30 and $15 per million tokens."""

SUBAGENT_USD = (14 * 3 + 890 * 3.75 + 18_800 * 0.3 + 77 * 15) / 1e6
"""The two calls of its subagent, without the call it copied from its parent."""


def folder_figures(folder: Path, capsys: pytest.CaptureFixture[str]) -> dict:
    assert main(["report", str(folder), "--format", "json", "--no-kept-results"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_folder_total_includes_the_subagents_of_a_session_and_their_copied_calls_once(shared: Path, capsys):
    found = folder_figures(shared / "cases" / "20-subagent", capsys)
    assert (found["baseline"]["calls"], found["baseline"]["prompt_tokens"]) == (4, 18_310 + 19_704)
    assert found["baseline"]["cost_usd"] == pytest.approx(MAIN_USD + SUBAGENT_USD, abs=5e-7)
    assert round(found["baseline"]["cost_usd"], 4) == 0.0490
    assert found["subagents"] == 1
    assert [(row["calls"], row["parent"]) for row in found["sessions"]] == [
        (2, None),
        (2, "11111111-2222-4333-8444-555555555555"),
    ]


def test_a_folder_total_includes_the_child_sessions_of_a_database(shared: Path, capsys):
    found = folder_figures(shared / "cases" / "55-opencode1-child", capsys)
    assert (found["baseline"]["calls"], found["baseline"]["prompt_tokens"]) == (4, 40_330 + 5_007)
    sonnet = (30 * 3 + 14_300 * 3.75 + 26_000 * 0.3 + 430 * 15) / 1e6
    haiku = (7 * 1 + 5_000 * 1.25 + 60 * 5) / 1e6
    assert found["baseline"]["cost_usd"] == pytest.approx(sonnet + haiku, abs=5e-7)


def test_the_folder_report_names_the_number_of_subagents_and_their_parents(shared: Path, capsys):
    assert main(["report", str(shared / "cases" / "20-subagent"), "--no-kept-results"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("1 session and 1 subagent in ")
    assert "↳ subagents/agent-" in text


def test_tuning_names_the_calls_and_dollars_of_subagents_that_no_plan_changes(shared: Path, capsys):
    folder = shared / "cases" / "20-subagent"
    assert main(["tune", str(folder), "--format", "json", "--no-kept-results", "--processes", "0"]) == 0
    found = json.loads(capsys.readouterr().out)

    (group,) = found["groups"]
    assert group["cost_usd"] == pytest.approx(MAIN_USD, abs=5e-7)
    assert (group["started"]["sessions"], group["started"]["calls"]) == (1, 2)
    assert group["started"]["cost_usd"] == pytest.approx(SUBAGENT_USD, abs=5e-7)
    # 14 x $3, 890 x $3.75, 18,800 x $0.30 and 77 x $15 per million: $0.0102.
    assert "2 calls of 1 subagent cost $0.010 more, not included above" in found["warnings"]
    assert main(["tune", str(folder), "--no-kept-results", "--processes", "0"]) == 0
    assert "2 calls of 1 subagent cost $0.010 more, not included above" in " ".join(capsys.readouterr().out.split())


def test_each_of_two_sets_names_the_calls_and_dollars_of_its_subagents(shared: Path, tmp_path: Path, capsys):
    folder, alone = shared / "cases" / "20-subagent", Script()
    alone.prompt("list the files")
    alone.text("m9", usage={"input_tokens": 10_000, "output_tokens": 1_000})
    alone.write(tmp_path / f"{SESSION}.jsonl")
    asked = ["compare", "--before", str(folder), "--after", str(tmp_path)]
    assert main([*asked, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)

    before, after = found["before"], found["after"]
    assert before["figures"]["cost_usd"] == pytest.approx(MAIN_USD, abs=5e-7)
    assert before["with_subagents_usd"] == pytest.approx(MAIN_USD + SUBAGENT_USD, abs=5e-7)
    assert (before["started"]["sessions"], before["started"]["calls"]) == (1, 2)
    assert after["started"]["calls"] == 0
    assert "before: 2 calls of 1 subagent cost $0.010 more, not included above" in found["warnings"]
    assert main(asked) == 0
    assert "before: 2 calls of 1 subagent cost $0.010 more" in " ".join(capsys.readouterr().out.split())


def text_of(capsys: pytest.CaptureFixture[str], command: str, path: Path) -> str:
    assert main([command, str(path), *(["--no-kept-results"] if command == "report" else [])]) == 0
    return " ".join(capsys.readouterr().out.split())


def test_a_sessions_report_names_the_calls_and_dollars_of_its_subagents(shared: Path, capsys):
    path = next((shared / "cases" / "20-subagent").glob("*.jsonl"))
    text = text_of(capsys, "report", path)
    assert "2 calls of 1 subagent cost $0.010 more, not included above; $0.049 with them." in text
    assert "agent-a0000001 2 19,704 77 $0.010" in text
    assert "$0.010 more for 2 calls of 1 subagent, not included above" in text_of(capsys, "why", path)
    assert main(["report", str(path), "--format", "json", "--no-kept-results"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["baseline"]["calls"] == 2
    assert found["subagents"]["calls"] == 2
    assert found["subagents"]["prompt_tokens"] == 7 + 800 + 9_000 + 7 + 90 + 9_800
    assert found["subagents"]["cost_usd"] == pytest.approx(SUBAGENT_USD, abs=5e-7)
    assert found["with_subagents_usd"] == pytest.approx(MAIN_USD + SUBAGENT_USD, abs=1e-6)
    assert (found["subagents"]["known"], found["subagents"]["is_lower_bound"]) == ("exact", False)


@pytest.mark.parametrize("form", ["md", "html"])
def test_the_page_of_a_session_names_its_subagents(shared: Path, capsys, form: str):
    path = next((shared / "cases" / "20-subagent").glob("*.jsonl"))
    assert main(["report", str(path), "--format", form, "--no-compare", "--no-script", "--no-kept-results"]) == 0
    text = capsys.readouterr().out.replace("\\$", "$")
    assert "2 calls of 1 subagent cost $0.010 more, not included above; $0.049 with them." in text
    assert "Subagents, not included in any other figure" in text


def test_a_subagent_that_cannot_be_read_is_named_and_the_cost_is_a_lower_bound(tmp_path: Path, capsys):
    path = claude_parent(tmp_path, "a1b2")
    folder = tmp_path / SESSION / "subagents"
    claude_child(folder / "agent-c3d4.jsonl", "c3d4")
    text = text_of(capsys, "report", path)
    assert "1 call of 1 subagent" in text
    assert "1 subagent could not be read, a1b2: file not found." in text


@pytest.mark.parametrize("form", ["text", "md"])
def test_the_cost_of_a_subagent_with_an_unknown_usage_field_is_a_lower_bound(tmp_path: Path, capsys, form: str):
    path, script = claude_parent(tmp_path, "a1b2"), Script()
    script.prompt("find it", isSidechain=True, agentId="a1b2")
    usage = {"input_tokens": 10_000, "output_tokens": 1_000, "video_tokens": 500}
    script.text("m1", usage=usage, isSidechain=True, agentId="a1b2")
    (tmp_path / SESSION / "subagents").mkdir(parents=True)
    script.write(tmp_path / SESSION / "subagents" / "agent-a1b2.jsonl")
    assert main(["report", str(path), "--format", form, "--no-kept-results"]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if "agent-a1b2" in line)
    assert "\N{GREATER-THAN OR EQUAL TO} " in row


def test_a_session_without_subagents_does_not_mention_any(tmp_path: Path, capsys):
    script = Script()
    script.prompt("hello")
    script.text("m1", usage={"input_tokens": 7, "output_tokens": 3})
    path = script.write(tmp_path / f"{SESSION}.jsonl")
    assert "ubagent" not in text_of(capsys, "report", path) + text_of(capsys, "why", path)


def test_why_on_a_session_without_calls_names_no_model_and_no_cost(tmp_path: Path, capsys):
    script = Script()
    script.prompt("hello")
    text = text_of(capsys, "why", script.write(tmp_path / f"{SESSION}.jsonl"))
    assert text.startswith(f"Cost of {SESSION}")
    assert "0 calls" not in text
    assert "not named" not in text
    assert "the session contains no call to a model" in text


def qwen_family(folder: Path) -> tuple[Path, int]:
    """A session of one call and a subagent of two: prompts of 1,000 tokens, 400 of them cached."""
    parent, child = QwenScript(), QwenScript()
    parent.user("go")
    parent.answer("done", sessionId="s1")
    child.add("system", subtype="parent_session", systemPayload={"parentSessionId": "s1"}, sessionId="s2")
    child.user("find it", sessionId="s2")
    for uuid in ("r1", "r2"):
        child.answer("found", uuid=uuid, sessionId="s2")
    for name, script in (("s1", parent), ("s2", child)):
        (folder / f"{name}.jsonl").write_bytes(jsonl(script.lines))
    return folder / "s1.jsonl", 1_000


def harness_family(folder: Path) -> tuple[Path, int]:
    """A session of one call and a subagent of two, with prompts of 500 tokens, 400 of them cached."""
    parent, child = HarnessScript(id="s0"), HarnessScript(id="s1", origin="subagent", parentSession="s0")
    for script, answers in ((parent, 1), (child, 2)):
        script.header()
        script.user("go" if script is parent else "find it")
        for number in range(answers):
            script.answer(f"answer {number}", second=10 * answers + number)
        path = folder / script.lines[0]["id"] / "session.jsonl"
        path.parent.mkdir()
        path.write_bytes(jsonl(script.lines))
    return folder / "s0" / "session.jsonl", 500


@pytest.mark.parametrize("family", [qwen_family, harness_family])
def test_folder_and_session_count_subagents_in_other_formats(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], family: Callable[[Path], tuple[Path, int]]
):
    path, prompt = family(tmp_path)
    whole = folder_figures(tmp_path, capsys)
    assert (whole["baseline"]["calls"], whole["baseline"]["prompt_tokens"]) == (3, 3 * prompt)
    assert whole["subagents"] == 1
    assert main(["report", str(path), "--format", "json", "--no-kept-results"]) == 0
    own = json.loads(capsys.readouterr().out)
    assert (own["baseline"]["calls"], own["baseline"]["prompt_tokens"]) == (1, prompt)
    assert (own["subagents"]["calls"], own["subagents"]["prompt_tokens"]) == (2, 2 * prompt)
    assert own["subagents"]["cache_read_tokens"] == 2 * 400
    assert [each["title"] for each in own["subagents"]["sessions"]] == [""]
