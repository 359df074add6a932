import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from textual.app import ComposeResult
from textual.events import MouseScrollUp
from textual.geometry import Size
from textual.strip import Strip

from inspector.report.numbers import ON_SCREEN
from inspector.session.model import BlockKind, Message, Role
from inspector.ui.themes import ThemedApp
from inspector.ui.timeline.arrangement import Order
from inspector.ui.timeline.view import TimelineView
from inspector.ui.timeline.widget import Timeline
from tests.hostile import HOSTILE_TEXTS
from tests.ui import synthetic
from tests.ui.synthetic import block, message

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
RECORDED = synthetic.session(300, compact_every=100)
VIEW = synthetic.view_of(RECORDED)


class TimelineApp(ThemedApp):
    def __init__(self, view: TimelineView | None) -> None:
        super().__init__()
        self.view = view
        self.highlighted: list[tuple[int, int]] = []
        self.follow_changes: list[bool] = []

    def compose(self) -> ComposeResult:
        timeline = Timeline()
        timeline.view = self.view
        yield timeline

    def on_mount(self) -> None:
        self.query_one(Timeline).focus()

    def on_timeline_highlighted(self, message: Timeline.Highlighted) -> None:
        self.highlighted.append((message.block, message.row))

    def on_timeline_follow_changed(self, message: Timeline.FollowChanged) -> None:
        self.follow_changes.append(message.follow)

    @property
    def timeline(self) -> Timeline:
        return self.query_one(Timeline)


def strips(timeline: Timeline) -> Iterator[Strip]:
    for y in range(timeline.size.height):
        yield timeline.render_line(y)


def shown(timeline: Timeline) -> list[str]:
    return [strip.text for strip in strips(timeline)]


def added(count: int) -> list[Message]:
    return [message(Role.USER, block(BlockKind.USER_TEXT, f"new {number}")) for number in range(count)]


@pytest.mark.parametrize("width", [12, 40, 57, 80, 120, 240])
async def test_every_strip_is_as_wide_as_the_row_whatever_the_session_says(width: int) -> None:
    hostile = synthetic.session(160, HOSTILE_TEXTS, compact_every=60)
    last = message(Role.ASSISTANT, *(block(BlockKind.TOOL_CALL, text, tool_name=text) for text in HOSTILE_TEXTS))
    view = synthetic.view_of(synthetic.grown(hostile, last))
    view = replace(view, reason=lambda number: HOSTILE_TEXTS[number % len(HOSTILE_TEXTS)])
    app = TimelineApp(view)
    async with app.run_test(size=(width, 50)) as pilot:
        for key in ("home", "pagedown", "pagedown", "pagedown", "end"):
            await pilot.press(key)
            for strip in strips(app.timeline):
                assert sum(segment.cell_length for segment in strip) == app.timeline.line_width == width - 2
                for segment in strip:
                    assert not CONTROL.search(segment.text)
                    assert segment.style is not None
                    assert segment.style.bgcolor is not None


async def test_rows_show_amounts_and_what_the_plan_did() -> None:
    app = TimelineApp(VIEW)
    async with app.run_test(size=(100, 20)) as pilot:
        await pilot.press("end")
        rows = shown(app.timeline)
        position = int(VIEW.changed_positions[-1])
        amount = VIEW.amount(int(VIEW.rows.block[position]))
        row = rows[position - app.timeline.first_line + 1]

        assert "tokens" in rows[0]
        assert "change" in rows[0]
        assert f" {amount.recorded:,} " in row
        assert f" {ON_SCREEN.whole(amount.change)} " in row
        assert "░" in row
        assert "stale, tier search · " in row


async def test_another_plan_redraws_what_it_changes_and_nothing_else() -> None:
    app = TimelineApp(VIEW)
    async with app.run_test(size=(100, 20)) as pilot:
        await pilot.press("end")
        before = list(strips(app.timeline))[1:]
        app.timeline.view = replace(VIEW, state=synthetic.state_of(VIEW.rows.history, 500))
        await pilot.pause()
        after = list(strips(app.timeline))[1:]
        redrawn = [old is not new for old, new in zip(before, after, strict=True)]
        assert redrawn == [old.text != new.text for old, new in zip(before, after, strict=True)]
        assert any(redrawn)
        assert not all(redrawn)


async def test_a_session_that_grows_redraws_no_row_that_stays_as_it_was() -> None:
    before = synthetic.view_of(RECORDED)
    after = synthetic.view_of(synthetic.grown(RECORDED, *added(2)), previous=before)
    app = TimelineApp(before)
    async with app.run_test(size=(100, 20)) as pilot:
        await pilot.press("end", "pageup", "up")
        kept = list(strips(app.timeline))[1:]
        app.timeline.view = after
        await pilot.pause()
        labels = [text for text in (strip.text for strip in kept) if "──" in text]
        assert not labels
        assert all(old is new for old, new in zip(kept, list(strips(app.timeline))[1:], strict=True))


@pytest.mark.parametrize("width", [60, 100, 170])
async def test_whatever_becomes_of_the_view_what_is_shown_is_what_would_be_drawn_afresh(width: int) -> None:
    thinking = message(Role.ASSISTANT, block(BlockKind.THINKING, "", signature_characters=40))
    longer = message(Role.ASSISTANT, block(BlockKind.THINKING, "", signature_characters=4_000))
    begun = synthetic.grown(RECORDED, thinking)
    grown = synthetic.grown(RECORDED, longer, *added(1))
    messages = len(grown.messages)
    first = synthetic.view_of(begun)
    later = synthetic.view_of(grown, previous=first)
    shown_block = int(later.rows.block[-3])
    views = [
        first,
        later,
        replace(later, pins=frozenset({shown_block})),
        replace(later, hits=np.array([len(later.rows) - 2], dtype=np.int32)),
        replace(later, tokens=later.tokens * 3),
        replace(later, uncounted=np.ones(len(later.tokens), dtype=np.bool_)),
        replace(later, folded=np.arange(messages) > messages - 6),
        replace(later, token_calls=np.arange(len(later.tokens), dtype=np.int64) * 1_000, order=Order.TOKEN_CALLS),
        synthetic.view_of(replace(grown, working_directory="/elsewhere"), previous=later),
    ]
    app, fresh = TimelineApp(first), TimelineApp(None)
    async with app.run_test(size=(width, 24)) as pilot, fresh.run_test(size=(width, 24)) as other:
        for view in [*views, *reversed(views)]:
            app.timeline.view = view
            await pilot.press("end")
            fresh.timeline.view = None
            fresh.timeline.view = view
            await other.press("end")
            fresh.timeline.forget_lines()
            assert shown(app.timeline) == shown(fresh.timeline)


async def test_another_reason_for_the_same_amount_is_shown() -> None:
    app = TimelineApp(VIEW)
    async with app.run_test(size=(100, 20)) as pilot:
        await pilot.press("end")
        app.timeline.view = replace(VIEW, reason=lambda _: "token-budget: over budget")
        await pilot.pause()
        assert any("over budget · " in row for row in shown(app.timeline))
        assert not any("stale, tier" in row for row in shown(app.timeline))


async def test_a_boundary_has_a_row_of_its_own() -> None:
    app = TimelineApp(VIEW)
    async with app.run_test(size=(100, 20)):
        app.timeline.move_to(int(VIEW.boundary_positions[0]))
        assert any("── compaction, removed" in row for row in shown(app.timeline))


async def test_keys_move_the_cursor_and_tell_its_block() -> None:
    app = TimelineApp(VIEW)
    async with app.run_test(size=(80, 24)) as pilot:
        timeline = app.timeline
        expected = {
            "down": 1,
            "up": 0,
            "pagedown": 22,
            "pageup": 0,
            "end": VIEW.count - 1,
            "home": 0,
        }
        for key, position in expected.items():
            await pilot.press(key)
            await pilot.pause()
            assert timeline.cursor == position, key
            assert app.highlighted[-1] == (int(VIEW.rows.block[position]), position), key
            assert timeline.first_line <= position < timeline.first_line + timeline.page_height


async def test_the_cursor_stays_on_its_block_when_rows_are_added_or_hidden() -> None:
    app = TimelineApp(VIEW)
    async with app.run_test(size=(80, 24)) as pilot:
        timeline = app.timeline
        timeline.move_to(150)
        cursor_block = timeline.cursor_block
        timeline.view = replace(VIEW, visible=np.arange(100, VIEW.count, 5, dtype=np.int32))
        await pilot.pause()
        assert (timeline.cursor, timeline.cursor_block) == (10, cursor_block)
        timeline.view = synthetic.view_of(synthetic.grown(RECORDED, *added(3)), previous=VIEW)
        await pilot.pause()
        assert (timeline.cursor, timeline.cursor_block) == (150, cursor_block)


async def test_the_cursor_stays_on_a_boundary_too() -> None:
    app = TimelineApp(VIEW)
    async with app.run_test(size=(80, 24)) as pilot:
        boundary = int(VIEW.boundary_positions[0])
        app.timeline.move_to(boundary)
        app.timeline.view = synthetic.view_of(RECORDED)
        await pilot.pause()
        assert app.timeline.cursor == boundary


async def test_following_keeps_to_the_end_until_the_user_moves_away() -> None:
    app = TimelineApp(VIEW)
    async with app.run_test(size=(80, 24)) as pilot:
        timeline = app.timeline
        assert not timeline.follow
        await pilot.press("end")
        assert timeline.follow
        recorded = synthetic.grown(RECORDED, *added(5))
        timeline.view = synthetic.view_of(recorded, previous=timeline.view)
        await pilot.pause()
        assert timeline.cursor == timeline.view.count - 1
        assert "new 4" in shown(timeline)[-1]
        assert timeline.new_rows == 0

        await pilot.press("up")
        assert not timeline.follow
        recorded = synthetic.grown(recorded, *added(7))
        first_line = timeline.first_line
        timeline.view = synthetic.view_of(recorded, previous=timeline.view)
        await pilot.pause()
        assert timeline.new_rows == 7
        assert timeline.first_line == first_line

        await pilot.press("end")
        await pilot.pause()
        assert timeline.follow
        assert timeline.new_rows == 0
        assert app.follow_changes == [True, False, True]


async def test_scrolling_up_with_the_wheel_stops_following_and_leaves_the_cursor() -> None:
    app = TimelineApp(VIEW)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("end")
        app.timeline.post_message(MouseScrollUp(app.timeline, 5, 1, 0, 0, 0, False, False, False))
        await pilot.pause()
        assert not app.timeline.follow
        assert app.timeline.cursor == VIEW.count - 1


async def test_a_larger_screen_does_not_stop_following() -> None:
    app = TimelineApp(VIEW)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("end")
        for height in (50, 12, 24):
            await pilot.resize_terminal(80, height)
            await pilot.pause()
            assert app.timeline.follow
            assert app.timeline.first_line + app.timeline.page_height == VIEW.count


async def test_a_filter_that_hides_the_end_does_not_stop_following() -> None:
    app = TimelineApp(VIEW)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("end")
        app.timeline.view = replace(VIEW, visible=np.arange(0, 100, dtype=np.int32))
        await pilot.pause()
        assert app.timeline.follow
        assert app.timeline.cursor == 99


async def test_a_click_puts_the_cursor_on_the_row() -> None:
    app = TimelineApp(VIEW)
    async with app.run_test(size=(80, 24)) as pilot:
        app.timeline.scroll_to_line(40)
        await pilot.pause()
        await pilot.click(Timeline, offset=(20, 6))
        assert app.timeline.cursor == 45
        await pilot.click(Timeline, offset=(20, 0))
        assert app.timeline.cursor == 45


async def test_an_empty_timeline_takes_every_key() -> None:
    for view in (None, synthetic.view_of(replace(RECORDED, messages=(), calls=(), contexts=(), compactions=()))):
        app = TimelineApp(view)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press("down", "up", "end", "home", "pagedown", "pageup")
            assert app.timeline.cursor_block == -1
            assert not any(row.strip() for row in shown(app.timeline)[1:])


async def test_another_session_starts_at_its_beginning() -> None:
    app = TimelineApp(VIEW)
    async with app.run_test(size=(80, 24)) as pilot:
        app.timeline.move_to(100)
        other = replace(synthetic.session(500), path=RECORDED.path.with_name("other.jsonl"))
        app.timeline.view = synthetic.view_of(other)
        await pilot.pause()
        assert app.timeline.cursor == 0
        assert app.timeline.new_rows == 0


async def test_a_reason_that_leaves_the_text_no_room_gives_way_to_what_is_done_to_it_uncut() -> None:
    reason = "vercel-prune: before the newest messages"
    app = TimelineApp(replace(VIEW, reason=lambda _: reason))
    async with app.run_test(size=(78, 20)) as pilot:
        await pilot.press("end")
        cut = [row for row in shown(app.timeline) if " · " in row]
        assert cut
        assert all("cut · " in row and "before the" not in row for row in cut)


async def test_a_hundred_thousand_rows_draw_only_those_on_the_screen() -> None:
    view = synthetic.view_of(synthetic.session(90_000))
    looked_at: list[int] = []

    def reason(number: int) -> str:
        looked_at.append(number)
        return "stale"

    view = replace(view, reason=reason)
    app = TimelineApp(view)
    async with app.run_test(size=(120, 40)) as pilot:
        assert len(view.rows) > 100_000
        await pilot.press("end", "pageup", "home")
        assert len(set(looked_at)) < 4 * 40
        assert app.timeline.virtual_size == Size(0, view.count + 1)


async def test_a_theme_recolours_what_was_drawn() -> None:
    app = TimelineApp(VIEW)
    async with app.run_test(size=(80, 24)) as pilot:
        before = [segment.style for strip in strips(app.timeline) for segment in strip]
        app.theme = "textual-light"
        await pilot.pause()
        after = [segment.style for strip in strips(app.timeline) for segment in strip]
        assert before != after
