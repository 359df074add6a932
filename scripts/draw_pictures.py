"""Redraw the pictures of the documents, or list the stale ones.

    python scripts/draw_pictures.py                # all of them
    python scripts/draw_pictures.py demo.svg       # one
    python scripts/draw_pictures.py --check        # none: 1 if one is stale, with the differences

Every picture records the releases of the libraries that drew it. With the same releases it is compared byte by byte.
With others only its words are compared, since layout and colors may differ.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import multiprocessing
import os
import re
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from drawing import always_the_same

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = ROOT / "docs"

SESSION = ROOT / "sample_sessions" / "coding-agent.jsonl"


class Still(NamedTuple):
    """A picture of one screen.

    Attributes:
        plan: Active strategies; empty for the suggested plan.
        size: Columns and lines.
        keys: Keys to press first.
    """

    plan: tuple[str, ...]
    size: tuple[int, int]
    keys: tuple[str, ...]


STILLS = {
    # Select a long result that was cut, with bars as ratios, so that short rows are visible next to it.
    "screen.svg": Still(
        ("tiered-stale:tool-set=coding",), (132, 42), ("shift+left", "home", "g", "x", *("n",) * 18, "z", "l")
    ),
    "walk-misses.svg": Still((), (112, 34), ("M",)),
    "walk-compare.svg": Still((), (112, 34), ("c",)),
}

TOUR = "demo.svg"
CHART = "savings.svg"
PAGE = "savings.html"

PICTURES = (TOUR, *STILLS, CHART, PAGE)
"""Files in docs/, the slowest first."""

SAVINGS = ("sample_sessions/coding-agent.jsonl", "--strategy", "tiered-stale")

SIGNATURE = re.compile(r"<!-- drawn by [^>]* -->")


def page_arguments(page: str) -> list[str]:
    """Return the command line that writes the page of savings, without its script, so that any viewer shows it."""
    return ["report", *SAVINGS, "--runs-per-day", "24", "--format", "html", "--no-script", "--include-text", "-o", page]


def drawn(name: str) -> str:
    """Draw a picture in a process that has called `always_the_same`."""
    if name == TOUR:
        from draw_tour import animated, frames

        return signed(animated(asyncio.run(frames())), "textual", "rich")
    if name in STILLS:
        return signed(asyncio.run(_still(STILLS[name])), "textual", "rich")
    if name == CHART:
        return signed(_written(["screenshot", "--chart", *SAVINGS, "-o", "chart.svg"]), "vl-convert-python")
    return _written(page_arguments("page.html"))


async def _still(still: Still) -> str:
    from drawing import picture_at_rest

    from inspector.strategies.plan import Plan
    from inspector.ui.headless import running_session, settled

    plan = Plan.from_specs(list(still.plan)) if still.plan else None
    async with running_session(SESSION, plan, still.size) as pilot:
        for key in still.keys:
            await pilot.press(key)
            # A key may need the result of the key before, such as the controls of a strategy.
            await settled(pilot)
        return await picture_at_rest(pilot)


def _written(arguments: list[str]) -> str:
    """Return the file that a command writes to its last argument."""
    from inspector.cli import main

    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / arguments[-1]
        if main([*arguments[:-1], str(file)]):
            raise RuntimeError(f"inspector {' '.join(arguments)} failed")
        return file.read_text(encoding="utf-8")


def signed(picture: str, *libraries: str) -> str:
    """Add the versions of its libraries to a picture."""
    releases = []
    for library in libraries:
        try:
            releases.append(f"{library} {version(library)}")
        except PackageNotFoundError:
            continue
    by = " with ".join(("scripts/draw_pictures.py", *([", ".join(releases)] if releases else [])))
    return re.sub(r"^<svg[^>]*>", lambda start: f"{start[0]}<!-- drawn by {by} -->", picture, count=1)


def difference(kept: str, now: str) -> str:
    """Describe the relevant differences between a stored picture and a new one; empty if there are none."""
    if kept == now:
        return ""
    before, after = words(kept), words(now)
    if before != after:
        return _first_difference(before, after)
    signature = SIGNATURE.search(kept)
    is_same_release = signature is not None and signature[0] in now
    return "same words, but other positions or colors" if is_same_release else ""


def words(picture: str) -> list[str]:
    """Return the words of a picture or a page."""
    text = re.sub(r"<style.*?</style>|<!--.*?-->|<[^>]*>", " ", picture, flags=re.DOTALL)
    return text.replace("&#160;", " ").split()


def _first_difference(before: list[str], after: list[str]) -> str:
    matcher = difflib.SequenceMatcher(a=before, b=after, autojunk=False)
    for what, first, last, start, stop in matcher.get_opcodes():
        if what != "equal":
            around = " ".join(before[max(first - 3, 0) : first])
            was, is_now = (" ".join(each[:8]) or "nothing" for each in (before[first:last], after[start:stop]))
            return f"after “{around}”: “{was}” would become “{is_now}”"
    return ""


def all_drawn(names: list[str]) -> dict[str, str]:
    """Draw pictures, each in a subprocess, and return them by name."""
    with tempfile.TemporaryDirectory() as folder:
        homes = Path(folder)
        with ProcessPoolExecutor(
            min(os.cpu_count() or 1, len(names)),
            multiprocessing.get_context("spawn"),
            initializer=always_the_same,
            initargs=(homes,),
            max_tasks_per_child=1,
        ) as processes:
            return dict(zip(names, processes.map(drawn, names), strict=True))


def main(arguments: list[str] | None = None) -> int:
    """Draw, or compare; 1 where a picture is stale."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="FILE", help=f"pictures in docs/ (all): {', '.join(PICTURES)}")
    parser.add_argument("--check", action="store_true", help="draw nothing; list stale pictures")
    options = parser.parse_args(arguments)
    names = options.names or list(PICTURES)
    if unknown := [name for name in names if name not in PICTURES]:
        parser.error(f"no picture {unknown[0]!r}; choose from {', '.join(PICTURES)}")
    stale = False
    for name, picture in all_drawn(names).items():
        target = DOCUMENTS / name
        differs = difference(target.read_text(encoding="utf-8"), picture) if target.exists() else "file not found"
        if options.check:
            print(f"docs/{name}: {f'stale: {differs}' if differs else 'current'}")
            stale = stale or bool(differs)
        else:
            target.write_text(picture, encoding="utf-8")
            print(f"docs/{name}: {len(picture.encode()):,} bytes, {differs or 'unchanged'}")
    if stale:
        print("run: python scripts/draw_pictures.py", file=sys.stderr)
    return int(stale)


if __name__ == "__main__":
    sys.exit(main())
