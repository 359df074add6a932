"""Causes of cache misses in every part of the screen: chart, rows, jumps, texts, costs, header, table."""

import os
import shutil
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from inspector import open_session, replay_session
from inspector.replay.analysis.alternatives import model_switch
from inspector.replay.analysis.cache_misses import cache_misses
from inspector.replay.cache.miss_causes import MissCause
from inspector.replay.explain.cost_sheet import LargestPart, largest_part
from inspector.replay.figure import Figure, HowKnown
from inspector.report.numbers import ON_SCREEN
from inspector.strategies.plan import Plan
from inspector.ui.miss_glyphs import EXPIRED, MARKS, REWRITTEN, mark_of, miss_notes
from inspector.ui.misses.rows import ALL, FOLDED, spent_on, switch_lines, switches_at, what_ifs
from inspector.ui.toolkit.header import Heading, cache_in_words
from tests.conftest import ROOT
from tests.sample_figures import dollars, saving
from tests.ui.facade import Running, stop_clock
from tests.ui.studies import Misses

CLEARED = Plan.from_specs(["clear-old"])
REPORTED = "claude-code/e92f5a0b-1b9e-4913-98b3-c319b4d5e90b.jsonl"
SIX_MISSES = "claude-code/70d782f7-b303-4e48-9512-6bec16c37abd.jsonl"


@pytest.fixture
def paused(tmp_path: Path) -> Path:
    """A session with a pause longer than its cache lives, and a compaction."""
    path = tmp_path / "session.jsonl"
    shutil.copy(ROOT / "sample_sessions" / "coding-agent.jsonl", path)
    os.utime(path, (1e9, 1e9))
    return path


async def explained(run: Running) -> None:
    await run.until(lambda: run.explains_newest)


async def test_the_chart_its_legend_and_the_screen_show_misses_by_their_cause_as_a_plan_comes_and_goes(
    running, paused: Path
) -> None:
    async with running(paused, plan=CLEARED) as run:
        await run.press("1")
        await explained(run)
        misses = run.cache.misses.misses
        assert [(miss.call, miss.cause) for miss in run.chart.series.misses] == [(17, MissCause.TTL_EXPIRED_5M)]
        await run.until_shown(f"cache misses: {EXPIRED.glyph} expired (5 min)")
        assert "▲ compaction" in run.text()
        assert len(misses) == 1

        await run.press("1")
        await run.until(lambda: run.explains_newest and REWRITTEN.glyph in run.text())
        causes = {miss.cause for miss in run.chart.series.misses}
        assert causes == {miss.cause for miss in run.cache.misses.misses}
        assert MissCause.PLAN_EDIT in causes
        assert "plan edit" in run.text()

        study = await Misses.opened(run)
        assert MissCause.PLAN_EDIT in study.causes.row_of
        await run.tap("ctrl+z")
        await run.until(lambda: MissCause.PLAN_EDIT not in study.causes.row_of)


async def test_with_a_plan_on_misses_are_shown_as_its_wherever_they_are_marked(running, paused: Path) -> None:
    async with running(paused, plan=CLEARED, size=(160, 36)) as run:
        await run.until_shown("─ cache misses: with the plan ─╯")
        await run.press("g", "m")
        await run.until(lambda: run.notice.startswith("miss 1/"))
        assert ", with the plan: " in run.notice
        await run.press("enter")
        await run.until_shown(" cache miss with the plan: ")
        await run.until_shown("misses")
        assert "plan misses: " in run.text() or "cache misses with the plan: " in run.text()

        await run.press("1")
        await explained(run)
        await run.until(lambda: "cache misses: with the plan" not in run.text())
        assert " cache miss with the plan: " not in run.text()


async def test_a_frame_made_narrow_by_the_open_plan_leaves_a_whole_phrase_out(running, paused: Path) -> None:
    async with running(paused, plan=CLEARED, size=(80, 24)) as run:
        await run.until_shown("─ cache misses: with the plan ─╯")
        await run.press("p")
        await run.until_shown("─ cache misses: with the plan ─╯")
        await run.until_shown("╭─ next prompt: ")

        await run.press("p")
        await run.until_shown("╭─ Timeline · next prompt: ")
        await run.until_shown("─ cache misses: with the plan ─╯")


async def test_the_row_and_the_text_of_a_call_that_missed_say_why_and_what_it_cost(running, paused: Path) -> None:
    async with running(paused, size=(200, 50)) as run:
        await explained(run)
        await run.press("g", "m")
        assert run.notice == "miss 1/1: the 5-minute cache expired, $0.30"
        (miss,) = run.cache.misses.misses
        assert run.timeline.cursor_block == next(iter(run.cache.by_block))
        whole, *shorter = miss_notes(miss)
        assert whole == f"{EXPIRED.glyph} cache miss: expired (5 min), 52k tokens rewritten, $0.30"
        assert whole in run.line_with("▶")

        miss = run.cache.by_block[run.timeline.cursor_block]
        content = run.detail.content
        assert content.lead == (f"{EXPIRED.glyph} cache miss: expired (5 min), 52k tokens rewritten, $0.30",)
        told = dict(line.split("  ", 1) for line in content.tail[1:])
        said = {name.strip(): text.strip() for name, text in told.items()}
        assert content.tail[0] == "Cache miss at call 18"
        assert said["cause"] == miss.cause.label
        assert said["evidence"] == "11 min 3 s after call 17"
        assert said["in cache"] == f"{miss.could_read:,} tokens of the prompt, {miss.read:,} read"
        assert said["rewritten"] == f"{miss.tokens:,} tokens, for $0.33"
        assert said["extra cost"] == "$0.30"
        assert said["prevention"] == miss.cause.prevention
        assert "cache miss" not in run.detail.text
        run.focus_part("detail")
        await run.press("z", "z")
        await run.until_shown("prevention")
        assert run.detail.recorded.strip() in run.detail.text
        await run.press("z", "z")
        run.focus_part("timeline")

        await run.resize(80, 24)
        await run.until(lambda: any(note in run.line_with("▶") for note in shorter))

        await run.press("z", "f")
        await run.until(lambda: any(note in run.line_with("▶") for note in shorter))


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("cache_read_usd", "65 % of ~$8.09 is cache reads: 120 calls resent about 89k tokens each"),
        ("cache_write_usd", "65 % of ~$8.09 is cache writes: new text, or text that missed the cache"),
        ("uncached_usd", "65 % of ~$8.09 is uncached input: 353k of 11M tokens sent were not cached"),
        ("output_usd", "65 % of ~$8.09 is output: text the model wrote"),
    ],
)
def test_what_most_was_spent_on_is_stated_in_a_line_of_a_small_screen(part: str, said: str) -> None:
    spent = LargestPart(part, 0.649, Figure(8.09, HowKnown.ESTIMATED), 120, 10_710_360.0, 353_000.0)
    assert spent_on(spent) == said
    assert len(said) <= 76


async def test_jumps_and_the_screen_of_misses_go_through_them_say_why_and_quote_what_a_plan_edited(
    running, paused: Path
) -> None:
    async with running(paused, plan=CLEARED) as run:
        await explained(run)
        misses = run.cache.misses.misses
        assert len(misses) > 2
        await run.press("home")
        gone_to, causes = [], []
        for place in range(1, len(misses) + 1):
            await run.press("g", "m")
            hint = "" if gone_to else " (n next, N previous)"
            assert run.notice.startswith(f"miss {place}/{len(misses)}{hint}, with the plan: ")
            gone_to.append(run.timeline.cursor_block)
            causes.append(run.notice.partition(": ")[2])
        await run.press("n")
        assert run.notice.startswith(f"miss 1/{len(misses)}, wrapped to the top, with the plan: ")
        assert gone_to == sorted(run.cache.by_block)
        assert causes == [
            f"{miss.cause.label}, {ON_SCREEN.dollars(miss.extra_usd.value)}"
            for miss in (run.cache.by_block[block] for block in gone_to)
        ]

        await run.press("home", "g", "m")
        content = run.detail.content
        edit = next(line for line in content.tail if line.startswith("changed"))
        miss = run.cache.by_block[run.timeline.cursor_block]
        assert miss.cause is MissCause.PLAN_EDIT
        assert f"message {run.history.message[miss.evidence.blocks[1]] + 1}, " in edit

        study = await Misses.opened(run)
        found = run.cache.misses
        causes = [row for row in found.causes if not row.expected]
        assert [row.key for row in study.causes.rows] == [ALL, *(row.cause for row in causes), FOLDED]
        assert study.causes.text(ALL, "calls") == str(found.total.calls)
        assert study.causes.text(ALL, "extra") == ON_SCREEN.dollars(found.total.extra_usd)
        assert [row.key for row in study.calls.rows] == [miss.call for miss in found.dearest]

        await run.tap("underscore")
        await run.until(lambda: MissCause.COMPACTION in study.causes.row_of)
        assert study.causes.text(MissCause.FIRST_REQUEST, "extra") == "$0.00"
        study.causes.go_to(MissCause.COMPACTION)
        await run.until(lambda: [row.key for row in study.calls.rows] == [25])

        study.causes.go_to(MissCause.PLAN_EDIT)
        edits = [miss.call for miss in found.dearest if miss.cause is MissCause.PLAN_EDIT]
        await run.until(lambda: [row.key for row in study.calls.rows] == edits)
        await run.tap("enter")
        await run.until(lambda: study.calls.has_focus)
        await run.tap("tab", "tab", "enter")
        await run.until_open("session")
        await run.pause()
        assert run.cache.by_block[run.timeline.cursor_block].call == edits[0]


async def test_a_small_screen_begins_with_the_largest_part_and_projects_what_could_have_been_line_by_line(
    running, paused: Path
) -> None:
    async with running(paused, size=(80, 24)) as run:
        await explained(run)
        change, ahead = run.cache.lifetime, run.cache.next_call
        await Misses.opened(run)
        await run.until_shown("is cache writes: new text")
        figures = run.replay.figures
        assert (
            f"{ON_SCREEN.share(largest_part(run.replay).share)} of {ON_SCREEN.dollars(figures.cost_usd.value)}"
            in run.text()
        )
        await run.until_shown("pause of")
        assert f"~{ON_SCREEN.dollars(change.usd)}" in run.text()
        assert "costs ~$0.10 more; " in run.text()
        lines = "\n".join(what_ifs(run.cache, 76))
        for amount in (ahead.warm_usd, ahead.cold_usd, ahead.fresh_usd, ahead.compact_first_usd):
            assert f"~{ON_SCREEN.dollars(amount)}" in lines
        assert f"pays off after {ahead.compact_pays_after} calls" in lines
        assert all(len(line) <= 76 for line in what_ifs(run.cache, 76))
        (miss,) = run.cache.misses.misses
        cost = ON_SCREEN.dollars(miss.extra_usd.value)
        await run.until_shown(f" call {miss.call + 1}: {cost} · ")
        assert f" after call {miss.call} ─" in run.line_with(f"call {miss.call + 1}: {cost}")


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_the_bill_over_calls_shows_where_it_grew_and_names_the_misses(running, paused: Path, size) -> None:
    async with running(paused, size=size) as run:
        await explained(run)
        study = await Misses.opened(run)
        (miss,) = run.cache.misses.misses
        if size[1] < 32:
            assert "Cost per call" not in run.text()
            await run.press("B")
            assert "costliest first" not in run.text()
        await run.until_shown("Cost per call")
        await run.until_shown(f"{EXPIRED.glyph} {miss.call + 1} {ON_SCREEN.dollars(miss.extra_usd.value)}")
        assert "reads" in run.text()
        assert f"{EXPIRED.glyph} expired (5 min)" in run.text()
        assert "▲ compaction" in run.text()
        cost = float(run.baseline.ledger.cost[miss.call])
        await run.until_shown(f"call {miss.call + 1}: {ON_SCREEN.dollars(cost)}")
        await run.press("B")
        assert "Cost per call" not in run.text()
        assert "costliest first" in run.text()
        assert study.is_on_top


async def test_other_models_are_priced_from_the_call_under_the_cursor_or_typed_and_a_click_on_the_bill_goes_to_it(
    running, paused: Path
) -> None:
    async with running(paused, size=(120, 36)) as run:
        await explained(run)
        await Misses.opened(run)
        found = run.cache.misses
        call = found.misses[0].call
        sonnet, opus = (model_switch(found, call, name) for name in ("claude-sonnet-4-6", "claude-opus-4-1"))
        saved = f"~{ON_SCREEN.dollars(sonnet.saved_usd)}"
        await run.until_shown("another model throughout, same answers: ")
        await run.press("tab")
        await run.until_shown(f"another model from call {call + 1} on, same answers: ")
        await run.until_shown(f"claude-sonnet-4-6 saves {saved}")

        await run.press("S")
        await run.until_open("value")
        await run.press("ctrl+u", *"nobody")
        await run.until_shown("no price for nobody; known models: claude-sonnet-4-6, claude-haiku-4-5")
        await run.press("ctrl+u", *"claude-opus-4-1 at 99")
        await run.until_shown("no call 99 in the main conversation; enter 1 to 34")
        await run.press("ctrl+u", *f"claude-opus-4-1 at {call + 1}")
        more = f"claude-opus-4-1 costs ~{ON_SCREEN.dollars(-opus.saved_usd)} more"
        await run.until_shown(more)
        await run.press("enter")
        await run.until_shown(f"another model from call {call + 1} on, same answers: {more}")

        (miss,) = run.cache.misses.misses
        await run.until_shown("Cost per call")
        line = next(row for row, text in enumerate(run.lines()) if "$0 ─" in text)
        await run.click_at(run.lines()[line].index("◆"), line - 3)
        await run.until_shown("╭─ Timeline")
        assert run.timeline.cursor_block == next(iter(run.cache.by_block))
        assert miss.call == 17


@pytest.mark.parametrize(
    ("name", "said"),
    [("terminal-agent.jsonl", "no cache misses"), ("mail-and-jobs.jsonl", "no cache usage reported for this session")],
)
async def test_a_session_without_misses_says_so(running, tmp_path: Path, name: str, said: str) -> None:
    path = tmp_path / name
    shutil.copy(ROOT / "sample_sessions" / name, path)
    async with running(path, size=(80, 24)) as run:
        await explained(run)
        await run.press("g", "m")
        assert run.notice == said
        await Misses.opened(run)
        await run.until(lambda: said in run.text().lower())
        if name == "terminal-agent.jsonl":
            await run.until_shown("Cost per call")
            await run.until_shown("another model throughout, same answers: ")
            await run.press("B", "tab", "enter")
            await run.until_shown("╭─ Timeline")


async def test_the_cost_pane_the_table_and_the_engine_say_the_same(running, paused: Path) -> None:
    async with running(paused, size=(120, 42)) as run:
        await explained(run)
        total = cache_misses(run.baseline).total
        cost = ON_SCREEN.dollars(total.extra_usd)
        await run.until_shown(f"avoidable {cost} in {total.calls} cache miss (M)")


async def test_what_the_provider_said_is_with_what_the_file_shows(running, corpus: Path, tmp_path: Path) -> None:
    if not (corpus / REPORTED).exists():
        pytest.skip("the session is not in the corpus")
    path = tmp_path / "session.jsonl"
    shutil.copy(corpus / REPORTED, path)
    async with running(path, size=(120, 42)) as run:
        await explained(run)
        await run.press("home", "g", "m")
        assert "the model changed" in run.notice
        tail = "\n".join(run.detail.content.tail)
        assert "reports model_changed, 117,962 tokens missed" in tail
        assert "the provider named the cause" in tail
        assert "claude-fable-5 before, claude-opus-4-8 now" in tail
        await run.until_shown("avoidable $5.49 in 4 cache misses")
        glyphs = [mark_of(miss.cause).glyph for miss in run.cache.misses.misses]
        axis = next(line for line in run.lines() if line.count("─") > 60 and "0 ─" in line)
        assert [glyph for glyph in axis if glyph in {mark.glyph for mark in MARKS}] == glyphs


WARM = Heading("a session", state="live", cold_at=1_000.0, warm_call="~$0.20", cold_call="~$2.48")


def test_what_another_model_saves_is_stated_whole_at_every_width() -> None:
    found = cache_misses(replay_session(open_session(ROOT / "sample_sessions" / "coding-agent.jsonl"), Plan()))
    for call in (0, found.misses[0].call):
        switches = switches_at(found, call, None)
        saved = f"{switches[0].model} saves ~{ON_SCREEN.dollars(switches[0].saved_usd)}"
        for offered, width in product((switches, switches[:1]), range(72, 130)):
            (line,) = switch_lines(offered, width)
            assert saved in line
            assert "same answers" in line
            assert len(line) <= width


def test_a_note_gets_shorter_word_by_word() -> None:
    miss = cache_misses(replay_session(open_session(ROOT / "sample_sessions" / "coding-agent.jsonl"), Plan())).misses[0]
    notes = miss_notes(replace(miss, cause=MissCause.LIKELY_SERVER_SIDE))

    assert notes == (
        "? cache miss: evicted (likely), 52k tokens rewritten, $0.30",
        "? miss: evicted (likely) $0.30",
        "? evicted (likely) $0.30",
        "? evicted $0.30",
        "? $0.30",
    )
    unpriced = replace(miss, usd=Figure(None, HowKnown.EXACT), read_usd=Figure(None, HowKnown.EXACT))
    assert miss_notes(unpriced)[0] == f"{EXPIRED.glyph} cache miss: expired (5 min), 52k tokens rewritten"
    assert miss_notes(unpriced)[-1] == f"{EXPIRED.glyph} 52k"


def test_the_header_counts_down_to_a_cold_cache_and_then_says_what_it_costs() -> None:
    assert cache_in_words(WARM, 808.0) == ("cache warm 3:12", "warm 3:12")
    assert cache_in_words(WARM, 1_000.0) == ("cache cold: next call ~$2.48 instead of ~$0.20", "cold ~$2.48")
    assert cache_in_words(WARM._replace(cold_call="", warm_call=""), 1_001.0) == ("cache cold", "cold")


def test_the_header_says_nothing_of_a_cache_long_gone_unknown_or_of_a_file_that_is() -> None:
    assert cache_in_words(WARM, 1_000.0 + 3 * 86_400) == ("", "")
    assert cache_in_words(WARM._replace(cold_at=None), 1.0) == ("", "")
    assert cache_in_words(WARM._replace(state="vanished"), 1.0) == ("", "")
    assert cache_in_words(WARM, 0.0) == ("", "")


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
@pytest.mark.parametrize(("since_cold", "said"), [(-192, "warm 3:12"), (60, "cold")])
async def test_a_session_being_written_says_the_state_of_its_cache(
    running, session_file, monkeypatch, size: tuple[int, int], since_cold: int, said: str
) -> None:
    async with running(session_file.path, size=size) as run:
        await explained(run)
        ahead = run.cache.recorded_next_call
        stop_clock(monkeypatch, ahead.expires_at + since_cold)
        run.forget_notice()
        cold = ON_SCREEN.dollars(ahead.cold_usd) if since_cold > 0 else ""
        await run.until(lambda: said in run.header_line and cold in run.header_line)
        assert "claude-opus" in run.header_line


async def test_the_screen_says_what_was_avoidable_with_nothing_cut_and_with_a_plan(running) -> None:
    async with running(ROOT / "sample_sessions" / "coding-agent.jsonl", plan=CLEARED, size=(80, 24)) as run:
        await run.press("1")
        await explained(run)
        await run.until(lambda: run.best is not None)
        found = run.cache.misses
        could = ON_SCREEN.dollars(found.preventable.extra_usd)
        await run.press("M")
        best = saving("hermes-proactive-prune")
        net = f"net {dollars(best.worst)} to {dollars(best.best)}"
        await run.until_shown(f"avoidable: {could}; best plan saves {net}")
        await run.press("escape", "1")
        await explained(run)
        await run.press("M")
        await run.until_shown(" in cache misses")
        assert "hermes-proactive-prune" not in run.text()


async def test_calls_get_rows_on_a_small_screen_while_they_have_the_focus(
    running, corpus: Path, tmp_path: Path
) -> None:
    path = tmp_path / "session.jsonl"
    if not (corpus / SIX_MISSES).exists():
        pytest.skip("the session is not in the corpus")
    shutil.copy(corpus / SIX_MISSES, path)
    async with running(path, size=(80, 24)) as run:
        misses = await Misses.opened(run)
        await run.until_shown("6 cache misses")
        await run.tap("enter")
        await run.until(
            lambda: sum(line.startswith("│") and ("expired" in line or "unknown" in line) for line in run.lines()) == 3
        )
        assert misses.calls.has_focus
        await run.tap("shift+tab")
        await run.until_shown("expected, not included above")
