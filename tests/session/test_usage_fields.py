"""A number about the bill that no count includes takes the word "exact" from the totals, in every format."""

import io
import json
import re
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import replay
from inspector.replay.figure import HowKnown
from inspector.replay.pricing.prices import Pricing
from inspector.report.build_report import recorded_figures
from inspector.session import usage_fields
from inspector.session.model import Session, Usage
from inspector.session.open import open_session
from inspector.session.registry import all_formats
from inspector.session.usage_fields import ANTHROPIC, API, LineCheck, UsageFields
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from inspector.tokens.token_table import TokenTable
from tests.session import goose_store, growing, run_files
from tests.session.growing import GROWING

TURNS = 3
ADDED = "quantum_tokens"
NUMBER = 17

COUNT = re.compile(
    rb'(\\*)"((?:gen_ai\.usage\.)?)(?:output_tokens|completion_tokens|outputTokens|candidatesTokenCount|tokensOut|output'
    rb'|completionTokens)\\*": ?\d'
)
"""A count of output tokens: where it is, there is a usage report."""

EXPORTED = re.compile(rb'\{\s*"key": ?"gen_ai\.usage\.output_tokens"')


def _goose_with_usage(path: Path, turns: int) -> None:
    script = goose_store.GooseScript()
    script.user("go")
    for turn in range(turns):
        script.answer("looking", usage=goose_store.used((900 + turn, 500, 0, 40)))
        script.user("more")
    path.write_bytes(script.lines(message_count=0))


def _openhands_with_state(path: Path, turns: int) -> None:
    GROWING["openhands folder"].write(path, turns)
    (path / "base_state.json").write_text(json.dumps(run_files.openhands_state(turns)))


def _lines_of(turns: int, *more: dict[str, Any], **usage: int) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = list(more)
    for turn in range(turns):
        lines += [
            {"role": "user", "content": f"question {turn}"},
            {"role": "assistant", "content": [{"type": "text", "text": f"answer {turn}"}], "usage": usage},
        ]
    return lines


def _chat(path: Path, turns: int) -> None:
    system = {"role": "system", "content": "be brief"}
    path.write_bytes(run_files.jsonl(_lines_of(turns, system, prompt_tokens=90, completion_tokens=5)))


def _anthropic(path: Path, turns: int) -> None:
    calls = growing.messages(turns)
    made = [
        {**one, "usage": {"input_tokens": 90, "output_tokens": 5}} if one["role"] == "assistant" else one
        for one in calls
    ]
    path.write_text(json.dumps(made))


def _claude(path: Path, turns: int) -> None:
    lines = [json.loads(line) for line in growing.claude(turns)]
    for line in lines:
        if line["type"] == "assistant":
            line["message"]["usage"] = {"input_tokens": 90, "output_tokens": 5}
    path.write_bytes(run_files.jsonl(lines))


WITH_USAGE: dict[str, tuple[str, str, Callable[[Path, int], None]]] = {
    name: (known.format, known.name, known.write)
    for name, known in GROWING.items()
    if known.format not in ("openai-agents", "hermes", "transcripts", "swe-agent", "antigravity")
    and name
    not in (
        *("claude-code", "openhands lines", "openhands document", "openhands folder", "goose", "goose lines"),
        *("openai-chat", "openai-chat lines", "anthropic-messages", "anthropic lines", "openai-responses lines"),
        "cline messages",
    )
} | {
    "claude-code": ("claude-code", "s.jsonl", _claude),
    "openhands folder": ("openhands", "conversation", _openhands_with_state),
    "goose lines": ("goose", "s.jsonl", _goose_with_usage),
    "openai-chat": ("openai-chat", "chat.jsonl", _chat),
    "anthropic-messages": ("anthropic-messages", "chat.json", _anthropic),
}
"""Samples with reported usage: format, name and writer."""

WITHOUT_USAGE = {"openai-agents", "hermes", "transcripts", "swe-agent"}
"""Formats that record no usage of a call."""

OWN_TEST = {"antigravity"}
"""Formats with usage that is no JSON: their own tests add a field."""


def with_field(data: bytes, number: bytes) -> bytes:
    """Add a number to every usage report in a file's text."""
    if data.startswith(b"PK"):
        return _with_field_in_archive(data, number)

    def added(found: re.Match[bytes]) -> bytes:
        quote, prefix = found[1] + b'"', found[2]
        return quote + prefix + ADDED.encode() + found[1] + b'":' + number + b"," + found[0]

    exported = b'{"key":"gen_ai.usage.' + ADDED.encode() + b'","value":{"intValue":' + number + b"}},"
    return COUNT.sub(added, EXPORTED.sub(lambda found: exported + found[0], data))


def _with_field_in_archive(data: bytes, number: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(made, "w") as after:
        for member in before.infolist():
            after.writestr(member.filename, with_field(before.read(member), number))
    return made.getvalue()


def _add_to_rows(path: Path, number: bytes) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            columns = [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]
            rows = database.execute(f'SELECT rowid, * FROM "{table}"').fetchall()  # noqa: S608  a sample's own table
            for identifier, *values in rows:
                for column, value in zip(columns, values, strict=True):
                    data = value.encode() if isinstance(value, str) else value
                    if isinstance(data, bytes) and (made := with_field(data, number)) != data:
                        kept = made.decode() if isinstance(value, str) else made
                        change = f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?'  # noqa: S608  as above
                        database.execute(change, (kept, identifier))
        if "span_attributes" in tables:
            spans = database.execute("SELECT span_id FROM span_attributes WHERE key = 'gen_ai.usage.output_tokens'")
            database.executemany(
                "INSERT INTO span_attributes (span_id, key, value) VALUES (?, ?, ?)",
                [(span, f"gen_ai.usage.{ADDED}", number.decode()) for (span,) in spans.fetchall()],
            )


def made(name: str, folder: Path, number: int | None) -> Session:
    format_name, file_name, write = WITH_USAGE[name]
    path = folder / file_name
    write(path, TURNS)
    for file in sorted(folder.rglob("*")) if number is not None else ():
        if file.is_file() and file.read_bytes().startswith(b"SQLite"):
            _add_to_rows(file, str(number).encode())
        elif file.is_file():
            file.write_bytes(with_field(file.read_bytes(), str(number).encode()))
    session = open_session(path)
    assert session.format == format_name
    return session


def inputs_of(session: Session) -> ReplayInputs:
    return ReplayInputs.of(History.of(session), TokenTable.estimated(session), pricing=Pricing())


def counts(session: Session) -> list[tuple[int, ...] | None]:
    return [
        None if call.usage is None else (call.usage.prompt, call.usage.cache_read, call.usage.output)
        for call in session.calls
    ]


def test_every_format_is_tested_or_records_no_usage() -> None:
    tested = {format_name for format_name, _, _ in WITH_USAGE.values()}
    assert tested | WITHOUT_USAGE | OWN_TEST == {each.name for each in all_formats()}
    assert not tested & (WITHOUT_USAGE | OWN_TEST)


@pytest.mark.parametrize("name", WITH_USAGE)
def test_an_unknown_number_in_a_usage_report_makes_totals_lower_bounds_and_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "more").mkdir()
    plain, more = made(name, tmp_path / "plain", None), made(name, tmp_path / "more", NUMBER)
    assert counts(more) == counts(plain)
    assert any(counts(plain))
    assert not plain.ignored_usage
    (field,) = more.ignored_usage
    assert field.endswith(ADDED)
    assert any(field in each.reason and "lower bounds" in each.reason for each in more.diagnostics)

    inputs = inputs_of(more)
    figures, recorded = replay(inputs, Plan()).figures, recorded_figures(inputs)
    for found in (figures, recorded):
        if found is not None:
            for figure in (found.prompt_tokens, found.output_tokens, found.cost_usd):
                assert figure.known is not HowKnown.EXACT
                assert figure.is_lower_bound
    exact = recorded_figures(inputs_of(plain))
    if exact is not None and recorded is not None:
        assert exact.prompt_tokens.known is HowKnown.EXACT
        assert not exact.prompt_tokens.is_lower_bound
        assert exact.prompt_tokens.value == recorded.prompt_tokens.value
    if inputs.reported.any():
        call = int(inputs.reported.argmax())
        ignored = more.calls[call].usage
        assert ignored is not None
        assert inputs.prompt_known(call) is (HowKnown.ESTIMATED if ignored.ignored else HowKnown.EXACT)


@pytest.mark.parametrize("name", WITH_USAGE)
def test_an_unknown_field_without_a_count_changes_nothing(name: str, tmp_path: Path) -> None:
    assert not made(name, tmp_path, 0).ignored_usage


SMALL = UsageFields(
    frozenset({"input", "cache.read"}), {"cost": "computed from the counts"}, types={"steps": frozenset({"message"})}
)


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        ({"input": 5, "cache": {"read": 3}}, ()),
        ({"input": 5, "cost": {"input": 0.1, "output": 0.2}}, ()),
        ({"cache": {"write": 3}}, ("cache.write",)),
        ({"audio": 1, "video": 0, "name": "x", "flag": True, "none": None, "nan": float("nan")}, ("audio",)),
        ({"audio": "12", "version": "2.1.3", "digest": "e" * 99}, ("audio",)),
        ({"steps": [{"type": "message", "audio": 1}, {"type": "message", "audio": 2}]}, ("steps.audio",)),
        ({"steps": [{"type": "review", "input": 0}]}, ("steps:review",)),
        ({"steps": [{"input": 9}]}, ("steps.input",)),
        ([1, 2], ()),
        (None, ()),
    ],
)
def test_numbers_outside_the_lists_are_ignored_fields(reported: Any, expected: tuple[str, ...]) -> None:
    assert SMALL.ignored(reported) == expected
    assert SMALL.check(Usage(1), reported) == Usage(1, ignored=expected)
    assert SMALL.check(None, reported) is None


def test_names_in_a_diagnostic_are_short_and_plain() -> None:
    (name,) = SMALL.ignored({"a b\x1b[31m" + "x" * 100: 3})
    assert len(name) == 60
    assert re.fullmatch(r"[A-Za-z0-9_.:-]+", name)


def test_an_entry_of_unknown_kind_in_anthropics_iterations_is_a_request_of_unknown_kind() -> None:
    entry = {"type": "judge_message", "input_tokens": 900, "output_tokens": 9}
    assert API.ignored({"input_tokens": 5, "iterations": [entry]}) == ("iterations:judge_message",)
    known = {"type": "advisor_message", "model": "claude-opus-4-7", "input_tokens": 900, "output_tokens": 9}
    assert API.ignored({"input_tokens": 5, "iterations": [known]}) == ()


LINES = LineCheck(ANTHROPIC, "message", "usage")


def line(usage: Any, **fields: Any) -> bytes:
    return json.dumps({"message": {"content": [], "usage": usage}, **fields}, separators=(",", ":")).encode()


def test_the_usage_of_a_line_is_checked_where_it_is() -> None:
    assert LINES.ignored(line({"input_tokens": 5, "output_tokens": 7})) == ()
    assert LINES.ignored(line({"input_tokens": 5, "judged_tokens": 7})) == ("judged_tokens",)
    assert LINES.ignored(line({"input_tokens": 5}, toolUseResult={"usage": {"judged_tokens": 7}})) == ()
    assert LINES.ignored(b'{"message": {"content": "no usage"}}') == ()
    assert LINES.ignored(b'{"message": {"usage":{"input_tokens": ') == ()
    assert LINES.ignored(b"") == ()


COUNTS = st.dictionaries(
    st.sampled_from(["input_tokens", "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens", "judged_5m", "a}{b"]),
    st.one_of(st.integers(-9, 9_000), st.floats(0, 2), st.sampled_from(["7", ":5", "x:5", "}", "{", None])),
)


@given(COUNTS, COUNTS, st.sampled_from([(",", ":"), (", ", ": ")]), st.sampled_from(["cache_creation", "other"]))
def test_a_checked_line_agrees_with_its_decoded_usage(
    usage: dict[str, Any], inner: dict[str, Any], separators: tuple[str, str], name: str
) -> None:
    written = json.dumps({**usage, name: inner, "output_tokens": 5}, separators=separators)
    checked = f'{{"message":{{"content":["a}}"],"usage":{written}}},"uuid":"{{1"}}'.encode()
    assert LINES.ignored(checked) == ANTHROPIC.ignored(json.loads(written))


def test_a_report_of_known_fields_is_checked_without_decoding_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: bytes) -> NoReturn:
        raise AssertionError

    monkeypatch.setattr(usage_fields, "decode_json", refuse)
    writes = {"ephemeral_5m_input_tokens": 57, "ephemeral_1h_input_tokens": 0}
    assert LINES.ignored(line({"input_tokens": 5, "cache_creation": writes})) == ()
