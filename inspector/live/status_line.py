"""The line of `inspector status`: its parts, its formats, and the snapshot that is kept for the next call.

A status line is printed after every response of an agent, so this module only imports light modules. Figures come from
the snapshot that `inspector.live.snapshot` takes; what Claude Code reports on standard input replaces older figures.
"""

from __future__ import annotations

import json
import os
import sys
import time
from functools import cache

FILL_LEVELS = ((0.9, "alarm"), (0.75, "warning"))
"""Levels of a fill, equal to `FILL_ALARM` and `FILL_WARNING` of `inspector.live.status`."""

SOON_SECONDS = 120.0
"""A cache that expires within this time is a warning."""

ANSI = {"warning": "\x1b[33m", "alarm": "\x1b[31m", "dim": "\x1b[2m", "": "\x1b[0m"}
TMUX = {"warning": "#[fg=yellow]", "alarm": "#[fg=red]", "": "#[default]"}

EN_DASH = "\N{EN DASH}"
SEPARATOR = " \N{MIDDLE DOT} "
NO_SESSION = "no running session"

SAVING = "saving:"
"""Prefix of the key of a session's kept saving."""

FRESH_SECONDS = {"text": 30.0, "tmux": 120.0, "claude": 120.0}
"""Age up to which a kept snapshot of unchanged files is current, by format."""

OLDEST_SECONDS = 86_400.0
"""An older snapshot is never shown."""

LOCK_SECONDS = 30.0
"""An older lock belongs to a process that was killed."""

MOST_INPUT = 1 << 20
INPUT_SECONDS = 1.0
"""Time limit for the status line's JSON on standard input."""

Part = tuple[str, str]
"""Safe text and its level: `warning`, `alarm`, or empty."""

Json = dict[str, object]


def fixed_parts(entry: Json) -> list[Part]:
    """Format the parts of a snapshot's `to_entry` that do not depend on the time, without the name."""
    from inspector.report.numbers import ON_SCREEN, window_size

    parts = []
    fill, size = _number(entry.get("fill")), _value(entry, "compacts_at")
    of = size or _value(entry, "window")
    if fill is not None and of:
        window = "" if size else " window"
        level = next((level for least, level in FILL_LEVELS if fill >= least), "")
        share = ON_SCREEN.qualified(f"{100 * fill:.0f} %", _known(entry, "prompt"))
        parts.append((f"{share} of {window_size(round(of))}{window}", level))
    calls = _number(_table(_table(entry, "forecast"), "calls").get("middle"))
    if calls is not None:
        parts.append((f"compacts in ~{calls:.0f} call{'s' * (round(calls) != 1)}", ""))
    loop = _table(entry, "loop")
    if loop:
        parts.append((f"{_safe(loop.get('tool'))} \N{MULTIPLICATION SIGN}{loop.get('times')} in a row", "warning"))
    rate = _table(_table(entry, "recent"), "usd")
    if _number(rate.get("value")):
        parts.append((_money(rate) + "/h", ""))
    elif _value(entry, "spent"):
        parts.append((_money(_table(entry, "spent")) + " so far", ""))
    return parts


def cache_parts(entry: Json, now: float) -> list[Part]:
    """Format the time until the cache goes cold and the cost of a prompt after that."""
    cache = _table(entry, "cache")
    expires, cold = _number(cache.get("expires_at")), str(entry.get("cold_text") or "")
    if cache.get("state") not in ("warm", "cold") or expires is None:
        return []
    left = expires - now
    if left <= 0 or cache["state"] == "cold":
        return [(f"cold, next prompt {cold}" if cold else "cold", "")]
    minutes, seconds = divmod(int(left), 60)
    clock = f"{minutes}:{seconds:02}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    level = "warning" if left <= SOON_SECONDS and cold else ""
    return [(f"cold in {clock}, then {cold}" if cold else f"cold in {clock}", level)]


def saving_parts(entry: Json) -> list[Part]:
    """Format the known saving of the best plan."""
    saving = _table(entry, "plan_saves")
    low, high = _number(saving.get("low")), _number(saving.get("high"))
    if low is None or high is None:
        return []
    ends = dict.fromkeys((f"{100 * low:.0f}", f"{100 * high:.0f}"))
    return [(f"plan saves {EN_DASH.join(ends)} %", "")]


def add_texts(entry: Json) -> Json:
    """Add the formatted parts, so that a kept snapshot is shown without formatting numbers."""
    entry["parts"] = fixed_parts(entry)
    cold = _table(_table(entry, "cache"), "cold_usd")
    entry["cold_text"] = _money(cold) if _number(cold.get("value")) is not None else ""
    entry["name"] = _safe(entry.get("project") or entry.get("title") or entry.get("identifier"))
    return entry


def line(entry: Json, now: float, style: str = "text", *, color: bool = False, width: int = 0) -> str:
    """Format a session with `add_texts` as one line.

    Args:
        now: Seconds since the epoch.
        style: `text`, `tmux` or `claude`.
        color: Use ANSI colors in `text` and `claude`; `tmux` always has colors.
        width: Cells; parts that do not fit are left out from the end. 0 for no limit.
    """
    parts = [
        (str(entry.get("name") or ""), ""),
        *((str(text), str(level)) for text, level in _pairs(entry.get("parts"))),
        *cache_parts(entry, now),
        *_quota_parts(entry),
        *saving_parts(entry),
    ]
    parts = [part for part in parts if part[0]]
    while width and len(parts) > 1 and len(SEPARATOR.join(text for text, _ in parts)) > width:
        parts.pop()
    return join(parts, style, color=color)


def join(parts: list[Part], style: str, *, color: bool = False) -> str:
    if style == "tmux":
        return SEPARATOR.join(
            TMUX[level] + _escaped(text) + TMUX[""] if level in TMUX and level else _escaped(text)
            for text, level in parts
        )
    if not color:
        return SEPARATOR.join(text for text, _ in parts)
    separator = f"{ANSI['dim']}{SEPARATOR}{ANSI['']}"
    return separator.join(f"{ANSI[level]}{text}{ANSI['']}" if level else text for text, level in parts)


def _escaped(text: str) -> str:
    """Escape the character that starts formats, commands and styles in tmux."""
    return text.replace("#", "##")


def with_reported(entry: Json, reported: Json, now: float) -> Json:
    """Return a session with the newer figures that Claude Code reports to its status line.

    Args:
        entry: A session of the snapshot; empty if there is none.
        reported: The JSON object that Claude Code writes to the command's standard input.
        now: Seconds since the epoch.
    """
    merged = {**entry}
    if not merged.get("project"):
        folder = _table(reported, "workspace").get("project_dir") or reported.get("cwd")
        merged["project"] = os.path.basename(str(folder or "").rstrip("/")) or "inspector"  # noqa: PTH119  light
    _merge_prompt(merged, _table(reported, "context_window"))
    cost = _number(_table(reported, "cost").get("total_cost_usd"))
    if cost is not None:
        merged["spent"] = {"value": cost, "known": "estimated"}
    _merge_cache(merged, _table(reported, "prompt_cache"), entry, now)
    merged["quota"] = _table(reported, "rate_limits")
    return add_texts(merged)


def _merge_prompt(merged: Json, window: Json) -> None:
    usage = _table(window, "current_usage")
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    tokens = sum(_number(usage.get(name)) or 0.0 for name in names)
    window_tokens = _number(window.get("context_window_size"))
    if window_tokens:
        merged["window"] = {"value": window_tokens, "known": "exact"}
    size, old = _value(merged, "compacts_at") or _value(merged, "window"), _value(merged, "prompt")
    share = _number(window.get("used_percentage"))
    if not tokens and share is not None and window_tokens:
        tokens = share / 100 * window_tokens
    if not tokens or not size:
        return
    calls = _table(_table(merged, "forecast"), "calls")
    middle = _number(calls.get("middle"))
    if middle is not None and old is not None and size > old:
        left = max(size - tokens, 0.0) / (size - old)
        merged["forecast"] = {"calls": {"middle": middle * left}}
    merged["prompt"] = {"value": tokens, "known": "exact"}
    merged["fill"] = tokens / size
    cold = _table(_table(merged, "cache"), "cold_usd")
    price = _number(cold.get("value"))
    if price is not None and old:
        merged["cache"] = {**_table(merged, "cache"), "cold_usd": {**cold, "value": price * tokens / old}}


def _merge_cache(merged: Json, reported: Json, entry: Json, now: float) -> None:
    expires = _number(reported.get("expires_at"))
    if expires is None or "warm" not in reported:
        return
    cache = {**_table(merged, "cache"), "expires_at": expires}
    cache["state"] = "warm" if reported["warm"] is True and expires > now else "cold"
    tokens, old = _number(reported.get("recache_tokens_if_cold")), _value(entry, "prompt")
    cold = _table(_table(entry, "cache"), "cold_usd")
    price = _number(cold.get("value"))
    if tokens is not None and old and price is not None:
        cache["cold_usd"] = {**cold, "value": price * tokens / old}
    merged["cache"] = cache


def _quota_parts(entry: Json) -> list[Part]:
    """Format the used shares of a subscription's limits."""
    quota, parts = _table(entry, "quota"), []
    for name, label in (("five_hour", "5 h"), ("seven_day", "week")):
        used = _number(_table(quota, name).get("used_percentage"))
        if used is not None:
            level = next((level for least, level in FILL_LEVELS if used / 100 >= least), "")
            parts.append((f"{label} {used:.0f} %", level))
    return parts


def _pairs(value: object) -> list[tuple[object, object]]:
    rows = value if isinstance(value, list) else []
    return [(row[0], row[1]) for row in rows if isinstance(row, list | tuple) and len(row) == 2]


def _table(value: object, name: str) -> Json:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _number(value: object) -> float | None:
    """Return a finite number of a reasonable size; None for anything else."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and -1e12 < value < 1e12 else None  # type: ignore[arg-type, operator]


def _value(entry: Json, name: str) -> float | None:
    return _number(_table(entry, name).get("value"))


def _known(entry: Json, name: str) -> str:
    return str(_table(entry, name).get("known") or "")


def _money(figure: Json) -> str:
    from inspector.report.numbers import ON_SCREEN

    dollars = ON_SCREEN.dollars(_number(figure.get("value")))
    is_lower_bound = figure.get("is_lower_bound") is True
    return ON_SCREEN.qualified(dollars, str(figure.get("known") or ""), is_lower_bound=is_lower_bound)


def _safe(value: object, limit: int = 40) -> str:
    text = str(value or "")
    if text.isascii() and text.isprintable() and len(text) <= limit:
        return text
    from inspector.safe_text import one_line

    return one_line(text, limit)


def kept_path(key: str) -> str:
    """Return the cache file of a snapshot by its key: a session's path, or the folder whose newest is shown."""
    from zlib import crc32

    return f"{_cache_folder()}/{crc32(key.encode('utf-8', 'surrogatepass')):08x}-{len(key)}.json"


def _cache_folder() -> str:
    """Equal to `atomic_files.cache_folder("status")`, without its imports."""
    home, named = os.path.expanduser("~"), os.environ.get("XDG_CACHE_HOME", "").strip()  # noqa: PTH111
    if sys.platform == "darwin":
        return f"{home}/Library/Caches/inspector/status"
    return f"{named if os.path.isabs(named) else f'{home}/.cache'}/inspector/status"  # noqa: PTH117


def read_kept(key: str, version: str) -> Json:
    """Return the kept snapshot; empty if there is none of this version, or it is too old."""
    try:
        with open(kept_path(key), encoding="utf-8") as file:  # noqa: PTH123  light
            kept = json.load(file)
    except (OSError, ValueError, RecursionError):
        return {}
    is_ours = isinstance(kept, dict) and kept.get("key") == key and kept.get("version") == version
    return kept if is_ours and 0 <= time.time() - (_number(kept.get("time")) or 0.0) < OLDEST_SECONDS else {}


def keep_saving(session: str, version: str, low: float, high: float) -> None:
    """Keep the net saving of a best plan, as shares of cost, for a day's status lines; may raise `OSError`."""
    key = SAVING + os.path.realpath(session)
    path = kept_path(key)
    os.makedirs(_cache_folder(), mode=0o700, exist_ok=True)  # noqa: PTH103  light
    part = f"{path}.lock"
    with open(part, "w", encoding="utf-8") as file:  # noqa: PTH123  light
        json.dump({"key": key, "version": version, "time": time.time(), "low": low, "high": high}, file)
    os.replace(part, path)  # noqa: PTH105  light


def kept_saving(session: str, version: str) -> Json | None:
    """Return the kept net saving of a session's best plan if it saves at worst; None otherwise."""
    kept = read_kept(SAVING + os.path.realpath(session), version)
    low, high = _number(kept.get("low")), _number(kept.get("high"))
    return {"low": low, "high": high} if low is not None and high is not None and low > 0 else None


def is_current(kept: Json, style: str, now: float) -> bool:
    """Return True if a kept snapshot is recent, and none of its files changed."""
    age = now - (_number(kept.get("time")) or 0.0)
    if not 0 <= age <= FRESH_SECONDS[style]:
        return False
    stamps = kept.get("stamps")
    return isinstance(stamps, list) and all(stamp == _stamp(stamp[0]) for stamp in stamps)


def stamps_of(paths: list[str]) -> list[list[object]]:
    """Return path, size and modification time of files and folders."""
    return [_stamp(path) for path in paths]


def _stamp(path: str) -> list[object]:
    try:
        status = os.stat(path)  # noqa: PTH116  light
    except (OSError, ValueError):
        return [path, -1, -1]
    return [path, status.st_size, status.st_mtime_ns]


def take_lock(key: str) -> bool:
    """Return True if no other process refreshes this snapshot at the moment."""
    path = f"{kept_path(key)}.lock"
    try:
        if time.time() - os.stat(path).st_mtime > LOCK_SECONDS:  # noqa: PTH116  light
            os.unlink(path)  # noqa: PTH108  light
    except OSError:
        pass
    try:
        os.makedirs(_cache_folder(), mode=0o700, exist_ok=True)  # noqa: PTH103  light
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError:
        return False
    return True


def release_lock(key: str) -> None:
    try:
        os.unlink(f"{kept_path(key)}.lock")  # noqa: PTH108  light
    except OSError:
        return


@cache
def read_reported() -> Json:
    """Read the JSON object on standard input, once; empty if there is none, or it is broken or late."""
    import select

    data, deadline = b"", time.monotonic() + INPUT_SECONDS
    try:
        if os.isatty(0):
            return {}
        while len(data) <= MOST_INPUT:
            ready, _, _ = select.select([0], [], [], max(deadline - time.monotonic(), 0.0))
            chunk = os.read(0, 1 << 16) if ready else b""
            if not chunk:
                break
            data += chunk
        reported = json.loads(data)
    except (OSError, ValueError, RecursionError):
        return {}
    return reported if isinstance(reported, dict) else {}
