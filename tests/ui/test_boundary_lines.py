"""What the detail of a compaction says was removed, kept and recorded once more."""

from pathlib import Path

from inspector.session.open import open_session
from inspector.strategies.history.history import History
from inspector.tokens.token_table import TokenTable
from inspector.ui.timeline.boundaries import boundaries_of, effect_lines


def test_what_is_kept_says_how_much_was_recorded_once_more_and_that_a_summary_is_not_in_the_file(corpus: Path) -> None:
    (path,) = (corpus / "codex").glob("rollout-2026-06-18T*.jsonl")
    history = History.of(open_session(path))
    table = TokenTable.estimated(history.session)
    first = next(each for each in boundaries_of(history) if each.is_compaction)
    heading = effect_lines(first, table)[0]

    assert first.effect is not None
    assert not len(first.effect.added)
    assert heading.endswith("kept 10 blocks, 9 of them recorded once more · the file does not hold the summary")
    assert " tokens (local estimate) · " in heading
