"""Install a built wheel as strangers do, and use it: `python scripts/try_installs.py dist/X.whl PYTHON …`.

By pip, by pipx and by `uv tool`, with each Python named, in a home where nothing is; and without an installation, by
the one line that README begins with. Then, in a bare home: the version, a report of a sample, and a page of the newest
session, each timed. `pipx` and `uv` are taken from the PATH, and those that are not there are left out.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TypeAlias

Program: TypeAlias = "tuple[str | Path, ...]"

ONCE = {"pipx run": ("pipx", "run", "--spec"), "uvx": ("uvx", "--from")}
"""Commands that run a program without installing it, up to its source."""

HEAD = ("Python", "by", "installed", "--version", "report", "page of the newest session")


def timed(*command: str | Path, env: dict[str, str]) -> tuple[float, str]:
    """Run a command; return its seconds and its output."""
    began = time.monotonic()
    done = subprocess.run(command, env=env, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return time.monotonic() - began, done.stdout


def installed(way: str, python: str, wheel: Path, home: Path, env: dict[str, str]) -> tuple[float, Program]:
    """Install the program; return the seconds and the command that starts it.

    Without an installation these are the seconds of a first start, which fetches its dependencies.
    """
    if way in ONCE:
        program = (*ONCE[way], wheel, "--python", python, "session-inspector")
        return timed(*program, "--version", env=env)[0], program
    if way == "pip":
        seconds, _ = timed(python, "-m", "venv", home / "venv", env=env)
        more, _ = timed(home / "venv" / "bin" / "pip", "install", "--quiet", wheel, env=env)
        return seconds + more, (home / "venv" / "bin" / "inspector",)
    tool = ("pipx", "install") if way == "pipx" else ("uv", "tool", "install")
    seconds, _ = timed(*tool, "--python", python, wheel, env=env)
    return seconds, (home / "bin" / "inspector",)


def tried(way: str, python: str, wheel: Path) -> list[str]:
    """Return a table row: the way of installation and its duration."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        names = [name for name in os.environ if name.startswith(("PIP_", "SSL_", "UV_")) or name == "PATH"]
        kept = {name: os.environ[name] for name in names}
        programs = str(home / "bin")
        places = {"PIPX_HOME": str(home / "pipx"), "PIPX_BIN_DIR": programs, "UV_TOOL_BIN_DIR": programs}
        env = {**kept, "HOME": folder, "LANG": "C.UTF-8", **places}
        seconds, program = installed(way, python, wheel, home, env)
        version, output = timed(*program, "--version", env=env)
        _, listed = timed(*program, "demo", "--list", env=env)
        sample = next(line.split()[1] for line in listed.splitlines() if line.startswith("coding-agent "))
        if not Path(sample).is_relative_to(home.resolve()):
            raise SystemExit(f"{way}: the samples come from another installation: {sample}")
        report, _ = timed(*program, "report", sample, env=env)
        sessions = home / ".claude" / "projects" / "project"
        sessions.mkdir(parents=True)
        shutil.copy(sample, sessions)
        page, _ = timed(*program, "report", "--last", "--format", "html", "-o", home / "page.html", env=env)
        if "<svg" not in (home / "page.html").read_text(encoding="utf-8"):
            raise SystemExit(f"{way}: the page has no charts")
        _, number = timed(python, "-c", "import platform; print(platform.python_version())", env=env)
        if Path(wheel).name.split("-")[1] not in output:
            raise SystemExit(f"{way}: no version in {output!r}")
        return [number.strip(), way, *(f"{each:.1f} s" for each in (seconds, version, report, page))]


def main() -> None:
    """Try every way with every Python."""
    wheel, *pythons = sys.argv[1:]
    ways = ["pip", *(way for way in ("pipx", "pipx run", "uv", "uvx") if shutil.which(way.split()[0]))]
    print("| " + " | ".join(HEAD) + " |\n" + "| --- | --- " + "| ---: " * (len(HEAD) - 2) + "|")
    for python in pythons or [sys.executable]:
        for way in ways:
            print("| " + " | ".join(tried(way, python, Path(wheel).resolve())) + " |", flush=True)


if __name__ == "__main__":
    main()
