"""Cache breakpoints screen: coverage of every rule's breakpoints, and their places in a call's prompt."""

from pathlib import Path

import pytest

from inspector.replay.cache.breakpoint_rules import BreakpointRule
from inspector.report.numbers import ON_SCREEN
from inspector.strategies.plan import Plan
from inspector.ui.marks.rows import ENTRY, REPLAYED
from tests.conftest import ROOT
from tests.session.run_files import exchange, jsonl, log_of_requests
from tests.ui.studies import Marks

SAMPLE = ROOT / "sample_sessions" / "coding-agent.jsonl"


async def test_every_rule_says_what_its_marks_would_read_write_and_cost(running) -> None:
    async with running(SAMPLE) as run:
        study = await Marks.opened(run)
        assert [row.key for row in study.rules.rows] == [
            REPLAYED,
            *(rule for rule in BreakpointRule if rule is not BreakpointRule.RECORDED),
        ]
        for each in study.found.rules:
            assert study.rules.text(each.rule, "read") == f"~{int(each.read.sum()):,}"
            assert study.rules.text(each.rule, "written") == f"~{int(each.written.sum()):,}"
            assert study.rules.text(each.rule, "cost") == f"~{ON_SCREEN.dollars(each.usd.value)}"
        assert study.rules.text(REPLAYED, "read") == f"{int(run.replay.ledger.cache_read.sum()):,}"
        assert "over 34 calls" in run.text()
        assert "~ projected" in run.text()


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_the_marks_of_the_rule_under_the_cursor_stand_below_with_the_entry_that_is_read(
    running, size: tuple[int, int]
) -> None:
    async with running(SAMPLE, size=size) as run:
        study = await Marks.opened(run)
        assert "no recorded breakpoints" in run.text()
        study.rules.go_to(BreakpointRule.HERMES_19)
        await run.until_shown("Hermes 0.19 at call 34 of 34: reads 33k, writes 427 of 34k")
        assert [row.key for row in study.places.rows] == [1, ENTRY, 2, 3, 4]
        assert [row.cells["kept"].text for row in study.places.rows] == [
            "held",
            "read from here",
            "written",
            "written",
            "written",
        ]
        assert "earlier entry" in run.text()
        assert "~ projected · after: system prompt, last 3 messages" in run.text()
        rule = next(each for each in study.found.rules if each.rule is BreakpointRule.HERMES_19)
        for number, mark in enumerate(study.found.breakpoints_at(rule, 33), start=1):
            assert study.places.text(number, "tokens") == f"{mark.tokens:,}"


async def test_another_call_has_its_own_marks_and_the_main_screen_looks_at_it_too(running) -> None:
    async with running(SAMPLE) as run:
        study = await Marks.opened(run)
        study.rules.go_to(BreakpointRule.END)
        await run.press("left_square_bracket", "left_square_bracket")
        await run.until_shown("end of each request at call 33 of 34")
        assert run.call == 32
        await run.press("right_square_bracket")
        await run.until_shown("end of each request at call 34 of 34")
        await run.press("shift+left")
        await run.until_shown("end of each request at call 24 of 34")
        await run.press("shift+right")
        await run.until_shown("end of each request at call 34 of 34")


async def test_enter_goes_to_the_marks_and_from_there_to_the_row_before_one(running) -> None:
    async with running(SAMPLE) as run:
        study = await Marks.opened(run)
        await run.press("enter")
        await run.until_shown("no breakpoints here")
        study.rules.go_to(BreakpointRule.SWE_AGENT)
        await run.press("enter")
        assert study.places.has_focus
        await run.press("tab")
        assert study.rules.has_focus
        await run.press("tab")
        study.places.go_to(2)
        rule = next(each for each in study.found.rules if each.rule is BreakpointRule.SWE_AGENT)
        block = study.found.breakpoints_at(rule, 33)[1].block
        await run.press("enter")
        await run.until_open("session")
        await run.pause()
        assert run.timeline.cursor_block == block


async def test_what_the_file_does_not_show_has_no_row_to_go_to(running) -> None:
    async with running(SAMPLE) as run:
        study = await Marks.opened(run)
        study.rules.go_to(BreakpointRule.HERMES_21)
        await run.press("enter")
        study.places.go_to(1)
        await run.press("enter")
        await run.until_shown("the file does not contain the system prompt and the tools")


async def test_with_a_plan_marks_are_placed_in_what_it_sends(running) -> None:
    async with running(SAMPLE, plan=Plan.from_specs(["tiered-stale"])) as run:
        study = await Marks.opened(run)
        assert "with the plan" in run.text()
        assert study.found.replay is run.replay
        for each in study.found.rules:
            sums = each.read + each.written + each.uncached
            assert (sums == run.replay.ledger.prompt_tokens).all()


def log(path: Path, *marks: dict[str, object]) -> Path:
    """A log of requests to Claude, each of which repeats a long text; the first of them have these marks as a whole."""
    lines = log_of_requests(3)
    long = [{"type": "text", "text": " ".join(map(str, range(2000)))}]
    for number, line in enumerate(lines):
        body = line["request"]["body"]
        body["messages"][0] = {"role": "user", "content": long}
        body["model"] = "claude-opus-4-6"
        answer = line["response"]["body_raw"].replace("claude-x", body["model"])
        answer = answer.replace('"cache_read_input_tokens": 40', '"cache_read_input_tokens": 9000')
        own = marks[number] if number < len(marks) else {}
        lines[number] = exchange(body["messages"], answer, number, model=body["model"], **own)
    path.write_bytes(jsonl(lines))
    return path


HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_marks_that_requests_had_are_a_row_of_their_own(running, tmp_path: Path, size: tuple[int, int]) -> None:
    async with running(log(tmp_path / "log.jsonl", HOUR, HOUR), size=size) as run:
        study = await Marks.opened(run)
        assert [row.key for row in study.rules.rows] == [REPLAYED, *BreakpointRule]
        await run.until_shown("see the next row for the recorded breakpoints")
        recorded = study.found.rules[0]
        assert study.rules.text(BreakpointRule.RECORDED, "read") == f"~{int(recorded.read.sum()):,}"
        study.rules.go_to(BreakpointRule.RECORDED)
        await run.until_shown("request without breakpoints")
        await run.press("left_square_bracket", "left_square_bracket")
        await run.until_shown("as recorded at call 2 of 3: reads ")
        assert study.places.text(1, "mark") == "breakpoint 1 1h"
        assert study.places.text(1, "kept") == "written"


async def test_requests_that_are_recorded_and_have_no_mark_say_so(running, tmp_path: Path) -> None:
    async with running(log(tmp_path / "log.jsonl")) as run:
        study = await Marks.opened(run)
        await run.until_shown("requests without breakpoints")
        assert BreakpointRule.RECORDED not in [row.key for row in study.rules.rows]


async def test_a_session_whose_provider_takes_no_marks_says_so(running) -> None:
    async with running(ROOT / "sample_sessions" / "local-agent.json", size=(80, 24)) as run:
        await Marks.opened(run)
        await run.until_shown("caches without breakpoints")
        assert "decide which prefixes to cache" in run.text()


async def test_a_session_without_a_call_says_so(running, tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_text('{"type":"user","message":{"role":"user","content":"Begin."}}\n')
    async with running(path) as run:
        await Marks.opened(run)
        await run.until_shown("no calls yet")


async def test_it_opens_from_the_palette_over_another_study_and_goes_back_to_it(running) -> None:
    async with running(SAMPLE) as run:
        await run.press("v")
        await run.until_open("composition")
        assert "Show the cache breakpoints" in run.commands()
        await run.press("ctrl+p")
        await run.until_open("palette")
        await run.tap(*"breakpoint")
        await run.until_shown("Show the cache breakpoints")
        await run.press("enter")
        await run.until_open("marks")
        await run.press("escape")
        assert run.on_top == "composition"
