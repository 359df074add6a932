"""Styles computed once per process instead of once per application: half of the time of opening one."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest import mock
from weakref import WeakKeyDictionary

from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode

if TYPE_CHECKING:
    from collections.abc import Iterator

_READ: dict[tuple[Any, ...], list[RuleSet]] = {}
"""Rules by the sheet and the colours it names."""
_COLOURS: dict[tuple[tuple[str, str], ...], int] = {}
"""Sets of colours, numbered: comparing one takes longer than reading a short sheet."""
_SHEETS: dict[tuple[int, ...], int] = {}
"""Whole style sheets, numbered by the identities of their rules."""
_COMPONENTS: dict[tuple[Any, ...], dict[str, Any]] = {}
"""Styles of the components of widgets by sheet, component, and the names of the widget and all it is in."""


class UnheardSignal:
    """Replaces the signal of a node's messages, to which no part of an application subscribes."""

    def __init__(self, *_: object) -> None:
        pass

    def publish(self, _: object) -> None:
        """Reach no subscriber."""


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
    with (
        mock.patch.object(RuleSet, "__hash__", object.__hash__),
        mock.patch.object(Stylesheet, "_parse_rules", known),
        mock.patch.object(Stylesheet, "_process_component_classes", _style_components),
        mock.patch("textual.message_pump.Signal", UnheardSignal),
    ):
        yield


_NUMBERED: WeakKeyDictionary[Stylesheet, tuple[dict[str, list[RuleSet]], int]] = WeakKeyDictionary()


def _sheet_number(sheet: Stylesheet) -> int:
    rules = sheet.rules_map
    known = _NUMBERED.get(sheet)
    if known is None or known[0] is not rules:
        number = _SHEETS.setdefault(tuple(map(id, sheet.rules)), len(_SHEETS))
        known = _NUMBERED[sheet] = rules, number
    return known[1]


def _style_components(sheet: Stylesheet, node: DOMNode) -> None:
    """Style the components of a widget like Textual, with the styles of the same widget in an earlier application."""
    components = node._get_component_classes()
    if not components:
        return
    place = tuple((each._css_type_name, each._id, frozenset(each._classes)) for each in node.css_path_nodes)
    number, before, is_changed = _sheet_number(sheet), node._component_styles.copy(), False
    node._component_styles.clear()
    for component in sorted(components):
        known, old = _COMPONENTS.get((number, component, place)), before.get(component)
        if known is not None and old is not None and old.base._rules == known:
            node._component_styles[component] = old
            continue
        virtual = DOMNode()
        virtual._classes.add(component)
        virtual._attach(node)
        if known is not None:
            virtual._css_styles._rules.update(known)  # type: ignore[typeddict-item]  # copied as they are
        else:
            sheet.apply(virtual)
            if not any(rule.pseudo_classes for rule in sheet.rules_map.get(f".{component}", ())):
                _COMPONENTS[number, component, place] = dict(virtual._css_styles._rules)
        node._component_styles[component] = virtual.styles
        is_changed = is_changed or old != virtual.styles
    if is_changed:
        node.refresh()
