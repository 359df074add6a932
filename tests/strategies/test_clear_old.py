import pytest

from inspector import apply_once, compact
from inspector.strategies.core.operations import Action
from inspector.strategies.library.old_results import ClearOld
from tests.strategies.conversations import Sent, blocks_of_entries, matches, session_of, steps
from tests.strategies.plain_lists import openai_list, results_in


def as_sent(entries, sent):
    """The messages of the described program: it puts an envelope around results it sends whole."""
    blocks = blocks_of_entries(entries)
    messages = []
    for at, entry in enumerate(entries):
        rendition = sent.rendition(blocks[at])
        if rendition.action is Action.REMOVED:
            continue
        text = sent.text(blocks[at])
        if entry["role"] == "tool" and rendition.action is Action.WHOLE:
            text = f"[Tool {entry['name']}]: {'FAILED' if entry.get('error') else 'OK'}\nResult: {text}"
        messages.append(["user" if entry["role"] == "tool" else entry["role"], text])
    return messages


def test_the_program_s_outputs_are_reproduced_byte_for_byte(vectors):
    assert vectors["odincode.FrameStack"]
    for vector in vectors["odincode.FrameStack"]:
        params, expected = vector["params"], vector["expected"]["messages"]
        strategy = ClearOld(keep=params["keep"], frames=params["max_frames"], variant="shipped")
        messages = as_sent(vector["input"], Sent(session_of(vector["input"]), strategy))
        if isinstance(expected, dict):
            assert len(messages) == expected["n"]
            assert messages[0] == expected["first"]
        else:
            assert [role for role, _ in messages] == [role for role, _ in expected]
            for (_, text), (_, wanted) in zip(messages, expected, strict=True):
                assert matches(text, wanted)


def test_a_failed_result_s_notice_says_so():
    entries = steps(4)
    entries[2]["error"] = True
    assert Sent(session_of(entries), ClearOld()).changed() == {
        3: "[Tool read_file]: FAILED - [Old tool result content cleared (execution_id: c0). "
        "Use memory_query tool with session_id or execution_id to retrieve full details]"
    }


def test_three_results_stay_and_each_further_one_clears_the_oldest():
    sent = Sent(session_of(steps(6)), ClearOld())
    assert [len(sent.changed(call)) for call in range(7)] == [0, 0, 0, 0, 1, 2, 3]


def test_the_plan_alone_never_forgets_the_user_s_goal_and_the_program_does():
    entries = steps(40)
    assert Sent(session_of(entries), ClearOld()).rendition(0).action is Action.WHOLE
    assert Sent(session_of(entries), ClearOld(variant="shipped")).rendition(0).action is Action.REMOVED


def test_keeping_none_clears_a_result_before_the_model_has_seen_it():
    assert Sent(session_of(steps(1)), ClearOld(keep=0)).changed(1).keys() == {3}


def test_results_in_the_program_s_words_are_reproduced_through_the_public_interface(vectors):
    for vector in vectors["odincode.FrameStack"]:
        expected = vector["expected"]["messages"]
        if isinstance(expected, dict):
            continue
        sent = apply_once(openai_list(vector["input"]), f"clear-old:keep={vector['params']['keep']},whole-as=program")
        wanted = [text for role, text in expected if role == "user"][1:]
        assert all(matches(text, want) for text, want in zip(results_in(sent), wanted, strict=True))


def program_s_messages():
    messages = [{"role": "user", "content": "go"}]
    for step, status in enumerate(("OK", "FAILED", "OK", "OK", "OK")):
        messages.append({"role": "assistant", "content": f"step {step}"})
        messages.append({"role": "user", "content": f"[Tool tool_{step}]: {status}\nResult: output {step}"})
    return messages


def test_results_the_program_worded_as_user_texts_are_cleared_once_and_keep_tool_and_success():
    messages = program_s_messages()
    sent = compact(messages, "clear-old")
    advice = "Use memory_query tool with session_id or execution_id to retrieve full details]"
    assert [message["content"] for message in sent[2:5:2]] == [
        f"[Tool tool_0]: OK - [Old tool result content cleared. {advice}",
        f"[Tool tool_1]: FAILED - [Old tool result content cleared. {advice}",
    ]
    assert [*sent[:2], *sent[5:]] == [*messages[:2], *messages[5:]]
    assert apply_once(sent, "clear-old:whole-as=program") == sent


def test_what_a_user_says_about_tools_is_no_result():
    messages = [{"role": "user", "content": "[Tool x] is broken"}, {"role": "assistant", "content": "ok"}]
    assert apply_once(messages, "clear-old:keep=0") == messages


@pytest.mark.parametrize(
    ("notice", "text"),
    [
        ("prompt", "cleared (execution_id: c0). Use memory_query tool to retrieve]"),
        ("draft", "cleared - use memory_query tool with execution_id to retrieve full details]"),
    ],
)
def test_a_notice_has_the_words_of_the_single_prompt_or_of_the_draft(notice, text):
    sent = results_in(apply_once(openai_list(steps(4)), f"clear-old:notice={notice}"))
    assert sent[0] == f"[Tool read_file]: OK - [Old tool result content {text}"
