import os
import shlex
import sys

import pytest

from inspector.strategies.plan import Plan
from inspector.ui.detail.views import PagerError, pager_command, show_in_pager

PLAN = Plan.from_specs(["tiered-stale"])


async def in_detail(run) -> None:
    """Put the cursor on a row the plan cuts, and the focus into the detail."""
    await run.press("end", "g", "X", "enter")
    await run.until(lambda: run.detail.has_focus)


async def test_a_cut_result_is_compared_side_by_side(running, session_file) -> None:
    async with running(session_file.path, plan=PLAN) as run:
        await in_detail(run)
        await run.press("r", "d", "z", "z")
        await run.until_shown("cut here by tiered-stale: stale")
        assert " │  src/app" in run.text()


async def test_z_gives_a_part_the_whole_screen_and_escape_gives_it_back(running, session_file) -> None:
    async with running(session_file.path, size=(80, 24)) as run:
        timeline, detail = run.timeline, run.detail
        await run.press("enter", "shift+tab")
        await run.until(lambda: detail.height and timeline.has_focus)
        height = timeline.height
        await run.press("z", "z")
        await run.pause()
        assert timeline.height > 18
        assert not detail.height
        await run.press("escape")
        await run.pause()
        assert timeline.height == height
        assert detail.height
        await run.press("tab", "z", "z")
        await run.pause()
        assert detail.height > 18
        await run.press("z", "z", "shift+tab", "shift+tab", "z", "z")
        await run.pause()
        assert run.chart.height > 18
        await run.press("z", "z")
        await run.pause()
        assert timeline.height == height


async def test_a_text_is_searched_and_where_nothing_is_a_key_that_goes_on_is_for_the_rows(
    running, session_file
) -> None:
    session_file.turn("hay\n" * 60 + "a needle\n" + "hay\n" * 60 + "another Needle\n")
    async with running(session_file.path) as run:
        await run.press("end", "enter", "slash", *"needle", "enter")
        detail = run.detail
        assert detail.has_focus
        await run.until_shown("1 of 2")
        assert 60 in detail.lines_in_view
        await run.press("n")
        await run.until_shown("2 of 2")
        assert 121 in detail.lines_in_view
        await run.press("n")
        await run.until_shown("1 of 2")
        await run.press("slash", "backspace", *"x", "enter")
        await run.until_shown("not in this text")
        await run.press("slash", "escape", "n")
        assert "nothing to repeat" in run.notice

        await run.press("escape", "g", "b")
        await run.until(lambda: run.notice.startswith("increase "))
        block = run.timeline.cursor_block
        await run.press("enter")
        assert run.detail.has_focus
        await run.press("n")
        await run.until(lambda: run.notice.startswith("increase "))
        assert run.timeline.cursor_block != block


async def test_a_text_that_is_cut_at_the_end_of_its_pane_says_how_much_more_there_is(running, session_file) -> None:
    session_file.turn("hay\n" * 40)
    async with running(session_file.path) as run:
        await run.press("end", "enter", "r", "r")
        await run.until(lambda: run.detail.line_count >= 40)

        def below() -> int:
            return run.detail.line_count - run.detail.lines_in_view.stop

        for size in ((120, 36), (80, 24)):
            await run.resize(*size)
            await run.press("home")
            await run.until(lambda: below() and f"↓ {below()} more rows ─" in run.text())
            await run.press("down", "down")
            await run.until_shown(f"↓ {below()} more rows ─")
            await run.press("end")
            assert below() == 0
            await run.until(lambda: "more row" not in run.text())


async def test_what_is_copied_is_what_is_shown_without_controls_and_no_pager_opens_without_a_terminal(
    running, session_file, monkeypatch
) -> None:
    monkeypatch.setenv("PAGER", "cat")
    session_file.turn("a\tb\n\x1b]52;c;aGk=\x07end")
    async with running(session_file.path) as run:
        await run.press("end", "enter", "r", "y")
        assert run.clipboard == "a\tb\n␛]52;c;aGk=␇end"
        assert "copied 19 characters" in run.text()
        await run.press("r", "p")
        assert "cannot open a pager here" in run.text()


async def test_a_huge_text_is_copied_in_part_and_says_so(running, session_file) -> None:
    session_file.turn("x" * 300_000)
    async with running(session_file.path) as run:
        await run.press("end", "enter")
        await run.until(lambda: run.detail.line_count > 1000)
        await run.press("r", "y")
        assert len(run.clipboard) == 200_000
        assert "copied the first 200,000 of 300,000 characters" in run.text()


async def test_the_pager_is_given_the_text_made_safe_and_no_shell(running, session_file, monkeypatch, tmp_path) -> None:
    session_file.turn("\x1b[31mred $(touch broken)\n")
    out = tmp_path / "shown"
    program = f"import sys, pathlib; pathlib.Path({str(out)!r}).write_bytes(pathlib.Path(sys.argv[1]).read_bytes())"
    monkeypatch.setenv("PAGER", shlex.join([sys.executable, "-c", program]))
    async with running(session_file.path) as run:
        run.lend_terminal(monkeypatch)
        await run.press("end", "enter", "r", "r", "r", "p")
        await run.until(out.exists)
        assert out.read_text(encoding="utf-8") == "␛[31mred $(touch broken)\n"


def test_a_pager_that_is_not_there_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setenv("PAGER", "no-such-pager -R")
    with pytest.raises(PagerError, match="no-such-pager"):
        pager_command()
    monkeypatch.delenv("PAGER")
    monkeypatch.setenv("PATH", os.fspath(tmp_path))
    with pytest.raises(PagerError, match="set \\$PAGER"):
        pager_command()
    with pytest.raises(PagerError, match="cannot start"):
        show_in_pager("x", [os.fspath(tmp_path / "absent")])
