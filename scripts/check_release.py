"""Check a release: `python scripts/check_release.py dist`, with one wheel and one sdist in that folder.

Checks the files and sizes of both, that the version equals the version in the changelog and in a tag (`--tag v1.0.0`),
and that descriptions render (`twine check`) without relative links. Exits with 1 and prints a line for each problem.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tarfile
import zipfile
from email.parser import HeaderParser
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from email.message import Message

ROOT = Path(__file__).resolve().parent.parent

MOST_BYTES = {"wheel": 3_500_000, "sdist": 4_500_000}
"""Room for growth by a half; a corpus or pictures that got in by mistake are more."""

IN_WHEEL = (
    "inspector/py.typed",
    "inspector/cli/__init__.py",
    "inspector/ui/inspector.tcss",
    "inspector/report/pages/assets/page.css",
    "inspector/report/pages/assets/page.html.jinja",
    "inspector/sample_sessions/coding-agent.jsonl",
    "inspector/docs/index.md",
)
IN_WHEEL_SOMEWHERE = ("share/man/man1/inspector.1", "licenses/LICENSE", "entry_points.txt")
IN_SDIST = (
    "pyproject.toml",
    "README.md",
    "CHANGELOG.md",
    "LICENSE",
    "hatch_build.py",
    "inspector/py.typed",
    "tests/conftest.py",
    "docs/inspector.1",
    "sample_sessions/coding-agent.jsonl",
)
NOWHERE = re.compile(r"(^|/)(\.git|\.hypothesis|__pycache__|\.venv|shared|fuzz-failures|.*\.pyc|\.env)(/|$)")
IN_WHEEL_ALONE = re.compile(r"^(inspector/|session_inspector-[^/]+\.(dist-info|data)/)")


def problems_of_wheel(path: Path) -> Iterator[str]:
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
        headers = HeaderParser().parsestr(wheel.read(metadata).decode())
    yield from (f"{path.name}: the description has a relative link, {link}" for link in relative_links(headers))
    yield from (f"{path.name}: lacks {name}" for name in IN_WHEEL if name not in names)
    yield from (
        f"{path.name}: lacks {end}" for end in IN_WHEEL_SOMEWHERE if not any(name.endswith(end) for name in names)
    )
    yield from (f"{path.name}: holds {name}" for name in names if not IN_WHEEL_ALONE.match(name))
    package = {each.relative_to(ROOT).as_posix() for each in (ROOT / "inspector").rglob("*.py")}
    yield from (f"{path.name}: lacks {name}" for name in sorted(package - set(names)))
    yield from unwanted(path, names)
    if not path.name.endswith("-py3-none-any.whl"):
        yield f"{path.name}: is platform-specific"
    if "://" in "".join(headers.get_all("Requires-Dist", [])):
        yield f"{path.name}: has a dependency given by URL"


def relative_links(metadata: Message) -> Iterator[str]:
    """Yield links and pictures of the long description that a package index cannot resolve."""
    text = str(metadata.get_payload())
    targets = [*re.findall(r"\]\(([^)\s]+)", text), *re.findall(r"(?:src|href)=[\"']?([^\"'\s>]+)", text)]
    yield from (target for target in targets if not target.startswith(("https://", "#")))


def problems_of_sdist(path: Path) -> Iterator[str]:
    with tarfile.open(path) as sdist:
        names = [name.partition("/")[2] for name in sdist.getnames()]
    yield from (f"{path.name}: lacks {name}" for name in IN_SDIST if name not in names)
    yield from unwanted(path, names)


def unwanted(path: Path, names: Iterable[str]) -> Iterator[str]:
    """Yield files that do not belong in a distribution, and a size over the limit."""
    yield from (f"{path.name}: holds {name}" for name in names if NOWHERE.search(name))
    kind = "wheel" if path.suffix == ".whl" else "sdist"
    if path.stat().st_size > MOST_BYTES[kind]:
        yield f"{path.name}: {path.stat().st_size:,} bytes, at most {MOST_BYTES[kind]:,}"


def problems_of_version(wheel: Path, tag: str) -> Iterator[str]:
    """Yield places with a version that differs from the wheel's."""
    version = wheel.name.split("-")[1]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.findall(r"^## (\d\S*) - \d{4}-\d{2}-\d{2}$", changelog, re.MULTILINE)
    if version not in released[:1]:
        yield f"CHANGELOG.md: newest version is {', '.join(released[:1]) or 'none'}, not {version}"
    if tag and tag != f"v{version}":
        yield f"the tag is {tag}, not v{version}"


def main() -> int:
    """Check; the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tag", default="", help="release tag")
    options = parser.parse_args()
    wheels, sdists = list(options.folder.glob("*.whl")), list(options.folder.glob("*.tar.gz"))
    if len(wheels) != 1 or len(sdists) != 1:
        print(f"{options.folder}: {len(wheels)} wheels and {len(sdists)} sdists, not one of each")
        return 1
    (wheel,), (sdist,) = wheels, sdists
    problems = [*problems_of_wheel(wheel), *problems_of_sdist(sdist), *problems_of_version(wheel, options.tag)]
    for problem in problems:
        print(problem)
    checked = subprocess.run([sys.executable, "-m", "twine", "check", "--strict", wheel, sdist], check=False)
    for path in (wheel, sdist):
        print(f"{path.name}: {path.stat().st_size:,} bytes")
    return 1 if problems or checked.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
