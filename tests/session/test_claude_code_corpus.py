"""Real Claude Code sessions, checked against counts made here with nothing but the json module."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from inspector.session.model import BlockKind, Role, Session
from inspector.session.open import open_session

FILES = (
    "claude-code/0cf3db51-1c73-43bb-8d05-dc02739514a5.jsonl",
    "claude-code/be2220da-eaff-40d2-b482-9f05cced3187.jsonl",
    "claude-code/70d782f7-b303-4e48-9512-6bec16c37abd.jsonl",
    "claude-code/8ecab05f-4481-43d6-9428-a6b177981877.jsonl",
    "claude-code/e92f5a0b-1b9e-4913-98b3-c319b4d5e90b.jsonl",
    "claude-code/acc53d32-5580-4747-9273-e2acff2ba566.jsonl",
    "claude-code/fe5e1c67-53e7-4862-81ae-d0e013e3270b.jsonl",
    "claude-code/5c0375b4-57a5-4f26-b12d-d022ee4e51b7.jsonl",
    *(f"claude-code-growth/cc432c40/snap{number}.jsonl" for number in range(5)),
)

Lines = list[dict[str, Any]]


@pytest.fixture(scope="module", params=FILES)
def path(request: pytest.FixtureRequest, corpus: Path) -> Path:
    file: Path = corpus / request.param
    return file


@pytest.fixture(scope="module")
def lines(path: Path) -> Lines:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


@pytest.fixture(scope="module")
def session(path: Path) -> Session:
    return open_session(path)


def parts(lines: Lines, kind: str) -> list[dict[str, Any]]:
    """Content parts of a type, of user and assistant lines, in file order."""
    contents = [line["message"]["content"] for line in lines if line["type"] in ("user", "assistant")]
    return [part for content in contents if isinstance(content, list) for part in content if part["type"] == kind]


def is_model_response(line: dict[str, Any]) -> bool:
    return line["type"] == "assistant" and line["message"]["model"] != "<synthetic>"


def test_every_file_of_the_corpus_is_in_the_list(corpus: Path) -> None:
    listed = {corpus / name for name in FILES}
    assert {*(corpus / "claude-code").rglob("*.jsonl"), *(corpus / "claude-code-growth").rglob("*.jsonl")} == listed


def test_nothing_is_left_out_of_sound_files(session: Session) -> None:
    assert session.skipped_records == 0
    assert session.diagnostics == ()
    assert session.format == "claude-code"


def test_usage_is_counted_once_a_response(session: Session, lines: Lines) -> None:
    last = {line["message"]["id"]: line["message"]["usage"] for line in lines if is_model_response(line)}
    usages = [call.usage for call in session.calls if call.usage is not None]
    for name, counted in (
        ("input_tokens", [usage.uncached for usage in usages]),
        ("cache_read_input_tokens", [usage.cache_read for usage in usages]),
        ("cache_creation_input_tokens", [usage.cache_write_5m + usage.cache_write_1h for usage in usages]),
        ("output_tokens", [usage.output for usage in usages]),
    ):
        assert sum(counted) == sum(usage.get(name) or 0 for usage in last.values()), name
    assert len(session.calls) == len(last)


def test_every_part_of_every_message_is_there_once(session: Session, path: Path) -> None:
    parts, answers, offset = [], set(), 0
    for line in path.read_bytes().split(b"\n"):
        record = json.loads(line) if line else {}
        if record.get("type") in ("user", "assistant"):
            content = record["message"]["content"]
            parts += [(offset, part) for part in range(len(content) if isinstance(content, list) else 1)]
            if record["type"] == "assistant":
                answers.add(record["message"]["id"])
        offset += len(line) + 1
    messages = [message for message in session.messages if message.role in (Role.USER, Role.ASSISTANT)]
    starts = {start for start, _ in parts}
    found = [(block.origin.offset, block.origin.part) for message in messages for block in message.blocks]
    assert sorted(place for place in found if place[0] in starts) == parts
    assert sum(message.role is Role.ASSISTANT for message in messages) == len(answers)


def test_calls_and_results_of_tools_are_all_there(session: Session, lines: Lines) -> None:
    calls = [block for block in session.blocks if block.kind is BlockKind.TOOL_CALL]
    results = [block for block in session.blocks if block.kind is BlockKind.TOOL_RESULT]
    assert sorted(block.tool_call_id for block in calls) == sorted(part["id"] for part in parts(lines, "tool_use"))
    recorded = parts(lines, "tool_result")
    assert sorted(block.tool_call_id for block in results) == sorted(part["tool_use_id"] for part in recorded)
    assert sum(block.is_error for block in results) == sum(bool(part.get("is_error")) for part in recorded)
    names = {part["id"]: part["name"] for part in parts(lines, "tool_use")}
    assert all(block.tool_name == names[block.tool_call_id] for block in results)


def test_the_number_of_results_is_that_of_the_manifest(session: Session, path: Path, corpus: Path) -> None:
    with (corpus / "MANIFEST.tsv").open(newline="") as manifest:
        rows = {row["local_path"]: row for row in csv.DictReader(manifest, delimiter="\t")}
    row = rows[path.relative_to(corpus).as_posix()]
    results = sum(block.kind is BlockKind.TOOL_RESULT for block in session.blocks)
    assert results == int(row["tool_results"])


def test_texts_read_again_are_those_recorded(session: Session, lines: Lines) -> None:
    by_call = {part["tool_use_id"]: part["content"] for part in parts(lines, "tool_result")}
    inputs = {part["id"]: part["input"] for part in parts(lines, "tool_use")}
    for block in session.blocks:
        text = session.text(block)
        assert len(text) == block.characters
        assert text.startswith(block.preview)
        if block.kind is BlockKind.TOOL_RESULT and block.plain_text:
            assert text == by_call[block.tool_call_id]
        elif block.kind is BlockKind.TOOL_CALL:
            assert json.loads(text) == inputs[block.tool_call_id]
    written = sorted(part["text"] for part in parts([line for line in lines if is_model_response(line)], "text"))
    answers = [
        session.text(block)
        for message in session.messages
        if not message.is_synthetic
        for block in message.blocks
        if block.kind is BlockKind.ASSISTANT_TEXT
    ]
    assert sorted(answers) == written


def test_origins_point_at_whole_records(session: Session) -> None:
    for block in session.blocks[:: max(len(session.blocks) // 50, 1)]:
        assert isinstance(json.loads(session.texts.record(block)), dict)


def test_every_record_is_counted(session: Session, lines: Lines) -> None:
    assert sum(session.record_counts.values()) == len(lines)
    assert session.record_counts.get("progress", 0) == sum(line["type"] == "progress" for line in lines)


def test_prompts_end_before_their_response(session: Session) -> None:
    for call in session.calls:
        context = session.contexts[call.context]
        assert context.members[call.prompt_messages] == call.response
        response = session.messages[call.response]
        assert response.role is Role.ASSISTANT
        assert not response.is_synthetic
        assert response.thread == context.thread


def test_no_context_holds_what_is_never_sent(session: Session) -> None:
    for context in session.contexts:
        members = [session.messages[index] for index in context.members]
        assert all(member.role in (Role.USER, Role.ASSISTANT) and not member.is_synthetic for member in members)
        assert len(set(context.members)) == len(context.members)


def test_what_a_snapshot_adds_to_a_session_is_what_the_session_would_work_out(session: Session) -> None:
    assert session.blocks == tuple(block for message in session.messages for block in message.blocks)
    starts = [0]
    for message in session.messages:
        starts.append(starts[-1] + len(message.blocks))
    assert session.first_blocks == tuple(starts)


def test_compactions_begin_contexts(corpus: Path) -> None:
    session = open_session(corpus / FILES[0])
    assert [compaction.trigger for compaction in session.compactions] == [
        "auto",
        "manual",
        "manual",
        "auto",
        "auto",
        "manual",
    ]
    assert [context.cause.value for context in session.contexts] == ["start"] + ["compaction"] * 6
    for compaction, context in zip(session.compactions, session.contexts[1:], strict=True):
        assert context.members[0] == compaction.message
        assert session.messages[compaction.message].is_summary
    assert session.compactions[0].tokens_before == 156286


def test_microcompactions_name_the_results_they_cleared(corpus: Path) -> None:
    session = open_session(corpus / "claude-code/70d782f7-b303-4e48-9512-6bec16c37abd.jsonl")
    partial = [compaction for compaction in session.compactions if compaction.is_partial]
    assert [(len(compaction.cleared_tool_call_ids), compaction.tokens_saved) for compaction in partial] == [
        (29, 38535),
        (37, 27012),
    ]
    results = {block.tool_call_id for block in session.blocks if block.kind is BlockKind.TOOL_RESULT}
    assert all(set(compaction.cleared_tool_call_ids) <= results for compaction in partial)


def test_images_have_their_size(corpus: Path) -> None:
    session = open_session(corpus / "claude-code/8ecab05f-4481-43d6-9428-a6b177981877.jsonl")
    images = [block.media[0] for block in session.blocks if block.kind is BlockKind.IMAGE]
    assert [(image.media_type, image.width, image.height) for image in images] == [
        ("image/png", 1559, 853),
        ("image/png", 731, 637),
    ]


def test_inline_subagents_have_threads_and_contexts_of_their_own(corpus: Path) -> None:
    path = corpus / "claude-code/fe5e1c67-53e7-4862-81ae-d0e013e3270b.jsonl"
    session = open_session(path)
    lines = [json.loads(line) for line in path.read_bytes().split(b"\n") if line]
    roots = [line for line in lines if line.get("isSidechain") and line.get("parentUuid") is None]
    assert {message.thread for message in session.messages} == set(range(len(roots) + 1))
    assert [context.thread for context in session.contexts] == list(range(len(roots) + 1))
    beside = sum(len(message.blocks) for message in session.messages if message.thread)
    assert beside == sum(
        1 if isinstance(line["message"]["content"], str) else len(line["message"]["content"])
        for line in lines
        if line.get("isSidechain")
    )
