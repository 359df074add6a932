"""Shows one widget with made-up data, to look at: `python -m tests.ui.gallery timeline`."""

import sys
from dataclasses import replace
from typing import ClassVar

import numpy as np
from textual.app import ComposeResult
from textual.binding import BindingType

from inspector.replay.cache.miss_causes import MissCause
from inspector.strategies.core.operations import Action, Rendition, Slice
from inspector.ui.chart.view import ChartSeries, MarkedMiss
from inspector.ui.chart.widget import ContextChart
from inspector.ui.detail.content import CutNote, DetailContent
from inspector.ui.detail.widget import Detail
from inspector.ui.themes import ThemedApp
from inspector.ui.timeline.widget import Timeline
from tests.hostile import HOSTILE_TEXTS
from tests.ui import synthetic


class Gallery(ThemedApp):
    """One widget, full screen; `t` changes the theme."""

    BINDINGS: ClassVar[list[BindingType]] = [("q", "quit", "Quit"), ("t", "theme", "Theme"), ("a", "append", "Append")]

    def __init__(self, name: str, count: int, texts: list[str] | None) -> None:
        super().__init__()
        self.name_of_widget = name
        self.count = count
        self.session = synthetic.session(max(count, 3), texts, compact_every=max(count // 3, 50))

    def compose(self) -> ComposeResult:
        if self.name_of_widget == "detail":
            text = "".join(
                f"src/app/{number}.py:{number}:    def resolve_{number}(self, path):\n" for number in range(400)
            )
            if self.session.messages[2].blocks[0].preview.startswith("[/foo]"):
                text = "\n".join(HOSTILE_TEXTS) * 50
            rendition = Rendition(
                (Slice(0, 400), "\n[... truncated by policy ...]\n", Slice(15_000, len(text))), Action.CUT
            )
            note = CutNote(1370, "tiered-stale: stale, tier search", 152)
            detail = Detail()
            detail.content = DetailContent(7, "#149 R Grep", lambda: text, rendition, note)
            yield detail
            return
        if self.name_of_widget == "chart":
            once = np.concatenate([np.linspace(5_000, 170_000, 90), np.linspace(12_000, 150_000, 80)])
            grown = np.tile(once, self.count // 500).astype(np.int64)
            chart = ContextChart()
            chart.styles.height = 10
            starts = tuple(range(90, len(grown), 80))
            chart.series = ChartSeries(
                grown,
                grown * 6 // 10,
                200_000,
                starts[:1],
                tuple(MarkedMiss(call, MissCause.PLAN_EDIT) for call in starts[1:9]),
            )
            yield chart
            return
        timeline = Timeline()
        timeline.view = synthetic.view_of(self.session)
        yield timeline

    def on_context_chart_call_selected(self, message: ContextChart.CallSelected) -> None:
        if message.chart.series is not None:
            message.chart.series = replace(message.chart.series, cursor=message.call)

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
    Gallery(chosen, size, HOSTILE_TEXTS if "hostile" in sys.argv else None).run()
