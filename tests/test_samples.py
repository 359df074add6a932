"""The bundled sessions match their README and can be generated again."""

import itertools
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from atif import Trajectory

from inspector.replay.analysis.best_plan import compared, plans_to_compare
from inspector.replay.analysis.recoveries import recoveries
from inspector.replay.analysis.reuse import find_reuse
from inspector.replay.engine.replay import replay
from inspector.replay.sessions import replay_session
from inspector.session.model import BlockKind
from inspector.session.open import open_session
from inspector.strategies.plan import Plan

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "sample_sessions"
ROW = re.compile(
    r"^\| `(?P<file>[^`]+)` \| [^|]+ \| (?P<entries>[\d,]+) \| (?P<calls>[\d,]+) \| (?P<longest>[\d,]+) "
    r"\| (?P<bytes>[\d,]+) \|$",
    re.MULTILINE,
)


def entries(name: str) -> list[dict]:
    text = (SAMPLES / name).read_text(encoding="utf-8")
    if name.endswith(".jsonl"):
        return [json.loads(line) for line in text.splitlines()]
    document = json.loads(text)
    return document["steps" if "steps" in document else "messages"]


def content(entry: dict) -> list[dict]:
    message = entry.get("message", entry)
    inner = message.get("content") if isinstance(message, dict) else None
    return inner if isinstance(inner, list) else []


def tool_calls(name: str) -> list[tuple[str, dict]]:
    """Name and input of every tool call, in order."""
    found = []
    for entry in entries(name):
        found += [(part["name"], part["input"]) for part in content(entry) if part["type"] == "tool_use"]
        calls = entry.get("tool_calls", [])
        functions = [call["function"] for call in calls if "function" in call]
        found += [(function["name"], json.loads(function["arguments"])) for function in functions]
        found += [(call["function_name"], call["arguments"]) for call in calls if "function_name" in call]
    return found


def results(name: str) -> list[str]:
    found = []
    for entry in entries(name):
        found += [part["content"] for part in content(entry) if part["type"] == "tool_result"]
        if entry.get("role") == "tool":
            found.append(entry["content"])
        found += [result["content"] for result in entry.get("observation", {}).get("results", [])]
    return found


def documented() -> dict[str, dict[str, int]]:
    rows = ROW.finditer((SAMPLES / "README.md").read_text(encoding="utf-8"))
    return {
        row["file"]: {key: int(row[key].replace(",", "")) for key in ("entries", "calls", "longest", "bytes")}
        for row in rows
    }


CLAUDE_CODE = ("coding-agent.jsonl", "security-agent.jsonl")


def usages(name: str) -> list[dict]:
    """Usage of every call of a Claude Code session, once a response, with its time."""
    lines = [line for line in entries(name) if line["type"] == "assistant"]
    by_response = {line["message"]["id"]: {**line["message"]["usage"], "time": line["timestamp"]} for line in lines}
    return list(by_response.values())


def prompt(usage: dict) -> int:
    return usage["input_tokens"] + usage["cache_read_input_tokens"] + usage["cache_creation_input_tokens"]


NAMES = sorted(path.name for path in SAMPLES.iterdir() if path.suffix in (".json", ".jsonl"))


def test_every_sample_is_documented() -> None:
    assert sorted(documented()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_the_readme_gives_the_size_of(name: str) -> None:
    found = {
        "entries": len(entries(name)),
        "calls": len(tool_calls(name)),
        "longest": max(map(len, results(name))),
        "bytes": (SAMPLES / name).stat().st_size,
    }
    assert documented()[name] == found


@pytest.mark.parametrize("name", NAMES)
def test_every_tool_call_has_a_result(name: str) -> None:
    assert len(tool_calls(name)) == len(results(name)) > 0


def test_all_samples_together_are_small() -> None:
    sizes = {name: (SAMPLES / name).stat().st_size for name in NAMES}
    assert sizes.pop("security-agent.jsonl") < 3_000_000
    assert sum(sizes.values()) < 1_500_000


def test_no_sample_names_the_machine_it_was_made_on() -> None:
    for name in NAMES:
        text = (SAMPLES / name).read_text(encoding="utf-8")
        roots = set(re.findall(r"(?<![\w.])/(?:home/\w+|root|opt|private|Users|tmp)\b", text))
        assert roots <= {"/home/sam"}, name


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="shell tools elsewhere write other spaces and other messages")
def test_making_the_samples_again_gives_the_same_bytes(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    script = ROOT / "scripts" / "make_samples.py"
    subprocess.run([sys.executable, script, tmp_path], env=environment, check=True, capture_output=True)
    for name in NAMES:
        assert (tmp_path / name).read_bytes() == (SAMPLES / name).read_bytes(), name


def test_the_trading_agent_begins_its_prompts_with_snapshots() -> None:
    asked = [entry["content"] for entry in entries("trading-desk.json") if isinstance(entry["content"], str)]
    assert all(text.startswith("[Live State ") and "[End Live State]\n\n" in text for text in asked)
    assert sum("[Briefing]\n" in text and "[End Briefing]\n\n" in text for text in asked) == len(asked[::6])


def test_the_mail_agent_passes_a_budget_of_forty_thousand_tokens() -> None:
    calls = [entry["usage"]["input_tokens"] for entry in entries("mail-and-jobs.jsonl") if "usage" in entry]
    assert calls == sorted(calls)
    assert calls[0] < 40_000 < calls[len(calls) // 2]


def test_the_coding_agent_reads_one_file_ten_times_and_says_why_it_edits() -> None:
    calls = tool_calls("coding-agent.jsonl")
    reads = Counter(arguments["file_path"] for name, arguments in calls if name == "Read")
    assert reads["/home/sam/project/meterbill/billing.py"] == 10
    assert all(arguments["intent"] for name, arguments in calls if name == "Edit")
    assert sum(len(text) > 10_000 for text in results("coding-agent.jsonl")) >= 5


@pytest.mark.parametrize("name", CLAUDE_CODE)
def test_a_coding_agent_is_compacted_once(name: str) -> None:
    boundaries = [line for line in entries(name) if line.get("subtype") == "compact_boundary"]
    assert len(boundaries) == 1
    assert boundaries[0]["compactMetadata"]["preTokens"] > 3 * boundaries[0]["compactMetadata"]["postTokens"]


def test_the_trial_of_a_benchmark_opens_as_the_trajectory_it_is() -> None:
    document = json.loads((SAMPLES / "benchmark-trial.json").read_text(encoding="utf-8"))
    Trajectory.model_validate(document)
    session = open_session(SAMPLES / "benchmark-trial.json")
    assert session.format == "atif"
    reported = [step["metrics"] for step in document["steps"] if "metrics" in step]
    known = [call.usage for call in session.calls if call.usage is not None]
    assert [usage.prompt for usage in known] == [one["prompt_tokens"] for one in reported]
    assert [usage.cache_read for usage in known] == [one["cached_tokens"] for one in reported]
    calls, answers = tool_calls("benchmark-trial.json"), results("benchmark-trial.json")
    blocks = [block for block in session.blocks if block.kind is BlockKind.TOOL_RESULT]
    assert [session.text(block) for block in blocks] == answers
    assert [block.tool_name for block in blocks] == [name for name, _ in calls]


@pytest.mark.parametrize("name", CLAUDE_CODE)
def test_a_coding_agents_lines_are_those_of_claude_code(name: str) -> None:
    lines = entries(name)
    assert lines[0]["type"] == "file-history-snapshot"
    known: set[str] = set()
    for line in lines:
        if "uuid" not in line:
            continue
        parent = line["parentUuid"] or line.get("logicalParentUuid")
        assert parent in known or (parent is None and not known)
        known.add(line["uuid"])
        if line["type"] == "assistant":
            assert len(line["message"]["content"]) == 1
        if "toolUseResult" in line:
            assert line["sourceToolAssistantUUID"] == line["parentUuid"]
    times = [line["timestamp"] for line in lines if "timestamp" in line and line.get("uuid")]
    assert times == sorted(times)


@pytest.mark.parametrize("name", CLAUDE_CODE)
def test_a_cache_read_is_what_the_previous_call_left_or_nothing_after_a_pause(name: str) -> None:
    calls = usages(name)
    cold = 0
    for before, after in itertools.pairwise(calls):
        left = before["cache_read_input_tokens"] + before["cache_creation_input_tokens"]
        assert before["cache_creation"]["ephemeral_5m_input_tokens"] == before["cache_creation_input_tokens"]
        if prompt(after) < prompt(before):
            continue
        cold += after["cache_read_input_tokens"] == 0
        assert after["cache_read_input_tokens"] in (0, left)
    assert cold == 1


def test_the_long_session_saves_much_without_needed_cuts_and_more_with_some() -> None:
    baseline = replay_session(open_session(SAMPLES / "security-agent.jsonl"), Plan(), precise=False)
    evidence = find_reuse(baseline.history)
    told = {}
    for name in ("aggressive", "tiered-stale", "maf-tool-calls"):
        plan = next(each for each in plans_to_compare(baseline.history.session) if each.name == name)
        planned = replay(baseline.inputs, plan)
        told[name] = compared(baseline, planned).savings.share.value, recoveries(baseline, planned, evidence).needed
    assert baseline.figures.calls.value >= 120
    assert baseline.figures.peak_prompt_tokens.value > 150_000
    assert told["aggressive"][0] > 0.25
    assert told["tiered-stale"][0] > 0.25
    assert told["aggressive"][1] == told["tiered-stale"][1] == 0
    assert told["maf-tool-calls"][0] > 0.4
    assert told["maf-tool-calls"][1] > 0
