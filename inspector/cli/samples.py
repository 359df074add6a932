"""The sample sessions that come with the program, wherever it runs from: an installed package or a checkout."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.cli.exits import CommandError, ExitCode
from inspector.session.files import is_file, is_folder

if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER = "sample_sessions"

_NOT_SESSIONS = {".md", ".txt", ".toml", ".py"}


@dataclass(frozen=True, slots=True)
class Sample:
    """One bundled session.

    Attributes:
        name: What it is called on the command line: its file's or folder's name up to the first dot.
        path: Where it lies.
    """

    name: str
    path: Path

    @property
    def grows(self) -> bool:
        """Whether it can be replayed line by line, as an agent appends to it."""
        return is_file(self.path) and self.path.suffix == ".jsonl"


def sample_folder() -> Path:
    """Where the samples are.

    Raises:
        CommandError: They are in neither place.
    """
    package = Path(__file__).resolve().parent.parent
    for folder in (package / FOLDER, package.parent / FOLDER):
        if is_folder(folder):
            return folder
    raise CommandError(f"{package / FOLDER}: the sample sessions are not there; install the program again")


def samples() -> tuple[Sample, ...]:
    """All samples, by name."""
    return tuple(
        Sample(path.name.partition(".")[0], path)
        for path in sorted(sample_folder().iterdir())
        if path.suffix not in _NOT_SESSIONS and not path.name.startswith((".", "_"))
    )


def sample_named(name: str) -> Sample:
    """The sample of that name.

    Raises:
        CommandError: There is none; the message lists those there are.
    """
    found = samples()
    for sample in found:
        if name in (sample.name, sample.path.name):
            return sample
    raise CommandError(f"{name}: no such sample; there are {_listed(found)}", ExitCode.WRONG_USAGE)


def _listed(found: Iterable[Sample]) -> str:
    return ", ".join(sample.name for sample in found)
