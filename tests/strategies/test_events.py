import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from inspector.replay.message_lists import compact
from inspector.strategies.core.operations import Action
from inspector.strategies.history.conversation_items import Event
from inspector.strategies.library.openhands import AmortizedForgetting, EventLog, MaskBrowserOutput, RecentEvents
from inspector.strategies.plan import Plan
from tests.examples import examples
from tests.strategies.conversations import Sent, session_of, steps
from tests.strategies.plain_lists import openai_list


def event_log(letters):
    entries = []
    for at, letter in enumerate(letters):
        if letter == "m":
            entries.append({"role": "user", "content": f"m{at}"})
        else:
            tool = "browser" if letter == "b" else "execute_bash"
            text = f"out{at}" * 20 if letter == "o" else f"[Current URL: http://x/{at}]\nout{at}"
            entries.append({"role": "tool", "id": f"t{at}", "name": tool, "content": text})
    return openai_list(entries)


def test_the_browser_s_older_pages_are_masked_by_their_address():
    sent = compact(event_log("mbobmo"), "mask-browser-output")
    assert [entry["content"] for entry in sent] == [
        "m0",
        "Visited URL http://x/1\nContent omitted",
        "out2" * 20,
        "[Current URL: http://x/3]\nout3",
        "m4",
        "out5" * 20,
    ]


def test_the_address_is_taken_from_the_call_where_the_page_does_not_say_it():
    entries = steps(2, tool="mcp__playwright__browser_navigate", size=10)
    for entry in entries[1::2]:
        entry["calls"][0]["args"] = {"url": "http://y"}
    assert Sent(session_of(entries), MaskBrowserOutput()).changed() == {3: "Visited URL http://y\nContent omitted"}


@pytest.mark.parametrize("max_events", [1, 2])
def test_as_many_recent_events_as_first_ones_keep_everything_as_in_openhands(max_events):
    # There the first ones are sent twice; a message list that repeats them would be no other conversation.
    log = event_log("mmomomom")
    assert compact(log, Plan().added(RecentEvents(keep_first=2, max_events=max_events))) == log


def test_a_call_goes_with_its_forgotten_observation_and_the_other_way_round():
    sent = Sent(session_of(steps(4)), RecentEvents(keep_first=2, max_events=5))
    # The first step would leave only its call, the third only its result; both are useless alone.
    gone = {index for index in sent.changed() if sent.rendition(index).action is Action.REMOVED}
    assert gone == set(range(1, 10))


@given(some.text("mob", max_size=30), some.integers(2, 12), some.integers(0, 5))
@settings(deadline=None, max_examples=examples(40))
def test_forgetting_grows_to_the_limit_and_halves_at_every_call(letters, max_size, keep_first):
    keep_first = min(keep_first, max_size // 2 - 1)
    entries, view, number = [], [], 0
    expected = []
    for letter in letters:
        entries.append({"role": "user", "content": f"{letter}{number}"})
        view.append(number)
        number += 1
        if letter == "o":
            if len(view) > max_size:
                tail = max_size // 2 - keep_first
                view = view[:keep_first] + view[-tail:]
            expected.append(list(view))
            entries.append({"role": "assistant", "content": "go"})
            view.append(number)
            number += 1
    sent = Sent(session_of(entries), AmortizedForgetting(max_size=max_size, keep_first=keep_first))
    for call, kept in enumerate(expected):
        prompt = sent.history.prompt(call).tolist()
        assert [index for index in prompt if sent.rendition(index, call).action is Action.WHOLE] == kept


def uncut(events):
    """Places where no cut may fall, each rule looked at on its own over the whole log."""
    places, pending, in_run = set(), set(), False
    for place, event in enumerate(events):
        before = events[place - 1] if place else None
        if before and before.is_action and event.is_action and before.message == event.message:
            places.add(place)
        if pending:
            places.add(place)
        if event.thinks:
            in_run = True
        elif event.call:
            places |= {place} if in_run else set()
        else:
            in_run = False
        if event.is_action:
            pending.add(event.call)
        elif event.is_result:
            pending.discard(event.call)
    return places | ({len(events)} if pending else set())


@some.composite
def logs(draw):
    events, number = [], 0
    for message in range(draw(some.integers(0, 8))):
        calls = draw(some.integers(0, 3))
        thinks = draw(some.booleans())
        names = [f"c{number + at}" for at in range(calls)]
        number += calls
        events += [Event(message, (len(events) + at,), name, thinks=thinks and not at) for at, name in enumerate(names)]
        answered = names[: draw(some.integers(0, calls))]
        events += [Event(message, (100 + number,), name, is_result=True) for name in answered]
        if draw(some.booleans()):
            events.append(Event(message, (200,)))
    return events


@given(logs(), some.integers(0, 12))
def test_cuts_fall_where_every_rule_allows_it(events, place):
    log = EventLog()
    for event in events:
        log.add(event)
    allowed = [at for at in range(place, len(events) + 1) if at not in uncut(events)]
    assert log.next_cut(place) == (allowed[0] if allowed else None)
