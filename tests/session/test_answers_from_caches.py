"""Answers from a program's or gateway's own cache: part of the conversation, but no request was billed for them."""

import json
from pathlib import Path
from typing import Any

import pytest

from inspector.session.model import Role, Session, Usage
from inspector.session.open import open_session
from tests.session.run_files import encoded, inspect_log, inspect_sample, jsonl, log_of_requests
from tests.session.soundness import assert_sound
from tests.session.tap_store import archive, archive_of, entry
from tests.session.test_responses import growing as responses_log


def opened(path: Path, data: bytes) -> Session:
    path.write_bytes(data)
    session = open_session(path)
    assert_sound(session)
    return session


def inspect_with_cached(folder: Path, *turns: int) -> Session:
    """A sample of four turns, of which these were answered from the cache."""
    sample = inspect_sample(4)
    for turn in turns:
        sample["events"][1 + turn]["cache"] = "read"
    sample["events"][1]["cache"] = sample["events"][1].get("cache", "write")
    return opened(folder / "log.json", encoded(inspect_log([sample])))


def answers(session: Session) -> int:
    return sum(message.role is Role.ASSISTANT for message in session.messages)


def test_an_answer_from_inspects_cache_is_no_call_and_stays_in_the_prompt(tmp_path: Path) -> None:
    session = inspect_with_cached(tmp_path, 1, 2)
    assert answers(session) == 4
    # Turns 0 and 3 were made: prompts of 1 and 7 messages, 39 tokens each, 30 of them read.
    assert [call.prompt_messages for call in session.calls] == [1, 7]
    assert [call.usage for call in session.calls] == [Usage(uncached=9, cache_read=30, output=3)] * 2
    assert session.record_counts["event:model, answered from Inspect's cache"] == 2


def test_results_after_a_cached_last_answer_are_added_once(tmp_path: Path) -> None:
    session, made = (
        inspect_with_cached(tmp_path, 3),
        opened(tmp_path / "m.json", encoded(inspect_log([inspect_sample(4)]))),
    )
    assert [block.digest for block in session.blocks] == [block.digest for block in made.blocks]
    assert (len(session.calls), len(made.calls)) == (3, 4)


def test_a_sample_that_was_answered_from_the_cache_alone_costs_nothing(tmp_path: Path) -> None:
    session = inspect_with_cached(tmp_path, 0, 1, 2, 3)
    assert answers(session) == 4
    assert len(session.calls) == 0


HEADERS = [("cf-aig-cache-status", "HIT"), ("Helicone-Cache", "HIT"), ("x-portkey-cache-status", "SEMANTIC HIT")]


@pytest.mark.parametrize(("name", "value"), HEADERS)
def test_a_logged_answer_from_a_gateways_cache_is_no_call(tmp_path: Path, name: str, value: str) -> None:
    lines = log_of_requests(3)
    lines[1]["response"]["headers"] = {name: value}
    lines[2]["response"]["headers"] = {name: "MISS"}
    session = opened(tmp_path / "log.jsonl", jsonl(lines))
    assert answers(session) == 3
    assert [call.usage and call.usage.uncached for call in session.calls] == [1, 3]
    assert session.record_counts["request answered from a gateway's cache"] == 1


@pytest.mark.parametrize(("name", "value"), HEADERS)
def test_an_archived_answer_from_a_gateways_cache_is_no_call(tmp_path: Path, name: str, value: str) -> None:
    whole = archive_of(3)
    entries: list[dict[str, Any]] = whole["log"]["entries"][1:]
    entries[0]["response"]["headers"] = [{"name": name, "value": value}]
    session = opened(tmp_path / "requests.har", encoded(whole))
    assert answers(session) == 3
    assert [call.usage and call.usage.uncached for call in session.calls] == [2, 3]


def test_a_cached_answer_of_the_responses_api_continues_its_conversation(tmp_path: Path) -> None:
    entries = [
        entry(each["request"], json.dumps(each["response"]), place, "https://gateway.example/v1/responses")
        for place, each in enumerate(responses_log(3))
    ]
    entries[1]["response"]["headers"] = [{"name": "cf-aig-cache-status", "value": "HIT"}]
    session = opened(tmp_path / "requests.har", encoded(archive(entries)))
    # Reported prompts are 100, 200 and 300.
    assert [call.usage and call.usage.prompt for call in session.calls] == [100, 300]
    assert len(session.contexts) == 1
    assert session.side_calls == ()
