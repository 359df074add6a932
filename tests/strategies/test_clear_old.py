from inspector.strategies.clear_old import ClearOld
from inspector.strategies.rendition import Action
from tests.strategies.conversations import Sent, blocks_of_entries, matches, session_of, steps


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
