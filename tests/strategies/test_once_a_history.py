"""Values that depend only on the session are computed once per session state and setting."""

from inspector.strategies.history.history import History
from inspector.strategies.history.memo import cached_per_history
from tests.strategies.conversations import session_of, steps


def test_it_is_worked_out_once_for_each_setting_and_again_for_another_history():
    asked = []

    @cached_per_history
    def longest(history: History, least: int, *, doubled: bool = False) -> int:
        asked.append((history, least, doubled))
        return max(int(history.characters.max()), least) * (2 if doubled else 1)

    first, second = (History.of(session_of(steps(2, size=size))) for size in (50, 70))

    assert [longest(first, 60), longest(first, 60), longest(second, 60), longest(second, 60)] == [60, 60, 70, 70]
    assert [longest(first, 10), longest(first, 60, doubled=True)] == [50, 120]
    assert asked == [(first, 60, False), (second, 60, False), (first, 10, False), (first, 60, True)]
