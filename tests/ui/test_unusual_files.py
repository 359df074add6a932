"""The screen in unusual states: empty, broken, hostile and missing files."""

import re
import time
from pathlib import Path

import pytest

from inspector.session.files import LIVE_SECONDS
from inspector.settings import Settings
from inspector.tokens.token_table import TokenTable
from tests.conftest import ROOT
from tests.hostile import DISTURBING, hostile_copy
from tests.ui.recordings import recording

NAMES = {"$": "dollar_sign", "[": "left_square_bracket", "]": "right_square_bracket", "+": "plus", "_": "underscore"}
"""Keys as Textual names them."""


async def test_a_file_that_is_no_session_is_named_with_a_way_out(running, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("[/foo] these are notes, not a session\n")
    async with running(path, ready=False) as run:
        await run.until(lambda: run.state == "failed")
        await run.pause()
        shown = run.text()

        assert "cannot open this session" in shown
        assert "q quits" in shown
        await run.tap(
            "1", "p", "g", "x", "left_square_bracket", "end", "ctrl+z", "plus", "question_mark", "escape", "q"
        )
        await run.until(lambda: run.is_over)


async def test_a_file_in_no_folder_is_reported(running, tmp_path: Path) -> None:
    async with running(tmp_path / "nowhere" / "nothing.jsonl", ready=False) as run:
        await run.until(lambda: run.state == "failed")


async def test_a_file_that_is_not_there_yet_is_waited_for_and_opens(running, session_file, tmp_path: Path) -> None:
    path = tmp_path / "later.jsonl"
    content = session_file.path.read_bytes()
    async with running(path, ready=False) as run:
        await run.until(lambda: run.state == "waiting")
        await run.until_shown("waiting for later.jsonl")
        assert "the file does not exist yet" in run.text()
        assert "q quits" in run.text()
        path.write_bytes(content[:20])
        await run.until_shown("it is not a session yet")
        path.write_bytes(content)
        await run.until(lambda: run.state == "live")
        assert len(run.rows) > 0


async def test_a_session_without_rows_says_so(running, tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text('{"type":"summary","summary":"Nothing yet","leafUuid":"00000000-0000-4000-8000-000000000000"}\n')
    async with running(path, ready=False) as run:
        await run.until(lambda: run.state == "live")
        await run.until_shown("this session is empty so far")


async def test_hostile_text_reaches_no_strip_at_any_size_of_the_terminal(running, session_file, tmp_path: Path) -> None:
    path = hostile_copy(session_file.path, tmp_path / "hostile.jsonl")
    async with running(path) as run:
        for keys in (
            ("1", "g", "x"),
            ("down", "down"),
            ("tab",),
            ("r", "s"),
            ("r", "r"),
            ("question_mark",),
            ("escape",),
        ):
            await run.press(*keys)
            shown = run.text()
            found = DISTURBING.search(shown.replace("\n", ""))
            assert found is None, shown[max(found.start() - 40, 0) : found.start() + 40]
        assert run.heading.title

        await run.press("p")
        for width, height in ((20, 6), (40, 10), (80, 24), (120, 36), (200, 60), (20, 6)):
            await run.resize(width, height)
            assert len(run.lines()) == height
            assert DISTURBING.search(run.text().replace("\n", "")) is None


async def test_appended_rows_appear_and_a_file_that_is_gone_replaced_cut_or_rewritten_is_reported_and_shown_again(
    running, session_file, monkeypatch
) -> None:
    async with running(session_file.path) as run:
        rows = run.view.count
        calls = run.history.call_count
        session_file.turn()
        await run.until(lambda: run.view.count > rows)
        await run.settled()

        assert "appended" in run.happened
        assert run.history.call_count == calls + 1
        await run.until(lambda: run.replay.history.call_count == calls + 1)
        assert run.state == "live"

        rows = run.view.count
        aside = session_file.path.with_suffix(".aside")
        session_file.path.rename(aside)
        await run.until(lambda: run.state == "vanished")
        await run.pause()
        assert "file is gone" in run.text()
        assert run.view.count == rows
        aside.rename(session_file.path)
        await run.until(lambda: run.state == "live")
        assert any("is back" in notice for notice in run.notices_of_file)

        content = session_file.path.read_bytes()
        session_file.path.write_text("these are notes")
        await run.until(lambda: run.state == "replaced")
        await run.pause()
        assert "✕ file was replaced" in run.header_line
        assert run.view.count == rows
        session_file.path.write_bytes(content)
        await run.until(lambda: run.state == "live")
        await run.until(lambda: "file was replaced" not in run.text())

        monkeypatch.setattr("inspector.session.follow.UNREADABLE_SECONDS", 0.05)
        session_file.path.write_bytes(b"")
        await run.until(lambda: run.state == "unreadable")
        await run.pause()
        assert "✕ file unreadable" in run.header_line
        assert run.view.count == rows
        session_file.path.write_bytes(content)
        await run.until(lambda: run.state == "live")
        await run.until(lambda: run.view is not None and run.view.count == rows)
        await run.settled()

        await run.press("1")
        other = recording(session_file.path.with_suffix(".other"), turns=4)
        other.path.replace(session_file.path)
        await run.until(lambda: run.view is not None and run.view.count == 13)
        await run.settled()
        assert run.history.call_count == 4
        assert run.plan.entries[0].enabled
        assert "read again" in run.notice


async def test_a_session_of_long_ago_in_a_new_file_is_not_live_until_it_is_written(running, session_file) -> None:
    # The recorded times are months old, as in a copy; the file was made a moment ago.
    assert time.time() - session_file.path.stat().st_mtime < LIVE_SECONDS
    async with running(session_file.path) as run:
        await run.until_shown("○ idle")
        assert "live" not in run.text()
        session_file.turn()
        await run.until_shown("● live")


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_keys_that_need_a_session_say_that_there_is_none_and_are_not_offered(
    running, session_file, tmp_path: Path, size: tuple[int, int]
) -> None:
    path = tmp_path / "empty.jsonl"
    path.touch()
    async with running(path, ready=False, size=size) as run:
        await run.until(lambda: run.state == "waiting")
        await run.until(lambda: "window" not in run.status_line)
        for key in "1ptcv$E[]a+fnNgr_*":
            run.forget_notice()
            await run.tap(NAMES.get(key, key))
            await run.pause()
            assert "no session is open" in run.status_line, key
        path.write_bytes(session_file.path.read_bytes())
        await run.until(lambda: run.state == "live")
        await run.settled()
        assert "no session" not in run.text()
        assert "v window" in run.status_line


async def test_a_session_without_calls_has_nothing_to_compare(running, tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text('{"type":"summary","summary":"Nothing yet","leafUuid":"00000000-0000-4000-8000-000000000000"}\n')
    async with running(path, ready=False, size=(80, 24)) as run:
        await run.until(lambda: run.has_replay)
        for key in "ct":
            await run.tap(key)
            await run.pause()
            assert run.on_top == "session"
            assert "no calls yet" in run.text()
        await run.press("1")
        await run.until_shown("the plan cuts nothing here")


async def test_a_model_without_a_price_is_reported_with_what_to_do(running, tmp_path: Path) -> None:
    path = recording(tmp_path / "session.jsonl", model="house-model-9").path
    async with running(path) as run:
        await run.press("1")

        assert run.costs.recorded.value is None
        assert "no price for house-model-9" in run.text()
        assert run.costs.saved_tokens.value > 0


async def test_estimated_counts_say_how_to_get_exact_ones(running, session_file, monkeypatch) -> None:
    from inspector.tokens.counter import EstimateCounter

    def no_vocabulary(encoding: str = "") -> EstimateCounter:
        return EstimateCounter("token counts are estimated: install a vocabulary")

    monkeypatch.setattr("inspector.tokens.counter.load_counter", no_vocabulary)
    async with running(session_file.path, counted=False) as run:
        await run.until_shown("install a vocabulary")
        assert "tokens estimated" in run.text()


@pytest.mark.failures
async def test_work_that_fails_is_reported_and_the_screen_goes_on(running, session_file, monkeypatch) -> None:
    async with running(session_file.path) as run:
        import inspector.replay.engine.replay

        real = inspector.replay.engine.replay.replay

        def broken(inputs: object, plan: object) -> object:
            raise RuntimeError("[/b] out of luck")

        monkeypatch.setattr(inspector.replay.engine.replay, "replay", broken)
        await run.tap("1")
        await run.until(lambda: "failed" in run.happened)
        await run.pause()
        assert "could not replay the plan: [/b] out of luck" in run.text()

        monkeypatch.setattr(inspector.replay.engine.replay, "replay", real)
        await run.press("p", "down", "right")
        assert run.replayed_plan.entries[0].strategy.confirmation == 200


async def test_counting_can_be_stopped(running, session_file, monkeypatch) -> None:
    def endless(session, counter, *, cancelled, **options):
        yield TokenTable.estimated(session, counter)
        while not cancelled():
            time.sleep(0.01)

    monkeypatch.setattr("inspector.tokens.token_table.count_session", endless)
    async with running(session_file.path, counted=False, ready=False) as run:
        await run.until(lambda: run.is_counting and run.has_rows_pane)
        await run.tap("escape")
        await run.until(lambda: not run.is_counting)
        await run.settled()

        assert run.progress is None
        assert "stays estimated" in run.notice


@pytest.mark.failures
async def test_counting_that_fails_is_over(running, session_file, monkeypatch) -> None:
    def broken(session, counter, **options):
        yield TokenTable.estimated(session, counter)
        raise ValueError("out of luck")

    monkeypatch.setattr("inspector.tokens.token_table.count_session", broken)
    async with running(session_file.path, counted=False) as run:
        assert "could not count tokens: out of luck" in run.notice
        assert run.progress is None
        assert "so far" not in run.tokens_known


async def test_without_colour_every_state_has_a_glyph(running, session_file, monkeypatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with running(session_file.path) as run:
        await run.press("1", "p", "down")
        shown = run.text()

        assert run.has_no_color
        assert "[x] tiered-stale" in shown
        assert re.search("▸ confirmation", shown)
        assert "░" in shown


async def test_a_broken_settings_file_is_reported_and_never_fatal(running, session_file) -> None:
    settings = Settings(problems=("settings.toml: [/x] runs_per_day is a number above 0",))
    async with running(session_file.path, settings=settings) as run:
        await run.until_shown("runs_per_day is a number")
        assert not run.has_placeholder


async def test_saving_is_taught_among_a_few_keys_the_best_plans_last_and_no_key_of_text_while_searching(
    running,
) -> None:
    async with running(ROOT / "sample_sessions" / "coding-agent.jsonl", size=(120, 36)) as run:
        await run.until(lambda: run.best is not None)
        await run.until(lambda: run.key_hints[-1].label == "best")
        with_it, shown = run.key_hints, run.status_line
        await run.press("1", "1")
        await run.until(lambda: not run.plan.strategies)
        await run.until(lambda: run.key_hints == with_it)
        assert shown.index("? help") < shown.index("w report") < shown.index("* best")
        # The comparison key is there until there is a best plan; then the cost pane names its key.
        assert "c compare" not in shown

        run.forget_notice()
        await run.resize(80, 24)
        await run.until(lambda: run.status_line.split("  ")[0].strip() == "? help")
        labels = [hint.label for hint in run.key_hints]
        assert labels == ["help", "window", "cost drivers", "compaction", "report", "best"]
        await run.press("1")
        assert [hint.label for hint in run.key_hints] == ["help", "plan", "go to", "report", "compare"]
        await run.press("slash")
        offered = run.key_hints
        assert offered
        assert not {hint.press for hint in offered} & {"slash", "plus", "question_mark"}
        await run.press("escape")
        await run.tap("w")
        await run.until_shown("save report")


async def test_records_of_an_unknown_kind_are_counted_in_the_status_line_and_named_behind_it(
    running, session_file, tmp_path: Path
) -> None:
    path = tmp_path / "newer.jsonl"
    lines = session_file.path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([*lines, *[b'{"type":"context-lease","version":"2.1.310"}'] * 12]) + b"\n")
    async with running(path) as run:
        await run.until_shown("12 records unknown")
        await run.tap("z", "i")
        await run.until_shown("of a kind this version does not know")
        await run.until_shown("context-lease")
