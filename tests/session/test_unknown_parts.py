"""The watch for new agent versions: unknown kinds of records and unknown usage fields are counted and named."""

import json
from pathlib import Path
from typing import Any

import pytest

from inspector.report.json_document import schema_text
from inspector.report.listings import FormatsReport, reading_text
from inspector.session.format import ContainedSession
from inspector.session.model import Session
from inspector.session.open import open_session
from inspector.session.registry import all_formats, detect
from inspector.session.unknown_parts import UnknownParts, by_agent, unknown_parts
from tests.conftest import ROOT
from tests.program import run_here
from tests.session.claude_lines import Script
from tests.session.growing import GROWING

USAGE = {"input_tokens": 100, "output_tokens": 5}


def claude(folder: Path, *extra: dict[str, Any], version: str = "2.1.310", usage: dict[str, int] | None = None) -> Path:
    script = Script()
    script.prompt("go", version=version)
    script.text("m1", "done", version=version, usage={**USAGE, **(usage or {})})
    for fields in extra:
        script.add(**fields, version=version)
    return script.write(folder / "session.jsonl")


def sessions_below(folder: Path) -> list[Session]:
    """Open everything below a folder that is a session."""
    found = []
    for path in sorted(folder.rglob("*")):
        try:
            found.append(open_session(path))
        except Exception:  # noqa: BLE001, S112  not a session
            continue
    return found


def test_records_of_an_unknown_kind_are_counted_with_the_version_that_wrote_them(tmp_path: Path) -> None:
    extra = [{"type": "context-lease", "seconds": each} for each in range(12)]
    found = unknown_parts(open_session(claude(tmp_path, *extra)))
    assert found == UnknownParts("Claude Code 2.1.310", 1, {"context-lease": 12}, {})
    (sentence,) = found.sentences()
    assert sentence == (
        "12 records of a kind this version does not know, written by Claude Code 2.1.310: figures may be incomplete "
        "(context-lease)"
    )


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        ({"type": "system", "subtype": "snip_boundary"}, "system:snip_boundary"),
        ({"type": "attachment", "attachment": {"type": "weather"}}, "attachment:weather"),
    ],
)
def test_subtypes_are_kinds_of_their_own(tmp_path: Path, record: dict[str, Any], kind: str) -> None:
    assert unknown_parts(open_session(claude(tmp_path, record))).records == {kind: 1}


def test_known_kinds_are_no_alarm(tmp_path: Path) -> None:
    known: list[dict[str, Any]] = [
        {"type": "system", "subtype": "turn_duration"},
        {"type": "system", "subtype": "api_error"},
        {"type": "attachment", "attachment": {"type": "todo_reminder", "content": []}},
        {"type": "attachment", "attachment": {"type": "command_permissions"}},
        {"type": "file-history-snapshot"},
        {"type": "progress", "data": {}},
    ]
    assert unknown_parts(open_session(claude(tmp_path, *known))).count == 0


def test_unknown_usage_fields_are_counted_with_the_version_that_wrote_them(tmp_path: Path) -> None:
    found = unknown_parts(open_session(claude(tmp_path, usage={"judged_tokens": 7})))
    assert found.fields == {"judged_tokens": 1}
    (sentence,) = found.sentences()
    assert sentence == (
        "1 usage report with a field this version does not know, written by Claude Code 2.1.310: totals are lower "
        "bounds (judged_tokens)"
    )


def test_unknown_parts_are_summed_up_by_agent_version() -> None:
    found = by_agent(
        [
            UnknownParts("Codex 0.160", 1, {"event_msg:lease": 2}, {}),
            UnknownParts("Codex 0.154", 1, {}, {}),
            UnknownParts("Codex 0.160", 1, {"event_msg:lease": 3, "lease": 1}, {"judged_tokens": 4}),
            UnknownParts("Claude Code 2.1.310", 1, {"lease": 1}, {}),
        ]
    )
    assert found == [
        UnknownParts("Codex 0.160", 2, {"event_msg:lease": 5, "lease": 1}, {"judged_tokens": 4}),
        UnknownParts("Claude Code 2.1.310", 1, {"lease": 1}, {}),
    ]


def test_a_sentence_names_the_first_kinds_only() -> None:
    found = UnknownParts("Codex 0.160", 1, {f"kind{each}": 1 for each in range(7)}, {})
    assert found.about_records.endswith("(kind0, kind1, kind2, kind3, 3 more)")


@pytest.mark.parametrize("name", GROWING)
def test_samples_of_every_format_are_known(name: str, tmp_path: Path) -> None:
    known = GROWING[name]
    known.write(tmp_path / known.name, 3)
    assert unknown_parts(open_session(tmp_path / known.name)).count == 0


def test_recorded_sessions_of_known_versions_are_no_alarm(corpus: Path) -> None:
    found = [
        *sessions_below(corpus),
        *sessions_below(corpus.parent / "cases"),
        *sessions_below(ROOT / "sample_sessions"),
    ]
    assert len(found) > 200
    assert by_agent(unknown_parts(session) for session in found) == []


def test_bookkeeping_is_known_in_every_format() -> None:
    for each in all_formats():
        for kind in ("session", "metadata", "other", "custom-title", "step-start"):
            assert each.knows_record(kind) or not each.is_bookkeeping(kind), f"{each.name}: {kind}"


WATCHED = {
    *("antigravity", "claude-code", "codex", "copilot-cli", "deepseek-harness", "gemini-cli", "grok-build"),
    *("inspector-lines", "kimi-cli", "kimi-code", "opencode", "openhands", "pi", "qwen-code", "vscode-chat"),
}


def test_agents_with_typed_records_are_watched() -> None:
    unknown = {"antigravity": "step of type 4711", "opencode": "part:lease"}
    watched = {each.name for each in all_formats() if not each.knows_record(unknown.get(each.name, "lease"))}
    assert watched == WATCHED


def test_detection_is_not_changed_by_unknown_kinds(tmp_path: Path) -> None:
    assert detect(claude(tmp_path, {"type": "context-lease"})).format.name == "claude-code"


def test_formats_prints_how_a_file_was_read_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = claude(tmp_path, {"type": "context-lease"}, {"type": "progress"}, usage={"judged_tokens": 7})
    report = json.loads(run_here(capsys, "formats", "--json", path).out)
    (session,) = report["sessions"]
    assert (session["format"], session["agent"]) == ("claude-code", "Claude Code 2.1.310")
    assert (session["messages"], session["calls"], session["calls_with_usage"]) == (3, 1, 1)
    assert {each["kind"]: each["status"] for each in session["records"]} == {
        "assistant": "read",
        "context-lease": "unknown",
        "progress": "ignored",
        "user": "read",
    }
    assert [each["problem"] for each in session["problems"]] == [
        "unknown field judged_tokens in 1 usage report: totals are lower bounds"
    ]
    (unknown,) = report["unknown"]
    assert (unknown["records"], unknown["fields"]) == ({"context-lease": 1}, {"judged_tokens": 1})
    assert len(unknown["sentences"]) == 2


def test_formats_sums_up_a_folder_by_agent_version(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, version, records in (("a", "2.1.310", 2), ("b", "2.1.310", 3), ("c", "2.1.299", 1), ("d", "2.1.298", 0)):
        (tmp_path / name).mkdir()
        claude(tmp_path / name, *[{"type": "context-lease"}] * records, version=version)
    (tmp_path / "e.jsonl").write_bytes(b"\x00\x01")
    report = json.loads(run_here(capsys, "formats", "--json", tmp_path).out)
    assert len(report["sessions"]) == 4
    assert len(report["unread"]) == 1
    found = [(each["agent"], each["sessions"], each["records"]) for each in report["unknown"]]
    assert found == [
        ("Claude Code 2.1.310", 2, {"context-lease": 5}),
        ("Claude Code 2.1.299", 1, {"context-lease": 1}),
    ]


def test_formats_lists_every_format_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    report = json.loads(run_here(capsys, "formats", "--json").out)
    assert [each["name"] for each in report["formats"]] == [each.name for each in all_formats()]
    assert report["sessions"] == report["unknown"] == []


def test_the_published_schema_of_formats_is_the_one_the_types_make() -> None:
    published = (ROOT / "docs" / "formats-report.schema.json").read_text(encoding="utf-8")
    assert published == schema_text(FormatsReport), "run: python -m inspector.report.json_document formats > docs/…"


def test_a_listing_and_a_report_name_unknown_kinds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = claude(tmp_path, {"type": "context-lease"})
    listing = " ".join(run_here(capsys, "formats", path).out.split())
    assert "1 context-lease unknown to this version" in listing
    assert "1 record of a kind this version does not know, written by Claude Code 2.1.310" in listing
    assert "Everything was read." not in listing
    report = json.loads(run_here(capsys, "report", path, "--format", "json").out)
    assert any("of a kind this version does not know" in each for each in report["warnings"])


def test_a_report_marks_totals_of_ignored_usage_as_lower_bounds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = claude(tmp_path, usage={"judged_tokens": 7})
    report = json.loads(run_here(capsys, "report", path, "--format", "json").out)
    assert {"prompt_tokens", "output_tokens"} <= set(report["recorded"]["at_least"])
    assert report["recorded"]["known"]["prompt_tokens"] == "estimated"
    assert any("judged_tokens" in each for each in report["warnings"])
    assert not any("read in part" in each for each in report["warnings"])


def test_sessions_with_one_id_in_a_file_are_listed_without_another_to_open(monkeypatch: pytest.MonkeyPatch) -> None:
    path = ROOT / "sample_sessions" / "terminal-agent.jsonl"
    session, detection = open_session(path), detect(path)
    twice = [ContainedSession(path, session.identifier)] * 2
    monkeypatch.setattr(type(detection.format), "contained_sessions", lambda *_: twice)
    assert "2 sessions; all have the same id" in reading_text(detection, session, color=False)
