"""What keys do in the timeline."""

from __future__ import annotations

from textual.binding import Binding, BindingType

TIMELINE_BINDINGS: list[BindingType] = [
    Binding("up,k", "cursor(-1)", "Up", id="timeline.up", tooltip="Move to the row above", show=False),
    Binding("down,j", "cursor(1)", "Down", id="timeline.down", tooltip="Move to the row below", show=False),
    Binding("pageup", "page(-1)", "Page up", id="timeline.page-up", tooltip="Move up by a page", show=False),
    Binding("pagedown", "page(1)", "Page down", id="timeline.page-down", tooltip="Move down by a page", show=False),
    Binding("home,g", "first", "First", id="timeline.first", tooltip="Move to the first row", show=False),
    Binding("end,G", "last", "Follow", id="timeline.last", tooltip="Move to the last row and follow", show=False),
    Binding("enter", "fold", "Fold", id="timeline.fold", tooltip="Fold the message or subagent, or not", show=False),
    Binding("left", "fold(1)", "Fold", id="timeline.close", tooltip="Fold the message or subagent", show=False),
    Binding("right", "fold(0)", "Unfold", id="timeline.unfold", tooltip="Unfold it", show=False),
    Binding("minus", "fold_all", "All", id="timeline.fold-all", tooltip="Fold every message, or none", show=False),
    Binding("m", "pin", "Pin", id="timeline.pin", tooltip="Pin the row, or take the pin away", show=False),
    Binding("l", "scale", "Log", id="timeline.scale", tooltip="Draw bars in ratios or in amounts", show=False),
]
