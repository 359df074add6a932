"""The colours of the timeline: component classes, so that a theme reaches every cell of it."""

from __future__ import annotations

from typing import Final

CSS: Final = """
Timeline {
    scrollbar-size-vertical: 2;
    & > .timeline--header { color: $text-muted; text-style: none; }
    & > .timeline--mark { color: $primary; text-style: bold; }
    & > .timeline--number { color: $text-muted; }
    & > .timeline--system { color: $text-secondary; }
    & > .timeline--user { color: $foreground; text-style: bold; }
    & > .timeline--assistant { color: $text-primary; }
    & > .timeline--thinking { color: $text-secondary; }
    & > .timeline--result { color: $text-success; }
    & > .timeline--other { color: $text-disabled; }
    & > .timeline--tool { color: $foreground; }
    & > .timeline--tokens { color: $foreground; }
    & > .timeline--cut { color: $text-warning; }
    & > .timeline--grown { color: $text-error; }
    & > .timeline--reason { color: $foreground; }
    & > .timeline--preview { color: $text-muted; }
    & > .timeline--error { color: $text-error; }
    & > .timeline--outside { color: $text-disabled; }
    & > .timeline--hit { color: $text-warning; text-style: bold underline; }
    & > .timeline--boundary { color: $text-accent; text-style: bold; }
    & > .timeline--cursor { background: $primary-muted; }
    & > .timeline--cursor-blurred { background: $panel; }
    &:ansi > .timeline--cursor { color: ansi_default; background: ansi_default; text-style: reverse; }
    &:nocolor > .timeline--cursor { color: $foreground; background: $surface; text-style: reverse; }
    &:nocolor > .timeline--cursor-blurred { text-style: underline; }
    &:nocolor > .timeline--cut { text-style: bold; }
}
"""

CLASSES: Final = frozenset(
    {
        "timeline--header",
        "timeline--mark",
        "timeline--number",
        "timeline--system",
        "timeline--user",
        "timeline--assistant",
        "timeline--thinking",
        "timeline--result",
        "timeline--other",
        "timeline--tool",
        "timeline--tokens",
        "timeline--cut",
        "timeline--grown",
        "timeline--reason",
        "timeline--preview",
        "timeline--error",
        "timeline--outside",
        "timeline--hit",
        "timeline--boundary",
        "timeline--cursor",
        "timeline--cursor-blurred",
    }
)
