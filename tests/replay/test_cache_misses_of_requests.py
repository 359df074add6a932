"""Causes of cache misses in request logs: tool definitions, settings, and the provider's reasons."""

import json
from pathlib import Path

import pytest

from inspector.replay.analysis.cache_misses import cache_misses, describe_evidence, lifetimes
from inspector.replay.cache.miss_causes import MissCause
from inspector.replay.explain.explanation import write_lifetimes
from inspector.replay.figure import HowKnown
from inspector.replay.sessions import replay_session
from inspector.session.model import ReportedMiss
from inspector.session.open import open_session
from inspector.strategies.plan import Plan
from tests.replay.test_cache_misses_of_formats import GPT, Made, anthropic_usage, openai_responses
from tests.session.claude_lines import Script
from tests.session.run_files import Record, exchange, jsonl


def asked_and_answered(*systems_and_tools: tuple[str, str]) -> list[Record]:
    lines, messages = [], []
    for number, (system, tool) in enumerate(systems_and_tools):
        messages.append({"role": "user", "content": f"question {number}"})
        call = Made(10_000 + number, 0, 0.0, "claude-opus-4-8")
        content = [{"type": "text", "text": f"answer {number}"}]
        answer = {"role": "assistant", "model": call.model, "content": content, "usage": anthropic_usage(call)}
        lines.append(exchange(list(messages), answer, number, model=call.model, system=system, tools=[{"name": tool}]))
        messages.append({"role": "assistant", "content": content})
    return lines


@pytest.mark.parametrize(
    ("changed", "cause"),
    [
        (("You help.", "Read"), MissCause.TOOLS_CHANGED),
        (("You code.", "Bash"), MissCause.SYSTEM_PROMPT_CHANGED),
        (("You help.", "Bash"), MissCause.UNKNOWN),
    ],
    ids=["tools", "system prompt", "neither"],
)
def test_a_log_of_requests_shows_whether_the_tools_or_the_system_prompt_changed(
    changed: tuple[str, str], cause: MissCause, tmp_path: Path
) -> None:
    (tmp_path / "log.jsonl").write_bytes(jsonl(asked_and_answered(("You help.", "Bash"), changed)))

    found = cache_misses(replay_session(open_session(tmp_path / "log.jsonl"), Plan()))

    assert [miss.cause for miss in found.misses] == [cause]


@pytest.mark.parametrize(
    ("instructions", "tool", "cause"),
    [
        ("Be brief.", "look", MissCause.TOOLS_CHANGED),
        ("Be kind.", "read", MissCause.SYSTEM_PROMPT_CHANGED),
        ("Be brief.", "read", MissCause.LIKELY_SERVER_SIDE),
    ],
    ids=["tools", "system prompt", "neither"],
)
def test_a_log_of_responses_shows_whether_the_tools_or_the_instructions_changed(
    instructions: str, tool: str, cause: MissCause, tmp_path: Path
) -> None:
    calls = [Made(10_000, 0, 0.0, GPT[0]), Made(20_000, 9_984, 20.0, GPT[0]), Made(30_000, 0, 40.0, GPT[0])]
    path = openai_responses(tmp_path, calls)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        line["request"]["tools"] = [{"type": "function", "name": "read", "parameters": {}}]
    lines[2]["request"]["tools"] = [{"type": "function", "name": tool, "parameters": {}}]
    lines[2]["request"]["instructions"] = instructions
    path.write_bytes(jsonl(lines))

    found = cache_misses(replay_session(open_session(path), Plan()))

    assert [(miss.call, miss.cause) for miss in found.misses] == [(2, cause)]


SAID = {"cache_miss_reason": {"type": "tools_changed", "cache_missed_input_tokens": 9_000}}


@pytest.mark.parametrize(
    ("before", "now", "cause", "evidence"),
    [
        (
            {"type": "disabled"},
            {"type": "enabled", "budget_tokens": 4_000},
            MissCause.THINKING_CHANGED,
            "disabled before",
        ),
        (
            None,
            {"type": "enabled", "budget_tokens": 4_000},
            MissCause.THINKING_CHANGED,
            "off before, enabled, 4,000 tokens",
        ),
        ({"type": "enabled", "budget_tokens": 9}, {"type": "enabled", "budget_tokens": 9}, MissCause.UNKNOWN, ""),
    ],
    ids=["switched on", "silent before", "the same"],
)
def test_a_log_of_requests_shows_whether_the_thinking_changed(
    before: object, now: object, cause: MissCause, evidence: str, tmp_path: Path
) -> None:
    lines = asked_and_answered(("You help.", "Bash"), ("You help.", "Bash"))
    for line, thinking in zip(lines, (before, now), strict=True):
        line["request"]["body"] |= {} if thinking is None else {"thinking": thinking}
    (tmp_path / "log.jsonl").write_bytes(jsonl(lines))
    session = open_session(tmp_path / "log.jsonl")

    (miss,) = cache_misses(replay_session(session, Plan())).misses

    assert miss.cause is cause
    assert evidence in describe_evidence(miss, session)


@pytest.mark.parametrize(
    ("before", "now", "evidence"),
    [
        ({"Anthropic-Beta": "a,b"}, {"anthropic-beta": "b,c"}, "c added; a removed"),
        ({"x": "y"}, {"anthropic-beta": "b"}, "b added"),
        ({"anthropic-beta": "b, a"}, {"anthropic-beta": ["a", "b"]}, None),
        ({}, {"anthropic-beta": "b"}, None),
        ({"anthropic-beta": 7}, {"anthropic-beta": None, "x": 1}, None),
    ],
    ids=["other ones", "none before", "the same", "not known", "odd types"],
)
def test_a_log_of_requests_shows_whether_the_beta_features_changed(
    before: object, now: object, evidence: str | None, tmp_path: Path
) -> None:
    lines = asked_and_answered(("You help.", "Bash"), ("You help.", "Bash"))
    for line, headers in zip(lines, (before, now), strict=True):
        line["request"]["headers"] = headers
    (tmp_path / "log.jsonl").write_bytes(jsonl(lines))
    session = open_session(tmp_path / "log.jsonl")

    (miss,) = cache_misses(replay_session(session, Plan())).misses

    assert miss.cause is (MissCause.UNKNOWN if evidence is None else MissCause.BETAS_CHANGED)
    assert evidence is None or describe_evidence(miss, session) == evidence


def test_another_effort_is_another_thinking_level(tmp_path: Path) -> None:
    lines = asked_and_answered(("You help.", "Bash"), ("You help.", "Bash"))
    for line, effort in zip(lines, ("high", "xhigh"), strict=True):
        line["request"]["body"] |= {"thinking": {"type": "adaptive"}, "output_config": {"effort": effort}}
    (tmp_path / "log.jsonl").write_bytes(jsonl(lines))
    session = open_session(tmp_path / "log.jsonl")

    (miss,) = cache_misses(replay_session(session, Plan())).misses

    assert describe_evidence(miss, session) == "adaptive, effort high before, adaptive, effort xhigh now"


def test_betas_are_in_the_body_of_a_request_too(tmp_path: Path) -> None:
    lines = asked_and_answered(("You help.", "Bash"), ("You help.", "Bash"))
    for line, betas in zip(lines, (["a"], ["a", "b"]), strict=True):
        line["request"]["body"]["betas"] = betas
    (tmp_path / "log.jsonl").write_bytes(jsonl(lines))

    session = open_session(tmp_path / "log.jsonl")

    assert [call.betas for call in session.calls] == ["a", "a,b"]


@pytest.mark.parametrize("is_stream", [False, True], ids=["at once", "stream"])
def test_what_the_provider_says_is_in_logs_of_requests_too(is_stream: bool, tmp_path: Path) -> None:
    lines = asked_and_answered(("You help.", "Bash"), ("You help.", "Bash"))
    answer = lines[1]["response"]["body"]
    if is_stream:
        about = {name: answer[name] for name in ("role", "model", "usage")}
        events = [
            {"type": "message_start", "message": {**about, "content": [], "diagnostics": None}},
            {"type": "content_block_start", "index": 0, "content_block": answer["content"][0]},
            {"type": "message_delta", "delta": {"diagnostics": SAID}, "usage": {"output_tokens": 9}},
        ]
        lines[1]["response"] = {"body_raw": "\n\n".join(f"data: {json.dumps(event)}" for event in events)}
    else:
        answer["diagnostics"] = SAID
    (tmp_path / "log.jsonl").write_bytes(jsonl(lines))

    session = open_session(tmp_path / "log.jsonl")

    assert [call.miss for call in session.calls] == [None, ReportedMiss("tools_changed", 9_000)]


@pytest.mark.parametrize(
    ("diagnostics", "miss"),
    [
        (None, None),
        ({"cache_miss_reason": None}, None),
        ({"cache_miss_reason": {"type": "unavailable"}}, ReportedMiss("unavailable")),
        (SAID, ReportedMiss("tools_changed", 9_000)),
        ({"cache_miss_reason": {"type": None}}, None),
        ("no object", None),
        ({"cache_miss_reason": 7}, None),
        ({"cache_miss_reason": {"type": ["a"], "cache_missed_input_tokens": "many"}}, None),
    ],
    ids=["no divergence", "still compared", "not known", "a cause", "no type", "a string", "a number", "odd types"],
)
def test_claude_code_keeps_what_the_provider_says_with_every_line_of_a_response(
    diagnostics: object, miss: ReportedMiss | None, tmp_path: Path
) -> None:
    script = Script()
    script.prompt("go")
    for part in ("one", "two"):
        message = {
            "id": "m",
            "role": "assistant",
            "model": "claude-opus-4-8",
            "content": [{"type": "text", "text": part}],
            "usage": anthropic_usage(Made(9_000, 0, 0.0, "")),
            "diagnostics": diagnostics,
        }
        script.add(type="assistant", requestId="r", message=message)

    session = open_session(script.write(tmp_path / "session.jsonl"))

    assert [call.miss for call in session.calls] == [miss]
    assert not session.skipped_records
    assert session.calls[0].usage is not None


def responses_with(folder: Path, model: str, *answers: Record) -> Path:
    """A log of the Responses API in which the third call misses the cache; `answers` add to the calls' responses."""
    calls = [Made(10_000, 0, 0.0, model), Made(20_000, 9_984, 20.0, model), Made(30_000, 0, 40.0, model)]
    path = openai_responses(folder, calls)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line, added in zip(lines, answers, strict=True):
        line["response"] |= added
    path.write_bytes(jsonl(lines))
    return path


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("context_compacted", MissCause.COMPACTION),
        ("input_changed", MissCause.MESSAGES_REWRITTEN),
        ("model_changed", MissCause.MODEL_CHANGED),
        ("prompt_cache_key_changed", MissCause.CACHE_KEY_CHANGED),
        ("reasoning_effort_changed", MissCause.THINKING_CHANGED),
        ("service_tier_changed", MissCause.SERVICE_TIER_CHANGED),
        ("text_format_changed", MissCause.OUTPUT_FORMAT_CHANGED),
        ("tools_changed", MissCause.TOOLS_CHANGED),
        ("verbosity_changed", MissCause.OUTPUT_FORMAT_CHANGED),
    ],
)
def test_the_diagnostics_of_openai_are_the_recorded_cause_of_a_miss(
    reason: str, cause: MissCause, tmp_path: Path
) -> None:
    diagnostics = {"type": "cache_miss", "reason": reason, "cache_missed_tokens": 19_968}
    path = responses_with(tmp_path, "gpt-6.1-sol", {}, {}, {"prompt_cache_diagnostics": diagnostics})

    miss = cache_misses(replay_session(open_session(path), Plan())).all[-1]

    assert (miss.call, miss.cause, miss.known) == (2, cause, HowKnown.EXACT)
    assert miss.reported == ReportedMiss(reason, 19_968)


@pytest.mark.parametrize("kind", ["cache_hit", "comparison_response_not_found", "unavailable"])
def test_other_diagnostics_of_openai_are_no_cause(kind: str, tmp_path: Path) -> None:
    path = responses_with(tmp_path, "gpt-6.1-sol", {}, {}, {"prompt_cache_diagnostics": {"type": kind}})

    (miss,) = cache_misses(replay_session(open_session(path), Plan())).misses

    assert (miss.reported, miss.known) == (None, HowKnown.ESTIMATED)


@pytest.mark.parametrize(
    ("before", "now", "cause", "evidence"),
    [
        ({"service_tier": "default"}, {"service_tier": "priority"}, MissCause.SERVICE_TIER_CHANGED, "standard before"),
        ({"reasoning": {"effort": "low"}}, {"reasoning": {"effort": "high"}}, MissCause.THINKING_CHANGED, "low before"),
    ],
    ids=["tier", "effort"],
)
def test_a_log_of_responses_shows_whether_the_tier_or_the_effort_changed(
    before: Record, now: Record, cause: MissCause, evidence: str, tmp_path: Path
) -> None:
    written = {"usage": {"input_tokens": 30_000, "input_tokens_details": {"cache_write_tokens": 29_000}}}
    session = open_session(responses_with(tmp_path, "gpt-6.1-sol", before, before, now | written))

    (miss,) = cache_misses(replay_session(session, Plan())).misses

    assert miss.cause is cause
    assert evidence in describe_evidence(miss, session)


@pytest.mark.parametrize(("ttl", "dollars"), [("30m", 2.5), ("12h", 5.0)])
def test_writes_for_twelve_hours_cost_more_and_live_longer(ttl: str, dollars: float, tmp_path: Path) -> None:
    usage = {"input_tokens": 100_000, "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 100_000}}
    added = {"usage": usage, "prompt_cache_options": {"ttl": ttl, "mode": "implicit"}, "created_at": 1_795_176_000}
    session = open_session(responses_with(tmp_path, "gpt-6.2-sol", added, added, added))

    replayed = replay_session(session, Plan())

    # 100,000 tokens at $2.50 per million for 30 minutes, or at $5 for 12 hours.
    assert replayed.ledger.cost.tolist() == pytest.approx([dollars / 10] * 3)
    assert lifetimes(replayed).tolist() == [1_800.0 if ttl == "30m" else 43_200.0] * 3


@pytest.mark.parametrize(
    ("caches", "lifetimes"),
    [
        (("anthropic", "anthropic-1h"), ("5-minute ", "1-hour ")),
        (("openai-12h",), ("30-minute ", "12-hour ")),
        (("anthropic", "openai-30m"), ("", "long-lived ")),
    ],
)
def test_cache_writes_are_named_by_the_lifetimes_of_their_provider(
    caches: tuple[str, ...], lifetimes: tuple[str, str]
) -> None:
    assert write_lifetimes(caches) == lifetimes
