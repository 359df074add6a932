from inspector.strategies.library.old_results import PLACEHOLDER, PruneOld
from tests.strategies.conversations import Sent, blocks_of_entries, matches, session_of, steps


def test_one_pass_of_the_program_is_reproduced_byte_for_byte(vectors):
    assert vectors["utah.pruneOldToolResults"]
    for vector in vectors["utah.pruneOldToolResults"]:
        # The recorded system pruned a whole list at once: here, one call sends all of it.
        sent = Sent(session_of(vector["input"], calls=False), PruneOld(from_iteration=0))
        live = Sent(session_of(vector["input"]), PruneOld(from_iteration=0, variant="projection"))
        blocks = blocks_of_entries(vector["input"])
        expected = {blocks[int(at)]: text for at, text in vector["expected"]["changed"].items()}
        changed = sent.changed()
        assert changed.keys() == expected.keys()
        assert changed == live.changed()
        assert all(matches(changed[index], text) for index, text in expected.items())


def test_pruning_starts_with_the_fourth_iteration_of_a_run_and_again_with_the_next_question():
    sent = Sent(session_of(steps(6, size=5000)), PruneOld(keep_turns=1))
    assert [len(sent.changed(call)) for call in range(7)] == [0, 0, 0, 2, 3, 4, 5]
    second = [*steps(2, size=5000), {"role": "assistant", "content": "done"}, *steps(3, size=5000)]
    assert [len(Sent(session_of(second), PruneOld(keep_turns=1)).changed(call)) for call in (3, 4, 5, 6)] == [
        0,
        0,
        0,
        4,
    ]


def test_six_messages_are_spared_whether_results_come_one_a_message_or_together():
    calls = [{"id": f"p{at}", "name": "read", "args": {}} for at in range(8)]
    entries = [{"role": "user", "content": "t"}, {"role": "assistant", "calls": calls}]
    entries += [{"role": "tool", "id": f"p{at}", "name": "read", "content": "p" * 5000} for at in range(8)]
    for grouped in (False, True):
        sent = Sent(session_of(entries, grouped=grouped), PruneOld(from_iteration=1))
        results = sent.history.results.tolist()
        assert sorted(sent.changed()) == results[:2]


def test_what_earlier_iterations_trimmed_counts_trimmed_so_that_clearing_comes_late():
    sent = Sent(session_of(steps(24, size=5000)), PruneOld())
    cleared = [sum(text == PLACEHOLDER for text in sent.changed(call).values()) for call in range(25)]
    # 3,032 characters are left of each; the newest to age still counts its 5,000: 15 times 3,032 and 5,000 = 50,480.
    first = next(call for call, count in enumerate(cleared) if count)
    assert cleared[first] == 16
    assert cleared[first + 1] == 16


def test_after_clearing_the_total_starts_from_the_placeholders():
    sent = Sent(session_of(steps(60, size=5000)), PruneOld())
    cleared = [sum(text == PLACEHOLDER for text in sent.changed(call).values()) for call in range(61)]
    assert sorted(set(cleared)) == [0, 16, 32, 48]
