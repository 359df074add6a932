"""`python -m tests.fuzz [--minutes N] [FORMAT ...]`: open damaged sessions until the time is over or a reader fails.

Every round takes a real or generated session and changes it with `tests.session.mutations`: fields of other types,
missing or renamed fields, lines cut, repeated and out of order, invalid bytes, changed files of a folder, rows and
bytes of a database, members of an archive. It then checks the invariants of a reader: it raises only `SessionError`,
indices are in range, every text can be read again, following a file written in two parts gives the same session as a
fresh load, and a sound session that becomes damaged can be followed. The input of a failure is saved.
"""

import argparse
import json
import os
import random
import shutil
import sqlite3
import sys
import tempfile
import time
import traceback
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from inspector.errors import SessionError
from inspector.report.listings import reading_text
from inspector.session.follow import Follower
from inspector.session.model import Session, TextUnavailableError
from inspector.session.open import open_session
from inspector.session.registry import all_formats, detect
from inspector.strategies.history.history import History
from tests.session.codex_lines import Rollout
from tests.session.following import settle
from tests.session.gemini_lines import GeminiScript, call
from tests.session.goose_store import GooseScript
from tests.session.goose_store import create as create_goose
from tests.session.goose_store import session as goose_session
from tests.session.growing import GROWING, remove
from tests.session.hermes_store import HermesStore
from tests.session.hermes_store import create as create_hermes
from tests.session.mutations import BROKEN, ODD, changed, places
from tests.session.opencode_store import Store
from tests.session.run_files import encoded, jsonl, log_of_requests, trajectory
from tests.session.soundness import assert_indices_sound, assert_sound
from tests.session.test_responses import growing

ROOT = Path(__file__).resolve().parent.parent
SQLITE = b"SQLite format 3\x00"
ZIP = b"PK"
LONGEST_SEED = 3_000_000
LONGEST_SAMPLE = 1_000_000
LONGEST_LINE = 200_000
MOST_LINES = 40
NAMES = ("type", "id", "content", "message", "data", "unknown", "role", "payload")


def main(arguments: list[str] | None = None) -> int:
    """Run until the time is over; 1 where a reader failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Open damaged sessions.")
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help="names of formats; all where none is given")
    parser.add_argument("--minutes", type=float, default=1.0, help="how long; 1 where not given")
    parser.add_argument("--seed", type=int, default=None, help="what chance begins with; told when it is not given")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"), help="where files of failures are kept")
    options = parser.parse_args(arguments)
    seed = options.seed if options.seed is not None else random.randrange(1 << 32)  # noqa: S311  # nothing secret
    tell(f"seed {seed}")
    with tempfile.TemporaryDirectory(prefix="inspector-fuzz-") as folder:
        known = seeds(Path(folder) / "made", options.formats)
        if not known:
            parser.error(f"no sessions of {', '.join(options.formats) or 'any format'} to begin with")
        rounds, failures = run(known, Path(folder), seed, options.minutes * 60, options.keep)
    for name in sorted(known):
        tell(f"{name:<20}{rounds[name]:>8} rounds{failures[name]:>6} failures")
    return int(bool(failures))


def tell(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def run(
    known: dict[str, list[Path]], folder: Path, seed: int, seconds: float, keep: Path
) -> tuple[Counter[str], Counter[str]]:
    """Rounds until the time is over, the formats in turn; how many of each, and how many failed."""
    rounds: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    until = time.monotonic() + seconds
    number = 0
    while time.monotonic() < until:
        name = sorted(known)[number % len(known)]
        chance = random.Random(f"{seed}/{number}")  # noqa: S311  # nothing secret
        source = chance.choice(known[name])
        path = folder / f"{number}{source.suffix}"
        number += 1
        rounds[name] += 1
        try:
            play(chance, source, path)
        except Exception:  # noqa: BLE001  # any exception is a failure to report
            failures[name] += 1
            keep.mkdir(parents=True, exist_ok=True)
            kept = keep / f"{name}-{seed}-{number - 1}{source.suffix}"
            if path.is_dir():
                shutil.copytree(path, kept, dirs_exist_ok=True)
            elif path.exists():
                shutil.copyfile(path, kept)
            tell(f"{name}: {source.name}, kept as {kept}\n{traceback.format_exc()}")
        finally:
            for left in folder.glob(f"{path.name}*"):
                remove(left)
    return rounds, failures


def play(chance: random.Random, source: Path, path: Path) -> None:
    (shutil.copytree if source.is_dir() else shutil.copyfile)(source, path)
    follower = None
    with suppress(SessionError):  # if the rest refers to another file, which was not copied
        follower = Follower(path) if chance.random() < 0.3 else None
    damaged = damage(chance, path)
    if follower is not None:
        for _ in range(3):
            follower.poll()
        assert_indices_sound(follower.session)
    elif damaged and chance.random() < 0.4:
        cut = chance.randrange(len(damaged))
        path.write_bytes(damaged[:cut])
        follow_to(path, damaged, cut)
    look_at(path)


def damage(chance: random.Random, path: Path) -> bytes:
    if path.is_dir():
        damage_folder(chance, path)
        return b""
    data = path.read_bytes()
    if data.startswith((SQLITE, ZIP)) and chance.random() < 0.3:
        path.write_bytes(damaged_bytes(chance, data))
    elif data.startswith(SQLITE):
        damage_rows(chance, path)
    elif data.startswith(ZIP):
        damage_archive(chance, path)
    else:
        damaged = damaged_lines(chance, data) if b"}\n" in data[:1_000_000] else damaged_document(chance, data)
        path.write_bytes(damaged)
        return damaged
    return b""


def look_at(path: Path) -> None:
    with suppress(SessionError):
        detection = detect(path)
        session = open_session(path)
        try:
            assert_sound(session)
        except TextUnavailableError:
            # In a database with changed bytes, an index may point to a missing row, which is then reported as gone.
            if path.is_dir() or not path.read_bytes().startswith(SQLITE):
                raise
        assert_history_sound(session)
        reading_text(detection, session)


def assert_history_sound(session: Session) -> None:
    history = History.of(session)
    assert history.call_count == len(session.calls)
    assert len(history.kind) == len(session.blocks)


def follow_to(path: Path, data: bytes, cut: int) -> None:
    """Follow a file from its beginning to all of it: the same as reading all of it."""
    try:
        follower = Follower(path)
    except SessionError:
        path.write_bytes(data)
        return
    with path.open("ab") as file:
        file.write(data[cut:])
    settle(path)
    for _ in range(3):
        follower.poll()
    try:
        expected = open_session(path)
    except SessionError:
        return
    if follower.session.format == expected.format:
        assert follower.session == expected, "followed and loaded differ"


def damaged_lines(chance: random.Random, data: bytes) -> bytes:
    """Some lines of a file, in order or not, some changed and some broken."""
    lines = [line for line in data.split(b"\n") if line and len(line) <= LONGEST_LINE]
    start = chance.randrange(max(len(lines) - MOST_LINES, 0) + 1)
    chosen = lines[start : start + chance.randint(1, MOST_LINES)]
    if chance.random() < 0.3:
        chance.shuffle(chosen)
    made = [damaged_value(chance, line) if chance.random() < 0.4 else line for line in chosen]
    return b"\n".join(made) + chance.choice([b"\n", b"", b"\r\n", b"\n{"])


def damaged_document(chance: random.Random, data: bytes) -> bytes:
    """A document with some places changed, or broken."""
    return damaged_value(chance, data, most=6)


def damaged_value(chance: random.Random, data: bytes, most: int = 3) -> bytes:
    """JSON with some places changed, now and then broken."""
    try:
        value: Any = json.loads(data)
    except ValueError:
        value = None
    if value is not None:
        for _ in range(chance.randint(0, most)):
            found = places(value)
            if found:
                how = chance.choice(["replace", "remove", "rename"])
                new = json.loads(json.dumps(chance.choice(ODD)))
                value = changed(value, chance.choice(found), how, new, chance.choice(NAMES))
        data = json.dumps(value, ensure_ascii=chance.random() < 0.5).encode(errors="replace")
    if chance.random() < 0.2 and data:
        cut = chance.randrange(len(data))
        data = data[:cut] + chance.choice(BROKEN) + data[cut + chance.randint(0, 3) :]
    return data


def damaged_bytes(chance: random.Random, data: bytes) -> bytes:
    """Some bytes changed, and now and then all behind a place gone."""
    changed_data = bytearray(data)
    for _ in range(chance.randint(1, 30)):
        changed_data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(changed_data[: chance.randrange(len(data)) if chance.random() < 0.3 else len(data)])


def damage_folder(chance: random.Random, folder: Path) -> None:
    """Some files changed, cut, moved or gone."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    for file in chance.sample(files, min(len(files), chance.randint(1, 4))):
        match chance.randrange(5):
            case 0:
                file.unlink()
            case 1:
                file.write_bytes(file.read_bytes()[: chance.randrange(40)])
            case 2:
                file.rename(file.with_name(chance.choice(["event-00001-x.json", "0.json", "\x1b[31m.json", "x"])))
            case _:
                file.write_bytes(damaged_document(chance, file.read_bytes()))


def damage_archive(chance: random.Random, path: Path) -> None:
    """An archive of which some members are changed or gone."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for name in chance.sample(sorted(members), min(len(members), chance.randint(1, 3))):
        if chance.random() < 0.2:
            del members[name]
        else:
            members[name] = damaged_document(chance, members[name])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def damage_rows(chance: random.Random, path: Path) -> None:
    """A database with some values changed and some rows gone."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for _ in range(chance.randint(1, 5)):
            table = chance.choice([name for name in tables if not name.startswith("sqlite_")])
            rows = connection.execute(f'SELECT rowid FROM "{table}"').fetchall()  # noqa: S608  # a name of our own file
            if not rows:
                continue
            row = chance.choice(rows)[0]
            columns = [column[1] for column in connection.execute(f'PRAGMA table_info("{table}")')]
            column = chance.choice(columns)
            query = f'SELECT "{column}" FROM "{table}" WHERE rowid = ?'  # noqa: S608  # names of our own file
            stored = connection.execute(query, (row,)).fetchone()[0]
            new: object = chance.choice([None, -1, 2.5, "", "text", b"\xff\xfe", 2**62])
            if isinstance(stored, str) and stored[:1] in "{[" and stored:
                new = damaged_value(chance, stored.encode())
                new = new.decode(errors="replace") if isinstance(new, bytes) and chance.random() < 0.9 else new
            with suppress(sqlite3.Error):
                if chance.random() < 0.15:
                    connection.execute(f'DELETE FROM "{table}" WHERE rowid = ?', (row,))  # noqa: S608  # as above
                else:
                    change = f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?'  # noqa: S608  # as above
                    connection.execute(change, (new, row))


def seeds(folder: Path, names: Iterable[str] = ()) -> dict[str, list[Path]]:
    """Sessions to begin with by format: the project's own samples, made ones, and real ones where there are any.

    Args:
        folder: Where made ones are written.
        names: The formats wanted; all where there are none.
    """
    wanted = set(names) or {known.name for known in all_formats()}
    found: dict[str, list[Path]] = {}
    for path in (*_samples(), *_made(folder), *_real()):
        try:
            name = detect(path).format.name
        except SessionError:
            continue
        if name in wanted:
            found.setdefault(name, []).append(path)
    return found


def _samples() -> Iterator[Path]:
    paths = sorted((ROOT / "sample_sessions").glob("*.json*"))
    yield from (path for path in paths if path.stat().st_size <= LONGEST_SAMPLE)


def _real() -> Iterator[Path]:
    corpus = Path(os.environ.get("INSPECTOR_SHARED", ROOT.parent / "shared")) / "corpus"
    for path in sorted(corpus.rglob("*")):
        if path.is_file() and 0 < path.stat().st_size <= LONGEST_SEED:
            yield path


def _made(folder: Path) -> Iterator[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    for number, known in enumerate(GROWING.values()):
        path = folder / str(number) / known.name
        path.parent.mkdir()
        known.write(path, 3)
        yield path
    rollout = Rollout()
    rollout.header()
    rollout.prompt("go")
    rollout.response("c1", "c2", text="looking")
    kept = [{"type": "message", "role": "user", "content": []}]
    rollout.add("compacted", {"message": "", "replacement_history": kept})
    yield rollout.write(folder / "rollout.jsonl")
    gemini = GeminiScript()
    gemini.header()
    gemini.user("u1", "go")
    answer = gemini.answer("g1", toolCalls=[call("c1")])
    gemini.again(answer, toolCalls=[call("c1", "done")])
    gemini.rewind("u1")
    gemini.set(messages=[gemini.lines[1]])
    yield gemini.write(folder / "gemini.jsonl")
    hermes = HermesStore()
    first = hermes.session("20260301_100000_ab", title="Mine")
    said = [hermes.user("20260301_100000_ab", "go"), hermes.answer("20260301_100000_ab", "looking", "c1")]
    yield create_hermes(folder / "state.db", first, *said, hermes.result("20260301_100000_ab", "c1", "seen"))
    goose = GooseScript()
    goose.user("go")
    goose.answer("looking")
    goose.compact("what came before")
    yield create_goose(folder / "sessions.db", goose_session("g1"), *goose.statements("g1"))
    goose_file = folder / "goose.jsonl"
    goose_file.write_bytes(goose.lines())
    yield goose_file
    for name, data in (
        ("trajectory.json", encoded(trajectory(3))),
        ("requests.jsonl", jsonl(log_of_requests(4))),
        ("responses.jsonl", jsonl(growing(4))),
    ):
        (folder / name).write_bytes(data)
        yield folder / name
    store = Store()
    store.prompt()
    store.response("c1", text="looking")
    yield store.database(folder / "opencode.db")
    yield store.export(folder / "export.json")


if __name__ == "__main__":
    sys.exit(main())
