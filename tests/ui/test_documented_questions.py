"""Every question of `docs/keys.md` is answered on the screen by the keys it names, with the right figures."""

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from inspector import open_session, replay_session
from inspector.cli.help import section
from inspector.replay.analysis.cache_misses import cache_misses
from inspector.replay.engine.replay import Replay
from inspector.replay.pricing.prices import Pricing
from inspector.report.numbers import ON_SCREEN
from inspector.session.model import BlockKind, Session
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from inspector.strategies.registry import strategy_for
from inspector.ui.actions.action import key_name
from inspector.ui.actions.parts import TIMELINE
from inspector.ui.actions.screens import COMPARE
from inspector.ui.main.screen import MAIN
from tests.session.claude_lines import SESSION
from tests.session.test_related import claude_child, claude_parent
from tests.ui.studies import Tune, table_on_top

ROOT = Path(__file__).resolve().parents[2]
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in section((ROOT / "docs" / "keys.md").read_text(encoding="utf-8"), "questions").splitlines()
    if line.startswith("| ") and "---" not in line
][1:]
SAMPLE = ROOT / "sample_sessions" / "coding-agent.jsonl"
NARROW = (80, 24)
ANSWERED: set[str] = set()


def answers(*questions: str) -> Callable[[Any], Any]:
    def marked(test: Any) -> Any:
        for question in questions:
            assert sum(row[0].startswith(question) for row in ROWS) == 1, question
            ANSWERED.add(question)
        return test

    return marked


def keys_of(written: str) -> tuple[str, ...]:
    """A key, or those that lead somewhere by a menu, as Textual names them."""
    names = [{"esc": "escape", "→": "right"}.get(key, key) for key in written.split()]
    return tuple(key_name(name) for name in names)


@pytest.mark.parametrize(("question", "answer", "keys"), ROWS, ids=[row[0][:40] for row in ROWS])
def test_every_question_is_answered_by_keys_of_the_main_screen(question: str, answer: str, keys: str) -> None:
    actions = (*MAIN, *TIMELINE, *COMPARE)
    known = {(key,) for action in actions for key in action.each_key}
    known |= {tuple(map(key_name, action.menu_keys)) for action in actions}
    named = [keys_of(written) for written in re.findall(r"`([^`]+)`", keys)]

    assert answer
    assert named
    assert set(named) <= known


def test_every_question_has_an_answer_that_is_read_from_the_screen() -> None:
    assert [row[0] for row in ROWS if not any(row[0].startswith(question) for question in ANSWERED)] == []


@cache
def session_of_sample() -> Session:
    return open_session(SAMPLE)


@cache
def replayed(plan: Plan) -> Replay:
    """The sample under a plan, as the library replays it."""
    return replay_session(session_of_sample(), plan)


@pytest.fixture(scope="module")
def sample() -> Session:
    return session_of_sample()


@pytest.fixture(scope="module")
def tiered(sample: Session) -> Plan:
    return Plan.of(strategy_for("tiered-stale", sample))


def reported(path: Path) -> Iterator[tuple[str, dict[str, int]]]:
    """Model and usage of every response of a Claude Code file, read without the program: once, however often it is."""
    seen = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        message = record.get("message") or {}
        if record["type"] == "assistant" and message.get("usage") and not record.get("isSidechain"):
            seen[message["id"]] = (message["model"], message["usage"])
    yield from (each for each in seen.values() if each[0] != "<synthetic>")


def prompt_of(usage: dict[str, int]) -> int:
    kinds = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return sum(usage.get(kind) or 0 for kind in kinds)


def dollars_of(session: Session, model: str, kinds: tuple[str, ...]) -> float:
    pricing = Pricing()
    total = 0.0
    for call in session.calls:
        if call.model == model and call.usage is not None:
            rates = pricing.rates(model, call.time)
            total += sum(getattr(call.usage, kind) * getattr(rates, RATE_OF.get(kind, kind)) for kind in kinds) / 1e6
    return total


RATE_OF = {"uncached": "input"}
EVERY_KIND = ("uncached", "cache_read", "cache_write_5m", "cache_write_1h", "output")


async def shows(run: Any, *words: str) -> str:
    """Wait for a line that holds all of some words."""
    line = ""

    def is_shown() -> bool:
        nonlocal line
        line = run.line_with(*words)
        return bool(line)

    await run.until(is_shown)
    return line


@answers("How large was the context", "How many tokens does each prompt")
@pytest.mark.parametrize("size", [NARROW, (120, 36)])
async def test_what_a_compaction_did_and_what_a_prompt_and_a_result_take(running, sample, counter, size) -> None:
    compaction = next(each for each in sample.compactions if not each.is_partial)
    before = [call for call, each in enumerate(sample.calls) if each.response < compaction.message][-1]
    sizes = [sample.calls[call].usage.prompt for call in (before, before + 1)]
    async with running(SAMPLE, size=size) as run:
        await run.press("home", "g", "c")
        await shows(run, "compaction", f"prompt {sizes[0]:,} → {sizes[1]:,}")
        await run.press("g", "h")
        asked = f"call {before + 1}"
        if size == NARROW:
            await shows(run, "Timeline", f"{asked}: {sizes[0]:,} tokens")
        else:
            await shows(run, f"{asked} of {len(sample.calls)}")
        sent = [line for line in run.lines() if re.search(r" R!?[A-Z]", line) and "╌" not in line]
        await run.press("right_square_bracket")
        await shows(run, f"call {before + 2}")
        out = [line for line in run.lines() if re.search(r" R!?[A-Z]", line) and "╌" in line]
        assert len(out) == len(sent) > 0, "results that are no longer sent"

        await run.press("end", "left_square_bracket")
        history = History.of(sample)
        result = int(history.results[-1])
        ratio = float(replayed(Plan()).inputs.sizes.ratio[-1])  # provider tokens per counted one
        counted = round(ratio * counter.count(sample.text(sample.blocks[result])))
        await shows(run, f" R {sample.blocks[result].tool_name}", f" {counted:,} ")


@answers("Which parts fill", "How large is the window really")
async def test_what_fills_the_window_and_how_large_it_is(running, sample) -> None:
    async with running(SAMPLE, size=(80, 32)) as run:
        await run.press("end", "left_square_bracket")
        last = sample.calls[-1].usage.prompt
        await run.tap("v")
        await shows(run, f"{last:,} tokens", "compacts at ")
        rows = re.findall(r"│[▶ ] ([a-z][a-z …]*?) +(?:\d+ +)?~?([\d,]+) ", run.text().partition("r role  t tool")[2])
        amounts = {name.strip(): int(tokens.replace(",", "")) for name, tokens in rows}
        whole = amounts.pop("this window")
        assert abs(whole - last) <= 0.01 * last
        assert list(amounts.values()) == sorted(amounts.values(), reverse=True), "the largest part first"
        assert abs(sum(amounts.values()) - whole) <= len(amounts)
        await run.tap("escape", "dollar_sign", "g", "a")
        await shows(run, "context window", "as recorded, 200,000")
        await run.tap(*["down"] * 30)
        await run.tap("up")
        await shows(run, "context window: 200,000 tokens, estimated: ")


@answers(
    "How much of the bill is reading",
    "Do the numbers agree",
    "Is usage counted twice",
    "How much did this session cost",
)
async def test_what_of_the_cost_is_reading_again_and_what_the_provider_counted(running, corpus) -> None:
    path = corpus / "claude-code" / "e92f5a0b-1b9e-4913-98b3-c319b4d5e90b.jsonl"
    session = open_session(path)
    usage = list(reported(path))
    models = sorted({model for model, _ in usage})
    assert len(models) == 2
    again = sum(dollars_of(session, model, ("cache_read",)) for model in models)
    everything = sum(dollars_of(session, model, EVERY_KIND) for model in models)
    async with running(path, size=NARROW) as run:
        await shows(run, f"Cost ${everything:.2f} ")
        await run.tap("dollar_sign")
        await shows(run, "  cache reads", f"${again:.2f}")
        sent = sum(prompt_of(each) for _, each in usage)
        await run.tap(*["down"] * 12)
        await shows(run, "prompt tokens", f"{sent:,} ")
        await run.tap("g", "a", *["down"] * 30)
        fitted = await shows(run, "token scale: ", "calibrated")
        assert re.search(r"× \d\.\d+, \d+ calls, ±[\d.]+ %", fitted)  # noqa: RUF001  a multiplication is meant
        shown = run.text()
        assert all(model in shown for model in models)
        await run.tap("escape")
        await run.tap("z", "i")
        await shows(run, f"reported for {len(usage)} of {len(session.calls)} calls; repeated reports are")
        await run.tap("escape")
        await run.press("E")
        await shows(run, "Calculation")
        await run.tap("down")
        await shows(run, "calibrated: fitted to reported usage")


@answers(
    "How much would another limit",
    "Does pruning really save anything",
    "At which call would a plan have acted first",
    "Which of two plans is better here",
    "Which plan should I use here",
)
async def test_what_another_limit_saves_when_it_acts_and_which_plan_is_better(running, sample, tiered) -> None:
    def saved(plan: Plan) -> float:
        costs = [replayed(each).figures.cost_usd.value for each in (Plan(), plan)]
        return costs[0] - costs[1]

    planned, recorded = (replayed(plan).ledger.prompt_tokens for plan in (tiered, Plan()))
    first = next(call for call in range(len(recorded)) if planned[call] != recorded[call])
    async with running(SAMPLE, size=NARROW) as run:
        await run.press("1")
        await shows(run, f"saves ${saved(tiered):.2f}")
        await run.press("a", "p", "down", "down", "home", "escape")
        entry = run.plan.entries[0].strategy
        assert entry.action == 0
        cut_more = Plan.of(entry)
        await shows(run, f"saves ${saved(cut_more):.2f}")
        await run.until(lambda: run.has_other_plan)
        await run.tap("w", "d")
        await shows(run, "plan B  plan A  change to A")
        costs = [f"${replayed(plan).figures.cost_usd.value:.2f}" for plan in (cut_more, tiered)]
        assert re.search(r"cost +" + " +".join(map(re.escape, costs)), run.text())
        assert re.search(r"action +0 characters +300 characters", run.text())
        await run.tap("escape")
        await run.press("a")
        await run.tap("t")
        await run.until_open("tune")
        tune = Tune(run)
        while tune.limit != "action":
            await run.tap("tab")
        await shows(run, "▲in the plan", " 300 ", f"${replayed(tiered).figures.cost_usd.value:.2f}")
        await run.tap("escape", "c")
        await shows(run, "●tiered-stale", "current", f"${saved(tiered):.2f}")
        await shows(run, "★ best")
        await run.tap("down")  # from the first key on the cursor stays where it is put
        table = table_on_top(run)
        told = [" ".join(cell.text for cell in row.cells.values()) for row in table.rows]
        table.go_to_line(next(place for place, text in enumerate(told) if "tiered-stale current" in text))
        await shows(run, "▶●tiered-stale", "current")
        await run.tap("tab")
        await shows(run, "active", f"from call {first + 1} on")
        await run.tap("asterisk")
        await run.until_open("session")
        await shows(run, "ctrl+z")


@answers("Which of these plans can my agent apply")
async def test_what_the_agent_can_apply_and_what_that_saves(running) -> None:
    async with running(SAMPLE, size=NARROW) as run:
        await run.tap("c")
        await run.until_open("compare")
        only = Plan.of(strategy_for("trim-at-insertion", open_session(SAMPLE)))
        saved = replayed(Plan()).figures.cost_usd.value - replayed(only).figures.cost_usd.value
        # It leaves 8,000 characters of every result, and the smallest limit of an agent is 30,000.
        await shows(run, "Claude Code can apply no recommended plan")

        def row_of_trim() -> list[str]:
            rows = [" ".join(cell.text for cell in row.cells.values()) for row in table_on_top(run).rows]
            return [text for text in rows if "trim-at-insertion" in text]

        await run.until(lambda: any(f"${saved:.2f}" in text for text in row_of_trim()))
        await run.tap("escape", "1", "w", "e")
        await shows(run, "Claude Code cannot apply it")


@answers("Which text was pruned", "How do I give the plan", "How do I show this", "Where is the raw message")
async def test_what_was_cut_why_and_what_the_record_is(running, sample, tiered, counter, tmp_path) -> None:
    replay, end = replayed(tiered), len(sample.calls)
    results = [block for block in replay.history.results.tolist() if block_in(replay, block, end)]
    block = next(block for block in results if replay.text(block, end) != sample.text(sample.blocks[block]))
    recorded, sent = sample.text(sample.blocks[block]), replay.text(block, end)
    ratio = float(replay.inputs.sizes.ratio[end])  # provider tokens per counted one
    cut = round(ratio * counter.count(recorded)) - round(ratio * counter.count(sent))
    async with running(SAMPLE, size=NARROW) as run:
        await run.press("1", "home")
        await run.press("g", "x", "enter")
        since = next(
            call for call in range(end) if replay.text(block, call) != recorded and block_in(replay, block, call)
        )
        await shows(run, f"{cut:,} tokens cut since call {since + 1} · tiered-stale: stale, tier ")
        await shows(run, "▶", f"\N{MINUS SIGN}{cut:,}")
        await run.tap("r", "R")
        await shows(run, '"parentUuid": "')
        kept = json.loads(run.detail.text)
        assert any(part.get("tool_use_id") for part in kept["message"]["content"])
        await run.press("escape")
        await run.tap("w", "e")
        await shows(run, "from inspector import Plan, compact")
        await run.tap("down")
        await shows(run, '"Edit": 150,')
        await run.tap("escape", "w", "p")
        await shows(run, "Save a picture")
        target = tmp_path / "picture.svg"
        run.line = str(target)
        await run.tap("enter")
        await run.until(target.exists)
        assert "Billing" in target.read_text(encoding="utf-8")


def block_in(replay: Any, block: int, call: int) -> bool:
    return bool(replay.state(call).in_prompt[block])


@answers("Why did this cost so much")
async def test_why_a_call_cost_so_much_and_what_would_have_prevented_it(running, sample, tmp_path: Path) -> None:
    misses = cache_misses(replayed(Plan())).misses
    (miss,) = misses
    previous = sample.calls[miss.call - 1]
    minutes = (sample.calls[miss.call].time - previous.time) / 60
    async with running(SAMPLE, size=NARROW) as run:
        await run.until(lambda: run.explains_newest)
        await run.press("home", "g", "m")
        assert run.notice.startswith("miss 1/1: the 5-minute cache expired, $")
        await shows(run, "▶", "expired")
        run.focus_part("detail")
        await run.press("z", "z")
        await shows(run, f"{int(minutes)} min", "after call 17")
        await shows(run, f"{miss.tokens:,} tokens, for $")
        await shows(run, miss.cause.prevention)
        await run.press("z", "z")
        await run.tap("M")
        await shows(run, "1 cache miss")
        await shows(run, "expired (5 min)", f"{miss.tokens:,}", ON_SCREEN.dollars(miss.extra_usd.value))


@answers("Which cut text was needed later")
async def test_what_was_needed_later_and_where(running, sample, tiered) -> None:
    replay = replayed(tiered)
    async with running(SAMPLE, size=NARROW) as run:
        await run.press("1", "home")
        await run.until(lambda: run.knows_needed)
        for _ in range(len(run.risks.blocks)):
            await run.press("g", "r")
            if "needed at call" in run.status_line:
                break
        said = re.search(r"needed at call (\d+): (\S+)", run.status_line)
        assert said
        call, word = int(said[1]) - 1, said[2].rstrip(",")
        block = run.timeline.cursor_block
        answer = sample.messages[sample.calls[call].response]
        assert any(word in sample.text(each) for each in answer.blocks)
        assert word in sample.text(sample.blocks[block])
        assert word not in replay.text(block, call)


@answers("Does a huge session open", "Are the figures current", "How did the session go")
async def test_a_session_shows_rows_while_it_is_counted_follows_what_is_added_and_plays(
    running, session_file, monkeypatch
) -> None:
    async with running(session_file.path, size=NARROW) as run:
        recorded = run.costs.recorded.value
        await run.press("home")
        session_file.turn()
        await run.until(lambda: "new below (end follows)" in run.text() or "+3" in run.text())
        await run.press("end")
        await shows(run, "FOLLOW")
        await run.until(lambda: run.costs.recorded.value > recorded)
        rates = Pricing().rates("claude-opus-4-8", None)
        calls = [each.usage for each in open_session(session_file.path).calls]
        costs = sum(
            each.uncached * rates.input
            + each.cache_read * rates.cache_read
            + each.cache_write_5m * rates.cache_write_5m
            + each.output * rates.output
            for each in calls
        )
        await shows(run, f"Cost ${costs / 1e6:.2f} ")
        await run.tap("g", "space")
        await shows(run, "▶ call ", f" of {len(calls)}")
        await run.tap("g", "space")


@answers("How do I open a subagent")
async def test_what_a_subagent_did_and_who_started_it(running, tmp_path: Path) -> None:
    path = claude_parent(tmp_path)
    child = claude_child(tmp_path / SESSION / "subagents" / "agent-a1b2.jsonl")
    said = [sample.text(block) for sample in (open_session(child),) for block in sample.blocks]
    async with running(path, size=NARROW) as run:
        await run.press("home", "g", "a")
        await shows(run, "▸ subagent: Look for it · → unfolds")
        await run.press("right")
        for text in said:
            await shows(run, "┆", text)
        await run.tap("g", "s")
        await run.until(lambda: run.path == child)
        await run.until(lambda: run.has_rows_pane)
        await run.tap("g", "u")
        await run.until(lambda: run.path == path)


def test_results_are_cut_by_the_sample_plan(sample: Session, tiered: Plan) -> None:
    assert any(block.kind is BlockKind.TOOL_RESULT for block in sample.blocks)
    assert replayed(tiered).figures.cost_usd.value < replayed(Plan()).figures.cost_usd.value
