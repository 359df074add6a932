"""Files screen: operations on each file, the part in the context, and the agent's knowledge over time."""

import json
from pathlib import Path

import pytest

from inspector import open_session
from inspector.file_history.history import FileEventKind, file_history
from inspector.replay.analysis.context_breakdown import ReadState
from inspector.report.listings import event_counts, known_in_words
from inspector.strategies.plan import Plan
from tests.conftest import ROOT
from tests.ui.facade import Running
from tests.ui.studies import Composition, Files

RECORDED = (
    "claude-code/e92f5a0b-1b9e-4913-98b3-c319b4d5e90b.jsonl",
    "codex/rollout-2025-10-04T22-31-15-0199b26c-737a-71a2-9939-52ce68c95cbe.jsonl",
    "opencode/ses_2200dec98ffeAAGsw94tLFVYT6.json",
)
"""Sessions with reads and edits of three agents; Codex edits by patches."""


def said(kind: str, content: list[dict], number: int) -> str:
    usage = {"input_tokens": 1000 * number, "output_tokens": 10}
    named = {"id": f"msg_{number}", "model": "claude-sonnet-4-5", "usage": usage} if kind == "assistant" else {}
    return json.dumps({"type": kind, "message": {"role": kind, **named, "content": content}})


def session_of(path: Path, *calls: tuple[str, dict, str]) -> Path:
    """A session of Claude Code with these calls: tool, arguments, result. The result of call n is message 2n + 1."""
    lines = [said("user", [{"type": "text", "text": "Make it better."}], 0)]
    for number, (tool, arguments, result) in enumerate(calls, 1):
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": arguments}
        text = {"type": "text", "text": f"Reason {number} is good."}
        lines.append(said("assistant", [text, call], number))
        result_block = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": result}
        lines.append(said("user", [result_block], number))
    lines.append(said("assistant", [{"type": "text", "text": "Done."}], len(calls) + 1))
    path.write_text("".join(f"{each}\n" for each in lines))
    return path


@pytest.fixture
def edited(tmp_path: Path) -> Path:
    """A file read whole and edited; lines of another, perhaps changed by a command; a third that was written."""
    return session_of(
        tmp_path / "session.jsonl",
        ("Read", {"file_path": "/w/a.py"}, "1\tone\n2\ttwo\n3\t"),
        ("Edit", {"file_path": "/w/a.py", "old_string": "two", "new_string": "2"}, "updated"),
        ("Read", {"file_path": "/w/b.py", "offset": 5, "limit": 1}, "5\tfive"),
        ("Bash", {"command": "sed -i s/one/1/ b.py"}, ""),
        ("Write", {"file_path": "/w/c.py", "content": "new\n"}, "created"),
    )


async def to_row_of(run: Running, block: int) -> None:
    """Put the cursor of the timeline on a block."""
    await run.press("home")
    while run.timeline.cursor_block != block:
        before = run.timeline.cursor_block
        await run.press("down")
        assert run.timeline.cursor_block != before or run.timeline.cursor_block == block


async def test_files_say_how_they_were_used_whether_the_last_read_still_holds_and_what_is_not_known(
    running, edited: Path
) -> None:
    async with running(edited, size=(140, 40)) as run:
        await run.press("home")
        study = await Files.opened(run)
        # From the row of no read or edit it opens on the file that takes most.
        assert study.files.has_focus
        assert study.files.row_here == study.files.rows[0].key
        files = study.files

        def row(path: str) -> tuple[str, ...]:
            return tuple(files.text(path, name) for name in ("reads", "edits", "writes", "read", "known", "last"))

        assert row("/w/a.py") == ("1", "1", "·", "edited since", "whole, 2 lines", "5")
        assert row("/w/b.py") == ("1", "·", "·", "maybe edited", "part, 1 line", "9")
        assert row("/w/c.py") == ("·", "·", "1", "·", "whole, 1 line", "11")
        assert "3 files: " in run.text()
        assert files.rows[0].key == "/w/a.py"
        shown = [float(files.text(row.key, "tokens").lstrip("~")) for row in files.rows]
        assert shown == sorted(shown, reverse=True)

        study.files.go_to("/w/b.py")
        await study.shown()
        lines = [study.known_line(index) for index in range(study.known_lines)]
        assert [(line.number, line.is_note) for line in lines] == [("", True), ("", True), ("5", False), ("", True)]
        assert lines[0].text.startswith("⋯ a command may have changed it at turn 9: sed -i s/one/1/ b.py")
        assert [line.text for line in lines[1:]] == [
            "⋯ lines 1 to 4 are unknown ⋯",
            "five",
            "⋯ unknown from line 6 on, if there are more lines ⋯",
        ]
        await run.until_shown("lines 1 to 4 are unknown")

        calls = len(open_session(edited).calls)
        for _ in range(calls - 1):
            await run.press("[")
        await study.shown()
        assert f"in call 2 of {calls}" in run.text()
        assert study.files.text("/w/a.py", "read") == "current"
        assert study.files.text("/w/c.py", "known") == "nothing"
        assert study.files.text("/w/c.py", "tokens") == "·"
        study.files.go_to("/w/a.py")
        await study.shown()
        assert [(row.style, row.cells["tokens"].text == "·") for row in study.steps.rows] == [
            ("", False),
            ("table--faint", True),
        ]


async def test_the_history_of_a_file_says_what_each_step_was_for_and_leads_to_its_row(running, edited: Path) -> None:
    async with running(edited, size=(140, 40)) as run:
        study = await Files.opened(run, "enter")
        assert study.steps.has_focus
        steps = [[study.steps.text(row.key, name) for name in ("turn", "done", "read")] for row in study.steps.rows]
        assert steps == [["3", "read", "edited since"], ["5", "edit", "·"]]
        assert study.steps.text(0, "what") == "all 2 lines"
        assert study.steps.text(1, "what") == "Reason 2 is good. (+1 -1)"
        assert study.steps.row_here == 1
        assert study.known_line(1).text == "2"

        history = file_history(open_session(edited))
        read, edit = history.events["/w/a.py"]
        await run.press("enter")
        await run.until(lambda: run.timeline.cursor_block == edit.call_block)

        study = await Files.opened(run)
        assert study.steps.has_focus
        await run.press("up")
        await study.shown()
        assert study.known_line(1).text == "two"
        await run.press("enter")
        await run.until(lambda: run.timeline.cursor_block == read.result_block)


@pytest.mark.long
@pytest.mark.parametrize("part", ["call_block", "result_block"])
async def test_from_the_row_of_any_read_or_edit_it_opens_on_that_very_step(running, edited: Path, part: str) -> None:
    history = file_history(open_session(edited))
    async with running(edited) as run:
        for path, events in history.events.items():
            for place, event in enumerate(events):
                await to_row_of(run, getattr(event, part))
                study = await Files.opened(run)
                assert (study.files.row_here, study.steps.row_here) == (path, place)
                assert study.steps.has_focus
                await run.press("escape")


async def test_a_plan_that_cuts_a_result_leaves_less_of_its_file_in_the_context(running, tmp_path: Path) -> None:
    lines = "\n".join(f"{number}\tline number {number} of many" for number in range(1, 400))
    path = session_of(
        tmp_path / "session.jsonl",
        ("Read", {"file_path": "/w/a.py"}, lines),
        *(("Bash", {"command": f"echo {number}"}, "done") for number in range(4)),
    )
    async with running(path, plan=Plan.from_specs(["tiered-stale"])) as run:
        study = await Files.opened(run)
        (cut,) = study.found.context.files
        assert study.found.outcome.plan.strategies
        await run.press("escape", "1")
        study = await Files.opened(run)
        (whole,) = study.found.context.files
        assert not study.found.outcome.plan.strategies
        assert 0 < cut.tokens < whole.tokens / 2
        state = study.found.outcome.state
        (event,) = study.found.history.events["/w/a.py"]
        assert whole.tokens == pytest.approx(float(state.recorded[event.result_block]), rel=0.5)


@pytest.mark.long
@pytest.mark.parametrize("name", RECORDED)
async def test_a_recorded_session_shows_what_the_command_prints(running, corpus: Path, name: str) -> None:
    async with running(corpus / name, size=(120, 36)) as run:
        study = await Files.opened(run)
        history = study.found.history
        assert len(study.files.rows) == len(history.events) > 0
        for path, events in history.events.items():
            counts = event_counts(events)
            for kind in ("reads", "edits", "writes"):
                assert study.files.text(path, kind) == (f"{counts[kind]:,}" if counts[kind] else "·")
            assert study.files.text(path, "known") == known_in_words(history.contents[path][-1])
        in_prompt = set(study.found.outcome.replay.history.prompt(study.found.context.call).tolist())
        for file in study.found.context.files:
            for event, stands in zip(history.events[file.path], file.events, strict=True):
                assert (stands.tokens is not None) == (event.is_certain and event.result_block in in_prompt)
                assert (stands.read is not None) == (event.kind is FileEventKind.READ)
        path = study.files.rows[0].key
        changed = [event.is_certain for event in history.events[path] if event.kind.changes]
        if study.files.text(path, "read") == ReadState.EDITED.value:
            assert any(changed)
        await run.press("tab")
        await run.press("home")
        await study.shown()
        for step in range(len(study.steps.rows)):
            assert study.steps.row_here == step
            state = history.state_after(path, step + 1)
            text = [line for piece in state.content.runs for line in piece.lines]
            assert study.known_lines >= len(text)
            if state.content.is_whole and not state.doubts and not state.event.problem:
                assert study.known_lines == len(text)
            await run.press("down")
            await study.shown()


async def test_a_session_without_files_says_so(running, tmp_path: Path) -> None:
    path = session_of(tmp_path / "session.jsonl", ("Bash", {"command": "date"}, "Monday"))
    async with running(path) as run:
        study = await Files.opened(run)
        assert study.has_placeholder
        assert "no tool accessed a file" in run.text()
        await run.press("tab", "enter", "[", "shift+tab", "E")
        await run.until(lambda: run.on_top == "explain")
        await run.press("escape")
        await run.until(lambda: run.on_top == "files")
        await run.press("escape")
        await run.until(lambda: run.on_top == "session")


async def test_a_file_of_three_megabytes_with_one_line_among_many_is_scrolled_at_once(running, tmp_path: Path) -> None:
    lines = ["x" * 2_000_000, *(f"line {number}" for number in range(100_000))]
    path = session_of(
        tmp_path / "session.jsonl", ("Write", {"file_path": "/w/big.txt", "content": "\n".join(lines)}, "created")
    )
    async with running(path, size=(80, 24)) as run:
        study = await Files.opened(run, "tab", "tab")
        await run.until(lambda: study.known_lines == len(lines))
        await run.press("end")
        await run.until_shown("line 99999")
        await run.press("pageup", "pagedown", "home", "down", "up")
        await run.until(lambda: study.first_known_line == 0)
        assert "x" * 60 in run.text()


async def test_text_of_files_can_neither_crash_nor_drive_the_terminal(running, tmp_path: Path) -> None:
    hostile = "\x1b]52;c;aGk=\x07\x1b[2J\r\u202ehello [b]bold[/b] \ud800\tend"
    name = "/w/\x1b[31mred\u202e.py"
    path = session_of(
        tmp_path / "session.jsonl",
        ("Write", {"file_path": name, "content": f"{hostile}\n{'́' * 5000}\n"}, "created"),
        ("edit_file", {"path": name, "old_str": "hello", "new_str": "x", "intent": f"Why {hostile}"}, "ok"),
    )
    async with running(path, size=(80, 24)) as run:
        study = await Files.opened(run, "tab", "up", "tab")
        await run.until_shown("hello [b]bold[/b]")
        text = run.text()
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "\r" not in text
        await study.shown()
        assert "\x1b" not in str(study.known_line(0))


async def test_it_opens_from_another_study_and_goes_back_to_it(running, edited: Path) -> None:
    async with running(edited) as run:
        await Composition.opened(run)
        assert "Show the files" in run.commands()
        await run.press("ctrl+p")
        await run.until_open("palette")
        await run.tap(*"show the files")
        await run.until_shown("Files that tools read and edited")
        await run.press("enter")
        await run.until_open("files")
        await run.press("escape")
        assert run.on_top == "composition"


async def test_parts_are_gone_through_both_ways_and_the_content_is_scrolled_by_keys(running) -> None:
    async with running(ROOT / "sample_sessions" / "coding-agent.jsonl", size=(80, 24)) as run:
        study = await Files.opened(run)
        await run.press("tab")
        assert study.steps.has_focus
        await run.press("tab")
        assert study.known_has_focus
        await run.press("tab")
        assert study.files.has_focus
        await run.press("shift+tab")
        assert study.known_has_focus
        longest = max(study.found.history.contents, key=lambda path: study.found.history.contents[path][-1].known_lines)
        study.files.go_to(longest)
        await study.shown()
        assert study.known_lines > 20
        await run.press("home")
        assert study.first_known_line == 0
        await run.press("down")
        assert study.first_known_line == 1
        await run.press("pagedown")
        further = study.first_known_line
        assert further > 1
        await run.press("pageup", "up")
        assert study.first_known_line < further
        await run.press("end")
        assert study.first_known_line > further or study.known_lines <= further + 20
