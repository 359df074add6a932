"""`inspector hook`: the agent always gets a result, even on bad input."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from platformdirs import user_state_path

from inspector.hook.events import claude_code
from inspector.hook.records import errors, record_trim, trims
from inspector.hook.rules import prompt_tokens
from inspector.hook.run import _recall_command
from inspector.recall.originals import (
    evict_originals,
    find_originals,
    state_folder,
    store_original,
    stored_originals,
    stored_path,
)
from inspector.session.model import BlockKind, Role
from inspector.session.open import open_session
from inspector.strategies.core.operations import recall_command
from tests.conftest import ROOT
from tests.hook.events import PLAN, bash_event, run_hook, sent_output, start_hook
from tests.permissions import without_privileges
from tests.program import COMMAND, environment, run_program
from tests.replay.synthetic import SessionBuilder

SAMPLE = ROOT / "sample_sessions" / "coding-agent.jsonl"


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "tuned.toml"
    path.write_text(PLAN)
    return path


def test_a_large_result_is_trimmed_in_its_own_shape_and_recalled_as_its_notice_says(plan: Path) -> None:
    text = "".join(f"line {number}\n" for number in range(1_000))
    done = start_hook(bash_event(text), plan)
    assert (done.returncode, done.stderr) == (0, b"")
    output = sent_output(done.stdout)
    assert output.keys() == {"stdout", "stderr", "interrupted", "isImage"}
    assert output["stdout"].startswith(text[:300])
    assert output["stdout"].endswith(text.rstrip()[-200:])
    assert "all of it: inspector recall toolu_01HookTest ...]" in output["stdout"]
    recalled = run_program("recall", "toolu_01HookTest")
    assert recalled.raw == text.rstrip().encode()
    assert run_program("recall", "toolu_01HookTest", "--lines", "3").out == "line 2\n"
    assert json.loads(run_program("recall", "toolu_01HookTest", "--json").out)["results"][0]["kept_by"] == "hook"


def test_a_small_result_is_answered_with_nothing(plan: Path) -> None:
    done = run_hook(bash_event("fine"), plan)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


UNCHANGED = {
    "no JSON": b"{",
    "nothing": b"",
    "no text": b"\xff\xfe",
    "a list": b"[1]",
    "a deep one": b"[" * 200_000,
    "an unknown event": json.dumps(bash_event(hook_event_name="PreToolUse")).encode(),
    "an unknown tool": json.dumps(bash_event(tool_name="Teleport")).encode(),
    "a tool that is none": json.dumps(bash_event(tool_name=["Bash"])).encode(),
    "a read, whose lines the agent numbers": json.dumps(
        bash_event(tool_name="Read", tool_response={"type": "text", "file": {"content": "x" * 9_000}})
    ).encode(),
    "an unknown shape": json.dumps(bash_event(tool_response={"stdout": "x" * 9_000})).encode(),
    "a shape with more in it": json.dumps(
        bash_event(
            tool_response={"stdout": "x" * 9_000, "stderr": "", "interrupted": False, "isImage": False, "new": 1}
        )
    ).encode(),
    "a text in place of a shape": json.dumps(bash_event(tool_response="Error: " + "x" * 9_000)).encode(),
    "a picture": json.dumps(
        bash_event(tool_response={"stdout": "x" * 9_000, "stderr": "", "interrupted": False, "isImage": True})
    ).encode(),
}


@pytest.mark.parametrize("what", UNCHANGED)
def test_what_is_not_known_passes_unchanged(plan: Path, what: str) -> None:
    done = run_hook(UNCHANGED[what], plan)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (b"name = ", "not valid TOML"),
        (b'[[strategies]]\nname = "nobody"', "unknown strategy"),
        (b'[[strategies]]\nname = "trim-at-insertion"\nmarker = "{x"', "not a valid template"),
        (b"\xff\xfe\x00", "UnicodeDecodeError"),
    ],
)
def test_a_broken_plan_passes_the_result_and_is_reported_once(tmp_path: Path, written: bytes, told: str) -> None:
    path = tmp_path / "broken.toml"
    path.write_bytes(written)
    for _ in range(3):
        done = run_hook(bash_event(), path)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    (line,) = errors(state_folder())
    assert told in line
    assert told in run_program("hook", "stats").out


@pytest.mark.parametrize("which", ["plan", "transcript"])
def test_a_pipe_in_place_of_a_file_is_not_waited_for(tmp_path: Path, plan: Path, which: str) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    event = bash_event("x" * 100_000)
    if which == "transcript":
        event = {**event, "transcript_path": str(pipe)}
    outcome = run_hook(event, pipe if which == "plan" else plan)
    assert outcome.returncode == 0
    assert bool(outcome.stdout) == (which == "transcript")


def test_a_plan_that_is_gone_or_not_named_passes_the_result(tmp_path: Path) -> None:
    assert run_hook(bash_event(), tmp_path / "gone.toml").stdout == b""
    assert run_hook(bash_event(), "careful").stdout == b""  # nothing there is so long
    for words in (["--agent", "nobody"], ["--plan"], ["--plan=x", "--what"], ["--no-originals"]):
        done = subprocess.run(
            [*COMMAND, "hook", *words], input=b"{}", capture_output=True, env=environment(), timeout=120, check=False
        )
        assert (done.returncode, done.stdout) == (0, b"")


def test_a_changed_plan_counts_at_once(plan: Path) -> None:
    before = sent_output(run_hook(bash_event(), plan).stdout)["stdout"]
    plan.write_text(PLAN.replace("head = 300", "head = 301"))
    after = sent_output(run_hook(bash_event(), plan).stdout)["stdout"]
    assert after.startswith("x" * 301 + "\n[")
    assert before.startswith("x" * 300 + "\n[")


def test_a_giant_output_is_trimmed(plan: Path) -> None:
    output = sent_output(run_hook(bash_event("y" * 30_000_000), plan).stdout)
    assert len(output["stdout"]) < 700
    ((_, text),) = stored_originals("toolu_01HookTest")
    assert len(text) == 30_000_000


def test_without_a_home_or_where_nothing_can_be_written_the_result_passes(plan: Path, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    for env in (
        {"HOME": str(tmp_path / "gone"), "XDG_STATE_HOME": ""},
        {"HOME": str(locked), "XDG_STATE_HOME": ""},
        {"XDG_STATE_HOME": str(locked / "state")},
    ):
        done = start_hook(bash_event(), plan, first=without_privileges(), **env)
        assert (done.returncode, done.stdout) == (0, b"")
        assert done.stderr.count(b"\n") == 1
        done = start_hook(bash_event(), plan, "--no-originals", first=without_privileges(), **env)
        assert len(sent_output(done.stdout)["stdout"]) < 700


def test_ten_at_once_all_get_theirs_and_all_are_counted(plan: Path) -> None:
    events = [bash_event(f"{number}" * 5_000, tool_use_id=f"toolu_{number}") for number in range(10)]
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda event: start_hook(event, plan), events))
    for number, done in enumerate(answers):
        assert sent_output(done.stdout)["stdout"].startswith(f"{number}" * 300)
        assert [text for _, text in stored_originals(f"toolu_{number}")] == [f"{number}" * 5_000]
    found = trims(state_folder())
    assert {trim.identifier for trim in found} == {f"toolu_{number}" for number in range(10)}
    assert found[-1].cumulative == sum(trim.saved for trim in found)


def test_killed_midway_it_has_said_nothing(plan: Path) -> None:
    running = subprocess.Popen(
        [*COMMAND, "hook", "--agent", "claude-code", "--plan", str(plan)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(),
    )
    assert running.stdin is not None
    assert running.stdout is not None
    running.stdin.write(json.dumps(bash_event()).encode()[:-10])
    running.stdin.flush()
    running.send_signal(signal.SIGKILL)
    assert running.stdout.read() == b""
    running.stdin.close()
    running.stdout.close()
    assert running.wait(60) == -signal.SIGKILL
    assert sent_output(run_hook(bash_event(), plan).stdout)


def test_what_is_kept_is_for_its_owner_alone_and_has_a_limit(plan: Path, tmp_path: Path) -> None:
    run_hook(bash_event(), plan)
    for folder, _, names in os.walk(state_folder()):
        assert stat.S_IMODE(Path(folder).stat().st_mode) & 0o077 == 0
        assert all(stat.S_IMODE(Path(folder, name).stat().st_mode) & 0o077 == 0 for name in names)
    for number in range(5):
        store_original(str(tmp_path), f"t{number}", "s", "x" * 10_000, {})
        os.utime(next((tmp_path / "originals").glob(f"t{number}.*")), (number, number))
    evict_originals(str(tmp_path), 25_000)
    assert [number for number in range(5) if stored_originals(f"t{number}", str(tmp_path))] == [3, 4]


def test_originals_hold_any_text_under_any_id(tmp_path: Path) -> None:
    for identifier, text in (("../../etc", "a\r\n\x00\ud800é"), ("", ""), ("x" * 500, "\n\n"), ("a.b", "c")):
        store_original(str(tmp_path), identifier, "a/b", text, {"tool": "t"})
        assert [found for _, found in stored_originals(identifier, str(tmp_path))] == [text]
    store_original(str(tmp_path), "a.b", "another", "d", {})
    assert {text for _, text in stored_originals("a.b", str(tmp_path))} == {"c", "d"}
    assert stored_originals("a", str(tmp_path)) == []


def test_an_id_kept_of_two_sessions_is_answered_with_both_and_recalled_of_the_one_asked_for() -> None:
    for session, text in (("s-1", "one\n"), ("s-2", "two\n"), ("s-3", "two\n")):
        store_original(state_folder(), "toolu_twice", session, text, {"tool": "Bash"})
    outcome = run_program("recall", "toolu_twice")
    assert (outcome.code, outcome.out) == (2, "")
    for session in ("s-1", "s-2", "s-3"):
        assert f"{session}:toolu_twice (original of Bash, stored by the hook, 4 characters)" in outcome.complaint
    assert run_program("recall", "s-1:toolu_twice").out == "one\n"
    assert run_program("recall", "s-2:toolu_twice", "--lines", "1").out == "two\n"
    assert run_program("recall", "s-4:toolu_twice").code == 1


def test_an_id_kept_of_two_sessions_with_one_text_is_clear() -> None:
    for session in ("s-1", "s-2"):
        store_original(state_folder(), "toolu_same", session, "same", {"tool": "Bash"})
    assert run_program("recall", "toolu_same").out == "same"


def test_of_a_session_that_is_named_its_own_original_is_recalled(tmp_path: Path) -> None:
    lines = SAMPLE.read_text(encoding="utf-8")
    session = open_session(SAMPLE)
    result = next(block for block in session.blocks if block.kind is BlockKind.TOOL_RESULT)
    path = tmp_path / SAMPLE.name
    path.write_text(lines, encoding="utf-8")
    for of, text in ((session.identifier, "its own"), ("s-2", "another's")):
        store_original(state_folder(), result.tool_call_id, of, text, {"tool": "Bash"})
    assert run_program("recall", result.tool_call_id, path).out == "its own"
    assert run_program("recall", result.tool_call_id, path, "--recorded").out == session.text(result)


def test_a_stored_result_is_in_the_file_its_notice_names_and_recalled_by_id_and_file(tmp_path: Path) -> None:
    text = "".join(f"line {number}\n" for number in range(1_000))
    answer = sent_output(run_hook(bash_event(text), _storing(tmp_path)).stdout)["stdout"]
    path = stored_path(state_folder(), "toolu_01HookTest", "s-1")
    assert f"Full output saved to: {path}\n" in answer
    assert Path(path).read_text() == text.rstrip()
    assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600
    assert run_program("recall", "toolu_01HookTest").raw == text.rstrip().encode()
    assert run_program("recall", path, "--lines", "3").out == "line 2\n"
    evict_originals(state_folder(), 0)
    assert not Path(path).exists()
    assert find_originals(path) == stored_originals("toolu_01HookTest") == []


def test_where_nothing_may_be_kept_a_result_is_not_stored_and_stays_whole(tmp_path: Path) -> None:
    done = run_hook(bash_event(), _storing(tmp_path), "--no-originals")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def _storing(folder: Path) -> Path:
    plan = folder / "storing.toml"
    plan.write_text('[[strategies]]\nname = "store-large"\nlimit = 2000\n')
    return plan


def test_the_folder_is_where_the_platform_wants_state() -> None:
    assert state_folder() == str(user_state_path("inspector") / "hook")


def test_the_recall_command_is_the_one_of_the_strategies() -> None:
    builder = SessionBuilder()
    identifiers = ["toolu_01", "-x", "a b", "it's", "a.b:c", "$(x)"]
    for identifier in identifiers:
        builder.add(Role.USER, builder.block(BlockKind.TOOL_RESULT, "x", identifier=identifier))
    session = builder.session()
    assert [recall_command(session, at) for at in range(6)] == [_recall_command(each) for each in identifiers]


def test_the_limit_adapts_to_what_is_left_of_the_window(tmp_path: Path) -> None:
    transcript = tmp_path / "s.jsonl"
    usage = {"input_tokens": 10, "cache_read_input_tokens": 180_000, "cache_creation_input_tokens": 9_990}
    record = {"type": "assistant", "message": {"usage": usage}}
    aside = {"type": "assistant", "isSidechain": True, "message": {"usage": {"input_tokens": 5}}}
    transcript.write_text(f"{json.dumps(record)}\n{json.dumps(aside)}\n{{broken usage\n")
    assert prompt_tokens(str(transcript)) == 190_000
    path = tmp_path / "plan.toml"
    path.write_text(PLAN + 'adaptive = "remaining"\nadaptive-share = 0.05\nadaptive-least = 100\nwindow = 200000\n')
    output = sent_output(run_hook(bash_event(transcript_path=str(transcript)), path).stdout)
    # 10,000 tokens are left, and a twentieth of them in characters is half of the threshold.
    assert output["stdout"].startswith("x" * 150 + "\n[")
    transcript.write_text(f"{json.dumps(record)}\n" + '{"type":"system","subtype":"compact_boundary"}\n')
    output = sent_output(run_hook(bash_event(transcript_path=str(transcript)), path).stdout)
    assert output["stdout"].startswith("x" * 300 + "\n[")


def test_hermes_and_opencode_are_handed_the_text_itself(plan: Path) -> None:
    event = {"tool": "terminal", "id": "call_1", "session": "s", "text": "z" * 4_000}
    for agent in ("hermes", "opencode"):
        answer = json.loads(run_hook(event, plan, agent=agent).stdout)
        assert answer["text"].startswith("z" * 300 + "\n[... 3,500 of 4000 cut from terminal; all of it:")
        assert run_hook({**event, "text": "short"}, plan, agent=agent).stdout == b""
        assert run_hook({**event, "text": 7}, plan, agent=agent).stdout == b""


def test_stats_say_every_trim_and_what_its_session_saved(plan: Path) -> None:
    run_hook(bash_event("a" * 5_000), plan)
    run_hook(bash_event("b" * 9_000, tool_use_id="toolu_2\x1b[31m"), plan)
    told = run_program("hook", "stats")
    assert "\x1b" not in told.out
    document = json.loads(run_program("hook", "stats", "--json").out)
    first, second = document["trims"]
    assert (first["tool"], first["original_characters"]) == ("Bash", 5_000)
    assert second["cumulative_characters"] == first["saved_characters"] + second["saved_characters"]
    assert f"{second['cumulative_characters']:,}" in told.out


def test_half_a_line_and_a_foreign_one_are_no_trims(tmp_path: Path) -> None:
    trim = {"agent": "a", "session": "s", "tool": "t", "id": "i"}
    record_trim(str(tmp_path), **trim, original=10, trimmed=4)
    with (tmp_path / "trims.jsonl").open("ab") as file:
        file.write(b'{"time": 1, "agent"\n[]\n{"time": "x"}\n\xff\n')
    record_trim(str(tmp_path), **trim, original=10, trimmed=12)
    assert [(found.saved, found.cumulative) for found in trims(str(tmp_path))] == [(6, 6), (-2, 4)]


def test_a_shell_s_text_is_its_output_and_its_errors() -> None:
    output = {"stdout": "\n \n  a\nb \n\n", "stderr": " e\n", "interrupted": False, "isImage": False}
    seen = claude_code(bash_event(tool_response=output))
    assert seen is not None
    assert seen.text == "  a\nb\ne"


def test_what_is_asked_for_again_is_not_cut_again(plan: Path) -> None:
    asks = {"command": "cd /w && inspector recall toolu_1 --lines 1-900"}
    assert run_hook(bash_event(tool_input=asks), plan).stdout == b""
    event = bash_event(tool_name="mcp__inspector__memory_query", tool_response="y" * 5_000)
    assert run_hook(event, plan).stdout == b""
    event = {"tool": "terminal", "id": "c", "session": "s", "text": "z" * 4_000, **asks}
    for agent in ("hermes", "opencode"):
        assert run_hook(event, plan, agent=agent).stdout == b""
        assert run_hook({**event, "tool": "inspector_memory_query", "command": ""}, plan, agent=agent).stdout == b""


def test_an_mcp_tool_s_structured_output_is_a_text_and_stays_one(plan: Path) -> None:
    event = bash_event(tool_name="mcp__notes__all", tool_response="y" * 5_000)
    sent = sent_output(run_hook(event, plan).stdout)
    assert sent.startswith("y" * 300 + "\n[... 4,500 of 5000 cut from mcp__notes__all;")


def test_a_search_that_was_limited_is_cut_with_the_line_that_says_so() -> None:
    output = {"mode": "content", "numFiles": 0, "filenames": [], "content": "a\nb", "numLines": 2, "appliedLimit": 2}
    seen = claude_code(bash_event(tool_name="Grep", tool_response=output))
    assert seen is not None
    assert seen.text == "a\nb\n\n[Showing results with pagination = limit: 2]"
    answer = seen.answer("cut")["hookSpecificOutput"]["updatedToolOutput"]
    assert answer == {"mode": "content", "numFiles": 0, "filenames": [], "content": "cut", "numLines": 2}


@pytest.mark.parametrize(("version", "is_taken"), [("2.1.120", False), ("2.1.121", True), ("2.2.0", True), ("x", True)])
def test_no_trim_is_reported_where_the_agent_is_too_old_to_take_it(
    plan: Path, tmp_path: Path, version: str, is_taken: bool
) -> None:
    transcript = tmp_path / "s.jsonl"
    transcript.write_text(json.dumps({"type": "assistant", "version": version, "message": {}}) + "\n{broken\n")
    done = run_hook(bash_event(transcript_path=str(transcript)), plan)
    assert (done.returncode, bool(done.stdout)) == (0, is_taken)
    assert bool(trims(state_folder())) == is_taken
    told = run_program("hook", "stats").out
    assert ("Claude Code 2.1.120 ignores results from hooks; update it to 2.1.121 or later" in told) != is_taken


def test_what_is_recorded_is_printed_on_request_whatever_is_kept(tmp_path: Path) -> None:
    store_original(state_folder(), "toolu_kept", "s-1", "the original", {"tool": "Bash"})
    assert run_program("recall", "toolu_kept").out == "the original"
    outcome = run_program("recall", "toolu_kept", "--recorded", env={"HOME": str(tmp_path)})
    assert (outcome.code, outcome.out) == (1, "")


def test_answering_loads_no_library() -> None:
    script = (
        "import io, sys\n"
        "from inspector.cli import main\n"
        "sys.stdin = io.TextIOWrapper(io.BytesIO(b'{}'))\n"
        "main(['hook', '--agent', 'claude-code', '--plan', 'careful'])\n"
        "heavy = 'numpy textual rich tiktoken msgspec argparse platformdirs pathlib hashlib'\n"
        "print(sorted(set(heavy.split()) & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment(), timeout=120, check=False
    )
    assert done.stdout == "[]\n", done
