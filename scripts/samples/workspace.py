"""A temporary folder in which the recorded agents really read, edit, search and run things.

Machine-dependent parts are removed from every text: the folder is called `/home/sam/project`, and durations that
programs print are replaced by fixed ones.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

HOME = "/home/sam/project"

DURATION = re.compile(r"(?<=\bin )\d+\.\d+s\b")


@dataclass(frozen=True)
class Finished:
    """A finished command.

    Attributes:
        exit_code: Its exit code.
        output: Its standard output.
        errors: Its standard error.
    """

    exit_code: int
    output: str
    errors: str


class Workspace:
    """A folder that calls itself `/home/sam/project`.

    Args:
        folder: An empty temporary folder.
        sources: Files to begin with, by their path inside the project.
    """

    def __init__(self, folder: Path, sources: dict[str, str]) -> None:
        self.root = folder.resolve() / "project"
        self.programs = folder.resolve() / "programs"
        self.root.mkdir()
        self.programs.mkdir()
        for name in ("python", "python3"):
            program = self.programs / name
            program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
            program.chmod(0o755)
        for name, text in sources.items():
            self.write(name, text)

    def path(self, name: str) -> Path:
        """Return the real path of a project file, named by its path in the project or as the agent names it."""
        return self.root / name.removeprefix(HOME).lstrip("/")

    def read(self, name: str) -> str:
        return self.path(name).read_text(encoding="utf-8")

    def write(self, name: str, text: str) -> None:
        """Create a file or replace its text."""
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace a passage that occurs exactly once.

        Raises:
            ValueError: It does not.
        """
        text = self.read(name)
        if text.count(old) != 1:
            raise ValueError(f"{text.count(old)} matches of the text to replace in {name}")
        self.write(name, text.replace(old, new))

    def glob(self, pattern: str) -> list[str]:
        """Paths in the project that match, sorted."""
        found = (path for path in self.root.glob(pattern) if path.is_file() and "__pycache__" not in path.parts)
        return sorted(path.relative_to(self.root).as_posix() for path in found)

    def search(self, pattern: str, files: str = "**/*") -> list[tuple[str, int, str]]:
        """Every line that matches a regular expression: path in the project, line number, line."""
        expression = re.compile(pattern)
        return [
            (name, number, line)
            for name in self.glob(files)
            for number, line in enumerate(self.read(name).splitlines(), 1)
            if expression.search(line)
        ]

    def run(self, command: str) -> Finished:
        """Run a shell command in the project."""
        environment = {
            "PATH": os.pathsep.join([str(self.programs), "/usr/bin", "/bin"]),
            "HOME": str(self.root.parent),
            "LC_ALL": "C",
            "TZ": "UTC",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",
            "PYTHONIOENCODING": "utf-8",
            # The marks under a traceback's lines differ between versions of Python.
            "PYTHONNODEBUGRANGES": "1",
        }
        finished = subprocess.run(
            ["sh", "-c", command], cwd=self.root, env=environment, capture_output=True, encoding="utf-8", check=False
        )
        return Finished(finished.returncode, self.plain(finished.stdout), self.plain(finished.stderr))

    def plain(self, text: str) -> str:
        """Return a text without machine-dependent and time-dependent parts."""
        return DURATION.sub("0.012s", text.replace(str(self.root), HOME))
