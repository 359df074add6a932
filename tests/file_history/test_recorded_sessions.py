"""File states in real sessions, compared with replayed edits and with later reads.

The edits of a session to files that it has read or written whole are repeated in a temporary folder, from the arguments
of its calls: replaced texts, written files, removed files. The history must match the resulting file. If something
outside the session changed a file, its next read is the reference.
"""

from __future__ import annotations

import ast
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from inspector.file_history.content import Gap
from inspector.file_history.history import FileEventKind, file_history
from inspector.session.open import open_session

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.file_history.content import FileContent
    from inspector.file_history.history import FileEvent, FileHistory

SESSIONS = {
    "claude-code/8ecab05f-4481-43d6-9428-a6b177981877.jsonl": 25,
    "claude-code/fe5e1c67-53e7-4862-81ae-d0e013e3270b.jsonl": 20,
    "claude-code-growth/cc432c40/snap4.jsonl": 9,
    "codex/rollout-2026-06-18T07-23-13-019ed99c-d00d-7613-b2e7-d2f512f78afd.jsonl": 15,
    "codex/rollout-2025-09-16T12-47-48-9cd28a74-da7e-4458-a91a-fffec2be9d7a.jsonl": 8,
    "codex/rollout-2025-10-04T22-31-15-0199b26c-737a-71a2-9939-52ce68c95cbe.jsonl": 15,
    "copilot-cli/10fb4666-56f0-4352-90fc-715caf95b418/events.jsonl": 1,
    "gemini-cli/cdb14b05-cceb-4354-a9d8-8c9182ece8bf.json": 6,
    "opencode/ses_277daa810ffePOBsdfS6gm8uA2.json": 8,
    "opencode/ses_2200dec98ffeAAGsw94tLFVYT6.json": 15,
    "openhands-v1/81f92eeb84c0468dbc1837c63c4f72ec/base_state.json": 12,
    "pi/before-compaction.jsonl": 60,
}

OLD = ("old_string", "old_str", "oldString", "oldText")
NEW = ("new_string", "new_str", "newString", "newText")
CONTENT = ("content", "file_text")
HEREDOC = re.compile(r"cat (?:> ?[^\s\\]+ <<\s?'EOF'|<<\s?'EOF' > ?[^\s\\]+)\\n(?P<text>.*?\\n)EOF")


def given(arguments: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((arguments[name] for name in names if name in arguments), None)


def patch_in_place(file: Path, patch: str, path: str) -> None:
    for part in re.split(r"^(?=\*\*\* (?:Update|Add|Delete) File: )", patch, flags=re.MULTILINE)[1:]:
        head, _, body = part.partition("\n")
        if not path.endswith(head.split(": ", 1)[1].strip()):
            continue
        if head.startswith("*** Delete"):
            file.unlink(missing_ok=True)
            return
        if head.startswith("*** Add"):
            file.write_text("")
        text, done = file.read_text(), 0
        for block in re.split(r"^(?:@@|\*\*\* ).*\n?", body, flags=re.MULTILINE):
            if not block:
                continue
            lines = block.removesuffix("\n").split("\n")
            old = "".join(f"{line[1:]}\n" for line in lines if line[:1] in " -")
            new = "".join(f"{line[1:]}\n" for line in lines if line[:1] in " +")
            at = text.index(old, done) if old else len(text)
            text, done = text[:at] + new + text[at + len(old) :], at + len(new)
        file.write_text(text if text.endswith("\n") else f"{text}\n")  # as Codex ends the files it writes


def do_again(file: Path, event: FileEvent, history: FileHistory) -> bool:
    session = history.session
    text = session.text(session.all_blocks[event.call_block])
    patch = text if text.startswith("*** Begin Patch") else ""
    arguments = {} if patch else json.loads(text)
    for value in arguments.values():
        parts = value if isinstance(value, list) else [value]
        patch = next((part for part in parts if isinstance(part, str) and "*** Begin Patch" in part), patch)
    if patch:
        patch_in_place(
            file, f"{patch[patch.index('*** Begin Patch') :].split('*** End Patch')[0]}*** End Patch", event.path
        )
        return True
    if (written := HEREDOC.search(json.dumps(arguments))) is not None:
        file.write_text(json.loads(f'"{written["text"]}"'))
        return True
    for edit in arguments.get("edits") or [arguments]:
        old, new = given(edit, OLD), given(edit, NEW)
        if old is None:
            content = given(arguments, CONTENT)
            if content is None:
                return False
            file.write_text(content)
            return True
        there = file.read_text()
        assert old in there
        everywhere = edit.get("replace_all") or edit.get("replaceAll")
        if not new and not old.endswith("\n") and f"{old}\n" in there and event.tool in ("Edit", "MultiEdit"):
            old += "\n"  # as Claude Code removes lines
        file.write_text(there.replace(old, new or "", -1 if everywhere else 1))
    return True


@pytest.mark.parametrize("name", SESSIONS)
def test_a_state_is_the_file_as_the_edits_of_the_session_make_it(name: str, corpus: Path, tmp_path: Path) -> None:
    history = file_history(open_session(corpus / name))
    tried = 0
    for number, (path, events) in enumerate(history.events.items()):
        file = tmp_path / str(number)
        is_there = False
        for event in events:
            before, after = history.before_and_after(event)
            if not event.kind.changes or not event.is_certain or event.problem:
                is_there = is_there and (not event.problem or not event.is_certain)
                continue
            if event.kind is FileEventKind.EDIT and not is_there:
                if not before.is_whole:
                    continue
                file.write_text(before.text())
            is_there = do_again(file, event, history)
            state = history.file_state_at(path, event.turn).content
            if event.kind is FileEventKind.DELETE:
                assert state.is_deleted
            elif is_there:
                assert after.is_whole
                assert after.text() == file.read_text(), (path, event.turn)
                assert state.is_whole
                tried += 1
            is_there = is_there and file.exists()
    assert tried >= SESSIONS[name]


IN_PART = {
    "cline/session.messages.json": 4,
    "swe-agent/marshmallow-1867-function-calling.traj": 4,
    "openhands-v0/resolver_output.jsonl#issue-1": 3,
}
"""Sessions that show their files in windows and parts, and how many changes there are at least to try each on."""

UNKNOWN = "\0unknown "
LINES_OF_LONG = 3_000


def unknown_lines(first: int, count: int) -> list[str]:
    return [f"{UNKNOWN}{number}" for number in range(first, first + count)]


def write_standing(file: Path, content: FileContent) -> None:
    lines: list[str] = []
    for piece in content.pieces():
        if isinstance(piece, Gap):
            lines += unknown_lines(piece.first, LINES_OF_LONG if piece.size is None else piece.size)
        elif piece.first is not None:
            lines += piece.lines
    file.write_text("\n".join([*lines, ""]))
    for run in content.loose:
        put_where_nothing_is_known(file, "\n".join(run.lines))


def put_where_nothing_is_known(file: Path, old: str) -> None:
    """Have a file hold a text in a gap, begun and ended within lines."""
    lines, wanted = file.read_text().split("\n"), f"  {old} //".split("\n")
    free = (
        at
        for at in range(1, len(lines))
        if all(line.startswith(UNKNOWN) for line in lines[at - 1 : at + len(wanted) + 1])
    )
    at = next(free)
    lines[at : at + len(wanted)] = wanted
    file.write_text("\n".join(lines))


def edited_texts(event: FileEvent, history: FileHistory) -> tuple[str, str]:
    arguments = json.loads(history.session.text(history.session.all_blocks[event.call_block]))
    if "code" in arguments:
        (call,) = [each for each in ast.walk(ast.parse(arguments["code"])) if isinstance(each, ast.Call)]
        words = {word.arg: ast.literal_eval(word.value) for word in call.keywords}
        return words["to_replace"], words["new_content"]
    return given(arguments, ("old_text", "search")), given(arguments, ("new_text", "replace"))


def do_again_in_part(file: Path, event: FileEvent, history: FileHistory) -> None:
    if event.kind is FileEventKind.DELETE:
        file.unlink()
    elif event.tool == "create":
        file.write_text("\n")
    elif event.tool == "insert":
        arguments = json.loads(history.session.text(history.session.all_blocks[event.call_block]))
        assert arguments.keys() == {"text"}  # without a line, at the end
        file.write_text(f"{file.read_text()}{arguments['text']}\n")
    else:
        old, new = edited_texts(event, history)
        if old not in file.read_text():
            put_where_nothing_is_known(file, old)
        assert file.read_text().count(old) == 1
        file.write_text(file.read_text().replace(old, new))


@pytest.mark.parametrize("name", IN_PART)
def test_what_is_known_of_a_state_is_in_the_file_as_the_edits_of_the_session_make_it(
    name: str, corpus: Path, tmp_path: Path
) -> None:
    history = file_history(open_session(corpus / name))
    tried = 0
    for number, (path, events) in enumerate(history.events.items()):
        file = tmp_path / str(number)
        for event in events:
            before, after = history.before_and_after(event)
            assert history.file_state_at(path, event.turn).content == after
            if event.kind.changes and not event.problem:
                if not file.exists():
                    write_standing(file, before)
                do_again_in_part(file, event, history)
                if event.kind is FileEventKind.DELETE:
                    assert after.is_deleted
                else:
                    there = held(after, file.read_text(), exact_total=before.total is not None)
                    file.write_text("\n".join([*there, ""]))
                tried += 1
            elif not after.is_deleted:
                write_standing(file, after)
    assert tried >= IN_PART[name]


def held(content: FileContent, text: str, *, exact_total: bool) -> list[str]:
    lines = text.removesuffix("\n").split("\n")
    if content.total is not None and exact_total:
        assert len(lines) == content.total
    compared = 0
    for run in content.placed:
        there = lines[run.first - 1 : run.end - 1]
        assert len(there) == len(run.lines)
        for at, (known, line) in enumerate(zip(run.lines, there, strict=True), start=run.first - 1):
            if line.startswith(UNKNOWN):
                lines[at] = known
            else:
                assert known == line
                compared += 1
    for run in content.loose:
        assert "\n".join(run.lines) in text
        compared += len(run.lines)
    assert compared
    return lines


@pytest.mark.parametrize("name", [name for name in SESSIONS if name.startswith("claude-code")])
def test_a_state_is_what_claude_code_itself_recorded_of_the_file(name: str, corpus: Path) -> None:
    session = open_session(corpus / name)
    history = file_history(session)
    compared = 0
    for path, events in history.events.items():
        truth: str | None = None
        is_known = False
        for event in events:
            record = json.loads(session.texts.record(session.all_blocks[event.result_block]))
            told = record.get("toolUseResult")
            told = told if isinstance(told, dict) else {}
            original, file = told.get("originalFile"), told.get("file") or {}
            before, after = history.before_and_after(event)
            if original is not None and "oldString" in told:
                # The earlier content, unless something outside the session changed the file after it was read.
                is_known = is_known and truth == original
                if is_known and before.is_whole:
                    assert before.text() == original, (path, event.turn)
                    compared += 1
                truth = original.replace(told["oldString"], told["newString"], -1 if told.get("replaceAll") else 1)
            elif file.get("startLine") == 1 and file.get("numLines") == file.get("totalLines") and "content" in file:
                truth, is_known = file["content"], True
                assert after.text() == truth, (path, event.turn)
                compared += 1
            elif "content" in told and event.kind is FileEventKind.WRITE:
                truth, is_known = told["content"], True
            elif event.is_certain:
                truth, is_known = None, False
    assert compared >= 5


@pytest.mark.long
def test_every_session_of_the_corpus_shows_its_files(corpus: Path) -> None:
    told: dict[str, int] = {}
    for file in sorted(corpus.rglob("*")):
        if not file.is_file() or file.name == "MANIFEST.tsv" or "events" in file.parts:
            continue
        session = open_session(file)
        history = file_history(session)
        assert history.unread == 0
        told[session.format] = told.get(session.format, 0) + len(history.events)
        for path, events in history.events.items():
            assert [event.turn for event in events] == sorted(event.turn for event in events)
            assert len(history.contents[path]) == len(events) + 1
    for format_name in (
        "claude-code",
        "codex",
        "opencode",
        "gemini-cli",
        "pi",
        "cline",
        "copilot-cli",
        "openhands",
        "openhands-v0",
        "swe-agent",
    ):
        assert told[format_name], format_name
