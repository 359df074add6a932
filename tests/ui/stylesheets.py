"""Style sheets parsed once per process: a tenth of the time of a short test of the application."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest import mock

from textual.css.stylesheet import Stylesheet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.css.model import RuleSet

_READ: dict[tuple[Any, ...], list[RuleSet]] = {}
"""Rules by the sheet and the colours it names."""


@contextmanager
def read_once() -> Iterator[None]:
    """Take the rules of a sheet from those that were read before with the same colours."""
    parse = Stylesheet._parse_rules

    def known(sheet: Stylesheet, *given: Any, **named: Any) -> list[RuleSet]:
        key = (tuple(sorted(sheet._variables.items())), given, tuple(sorted(named.items())))
        rules = _READ.get(key)
        if rules is None:
            rules = _READ[key] = parse(sheet, *given, **named)
        return rules

    with mock.patch.object(Stylesheet, "_parse_rules", known):
        yield
