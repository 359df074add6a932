"""Sessions of Gemini CLI: records that replace one another, checkpoints, rewinds, and a real file counted plainly."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.session.follow import Follower
from inspector.session.formats.gemini import GeminiFormat
from inspector.session.model import BlockKind, ContextCause, Role, Session
from inspector.session.open import open_session
from inspector.session.registry import detect
from tests.examples import examples
from tests.session.following import assert_same_objects, tailed
from tests.session.gemini_lines import ABOUT, GeminiScript, Record, call, response
from tests.session.mutations import mutated
from tests.session.other_process import append, quiet_moments, replace, rewrite
from tests.session.soundness import assert_reads, assert_sound


def opened(script: GeminiScript, folder: Path) -> Session:
    session = open_session(script.write(folder / "session.jsonl"))
    assert session.format == "gemini-cli"
    assert_sound(session)
    return session


def texts(session: Session, messages: tuple[int, ...]) -> list[str]:
    return [session.text(block) for index in messages for block in session.messages[index].blocks]


def now(session: Session) -> list[str]:
    return texts(session, session.contexts[-1].members) if session.contexts else []


def prompt(session: Session, call_index: int) -> list[str]:
    made = session.calls[call_index]
    return texts(session, session.contexts[made.context].members[: made.prompt_messages])


@pytest.fixture(scope="module")
def files(corpus: Path) -> list[Path]:
    return sorted((corpus / "gemini-cli").iterdir())


@pytest.fixture(scope="module")
def counted(files: list[Path]) -> list[tuple[Path, list[Record], Session]]:
    return [(path, json.loads(path.read_bytes())["messages"], open_session(path)) for path in files]


def test_real_files_are_recognised_by_their_content(files: list[Path], tmp_path: Path) -> None:
    assert files
    for number, path in enumerate(files):
        assert detect(path).format.name == "gemini-cli"
        # Pretty-printed documents are sometimes kept under the name of JSON lines.
        renamed = tmp_path / f"{number}.jsonl"
        renamed.write_bytes(path.read_bytes())
        assert detect(renamed).format.name == "gemini-cli"
        assert open_session(renamed).calls == open_session(path).calls


def test_messages_calls_and_results_of_real_files_agree_with_a_plain_count(
    counted: list[tuple[Path, list[Record], Session]],
) -> None:
    for _, records, session in counted:
        calls = [made for record in records for made in record.get("toolCalls", [])]
        kinds = [block.kind for block in session.blocks]
        assert kinds.count(BlockKind.TOOL_CALL) == len(calls)
        assert kinds.count(BlockKind.TOOL_RESULT) == sum("result" in made for made in calls)
        assert kinds.count(BlockKind.THINKING) == sum(len(record.get("thoughts", [])) for record in records)
        assert kinds.count(BlockKind.ASSISTANT_TEXT) == sum(
            record["type"] == "gemini" and bool(record["content"]) for record in records
        )
        assert session.record_counts == {
            kind: sum(record["type"] == kind for record in records) for kind in {record["type"] for record in records}
        }
        spoken = {message.identifier for message in session.messages}
        assert spoken == {record["id"] for record in records}


def test_usage_of_real_files_agrees_with_a_plain_count(counted: list[tuple[Path, list[Record], Session]]) -> None:
    for _, records, session in counted:
        reported = [record["tokens"] for record in records if record.get("tokens")]
        assert len(session.calls) == len(reported)
        for made, tokens in zip(session.calls, reported, strict=True):
            assert made.usage is not None
            assert made.usage.prompt == tokens["input"] + tokens["tool"]
            assert made.usage.cache_read == tokens["cached"]
            assert made.usage.output == tokens["output"] + tokens["thoughts"]
            assert made.usage.prompt + made.usage.output == tokens["total"]


def test_results_of_real_files_are_paired_and_read_again(counted: list[tuple[Path, list[Record], Session]]) -> None:
    for path, records, session in counted:
        assert_sound(session)
        data = path.read_bytes()
        answers = {
            made["id"]: next(iter(made["result"][0]["functionResponse"]["response"].values()))
            for record in records
            for made in record.get("toolCalls", [])
        }
        results = [block for block in session.blocks if block.kind is BlockKind.TOOL_RESULT]
        assert {block.tool_call_id: session.text(block) for block in results} == answers
        for block in results:
            record = json.loads(data[block.origin.offset : block.origin.offset + block.origin.length])
            assert block.tool_call_id in [made["id"] for made in record["toolCalls"]]


def test_a_record_written_again_takes_the_earlier_ones_place(tmp_path: Path) -> None:
    script = GeminiScript()
    script.header()
    script.user("u1", "look")
    first = script.answer("g1", "I look.", thoughts=[{"subject": "Plan", "description": "to look"}])
    script.set(lastUpdated="2026-03-01T10:00:09.000Z")
    script.record("info", "i1", "Something else.")
    script.again(first, toolCalls=[call("c1", "found"), call("c2")])
    script.answer("g2", "Found.")
    session = opened(script, tmp_path)
    assert now(session) == ["look", "I look.", '{"path":"a"}', '{"path":"a"}', "found", "Found."]
    assert prompt(session, 1) == now(session)[:-1]
    assert [message.role for message in session.messages] == [
        Role.USER,
        Role.OTHER,
        Role.ASSISTANT,
        Role.USER,
        Role.OTHER,
        Role.ASSISTANT,
    ]
    thought = session.blocks[1]
    assert (thought.kind, session.text(thought)) == (BlockKind.THINKING, "**Plan** to look")
    assert len(session.calls) == 2
    assert session.record_counts == {"metadata": 1, "user": 1, "gemini": 3, "$set": 1, "info": 1}


def test_usage_is_split_as_gemini_counts_it(tmp_path: Path) -> None:
    script = GeminiScript()
    script.header()
    script.answer("g1")
    (made,) = opened(script, tmp_path).calls
    assert made.usage is not None
    assert (made.usage.uncached, made.usage.cache_read, made.usage.output, made.usage.reasoning) == (62, 40, 8, 3)
    assert made.model == "gemini-3-pro"


def test_a_rewind_takes_back_a_record_and_all_that_follow(tmp_path: Path) -> None:
    script = GeminiScript()
    script.header()
    script.user("u1", "one")
    script.answer("g1", "first")
    script.user("u2", "two")
    script.answer("g2", "second", toolCalls=[call("c1", "found")])
    script.rewind("u2")
    script.user("u3", "three")
    script.answer("g3", "third")
    session = opened(script, tmp_path)
    assert [message.is_abandoned for message in session.messages] == [False, False, True, True, True, False, False]
    assert now(session) == ["one", "first", "three", "third"]
    assert [context.cause for context in session.contexts] == [ContextCause.START, ContextCause.REWIND]
    assert len(session.calls) == 3
    assert prompt(session, 1) == ["one", "first", "two"]


def test_a_rewind_to_an_unknown_record_takes_back_everything(tmp_path: Path) -> None:
    script = GeminiScript()
    script.header()
    script.user("u1", "one")
    script.answer("g1")
    script.rewind("elsewhere")
    script.user("u2", "two")
    session = opened(script, tmp_path)
    assert now(session) == ["two"]
    assert [message.is_abandoned for message in session.messages] == [True, True, False]


def test_an_id_taken_back_may_be_used_again(tmp_path: Path) -> None:
    script = GeminiScript()
    script.header()
    script.user("u1", "one")
    script.rewind("u1")
    script.user("u1", "another one")
    session = opened(script, tmp_path)
    assert now(session) == ["another one"]
    assert len(session.messages) == 2


def test_a_checkpoint_with_a_summary_is_a_compaction(tmp_path: Path) -> None:
    script = GeminiScript()
    script.header()
    script.user("u1", "one")
    script.answer("g1", "first")
    kept = [script.user("u2", "two"), script.answer("g2", "second", toolCalls=[call("c1", "found")])]
    summary = {"id": "s1", "timestamp": "", "type": "user", "content": [{"text": "<state_snapshot>so far"}]}
    reply = {"id": "s2", "timestamp": "", "type": "gemini", "content": [{"text": "Got it."}]}
    script.set(messages=[summary, reply, *kept], lastUpdated="2026-03-01T11:00:00.000Z")
    script.user("u3", "three")
    script.answer("g3", "third")
    session = opened(script, tmp_path)
    assert now(session) == [
        "<state_snapshot>so far",
        "Got it.",
        "two",
        "second",
        '{"path":"a"}',
        "found",
        "three",
        "third",
    ]
    (made,) = session.compactions
    assert session.messages[made.message].is_summary
    assert made.time is not None
    assert session.contexts[1].cause is ContextCause.COMPACTION
    assert session.contexts[1].retained == 5
    assert not any(message.is_abandoned for message in session.messages)
    assert len(session.calls) == 3
    assert len(session.messages) == 9


def test_a_checkpoint_that_says_the_same_in_another_form_changes_nothing(tmp_path: Path) -> None:
    script = GeminiScript()
    script.header()
    user = script.user("u1", "one")
    script.record("info", "i1", "Heads up.")
    answer = script.answer("g1", "first", thoughts=[{"description": "hm"}], toolCalls=[call("c1", "found")])
    content = [{"text": "first"}, {"functionCall": {"id": "c1", "name": "read_file", "args": {"path": "a"}}}]
    script.set(messages=[user, {**answer, "content": content}])
    session = opened(script, tmp_path)
    assert len(session.contexts) == 1
    assert not session.compactions
    assert len(session.messages) == 5
    assert now(session) == ["one", "first", '{"path":"a"}', "found"]


def test_a_checkpoint_that_ends_earlier_is_a_rewind_and_one_that_ends_later_goes_on(tmp_path: Path) -> None:
    script = GeminiScript()
    script.header()
    user = script.user("u1", "one")
    answer = script.answer("g1", "first")
    script.user("u2", "failed")
    script.set(messages=[user, answer])
    assert opened(script, tmp_path).messages[2].is_abandoned
    more = {"id": "u3", "timestamp": "", "type": "user", "content": "two"}
    script.set(messages=[user, answer, more])
    session = opened(script, tmp_path)
    assert [context.cause for context in session.contexts] == [ContextCause.START, ContextCause.REWIND]
    assert now(session) == ["one", "first", "two"]


def test_a_checkpoint_with_masked_results_sends_those_from_then_on(tmp_path: Path) -> None:
    script = GeminiScript()
    script.header()
    user = script.user("u1", "one")
    answer = script.answer("g1", "first", toolCalls=[call("c1", "long " * 100)])
    later = script.user("u2", "two")
    script.set(messages=[user, {**answer, "toolCalls": [call("c1", "[masked]")]}, later])
    script.answer("g2", "second")
    session = opened(script, tmp_path)
    assert now(session) == ["one", "first", '{"path":"a"}', "[masked]", "two", "second"]
    assert len(session.calls) == 2
    assert prompt(session, 0) == ["one"]
    assert len(session.compactions) == 1


def test_a_result_reported_twice_is_sent_once(tmp_path: Path) -> None:
    script = GeminiScript()
    script.header()
    script.answer("g1", "I look.", toolCalls=[call("c1", "found"), call("c2")])
    script.record("user", "u1", [response("c1", "found")])
    script.record("user", "u2", [response("c2", "told here alone"), {"text": "and more"}])
    session = opened(script, tmp_path)
    assert now(session) == ["I look.", '{"path":"a"}', '{"path":"a"}', "found", "told here alone", "and more"]
    assert session.blocks[4].tool_name == "read_file"


def test_calls_kept_apart_from_their_response_by_a_notice_are_no_call_of_their_own(tmp_path: Path) -> None:
    script = GeminiScript()
    script.header()
    script.user("u1", "one")
    script.answer("g1", "Now I list.")
    script.record("info", "i1", "Request cancelled.")
    failed = call("c1", status="cancelled", result=[{"functionResponse": {"id": "c1", "response": {"error": "no"}}}])
    script.answer("g2", "", tokens=None, toolCalls=[failed])
    script.answer("g3", "Without tokens.", tokens=None)
    session = opened(script, tmp_path)
    assert [made.identifier for made in session.calls] == ["g1", "g3"]
    assert session.calls[1].usage is None
    results = [block for block in session.blocks if block.kind is BlockKind.TOOL_RESULT]
    assert [(block.is_error, session.text(block)) for block in results] == [(True, "no")]


def test_a_response_that_says_nothing_yet_is_a_call(tmp_path: Path) -> None:
    script = GeminiScript()
    script.header()
    script.user("u1", "one")
    first = script.answer("g1", "", thoughts=[{"description": "hm"}])
    assert len(opened(script, tmp_path).calls) == 1
    script.again(first, toolCalls=[call("c1", "found")])
    session = opened(script, tmp_path)
    assert len(session.calls) == 1
    assert now(session) == ["one", '{"path":"a"}', "found"]


def test_media_and_odd_results_are_read(tmp_path: Path) -> None:
    png = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAIAAAA2iEnW"}}
    script = GeminiScript()
    script.header(directories=["/project", "/other"])
    script.record("user", "u1", [{"text": "see"}, png, {"fileData": {"mimeType": "application/pdf", "fileUri": "x"}}])
    several = [response("c2", "shot"), {"text": "beside"}, png]
    nested = [{"functionResponse": {"id": "c4", "response": {"output": "o", "more": 1}, "parts": [png]}}]
    calls = [call("c1", result="plain"), call("c2", result=several), call("c3", result=None), call("c4", result=nested)]
    script.answer("g1", "", toolCalls=calls)
    script.record("info", "i1", [png])
    script.set(summary="A title")
    session = opened(script, tmp_path)
    assert [block.kind for block in session.blocks[:3]] == [BlockKind.USER_TEXT, BlockKind.IMAGE, BlockKind.DOCUMENT]
    results = [block for block in session.blocks if block.kind is BlockKind.TOOL_RESULT]
    assert [session.text(block) for block in results] == ["plain", "shot\nbeside", '{"output":"o","more":1}']
    assert [(len(block.media), block.plain_text) for block in results] == [(0, True), (1, False), (1, False)]
    assert session.messages[-1].role is Role.USER
    assert (session.title, session.working_directory, session.agent) == ("A title", "/project", "Gemini CLI")


def test_injected_prompts_are_distinguished_from_typed_ones(tmp_path: Path) -> None:
    script = GeminiScript()
    script.header()
    script.user("u1", "<session_context>\nToday is Sunday.")
    script.user("u2", "hello")
    session = opened(script, tmp_path)
    assert [message.is_meta for message in session.messages] == [True, False]


def test_unknown_types_parts_and_lines_are_shown_and_not_sent(tmp_path: Path) -> None:
    script = GeminiScript()
    script.header(novelty=1)
    script.record("hologram", "h1", "cube")
    script.record("user", "u1", [{"text": "one"}, {"executableCode": {"code": "1+1"}}])
    script.lines.append({"something": "else"})
    script.set(novelty={"x": 1})
    session = opened(script, tmp_path)
    assert [message.role for message in session.messages] == [Role.OTHER, Role.USER, Role.OTHER]
    assert session.blocks[2].kind is BlockKind.OTHER
    assert '"something": "else"' in session.text(session.blocks[3])
    assert now(session) == ["one", '{"executableCode":{"code":"1+1"}}']


def test_an_old_document_and_the_log_it_becomes_say_the_same(tmp_path: Path) -> None:
    script = GeminiScript()
    script.header()
    script.user("u1", "one")
    script.answer("g1", "first", toolCalls=[call("c1", "found")])
    log = opened(script, tmp_path)
    path = tmp_path / "session.json"
    path.write_text(json.dumps({**script.lines[0], "messages": script.lines[1:]}, indent=2))
    document = open_session(path)
    assert document.format == "gemini-cli"
    assert now(document) == now(log)
    assert [made.usage for made in document.calls] == [made.usage for made in log.calls]
    one_line = tmp_path / "one-line.json"
    one_line.write_text(json.dumps({**script.lines[0], "messages": script.lines[1:]}))
    assert now(open_session(one_line)) == now(log)
    assert_sound(open_session(one_line))


def replayed(lines: list[Record]) -> list[Record]:
    live: dict[str, Record] = {}
    for line in lines:
        if "$rewindTo" in line:
            names = list(live)
            start = names.index(line["$rewindTo"]) if line["$rewindTo"] in live else 0
            live = {name: live[name] for name in names[:start]}
        elif "id" in line:
            live[line["id"]] = line
        elif "messages" in line.get("$set", {}):
            live = {record["id"]: record for record in line["$set"]["messages"]}
    return list(live.values())


def said(lines: list[Record]) -> list[str]:
    sent = []
    for record in replayed(lines):
        if record["type"] == "info":
            continue
        content = record["content"]
        sent += [content] if isinstance(content, str) and content else []
        sent += [part["text"] for part in content if isinstance(part, dict)]
        calls = record.get("toolCalls", [])
        sent += ['{"path":"a"}' for _ in calls]
        sent += [made["result"][0]["functionResponse"]["response"]["output"] for made in calls if "result" in made]
    return sent


class Author:
    """Writes records of every kind in orders no real log has; a step's number decides within it."""

    def __init__(self) -> None:
        self.script = GeminiScript()
        self.script.header()
        self.script.user("u0", "first")
        self.made = [self.script.lines[-1]]

    def step(self, name: str, choice: int) -> None:
        getattr(self, f"_{name}")(choice)

    def _some(self, choice: int) -> Record:
        return self.made[-1 - choice % min(len(self.made), 6)]

    def _user(self, choice: int) -> None:
        self.made.append(self.script.user(f"u{len(self.script.lines)}", f"prompt {choice}"))

    def _answer(self, choice: int) -> None:
        thoughts = [{"subject": "", "description": f"thought {choice}"}] * (choice % 3)
        identifier = f"g{len(self.script.lines)}"
        self.made.append(self.script.answer(identifier, f"answer {choice}" * (choice % 4 > 0), thoughts=thoughts))

    def _info(self, choice: int) -> None:
        self.script.record("info", f"i{choice}", f"notice {choice}")

    def _again(self, choice: int) -> None:
        record = self._some(choice)
        if record["type"] == "gemini":
            output = f"output {len(self.script.lines)}" if choice % 3 else None
            calls = [call(f"c{record['id']}-{number}", output) for number in range(choice % 3)]
            self.made.append(self.script.again(record, toolCalls=calls))

    def _reworded(self, choice: int) -> None:
        record = self._some(choice)
        content = [{"text": f"reworded {choice}"}] if record["type"] == "user" else f"reworded {choice}"
        self.made.append(self.script.again(record, content=content))

    def _rewind(self, choice: int) -> None:
        self.script.rewind(self._some(choice)["id"] if choice % 9 else "unknown")

    def _checkpoint(self, choice: int) -> None:
        live = [record for record in replayed(self.script.lines) if record["type"] != "info"]
        summary = {
            "id": f"s{len(self.script.lines)}",
            "timestamp": "",
            "type": "user",
            "content": [{"text": "summary"}],
        }
        kept = live[choice % (len(live) + 1) :]
        self.script.set(messages=[live, live[: choice % (len(live) + 1)], [summary, *kept], kept][choice % 4])

    def _title(self, choice: int) -> None:
        self.script.set(summary=f"title {choice}")


STEPS = ["user", "answer", "info", "again", "reworded", "rewind", "checkpoint", "title"]


@settings(max_examples=examples(80), deadline=None)
@given(
    steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 40)), min_size=1, max_size=40),
    cuts=st.lists(st.floats(0, 1), min_size=1, max_size=6),
)
def test_a_tailed_log_is_a_loaded_one_and_says_what_the_program_loads(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]], cuts: list[float]
) -> None:
    author = Author()
    for name, choice in steps:
        author.step(name, choice)
    lines = author.script.encoded()
    path = tmp_path_factory.mktemp("tail") / "session.jsonl"
    for before, session in tailed(path, b"".join(lines), len(lines[0]) + len(lines[1]), cuts):
        assert_sound(session)
        assert_same_objects(session.messages, before.messages)
    assert now(session) == said(author.script.lines)
    assert all(not session.messages[index].is_abandoned for index in session.contexts[-1].members)


def test_an_agent_that_writes_a_log_at_random_moments_is_followed(tmp_path: Path) -> None:
    author = Author()
    for number in range(80):
        author.step(STEPS[number * 5 % len(STEPS)], number * 13 % 40)
    lines = author.script.encoded()
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(lines[:2]))
    follower = Follower(path)
    steps = [append(line) for line in lines[2:]]
    steps.insert(40, replace(b"".join(lines[:30])))
    for _ in quiet_moments(path, steps, follower.poll, seed=7):
        follower.poll()
        assert follower.session == open_session(path)
        assert_sound(follower.session)


def test_an_agent_that_rewrites_a_document_at_random_moments_is_followed(tmp_path: Path) -> None:
    script = GeminiScript()
    path = tmp_path / "session.json"
    steps = []
    for number in range(25):
        script.user(f"u{number}", f"prompt {number} " + "é" * 50)
        script.answer(f"g{number}", "answer", toolCalls=[call(f"c{number}", f"found {number}")])
        data = json.dumps({**ABOUT, "lastUpdated": "", "messages": script.lines}, indent=2, ensure_ascii=False).encode()
        steps.append(replace(data) if number % 3 == 0 else rewrite(data))
    path.write_text(json.dumps({**ABOUT, "lastUpdated": "", "messages": []}, indent=2))
    follower = Follower(path)
    for done in quiet_moments(path, steps, follower.poll, seed=11):
        follower.poll()
        assert follower.session == open_session(path)
        assert len(follower.session.calls) == done


def test_the_last_view_stays_while_a_document_is_broken(tmp_path: Path) -> None:
    script = GeminiScript()
    script.user("u1", "one")
    path = tmp_path / "session.json"
    whole = json.dumps({**ABOUT, "messages": script.lines}, indent=2)
    path.write_text(whole)
    follower = Follower(path)
    before = follower.session
    path.write_text(whole[: len(whole) // 2])
    follower.poll()
    assert follower.session is before
    script.answer("g1")
    path.write_text(json.dumps({**ABOUT, "messages": script.lines}, indent=2))
    follower.poll()
    assert len(follower.session.calls) == 1


@settings(
    max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(data=st.data(), form=st.sampled_from(["log", "document", "checkpoint"]))
def test_nothing_in_a_changed_real_file_makes_the_reader_raise(
    tmp_path_factory: pytest.TempPathFactory, files: list[Path], data: st.DataObject, form: str
) -> None:
    author = Author()
    for number, name in enumerate(STEPS * 2):
        author.step(name, number)
    real: list[Any] = [record for record in json.loads(files[0].read_bytes())["messages"] if len(str(record)) < 5_000]
    lines = [json.dumps(record).encode() for record in real[:20]] + [line.strip() for line in author.script.encoded()]
    made = data.draw(mutated(lines))
    if form != "log":
        inner = b",".join(line for line in made.split(b"\n") if line)
        name = b"messages" if form == "document" else b'$set":{"messages'
        made = b'{"sessionId":"s","projectHash":"p","' + name + b'":[' + inner + b"]}" + b"}" * (form == "checkpoint")
    path = tmp_path_factory.mktemp("changed") / "session.json"
    path.write_bytes(made)
    assert_reads(GeminiFormat(), path)
