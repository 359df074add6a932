"""Count the modules entered from an appended line to its row, from a moved limit to its dollars, and by a report.

    python scripts/measure_walks.py            # the table of docs/development/architecture.md
    python scripts/measure_walks.py --modules  # with the modules, in the order in which they are entered

A module counts if one of its functions runs, in any thread. Each walk is done once before it is recorded.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import threading
from collections import Counter
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.cli import main as run_command
from inspector.strategies.plan import Plan
from inspector.ui.headless import running_session, wait_until_ready
from inspector.ui.main.screen import InspectScreen
from inspector.ui.plan.controls import LimitSlider

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "sample_sessions" / "coding-agent.jsonl"
PACKAGE = f"{ROOT / 'inspector'}/"

entered: dict[str, None] = {}
is_recording = False


def note(frame: FrameType, event: str, _: object) -> None:
    if is_recording and event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
        entered[frame.f_code.co_filename.removeprefix(PACKAGE)] = None


@contextmanager
def recorded(name: str) -> Iterator[None]:
    global is_recording  # noqa: PLW0603  read by the profile function
    entered.clear()
    is_recording = True
    sys.setprofile(note)
    yield
    sys.setprofile(None)
    is_recording = False
    entered.pop("ui/headless.py", None)
    rooms = Counter(path.partition("/")[0] for path in entered)
    print(f"{name}: {len(entered)} ({', '.join(f'{room} {count}' for room, count in rooms.most_common())})")
    if "--modules" in sys.argv:
        print("  " + "\n  ".join(entered))


async def walk_the_screen(path: Path) -> None:
    lines = SAMPLE.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-4]))
    async with running_session(path, Plan.from_specs(["tiered-stale"]), (140, 45)) as pilot:
        screen = next(each for each in pilot.app.screen_stack if isinstance(each, InspectScreen))

        async def append(added: list[bytes]) -> None:
            before = screen.controller.session
            with path.open("ab") as file:
                file.write(b"".join(added))
            while screen.controller.session is before:
                await pilot.pause(0.02)
            await wait_until_ready(pilot)

        async def move(key: str) -> None:
            before = screen.controller.plan
            await pilot.press(key)
            while screen.controller.plan == before:
                await pilot.pause(0.02)
            await wait_until_ready(pilot)

        await append(lines[-4:-2])
        with recorded("an appended line until it is painted"):
            await append(lines[-2:])
        screen.query(LimitSlider).first().focus()
        await pilot.pause(0.1)
        await move("right")
        with recorded("a moved limit until its dollars are painted"):
            await move("left")


def report() -> None:
    with redirect_stdout(StringIO()):
        run_command(["report", str(SAMPLE), "--format", "json", "--no-kept-results"])


def main() -> None:
    threading.setprofile(note)
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(walk_the_screen(Path(folder) / SAMPLE.name))
    report()
    with recorded("inspector report SESSION --format json"):
        report()


if __name__ == "__main__":
    main()
