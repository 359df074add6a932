"""The colours of the detail: component classes, so that a theme reaches every cell of it."""

from __future__ import annotations

from typing import Final

CSS: Final = """
Detail {
    & > .detail--header { color: $text-muted; }
    & > .detail--tab { color: $text-muted; }
    & > .detail--tab-active { color: $foreground; text-style: bold underline; }
    & > .detail--recorded { color: $foreground; }
    & > .detail--inserted { color: $foreground; background: $warning-muted; text-style: bold; }
    & > .detail--absent { color: $text-muted; }
    & > .detail--note { color: $text-accent; text-style: italic; }
    & > .detail--name { color: $text-primary; text-style: bold; }
    & > .detail--member { color: $text-primary; }
    & > .detail--added { color: $text-success; }
    & > .detail--taken { color: $text-error; }
    & > .detail--hunk { color: $text-accent; text-style: bold; }
    & > .detail--found { color: $background; background: $text-warning; text-style: bold; }
    & > .detail--found-here { color: $background; background: $text-accent; text-style: bold; }
    &:ansi > .detail--inserted { background: ansi_default; text-style: bold reverse; }
    &:ansi > .detail--found { color: ansi_default; background: ansi_default; text-style: reverse; }
    &:ansi > .detail--found-here { color: ansi_default; background: ansi_default; text-style: bold reverse; }
    &:nocolor > .detail--inserted { background: $surface; text-style: bold reverse; }
    &:nocolor > .detail--taken { text-style: dim; }
    &:nocolor > .detail--added { text-style: bold; }
    &:nocolor > .detail--found { color: $foreground; background: $surface; text-style: reverse; }
    &:nocolor > .detail--found-here { color: $foreground; background: $surface; text-style: bold reverse underline; }
}
"""

CLASSES: Final = frozenset(
    {
        "detail--header",
        "detail--tab",
        "detail--tab-active",
        "detail--recorded",
        "detail--inserted",
        "detail--absent",
        "detail--note",
        "detail--name",
        "detail--member",
        "detail--added",
        "detail--taken",
        "detail--hunk",
        "detail--found",
        "detail--found-here",
    }
)
