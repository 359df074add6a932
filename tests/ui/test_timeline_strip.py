import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from inspector.session.open import open_session
from inspector.ui.timeline.columns import Space, columns_for, header_pieces, row_pieces, rule
from inspector.ui.timeline.view import TimelineView
from tests.ui import synthetic

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
VIEW = synthetic.view_of(synthetic.session(130, compact_every=50))


def row_text(view: TimelineView, index: int, width: int, *, logarithmic: bool = False) -> str:
    columns = columns_for(Space(width, view.rows.largest_message, view.largest, changes=view.shows_changes))
    pieces = row_pieces(view, index, columns, width, selected=False, logarithmic=logarithmic)
    return "".join(text for text, _ in pieces)


@pytest.mark.parametrize("format_name", ["claude-code", "openai-chat", "mini-swe-agent", "cline", "inspect"])
def test_every_row_of_recorded_sessions_fits_and_is_safe(corpus: Path, format_name: str) -> None:
    files = [path for path in sorted((corpus / format_name).glob("*.json*")) if path.stat().st_size < 3_000_000]
    rows = 0
    for path in files:
        view = synthetic.view_of(open_session(path))
        for index in range(len(view.rows)):
            text = row_text(view, index, 119)
            assert cell_len(text) <= 119
            assert not CONTROL.search(text)
        rows += len(view.rows)
    assert rows > 5


def test_numbers_are_in_the_same_cells_in_every_row() -> None:
    columns = columns_for(Space(119, VIEW.rows.largest_message, VIEW.largest, changes=True))
    end_of_tokens = columns.start("change")

    for index in range(len(VIEW.rows)):
        row = VIEW.rows.row(index)
        if row.boundary is None:
            text = row_text(VIEW, index, 119)
            assert text[:end_of_tokens].endswith(f" {VIEW.amount(row.block).recorded:,}")
            assert text[end_of_tokens] == " "


def test_the_header_names_the_columns_over_them() -> None:
    for width in (40, 60, 80, 120, 200):
        columns = columns_for(Space(width, VIEW.rows.largest_message, VIEW.largest, changes=True))
        text = header_pieces(VIEW, columns, logarithmic=True)[0][0]
        assert cell_len(text) <= width
        assert text.index("tokens") + len("tokens") == columns.start("change")
        assert ("what" in text) == ("what" in columns.widths)


def test_estimated_tokens_are_shown_to_be() -> None:
    columns = columns_for(Space(120, 1000, 1_234_567, changes=True))

    assert "~tokens" in header_pieces(replace(VIEW, known="estimated"), columns, logarithmic=False)[0][0]
    assert "~tokens" not in header_pieces(VIEW, columns, logarithmic=False)[0][0]


def test_a_rule_fills_the_row_and_keeps_what_fits_of_its_label() -> None:
    assert rule("compaction", 20) == "── compaction ──────"
    assert rule("compaction", 12) == "── compa… ──"
    assert rule("compaction", 4) == "────"


def test_a_rule_leaves_out_whole_parts_of_a_label_that_is_too_long() -> None:
    label = "compaction, prompt 174,829 → 19,596 tokens, removed 681 blocks"
    assert rule(label, 80).startswith(f"── {label} ─")
    assert rule(label, 60) == "── compaction, prompt 174,829 → 19,596 tokens ──────────────"
    assert rule(label, 30) == "── compaction ────────────────"
