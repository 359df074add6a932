from inspector.replay.message_lists import compact
from inspector.strategies.library.headroom import HeadroomStaleReads
from tests.strategies.conversations import Sent, session_of
from tests.strategies.plain_lists import anthropic_list
from tests.strategies.recorded import changed


def use(number, tool, path, text="", **arguments):
    call = {"id": f"c{number}", "name": tool, "args": {"file_path": path, **arguments}}
    return [
        {"role": "assistant", "content": "", "calls": [call]},
        {"role": "tool", "id": f"c{number}", "name": tool, "content": text},
    ]


def test_a_read_goes_when_its_change_arrives_and_the_read_after_that_stays():
    entries = [{"role": "user", "content": "q"}]
    entries += use(1, "Read", "a", "x" * 600) + use(2, "Bash", "a", "y" * 600) + use(3, "Write", "a", "ok")
    entries += use(4, "Read", "a", "z" * 600) + use(5, "Read", "b", "z" * 600)
    sent = Sent(session_of(entries), HeadroomStaleReads())
    assert [sorted(sent.changed(call)) for call in range(6)] == [[], [], [], [2], [2], [2]]


def test_small_reads_and_lists_of_parts_stay():
    small = [{"role": "user", "content": "q"}, *use(1, "Read", "a", "x" * 511), *use(2, "Edit", "a", "ok")]
    assert Sent(session_of(small), HeadroomStaleReads()).changed() == {}
    wide = [{"role": "user", "content": "q"}, *use(1, "Read", "a", "é" * 256), *use(2, "Edit", "a", "ok")]
    assert Sent(session_of(wide), HeadroomStaleReads()).changed().keys() == {2}
    wide[2]["plain"] = False
    assert Sent(session_of(wide), HeadroomStaleReads()).changed() == {}


def test_a_superseded_read_is_called_stale_once_its_file_changes():
    entries = [{"role": "user", "content": "q"}]
    entries += use(1, "Read", "a", "x" * 600, offset=10, limit=5) + use(2, "Read", "a", "y" * 600, offset=5, limit=10)
    entries += use(3, "Edit", "a", "ok")
    sent = Sent(session_of(entries), HeadroomStaleReads(superseded=True))
    assert [text.split(":")[0] for text in sent.changed(2).values()] == ["[Read content superseded"]
    assert [text.split(":")[0] for text in sent.changed(3).values()] == ["[Read content stale"] * 2


def test_batches_in_one_message_are_replaced_one_by_one():
    entries = [{"role": "user", "content": "q"}]
    calls = [{"id": f"r{at}", "name": "Read", "args": {"file_path": path}} for at, path in enumerate("ab")]
    entries.append({"role": "assistant", "content": "", "calls": calls})
    entries += [{"role": "tool", "id": f"r{at}", "name": "Read", "content": path * 600} for at, path in enumerate("ab")]
    entries += use(9, "Edit", "b", "ok")
    messages = anthropic_list(entries)
    new = changed(messages, compact(messages, "headroom-stale-reads"))["2"]
    assert [part["content"][:20] for part in new] == ["a" * 20, "[Read content stale:"]
