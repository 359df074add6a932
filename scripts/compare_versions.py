"""Compare two versions of the package: the same runs on both, to the bit.

Every session of the reference material and of `sample_sessions` goes through the commands, the library, the MCP server
and the screens, under plans of every kind (`version_cases.py`), by public interfaces alone. So any version can be run:

    python scripts/compare_versions.py record BEFORE --package ../other-checkout
    python scripts/compare_versions.py record AFTER
    python scripts/compare_versions.py compare BEFORE AFTER

`record` stores exit code, standard output and standard error of every run. Sessions are named by paths relative to
their folder, the home folder is an empty one, and terminal width, colors and time zone are fixed. A failing run is
recorded like any other. `--quick` takes one session per format, and alternates reports, plans and forms. `compare`
lists every difference and exits with 1 if there is one. It ignores only the differences in `NORMALIZED`.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import hashlib
import html
import io
import json
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import zip_longest
from pathlib import Path
from typing import Any

if __package__:
    from scripts.version_cases import (
        MCP_REQUESTS,
        ROOT,
        Case,
        Source,
        files_of,
        folder_cases,
        program_cases,
        representative,
        session_cases,
    )
else:
    from version_cases import (
        MCP_REQUESTS,
        ROOT,
        Case,
        Source,
        files_of,
        folder_cases,
        program_cases,
        representative,
        session_cases,
    )

NORMALIZED = {
    "version of the package": re.compile(r'(?<="inspector": ")[^"]+(?=")|(?<=inspector )\d+\.\d+\.\d+[^\s<,"]*'),
    "time since the last record": re.compile(r"(?<=idle )\d+ \w+"),
    "line of the source in a bug's message": re.compile(r"(?<=this is a bug: )(\w+) in \S+:\d+"),
}
"""Parts of the output that may differ between versions."""

SHOWN = 12
"""Number of differences listed per run."""

SERVER = "import sys; sys.path.insert(0, sys.argv.pop(1)); from inspector.cli import main; sys.exit(main())"

SEARCH = re.compile(r"[^│┃\n]*best plan[^│┃\n]*")
"""Progress of the search for the best plan, which depends on the speed of the machine."""

CELL = 12.2
"""Width of a character cell in a screen's SVG."""


def main() -> int:
    """Record or compare."""
    parser = argparse.ArgumentParser(description="Compare the output of two versions of the package on every session.")
    commands = parser.add_subparsers(dest="command", required=True)
    record_parser = commands.add_parser("record", help="run every case and store its outcome")
    record_parser.add_argument("folder", type=Path, help="output folder; replaced if it exists")
    record_parser.add_argument("--package", type=Path, default=ROOT, help="the checkout to run (this one)")
    record_parser.add_argument("--quick", action="store_true", help="a session of every format, fewer commands")
    record_parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (one a core)")
    compare_parser = commands.add_parser("compare", help="list the differences between two recordings")
    compare_parser.add_argument("before", type=Path)
    compare_parser.add_argument("after", type=Path)
    for each in (record_parser, compare_parser):
        each.add_argument("--only", default="", metavar="PART", help="only command lines with this in their name")
    options = parser.parse_args()
    if options.command == "record":
        return record(options.folder, options.package.resolve(), options.quick, options.jobs, options.only)
    return compare(options.before, options.after, options.only)


def record(folder: Path, package: Path, quick: bool, jobs: int, only: str) -> int:
    """Run all cases on a version of the package and store the outcomes in `folder`."""
    began = time.monotonic()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    found = sources()
    chosen = representative(found) if quick else found
    every = [case for turn, source in enumerate(chosen) for case in session_cases(source, quick, turn)]
    every += [*folder_cases(chosen if quick else found), *program_cases()]
    cases = [case for case in every if only in case.key]
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
    """Return all sessions: the samples, and the reference material where it is available."""
    samples = ROOT / "sample_sessions"
    found = [Source("samples", samples, each.name, "sample") for each in sorted(samples.glob("*.json*"))]
    corpus = Path(os.environ.get("INSPECTOR_SHARED", ROOT.parent / "shared")).resolve() / "corpus"
    manifest = corpus / "MANIFEST.tsv"
    if not manifest.is_file():
        print(f"no reference material at {corpus}; set INSPECTOR_SHARED to its folder", file=sys.stderr)
        return found
    for line in manifest.read_text(encoding="utf-8").splitlines()[1:]:
        kind, path = line.split("\t")[:2]
        found.append(Source("corpus", corpus, path.rstrip("/"), kind))
    return found


def prepare(package: Path, home: Path) -> None:
    """Set up a process to run this version of the package, without user settings."""
    for name in [name for name in os.environ if name.startswith(("XDG_", "INSPECTOR_", "TEXTUAL", "CLAUDE", "CODEX"))]:
        del os.environ[name]
    os.environ.update(HOME=str(home), COLUMNS="100", LINES="40", NO_COLOR="1", TERM="dumb", TZ="UTC", LC_ALL="C.UTF-8")
    time.tzset()
    sys.path.insert(0, str(package))
    import inspector

    imported = Path(str(inspector.__file__)).resolve().parent.parent
    if imported != package:
        message = f"expected {package}, but {imported} was imported"
        raise RuntimeError(message)


def run(case: Case) -> tuple[dict[str, Any], float]:
    """Run one case in this process; return its outcome and the seconds it took."""
    began = time.monotonic()
    os.chdir(case.folder)
    runner = {"command": run_command, "library": run_library, "mcp": run_mcp, "screen": run_screen}[case.kind]
    outcome = runner(case)
    for name in ("stdout", "stderr"):
        outcome[name] = outcome[name].replace(os.environ["HOME"], "<home>").replace(sys.path[0], "<package>")
    return {"arguments": case.arguments, **outcome}, time.monotonic() - began


def run_command(case: Case) -> dict[str, Any]:
    """Run a command line."""
    from inspector.cli import main as command_line

    output, narration = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(case.stdin.encode()), encoding="utf-8")
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(narration):
            try:
                code = int(command_line(list(case.arguments)))
            except SystemExit as exited:
                code = int(exited.code or 0)
    finally:
        sys.stdin = before
    texts = {}
    for name, stream in (("stdout", output), ("stderr", narration)):
        stream.flush()
        texts[name] = stream.buffer.getvalue().decode()  # type: ignore[attr-defined]
    return {"exit": code, **texts}


def run_library(case: Case) -> dict[str, Any]:
    """Call the public interface on a session: replay it, and compact its messages."""
    import inspector

    path, spec = case.arguments
    lines = []
    try:
        session = inspector.open_session(Path(path))
        plan = inspector.Plan.from_specs([spec], session=session)
        outcome = inspector.replay_session(session, plan)
        lines += [f"{name}: {value!r}" for name, value in outcome.figures._asdict().items()]
        lines += [f"{block}: {outcome.text(block=block, call=len(session.calls))!r}" for block in range(0, 40, 3)]
        messages = json.loads(_converted(path))["messages"]
        for name in ("compact", "apply_once"):
            lines.append(f"{name}: {json.dumps(getattr(inspector, name)(messages, spec))}")
        conversation = inspector.Conversation(plan)
        for message in messages:
            conversation.add(message)
        lines.append(f"to_send: {json.dumps(conversation.to_send())}")
    except Exception as error:  # noqa: BLE001  a failure is an outcome like any other
        lines.append(f"{type(error).__name__}: {error}")
    return {"exit": 0, "stdout": "\n".join(lines), "stderr": ""}


def _converted(path: str) -> str:
    words = ("convert", path, "--to", "anthropic", "--what", "conversation")
    return str(run_command(Case("", Path(), words))["stdout"])


def run_screen(case: Case) -> dict[str, Any]:
    """Press keys on the screen; return its lines of text."""
    path, size, keys = case.arguments
    words = ("screenshot", path, "--size", size, *(("--keys", keys) if keys else ()))
    outcome = run_command(Case("", Path(), words))
    return {**outcome, "stdout": SEARCH.sub("<search>", screen_text(outcome["stdout"]))}


def screen_text(svg: str) -> str:
    """Return the lines of text of a screen drawn as SVG, colors left out."""
    lines: dict[float, list[tuple[float, str]]] = {}
    for x, y, text in re.findall(r'<text[^>]* x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*)</text>', svg):
        lines.setdefault(float(y), []).append((float(x), html.unescape(text).replace("\xa0", " ")))
    rows = []
    for _, parts in sorted(lines.items()):
        row = ""
        for x, text in sorted(parts):
            row = row.ljust(round(x / CELL)) + text
        rows.append(row.rstrip())
    return "\n".join(rows)


def run_mcp(case: Case) -> dict[str, Any]:
    """Send requests to the MCP server in a subprocess, one after another."""
    code = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); from inspector.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    answers = []
    with subprocess.Popen(
        [sys.executable, "-c", code, sys.path[0], "mcp", *case.arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        if server.stdin is None or server.stdout is None:
            raise RuntimeError("the server has no pipes")
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "net", "version": "1"}}
        for number, (method, parameters) in enumerate((("initialize", client), *MCP_REQUESTS)):
            request = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
            server.stdin.write(json.dumps(request) + "\n")
            server.stdin.flush()
            answer = server.stdout.readline()
            while answer and f'"id":{number}' not in answer.replace(" ", ""):
                answer = server.stdout.readline()
            answers.append(answer)
            if method == "initialize":
                server.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        server.stdin.close()
        code_of_exit = server.wait(timeout=60)
    return {"exit": code_of_exit, "stdout": "".join(answers), "stderr": ""}


def compare(before: Path, after: Path, only: str) -> int:
    """Print the differences between two recordings."""
    digests = [json.loads((folder / "sessions.json").read_text(encoding="utf-8")) for folder in (before, after)]
    changed = [name for name, each in digests[0].items() if digests[1].get(name, each) != each]
    for name in changed:
        print(f"the session file differs: {name}")
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
    allowed = ", ".join(NORMALIZED)
    print(f"\n{differing} runs differ, {alike} are equal to the bit (except for: {allowed})")
    return 1 if differing or changed or keys[0] != keys[1] else 0


def recorded(folder: Path) -> list[str]:
    """Return the names of all runs of a recording."""
    return [str(path.relative_to(folder)).removesuffix(".json.gz") for path in folder.rglob("*.json.gz")]


def read(path: Path) -> dict[str, Any]:
    """Return one recorded outcome."""
    outcome: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return outcome


def differences_between(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Return the differences between two outcomes of a run, one line each; empty if only allowed ones."""
    found = []
    if one["arguments"] != other["arguments"]:
        found.append(f"run as inspector {' '.join(other['arguments'])}")
    if one["exit"] != other["exit"]:
        found.append(f"exit code: {one['exit']} -> {other['exit']}")
    for stream in ("stderr", "stdout"):
        texts = [normalized(outcome[stream]) for outcome in (one, other)]
        if texts[0] != texts[1]:
            lines = values_that_differ(*texts) or lines_that_differ(*texts)
            found.extend(f"{stream}: {each}" for each in lines)
    return found


def normalized(text: str) -> str:
    """Replace the parts that may differ by their names."""
    for name, pattern in NORMALIZED.items():
        text = pattern.sub(f"<{name}>", text)
    return text


def values_that_differ(one: str, other: str) -> list[str]:
    """Return the paths at which two JSON texts differ; empty if either is not JSON."""
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
    """Return the lines in which two texts differ."""
    pairs = zip_longest(one.splitlines(keepends=True), other.splitlines(keepends=True), fillvalue="")
    return [
        f"line {number}: {_short(line)} -> {_short(another)}"
        for number, (line, another) in enumerate(pairs, start=1)
        if line != another
    ]


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else f"{text[:100]} … {text[-50:]}"


def digest(path: Path) -> str:
    """Return a hash of the content of a session."""
    summed = hashlib.sha256()
    for each in files_of(path):
        summed.update(each.read_bytes())
    return summed.hexdigest()


if __name__ == "__main__":
    sys.exit(main())
