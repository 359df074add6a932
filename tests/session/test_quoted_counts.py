"""Token counts in quotes are counts: a session with its usage as strings has the same totals, in every format."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from inspector.session.billing_terms import parse_billing_terms
from inspector.session.formats.chat import usage_of
from inspector.session.json import unquoted
from inspector.session.model import Usage
from inspector.session.open import open_session
from inspector.session.reading_check import totals_of
from tests.session.growing import GROWING

COUNT = re.compile(r"tokens?\b|^(input|output|read|write|reasoning|total|cached|thoughts|tool)$|cache", re.IGNORECASE)
"""Names of fields with a count in any format."""


def quoted(value: Any) -> Any:
    if isinstance(value, list):
        return [quoted(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: str(item) if type(item) is int and COUNT.search(name) else quoted(item) for name, item in value.items()
    }


SEVERAL_FILES = {"grok-build", "inspect archive"}


@pytest.mark.parametrize(
    "name",
    [name for name, made in GROWING.items() if made.family in ("lines", "document") and name not in SEVERAL_FILES],
)
def test_a_session_with_its_counts_in_quotes_has_the_same_totals(tmp_path: Path, name: str) -> None:
    made = GROWING[name]
    plain, strings = tmp_path / "plain" / made.name, tmp_path / "quoted" / made.name
    plain.parent.mkdir()
    strings.parent.mkdir()
    made.write(plain, 6)
    data = plain.read_bytes()
    pieces = data.splitlines(keepends=True) if made.family == "lines" else [data]
    strings.write_bytes(b"".join(json.dumps(quoted(json.loads(piece))).encode() + b"\n" for piece in pieces))
    sessions = open_session(plain), open_session(strings)
    assert totals_of(sessions[1]) == totals_of(sessions[0])
    assert [call.usage for call in sessions[1].calls] == [call.usage for call in sessions[0].calls]


def test_quoted_counts_of_anthropic_and_openai_add_up() -> None:
    anthropic = {"input_tokens": "10", "cache_read_input_tokens": " 200 ", "output_tokens": "7.0"}
    assert usage_of(anthropic) == Usage(uncached=10, cache_read=200, output=7)
    openai = {"prompt_tokens": "300", "completion_tokens": "9", "prompt_tokens_details": {"cached_tokens": "256"}}
    assert usage_of(openai) == Usage(uncached=300 - 256, cache_read=256, output=9)
    assert parse_billing_terms({"server_tool_use": {"web_search_requests": "3"}}).web_searches == 3


@pytest.mark.parametrize("text", ["", "-5", "12 tokens", "1,234", "1e9", "nan", "9" * 40])
def test_other_strings_are_no_counts(text: str) -> None:
    assert unquoted(text) == text
    assert usage_of({"input_tokens": text, "output_tokens": "5"}) == Usage(output=5)
