"""Style sheets parsed once per process: a tenth of the time of a short test of the application."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest import mock

from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet

if TYPE_CHECKING:
    from collections.abc import Iterator

_READ: dict[tuple[Any, ...], list[RuleSet]] = {}
"""Rules by the sheet and the colours it names."""
_COLOURS: dict[tuple[tuple[str, str], ...], int] = {}
"""Sets of colours, numbered: comparing one takes longer than reading a short sheet."""


@contextmanager
def read_once() -> Iterator[None]:
    """Take the rules of a sheet from those that were read before with the same colours."""
    parse = Stylesheet._parse_rules

    numbered: tuple[dict[str, str], int] = {}, -1

    def number_of(variables: dict[str, str]) -> int:
        nonlocal numbered
        if numbered[0] is not variables:
            numbered = variables, _COLOURS.setdefault(tuple(sorted(variables.items())), len(_COLOURS))
        return numbered[1]

    def known(sheet: Stylesheet, *given: Any, **named: Any) -> list[RuleSet]:
        key = (number_of(sheet._variables), given, tuple(sorted(named.items())))
        rules = _READ.get(key)
        if rules is None:
            rules = _READ[key] = parse(sheet, *given, **named)
        return rules

    # A rule is found by its identity, which Textual asks for in Python, for every rule and every widget.
    identity = mock.patch.object(RuleSet, "__hash__", object.__hash__)
    with mock.patch.object(Stylesheet, "_parse_rules", known), identity:
        yield
