from inspector.strategies.core.operations import Action
from inspector.strategies.library.micro_x import Summarize, summary_placeholder
from tests.strategies.conversations import Sent, session_of, steps


def test_at_the_threshold_the_middle_goes_and_the_first_message_carries_a_summary():
    sent = Sent(session_of(steps(10, size=4000)), Summarize(threshold=8_000, summary_tokens=100))
    fired = next(call for call in range(11) if sent.changed(call))
    changed = sent.changed(fired)
    assert changed[0].startswith("task\n\n[CONTEXT SUMMARY]\nA model's summary of ")
    assert changed[0].endswith("\n[END CONTEXT SUMMARY]")
    assert all(sent.rendition(index, fired).action is Action.REMOVED for index in changed if index != 0)
    prompt = sent.history.prompt(fired).tolist()
    kept = [index for index in prompt if index not in changed]
    assert len({int(sent.history.message[index]) for index in kept}) == 6


def test_no_call_is_parted_from_its_result():
    for tail in range(1, 9):
        sent = Sent(session_of(steps(12, size=4000)), Summarize(threshold=6_000, tail=tail, summary_tokens=100))
        history = sent.history
        for call in range(history.call_count + 1):
            gone = {index for index in sent.changed(call) if sent.rendition(index, call).action is Action.REMOVED}
            for result in history.results.tolist():
                assert (result in gone) == (int(history.call_block[result]) in gone)


def test_a_later_summary_represents_the_earlier_one_too():
    sent = Sent(session_of(steps(40, size=4000)), Summarize(threshold=10_000, summary_tokens=100))
    calls = range(sent.history.call_count + 1)
    summaries = list(dict.fromkeys(sent.changed(call)[0] for call in calls if 0 in sent.changed(call)))
    assert len(summaries) > 1
    assert all(summary.count("[CONTEXT SUMMARY]") == 1 for summary in summaries)
    stands_for = [int(summary.split("A model's summary of ")[1].split(" ")[0]) for summary in summaries]
    assert stands_for == sorted(stands_for)


def test_under_the_threshold_nothing_changes():
    assert Sent(session_of(steps(3)), Summarize()).changed() == {}


def test_the_are_in_is_as_long_as_the_summary_is_taken_to_be():
    text = summary_placeholder(34, 1_500)
    assert text.startswith("A model's summary of 34 messages, taken to be 1,500 tokens long")
    assert abs(text.count(" summary") - 1_500) < 40


def test_the_content_s_own_tokens_or_the_last_prompt_s_can_trigger():
    session = session_of(steps(10, size=4000))
    around = dict.fromkeys(range(20), 50_000)
    assert Sent(session, Summarize(threshold=20_000), measured=around).changed() == {}
    assert Sent(session, Summarize(threshold=20_000, trigger="prompt"), measured=around).changed() != {}
