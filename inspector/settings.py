"""User settings from `settings.toml` in the platform's configuration folder. A broken file is reported, never fatal.

docs/commands.md shows a complete file.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.atomic_files import APPLICATION, write_atomic
from inspector.replay.assumptions import ASSUMED_RUNS, RunsPerDay

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path


MOST_RUNS = 1_000_000_000
MOST_OF_LIMIT = 1_000_000

BELL, NOTIFICATION, DESKTOP = "bell", "notification", "desktop"
WAYS = (BELL, NOTIFICATION, DESKTOP)
"""Deliveries of alerts: the bell, notification sequences (OSC 9 and 777), and the desktop's notifications."""


class Described(NamedTuple):
    """Description of a setting.

    Attributes:
        name: Name in the file.
        default: Default value, in TOML.
        takes: Allowed values, to follow "takes".
        text: Effect, in one sentence.
        accepts: Returns True for an allowed value.
    """

    name: str
    default: str
    takes: str
    text: str
    accepts: Callable[[object], bool]


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _is_runs(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= MOST_RUNS


def _is_switch(value: object) -> bool:
    return isinstance(value, bool)


def _is_limit(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST_OF_LIMIT


def _is_share(value: object) -> bool:
    return _is_limit(value) and value <= 100  # type: ignore[operator]  # a number


def _are_ways(value: object) -> bool:
    return isinstance(value, list) and all(way in WAYS for way in value)


def _are_words(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) and word and "\0" not in word for word in value)


def _is_table_of_keys(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(keys, str) and keys.strip() for keys in value.values())


SETTINGS = {
    each.name: each
    for each in (
        Described(
            "theme",
            '"dark"',
            "`dark`, `light`, `contrast`, `colour-blind`, `ansi`, or the name of any Textual theme",
            "Color theme; `ansi` uses the terminal's colors. With `NO_COLOR` in the environment there are none.",
            _is_name,
        ),
        Described(
            "runs_per_day",
            f"{ASSUMED_RUNS.number:g}",
            f"a number above 0, at most {MOST_RUNS:,}",
            "Number of such sessions per day, used to project savings.",
            _is_runs,
        ),
        Described(
            "log_scale",
            "false",
            "`true` or `false`",
            "Draw the timeline's bars on a logarithmic scale, so that short rows are visible next to long ones.",
            _is_switch,
        ),
        Described(
            "keep_list",
            "true",
            "`true` or `false`",
            "Cache the session list in the cache folder, so that long lists open at once.",
            _is_switch,
        ),
        Described(
            "keep_results",
            "true",
            "`true` or `false`",
            "Cache results of `tune`, `why` and reports in the cache folder, so that a second run only reads new data.",
            _is_switch,
        ),
        Described(
            "alert_fill",
            "85",
            "a number from 0 to 100",
            "Alert at this percentage of the size at which an agent compacts. 0 turns an alert off.",
            _is_share,
        ),
        Described(
            "alert_dollars_per_hour",
            "20",
            f"a number from 0 to {MOST_OF_LIMIT:,}",
            "Alert at this rate of a session over the last 15 minutes.",
            _is_limit,
        ),
        Described(
            "alert_dollars_per_session",
            "50",
            f"a number from 0 to {MOST_OF_LIMIT:,}",
            "Alert at this cost of a session since it started.",
            _is_limit,
        ),
        Described(
            "alert_cold_return",
            "1",
            f"a number from 0 to {MOST_OF_LIMIT:,}",
            "Alert two minutes before the cache goes cold, if the next prompt then costs at least this many dollars.",
            _is_limit,
        ),
        Described(
            "alert_loop",
            "5",
            f"a number from 0 to {MOST_OF_LIMIT:,}",
            "Alert at this number of equal tool calls in a row.",
            _is_limit,
        ),
        Described(
            "alert_compaction",
            "true",
            "`true` or `false`",
            "Alert after a compaction.",
            _is_switch,
        ),
        Described(
            "alert_by",
            '["bell", "notification"]',
            f"a list of {', '.join(f'`{way}`' for way in WAYS)}",
            "Delivery of alerts: the terminal's bell, its notifications (OSC 9 and 777), `notify-send` or `osascript`.",
            _are_ways,
        ),
        Described(
            "alert_command",
            "[]",
            "a list of words",
            "Command to run for each alert, without a shell; the alert is in its environment.",
            _are_words,
        ),
        Described(
            "keymap",
            "empty",
            "a table of keys by name",
            "Custom keys, by the names in docs/keys.md. Separate several keys with commas.",
            _is_table_of_keys,
        ),
    )
}
"""Settings by name, in the order of the documentation."""


FILE_NAME = "settings.toml"
LONGEST_SHOWN = 40


class Settings(NamedTuple):
    """The settings.

    Attributes:
        theme: A name in `themes.THEMES` or of a Textual theme.
        runs_per_day: Number of such sessions per day.
        log_scale: Draw the timeline's token bars on a logarithmic scale.
        keep_list: Cache the entries of the session list for the next start.
        keep_results: Cache the results of `tune`, `why` and reports per session for the next start.
        alert_fill: Percentage of the compaction size; 0 for no alert, as for the other limits.
        alert_dollars_per_hour: Dollars per hour.
        alert_dollars_per_session: Dollars since the start.
        alert_cold_return: Dollars of the next prompt with a cold cache.
        alert_loop: Equal tool calls in a row.
        alert_compaction: Report compactions.
        alert_by: Deliveries, from `WAYS`.
        alert_command: Words of a command; empty for none.
        keymap: Keys by binding name.
        problems: Problems of the file, one line each.
        path: File they were read from and are written to; None to save nothing.
        runs_are_assumed: True if the user did not set the runs per day.
    """

    theme: str = "dark"
    runs_per_day: float = ASSUMED_RUNS.number
    log_scale: bool = False
    keep_list: bool = True
    keep_results: bool = True
    alert_fill: float = 85
    alert_dollars_per_hour: float = 20
    alert_dollars_per_session: float = 50
    alert_cold_return: float = 1
    alert_loop: float = 5
    alert_compaction: bool = True
    alert_by: Sequence[str] = ("bell", "notification")
    alert_command: Sequence[str] = ()
    keymap: Mapping[str, str] = MappingProxyType({})
    problems: tuple[str, ...] = ()
    path: Path | None = None
    runs_are_assumed: bool = True

    @property
    def runs(self) -> RunsPerDay:
        """Sessions per day, and whether the user set the number."""
        return RunsPerDay(self.runs_per_day, self.runs_are_assumed)

    def with_value(self, name: str, value: Any) -> Settings:
        changed: dict[str, Any] = {name: value}
        is_assumed = self.runs_are_assumed and name != "runs_per_day"
        return self._replace(**changed, runs_are_assumed=is_assumed)


def settings_path() -> Path:
    from platformdirs import user_config_path

    return user_config_path(APPLICATION) / FILE_NAME


def load_settings(path: Path | None = None) -> Settings:
    """Read the settings from a file. Defaults replace a missing file and every invalid value.

    Args:
        path: The file; by default the platform's.
    """
    path = path or settings_path()
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Settings(path=path)
    except (OSError, UnicodeDecodeError) as error:
        return _defaults(path, error)
    import tomllib

    try:
        return _from_table(tomllib.loads(text), path)
    except (tomllib.TOMLDecodeError, RecursionError) as error:  # nested too deeply
        return _defaults(path, error)


def _defaults(path: Path, error: Exception) -> Settings:
    text = getattr(error, "strerror", None) or str(error)
    reason = text.splitlines()[0] if text else type(error).__name__
    return Settings(problems=(f"{path}: {reason}; using the defaults",), path=path)


def _from_table(table: Mapping[str, Any], path: Path) -> Settings:
    settings, problems = Settings(path=path), []
    for name, value in table.items():
        problem = _problem(name, value)
        if problem:
            problems.append(f"{path}: {problem}")
        else:
            settings = settings.with_value(name, tuple(value) if isinstance(value, list) else value)
    return settings._replace(problems=tuple(problems))


def _problem(name: str, value: object) -> str:
    """Describe the problem of an invalid setting and its fallback; empty if valid."""
    described = SETTINGS.get(name)
    if described is None:
        near = get_close_matches(name, SETTINGS, n=1)
        meant = f"did you mean {near[0]}?" if near else f"available: {', '.join(SETTINGS)}"
        return f"unknown setting {name}; {meant}"
    if not described.accepts(value):
        shown = repr(value) if len(repr(value)) < LONGEST_SHOWN else "that"
        return f"{name} takes {described.takes.replace('`', '')}, not {shown}; using {described.default}"
    return ""


def with_line(text: str, name: str, value: str | float | bool) -> str:
    """Change one setting in the text of a settings file. Everything else, including comments, is unchanged.

    Args:
        text: Content of the file.
        name: A setting outside the keymap.
        value: Its new value.
    """
    shown = f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else f"{value:g}"
    line = f"{name} = {shown}"
    head, bracket, tables = _split_at_tables(text)
    pattern = re.compile(rf"^[ \t]*{re.escape(name)}[ \t]*=[^#\n]*", re.MULTILINE)
    if pattern.search(head):
        changed = pattern.sub(
            lambda match: line + ("  " if "#" in head[match.end() : match.end() + 1] else ""), head, count=1
        )
    else:
        changed = f"{head.rstrip()}\n{line}\n".lstrip("\n") + ("\n" if bracket else "")
    return changed + bracket + tables


def _split_at_tables(text: str) -> tuple[str, str, str]:
    match = re.search(r"^[ \t]*\[", text, re.MULTILINE)
    return (text, "", "") if match is None else (text[: match.start()], match[0], text[match.end() :])


def save_setting(settings: Settings, name: str, value: str | float | bool) -> Settings:
    """Change one setting, and write it to the file unless the file could not be parsed.

    Raises:
        OSError: The file cannot be written.
    """
    changed = settings.with_value(name, value)
    if settings.path is None or settings.problems:
        return changed
    text = settings.path.read_text(encoding="utf-8") if settings.path.exists() else ""
    write_atomic(settings.path, with_line(text, name, value))
    return changed


def problem_with_runs(text: str) -> str:
    """Describe the problem of an invalid number of runs per day; empty if valid."""
    try:
        runs = float(text.replace(",", ""))
    except ValueError:
        return f"{text!r} is not a number"
    return "" if 0 < runs <= MOST_RUNS else f"a number above 0, at most {MOST_RUNS:,}"
