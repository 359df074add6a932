import asyncio
import re
import threading
from contextlib import suppress
from dataclasses import replace

import pytest
from textual.app import ComposeResult
from textual.pilot import Pilot
from textual.worker import WorkerCancelled, WorkerFailed

from inspector.session.model import TextUnavailableError
from inspector.strategies.core.operations import Action, Rendition, Slice
from inspector.ui.detail import widget as module
from inspector.ui.detail.content import CutNote, DetailContent, SectionKind
from inspector.ui.detail.views import EMPTY
from inspector.ui.detail.widget import LOADING, NOTHING_CHOSEN, Detail
from inspector.ui.themes import ThemedApp
from tests.hostile import HOSTILE_TEXTS
from tests.ui.waiting import PATIENCE, until

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
LINES = "".join(f"line {number} of the text\n" for number in range(300))
CUT = Rendition((Slice(0, 60), "[cut by policy]", Slice(len(LINES) - 40, len(LINES))), Action.CUT)
CONTENT = DetailContent("block 7", "#149 R Grep", lambda: LINES, CUT, CutNote(1370, "tiered-stale: stale", 152))


class DetailApp(ThemedApp):
    def __init__(self, content: DetailContent | None) -> None:
        super().__init__()
        self.content = content

    def compose(self) -> ComposeResult:
        detail = Detail()
        detail.content = self.content
        yield detail

    def on_mount(self) -> None:
        self.detail.focus()

    @property
    def detail(self) -> Detail:
        return self.query_one(Detail)


async def settle(pilot: Pilot[None]) -> None:
    while any(not worker.is_finished for worker in pilot.app.workers):
        with suppress(WorkerCancelled):  # another took its place, and is waited for
            await pilot.app.workers.wait_for_complete()
        await pilot.pause()
    await pilot.pause()
    await pilot.pause()


def shown(detail: Detail) -> list[str]:
    return [detail.render_line(y).text.rstrip() for y in range(detail.size.height)]


async def test_what_is_sent_is_shown_first_with_its_marker_and_the_reason() -> None:
    app = DetailApp(CONTENT)
    async with app.run_test(size=(90, 20)) as pilot:
        await settle(pilot)
        rows = shown(app.detail)
        assert rows[0].startswith(" raw │ as sent")
        assert "#149 R Grep" in rows[0]
        left_out = f"{len(LINES) - 100:,}"
        note = rows.index(f" ⋯ ~1,370 tokens ({left_out} characters) cut here by tiered-stale: stale, at call 152 ⋯")
        assert rows[note + 1] == "▎[cut by policy]"


async def test_keys_and_clicks_change_the_view() -> None:
    app = DetailApp(CONTENT)
    async with app.run_test(size=(90, 20)) as pilot:
        await settle(pilot)
        keys = {"left": "raw", "right": "sent", "sent": "raw", "difference": "difference", "laid": "laid"}
        for key, view in {**keys, "record": "record"}.items():
            if key in ("left", "right"):
                await pilot.press(key)
            else:
                app.detail.action_show(key)
            await settle(pilot)
            assert app.detail.shown == view
            assert app.detail.line_count == len(app.detail.document) > 0
            if view == "raw":
                assert app.detail.line_count == 300
        for column, view in ((2, "raw"), (9, "sent")):
            await pilot.click(Detail, offset=(column, 0))
            assert app.detail.shown == view


async def test_the_place_is_kept_while_the_same_block_is_sent_in_another_way() -> None:
    reads: list[int] = []

    def read() -> str:
        reads.append(1)
        return LINES

    content = replace(CONTENT, raw=read, sent=None, note=None)
    app = DetailApp(content)
    async with app.run_test(size=(90, 20)) as pilot:
        await settle(pilot)
        app.detail.scroll_to_line(100)
        app.detail.content = replace(content, sent=Rendition((Slice(0, len(LINES) - 10),), Action.CUT))
        await settle(pilot)
        assert app.detail.first_line == 100
        assert len(reads) == 1
        app.detail.content = replace(content, key="block 8")
        await settle(pilot)
        assert app.detail.first_line == 0
        assert len(reads) == 2


async def test_scrolling_by_keys_stops_at_both_ends() -> None:
    app = DetailApp(replace(CONTENT, sent=None))
    async with app.run_test(size=(90, 20)) as pilot:
        await settle(pilot)
        places = {"down": 1, "pagedown": 19, "pageup": 1, "end": 281, "home": 0, "up": 0}
        for key, line in places.items():
            await pilot.press(key)
            assert app.detail.first_line == line, key


async def test_the_next_cut_is_one_key_away() -> None:
    long = Rendition((Slice(0, 4000), "[cut]", Slice(6000, len(LINES))), Action.CUT)
    app = DetailApp(replace(CONTENT, sent=long))
    async with app.run_test(size=(90, 10)) as pilot:
        await settle(pilot)
        app.detail.action_next_note()
        assert "cut here" in shown(app.detail)[1]


async def test_json_is_laid_out_on_demand() -> None:
    app = DetailApp(DetailContent("call", "A Bash", lambda: '{"command": "ls", "timeout": [3]}', is_json=True))
    async with app.run_test(size=(100, 12)) as pilot:
        app.detail.action_show("raw")
        await settle(pilot)
        assert shown(app.detail)[1] == ' {"command": "ls", "timeout": [3]}'
        app.detail.action_show("laid")
        await settle(pilot)
        laid = [" {", '   "command": "ls",', '   "timeout": [', "     3", "   ]", " }"]
        assert shown(app.detail)[1:7] == laid
        app.detail.action_show("laid")
        await settle(pilot)
        assert app.detail.shown == "raw"
        app.detail.action_show("laid")
        app.detail.content = CONTENT
        await settle(pilot)
        assert "nothing to format" in shown(app.detail)[1]
        assert shown(app.detail)[2] == " line 0 of the text"


@pytest.mark.parametrize("width", [12, 40, 90])
async def test_every_strip_is_as_wide_as_the_row_whatever_the_text_says(width: int) -> None:
    text = "\n".join(HOSTILE_TEXTS) * 3 + "".join(HOSTILE_TEXTS) * 10
    cut = Rendition((Slice(0, 300), "\x1b[31m[/marker]\u202e", Slice(400, len(text))), Action.CUT)
    content = DetailContent(
        1,
        "\x1b]0;title\x07[/foo]",
        lambda: text,
        cut,
        CutNote(3, "\x1b[31m[b", 2),
        media=("image/\x1b[31mpng",),
        record=lambda: text.encode("utf-8", "surrogatepass"),
    )
    app = DetailApp(content)
    async with app.run_test(size=(width, 40)) as pilot:
        app.detail.search("e")
        for view in ("raw", "sent", "difference", "markdown", "laid", "record"):
            app.detail.action_show(view)
            await settle(pilot)
            for y in range(40):
                strip = app.detail.render_line(y)
                assert sum(segment.cell_length for segment in strip) == width - 1
                for segment in strip:
                    assert not CONTROL.search(segment.text)
                    assert segment.style is not None
                    assert segment.style.bgcolor is not None


async def test_without_a_text_it_says_why() -> None:
    def gone() -> str:
        raise TextUnavailableError("the file was replaced\x1b[31m")

    def broken() -> str:
        raise RuntimeError("secret")

    said = [
        (None, NOTHING_CHOSEN),
        (DetailContent("empty", "", lambda: ""), EMPTY),
        (DetailContent("gone", "", gone), "unavailable: the file was replaced␛[31m"),
        (DetailContent("broken", "", broken), "Cannot show this text: RuntimeError."),
    ]
    app = DetailApp(None)
    async with app.run_test(size=(80, 10)) as pilot:
        for content, sentence in said:
            app.detail.content = content
            with suppress(WorkerFailed):
                await settle(pilot)
            # A separate message reports that a worker failed, which may come later.
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    while shown(app.detail)[1].strip() == LOADING:
                        await pilot.pause(0.01)
            assert shown(app.detail)[1].strip() == sentence


async def test_a_slow_text_is_shown_as_loading_and_a_stale_one_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOADING_AFTER", 0.01)
    release = threading.Event()

    def slow() -> str:
        release.wait(PATIENCE)
        return "slow"

    app = DetailApp(DetailContent("slow", "", slow))
    async with app.run_test(size=(60, 10)) as pilot:
        assert await until(pilot, lambda: shown(app.detail)[1].strip() == LOADING)
        app.detail.content = DetailContent("quick", "", lambda: "quick")
        await pilot.pause()
        release.set()
        await settle(pilot)
        assert shown(app.detail)[1].strip() == "quick"


async def test_another_width_folds_again() -> None:
    app = DetailApp(DetailContent("long", "", lambda: "x" * 1000))
    async with app.run_test(size=(102, 10)) as pilot:
        await settle(pilot)
        assert app.detail.line_count == 10
        await pilot.resize_terminal(52, 10)
        await settle(pilot)
        assert app.detail.line_count == 20
        assert app.detail.document.row(0) == ("x" * 50, SectionKind.RECORDED)


async def test_a_block_chosen_while_there_is_no_room_is_the_one_shown_once_there_is_some() -> None:
    app = DetailApp(CONTENT)
    async with app.run_test(size=(100, 20)) as pilot:
        await settle(pilot)
        await pilot.resize_terminal(1, 20)
        await settle(pilot)
        app.detail.content = replace(
            CONTENT, key="block 8", title="#150 a Read", raw=lambda: "another text", sent=None, note=None
        )
        await pilot.resize_terminal(100, 20)
        await settle(pilot)
        assert "#150 a Read" in shown(app.detail)[0]
        assert shown(app.detail)[1].strip() == "another text"


async def test_five_megabytes_and_a_line_of_one_are_shown_from_any_place() -> None:
    text = "x" * 1_000_000 + "\n" + "\x1b[31mline\x1b[0m\n" * 300_000
    app = DetailApp(DetailContent("huge", "", lambda: text))
    async with app.run_test(size=(102, 10)) as pilot:
        await settle(pilot)
        assert app.detail.line_count == 310_000
        await pilot.press("end")
        assert shown(app.detail)[-1] == " ␛[31mline␛[0m"


async def test_a_title_without_room_is_reported_in_fewer_words_and_not_cut_within_one() -> None:
    app = DetailApp(replace(CONTENT, title="assistant text, 110 tokens", short_title="assistant"))
    async with app.run_test(size=(120, 6)) as pilot:
        await settle(pilot)
        assert "assistant text, 110 tokens" in shown(app.detail)[0]
        await pilot.resize_terminal(73, 6)
        await settle(pilot)
        assert shown(app.detail)[0].split()[-2:] == ["record", "assistant"]


async def test_the_view_that_is_shown_is_named_where_there_is_no_room_for_all_names() -> None:
    app = DetailApp(CONTENT)
    async with app.run_test(size=(36, 6)) as pilot:
        for key, named in (
            ("", "raw │ as sent │ difference │ …"),
            ("right", "raw │ as sent │ difference │ …"),
            ("right", "… │ difference │ formatted │ …"),
        ):
            await pilot.press(*([key] if key else []))
            await settle(pilot)
            assert shown(app.detail)[0].strip() == named
        for x in (6, 30):
            await pilot.click(app.detail, offset=(x, 0))
            await settle(pilot)
            assert app.detail.shown == "difference"
