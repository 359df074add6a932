import json
from pathlib import Path

import pytest

from benchmarks.agents import CLAUDE, GROWTH, OUTPUT, ClaudeCode, Codex, OpenCode, Pi, make_agent, prompt_of
from inspector.live.figures import LiveFigures
from inspector.live.reading import LiveReader
from inspector.live.status import Activity, Attention, CacheState, LiveSession
from inspector.replay.figure import Figure, HowKnown
from inspector.replay.pricing.context_window import ContextWindow, compaction_size
from inspector.replay.pricing.prices import Pricing

NOW = 1_780_000_000.0
NAME = "6b6f4218-90a5-4a59-8bb7-3f0de7a4a2c1.jsonl"


@pytest.fixture(name="claude")
def claude_session(tmp_path: Path) -> ClaudeCode:
    return ClaudeCode(tmp_path / "projects" / NAME, NOW)


def row_of(path: Path, now: float = NOW, **options: int) -> LiveSession:
    return figures_of(path, **options).row(now)


def figures_of(path: Path, **options: int) -> LiveFigures:
    return LiveFigures(Pricing(), LiveReader(path, **options))


def test_the_next_prompt_is_the_reported_prompt_and_the_response(claude: ClaudeCode):
    for _ in range(4):
        claude.call()
    claude.call(tool=False)

    row = row_of(claude.path)
    # The fifth call reported 20,000 + 4 * 100 tokens and a response of 50.
    assert (row.prompt.value, row.prompt.known) == (20_450, HowKnown.EXACT)
    # 200,000 - 20,000 - 13,000, so the fill is 20,450 / 167,000.
    assert row.compacts_at.value == 167_000
    assert row.fill == pytest.approx(0.12245, abs=1e-5)


def test_appended_results_are_estimated_on_top(claude: ClaudeCode):
    for _ in range(5):
        claude.call()

    row = row_of(claude.path)
    assert row.prompt.known is HowKnown.CALIBRATED
    assert 20_450 < (row.prompt.value or 0) < 20_500


def test_dollars_are_those_of_the_reported_usage(claude: ClaudeCode):
    for number in range(2):
        claude.clock = NOW - 1_800 + 900 * number
        claude.call()

    row = row_of(claude.path, NOW - 1)
    # Opus 4.5 per million: 5 input, 0.5 read, 6.25 written, 25 output.
    first = (10 * 5 + 19_890 * 0.5 + 100 * 6.25 + 50 * 25) / 1e6
    second = (10 * 5 + 19_990 * 0.5 + 100 * 6.25 + 50 * 25) / 1e6
    assert row.spent.value == pytest.approx(first + second)
    assert (row.spent.known, row.spent.is_lower_bound) == (HowKnown.EXACT, False)
    # Only the second call is in the last 15 minutes: four times as much an hour.
    assert row.recent.usd.value == pytest.approx(4 * second)
    assert row.recent.tokens.value == pytest.approx(4 * (20_100 + 50))
    # Both within the 900 seconds between them.
    assert row.overall.usd.value == pytest.approx(4 * (first + second))


def test_a_cache_goes_cold_five_minutes_after_the_last_call(claude: ClaudeCode):
    claude.call()
    claude.call(tool=False)

    cache = row_of(claude.path, NOW + 60).cache
    assert (cache.state, cache.expires_at, cache.seconds_left(NOW + 60)) == (CacheState.WARM, NOW + 300, 240)
    # The prompt of 20,150 tokens: 20,090 were read or written, 60 are new.
    assert cache.warm_usd.value == pytest.approx((20_090 * 0.5 + 60 * 6.25) / 1e6)
    assert cache.cold_usd.value == pytest.approx(20_150 * 6.25 / 1e6)
    assert row_of(claude.path, NOW + 301).cache.state is CacheState.COLD


def test_a_session_works_while_a_result_is_unanswered_then_waits_and_ends(claude: ClaudeCode):
    claude.call()
    assert row_of(claude.path, NOW + 60).state is Activity.WORKING

    claude.call(tool=False)
    figures = figures_of(claude.path)
    # A response may continue with a tool call for three seconds.
    states = [figures.row(NOW + seconds).state for seconds in (1, 3, 599, 600, 7_199, 7_200)]
    expected = ["working", "waiting", "waiting", "idle", "idle", "ended"]
    assert states == expected
    assert figures.next_change(NOW) == NOW + 3
    assert figures.next_change(NOW + 300) == NOW + 600


def test_a_tool_call_with_the_same_arguments_is_a_loop_from_the_third_on(claude: ClaudeCode):
    claude.call()
    claude.call(same=True)
    claude.call(same=True)
    assert row_of(claude.path).attention(NOW) == ()

    claude.call(same=True)
    row = row_of(claude.path)
    assert row.loop is not None
    assert (row.loop.tool, row.loop.times) == ("Bash", 3)
    assert row.attention(NOW) == (Attention.LOOP,)

    claude.call()
    assert row_of(claude.path).loop is None


def test_a_call_that_reads_less_than_the_previous_prompt_is_a_miss(claude: ClaudeCode):
    claude.call()
    claude.call()
    text = claude.path.read_text()
    read = f'"cache_read_input_tokens": {prompt_of(1) - GROWTH - 10}'
    assert read in text
    claude.path.write_text(
        text.replace(read, '"cache_read_input_tokens": 0').replace(
            '"cache_creation_input_tokens": 100', '"cache_creation_input_tokens": 20090'
        )
    )

    for _ in range(200):
        claude.call()
    assert row_of(claude.path).misses == 1


def test_a_compaction_is_counted_and_the_prompt_begins_again(claude: ClaudeCode):
    for _ in range(3):
        claude.call()
    claude.compact(160_000)

    row = row_of(claude.path)
    assert row.compactions == 1
    # Compacted below the default of 167,000: another setting.
    assert (row.compacts_at.value, row.compacts_at.known) == (160_000, HowKnown.CALIBRATED)
    assert (row.prompt.value or 0) < 1_000
    assert row.prompt.is_lower_bound


def test_the_end_of_a_file_gives_the_same_figures_as_the_whole(claude: ClaudeCode):
    for _ in range(300):
        claude.clock = (claude.clock or 0) + 1
        claude.call()

    whole, part = row_of(claude.path, NOW + 301), row_of(claude.path, NOW + 301, tail_bytes=100_000)
    assert part.is_partial
    assert part.calls < whole.calls == 300
    assert (part.prompt, part.compacts_at, part.state, part.cache) == (
        whole.prompt,
        whole.compacts_at,
        whole.state,
        whole.cache,
    )
    assert (part.title, part.started, part.project) == (whole.title, whole.started, whole.project)
    assert part.spent.is_lower_bound
    assert not whole.spent.is_lower_bound


@pytest.mark.parametrize(
    "line",
    [b'{"type": "assistant", "mess\n', None],
    ids=["an unreadable record", "a number of the bill in an unknown field"],
)
def test_dollars_of_a_file_that_is_read_in_part_are_a_lower_bound(claude: ClaudeCode, line: bytes | None):
    claude.call()
    if line is None:
        text = claude.path.read_text(encoding="utf-8")
        assert text.count('"output_tokens":') == 1
        claude.path.write_text(
            text.replace('"output_tokens":', '"video_tokens": 700, "output_tokens":'), encoding="utf-8"
        )
    else:
        with claude.path.open("ab") as file:
            file.write(line)

    row = row_of(claude.path)
    assert row.spent.is_lower_bound
    assert not row.is_partial


def test_a_response_without_usage_yet_is_estimated_on_top_of_the_last_reported_prompt(tmp_path: Path):
    agent = make_agent(Codex, tmp_path, 0)
    for _ in range(3):
        agent.call()
    lines = agent.path.read_text().splitlines(keepends=True)
    # The report and the result of the third call are still missing.
    assert "token_count" in lines[-2]
    agent.path.write_text("".join(lines[:-2]))

    row = row_of(agent.path)
    assert row.prompt.known is HowKnown.CALIBRATED
    assert prompt_of(1) + OUTPUT < (row.prompt.value or 0) < prompt_of(2) + 50
    assert row.forecast is None


def test_more_than_the_end_is_read_if_it_reports_no_prompt(claude: ClaudeCode):
    claude.call()
    with claude.path.open("a") as file:
        for number in range(500):
            notice = {"type": "system", "subtype": "notice", "uuid": f"n{number}", "sessionId": claude.session}
            file.write(json.dumps({**notice, "content": "x" * 100, "version": "2.1.219"}) + "\n")

    row = row_of(claude.path, tail_bytes=8_000)
    assert row.calls == 1
    assert (row.prompt.value or 0) > prompt_of(0)


def test_one_of_several_sessions_in_a_file_is_read_in_full(tmp_path: Path):
    path = tmp_path / "runs.jsonl"
    display = f"user: {'Hello ' * 100}\nassistant: Done."
    path.write_text("".join(json.dumps({"messages_display": display}) + "\n" for _ in range(20)))

    reader = LiveReader(path.with_name("runs.jsonl#line-3"), tail_bytes=1_000)
    assert reader.skipped_bytes == 0
    assert len(reader.session.messages) == 2


def test_figures_after_each_call_are_those_of_a_new_reading(claude: ClaudeCode):
    claude.call()
    reader = LiveReader(claude.path)
    figures = LiveFigures(Pricing(), reader)
    for number in range(30):
        claude.clock = NOW + number
        claude.call()
        if number == 20:
            claude.compact(160_000)
        assert reader.refresh()
        figures.take()

        assert figures.row(NOW + number) == row_of(claude.path, NOW + number)


def test_a_session_without_usage_is_estimated_from_its_characters(tmp_path: Path):
    text = "x" * 35_000
    messages = [{"role": "user", "content": text}, {"role": "assistant", "content": "Done."}]
    path = tmp_path / "chat.json"
    path.write_text(json.dumps({"model": "gpt-5.4", "messages": messages}))

    row = row_of(path)
    # 35,005 characters at 3.5 a token.
    assert (row.prompt.value, row.prompt.known) == (10_001, HowKnown.ESTIMATED)
    assert row.spent.value is None


@pytest.mark.parametrize("kind", [ClaudeCode, Codex, Pi, OpenCode])
def test_every_format_reports_the_prompt_of_its_last_call(tmp_path: Path, kind: type):
    agent = make_agent(kind, tmp_path, 0)
    for _ in range(4):
        agent.call()

    row = row_of(agent.path, NOW)
    assert prompt_of(3) + OUTPUT <= (row.prompt.value or 0) <= prompt_of(3) + OUTPUT + 50
    assert row.calls == 4
    assert row.problems == 0


def window(tokens: int | None, *, may_be_larger: bool = False) -> ContextWindow:
    return ContextWindow(Figure(tokens, HowKnown.ESTIMATED), "", may_be_larger)


@pytest.mark.parametrize(
    ("name", "agent", "tokens", "size"),
    [
        ("claude-code", "Claude Code 2.1.20", 200_000, 155_000),
        ("claude-code", "Claude Code 2.1.21", 200_000, 167_000),
        ("claude-code", "Claude Code 2.1.219", 1_000_000, 967_000),
        ("codex", "Codex 0.140.0", 258_400, 244_800),
        ("pi", "pi", 200_000, 183_616),
        ("gemini-cli", "Gemini CLI", 1_000_000, 500_000),
        ("cline", "Cline", 200_000, None),
        ("pi", "pi", None, None),
    ],
)
def test_an_agent_compacts_at_its_default(name: str, agent: str, tokens: int | None, size: int | None):
    assert compaction_size(name, agent, window(tokens)) == Figure(size, HowKnown.ESTIMATED)


def test_a_session_that_compacted_earlier_has_another_setting():
    agent = "Claude Code 2.1.219"
    assert compaction_size("claude-code", agent, window(200_000), [167_400]).value == 167_000
    assert compaction_size("claude-code", agent, window(200_000), [120_100, 121_000]).value == 121_000
    assert compaction_size("opencode", "OpenCode", window(200_000), [112_579]).value == 112_579


def test_a_window_that_may_be_larger_makes_the_size_a_lower_bound():
    unsure = window(200_000, may_be_larger=True)
    assert compaction_size("claude-code", "Claude Code 2.1.219", unsure).is_lower_bound
    assert not compaction_size("claude-code", "Claude Code 2.1.74", unsure).is_lower_bound
    assert not compaction_size("claude-code", "Claude Code 2.1.219", unsure, [167_400]).is_lower_bound


def test_a_longer_prompt_in_another_session_shows_the_size_of_the_window(tmp_path: Path):
    agent = ClaudeCode(tmp_path / NAME, model="claude-opus-4-8")
    agent.call()
    reader = LiveReader(agent.path)

    alone = LiveFigures(Pricing(), reader).row(NOW)
    known = LiveFigures(Pricing(), reader, lambda model: 300_000 if model == "claude-opus-4-8" else 0).row(NOW)
    assert (alone.compacts_at.value, alone.compacts_at.is_lower_bound) == (167_000, True)
    assert (known.compacts_at.value, known.compacts_at.is_lower_bound) == (967_000, False)


def test_the_model_of_the_made_agent_has_one_window():
    # The tests above rely on it.
    assert Pricing().listed_window(CLAUDE) == 200_000
