"""A Windows file is one file, however a session spells it."""

import json
from pathlib import Path

import pytest

from inspector.file_history.history import FileEventKind, file_history
from inspector.replay.analysis.breakdown import resend_cost
from inspector.replay.analysis.context_blocks import RepeatKind
from inspector.replay.analysis.context_breakdown import Grouping, context_breakdown
from inspector.replay.engine.replay import replay
from inspector.report.listings import event_counts, files_text, short_path
from inspector.session.files import joined_path, relative_path, same_file
from inspector.session.model import BlockKind
from inspector.session.open import open_session
from inspector.strategies.plan import Plan
from tests.replay.test_ledger import inputs_of
from tests.session.codex_lines import Rollout
from tests.session.gemini_lines import GeminiScript

HOME = "C:\\Users\\someone\\shop"

SPELLINGS = (
    "C:\\Users\\someone\\shop\\src\\a.py",
    "c:/Users/someone/shop/src/a.py",
    "src\\a.py",
    "src/a.py",
    ".\\src\\..\\src\\a.py",
    "/c/Users/someone/shop/src/a.py",
    "/c:/Users/someone/shop/src/a.py",
    "\\\\?\\C:\\Users\\someone\\shop\\src\\a.py",
    "C:\\users\\Someone\\SHOP\\src\\A.py",
)


@pytest.mark.parametrize("home", [HOME, "c:\\users\\someone\\shop", "c:/Users/someone/shop/"])
def test_spellings_of_a_file_in_a_windows_session_are_one(home):
    assert {same_file(joined_path(home, path)) for path in SPELLINGS} == {"c:/users/someone/shop/src/a.py"}
    assert {relative_path(home, joined_path(home, path)) for path in SPELLINGS[:-1]} == {"src/a.py"}


@pytest.mark.parametrize(
    ("home", "path", "joined"),
    [
        ("/work", "src\\a.py", "/work/src\\a.py"),
        ("/work", "/c/a.py", "/c/a.py"),
        ("/work", "src/../a.py", "/work/a.py"),
        ("", "src\\a.py", "src\\a.py"),
        ("/work", "", ""),
        (HOME, "/mnt/c/Users/someone/shop/src/a.py", "/mnt/c/Users/someone/shop/src/a.py"),
        (HOME, "\\\\wsl$\\Ubuntu\\home\\b.py", "//wsl$/Ubuntu/home/b.py"),
        ("\\\\wsl$\\Ubuntu\\home", "src\\b.py", "//wsl$/Ubuntu/home/src/b.py"),
        ("D:\\", "a.py", "D:/a.py"),
        (HOME, "~/a.py", "~/a.py"),
        (HOME, "https://example.com/a//b", "https://example.com/a//b"),
    ],
)
def test_other_paths_are_what_they_were(home, path, joined):
    assert joined_path(home, path) == joined


def test_a_case_of_three_spellings_is_one_file_of_three_reads_and_an_edit(shared: Path):
    session = open_session(shared / "cases" / "24-windows-paths.jsonl")
    history = file_history(session)
    path = history.find("src\\a.py")
    assert path == history.find("C:\\Users\\someone\\shop\\src\\a.py")
    counts = event_counts(history.events[path])
    assert (counts["reads"], counts["edits"], counts["writes"]) == (3, 1, 0)
    assert short_path(history, path) == "src/a.py"
    assert files_text(history).splitlines()[1].split()[:4] == ["src/a.py", "3", "1", "0"]
    # The composition by file shows it once as well: 4 calls, 4 results.
    baseline = replay(inputs_of(session), Plan())
    state, resend = baseline.state(len(session.calls)), resend_cost(baseline)
    parts = context_breakdown(baseline, state, resend, Grouping.FILE).parts
    assert [len(part.blocks) for part in parts if part.name.casefold().endswith("src/a.py")][:1] == [8]
    assert sum(part.name == "src/a.py" for part in parts) == 1
    repeats = context_breakdown(baseline, state, resend, Grouping.REPEATS).repeats.values()
    kinds = [each.kind for each in repeats if short_path(history, each.path) == "src/a.py"]
    assert kinds
    assert set(kinds) <= {RepeatKind.READ_AGAIN, RepeatKind.EDITED, RepeatKind.SAME}


def test_a_codex_patch_and_commands_concern_one_file(tmp_path: Path):
    rollout = Rollout()
    rollout.header(cwd=HOME)
    rollout.turn(cwd=HOME)
    rollout.message("user", "change it")
    patch = "*** Begin Patch\n*** Add File: src\\a.py\n+x = 1\n*** End Patch"
    rollout.item("custom_tool_call", name="apply_patch", call_id="p1", input=patch)
    rollout.item("custom_tool_call_output", call_id="p1", output="Success. Updated the following files:\nA src\\a.py")
    patch = "*** Begin Patch\n*** Update File: c:/Users/someone/shop/src/a.py\n@@\n-x = 1\n+x = 2\n*** End Patch"
    rollout.item("custom_tool_call", name="apply_patch", call_id="p2", input=patch)
    rollout.item("custom_tool_call_output", call_id="p2", output="Success. Updated the following files:\nM src\\a.py")
    rollout.message("assistant", "done")
    path = tmp_path / "rollout-2026-10-01T10-00-00-own.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in rollout.lines))
    history = file_history(open_session(path))
    (events,) = history.events.values()
    assert [event.kind for event in events] == [FileEventKind.WRITE, FileEventKind.EDIT]
    assert history.file_state_at("SRC\\A.py").content.text() == "x = 2\n"


def test_gemini_names_one_file_with_and_without_its_folder(tmp_path: Path):
    script = GeminiScript()
    script.header(directories=[HOME])
    script.user("u1", "read it")
    for number, spelled in enumerate(("c:\\Users\\someone\\shop\\src\\a.py", "C:/Users/someone/shop/src/a.py")):
        done = {
            "id": f"c{number}",
            "name": "read_file",
            "args": {"absolute_path": spelled},
            "status": "success",
            "result": [{"functionResponse": {"id": f"c{number}", "response": {"output": "x = 1"}}}],
        }
        script.answer(f"a{number}", toolCalls=[done])
    session = open_session(script.write(tmp_path / "session-2026-03-01.jsonl"))
    assert sum(block.kind is BlockKind.TOOL_RESULT for block in session.blocks) == 2
    (events,) = file_history(session).events.values()
    assert [event.kind for event in events] == [FileEventKind.READ] * 2
