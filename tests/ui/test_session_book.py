"""Model of the session list: families, filters, and updates while sessions are read."""

from pathlib import Path

from inspector.report.session_summary import SessionSummary
from inspector.session.discovery import Header
from inspector.ui.sessions.list_model import SessionListModel, SessionOrder, row_of

OLD, NEW, CHILD, GRANDCHILD = (Path(f"/s/{name}.jsonl") for name in ("old", "new", "child", "grandchild"))


def header(path: Path, modified: float, parent: Path | None = None) -> Header:
    return Header(path, "claude-code", 10, modified, parent=parent)


def book() -> SessionListModel:
    made = SessionListModel()
    made.list(
        [header(OLD, 1), header(NEW, 5), header(CHILD, 9, OLD), header(GRANDCHILD, 2, CHILD)],
    )
    return made


def shown(made: SessionListModel, words: str = "", opened: frozenset[Path] = frozenset()) -> list[tuple[str, int, int]]:
    return [(line.entry.header.path.stem, line.depth, line.subagents) for line in made.lines(words, opened)]


def test_subagents_are_folded_under_the_session_that_began_it_all() -> None:
    assert shown(book()) == [("old", 0, 2), ("new", 0, 0)]
    assert shown(book(), opened=frozenset({OLD})) == [
        ("old", 0, 2),
        ("child", 1, 0),
        ("grandchild", 1, 0),
        ("new", 0, 0),
    ]


def test_a_filter_finds_subagents_under_their_parent() -> None:
    assert shown(book(), "grandchild") == [("old", 0, 2), ("grandchild", 1, 0)]
    assert shown(book(), "new claude") == [("new", 0, 0)]
    assert shown(book(), "nothing") == []


def test_what_was_read_is_found_too_and_stays_when_sessions_are_listed_again() -> None:
    made = book()
    assert shown(made, "guard") == []
    made.read_into([SessionSummary(NEW, "claude-code", title="Find the guard")])
    assert shown(made, "guard") == [("new", 0, 0)]
    made.list([header(NEW, 6), header(OLD, 1)])
    assert shown(made, "guard") == [("new", 0, 0)]
    assert made.read == 1


def test_a_parent_may_be_known_only_once_a_session_was_read() -> None:
    made = SessionListModel()
    made.list([header(OLD, 1), header(NEW, 5)])
    made.read_into([SessionSummary(NEW, "codex", parent=OLD)])
    assert shown(made) == [("old", 0, 1)]


def test_sessions_that_name_each_other_as_parents_are_still_listed() -> None:
    made = SessionListModel()
    made.list([header(OLD, 1, NEW), header(NEW, 5, OLD), header(CHILD, 7)])
    assert shown(made) == [("child", 0, 0), ("new", 0, 0), ("old", 0, 0)]


def test_what_turns_out_to_be_no_session_goes_and_does_not_come_back() -> None:
    made = book()
    made.read_into([SessionSummary(NEW, problem="not a session")])
    assert shown(made) == [("old", 0, 2)]
    made.list([header(OLD, 1), header(NEW, 5)])
    assert shown(made) == [("old", 0, 0)]
    made.list([header(OLD, 1), header(NEW, 6)])
    assert [name for name, _, _ in shown(made)] == ["new", "old"]


def test_named_sessions_are_first() -> None:
    made = SessionListModel(named=frozenset({OLD}))
    made.list([header(NEW, 5), header(OLD, 1)])
    assert [name for name, _, _ in shown(made)] == ["old", "new"]


def test_reading_shows_whether_the_lines_are_others_or_only_say_more() -> None:
    made = book()
    assert not made.read_into([SessionSummary(NEW, "claude-code", title="Named")])
    assert made.read_into([SessionSummary(NEW, "claude-code", parent=OLD)])
    assert made.read_into([SessionSummary(OLD)]), "it is no session"


def test_sessions_can_follow_one_another_by_what_they_cost() -> None:
    made = book()
    made.read_into([SessionSummary(OLD, "codex", usd=0.5), SessionSummary(GRANDCHILD, "codex", usd=7)])
    by_cost = [line.entry.header.path for line in made.lines(opened=frozenset({OLD}), order=SessionOrder.COST)]

    assert by_cost == [OLD, GRANDCHILD, CHILD, NEW]
    made.read_into([SessionSummary(NEW, "codex", usd=0.75)])
    assert [line.entry.header.path for line in made.lines(order=SessionOrder.COST)] == [NEW, OLD]
    assert shown(made) == [("old", 0, 2), ("new", 0, 0)]


def test_a_file_that_may_have_been_a_session_stays_and_one_that_was_never_goes() -> None:
    made = book()
    made.read_into(
        [SessionSummary(OLD, problem="binary", is_unreadable=True), SessionSummary(NEW, problem="of no known agent")]
    )
    assert [name for name, _, _ in shown(made)] == ["old"]


def test_a_session_is_as_old_as_its_newest_record_where_its_file_was_copied_later() -> None:
    made = SessionListModel()
    made.list([header(OLD, 1_000_000), header(NEW, 900_000)])
    assert [name for name, _, _ in shown(made)] == ["old", "new"]
    assert made.read_into([SessionSummary(OLD, "claude-code", last_recorded=100_000)])
    assert [name for name, _, _ in shown(made)] == ["new", "old"]
    assert not made.read_into([SessionSummary(NEW, "claude-code", last_recorded=899_990)])
    ages = {str(row_of(line, 1_000_000).key): row_of(line, 1_000_000) for line in made.lines()}
    assert ages[str(OLD)].cells["age"].text == "10 d"
    assert ages[str(OLD)].mark == " "


def test_what_a_file_does_not_say_is_called_unknown_and_left_blank_nowhere() -> None:
    made = SessionListModel()
    made.list([header(OLD, 1), header(NEW, 2), header(CHILD, 3)])
    made.read_into(
        [
            SessionSummary(OLD, "swe-agent"),
            SessionSummary(NEW, "pi", model="house-model", tokens=5_000),
            SessionSummary(CHILD, "pi", model="house-model", working_directory="/home/me/shop", tokens=5_000, usd=0.5),
        ]
    )
    said = {
        line.entry.header.path: [row_of(line, 10).cells[name].text for name in ("project", "model", "tokens", "cost")]
        for line in made.lines()
    }
    assert said[OLD] == ["unknown", "unknown", "no data", "no data"]
    assert said[NEW] == ["unknown", "house-model", "5.0k", "no price"]
    assert said[CHILD] == ["shop", "house-model", "5.0k", "$0.50"]


def test_of_a_session_of_which_only_the_beginning_was_read_everything_is_at_least() -> None:
    made = SessionListModel()
    made.list([header(NEW, 5), header(OLD, 1)])
    made.read_into(
        [
            SessionSummary(NEW, "codex", tokens=22_000_000, usd=16.1, is_whole=False),
            SessionSummary(OLD, "codex", tokens=2_000_000, usd=1.5),
        ]
    )
    part, whole = (row_of(line, 10.0).cells for line in made.lines("", frozenset()))
    assert (part["tokens"].text, part["cost"].text) == ("≥ 22M", "≥ $16.10")
    assert (whole["tokens"].text, whole["cost"].text) == ("2.0M", "$1.50")
