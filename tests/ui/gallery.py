"""Shows one widget with made-up data, to look at: `python -m tests.ui.gallery timeline`."""

import sys
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import BindingType

from inspector.ui.widgets.timeline import Timeline
from tests.ui import synthetic


class Gallery(App[None]):
    """One widget, full screen; `t` changes the theme."""

    BINDINGS: ClassVar[list[BindingType]] = [("q", "quit", "Quit"), ("t", "theme", "Theme"), ("a", "append", "Append")]

    def __init__(self, name: str, count: int, texts: list[str] | None) -> None:
        super().__init__()
        self.name_of_widget = name
        self.session = synthetic.session(count, texts, compact_every=max(count // 3, 50))

    def compose(self) -> ComposeResult:
        timeline = Timeline()
        timeline.view = synthetic.view_of(self.session)
        yield timeline

    def action_theme(self) -> None:
        themes = ["textual-dark", "textual-light", "nord", "gruvbox", "ansi-dark", "ansi-light"]
        self.theme = themes[(themes.index(self.theme) + 1) % len(themes)]

    def action_append(self) -> None:
        timeline = self.query_one(Timeline)
        added = self.session.messages[len(self.session.messages) % 40 : len(self.session.messages) % 40 + 3]
        self.session = synthetic.grown(self.session, *added)
        timeline.view = synthetic.view_of(self.session, previous=timeline.view)
        self.title = f"{timeline.new_rows} new"


if __name__ == "__main__":
    chosen = sys.argv[1]
    size = int(sys.argv[2]) if len(sys.argv) > 2 else 500
    Gallery(chosen, size, synthetic.HOSTILE if "hostile" in sys.argv else None).run()
