"""Sessions of pi and its relatives: the tree, the prompt, and real files counted with only the json module."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.cli.reading import replay_inputs
from inspector.replay.analysis.costs import recorded_costs
from inspector.replay.engine.replay import replay
from inspector.session.follow import Follower
from inspector.session.formats.pi import PiFormat
from inspector.session.model import BlockKind, ContextCause, Role, Session
from inspector.session.open import open_session
from inspector.session.registry import detect
from inspector.strategies.plan import Plan
from tests.examples import examples
from tests.session.following import tailed
from tests.session.mutations import mutated, short
from tests.session.other_process import append, quiet_moments, rewrite
from tests.session.pi_lines import PiScript
from tests.session.soundness import assert_reads, assert_sound

Lines = list[dict[str, Any]]


def opened(script: PiScript, folder: Path) -> Session:
    session = open_session(script.write(folder / "session.jsonl"))
    assert session.format == "pi"
    assert_sound(session)
    return session


def texts(session: Session, messages: tuple[int, ...]) -> list[str]:
    return [session.text(block) for index in messages for block in session.messages[index].blocks]


def prompt(session: Session, call: int) -> list[str]:
    made = session.calls[call]
    return texts(session, session.contexts[made.context].members[: made.prompt_messages])


def now(session: Session) -> list[str]:
    return texts(session, session.contexts[-1].members)


@pytest.fixture(scope="module")
def files(corpus: Path) -> list[Path]:
    return sorted((corpus / "pi").iterdir())


@pytest.fixture(scope="module")
def counted(files: list[Path]) -> list[tuple[Path, Lines, Session]]:
    return [
        (path, [json.loads(line) for line in path.read_bytes().split(b"\n") if line], open_session(path))
        for path in files
    ]


def test_every_real_file_is_recognised_by_its_content(files: list[Path], tmp_path: Path) -> None:
    assert files
    for number, path in enumerate(files):
        assert detect(path).format.name == "pi"
        renamed = tmp_path / f"{number}.png"
        renamed.write_bytes(path.read_bytes())
        assert detect(renamed).format.name == "pi"


def test_messages_calls_and_results_of_real_files_agree_with_a_plain_count(
    counted: list[tuple[Path, Lines, Session]],
) -> None:
    for _, lines, session in counted:
        said = [line["message"] for line in lines if line["type"] == "message"]
        parts = [part for message in said if isinstance(message.get("content"), list) for part in message["content"]]
        kinds = [block.kind for block in session.blocks]
        compactions = [line for line in lines if line["type"] == "compaction"]
        assert len(session.messages) == len(said) + len(compactions)
        assert kinds.count(BlockKind.TOOL_CALL) == sum(part["type"] == "toolCall" for part in parts)
        assert kinds.count(BlockKind.TOOL_RESULT) == sum(message["role"] == "toolResult" for message in said)
        assert kinds.count(BlockKind.THINKING) == sum(part["type"] == "thinking" for part in parts)
        assert [made.tokens_before for made in session.compactions] == [line["tokensBefore"] for line in compactions]
        assert sum(session.record_counts.values()) == len(lines)
        assert session.skipped_records == 0


def test_usage_of_real_files_agrees_with_a_plain_count(counted: list[tuple[Path, Lines, Session]]) -> None:
    names = (("uncached", "input"), ("cache_read", "cacheRead"), ("cache_write_5m", "cacheWrite"), ("output", "output"))
    for _, lines, session in counted:
        said = [line["message"] for line in lines if line["type"] == "message"]
        reported = [message["usage"] for message in said if message["role"] == "assistant"]
        for ours, theirs in names:
            assert sum(getattr(call.usage, ours) for call in session.calls if call.usage) == sum(
                usage[theirs] for usage in reported
            )
        billed = [usage for usage in reported if usage["totalTokens"]]
        assert [call.usage.prompt + call.usage.output for call in session.calls if call.usage] == [
            usage["totalTokens"] for usage in billed
        ]


def test_every_text_of_a_real_file_is_its_records(counted: list[tuple[Path, Lines, Session]]) -> None:
    for path, _, session in counted:
        assert_sound(session)
        data = path.read_bytes()
        for block in session.blocks:
            record = data[block.origin.offset : block.origin.offset + block.origin.length]
            assert session.texts.record(block) == record
            if block.kind is BlockKind.TOOL_RESULT:
                content = json.loads(record)["message"]["content"]
                assert session.text(block) == "\n".join(part["text"] for part in content if part["type"] == "text")


def test_old_compactions_keep_the_entries_from_a_line_on(counted: list[tuple[Path, Lines, Session]]) -> None:
    path, lines, session = counted[0]
    assert path.name == "before-compaction.jsonl"
    places = [index for index, line in enumerate(lines) if line["type"] == "compaction"]
    contexts = [context for context in session.contexts if context.cause is ContextCause.COMPACTION]
    for place, context in zip(places, contexts, strict=True):
        kept = lines[lines[place]["firstKeptEntryIndex"] : place]
        spoken = [line for line in kept if line["type"] == "message" and line["message"].get("content") != []]
        members = [session.messages[member] for member in context.members[: context.retained]]
        assert members[0].is_summary
        assert lines[place]["summary"] in session.text(members[0].blocks[0])
        offsets = {message.blocks[0].origin.offset for message in members[1:]}
        assert len(offsets) == len(members) - 1 == len(spoken)
    assert all(message.is_inherited for message in session.messages)


def test_results_are_paired_and_texts_are_what_is_sent(tmp_path: Path) -> None:
    script = PiScript()
    script.header(title="A title")
    script.add("model_change", provider="anthropic", modelId="claude-opus-4-8")
    script.user("look")
    script.call("t1", path="a.py")
    script.result("t1", "one\ntwo")
    script.result("t2", "failed", isError=True)
    script.answer("done", usage={"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4})
    session = opened(script, tmp_path)
    call, result, failed = session.blocks[1:4]
    assert (call.kind, call.tool_call_id, call.tool_name, session.text(call)) == (
        BlockKind.TOOL_CALL,
        "t1",
        "read",
        '{"path":"a.py"}',
    )
    assert (result.kind, result.tool_call_id, result.plain_text, result.is_error) == (
        BlockKind.TOOL_RESULT,
        "t1",
        True,
        False,
    )
    assert session.text(result) == "one\ntwo"
    assert failed.is_error
    assert [message.role for message in session.messages] == [
        Role.USER,
        Role.ASSISTANT,
        Role.TOOL,
        Role.TOOL,
        Role.ASSISTANT,
    ]
    usage = session.calls[-1].usage
    assert usage is not None
    assert (usage.uncached, usage.output, usage.cache_read, usage.cache_write_5m) == (1, 2, 3, 4)
    assert session.calls[-1].model == "claude-opus-4-8"
    assert (session.title, session.identifier, session.working_directory) == ("A title", "0c9d", "/project")


def test_images_are_carried_and_make_a_result_no_plain_text(tmp_path: Path) -> None:
    script = PiScript()
    script.header()
    png = {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAIAAAA2iEnW"}
    script.message("user", [{"type": "text", "text": "see"}, png])
    script.call("t1")
    script.message("toolResult", [{"type": "text", "text": "shot"}, png], toolCallId="t1", toolName="read")
    session = opened(script, tmp_path)
    picture, result = session.blocks[1], session.blocks[3]
    assert picture.kind is BlockKind.IMAGE
    assert (picture.media[0].media_type, picture.media[0].width, picture.media[0].height) == ("image/png", 2, 3)
    assert (session.text(result), len(result.media), result.plain_text) == ("shot", 1, False)


def test_a_branch_leaves_what_it_left_marked_and_begins_a_context(tmp_path: Path) -> None:
    script = PiScript()
    script.header()
    first = script.user("one")
    script.answer("one answered")
    script.user("wrong way")
    script.answer("went wrong")
    script.add("branch_summary", parent=first, fromId=first, summary="tried in vain")
    script.answer("another answer")
    session = opened(script, tmp_path)
    assert [message.is_abandoned for message in session.messages] == [False, True, True, True, False, False]
    assert [context.cause for context in session.contexts] == [ContextCause.START, ContextCause.REWIND]
    assert session.contexts[1].retained == 1
    assert len(session.calls) == 3
    assert prompt(session, 1) == ["one", "one answered", "wrong way"]
    assert prompt(session, 2)[0] == "one"
    assert prompt(session, 2)[1].startswith("The following is a summary of a branch that this conversation came back")
    assert "tried in vain" in prompt(session, 2)[1]


def test_going_back_to_a_branch_takes_the_marks_away(tmp_path: Path) -> None:
    script = PiScript()
    script.header()
    first = script.user("one")
    left = script.answer("left")
    script.answer("right", parent=first)
    script.user("again", parent=left)
    session = opened(script, tmp_path)
    assert [message.is_abandoned for message in session.messages] == [False, False, True, False]
    assert now(session) == ["one", "left", "again"]


def test_a_new_root_abandons_everything_before_it(tmp_path: Path) -> None:
    script = PiScript()
    script.header()
    script.user("one")
    script.answer("answer")
    script.user("rewritten first prompt", parent=None)
    session = opened(script, tmp_path)
    assert [message.is_abandoned for message in session.messages] == [True, True, False]
    assert now(session) == ["rewritten first prompt"]


def test_moving_the_leaf_over_settings_alone_changes_no_context(tmp_path: Path) -> None:
    script = PiScript()
    script.header()
    script.user("one")
    answered = script.answer("answer")
    script.add("thinking_level_change", thinkingLevel="high")
    script.user("two", parent=answered)
    session = opened(script, tmp_path)
    assert len(session.contexts) == 1
    assert now(session) == ["one", "answer", "two"]


def test_a_compaction_keeps_entries_from_the_named_one_on(tmp_path: Path) -> None:
    script = PiScript()
    script.header()
    script.user("old")
    script.answer("old answer")
    kept = script.user("recent")
    script.answer("recent answer")
    script.compaction(kept, "what came before", tokensAfter=900)
    script.user("next")
    script.answer("next answer")
    session = opened(script, tmp_path)
    (made,) = session.compactions
    assert (made.tokens_before, made.tokens_after, made.message) == (100_000, 900, 4)
    assert session.messages[4].is_summary
    sent = prompt(session, 2)
    assert sent[0] == (
        "The conversation history before this point was compacted into the following summary:\n\n<summary>\n"
        "what came before\n</summary>"
    )
    assert sent[1:] == ["recent", "recent answer", "next"]
    assert session.contexts[1].retained == 3


def test_later_compactions_and_branches_behind_them_send_what_pi_sends(tmp_path: Path) -> None:
    script = PiScript()
    script.header()
    script.user("one")
    kept = script.user("two")
    script.compaction(kept, "first summary")
    late = script.user("three")
    script.compaction(late, "second summary")
    script.user("four")
    script.user("instead of four", parent=late)
    session = opened(script, tmp_path)
    assert [len(context.members) for context in session.contexts] == [2, 3, 3, 4]
    assert "first summary" in now(session)[0]
    assert now(session)[1:] == ["two", "three", "instead of four"]
    assert [message.is_abandoned for message in session.messages] == [False, False, False, False, True, True, False]


def test_a_compaction_without_its_kept_entry_is_noted_and_keeps_none(tmp_path: Path) -> None:
    script = PiScript()
    script.header()
    script.user("one")
    script.compaction("gone", "summary")
    session = opened(script, tmp_path)
    assert session.contexts[1].retained == 0
    (note,) = session.diagnostics
    assert (note.skipped, note.line) == (False, 3)
    assert "not in this file" in note.reason


def test_what_the_person_ran_is_put_into_words_as_pi_does(tmp_path: Path) -> None:
    script = PiScript()
    script.header()
    run = {"command": "ls", "output": "a\nb", "exitCode": 2, "cancelled": False, "truncated": False}
    script.add("message", message={"role": "bashExecution", **run})
    script.add("message", message={"role": "bashExecution", **run, "output": "", "excludeFromContext": True})
    script.add("custom_message", customType="x", content="remember this", display=False)
    script.add("custom", customType="x", data={"count": 1})
    script.message("hookMessage", "from a hook")
    session = opened(script, tmp_path)
    assert now(session) == [
        "Ran `ls`\n```\na\nb\n```\n\nCommand exited with code 2",
        "remember this",
        "from a hook",
    ]
    assert all(session.messages[member].is_meta for member in session.contexts[0].members)
    assert session.messages[1].role is Role.OTHER
    assert session.text(session.blocks[1]).startswith("Ran `ls`\n(no output)")
    assert session.record_counts["custom"] == 1


def test_failed_responses_are_calls_when_billed_and_are_not_sent_again(tmp_path: Path) -> None:
    script = PiScript()
    script.header()
    script.user("go")
    script.assistant({"type": "text", "text": "half an ans"}, stopReason="aborted", errorMessage="Request was aborted.")
    nothing = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    script.assistant(stopReason="error", errorMessage="overloaded", usage=nothing)
    script.call("t1")
    script.lines[-1]["message"]["stopReason"] = "aborted"
    script.result("t1", "never sent")
    script.answer("whole")
    session = opened(script, tmp_path)
    assert len(session.calls) == 3
    assert now(session) == ["go", "whole"]
    assert [message.is_synthetic for message in session.messages] == [False, False, True, False, False, False]
    assert session.blocks[2].kind is BlockKind.OTHER
    assert session.text(session.blocks[2]) == "Request was aborted."


def test_old_versions_sent_what_was_aborted_again(tmp_path: Path) -> None:
    script = PiScript(version=None)
    script.header(provider="anthropic", modelId="claude-opus-4-5")
    script.user("go")
    script.assistant({"type": "text", "text": "half"}, stopReason="aborted")
    script.user("go on")
    session = opened(script, tmp_path)
    assert now(session) == ["go", "half", "go on"]
    assert len(session.contexts) == 1


def test_a_line_that_cannot_be_read_is_counted_and_breaks_no_branch(tmp_path: Path) -> None:
    script = PiScript()
    script.header()
    script.user("one")
    lost = script.answer("lost")
    script.user("two", parent=lost)
    lines = script.encoded()
    lines[2] = lines[2].replace(b"lost", b"lo\\xst")
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(lines))
    session = open_session(path)
    assert_sound(session)
    assert session.skipped_records == 1
    assert session.diagnostics[0].line == 3
    assert now(session) == ["one", "two"]
    assert not any(message.is_abandoned for message in session.messages)


def test_a_title_line_may_be_before_the_header_and_titles_change(tmp_path: Path) -> None:
    script = PiScript()
    script.lines.append({"type": "title", "title": "From the slot", "pad": " " * 200})
    script.header(title="From the header", titleSource="auto")
    script.user("one")
    session = opened(script, tmp_path)
    assert (session.title, session.agent) == ("From the header", "Oh My Pi")
    script.add("title_change", title="Renamed", source="user")
    assert opened(script, tmp_path).title == "Renamed"
    script.add("session_info", name="Named")
    assert opened(script, tmp_path).title == "Named"


def test_what_only_oh_my_pi_writes_is_understood(tmp_path: Path) -> None:
    script = PiScript()
    script.header()
    script.add("session_init", systemPrompt="You review.", task="review", tools=["read"])
    script.user("one")
    script.message("developer", "be brief")
    script.assistant({"type": "redactedThinking", "data": "x" * 9}, model="")
    script.add("model_change", model="openai/gpt-9", role="default")
    script.answer("as another model", model="")
    script.add("reset_boundary")
    script.user("anew")
    session = opened(script, tmp_path)
    assert now(session) == ["You review.", "anew"]
    assert session.messages[0].role is Role.SYSTEM
    assert session.blocks[3].signature_characters == 9
    assert session.calls[1].model == "gpt-9"
    assert not any(message.is_abandoned for message in session.messages)


def test_system_text_comes_first_whatever_is_compacted(tmp_path: Path) -> None:
    script = PiScript()
    script.header()
    script.add("session_init", systemPrompt="You review.")
    kept = script.user("one")
    script.compaction(kept, "summary")
    session = opened(script, tmp_path)
    assert now(session)[0] == "You review."
    assert now(session)[2] == "one"
    assert session.contexts[1].retained == 3


def test_unknown_types_roles_and_parts_are_shown_and_not_sent(tmp_path: Path) -> None:
    script = PiScript(version=99)
    script.header(novelty={"x": 1})
    script.user("one")
    script.add("hologram", shape="cube")
    script.message("oracle", "hm")
    script.assistant({"type": "hum", "tune": "la"}, {"type": "text", "text": "said"})
    session = opened(script, tmp_path)
    assert [message.role for message in session.messages] == [Role.USER, Role.OTHER, Role.OTHER, Role.ASSISTANT]
    assert '"shape": "cube"' in session.text(session.blocks[1])
    assert session.blocks[3].kind is BlockKind.OTHER
    assert now(session) == ["one", '{"type":"hum","tune":"la"}', "said"]


def test_entries_copied_by_a_fork_are_inherited(tmp_path: Path) -> None:
    script = PiScript()
    script.header(parentSession="/elsewhere.jsonl", timestamp="2026-03-01T10:00:02.500Z")
    script.user("copied")
    script.answer("copied too")
    script.user("own")
    session = opened(script, tmp_path)
    assert [message.is_inherited for message in session.messages] == [True, True, False]


class Author:
    """Writes entries of every kind in orders no real session has; a step's number decides within it."""

    def __init__(self) -> None:
        self.script = PiScript()
        self.script.header()
        self.script.user("first")
        self.ids = [self.script.leaf or ""]

    def step(self, name: str, choice: int) -> None:
        getattr(self, f"_{name}")(choice)
        if self.script.leaf:
            self.ids.append(self.script.leaf)

    def _some(self, choice: int) -> str:
        return self.ids[choice % len(self.ids)]

    def _user(self, choice: int) -> None:
        self.script.user(f"prompt {choice} {len(self.ids)}")

    def _answer(self, choice: int) -> None:
        self.script.answer(f"answer {choice} {len(self.ids)}")

    def _call(self, choice: int) -> None:
        self.script.call(f"t{choice}")

    def _result(self, choice: int) -> None:
        self.script.result(f"t{choice}", f"result {len(self.ids)}")

    def _aborted(self, choice: int) -> None:
        self.script.answer(f"half {choice}", stopReason="aborted")

    def _compaction(self, choice: int) -> None:
        self.script.compaction(self._some(choice) if choice % 5 else "unknown", f"summary {choice}")

    def _branch(self, choice: int) -> None:
        self.script.leaf = self._some(choice) if choice % 7 else None
        self.script.user(f"branch {choice}")

    def _label(self, choice: int) -> None:
        self.script.add("label", targetId=self._some(choice), label="here")

    def _again(self, choice: int) -> None:
        self.script.lines.append(self.script.lines[1 + choice % (len(self.script.lines) - 1)])

    def _reset(self, choice: int) -> None:
        self.script.add("reset_boundary", choice=choice)

    def _unknown(self, choice: int) -> None:
        self.script.add("hologram", choice=choice)


STEPS = ["user", "answer", "call", "result", "aborted", "compaction", "branch", "label", "again", "reset", "unknown"]


@settings(max_examples=examples(60), deadline=None)
@given(
    steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 60)), min_size=1, max_size=45),
    cuts=st.lists(st.floats(0, 1), min_size=1, max_size=6),
)
def test_a_tailed_session_is_a_loaded_one_at_every_cut(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]], cuts: list[float]
) -> None:
    author = Author()
    for name, choice in steps:
        author.step(name, choice)
    lines = author.script.encoded()
    path = tmp_path_factory.mktemp("tail") / "session.jsonl"
    for _, session in tailed(path, b"".join(lines), len(lines[0]) + len(lines[1]), cuts):
        assert_sound(session)


def test_an_agent_that_writes_at_random_moments_is_followed(tmp_path: Path) -> None:
    author = Author()
    for number in range(70):
        author.step(STEPS[number * 7 % len(STEPS)], number * 13 % 60)
    lines = author.script.encoded()
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(lines[:2]))
    follower = Follower(path)
    steps = [append(line) for line in lines[2:]]
    # An old file is rewritten in the current form once, when its session is resumed.
    steps.insert(30, rewrite(b"".join(line.replace(b'"first"', b'"once"') for line in lines[:32])))
    for _ in quiet_moments(path, steps, follower.poll, seed=3):
        follower.poll()
        assert follower.session == open_session(path)
        assert_sound(follower.session)
    assert len(follower.session.messages) > 40


@settings(
    max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(data=st.data())
def test_nothing_in_a_changed_real_file_makes_the_reader_raise(
    tmp_path_factory: pytest.TempPathFactory, files: list[Path], data: st.DataObject
) -> None:
    script = PiScript()
    script.header()
    script.message("bashExecution", None, command="ls", output="x", exitCode=1)
    script.message("fileMention", None, files=[{"path": "a", "content": "b"}])
    script.compaction("00000001")
    script.add("branch_summary", fromId="root", summary="x")
    script.add("session_init", systemPrompt="x")
    real = [line for line in files[0].read_bytes().split(b"\n") if line]
    path = tmp_path_factory.mktemp("changed") / "session.jsonl"
    path.write_bytes(data.draw(mutated([*short(real), *(line.strip() for line in script.encoded())])))
    assert_reads(PiFormat(), path)


# The cost that pi computed for every response and wrote next to it: $0.02 and $0.03.
def test_the_recorded_costs_of_all_responses_are_one_total(tmp_path: Path) -> None:
    script = PiScript()
    script.message("user", "go")
    for cost in (0.02, 0.03):
        usage = {"input": 1_000, "output": 10, "cost": {"input": cost, "total": cost}}
        script.message("assistant", [{"type": "text", "text": "yes"}], usage=usage)
    (totals,) = opened(script, tmp_path).recorded_totals
    assert (totals.source, totals.cost_usd, totals.end_call) == ("message cost", pytest.approx(0.05), 2)


def test_the_recorded_cost_of_a_real_session_is_the_computed_one(corpus: Path) -> None:
    baseline = replay(replay_inputs(open_session(corpus / "pi" / "before-compaction.jsonl")), Plan())
    (cost,) = recorded_costs(baseline)
    assert cost.recorded_usd == pytest.approx(cost.computed_usd, abs=0.005)
    assert not cost.differs
