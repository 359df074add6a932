"""Every setting there is: what it may be, and what it does. Validation and documentation both read this."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_RUNS = 1_000_000_000


class Described(NamedTuple):
    """One setting.

    Attributes:
        name: As written in the file.
        default: Its value when nothing is said, as written in the file.
        takes: What it may be, to follow "takes".
        text: What it does, in a sentence.
        accepts: Whether a value is one it may be.
    """

    name: str
    default: str
    takes: str
    text: str
    accepts: Callable[[object], bool]


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _is_runs(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= MOST_RUNS


def _is_switch(value: object) -> bool:
    return isinstance(value, bool)


def _is_table_of_keys(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(keys, str) and keys.strip() for keys in value.values())


SETTINGS = {
    each.name: each
    for each in (
        Described(
            "theme",
            '"dark"',
            "`dark`, `light`, `contrast`, `colour-blind`, `ansi`, or the name of any Textual theme",
            "The colours; `ansi` are the terminal's own. With `NO_COLOR` in the environment there are none.",
            _is_name,
        ),
        Described(
            "runs_per_day",
            "24",
            f"a number above 0, at most {MOST_RUNS:,}",
            "How many such sessions run in a day: what a saving is projected with.",
            _is_runs,
        ),
        Described(
            "log_scale",
            "false",
            "`true` or `false`",
            "Whether the timeline's bars are drawn in ratios, so that short rows are seen beside long ones.",
            _is_switch,
        ),
        Described(
            "keep_list",
            "true",
            "`true` or `false`",
            "Whether what the list says of each session is kept in the cache folder: long lists are there at once.",
            _is_switch,
        ),
        Described(
            "keymap",
            "empty",
            "a table of keys by name",
            "Other keys for anything, by the names the help screen shows; several stand with commas between them.",
            _is_table_of_keys,
        ),
    )
}
"""By name, in the order documents list them."""
