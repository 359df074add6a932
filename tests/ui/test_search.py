from dataclasses import replace

import numpy as np
import pytest

from inspector.session.model import BlockKind
from inspector.strategies.core.operations import Action
from inspector.strategies.history.history import History
from inspector.ui.timeline.rows import Rows
from inspector.ui.timeline.search import Query, QueryError, Search
from inspector.ui.timeline.view import TimelineView
from tests.ui.synthetic import State, session, tokens_of


@pytest.fixture
def view() -> TimelineView:
    history = History.of(session(80, ["Alpha beta", "gamma DELTA"], compact_every=30))
    tokens = tokens_of(history)
    action = np.zeros(len(tokens), dtype=np.uint8)
    action[10:20] = Action.CUT
    in_prompt = np.ones(len(tokens), dtype=np.bool_)
    in_prompt[:15] = False
    return TimelineView(Rows.of(history), tokens, State(in_prompt, tokens, tokens, action))


def found(text: str, view: TimelineView) -> list[int]:
    parts = list(Search(Query.parse(text)).rows(view, lambda: False, lambda fraction: None))
    return [int(view.rows.block[row]) for row in parts[-1]]


def test_words_are_found_in_whole_texts_in_any_case(view: TimelineView) -> None:
    current = view.rows.history.session
    expected = [index for index, block in enumerate(current.blocks) if "delta" in current.text(block).lower()]

    assert found("delta", view) == expected
    assert found('"GAMMA delta"', view) == expected
    assert found("delta nowhere", view) == []


def test_kinds_and_tools_narrow_the_rows(view: TimelineView) -> None:
    history = view.rows.history

    assert found("who:result", view) == history.results.tolist()
    assert found("who:r", view) == found("who:result", view)
    bash = [index for index, block in enumerate(history.session.blocks) if block.tool_name == "Bash"]
    assert found("tool:BASH", view) == bash
    assert set(found("tool:bash who:call", view)) < set(bash)
    assert found("who:thinking", view) == np.flatnonzero(history.kind == BlockKind.THINKING).tolist()


def test_what_the_plan_does_can_be_asked_for(view: TimelineView) -> None:
    history = view.rows.history

    assert found("is:out", view) == list(range(15))
    assert found("is:cut", view) == list(range(15, 20))
    assert found("is:error", view) == np.flatnonzero(history.is_error).tolist()
    assert found("tokens>100", view) == np.flatnonzero(view.tokens > 100).tolist()


def test_a_tier_is_found_whether_cut_or_whole(view: TimelineView) -> None:
    history = view.rows.history
    sorting = tuple("data" if name == "Bash" else "search" for name in history.tool_names)
    sorted_view = replace(view, tiers=lambda: (sorting,))

    assert found("tier:data", sorted_view) == found("tool:bash who:result", view)
    assert found("tier:data is:cut", sorted_view) == found("tool:bash who:result is:cut", view)
    assert not set(found("tier:search", sorted_view)) & set(found("tier:data", sorted_view))


def test_boundaries_are_no_matches(view: TimelineView) -> None:
    (rows,) = Search(Query.parse("tokens>0")).rows(view, lambda: False, lambda fraction: None)

    assert not view.rows.is_boundary[rows].any()


def test_a_session_that_grew_is_read_on_not_again(view: TimelineView) -> None:
    search = Search(Query.parse("delta"))
    list(search.rows(view, lambda: False, lambda fraction: None))
    texts = view.rows.history.session.texts
    asked: list[bytes] = []
    real = texts.text
    texts.text = lambda block: asked.append(block.digest) or real(block)

    list(search.rows(view, lambda: False, lambda fraction: None))

    assert asked == []


@pytest.mark.parametrize("text", ["is:big", "who:nobody", "who:", "is:"])
def test_words_that_mean_nothing_say_what_is_allowed(text: str) -> None:
    with pytest.raises(QueryError, match="accepts"):
        Query.parse(text)


def test_an_empty_query_is_everything() -> None:
    assert Query.parse("  ").is_empty
    assert not Query.parse("a").is_empty
