"""Help screen: keys for the focused pane, and the signs on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.style import Style as RichStyle
from rich.table import Table
from rich.text import Text
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from inspector.ui.actions.action import bindings
from inspector.ui.actions.screens import HELP
from inspector.ui.dialogs import Dialog, key_words
from inspector.ui.miss_glyphs import MARKS
from inspector.ui.toolkit.one_line import ACTION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from inspector.ui.help.key_listing import HelpSection

SIGNS = (
    ("█", "tokens sent"),
    ("░", "tokens cut by the plan"),
    ("╌", "recorded but not in this call's prompt: removed by a compaction, in another thread, or later"),
    ("▶", "row under the cursor"),
    (
        "S U A T R",
        "role: system, user, assistant, thinking, tool result; R! is an error, · was never sent",
    ),
    ("▸ ▾ •", "folded message, unfolded message, pinned row"),
    (
        "─ ! ░ * •",
        "map of the session, right of the rows: compactions and rewinds, errors, cuts, matches, pins",
    ),
    ("▲ △ ◇", "in the chart: compaction, first cut of the plan, call of the row under the cursor"),
    (" ".join(mark.glyph for mark in MARKS), f"cache misses by cause: {', '.join(mark.label for mark in MARKS)}"),
    ("FOLLOW", "the cursor follows new rows; end turns it on, any move turns it off"),
    (
        "~",
        "estimated, or projected for calls that did not happen; without it reported, or calibrated to reported usage",
    ),
    ("≥", "lower bound: the length of a response is unknown"),
    ("cache misses", "calls that read less from the provider's cache than possible, each with its cause"),
    ("extra", "cost of a cache miss in excess of a cache read"),
    ("rewritten", "tokens that were in the cache, but were sent and written again"),
    ("token-calls", "tokens, counted once for every call that sends them"),
    ("tier", "purpose of a tool's results: data, search, action, confirmation; each tier has its own limit"),
    (
        "cache rewrites",
        "cost of sending text again after the plan changed a prompt before its end; already included in the saving",
    ),
    (
        "needed cut text",
        "later calls that used text found only in the cut part: old text of an edit, a repeated read, a path, a word",
    ),
    ("applied", "first call the plan changes; a plan that was never applied changes none"),
    ("net", "saving minus the cost of expected re-fetches of cut results, as a range"),
    ("breaks even", "first call from which the plan costs less in total, until the end"),
)

KEYS_WIDTH = 16

PRESSED = 2
"""Index of the key in a row's values that a click presses."""


class HelpScreen(Dialog[None]):
    """Help over the screen it explains."""

    DEFAULT_CSS = """
    HelpScreen {
        background: $background;
        #help Static { height: auto; }
        .help-title { color: $accent; text-style: bold; }
        .help-text { color: $text-muted; }
        .help-table { margin: 0 0 1 2; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(HELP)

    def __init__(self, groups: Sequence[HelpSection]) -> None:
        """Create the help screen.

        Args:
            groups: Groups of keys, starting with the focused pane.
        """
        super().__init__()
        self._groups = groups

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog section", id="help") as box:
            box.border_title = Content("Help")
            box.border_subtitle = key_words(
                ("pgdn scrolls", ""),
                ("ctrl+p finds any command", "palette"),
                ("esc closes", "dismiss"),
            )
            # Signs on the current screen come before the keys of other parts.
            for group in self._groups[:1]:
                yield from self._group(group)
            yield from self._part("Signs and terms", "", SIGNS)
            for group in self._groups[1:]:
                yield from self._group(group)

    def action_press(self, key: str) -> None:
        """Close the help, and press the key on the screen below."""
        self.dismiss(None)
        self.app.call_later(self.app.simulate_key, key)

    def action_palette(self) -> None:
        """Close the help, and open the command palette."""
        self.dismiss(None)
        self.app.call_later(self.app.action_command_palette)

    def _group(self, group: HelpSection) -> ComposeResult:
        return self._part(group.title, group.text, [(row.keys, row.text, row.press) for row in group.rows])

    def _part(self, title: str, text: str, rows: Sequence[tuple[str, ...]]) -> ComposeResult:
        """Compose a heading and a table with wrapping texts."""
        if not rows and not text:
            return
        yield Static(Content(title), classes="help-title", markup=False)
        if text:
            yield Static(Content(text), classes="help-text", markup=False)
        if rows:
            yield Static(_table(rows), classes="help-table", markup=False)


def _table(rows: Sequence[tuple[str, ...]]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    table.add_column(style="bold", width=KEYS_WIDTH)
    table.add_column(ratio=1)
    for row in rows:
        press = row[PRESSED] if len(row) > PRESSED else ""
        click = RichStyle(meta={ACTION: f"press({press!r})"}) if press else RichStyle()
        table.add_row(Text(row[0], style=click), Text(row[1], style=click))
    return table
