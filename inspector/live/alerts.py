"""Alerts on running sessions: the rules that raise them, and their delivery.

A rule raises one alert when a value reaches its limit, and is re-armed once the value falls below `REARM` of the limit,
such as 70 % of fill for a limit of 85 %. An alert's text is made safe for display and contains no session text except
names. Commands receive values in environment variables only: nothing of a session becomes part of a command line that a
shell could parse.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from inspector.live.status import SOON_SECONDS, Activity, CacheState, LiveSession
from inspector.report.numbers import ON_SCREEN, elapsed, window_size
from inspector.safe_text import one_line
from inspector.settings import BELL, DESKTOP, NOTIFICATION, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from inspector.replay.figure import Figure

REARM: Final = 70 / 85
"""Share of a limit below which its rule is armed again."""

LONGEST_NAME: Final = 40

COMMAND_SECONDS: Final = 30.0

MOST_COMMANDS: Final = 8
"""Commands that may run at the same time; further alerts are not delivered by command."""

TITLE: Final = "inspector"


class Cause(StrEnum):
    """Cause of an alert."""

    FILL = "fill"
    HOURLY = "dollars_per_hour"
    SESSION = "dollars_per_session"
    COLD = "cold_return"
    LOOP = "loop"
    COMPACTION = "compaction"


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert in a sentence on one line, safe for display, with its limit; 0 for a compaction."""

    cause: Cause
    path: str
    name: str
    text: str
    value: float
    limit: float
    time: float


def session_name(session: LiveSession) -> str:
    """Return a session's name on one line, safe for display: its project, otherwise its title, otherwise its file."""
    return one_line(session.project or session.title or session.path.name, LONGEST_NAME)


class AlertRules:
    """Rules with their state per session. Pass every snapshot to `check`; a cause without a limit never alerts."""

    def __init__(self, settings: Settings) -> None:
        limits = {
            Cause.FILL: settings.alert_fill,
            Cause.HOURLY: settings.alert_dollars_per_hour,
            Cause.SESSION: settings.alert_dollars_per_session,
            Cause.COLD: settings.alert_cold_return,
            Cause.LOOP: settings.alert_loop,
        }
        self.limits = {cause: limit for cause, limit in limits.items() if limit > 0}
        self._reports_compactions = settings.alert_compaction
        self._raised: set[tuple[str, Cause]] = set()
        self._compactions: dict[str, int] = {}

    def check(self, sessions: Iterable[LiveSession], now: float) -> list[Alert]:
        found = []
        for session in sessions:
            if session.state is Activity.ENDED:
                continue
            path = str(session.path)
            for cause, limit in self.limits.items():
                value = _value(cause, session, now)
                if value is not None and self._crosses((path, cause), value, limit):
                    text = _sentence(cause, session, value, limit, now)
                    found.append(Alert(cause, path, session_name(session), text, value, limit, now))
            count = session.compactions
            if self._reports_compactions and count > self._compactions.get(path, count):
                text = f"{session_name(session)} compacted its context ({count} so far)."
                found.append(Alert(Cause.COMPACTION, path, session_name(session), text, count, 0, now))
            self._compactions[path] = count
        return found

    def _crosses(self, key: tuple[str, Cause], value: float, limit: float) -> bool:
        """Return True if an armed rule's value reaches its limit; arm a rule whose value fell far enough."""
        if value < REARM * limit:
            self._raised.discard(key)
        elif value >= limit and key not in self._raised:
            self._raised.add(key)
            return True
        return False


def _value(cause: Cause, session: LiveSession, now: float) -> float | None:
    """Return the value that a rule compares with its limit; None if it is unknown or does not matter at the moment."""
    if cause is Cause.SESSION:
        return session.spent.value
    if cause is Cause.COLD:
        return _cold_return(session, now)
    if session.state is Activity.IDLE:
        return None
    if cause is Cause.FILL:
        return None if session.fill is None else 100 * session.fill
    if cause is Cause.HOURLY:
        return session.recent.usd.value
    return float(session.loop.times) if session.loop else 0.0


def _cold_return(session: LiveSession, now: float) -> float | None:
    """Return the cost of a cold return while there is time to prevent it, 0 while the cache is in use."""
    left = session.cache.seconds_left(now)
    if session.state is Activity.WORKING or (left is not None and left > SOON_SECONDS):
        return 0.0
    is_soon = session.cache.state is CacheState.WARM and left
    return session.cache.cold_usd.value if is_soon else None


def _sentence(cause: Cause, session: LiveSession, value: float, limit: float, now: float) -> str:
    name, dollars = session_name(session), ON_SCREEN.dollars
    above = f"more than {dollars(limit)}"
    if cause is Cause.FILL:
        size = session.compacts_at.value
        of = f"the {window_size(round(size))} tokens at which it compacts" if size else "its context window"
        calls = session.forecast and round(session.forecast.calls.middle)
        forecast = "" if calls is None else f", in about {calls} call{'s' * (calls != 1)}"
        return f"{name} is at {value:.0f} % of {of}{forecast}."
    if cause is Cause.HOURLY:
        return f"{name} costs {_money(session.recent.usd)} an hour, {above}."
    if cause is Cause.SESSION:
        return f"{name} has cost {_money(session.spent)}, {above}."
    if cause is Cause.COLD:
        left, warm = session.cache.seconds_left(now) or 0.0, session.cache.warm_usd
        instead = "" if warm.value is None else f" instead of {_money(warm)}"
        cold = _money(session.cache.cold_usd)
        return f"{name} goes cold in {elapsed(left)}: the next prompt then costs {cold}{instead}."
    tool = one_line(session.loop.tool, LONGEST_NAME) if session.loop else "a tool"
    return f"{name} called {tool} {value:.0f} times in a row with the same arguments."


def _money(figure: Figure) -> str:
    dollars = ON_SCREEN.dollars(figure.value)
    return ON_SCREEN.qualified(dollars, figure.known, is_lower_bound=figure.is_lower_bound)


def terminal_sequence(alert: Alert, ways: Sequence[str], *, in_tmux: bool = False) -> str:
    """Return what a terminal receives for an alert: a bell, and OSC 9 and OSC 777 notifications.

    Args:
        alert: The alert; its text has no control characters.
        ways: Deliveries, see `settings.WAYS`.
        in_tmux: Wrap notifications, so that tmux passes them through (`allow-passthrough`).
    """
    sequence = ""
    if NOTIFICATION in ways:
        for body in (f"9;{alert.text}", f"777;notify;{TITLE};{alert.text.replace(';', ',')}"):
            osc = f"\x1b]{body}\x07"
            sequence += f"\x1bPtmux;\x1b{osc}\x1b\\" if in_tmux else osc
    return sequence + ("\x07" if BELL in ways else "")


def desktop_command(alert: Alert) -> list[str] | None:
    """Return the command of a desktop notification; None without a program for it."""
    if sys.platform == "darwin" and shutil.which("osascript"):
        script = "display notification (item 2 of argv) with title (item 1 of argv)"
        lines = ["on run argv", script, "end run"]
        return ["osascript", *(word for line in lines for word in ("-e", line)), TITLE, alert.text]
    if shutil.which("notify-send"):
        return ["notify-send", "--app-name", TITLE, "--", TITLE, _without_markup(alert.text)]
    return None


def _without_markup(text: str) -> str:
    """Escape the markup that notification servers render."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def command_variables(alert: Alert) -> dict[str, str]:
    return {
        "INSPECTOR_ALERT": alert.cause.value,
        "INSPECTOR_ALERT_TEXT": alert.text,
        "INSPECTOR_ALERT_NAME": alert.name,
        "INSPECTOR_ALERT_SESSION": alert.path,
        "INSPECTOR_ALERT_VALUE": f"{alert.value:g}",
        "INSPECTOR_ALERT_LIMIT": f"{alert.limit:g}",
    }


class _Running(NamedTuple):
    process: subprocess.Popen[bytes]
    deadline: float


class Notifier:
    """Delivers alerts in `settings.WAYS` without waiting for a program; `command` is empty for none."""

    def __init__(
        self,
        ways: Sequence[str],
        command: Sequence[str] = (),
        *,
        write: Callable[[str], object] | None = None,
        report: Callable[[str], object] | None = None,
    ) -> None:
        """Create a notifier; `write` is None without a terminal, `report` gets each problem once, in one line."""
        self.ways, self.command = tuple(ways), tuple(command)
        self._write, self._report = write, report
        self._running: list[_Running] = []
        self._reported: set[str] = set()

    def send(self, alert: Alert) -> None:
        self.poll()
        if self._write is not None:
            sequence = terminal_sequence(alert, self.ways, in_tmux=bool(os.environ.get("TMUX")))
            if sequence:
                with suppress(OSError):
                    self._write(sequence)
        if DESKTOP in self.ways:
            words = desktop_command(alert)
            if words is None:
                self._problem("no desktop notifications: neither notify-send nor osascript is on the PATH")
            else:
                self._start(words, {})
        if self.command:
            self._start(self.command, command_variables(alert))

    def poll(self) -> None:
        """Collect finished commands, and kill those past their time limit."""
        left = []
        for running in self._running:
            code = running.process.poll()
            if code is None and time.monotonic() >= running.deadline:
                self._problem(f"alert command {running.process.args!r:.80} was stopped after {COMMAND_SECONDS:.0f} s")
                running.process.kill()
                running.process.wait()
            elif code is None:
                left.append(running)
            elif code:
                self._problem(f"alert command {running.process.args!r:.80} failed with exit code {code}")
        self._running = left

    def close(self) -> None:
        """Let go of running commands: they end without this process."""
        self.poll()
        self._running = []

    def _start(self, words: Sequence[str], variables: dict[str, str]) -> None:
        if len(self._running) >= MOST_COMMANDS:
            self._problem(f"more than {MOST_COMMANDS} alert commands are running; further ones were not started")
            return
        try:
            process = subprocess.Popen(  # noqa: S603  the user's command, and notifiers, without a shell
                list(words),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, **variables},
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            self._problem(f"alert command {words[0]!r:.80} cannot run: {getattr(error, 'strerror', None) or error}")
            return
        self._running.append(_Running(process, time.monotonic() + COMMAND_SECONDS))

    def _problem(self, text: str) -> None:
        if self._report is not None and text not in self._reported:
            self._reported.add(text)
            self._report(one_line(text))
