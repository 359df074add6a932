"""Real files of harnesses and evaluations, counted plainly."""

import itertools
import json
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from inspector.session.model import BlockKind, Session
from inspector.session.open import open_session
from inspector.session.registry import detect
from tests.session.soundness import assert_sound

FORMATS = {
    "claude-code": "claude-code",
    "claude-code-growth": "claude-code",
    "cline": "cline",
    "codex": "codex",
    "copilot-cli": "copilot-cli",
    "gemini-cli": "gemini-cli",
    "inspect": "inspect",
    "mini-swe-agent": "mini-swe-agent",
    "openai-chat": "openai-chat",
    "opencode": "opencode",
    "openhands-v0": "openhands-v0",
    "openhands-v1": "openhands",
    "pi": "pi",
    "swe-agent": "swe-agent",
}

OTHERWISE = {"tau-bench-few-shot.jsonl": "transcripts"}


def sessions(corpus: Path) -> list[Path]:
    """Every session: a file, or a folder of one."""
    found = []
    for family in sorted(FORMATS):
        for path in sorted((corpus / family).iterdir()):
            found += sorted(path.iterdir()) if path.name == "cc432c40" else [path]
    return found


def opened(path: Path) -> tuple[Session, Counter[BlockKind]]:
    session = open_session(path)
    assert_sound(session)
    return session, Counter(block.kind for block in session.blocks)


def usage(session: Session) -> tuple[int, int, int]:
    """Prompt, cached and output tokens of all calls."""
    known = [call.usage for call in session.calls if call.usage is not None]
    return sum(one.prompt for one in known), sum(one.cache_read for one in known), sum(one.output for one in known)


def test_every_real_file_opens_with_the_right_format(corpus: Path, tmp_path: Path) -> None:
    listed = {folder.name for folder in corpus.iterdir() if folder.is_dir()}
    assert listed == FORMATS.keys(), "every family of files has a format"
    for path in sessions(corpus):
        expected = OTHERWISE.get(path.name, FORMATS[path.relative_to(corpus).parts[0]])
        assert detect(path).format.name == expected, path
        if path.is_file() and path.stat().st_size < 1_000_000 and path.name != "session.json":
            renamed = tmp_path / "a name that says nothing.txt"
            renamed.write_bytes(path.read_bytes())
            assert detect(renamed).format.name == expected, f"{path} is told by its content"


def test_every_real_session_is_known_by_what_was_opened(corpus: Path) -> None:
    for path in sessions(corpus):
        if path.is_dir() or path.stat().st_size < 500_000:
            assert open_session(path).path == path, "the app drops what is worked out for any other"


def test_a_task_of_clines_sdk_agrees_with_a_plain_count(corpus: Path) -> None:
    path = corpus / "cline" / "session.messages.json"
    messages = json.loads(path.read_bytes())["messages"]
    parts = Counter(part["type"] for message in messages for part in message["content"])
    session, kinds = opened(path)
    assert len(session.messages) == len(messages) + 1, "and the system text"
    assert kinds[BlockKind.TOOL_CALL] == parts["tool_use"]
    assert kinds[BlockKind.TOOL_RESULT] == parts["tool_result"]
    assert kinds[BlockKind.USER_TEXT] + kinds[BlockKind.ASSISTANT_TEXT] == parts["text"] + parts["file"]
    reported = [message["metrics"] for message in messages if "metrics" in message]
    assert len(session.calls) == len(reported) == 16
    assert usage(session) == tuple(
        sum(one[name] for one in reported) for name in ("inputTokens", "cacheReadTokens", "outputTokens")
    )
    beside = open_session(corpus / "cline" / "session.json")
    assert beside.messages == session.messages, "the document beside it opens the same task"


def test_a_run_of_swe_agent_agrees_with_a_plain_count(corpus: Path) -> None:
    (path,) = (corpus / "swe-agent").iterdir()
    document = json.loads(path.read_bytes())
    history = document["history"]
    roles = Counter(entry["role"] for entry in history if not entry.get("is_demo"))
    session, kinds = opened(path)
    assert len(session.messages) == sum(roles.values())
    assert len(session.calls) == roles["assistant"] == document["info"]["model_stats"]["api_calls"]
    assert kinds[BlockKind.TOOL_CALL] == sum(len(entry.get("tool_calls") or ()) for entry in history)
    assert kinds[BlockKind.TOOL_RESULT] == roles["tool"]
    called = [(call["id"], call["function"]["name"]) for entry in history for call in entry.get("tool_calls") or ()]
    assert len({identifier for identifier, _ in called}) < len(called), "ids come again in this run"
    answered = [block for block in session.blocks if block.kind is BlockKind.TOOL_RESULT]
    assert [(block.tool_call_id, block.tool_name) for block in answered] == called


def test_a_run_of_mini_swe_agent_agrees_with_a_plain_count(corpus: Path) -> None:
    (path,) = (corpus / "mini-swe-agent").iterdir()
    messages = json.loads(path.read_bytes())
    session, kinds = opened(path)
    assert len(session.messages) == len(messages)
    printed = [entry["content"] for entry in messages if entry["role"] == "user"][1:]
    assert kinds[BlockKind.TOOL_RESULT] == len(printed), "the last command prints the submission itself"
    assert kinds[BlockKind.TOOL_CALL] == sum(
        entry["content"].count("```") // 2 for entry in messages if entry["role"] == "assistant"
    )


def test_a_folder_of_openhands_agrees_with_a_plain_count(corpus: Path) -> None:
    path = corpus / "openhands-v1" / "81f92eeb84c0468dbc1837c63c4f72ec"
    events = [json.loads(file.read_bytes()) for file in sorted((path / "events").iterdir())]
    kinds_of_event = Counter(event["kind"] for event in events)
    session, kinds = opened(path)
    assert session.record_counts == kinds_of_event
    assert kinds[BlockKind.TOOL_CALL] == kinds_of_event["ActionEvent"]
    assert kinds[BlockKind.TOOL_RESULT] == kinds_of_event["ObservationEvent"]
    assert len(session.calls) == len({event["llm_response_id"] for event in events if event["kind"] == "ActionEvent"})
    stats = json.loads((path / "base_state.json").read_bytes())["stats"]["service_to_metrics"]["default"]
    sums = stats["accumulated_token_usage"]
    # This prompt leaves out cache writes: its reads are the reads plus the writes of the previous call.
    assert sums["prompt_tokens"] < sums["cache_read_tokens"] + sums["cache_write_tokens"]
    prompt = sums["prompt_tokens"] + sums["cache_write_tokens"]
    assert usage(session) == (prompt, sums["cache_read_tokens"], sums["completion_tokens"])


def test_a_folder_of_openhands_opens_from_each_of_its_places(corpus: Path) -> None:
    path = corpus / "openhands-v1" / "81f92eeb84c0468dbc1837c63c4f72ec"
    expected = open_session(path).messages
    for place in ("events", "base_state.json"):
        assert detect(path / place).format.name == "openhands"
        assert open_session(path / place).messages == expected
        assert open_session(path / place).path == path / place


def test_openhands_condensations_leave_what_was_not_forgotten(corpus: Path) -> None:
    path = corpus / "openhands-v1" / "81f92eeb84c0468dbc1837c63c4f72ec"
    events = [json.loads(file.read_bytes()) for file in sorted((path / "events").iterdir())]
    session, _ = opened(path)
    condensations = [event for event in events if event["kind"] == "Condensation"]
    assert len(session.compactions) == len(condensations) == 4
    forgotten = {one for event in condensations for one in event["forgotten_event_ids"]}
    left = [event for event in events if event["id"] not in forgotten and event["kind"] != "Condensation"]
    acted = {event["tool_call_id"] for event in left if event["kind"] == "ActionEvent"}
    unpaired = [event for event in left if event["kind"] == "ObservationEvent" and event["tool_call_id"] not in acted]
    assert len(unpaired) == 4, "results whose calls were forgotten are not sent"
    members = session.contexts[-1].members
    assert len(members) == len(left) - len(unpaired) + 1, "each event here is a message, with the newest summary"
    (summary,) = (session.messages[index] for index in members if session.messages[index].is_summary)
    assert session.text(summary.blocks[0]) == condensations[-1]["summary"]


def test_lines_of_openhands_tell_each_calls_usage_by_their_sums(corpus: Path) -> None:
    session, kinds = opened(corpus / "openhands-v1" / "goal-events.jsonl")
    assert (kinds[BlockKind.TOOL_CALL], kinds[BlockKind.TOOL_RESULT]) == (2, 3)
    # The newest response is the difference of two sums, and its prompt and output make up `per_turn_token`.
    assert [call.usage.prompt + call.usage.output for call in session.calls if call.usage] == [35484, 36176]


def test_results_of_openhands_version_0_agree_with_a_plain_count(corpus: Path) -> None:
    path = corpus / "openhands-v0" / "resolver_output.jsonl"
    instances = [json.loads(line) for line in path.read_bytes().splitlines()]
    results = 0
    for instance in instances:
        history = instance["history"]
        session, kinds = opened(path.with_name(f"{path.name}#issue-{instance['issue']['number']}"))
        observed = sum("observation" in event for event in history)
        results += observed
        assert kinds[BlockKind.TOOL_RESULT] == observed
        assert kinds[BlockKind.TOOL_CALL] == len(history) - observed - 1, "all actions but the person's message"
        assert len(session.messages) == len(history)
        assert session.title == instance["issue"]["title"]
    assert results == 24


def test_a_json_log_of_inspect_agrees_with_a_plain_count(corpus: Path) -> None:
    path = corpus / "inspect" / "2025-05-12T20-27-36-04-00_browser.json"
    document = json.loads(path.read_bytes())
    (sample,) = document["samples"]
    session, kinds = opened(path)
    roles = Counter(message["role"] for message in sample["messages"])
    assert len(session.messages) == len(sample["messages"]) + 1, "and the tools"
    assert len(session.calls) == roles["assistant"]
    assert kinds[BlockKind.TOOL_RESULT] == roles["tool"]
    assert kinds[BlockKind.TOOL_CALL] == sum(len(message.get("tool_calls", ())) for message in sample["messages"])
    (used,) = document["stats"]["model_usage"].values()
    assert usage(session) == (used["input_tokens"], used["input_tokens_cache_read"], used["output_tokens"])
    asked = next(block for block in session.blocks if block.kind is BlockKind.USER_TEXT)
    assert session.text(asked) == sample["input"], "what was moved to the attachments is put back"


def test_an_archive_of_inspect_agrees_with_a_plain_count(corpus: Path) -> None:
    path = corpus / "inspect" / "log_message_deduplication.eval"
    with zipfile.ZipFile(path) as archive:
        sample: dict[str, Any] = json.loads(archive.read("samples/0_epoch_1.json"))
    session, kinds = opened(path)
    roles = Counter(message["role"] for message in sample["messages"])
    assert len(session.messages) == len(sample["messages"]) + 1
    assert len(session.calls) == roles["assistant"] == sum(event["event"] == "model" for event in sample["events"])
    assert kinds[BlockKind.TOOL_RESULT] == roles["tool"]
    prompts = [call.prompt_messages for call in session.calls]
    assert prompts == [ends[0][1] + 1 for event in sample["events"] for ends in [event.get("input_refs")] if ends]


def paired(session: Session) -> list[tuple[str, str, str]]:
    """Tool and input of the call that each result answers, found by id going back from it, with its text."""
    found, calls = [], {}
    for block in session.blocks:
        if block.kind is BlockKind.TOOL_CALL:
            calls[block.tool_call_id] = block
        elif block.kind is BlockKind.TOOL_RESULT and block.tool_call_id in calls:
            call = calls[block.tool_call_id]
            assert call.tool_name == block.tool_name
            found.append((call.tool_name, session.text(call), session.text(block)))
    return found


def text_in(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content)


def test_results_of_openhands_answer_the_actions_they_name(corpus: Path) -> None:
    path = corpus / "openhands-v1" / "81f92eeb84c0468dbc1837c63c4f72ec"
    events = [json.loads(file.read_bytes()) for file in sorted((path / "events").iterdir())]
    actions = {event["id"]: event for event in events if event["kind"] == "ActionEvent"}
    expected = []
    for event in events:
        if event["kind"] == "ObservationEvent":
            asked = actions[event["action_id"]]["tool_call"]
            arguments = asked.get("arguments") or asked["function"]["arguments"]
            expected.append((event["tool_name"], json.loads(arguments)))
    session, _ = opened(path)
    assert [(tool, json.loads(asked)) for tool, asked, _ in paired(session)] == expected


def test_results_of_openhands_version_0_answer_the_action_before_them(corpus: Path) -> None:
    path = corpus / "openhands-v0" / "resolver_output.jsonl"
    for line in path.read_bytes().splitlines():
        instance = json.loads(line)
        session, _ = opened(path.with_name(f"{path.name}#issue-{instance['issue']['number']}"))
        pairs = iter(paired(session))
        # Events of this early version have no ids and no causes: observations repeat the actions.
        for before, event in itertools.pairwise(instance["history"]):
            if "observation" in event:
                tool, asked, said = next(pairs)
                done = before.get("code") or before["command"]
                assert tool == before["action"]
                assert done in json.loads(asked).values()
                assert event["content"][:200] in said
        assert next(pairs, None) is None


def test_results_of_inspect_and_cline_answer_the_calls_of_their_ids(corpus: Path) -> None:
    log = json.loads((corpus / "inspect" / "2025-05-12T20-27-36-04-00_browser.json").read_bytes())
    messages = log["samples"][0]["messages"]
    calls = {call["id"]: call for message in messages for call in message.get("tool_calls") or ()}
    expected = [
        (calls[message["tool_call_id"]]["function"], calls[message["tool_call_id"]]["arguments"])
        for message in messages
        if message["role"] == "tool"
    ]
    session, _ = opened(corpus / "inspect" / "2025-05-12T20-27-36-04-00_browser.json")
    assert [(tool, json.loads(asked)) for tool, asked, _ in paired(session)] == expected

    messages = json.loads((corpus / "cline" / "session.messages.json").read_bytes())["messages"]
    parts = [part for message in messages for part in message["content"]]
    used = {part["id"]: part for part in parts if part["type"] == "tool_use"}
    answers = [part for part in parts if part["type"] == "tool_result"]
    expected = [(used[part["tool_use_id"]]["name"], used[part["tool_use_id"]]["input"]) for part in answers]
    session, _ = opened(corpus / "cline" / "session.messages.json")
    assert [(tool, json.loads(asked)) for tool, asked, _ in paired(session)] == expected


def test_results_of_swe_agent_and_mini_are_what_follows_their_calls(corpus: Path) -> None:
    (path,) = (corpus / "swe-agent").iterdir()
    history = [entry for entry in json.loads(path.read_bytes())["history"] if not entry.get("is_demo")]
    asked = [call["function"]["name"] for entry in history for call in entry.get("tool_calls") or ()]
    said = [text_in(entry["content"]) for entry in history if entry["role"] == "tool"]
    session, _ = opened(path)
    assert [(tool, text) for tool, _, text in paired(session)] == list(zip(asked, said, strict=True))

    (path,) = (corpus / "mini-swe-agent").iterdir()
    messages = json.loads(path.read_bytes())
    session, _ = opened(path)
    # Command output is the user message right after the answer with the command.
    for before, after, (_, call, text) in zip(messages[2::2], messages[3::2], paired(session), strict=True):
        command = before["content"].split("```")[1].partition("\n")[2].strip()
        assert json.loads(call)["command"].strip() == command
        assert text == after["content"]
    assert len(paired(session)) == 10, "as many as people counted in this file"


def test_transcripts_agree_with_a_plain_count(corpus: Path) -> None:
    path = corpus / "openai-chat" / "tau-bench-few-shot.jsonl"
    lines = path.read_bytes().splitlines()
    inside = detect(path).format.contained_sessions(path)
    assert len(inside) == len(lines) == 69
    for number in (1, 35, 69):
        written = json.loads(lines[number - 1])["messages_display"].split("\n")
        session, kinds = opened(path.with_name(f"{path.name}#line-{number}"))
        assert len(session.calls) == sum(line.startswith("assistant: ") for line in written)
        assert kinds[BlockKind.TOOL_RESULT] == sum(line.startswith("tool: ") for line in written)
        assert kinds[BlockKind.USER_TEXT] == sum(line.startswith("user: ") for line in written)


@pytest.mark.parametrize("family", sorted(FORMATS))
def test_nothing_of_a_real_file_is_left_out_unsaid(corpus: Path, family: str) -> None:
    for path in sorted((corpus / family).iterdir()):
        if path.name != "cc432c40" and path.stat().st_size < 3_000_000:
            session = open_session(path)
            assert session.skipped_records == 0, [note.reason for note in session.diagnostics]
            assert sum(session.record_counts.values()) > 0
