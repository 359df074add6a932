"""`inspector why`: the answer on one screen, and its behavior on missing data."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from inspector.cli import main
from inspector.report.numbers import IN_TEXT
from inspector.report.sentences import REPLAY_CAVEAT
from inspector.safe_text import cell_width
from inspector.session.open import open_session
from inspector.strategies.presets import display_name
from tests.conftest import ROOT
from tests.hostile import DISTURBING, hostile_copy
from tests.program import run_here
from tests.sample_figures import READ, SAMPLE, WRITE, bill, dollars, missed, percent, saving
from tests.test_samples import prompt, usages

SAMPLES = ROOT / "sample_sessions"
BEST = "hermes-proactive-prune"
pytestmark = pytest.mark.usefixtures("searched_once")

ROWS, COLUMNS = 24, 80


def squeezed(text: str) -> str:
    return " ".join(text.split())


def test_it_says_what_a_session_cost_and_why_on_one_screen(capsys) -> None:
    outcome = run_here(capsys, "why", SAMPLE)
    lines = outcome.out.splitlines()
    said = squeezed(outcome.out)

    assert (outcome.code, outcome.err) == (0, "")
    assert len(lines) <= ROWS
    costs, missing, plan = bill(), missed(), saving(BEST)
    assert lines[0].endswith(f"cost {dollars(sum(costs))}")
    read, output = (f"{dollars(usd)} {percent(usd)}" for usd in (costs.read, costs.output))
    # 51.84 %: rounded up so that the shares add up to 100.0.
    rest = sum(round(100 * usd / sum(costs), 1) for usd in (costs.read, costs.output))
    written = f"{dollars(costs.written)} {100 - rest:.1f} %"
    assert f"cache reads {read} of the bill cache writes {written}" in said
    assert costs.uncached < sum(costs) / 1_000
    assert f"uncached input $0.00 <0.1 % output {output}" in said
    assert f"cache misses {dollars(missing)} more than cache reads, {percent(missing)} of the bill; 1 call" in said
    assert f"call 18 {dollars(missing)} expired (5 min): 11 min 3 s after call 17" in said
    assert "prevention return sooner, or use the one-hour cache (call 18)" in said
    # Sent by calls 5 to 25; calls 5 and 18 write it.
    costliest = dollars(6_983 * (2 * WRITE + 19 * READ))
    assert f"costliest results {costliest} Bash, message 9: 6,983 tokens, sent 21 times" in said
    net = f"net {dollars(plan.worst)} to {dollars(plan.best)} with {BEST}, after hardly any re-fetches"
    assert f"best plan saves {net}; {dollars(plan.saved)} ({percent(plan.saved)}) gross" in said
    assert REPLAY_CAVEAT in said
    assert "1-hour cache would have cost ~$0.10 more: 1 fewer miss" in said
    cold, warm = (f"~{dollars(prompt(usages(SAMPLE.name)[-1]) * price)}" for price in (WRITE, READ))
    next_call = f"next call {cold} once the cache is cold (from 2026-09-14 08:25 UTC), {warm} before (hit rate 97 %)"
    assert next_call in said


def test_compactions_are_named_where_they_are_a_part_of_the_bill(corpus: Path, capsys) -> None:
    path = corpus / "claude-code" / "0cf3db51-1c73-43bb-8d05-dc02739514a5.jsonl"
    if not path.exists():
        pytest.skip("the session is not in the corpus")

    said = {each: squeezed(run_here(capsys, "why", each).out) for each in (path, SAMPLE)}
    figures = {each: json.loads(run_here(capsys, "why", each, "--format", "json").out) for each in said}

    for each, report in figures.items():
        found, cost = report["compacted"], report["baseline"]["cost_usd"]
        row = f"compactions all {found['compactions']} removed {found['removed_tokens'] / 1_000:.0f}k tokens · "
        row += f"cache rewrites ${found['recached_usd']:.2f}"
        assert (row in said[each]) == ("compactions" in said[each]) == (found["recached_usd"] >= cost / 100)
    assert figures[path]["compacted"]["compactions"] == len(open_session(path).compactions)
    assert ["compactions" in text for text in said.values()] == [True, False]


def test_the_parts_of_the_bill_add_up_as_they_are_printed(capsys) -> None:
    for path in sorted(SAMPLES.glob("*.json*")):
        lines = run_here(capsys, "why", path).out.splitlines()
        parts = [
            line.split()
            for line in lines
            if line.startswith(("  cache reads", "  cache writes", "  uncached", "  output"))
        ]
        found = [word.lstrip("~").removeprefix("$") for words in parts for word in words if "$" in word]
        if not found:
            continue
        total = lines[0].rpartition(" ")[2].lstrip("~").removeprefix("$")
        assert sum(map(float, found)) == pytest.approx(float(total), abs=1e-9), path.name


@pytest.mark.parametrize("name", sorted(path.name for path in SAMPLES.glob("*.json*")))
def test_every_line_fits_a_small_terminal(name: str, capsys) -> None:
    outcome = run_here(capsys, "why", SAMPLES / name)

    assert outcome.code == 0
    assert max(map(cell_width, outcome.out.splitlines())) <= COLUMNS


def test_texts_of_a_hostile_session_reach_no_terminal_as_they_are(tmp_path: Path, capsys) -> None:
    outcome = run_here(capsys, "why", hostile_copy(SAMPLE, tmp_path / "hostile.jsonl", "\x1b[31m[b]\u202e\r\n"))

    assert outcome.code == 0
    assert not DISTURBING.search(outcome.out.replace("\n", ""))


def test_as_json_it_is_the_report_with_the_best_plan(capsys) -> None:
    found = json.loads(run_here(capsys, "why", SAMPLE, "--format", "json").out)

    assert found["best_plan"]["best"]["name"] == BEST
    assert found["best_plan"]["is_complete"] is True
    assert found["cache_misses"]["calls"] == 1
    main(["report", str(SAMPLE), "--format", "json"])
    alone = json.loads(capsys.readouterr().out)
    assert alone["best_plan"] is None
    assert {**found, "best_plan": None} == alone


def test_the_best_plan_is_the_one_that_comparing_finds(capsys) -> None:
    found = json.loads(run_here(capsys, "why", SAMPLE, "--format", "json").out)["best_plan"]
    plans = json.loads(run_here(capsys, "compare", SAMPLE, "--format", "json").out)["plans"]
    (same,) = (plan for plan in plans if plan["name"] == found["best"]["name"])

    assert same["saved"] == found["best"]["saved"]
    assert max(plan["saved"]["usd"] for plan in plans) == found["most"]["saved"]["usd"]
    recommendable = [plan for plan in plans if plan["is_recommendable"]]
    assert max(recommendable, key=lambda plan: plan["needed_later"]["saved_at_least_usd"]) == same
    assert {plan["needed_later"]["evidence"] for plan in recommendable} == {"tried"}


def test_beyond_lifts_the_envelope_and_says_so_in_every_command(capsys) -> None:
    found = json.loads(run_here(capsys, "why", SAMPLE, "--beyond", "--format", "json").out)["best_plan"]
    plans = json.loads(run_here(capsys, "compare", SAMPLE, "--beyond", "--format", "json").out)["plans"]
    why, compared = (squeezed(run_here(capsys, name, SAMPLE, "--beyond").out) for name in ("why", "compare"))
    page = run_here(capsys, "report", SAMPLE, "--beyond", "--format", "html", "--no-script").out

    best, own = found["best"], found["applicable"]
    assert found["beyond"]
    assert [each["needed_later"]["evidence"] for each in (best, own)] == ["beyond", "beyond"]
    (same,) = (plan for plan in plans if plan["name"] == best["name"])
    recommendable = [plan for plan in plans if plan["is_recommendable"]]
    assert max(recommendable, key=lambda plan: plan["needed_later"]["saved_at_least_usd"]) == same
    reason = best["needed_later"]["evidence_reason"]
    with_best = rf"best plan saves \S+ [^;]* with {re.escape(display_name(best['name']))}"
    assert re.search(with_best, why)
    assert f"beyond what has been tried: {reason}" in why
    assert re.search(with_best, compared)
    assert compared.count("beyond what has been tried") == 2
    assert f"Beyond what has been tried: {reason}" in page


def test_without_it_compare_recommends_no_untested_plan_for_the_agent(capsys) -> None:
    said = squeezed(run_here(capsys, "compare", SAMPLE).out)

    assert "Claude Code can apply no recommended plan among these" in said
    assert re.search(rf"best plan saves net [^;]* with {BEST},", said)
    assert "beyond what has been tried" not in said


def test_beyond_is_refused_on_many_sessions(tmp_path: Path, capsys) -> None:
    shutil.copy(SAMPLE, tmp_path / "a.jsonl")
    report = run_here(capsys, "report", tmp_path, "--beyond")
    sets = run_here(capsys, "compare", "--before", tmp_path, "--after", tmp_path, "--beyond")

    assert (report.code, sets.code) == (2, 2)
    assert "--beyond needs one" in report.err
    assert "--beyond is for one session" in sets.err


def test_that_the_agent_can_apply_no_plan_is_reported_before_the_best_plan(capsys) -> None:
    assert main(["why", str(SAMPLE), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["best_plan"]
    assert found["applicable"] is None
    assert found["best"] is not None
    assert main(["why", str(SAMPLE)]) == 0
    said = capsys.readouterr().out
    assert re.search("agent can apply +no recommended plan: inspector help apply\n +best plan +", said)


def test_it_says_when_a_session_was_and_which_hour_cost_most(corpus: Path, capsys) -> None:
    said = squeezed(run_here(capsys, "why", SAMPLE).out)
    path = corpus / "claude-code" / "e92f5a0b-1b9e-4913-98b3-c319b4d5e90b.jsonl"
    if not path.exists():
        pytest.skip("the session is not in the corpus")
    longer = run_here(capsys, "why", path, "--format", "json").out
    hours = json.loads(longer)["hours"]

    assert "2026-09-14 08:02 to 08:20 UTC (18 min 46 s)" in said
    assert "costliest hour" not in said
    assert [row["hour"] for row in hours] == [f"2026-07-23T{hour}:00:00Z" for hour in (20, 21, 22)]
    assert sum(row["usd"] for row in hours) == pytest.approx(json.loads(longer)["baseline"]["cost_usd"], abs=1e-5)
    assert sum(row["misses"] for row in hours) == 4
    told = squeezed(run_here(capsys, "why", path).out)
    assert "costliest hour $18.39 21:00 to 22:00 UTC, 51.8 %: 78 calls, 2 misses cache misses" in told


def test_another_model_is_priced_from_a_call_on_and_in_every_form(capsys) -> None:
    asked = ("why", SAMPLE, "--switch", "claude-sonnet-4-6", "--switch", "claude-opus-4-1", "--at", "20")
    said = squeezed(run_here(capsys, *asked).out)
    sonnet, opus = json.loads(run_here(capsys, *asked, "--format", "json").out)["model_switches"]

    assert (sonnet["model"], sonnet["call"], sonnet["calls"]) == ("claude-sonnet-4-6", 20, 15)
    assert sonnet["saved_usd"] == pytest.approx(sonnet["recorded_usd"] - sonnet["usd"], abs=1e-5)
    assert opus["saved_usd"] < 0
    assert sonnet["known"]["usd"] == "projected"
    saved, cost = IN_TEXT.dollars(sonnet["saved_usd"]), IN_TEXT.dollars(-opus["saved_usd"])
    assert f"other model claude-sonnet-4-6 from call 20 on would have saved ~{saved}: " in said
    assert f"other model claude-opus-4-1 from call 20 on would have cost ~{cost} more: " in said


def test_from_the_first_call_on_unless_said_otherwise(capsys) -> None:
    said = squeezed(run_here(capsys, "why", SAMPLE, "--switch", "claude-sonnet-4-6").out)

    assert "other model claude-sonnet-4-6 throughout would have saved ~$0.70: ~$1.05 instead of $1.75" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--at", "3"), "--at is the first call on another model: add --switch MODEL"),
        (("--switch", "sonet"), "no price for sonet"),
        (("--switch", "sonet"), "this session uses claude-sonnet-4-6, claude-haiku-4-5"),
        (("--switch", "claude-sonnet-4-6", "--at", "99"), "call 99 is out of range: calls are 1 to 34"),
        (("--switch", "claude-sonnet-4-6", "--at", "0"), "'0' is not a call; use its number, from 1"),
        (("--switch", "a", "--model", "b"), "remove --model"),
    ],
)
def test_a_switch_that_nothing_can_come_of_is_refused_with_what_to_do(words, said: str, capsys) -> None:
    outcome = run_here(capsys, "why", SAMPLE, *words)

    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err


def test_reports_say_the_same_of_another_model_but_of_one_session_alone(tmp_path: Path, capsys) -> None:
    asked = ("--switch", "claude-sonnet-4-6", "--at", "20", "--format")
    alone = json.loads(run_here(capsys, "why", SAMPLE, *asked, "json").out)["model_switches"]
    report = run_here(capsys, "report", SAMPLE, *asked, "json").out
    page = run_here(capsys, "report", SAMPLE, *asked, "md").out
    many = run_here(capsys, "report", SAMPLES, *asked, "json")

    assert json.loads(report)["model_switches"] == alone
    assert "claude-sonnet-4-6 from call 20 on would have saved" in page
    assert (many.code, many.out) == (2, "")
    assert "--switch needs one: pass its file" in many.err


def test_a_session_without_a_price_is_answered_in_sizes(capsys) -> None:
    said = squeezed(run_here(capsys, "why", SAMPLES / "local-agent.json").out)

    assert "cost unknown its model has no price" in said
    assert "cache misses no prompt cache was used" in said
    assert "of the tokens" in said
    assert "no price for qwen3-coder-30b-a3b-instruct" in said


def test_the_newest_session_needs_no_name(tmp_path: Path, capsys) -> None:
    for age, name in enumerate(("coding-agent.jsonl", "terminal-agent.jsonl")):
        path = shutil.copy(SAMPLES / name, tmp_path)
        os.utime(path, (2_000_000_000 - age, 2_000_000_000 - age))

    outcome = run_here(capsys, "why", "--last", tmp_path)

    assert outcome.err == f"inspector: the newest session: {tmp_path / 'coding-agent.jsonl'}\n"
    assert outcome.out.startswith("Why 1880028d-a733-47d1-a718-3179ea814247 cost $1.75")


def test_what_names_no_single_session_is_refused_with_what_to_do(tmp_path: Path, capsys) -> None:
    nothing, many, missing = (
        run_here(capsys, "why", *words) for words in ((), (SAMPLES,), (tmp_path / "missing.jsonl",))
    )

    assert nothing.code == 2
    assert "pass a session, or --last" in nothing.err
    assert many.code == 1
    sessions = len(list(SAMPLES.glob("*.json*")))
    assert f"a directory with {sessions} sessions. Give the path of one, such as the newest: " in many.err
    assert many.err.endswith(f"all of them: inspector report {SAMPLES}\n")
    assert missing.code == 1
    assert "no such file" in missing.err.lower()


def test_an_answer_is_never_written_over_a_session(tmp_path: Path, capsys) -> None:
    session = Path(shutil.copy(SAMPLE, tmp_path))
    before = session.read_bytes()

    assert run_here(capsys, "why", session, "-o", session).code == 2
    assert run_here(capsys, "why", session, "-o", tmp_path / "why.txt").code == 0
    assert session.read_bytes() == before
    assert (tmp_path / "why.txt").read_text(encoding="utf-8").startswith("Why ")
