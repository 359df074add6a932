"""The registry: a module that is not imported for a file has no format that recognizes it."""

import json
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.errors import SessionError
from inspector.session.format import Format
from inspector.session.registry import GENERAL, MODULES, FormatModule, detect
from inspector.session.sniff import FileKind, Sample
from tests.conftest import ROOT
from tests.examples import examples
from tests.session.growing import GROWING
from tests.session.mutations import mutated

MOST_BYTES = 1 << 21


@cache
def formats_of(module: FormatModule) -> tuple[Format, ...]:
    return tuple(import_module(f"inspector.session.formats.{module.name}").FORMATS)


def recognizing(path: Path) -> list[tuple[str, bool]]:
    """Return the names of all formats that recognize a file, and whether the registry lets them."""
    try:
        sample = Sample(path)
    except SessionError:
        return []
    return [
        (known.name, module.may_recognize(Sample(path)))
        for module in (*MODULES, *GENERAL)
        for known in formats_of(module)
        if known.recognize(sample)
    ]


def check(path: Path) -> str:
    """Check a file and return the name of its format; empty if it has none."""
    found = recognizing(path)
    assert [name for name, may in found if not may] == [], path
    name = found[0][0] if found else ""
    if name:
        assert detect(path).format.name == name
    return name


def test_every_module_is_registered_with_the_names_of_its_formats() -> None:
    for module in (*MODULES, *GENERAL):
        assert module.formats == tuple(known.name for known in formats_of(module)), module.name


def test_a_growing_session_of_every_format_passes_the_conditions_of_its_module(tmp_path: Path) -> None:
    for number, (name, known) in enumerate(GROWING.items()):
        path = tmp_path / str(number) / known.name
        path.parent.mkdir()
        for turns in (1, 3):
            known.write(path, turns)
            assert check(path) == known.format, name


def test_every_sample_passes_the_conditions_of_its_module() -> None:
    paths = sorted((ROOT / "sample_sessions").glob("*.json*"))
    assert len(paths) > 5
    assert all(map(check, paths))


def test_every_real_file_passes_the_conditions_of_its_module(corpus: Path) -> None:
    paths = [path for path in corpus.rglob("*") if path.is_dir() or path.stat().st_size < MOST_BYTES]
    names = {name for path in sorted(paths) if (name := check(path))}
    assert len(names) > 10


ENTRIES: list[dict[str, Any]] = [
    {"role": "user", "content": "go", "type": "message", "timestamp": "2026-03-01T10:00:00Z", "id": "u1"},
    {"type": "user", "message": {"role": "user", "parts": [{"text": "go"}]}, "sessionId": "s", "uuid": "u"},
    {"type": "session", "id": "s", "inspector": 1, "timestamp": "t", "createdAt": 1, "version": 1},
    {"type": "tool.call", "data": {}, "parentId": None, "seq": 1},
    {"type": "tool/call", "data": {}, "seq": 1, "surfaceOp": 1},
    {"type": "response.completed", "response": {"output": [{"type": "reasoning", "summary": []}]}},
    {"type": "response_item", "payload": {"type": "message"}},
    {"request": {"url": "/v1/messages", "body": {"messages": []}, "path": "/", "method": "POST"}, "response": {}},
    {"kind": 0, "v": {"requests": [], "responderUsername": "x"}},
    {"attributes": {"gen_ai.operation.name": "chat"}, "spanId": "1"},
    {"action": "run", "args": {}, "observation": "run", "source": "agent", "timestamp": "t", "content": ""},
    {"role": "assistant", "content": [{"type": "toolRequest"}], "created": 1},
    {"schema_version": "ATIF-1.5", "steps": [{"step_id": 1, "source": "user"}], "agent": {}},
    {"log": {"entries": [{"request": {"url": "/messages", "postData": {"text": '{"messages": [], "model": "m"}'}}}]}},
    {"eval": {"task": "t"}, "status": "success", "samples": []},
    {"trajectory": [{"action": "ls", "observation": ""}], "history": [], "info": {}},
    {"sessionId": "s", "chatMessages": [], "timeline": [], "startTime": "t", "projectHash": "h", "messages": []},
    {"info": {"id": "ses_1", "role": "user"}, "parts": [], "messages": [], "session_id": "s", "platform": "cli"},
    {"conversation": [], "working_dir": "/"},
    {"messages_display": "user: go"},
    {"timestamp": 1, "message": {"type": "TurnBegin"}},
    {"session": {"id": "s"}, "items": [{"type": "reasoning", "summary": []}]},
    {"record_type": "state"},
    {"id": "s", "timestamp": "t", "instructions": "", "git": {}},
    {"type": "text-chunks", "seq0": 1, "data": [], "surfaceOp": 1},
    {"type": "message", "message": {"role": "user", "content": "go"}},
    {"sessionId": "s", "chatMessages": [{"role": "user"}]},
    {"sessionId": "s", "startTime": "t", "timeline": [{"type": "user"}]},
    *({"type": "assistant", "content": "", name: 1} for name in ("model_id", "prompt_index", "synthetic_reason")),
    {"type": "backend_tool_call", "kind": {}},
    {"type": "user", "id": "u", "content": "go", "timestamp": "t"},
    {"$set": {"messages": []}},
    {"$rewindTo": "u"},
    {"message_count": 1, "description": "d"},
    {"id": "msg_1", "type": "user", "time": {"created": 1}},
    {"resourceLogs": []},
    {"__claude_tap_compact_record__": 1, "record": {}},
    {"attempts": [{"trajectory": [], "replay_config": "", "info": {}}]},
    {"type": "reasoning", "summary": []},
    *({name: [{"type": "reasoning", "summary": []}]} for name in ("input", "input_items", "items", "output")),
    *({name: {"output": [{"type": "reasoning", "summary": []}]}} for name in ("request", "response", "body")),
    {"body_raw": '{"output": [{"type": "reasoning", "summary": []}]}'},
]
"""Records and documents of many formats, to be taken apart and mixed."""


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: next(iter(entry)))
def test_a_record_passes_the_conditions_alone_and_in_a_list(tmp_path: Path, entry: dict[str, Any]) -> None:
    path = tmp_path / "session.json"
    for content in (json.dumps(entry), json.dumps(entry, indent=1), json.dumps([entry], indent=1)):
        path.write_text(content)
        check(path)


@settings(max_examples=examples(300), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_mixture_of_records_is_recognized_by_a_module_whose_conditions_it_fails(
    tmp_path: Path, data: st.DataObject
) -> None:
    path = tmp_path / "session.json"
    lines = [json.dumps(entry).encode() for entry in ENTRIES]
    if data.draw(st.booleans()):
        content = data.draw(mutated(lines))
    else:
        chosen = data.draw(st.lists(st.sampled_from(ENTRIES), min_size=1, max_size=4))
        content = json.dumps(chosen if data.draw(st.booleans()) else chosen[0], indent=1).encode()
    path.write_bytes(content)
    check(path)


@pytest.mark.parametrize(
    ("content", "kind"),
    [(b"SQLite format 3\x00", FileKind.DATABASE), (b"PK\x03\x04", FileKind.ARCHIVE), (b"{}", FileKind.TEXT)],
)
def test_a_kind_is_recognized_by_the_first_bytes(tmp_path: Path, content: bytes, kind: FileKind) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert Sample(path).kind is kind
    assert Sample(tmp_path).kind is FileKind.FOLDER


def test_fields_are_those_of_all_objects(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text('{"a": {"b": 1}}\n{"c": [{"d": 1}]}\n')
    assert Sample(path).fields == {"a", "a.b", "c"}
    path.write_text('[\n{"a": {"b": 1}}, 2, {"c": 3}]')
    assert Sample(path).fields == {"a", "c"}
    path.write_text("plain text\n")
    assert Sample(path).fields == frozenset()


def test_detection_imports_only_modules_that_may_recognize_the_file(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_text('{"messages": [{"role": "user", "content": "go"}], "model": "m"}')
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from inspector.session.registry import detect\n"
        f"assert detect(Path({str(path)!r})).format.name == 'openai-chat'\n"
        "print(*(name.rpartition('.')[2] for name in sys.modules if '.formats.' in name))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, capture_output=True, text=True)
    imported = set(done.stdout.split())
    assert "plain" in imported
    assert not imported & {"agents_sdk", "antigravity", "atif", "claude_code", "codex", "har", "pi", "qwen", "vscode"}
