"""Composition screen: the parts of the context window and their costs."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from inspector.replay.analysis.context_blocks import NOT_RECORDED, ContextBlocks
from inspector.replay.analysis.context_breakdown import (
    Consumer,
    ContextBreakdown,
    ContextPart,
    Grouping,
    Scope,
    consumers_of,
)
from inspector.replay.figure import Figure, HowKnown
from inspector.report.numbers import MINUS
from inspector.strategies.plan import Plan
from inspector.ui.actions.screens import DIVISION_LETTERS
from inspector.ui.composition.rows import EVERYTHING, block_table, default_sorting, part_of, part_table
from inspector.ui.figure_table.table import Sorting, header_pieces, row_pieces, widths_for
from tests.hostile import DISTURBING, hostile_copy
from tests.ui import studies, synthetic

SPEC = "tiered-stale:tool-set=coding,lists=true"


async def test_parts_add_up_to_the_prompt_of_the_call_looked_at_and_a_changed_plan_and_a_grown_session_divide_again(
    running, session_file
) -> None:
    async with running(session_file.path, plan=Plan.from_specs([SPEC])) as run:
        screen = await studies.Composition.opened(run)
        for letter, grouping in zip(DIVISION_LETTERS, Grouping, strict=True):
            await run.tap("g", letter)
            await screen.shown()
            found = screen.found
            assert found.grouping is grouping
            if grouping is not Grouping.REPEATS:
                assert sum(part.tokens for part in found.parts) == pytest.approx(found.context.prompt.value)
            assert len(screen.parts.rows) == len(found.parts) + 1
        calls = run.history.call_count

        await run.tap("left_square_bracket")
        await screen.shown()
        prompt = screen.found.context.prompt
        assert run.call == calls - 1
        assert prompt.value == run.replay.ledger.prompt_tokens[-1]
        assert f"at call {calls} of" in run.text()

        await run.tap("escape")
        await run.until_open("session")
        await run.press("end")
        screen = await studies.Composition.opened(run, "g t")
        cut = screen.found
        assert cut.everything.recorded > cut.everything.tokens
        await run.press("escape")
        await run.press("1")
        screen = await studies.Composition.opened(run, "g t")
        whole = screen.found.everything
        assert whole.tokens == pytest.approx(whole.recorded)

        blocks = len(whole.blocks)
        session_file.turn()
        await run.until(lambda: len(screen.found.everything.blocks) > blocks)


async def test_a_block_has_one_count_in_its_row_the_detail_and_the_window_and_its_local_count_is_explained(
    running, session_file
) -> None:
    async with running(session_file.path, size=(120, 36)) as run:
        block = run.timeline.cursor_block
        local, ratio = int(run.inputs.table.tokens[block]), run.inputs.scale.calibration.ratio
        tokens = run.view.amount(block).recorded
        assert tokens == round(ratio * local) != local
        assert run.detail.content.title.endswith(f", {tokens:,} tokens")
        screen = await studies.Composition.opened(run)
        await run.until_shown("tokens: calibrated")
        assert round(screen.blocks.row_of[block].cells["tokens"].order) == tokens
        await run.tap("escape", "E")
        await run.until_open("explain")
        await run.until_shown(f"{tokens:,} tokens")
        assert f"local count, whole {local:,} tokens" in run.explanation
        assert f"provider tokens per counted token {ratio:.3f}" in run.explanation


async def test_the_largest_prompt_is_named_a_key_goes_there_and_parts_without_room_are_counted(
    running, session_file
) -> None:
    async with running(session_file.path, size=(80, 24)) as run:
        prompts = run.replay.ledger.prompt_tokens
        largest = int(prompts.argmax())
        screen = await studies.Composition.opened(run)
        await run.until_shown(f"largest sent: {prompts[largest]:,} at call {largest + 1} (P)")
        await run.tap("P")
        await screen.shown()
        assert run.call == largest
        assert screen.found.context.prompt.value == prompts[largest]
        await run.until_shown(f"at call {largest + 1} of")
        assert "largest sent: " not in run.text()
        await run.until_shown("P next prompt")
        await run.tap("P")
        await run.until_shown("Window at the next prompt: ")

        await run.tap("escape")
        await run.until_open("session")
        screen = await studies.Composition.opened(run, "g t")
        await run.resize(80, 18)
        await run.until(lambda: "more" in run.text())
        below = int(re.search(r"↓ (\d+) more", run.text())[1])
        assert 0 < below < len(screen.parts.rows)
        await run.tap("end")
        await run.until(lambda: f"↑ {below} more" in run.text())


async def test_parts_of_the_whole_session_are_those_of_every_prompt_and_blocks_of_one_below_it_lead_to_their_row(
    running, session_file
) -> None:
    async with running(session_file.path) as run:
        screen = await studies.Composition.opened(run)
        await run.tap("question_mark")
        await run.pause()
        assert run.on_top == "help"
        shown = run.help_names
        assert {"composition.enter", "composition.scope", "study.close", "table.sort-left"} <= shown
        await run.tap("escape", "tab")
        await run.pause()
        assert "to its row" in run.text()
        await run.tap("end")
        await run.pause()
        assert screen.blocks.row_here == screen.blocks.rows[-1].key
        last = screen.blocks.row_here

        await run.tap("e")
        await screen.shown()
        assert screen.blocks.row_here == screen.blocks.rows[0].key != last
        assert screen.blocks.first_line == 0
        found = screen.found
        assert found.scope is Scope.SESSION
        token_calls = run.replay.ledger.prompt_tokens.sum()
        assert sum(part.token_calls for part in found.parts) == pytest.approx(token_calls)
        assert "Everything sent in 30 calls · token-calls: tokens" in run.text()
        assert screen.parts.sorting == Sorting("cost")
        assert screen.found.everything.name == "all prompts, without output"
        await run.tap("e")
        await screen.shown()
        assert screen.found.scope is Scope.WINDOW
        assert screen.found.everything.name == "this window"
        await run.tap("escape")
        await run.until_open("session")

        screen = await studies.Composition.opened(run, "g t")
        count = len(screen.found.context.blocks)
        assert len(screen.blocks.rows) == count
        screen.parts.go_to(("Bash",))
        await run.pause()
        part = part_of(screen.found, ("Bash",))
        assert {row.key for row in screen.blocks.rows} == set(part.blocks.tolist())
        tokens = [row.cells["tokens"].order for row in screen.blocks.rows]
        assert tokens == sorted(tokens, reverse=True)
        screen.parts.go_to((NOT_RECORDED,))
        await run.pause()
        assert screen.blocks.rows == ()

        screen.parts.go_to(("Read",))
        await run.tap("enter")
        await run.pause()
        assert screen.blocks.has_focus
        second = screen.blocks.rows[1].key
        await run.tap("down", "enter")
        await run.until_open("session")
        await run.pause()
        timeline = run.timeline
        assert timeline.cursor_block == second
        assert run.session.blocks[timeline.cursor_block].tool_name == "Read"
        assert timeline.has_focus


async def test_files_read_twice_are_reported_with_what_represents_them(running, session_file) -> None:
    for _ in range(2):
        session_file.turn("the same text of a file\n" * 30, tool="Read")
    async with running(session_file.path) as run:
        screen = await studies.Composition.opened(run, "g d")
        found = screen.found
        (repeat,) = found.repeats.values()
        assert [part.name for part in found.parts] == ["same text again later"]
        await run.tap("down")
        await run.pause()
        (row,) = screen.blocks.rows
        later = int(run.history.message[repeat.later]) + 1
        assert row.key == repeat.block
        assert row.cells["what"].text.startswith(f"see #{later} · ")


@pytest.mark.failures
async def test_a_division_that_fails_is_reported_and_the_next_one_is_made(running, session_file, monkeypatch) -> None:
    async with running(session_file.path) as run:
        screen = await studies.Composition.opened(run)

        def broken(*_: object) -> None:
            raise RuntimeError("[/b] out of luck")

        with monkeypatch.context() as patched:
            patched.setattr("inspector.ui.composition.screen.context_breakdown", broken)
            await run.tap("g", "t")
            await run.until(lambda: "[/b] out of luck" in screen.notice)
        await run.tap("g", "f")
        await screen.shown()
        assert screen.found.grouping is Grouping.FILE


async def test_hostile_text_reaches_no_strip_at_any_size_of_the_terminal(running, session_file, tmp_path: Path) -> None:
    path = hostile_copy(session_file.path, tmp_path / "hostile.jsonl")
    async with running(path) as run:
        screen = await studies.Composition.opened(run)
        for keys in ("g r", "g t", "g f", "g i", "g a", "g d", "e", "g t", "g f", "down", "down"):
            await run.tap(*keys.split())
            await screen.shown()
            shown = run.text().replace("\n", "")
            found = DISTURBING.search(shown)
            assert found is None, shown[max(found.start() - 40, 0) : found.start() + 40]

        for width, height in ((20, 6), (40, 10), (80, 24), (200, 60), (20, 6)):
            await run.resize(width, height)
            assert len(run.lines()) == height
            assert DISTURBING.search(run.text().replace("\n", "")) is None


def a_composition(scope: Scope = Scope.WINDOW) -> ContextBreakdown:
    none = np.zeros(0, dtype=np.int32)
    rest = np.nan if scope is Scope.WINDOW else 30_000.0
    first, second = np.array([0, 1], dtype=np.int32), np.array([2], dtype=np.int32)
    parts = (
        ContextPart("Bash", first, 4_000, 16_000, 90_000, 0.5),
        ContextPart(NOT_RECORDED, none, 3_000, 3_000, rest, np.nan),
        ContextPart("src/app/a very long folder/router.py", second, 1_000, 1_000, 8_000, np.nan),
    )
    context = ContextBlocks(
        2,
        np.array([0, 1, 2], dtype=np.int32),
        np.array([3_000.0, 1_000.0, 1_000.0]),
        np.array([15_000.0, 1_000.0, 1_000.0]),
        3_000.0,
        3_000.0,
        Figure(8_000, HowKnown.EXACT),
        HowKnown.CALIBRATED,
    )
    everything = ContextPart(
        "everything",
        np.array([0, 1, 2], dtype=np.int32),
        8_000,
        20_000,
        98_000 if scope is Scope.WINDOW else 128_000,
        np.nan,
    )
    return ContextBreakdown(Grouping.TOOL, scope, context, everything, parts, {})


def drawn(table, width: int) -> list[str]:
    widths = widths_for(table.columns, width)
    rows = [row_pieces(table.columns, widths, row, selected=False) for row in table.rows]
    header = header_pieces(table.columns, widths, Sorting())
    lines = ["".join(text for text, _ in pieces).rstrip() for pieces in (header, *rows)]
    return [line.replace(MINUS, "-") for line in lines]


def test_parts_of_a_window_are_drawn_with_what_is_sent_and_what_was_cut() -> None:
    assert drawn(part_table(a_composition()), 94) == [
        "                      blocks  in prompt   share █ sent        cut  token-calls cost, all calls",
        "  everything               3      8,000   100 %              -12k          98k               ·",
        "  Bash                     2      4,000    50 % ██░░░░░░     -12k          90k           $0.50",
        "  system and tools                3,000    38 % █▌              ·            ·               ·",
        "  …/router.py              1      1,000    12 % ▌               ·         8.0k               ·",
    ]
    assert drawn(part_table(a_composition()), 60)[2] == "  Bash                          4,000    50 % ███▌░░░░░░░░░░"


def test_parts_of_a_session_are_drawn_by_token_calls() -> None:
    assert drawn(part_table(a_composition(Scope.SESSION)), 70) == [
        "                       blocks   share █          token-calls      cost",
        "  everything                3   100 %                   128k         ·",
        "  Bash                      2    70 % █████████          90k     $0.50",
        "  system and tools               23 % ███                30k         ·",
        "  …/router.py               1   6.2 % ▊                 8.0k         ·",
    ]


def test_without_any_price_there_is_no_cost_column_and_token_calls_sort_all_prompts() -> None:
    composition = a_composition(Scope.SESSION)
    unpriced = replace(composition, parts=tuple(replace(each, cost=np.nan) for each in composition.parts))
    assert [column.name for column in part_table(composition).columns][-1] == "cost"
    assert [column.name for column in part_table(unpriced).columns][-1] == "carried"
    assert (default_sorting(composition), default_sorting(unpriced)) == (Sorting("cost"), Sorting("carried"))


def test_a_part_is_found_by_its_row_and_everything_where_there_is_none() -> None:
    composition = a_composition()
    assert part_of(composition, ("Bash",)).name == "Bash"
    assert part_of(composition, EVERYTHING).name == part_of(composition, None).name == "everything"
    assert default_sorting(composition) == Sorting("tokens")


class Carried:
    calls = np.array([5, 3, 9])
    tokens = np.array([100.0, 900.0, 50.0])
    cost = np.array([0.3, 0.2, 0.4])


def test_consumers_are_those_that_take_most_now_or_cost_most_in_all() -> None:
    blocks = np.array([0, 1, 2], dtype=np.int32)
    now = consumers_of(a_composition(), blocks, Carried, most=2)
    assert now == (Consumer(0, 3_000, 15_000, 5, 100, 0.3), Consumer(1, 1_000, 1_000, 3, 900, 0.2))
    ever = consumers_of(a_composition(Scope.SESSION), blocks, Carried, most=3)
    assert [each.block for each in ever] == [2, 0, 1]


def test_without_a_price_consumers_are_those_of_most_token_calls() -> None:
    class Unpriced(Carried):
        cost = np.array([np.nan, np.nan, np.nan])

    found = consumers_of(a_composition(Scope.SESSION), np.array([0, 1, 2], dtype=np.int32), Unpriced, most=3)
    assert [each.block for each in found] == [1, 0, 2]


def test_blocks_are_drawn_with_their_message_and_what_they_hold() -> None:
    rows = synthetic.view_of(synthetic.session(20)).rows
    result = int(rows.history.results[1])
    consumers = (Consumer(result, 500, 2_000, 12, 6_000, 0.25), Consumer(0, 0, 0, 3, 100, float("nan")))
    table = block_table(a_composition(), consumers, rows)
    first, second = table.rows
    assert first.key == result
    assert (first.cells["who"].text, first.cells["calls"].text, first.cells["cost"].text) == ("R", "12", "$0.25")
    assert first.cells["number"].text == str(int(rows.history.message[result]) + 1)
    assert second.cells["tokens"].text == "·"
