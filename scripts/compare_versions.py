"""Says what a change of form has changed: the same command lines on two versions of the package, to the bit.

Every session of the reference material and of `sample_sessions` goes through `report`, `why`, `compact`, `compare`,
`convert` and `formats`, under plans of every kind. Nothing but the command line is used, so it works on any version:

    python scripts/compare_versions.py record BEFORE --package ../other-checkout
    python scripts/compare_versions.py record AFTER
    python scripts/compare_versions.py compare BEFORE AFTER

`record` keeps exit code, standard output and standard error of every command line. Sessions are named by paths relative
to their folder, the home folder is an empty one, and the terminal's width, its colours and the time zone are the same
for all; a command that fails is as good a fact as one that does not. `--quick` takes one session of every format, and
of reports, plans and forms some for each, in turn. `compare` reports every difference, and ends with exit code 1 where
there is one. What may differ is named in `NORMALISED`, and nothing else is overlooked.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import hashlib
import io
import json
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

PLANS: dict[str, tuple[str, ...]] = {
    "none": (),
    "at-insertion": ("--strategy", "trim-at-insertion:threshold=3000,head=1000,tail=500"),
    "stateless": ("--strategy", "tiered-stale:tool-set=coding,lists=true"),
    "triggered": ("--strategy", "token-budget:budget=12000"),
    "sticky": ("--strategy", "anthropic-clear-tool-uses:trigger=8000,clear-at-least=1000,clear-tool-inputs=true"),
    "preset": ("--plan", "hermes-pruning"),
    "batched": ("--strategy", "clear-old:batch-tokens=2000,batch-calls=3"),
    "summarizing": ("--strategy", "summarize:threshold=12000,tail=4 + dcp-dedupe"),
    "window": ("--strategy", "maf-context-window:window=40000,max-output=4000"),
}
"""A plan of every kind of strategy, with limits that are passed in short sessions too."""

REPORTS = {
    "report": [
        "--format",
        "json",
        "--ledger",
        "--explain",
        "--include-text",
        "--next-calls",
        "50",
        "--runs-per-day",
        "9",
    ],
    "report-text": ["--explain", "--next-calls", "50", "--runs-per-day", "9"],
    "report-md": ["--format", "md", "--explain"],
    "report-calls": ["--format", "csv"],
    "report-blocks": ["--format", "csv", "--rows", "blocks"],
    "report-html": ["--format", "html", "--no-compare", "--no-script"],
}
"""Every form of a report, each on all plans side by side."""

QUESTIONS = {"why": (), "why-switch": ("--switch", "claude-haiku-4-5", "--format", "json")}
"""Why a session cost what it cost, alone and with another model."""

FORMS = ("anthropic", "openai", "atif")

QUICK_PLANS = 3
"""How many plans a quick run compacts a session by; another session, other plans."""

QUICK_SAMPLES = ("coding-agent.jsonl", "trading-desk.json")
QUICK_BYTES = 160_000
"""A quick run takes, of every format, the session nearest to this size."""

NORMALISED = {
    "version of the package": re.compile(r'(?<="inspector": ")[^"]+(?=")|(?<=inspector )\d+\.\d+\.\d+[^\s<,"]*'),
    "line of the source in a bug's message": re.compile(r"(?<=this is a bug: )(\w+) in \S+:\d+"),
}
"""What two versions may say differently."""

SHOWN = 12
"""How many fields that differ are told of one command line."""


@dataclass(frozen=True)
class Case:
    """One command line on one session.

    Attributes:
        key: Its name among the records: folder, session and command.
        folder: Where it is run.
        session: The session's path there.
        arguments: The words after the program's name.
    """

    key: str
    folder: Path
    session: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """A session to run commands on.

    Attributes:
        group: What folder it is of, in a word.
        folder: That folder.
        path: The session's path there.
        kind: Its format, as the folder has it.
    """

    group: str
    folder: Path
    path: str
    kind: str

    @property
    def size(self) -> int:
        """Bytes of the session."""
        return sum(each.stat().st_size for each in files_of(self.folder / self.path))


def main() -> int:
    """Record or compare."""
    parser = argparse.ArgumentParser(description="Compares what two versions of the package say of every session.")
    commands = parser.add_subparsers(dest="command", required=True)
    record_parser = commands.add_parser("record", help="run every command line and keep what it says")
    record_parser.add_argument("folder", type=Path, help="where to write; it is made anew")
    record_parser.add_argument("--package", type=Path, default=ROOT, help="the checkout to run (this one)")
    record_parser.add_argument("--quick", action="store_true", help="a session of every format, fewer commands")
    record_parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (one a core)")
    compare_parser = commands.add_parser("compare", help="say what differs between two recordings")
    compare_parser.add_argument("before", type=Path)
    compare_parser.add_argument("after", type=Path)
    for each in (record_parser, compare_parser):
        each.add_argument("--only", default="", metavar="PART", help="only command lines with this in their name")
    options = parser.parse_args()
    if options.command == "record":
        return record(options.folder, options.package.resolve(), options.quick, options.jobs, options.only)
    return compare(options.before, options.after, options.only)


def record(folder: Path, package: Path, quick: bool, jobs: int, only: str) -> int:
    """Run all command lines on a version of the package and keep what they say in `folder`."""
    began = time.monotonic()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    found = sources()
    chosen = representative(found) if quick else found
    cases = [case for turn, source in enumerate(chosen) for case in cases_of(source, quick, turn) if only in case.key]
    digests = {f"{each.group}/{each.path}": digest(each.folder / each.path) for each in chosen}
    with tempfile.TemporaryDirectory() as home:
        spawning = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(jobs, spawning, initializer=prepare, initargs=(package, Path(home))) as workers:
            running = {workers.submit(run, case): case for case in cases}
            seconds: dict[str, float] = {}
            for done in as_completed(running):
                case = running[done]
                outcome, seconds[case.key] = done.result()
                # No time stamp: equal outcomes are equal files.
                path = folder / f"{case.key}.json.gz"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(gzip.compress(json.dumps(outcome).encode(), compresslevel=4, mtime=0))
    (folder / "sessions.json").write_text(json.dumps(digests, indent=1), encoding="utf-8")
    slowest = sorted(seconds.items(), key=lambda each: -each[1])[:5]
    print(f"{len(cases)} command lines on {len(chosen)} sessions in {time.monotonic() - began:.0f} s; the slowest:")
    for key, took in slowest:
        print(f"  {took:6.1f} s  {key}")
    return 0


def sources() -> list[Source]:
    """Every session there is: the samples, and the reference material where it is at hand."""
    samples = ROOT / "sample_sessions"
    found = [Source("samples", samples, each.name, "sample") for each in sorted(samples.glob("*.json*"))]
    corpus = Path(os.environ.get("INSPECTOR_SHARED", ROOT.parent / "shared")).resolve() / "corpus"
    manifest = corpus / "MANIFEST.tsv"
    if not manifest.is_file():
        print(f"no reference material at {corpus}; set INSPECTOR_SHARED to where it is", file=sys.stderr)
        return found
    for line in manifest.read_text(encoding="utf-8").splitlines()[1:]:
        kind, path = line.split("\t")[:2]
        found.append(Source("corpus", corpus, path.rstrip("/"), kind))
    return found


def representative(found: list[Source]) -> list[Source]:
    """One session of every format, of a moderate size, and two samples."""
    kinds: dict[str, Source] = {}
    for source in found:
        best = kinds.get(source.kind)
        if best is None or abs(source.size - QUICK_BYTES) < abs(best.size - QUICK_BYTES):
            kinds[source.kind] = source
    samples = [each for each in found if each.group == "samples" and each.path in QUICK_SAMPLES]
    return samples + [source for kind, source in kinds.items() if kind != "sample"]


def cases_of(source: Source, quick: bool, turn: int) -> list[Case]:
    """Every command line on one session; of a quick run those whose turn it is, and all plans come round in time."""
    plans = tuple(word for words in PLANS.values() for word in words)
    reports = [(name, "report", (*plans, *words)) for name, words in REPORTS.items()]
    compacts = [(f"compact-{name}", "compact", words) for name, words in PLANS.items()]
    compacts.append(("compact-preset-openai", "compact", (*PLANS["preset"], "--format", "openai")))
    compacts.append(("compact-sticky-call", "compact", (*PLANS["sticky"], "--call", "7")))
    converts = [(f"convert-{form}", "convert", ("--to", form, "--what", "conversation")) for form in FORMS]
    questions = [(name, "why", words) for name, words in QUESTIONS.items()]
    others = [("compare", "compare", ("--format", "json")), ("formats", "formats", ())]
    if quick:
        reports = [reports[0], reports[1 + turn % (len(reports) - 1)]]
        compacts = [compacts[(turn * QUICK_PLANS + step) % len(compacts)] for step in range(QUICK_PLANS)]
        converts = [converts[turn % len(converts)]]
        questions = [questions[turn % len(questions)]]
    folder = f"{source.group}/{source.path.replace('/', '--')}"
    return [
        Case(f"{folder}/{name}", source.folder, source.path, (command, source.path, *words))
        for name, command, words in (*reports, *questions, *compacts, *converts, *others)
    ]


def prepare(package: Path, home: Path) -> None:
    """Set up a process so that it runs this version of the package, with nobody's settings."""
    for name in [name for name in os.environ if name.startswith(("XDG_", "INSPECTOR_", "TEXTUAL", "CLAUDE", "CODEX"))]:
        del os.environ[name]
    os.environ.update(HOME=str(home), COLUMNS="100", LINES="40", NO_COLOR="1", TERM="dumb", TZ="UTC", LC_ALL="C.UTF-8")
    time.tzset()
    sys.path.insert(0, str(package))
    import inspector

    imported = Path(str(inspector.__file__)).resolve().parent.parent
    if imported != package:
        message = f"{package} was to be run, and {imported} is imported"
        raise RuntimeError(message)


def run(case: Case) -> tuple[dict[str, Any], float]:
    """Run one command line in this process: what it said, and how long it took in seconds."""
    from inspector.cli import main as command_line

    began = time.monotonic()
    os.chdir(case.folder)
    output, narration = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(narration):
        code = command_line(list(case.arguments))
    said = {}
    for name, stream in (("stdout", output), ("stderr", narration)):
        stream.flush()
        said[name] = stream.buffer.getvalue().decode()  # type: ignore[attr-defined]
        said[name] = said[name].replace(os.environ["HOME"], "<home>")
    return {"arguments": case.arguments, "exit": int(code), **said}, time.monotonic() - began


def compare(before: Path, after: Path, only: str) -> int:
    """Print what differs between two recordings."""
    digests = [json.loads((folder / "sessions.json").read_text(encoding="utf-8")) for folder in (before, after)]
    changed = [name for name, each in digests[0].items() if digests[1].get(name, each) != each]
    for name in changed:
        print(f"the session itself is another: {name}")
    keys = [{key for key in recorded(folder) if only in key} for folder in (before, after)]
    for folder, missing in ((after, keys[0] - keys[1]), (before, keys[1] - keys[0])):
        if missing:
            print(f"{folder} lacks {len(missing)} command lines, such as {min(missing)}")
    differing = 0
    for key in sorted(keys[0] & keys[1]):
        one, other = (read(folder / f"{key}.json.gz") for folder in (before, after))
        if one == other:
            continue
        found = differences_between(one, other)
        if found:
            differing += 1
            print(f"\n{key}: inspector {' '.join(one['arguments'])}")
            print("\n".join(f"  {each}" for each in found[:SHOWN]))
            if len(found) > SHOWN:
                print(f"  and {len(found) - SHOWN} more")
    alike = len(keys[0] & keys[1]) - differing
    allowed = ", ".join(NORMALISED)
    print(f"\n{differing} command lines say something else, {alike} the same to the bit (but for: {allowed})")
    return 1 if differing or changed or keys[0] != keys[1] else 0


def recorded(folder: Path) -> list[str]:
    """The names of the command lines of a recording."""
    return [str(path.relative_to(folder)).removesuffix(".json.gz") for path in folder.rglob("*.json.gz")]


def read(path: Path) -> dict[str, Any]:
    """A recorded outcome."""
    outcome: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return outcome


def differences_between(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """What two outcomes of a command line differ in, a line each; none if only in what may differ."""
    found = []
    if one["arguments"] != other["arguments"]:
        found.append(f"run as inspector {' '.join(other['arguments'])}")
    if one["exit"] != other["exit"]:
        found.append(f"exit code: {one['exit']} -> {other['exit']}")
    for stream in ("stderr", "stdout"):
        texts = [normalised(outcome[stream]) for outcome in (one, other)]
        if texts[0] != texts[1]:
            told = values_that_differ(*texts) or lines_that_differ(*texts)
            found.extend(f"{stream}: {each}" for each in told)
    return found


def normalised(text: str) -> str:
    """A text without what may differ."""
    for name, pattern in NORMALISED.items():
        text = pattern.sub(f"<{name}>", text)
    return text


def values_that_differ(one: str, other: str) -> list[str]:
    """Where two JSON texts differ; empty where one is no JSON."""
    try:
        values = json.loads(one), json.loads(other)
    except ValueError:
        return []
    found = list(_walk("$", *values))
    return found or ["the same values, written differently (order of keys, or spaces)"]


def _walk(path: str, one: Any, other: Any) -> list[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        found = [f"{path}.{key}: gone" for key in one.keys() - other.keys()]
        found += [f"{path}.{key}: new, {_short(other[key])}" for key in other.keys() - one.keys()]
        shared = [key for key in one if key in other]
        return sorted(found) + [line for key in shared for line in _walk(f"{path}.{key}", one[key], other[key])]
    if isinstance(one, list) and isinstance(other, list):
        found = [] if len(one) == len(other) else [f"{path}: {len(one)} items -> {len(other)}"]
        pairs = enumerate(zip(one, other, strict=False))
        return found + [line for place, pair in pairs for line in _walk(f"{path}[{place}]", *pair)]
    # 1, 1.0 and true are equal in Python, and not in JSON.
    return [] if one == other and type(one) is type(other) else [f"{path}: {_short(one)} -> {_short(other)}"]


def lines_that_differ(one: str, other: str) -> list[str]:
    """The lines in which two texts differ, place by place."""
    pairs = zip_longest(one.splitlines(keepends=True), other.splitlines(keepends=True), fillvalue="")
    return [
        f"line {number}: {_short(line)} -> {_short(another)}"
        for number, (line, another) in enumerate(pairs, start=1)
        if line != another
    ]


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else f"{text[:100]} … {text[-50:]}"


def files_of(path: Path) -> list[Path]:
    """The file, or those in the folder."""
    return sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]


def digest(path: Path) -> str:
    """A hash of all that is in a session."""
    summed = hashlib.sha256()
    for each in files_of(path):
        summed.update(each.read_bytes())
    return summed.hexdigest()


if __name__ == "__main__":
    sys.exit(main())
