"""Output of the commands for real sessions."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec
import pytest

from inspector.report.document import Report
from inspector.report.numbers import MINUS
from tests.conftest import ROOT
from tests.program import COMMAND, environment, run_here, run_program
from tests.sample_figures import SAMPLE

SMALL = "claude-code/acc53d32-5580-4747-9273-e2acff2ba566.jsonl"
LARGE = "claude-code/0cf3db51-1c73-43bb-8d05-dc02739514a5.jsonl"


@pytest.fixture
def small(corpus: Path) -> Path:
    """A short session of Claude Code, of eleven calls."""
    return corpus / SMALL


@pytest.fixture
def compacted(capsys: pytest.CaptureFixture[str]) -> Callable[..., list[dict]]:
    def run(*arguments: str | os.PathLike[str]) -> list[dict]:
        outcome = run_here(capsys, "compact", *arguments)
        assert (outcome.code, outcome.err) == (0, "")
        return json.loads(outcome.out)

    return run


def test_compact_gives_messages_in_anthropics_form(small: Path, compacted):
    messages = compacted(small, "--strategy", "tiered-stale")

    asked = set()
    for message in messages:
        assert message["role"] in ("user", "assistant")
        for part in message["content"] if isinstance(message["content"], list) else ():
            if part["type"] == "tool_use":
                asked.add(part["id"])
            if part["type"] == "tool_result":
                assert part["tool_use_id"] in asked


def test_compact_gives_messages_in_openais_form(small: Path, compacted):
    messages = compacted(small, "--strategy", "tiered-stale", "--format", "openai")

    asked = set()
    for message in messages:
        asked |= {call["id"] for call in message.get("tool_calls", ())}
        if message["role"] == "tool":
            assert message["tool_call_id"] in asked
    assert asked


def test_compact_gives_less_the_more_a_plan_cuts(small: Path, compacted):
    sizes = [
        len(json.dumps(compacted(small, *arguments)))
        for arguments in ((), ("--strategy", "tiered-stale"), ("--strategy", "tiered-stale:data=0,action=0"))
    ]

    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 3


def test_compact_gives_the_prompt_of_one_call(small: Path, compacted):
    first, second = compacted(small, "--call", "1"), compacted(small, "--call", "2")

    assert [message["role"] for message in first] == ["user"]
    assert second[: len(first)] == first
    assert len(second) > len(first)
    assert compacted(small, "--call", "12") == compacted(small)


@pytest.mark.parametrize("call", ["0", "-1", "13"])
def test_a_call_there_is_not_is_wrong_usage_and_says_how_many_there_are(call: str, small: Path, capsys):
    outcome = run_here(capsys, "compact", small, "--call", call)

    assert outcome.code == 2
    assert "11 calls" in outcome.complaint


def test_strategies_given_one_by_one_are_one_plan_to_compact(small: Path, compacted):
    one_by_one = ("--strategy", "tiered-stale:data=300", "--strategy", "tiered-stale:action=20")

    assert compacted(small, *one_by_one) == compacted(
        small, "--strategy", "tiered-stale:data=300 + tiered-stale:action=20"
    )


def test_a_report_goes_to_the_named_file_and_not_to_standard_output(small: Path, tmp_path: Path, capsys):
    target = tmp_path / "report.json"
    outcome = run_program("report", small, "--format", "json", "-o", target)

    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    assert json.loads(target.read_text(encoding="utf-8"))["schema"] == 3
    assert run_here(capsys, "report", small, "-o", target).code == 0, "an earlier report may be replaced"


def test_a_report_never_replaces_a_session(small: Path, tmp_path: Path, capsys):
    session, other, link = tmp_path / "session.jsonl", tmp_path / "other.jsonl", tmp_path / "link"
    for path in (session, other):
        path.write_bytes(small.read_bytes())
    link.symlink_to(session)

    for target in (session, other, link, tmp_path):
        outcome = run_here(capsys, "report", session, "-o", target)
        assert outcome.code == 2
        assert str(target) in outcome.complaint
    assert session.read_bytes() == other.read_bytes() == small.read_bytes()


def test_a_target_that_cannot_be_written_is_one_line_that_names_it(small: Path, tmp_path: Path, capsys):
    target = tmp_path / "no-folder" / "report.txt"
    outcome = run_here(capsys, "report", small, "-o", target)

    assert outcome.code == 1
    assert str(target) in outcome.complaint


def test_a_report_into_a_pipe_has_no_colours(small: Path):
    assert "\x1b" not in run_program("report", small, env={"TERM": "xterm-256color", "FORCE_COLOR": "1"}).out


def test_reading_leaves_a_session_and_its_folder_as_they_were(small: Path, tmp_path: Path, capsys):
    session = tmp_path / "session.jsonl"
    session.write_bytes(small.read_bytes())
    before = session.stat()

    for arguments in (["report", session, "--strategy", "tiered-stale"], ["compact", session], ["formats", session]):
        assert run_here(capsys, *arguments).code == 0

    assert session.stat().st_mtime_ns == before.st_mtime_ns
    assert session.read_bytes() == small.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["session.jsonl"]


def wait_for_opening(process: int, path: Path) -> None:
    folder = Path(f"/proc/{process}/fd")
    if not folder.is_dir():
        time.sleep(1)
        return
    for _ in range(12_000):
        with suppress(OSError):
            if any(os.path.realpath(handle) == os.path.realpath(path) for handle in folder.iterdir()):
                return
        time.sleep(0.005)
    raise AssertionError(f"{path} was never opened")


def test_ctrl_c_ends_a_command_quietly(corpus: Path):
    with subprocess.Popen(
        [*COMMAND, "compare", corpus / LARGE],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Parallel test workers ignore the signal, and their child processes would inherit that.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509  this process has no threads
    ) as program:
        assert program.stderr is not None
        wait_for_opening(program.pid, corpus / LARGE)
        program.send_signal(signal.SIGINT)
        complaint = program.stderr.read()
        code = program.wait(60)

    assert (code, complaint) == (130, b"")


def test_formats_says_what_a_file_was_taken_for_why_and_what_is_in_it(small: Path, capsys):
    kinds: dict[str, int] = {}
    for line in small.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        kind = f"system:{record['subtype']}" if record["type"] == "system" else record["type"]
        kinds[kind] = kinds.get(kind, 0) + 1

    words = " ".join(run_here(capsys, "formats", small).out.split())

    assert "format claude-code" in words
    assert "reason" in words
    for kind, count in kinds.items():
        assert f"{count} {kind}" in words
    assert "Everything was read." in words


def test_formats_lists_every_format_with_where_it_is_looked_for():
    from inspector.session.registry import all_formats

    words = " ".join(run_program("formats").out.split())

    for each in all_formats():
        assert f"{each.name}: {each.title}" in words
        assert " ".join(each.where.split()) in words


def test_formats_says_of_a_database_and_of_a_folder_whether_it_is_there(tmp_path: Path, monkeypatch):
    from inspector.report.listings import formats_text
    from inspector.session.registry import all_formats

    (tmp_path / "opencode").mkdir()
    (tmp_path / "opencode" / "opencode.db").write_bytes(b"")

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    told = formats_text(all_formats(), 1_000)

    assert f"{tmp_path}/opencode/opencode.db (there)" in told
    assert f"{tmp_path}/opencode/storage (missing)" in told


def test_compare_has_a_row_for_every_strategy_and_the_best_comes_first(small: Path, capsys):
    from inspector.strategies.presets import PRESETS, display_name
    from inspector.strategies.registry import STRATEGIES

    outcome = run_here(capsys, "compare", small)
    plans = json.loads(run_here(capsys, "compare", small, "--format", "json").out)["plans"]
    names = {plan["name"] for plan in plans}
    named = {display_name(name): name for name in names}
    rows = [re.split("  +", line.strip())[0] for line in outcome.out.splitlines()]
    order = [named[row] for row in rows if row in named]

    assert set(STRATEGIES) <= names == set(order) <= {*STRATEGIES, *PRESETS}
    saved = {plan["name"]: plan["saved"]["percent"] for plan in plans}
    assert [saved[name] for name in order] == sorted(saved.values(), reverse=True)
    assert max(map(len, outcome.out.splitlines())) <= 80


def test_compare_says_what_the_best_plan_comes_to_over_runs_days_and_calls(small: Path, capsys, monkeypatch):
    from inspector.replay.analysis import best_plan

    every = best_plan.plans_to_compare
    few = ("hermes-proactive-prune", "keep-recent", "clear-old")
    monkeypatch.setattr(
        best_plan, "plans_to_compare", lambda session: [plan for plan in every(session) if plan.name in few]
    )
    asked = ("--runs-per-day", "10", "--days-per-month", "20", "--next-calls", "5")
    plans = json.loads(run_here(capsys, "compare", SAMPLE, *asked, "--format", "json").out)["plans"]
    best = max(
        (plan for plan in plans if plan["is_recommendable"]),
        key=lambda plan: plan["needed_later"]["saved_at_least_usd"],
    )
    words = " ".join(run_here(capsys, "compare", SAMPLE, *asked).out.split())
    without = " ".join(run_here(capsys, "compare", small, *asked).out.split())

    assert best["projection"]["usd_per_month"] == pytest.approx(20 * best["projection"]["usd_per_day"], abs=1e-4)
    assert best["next_calls"]["calls"] == 5
    assert f"10 runs a day, as set {best['name']} saves" in words
    assert f"next 5 calls {best['name']}:" in words
    assert "best plan nothing worth changing here" in without
    assert "10 runs a day" not in without


def test_savings_say_what_they_come_to_if_a_model_answers_otherwise(small: Path, tmp_path: Path, capsys):
    asked = ("--strategy", "keep-recent", "--runs-per-day", "10", "--next-calls", "5")
    plain = json.loads(run_here(capsys, "report", small, *asked, "--format", "json").out)["plans"][0]
    asked = (*asked, "--model-uncertainty")
    wide = json.loads(run_here(capsys, "report", small, *asked, "--format", "json").out)["plans"][0]

    found, cost = wide["uncertainty"], wide["figures"]["cost_usd"]
    assert plain["uncertainty"] is None
    assert plain["saved"] == wide["saved"]
    assert found["low_usd"] == pytest.approx(wide["saved"]["usd"] - cost * found["turns_high_percent"] / 100, abs=1e-4)
    assert found["high_usd"] == pytest.approx(wide["saved"]["usd"] - cost * found["turns_low_percent"] / 100, abs=1e-4)
    for part, low, high in (("projection", "usd_per_month_low", "usd_per_month_high"), ("next_calls", "low", "high")):
        bands = [each[part]["saved_usd"] if part == "next_calls" else each[part] for each in (plain, wide)]
        assert bands[1][low] < bands[0][low] <= bands[0][high] < bands[1][high]
    for form in ("text", "md"):
        said = " ".join(run_here(capsys, "report", small, *asked, "--format", form).out.split())
        assert f"if turns change by {MINUS}26 % to +32 %" in said
    folder = tmp_path / "sessions"
    folder.mkdir()
    shutil.copy(small, folder)
    asked = ("--strategy", "keep-recent", "--model-uncertainty")
    of_folder = json.loads(run_here(capsys, "report", folder, *asked, "--format", "json").out)["plans"][0]
    assert of_folder["uncertainty"]["low_usd"] == pytest.approx(found["low_usd"], abs=1e-4)
    assert "if turns change by" in run_here(capsys, "report", folder, *asked).out


def test_a_plan_is_priced_by_cache_breakpoints_in_json_and_elsewhere_if_they_matter(capsys):
    asked = ("report", ROOT / "sample_sessions" / "coding-agent.jsonl", "--strategy")
    prices = json.loads(run_here(capsys, *asked, "tiered-stale", "--format", "json").out)["plans"][0]["breakpoints"]

    assert [each["rule"] for each in prices] == ["claude-code", "end", "hermes-0.19"]
    assert [each["is_assumed"] for each in prices] == [True, False, False]
    assert "cost by cache breakpoints" in run_here(capsys, *asked, "tiered-stale").out
    # Nothing is edited behind the newest results, so no rule changes the price.
    assert "cost by cache breakpoints" not in run_here(capsys, *asked, "cap-at-insertion").out


def test_compare_sorts_by_every_column_it_offers(small: Path, capsys, monkeypatch):
    from inspector.cli.compare import FORMER_ORDERS
    from inspector.replay.analysis import best_plan as comparison
    from inspector.report.comparison import ORDERS

    # The order of some plans is that of all, and takes a fraction of the time.
    every = comparison.plans_to_compare
    monkeypatch.setattr(comparison, "plans_to_compare", lambda session: every(session)[::4])
    for key in ORDERS:
        report = msgspec.json.decode(
            run_here(capsys, "compare", small, "--format", "json", "--sort", key).out, type=Report
        )
        ranks = [ORDERS[key](plan) for plan in report.plans]
        assert ranks == sorted(ranks)
    for former, key in FORMER_ORDERS.items():
        asked = [run_here(capsys, "compare", small, "--sort", name).out for name in (former, key)]
        assert asked[0] == asked[1]


def test_compact_gives_well_formed_messages_under_every_strategy(corpus: Path, monkeypatch, compacted):
    from inspector.cli import reading
    from inspector.strategies.registry import STRATEGIES

    path = corpus / "claude-code-growth/cc432c40/snap4.jsonl"
    # Strategy-independent work is done once.
    session = reading.read_session(path)
    inputs = reading.replay_inputs(session)
    monkeypatch.setattr("inspector.cli.compact.read_session", lambda _: session)
    monkeypatch.setattr("inspector.cli.compact.replay_inputs", lambda _: inputs)
    for name in STRATEGIES:
        messages = compacted(path, "--strategy", name)
        parts = [part for message in messages if isinstance(message["content"], list) for part in message["content"]]
        results = [part["tool_use_id"] for part in parts if part["type"] == "tool_result"]
        asked = {part["id"] for part in parts if part["type"] == "tool_use"}
        assert set(results) <= asked, name
        assert len(results) == len(set(results)), name
