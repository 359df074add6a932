"""Only the facade accesses the internals of the application; tests use user actions and visible content."""

import ast
from importlib import import_module
from pathlib import Path

from textual.dom import DOMNode
from textual.screen import Screen

from inspector.ui.app import InspectorApp

MODULES = sorted(Path(__file__).parent.rglob("test_*.py"))
FACADE = {"run", "running"}
INSIDE = {"app", "pilot", "screen", "pilot_of_facade", "top_of_facade"}


def private_names(tree: ast.AST) -> list[str]:
    """Private attributes of anything but the object a method belongs to; that of named tuples is public."""
    return [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
        and node.attr != "_replace"
        and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))
    ]


def test_no_test_reaches_behind_the_facade() -> None:
    for path in MODULES:
        assert not names_behind_the_facade(path), path.name


def names_behind_the_facade(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = vars(
        import_module(".".join(("tests", "ui", *path.relative_to(Path(__file__).parent).with_suffix("").parts)))
    )
    inside = [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in INSIDE
        and isinstance(node.value, ast.Name)
        and node.value.id in FACADE
    ]
    widgets = [
        node.id
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        and FACADE & {argument.arg for argument in function.args.args}
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and _is_part_of_the_application(names.get(node.id))
    ]
    screens = [
        name
        for name, value in names.items()
        if isinstance(value, type) and issubclass(value, (InspectorApp, Screen)) and _is_part_of_the_application(value)
    ]
    if path.name == Path(__file__).name:
        screens.remove(InspectorApp.__name__)
    return [*private_names(tree), *inside, *widgets, *screens]


def _is_part_of_the_application(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, DOMNode) and value.__module__.startswith("inspector.")
