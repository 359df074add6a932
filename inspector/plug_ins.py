"""Formats and strategies of other packages, found through their entry points.

A package declares them in its `pyproject.toml`, by the name that sessions and plans use:

    [project.entry-points."inspector.strategies"]
    keep-edges = "acme_inspector:KeepEdges"

Entry points are read when a name is looked up that is not built in, or all of them are listed; a package is imported
when one of its names is. A plug-in that cannot be used is left out, with a problem that names its package. Its later
exceptions are assigned to it by their traceback (`failure_of`).
"""

from __future__ import annotations

import re
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from inspector.errors import InspectorError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from importlib.metadata import Distribution

PROGRAM: Final = "inspector"
FORMATS: Final = f"{PROGRAM}.formats"
STRATEGIES: Final = f"{PROGRAM}.strategies"
"""Groups of entry points."""

NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,59}")

Loaded = TypeVar("Loaded")


class PlugIn(NamedTuple):
    """One entry point of a package.

    Attributes:
        group: `FORMATS` or `STRATEGIES`.
        name: Name in sessions or plans.
        target: The object it names: `acme_inspector:KeepEdges`.
        package: Name of the package.
        version: Version of the package.
        problem: Reason why the package's entry points cannot be read; empty if they can.
    """

    group: str
    name: str
    target: str
    package: str
    version: str
    problem: str = ""

    @property
    def label(self) -> str:
        """Package and version."""
        return f"{self.package} {self.version}".strip()

    @property
    def named(self) -> str:
        """Kind, name, package and version."""
        kind = "format" if self.group == FORMATS else "strategy"
        return f"{kind} {self.name} of {self.label}" if self.name else f"{kind} of {self.label}"

    @property
    def module(self) -> str:
        """Top-level module of the target."""
        return re.split("[.:]", self.target, maxsplit=1)[0].strip()


class UnusablePlugInError(InspectorError):
    """A loaded object is not a format or a strategy; the message gives the reason."""

    advice = "report it to the authors of the package"


class PlugIns(Generic[Loaded]):
    """The usable plug-ins of one group, loaded on first use."""

    def __init__(
        self, group: str, is_built_in: Callable[[str], bool], accept: Callable[[PlugIn, object], Loaded]
    ) -> None:
        """Read nothing yet.

        Args:
            group: `FORMATS` or `STRATEGIES`.
            is_built_in: Returns True for the names that no plug-in can have.
            accept: Returns the usable form of a loaded object; may raise any exception.
        """
        self._group = group
        self._is_built_in = is_built_in
        self._accept = accept
        self._loaded: dict[str, Loaded] = {}
        self._problems: dict[PlugIn, str] = {}

    def get(self, name: str) -> Loaded | None:
        """Return the plug-in of that name; None if there is none or it is not usable."""
        if name in self._loaded:
            return self._loaded[name]
        found = [each for each in declared() if each.group == self._group and each.name == name and not each.problem]
        if len(found) != 1 or found[0] in self._problems or self._refusal(found[0]):
            return None
        try:
            loaded = self._accept(found[0], _load(found[0]))
        except (Exception, SystemExit) as error:  # noqa: BLE001  a broken package costs only itself
            self.note(found[0], _described(error))
            return None
        return self._loaded.setdefault(name, loaded)  # the first of several threads

    def names(self) -> list[str]:
        """Return the names of all usable plug-ins, in alphabetical order."""
        names = dict.fromkeys(each.name for each in declared() if each.group == self._group)
        return [name for name in names if self.get(name) is not None]

    def plug_in(self, name: str) -> PlugIn | None:
        """Return the origin of a loaded plug-in; None for other names."""
        if name not in self._loaded:
            return None
        return next(each for each in declared() if each.group == self._group and each.name == name)

    def note(self, plug_in: PlugIn, problem: str) -> None:
        """Record a problem, for listings; the first one of each plug-in is kept."""
        self._problems.setdefault(plug_in, problem)

    def problems(self) -> list[str]:
        """Return a sentence for every problem of this group, with its package; loads all plug-ins."""
        self.names()
        found = []
        for each in declared():
            if each.group == self._group:
                reason = each.problem or self._refusal(each) or self._problems.get(each, "")
                found += [f"{each.named}: {reason}"] if reason else []
        return found

    def problem_of(self, name: str) -> str:
        """Return the problems of the plug-ins of that name; empty if there are none."""
        self.get(name)
        mine = [each for each in declared() if each.group == self._group and each.name == name]
        reasons = [(each, self._refusal(each) or self._problems.get(each, "")) for each in mine]
        return "; ".join(f"{each.named}: {reason}" for each, reason in reasons if reason)

    def _refusal(self, plug_in: PlugIn) -> str:
        """Return the reason why a name is not accepted; empty if it is."""
        name = plug_in.name
        if not NAME.fullmatch(name):
            return "the name may only have lower-case letters, digits, dots, hyphens and underscores"
        if self._is_built_in(name):
            return "the name is built in; the package has to choose another one"
        same = [each for each in declared() if each.group == plug_in.group and each.name == name]
        others = sorted({each.label for each in same if each.package != plug_in.package})
        if others:
            return f"{' and '.join(others)} has the same name; uninstall one of them"
        return "declared twice" if len(same) > 1 else ""


@cache
def declared() -> tuple[PlugIn, ...]:
    """Return the entry points of all installed packages, sorted by name and package."""
    from importlib.metadata import distributions

    found: dict[tuple[str, ...], PlugIn] = {}
    owners: dict[str, int] = {}
    for number, package in enumerate(distributions()):
        for each in _declared_by(package):
            # A package that is found twice on the path is the first of them.
            owner = re.sub(r"[-_.]+", "-", each.package).lower()
            if owners.setdefault(owner, number) == number:
                found[each.group, each.name, owner, each.target] = each
    return tuple(sorted(found.values(), key=lambda each: (each.name, each.package)))


def _declared_by(package: Distribution) -> Iterator[PlugIn]:
    """Yield the plug-ins of one package; broken metadata of other packages is ignored."""
    try:
        text = package.read_text("entry_points.txt") or ""
    except (OSError, ValueError):
        return
    groups = [group for group in (FORMATS, STRATEGIES) if group in text]
    if not groups:
        return
    try:
        name, version = str(package.metadata["Name"] or "a package without a name"), str(package.version or "")
    except Exception:  # noqa: BLE001  metadata is missing or broken in any way
        name, version = "a package without metadata", ""
    name, version = _safe(name), _safe(version)
    try:
        points = [each for each in package.entry_points if each.group in groups]
    except Exception as error:  # noqa: BLE001  the parser of the standard library raises many kinds
        problem = f"its entry points cannot be read ({_described(error)})"
        yield from (PlugIn(group, "", "", name, version, problem) for group in groups)
        return
    yield from (PlugIn(each.group, _safe(each.name), each.value, name, version) for each in points)


def failure_of(error: BaseException, group: str) -> str:
    """Return a sentence with the plug-in of a group that raised an exception; empty if none did."""
    if not declared.cache_info().currsize:
        return ""  # no plug-in was ever loaded
    mine = [each for each in declared() if each.group == group and each.module not in ("", PROGRAM)]
    trace = error.__traceback__
    owner = None
    while trace is not None:
        name = str(trace.tb_frame.f_globals.get("__name__"))
        own = [each for each in mine if each.module == name.partition(".")[0]]
        own.sort(key=lambda each: each.target.partition(":")[0] != name)
        owner = own[0] if own else owner
        trace = trace.tb_next
    return "" if owner is None else f"{owner.named}: {_described(error)}"


@cache
def versions() -> tuple[str, ...]:
    """Return package, version and a digest of the code of every plug-in: parts of the keys of cached results."""
    by_package = {each.label: each for each in declared()}
    return tuple(f"{label} ({_digest_of(each.module)})" for label, each in sorted(by_package.items()))


def _digest_of(module: str) -> str:
    """Compute the digest of a module's source files; a version alone does not change while a plug-in is written."""
    from importlib.util import find_spec

    digest = blake2b(digest_size=16)
    try:
        spec = find_spec(module)
        if spec is not None:
            folders = [Path(each) for each in spec.submodule_search_locations or ()]
            files = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
            for path in files or [Path(spec.origin or "")]:
                digest.update(path.name.encode() + path.read_bytes())
    except (ImportError, OSError, ValueError):
        return "unreadable"
    return digest.hexdigest()


def _load(plug_in: PlugIn) -> object:
    from importlib.metadata import EntryPoint

    return EntryPoint(plug_in.name, plug_in.target, plug_in.group).load()


def _described(error: BaseException) -> str:
    text = _safe(str(error))
    if isinstance(error, UnusablePlugInError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _safe(text: str) -> str:
    from inspector.safe_text import one_line

    return one_line(text, limit=300)
