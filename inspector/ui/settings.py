"""What a user may set: `settings.toml` in the platform's configuration folder. A broken file is reported, never fatal.

```toml
theme = "dark"          # dark, light, ansi (the terminal's own colours), or the name of any Textual theme
runs_per_day = 24       # such sessions a day, for what a saving comes to
log_scale = false       # token bars: true for lengths in ratios, false in proportion

[keymap]                # keys by the names the help screen shows
"plan.undo" = "ctrl+z"
```
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

APPLICATION = "inspector"
FILE_NAME = "settings.toml"
MOST_RUNS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings.

    Attributes:
        theme: `dark`, `light`, `ansi`, or the name of any Textual theme.
        runs_per_day: Such sessions a day.
        log_scale: Equal lengths of the timeline's token bars are equal ratios, not equal amounts.
        keymap: Keys by binding name.
        problems: What was wrong with the file, one line each.
        path: Where they were read from and are written to; None to keep them nowhere.
    """

    theme: str = "dark"
    runs_per_day: float = 24
    log_scale: bool = False
    keymap: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    path: Path | None = None


def settings_path() -> Path:
    """Where the settings are."""
    from platformdirs import user_config_path

    return user_config_path(APPLICATION) / FILE_NAME


def load_settings(path: Path | None = None) -> Settings:
    """The settings in a file; the defaults where it is absent, and for every value that is not allowed.

    Args:
        path: The file; the platform's own place where not given.
    """
    import tomllib

    path = path or settings_path()
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Settings(path=path)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        return Settings(problems=(f"{path}: {reason}; using the defaults",), path=path)
    return _from_table(table, path)


def _from_table(table: Mapping[str, Any], path: Path) -> Settings:
    settings, problems = Settings(path=path), []
    for name, value in table.items():
        try:
            changed: dict[str, Any] = {name: _checked(name, value)}
            settings = replace(settings, **changed)
        except ValueError as error:
            problems.append(f"{path}: {name} {error}")
    return replace(settings, problems=tuple(problems))


def _checked(name: str, value: object) -> object:
    match name:
        case "theme" if isinstance(value, str):
            return value
        case "theme":
            raise ValueError("is the name of a theme")
        case "runs_per_day":
            if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= MOST_RUNS:
                return value
            raise ValueError(f"is a number above 0, at most {MOST_RUNS:,}")
        case "log_scale":
            if isinstance(value, bool):
                return value
            raise ValueError("is true or false")
        case "keymap":
            if isinstance(value, dict) and all(isinstance(key, str) for key in value.values()):
                return value
            raise ValueError("is a table of keys by name")
        case _:
            raise ValueError("is no setting")


def with_line(text: str, name: str, value: str | float | bool) -> str:
    """A settings file's text with one setting changed, everything else as it was, comments included.

    Args:
        text: The file as it is.
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
    """Change one setting, in the file too, unless what is in the file could not be read.

    Raises:
        OSError: The file cannot be written.
    """
    change: dict[str, Any] = {name: value}
    changed = replace(settings, **change)
    if settings.path is None or settings.problems:
        return changed
    settings.path.parent.mkdir(parents=True, exist_ok=True)
    text = settings.path.read_text(encoding="utf-8") if settings.path.exists() else ""
    settings.path.write_text(with_line(text, name, value), encoding="utf-8")
    return changed
