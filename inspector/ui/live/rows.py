"""Rows of the live table, and the details of one running session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from inspector.live.alerts import LONGEST_NAME, session_name
from inspector.live.status import FILL_ALARM, FILL_WARNING, Activity, Attention, CacheState, LiveSession
from inspector.report.numbers import ABOUT, ON_SCREEN, age, elapsed, size_words
from inspector.safe_text import one_line
from inspector.ui.figure_table.table import Cell, Column, FigureRow, figure_cell

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inspector.live.watch import LiveSnapshot
    from inspector.replay.figure import Figure

BAR: Final = "bar"
COLUMNS: Final = (
    Column("name", "session", 9, 24, is_text=True),
    Column(BAR, "fill", 6, 48, is_text=True),
    Column("fill", "", 6),
    Column("why", "", 10, 14, is_text=True),
    Column("calls", "compacts in", 10, 11, short="compacts", rank=2),
    Column("rate", "$ per hour", 7, 10, short="$/h", rank=1),
    Column("cache", "cache", 6, rank=3),
    Column("spent", "so far", 9, rank=4, wide=100),
    Column("agent", "agent", 14, 20, is_text=True, rank=5, wide=120),
    Column("title", "title", 20, 60, is_text=True, rank=6, wide=140),
)

CALM, WARNING, ALARM = "live--calm", "live--warning", "live--alarm"
"""Component classes of the levels of a fill."""

LONGEST_TITLE: Final = 200

FAINT: Final = "live--faint"
WAITING: Final = "live--waiting"

URGENT: Final = "!"
AT_MOST: Final = "≤ "
"""Before a fill whose compaction size is a lower bound."""

FULL, EMPTY = "█", "░"
_EIGHTHS: Final = " ▏▎▍▌▋▊▉"

SHORT_WHY: Final = {
    Attention.COMPACTS_SOON: "compacts",
    Attention.COLD_SOON: "cold soon",
    Attention.FILLING: "filling",
    Attention.WAITING: "waits",
}
STYLE_OF: Final = {
    Attention.LOOP: ALARM,
    Attention.COMPACTS_SOON: ALARM,
    Attention.COLD_SOON: WARNING,
    Attention.FILLING: WARNING,
    Attention.WAITING: WAITING,
}
CLOCK_SECONDS: Final = 3600.0
"""Above this, the time until a cache goes cold is shown in whole minutes or hours."""

NO_SESSIONS: Final = (
    "No agent is running.",
    "",
    "Start one in another terminal: its session appears here within a second.",
    "o lists the sessions of this machine · esc closes · to try it without an agent: inspector demo",
)


def level_of_fill(fill: float | None) -> str:
    """Return the component class of a fill."""
    if fill is None:
        return FAINT
    return ALARM if fill >= FILL_ALARM else WARNING if fill >= FILL_WARNING else CALM


def fill_bar(fill: float, cells: int) -> str:
    """Draw a fill as exactly `cells` cells; more than 1 is drawn as 1."""
    eighths = round(min(max(fill, 0.0), 1.0) * cells * 8)
    bar = FULL * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")
    return bar + EMPTY * (cells - len(bar))


def names_of(sessions: Sequence[LiveSession]) -> list[str]:
    """Return the names of sessions: their projects, or titles where several sessions have the same project."""
    names = [session_name(session) for session in sessions]
    return [
        one_line(session.title, LONGEST_NAME) or name if names.count(name) > 1 else name
        for session, name in zip(sessions, names, strict=True)
    ]


def row_of_session(session: LiveSession, name: str, now: float, widths: Mapping[str, int]) -> FigureRow:
    """Build the row of a session.

    Args:
        session: The session.
        name: Its name, safe for display.
        now: Seconds since the epoch.
        widths: Widths of the visible columns in cells, by name.
    """
    reasons, fill = session.attention(now), session.fill
    level = level_of_fill(fill)
    quiet = FAINT if session.state in (Activity.IDLE, Activity.ENDED) else ""
    cells = {
        "name": Cell(name, style=quiet),
        BAR: Cell("" if fill is None else fill_bar(fill, widths.get(BAR, 0)), style=level),
        "fill": Cell(_fill_text(session), style=level),
        "why": _why_cell(session, now),
        "calls": Cell(_calls_text(session), style=quiet),
        "rate": _rate_cell(session, quiet),
        "cache": Cell(_cache_text(session, now), style=WARNING if Attention.COLD_SOON in reasons else quiet),
        "spent": figure_cell(session.spent, ON_SCREEN.dollars, style=quiet),
        "agent": Cell(one_line(session.agent), style=FAINT),
        "title": Cell(one_line(session.title), style=FAINT),
    }
    mark = URGENT if reasons and STYLE_OF[reasons[0]] in (ALARM, WARNING) else " "
    return FigureRow(session.path, cells, mark)


def _fill_text(session: LiveSession) -> str:
    if session.fill is None:
        return "?"
    text = f"{100 * session.fill:.0f} %"
    if session.compacts_at.is_lower_bound:
        return f"{AT_MOST}{text}"
    return ON_SCREEN.qualified(text, session.fill_known.value)


def _why_cell(session: LiveSession, now: float) -> Cell:
    reasons = session.attention(now)
    if not reasons:
        return Cell(session.state.value, style="" if session.state is Activity.WORKING else FAINT)
    first = reasons[0]
    if first is Attention.LOOP and session.loop is not None:
        return Cell(f"loop \N{MULTIPLICATION SIGN}{session.loop.times}", style=STYLE_OF[first])
    return Cell(first.value, SHORT_WHY.get(first, ""), STYLE_OF[first])


def _calls_text(session: LiveSession) -> str:
    if session.forecast is None:
        return ""
    calls = round(session.forecast.calls.middle)
    return "now" if calls < 1 else f"{ABOUT}{ON_SCREEN.plural(calls, 'call')}"


def _rate_cell(session: LiveSession, style: str) -> Cell:
    usd = session.recent.usd
    if usd.value is None:
        return Cell("?", style=FAINT)
    return figure_cell(usd, ON_SCREEN.dollars, style=style) if usd.value else Cell("-", style=FAINT)


def _cache_text(session: LiveSession, now: float) -> str:
    left = session.cache.seconds_left(now)
    if session.cache.state is CacheState.UNKNOWN or left is None:
        return ""
    if session.cache.state is CacheState.COLD or left <= 0:
        return "cold"
    return elapsed(left) if left < CLOCK_SECONDS else age(left)


def summary_of(snapshot: LiveSnapshot) -> str:
    """Return the number of running sessions, the number that need attention, and their dollars per hour."""
    running = [each for each in snapshot.sessions if each.state is not Activity.ENDED]
    if not running:
        return "no session is running"
    urgent = sum(bool(each.attention(snapshot.time)) for each in running)
    rates = [each.recent.usd.value for each in running if each.recent.usd.value is not None]
    is_lower_bound = any(each.recent.usd.is_lower_bound for each in running)
    parts = [f"{len(running)} running", f"{urgent} need{'s' * (urgent == 1)} you" if urgent else "none needs you"]
    if rates and sum(rates) > 0:
        rate = ON_SCREEN.qualified(ON_SCREEN.dollars(sum(rates)), "projected", is_lower_bound=is_lower_bound)
        parts.append(f"{rate}/h")
    return " · ".join(parts)


def unread_text(snapshot: LiveSnapshot) -> str:
    """Describe the sessions that could not be read; empty if there are none."""
    if not snapshot.unread:
        return ""
    path, problem = snapshot.unread[0]
    count = ON_SCREEN.plural(len(snapshot.unread), "session")
    return f"{count} not readable: {one_line(path.name, LONGEST_NAME)}: {one_line(problem)}"


def detail_of_session(session: LiveSession, now: float) -> tuple[str, str]:
    """Describe a session in two lines: its identity, then its figures, the most urgent first."""
    title = one_line(session.title, LONGEST_TITLE) or one_line(session.path.name)
    identity = [one_line(session.agent), one_line(session.model), title]
    parts = [one_line(session.notice), _loop_text(session), _compaction_text(session), _return_text(session, now)]
    parts += [_spent_text(session), *_counts(session)]
    return " · ".join(dict.fromkeys(filter(None, identity))), " · ".join(filter(None, parts))


def _loop_text(session: LiveSession) -> str:
    loop = session.loop
    if loop is None or loop.times < 2:
        return ""
    return f"{one_line(loop.tool)} called {loop.times} times in a row with the same arguments"


def _compaction_text(session: LiveSession) -> str:
    size, window = session.compacts_at, session.window
    if size.value is None and window.value is None:
        return "compaction size unknown"
    is_window = size.value is None
    text = size_words(window if is_window else size, is_window=is_window)
    found = session.forecast
    if found is None:
        return text
    low, high = round(found.calls.low), round(found.calls.high)
    span = f" ({low} to {high})" if low != high else ""
    if round(found.calls.middle) < 1:
        return f"{text} at the next call"
    text = f"{text} in {_calls_text(session)}{span}"
    return text if found.minutes is None else f"{text}, about {age(60 * found.minutes.middle)}"


def _return_text(session: LiveSession, now: float) -> str:
    """Describe the cost of the next prompt, with a warm and a cold cache."""
    cache = session.cache
    if cache.state is CacheState.UNKNOWN or cache.cold_usd.value is None:
        return ""
    cold = _next_prompt_words("", cache.cold_usd)
    text = _cache_text(session, now)
    if text == "cold":
        return f"cache cold, next prompt {cold}"
    warm = _next_prompt_words(" instead of ", cache.warm_usd)
    return f"cold in {text}, then {cold}{warm}" if text else ""


def _next_prompt_words(words: str, cost: Figure) -> str:
    """Return a cost after some words; empty if it is unknown."""
    if cost.value is None:
        return ""
    return f"{words}{ON_SCREEN.qualified(ON_SCREEN.dollars(cost.value), cost.known.value)}"


def _spent_text(session: LiveSession) -> str:
    spent = session.spent
    if spent.value is None:
        return ""
    dollars = ON_SCREEN.dollars(spent.value)
    return f"{ON_SCREEN.qualified(dollars, spent.known.value, is_lower_bound=spent.is_lower_bound)} so far"


def _counts(session: LiveSession) -> Sequence[str]:
    least = "≥ " if session.is_partial else ""
    counts = ((session.subagents, "subagent"), (session.misses, "cache miss"), (session.compactions, "compaction"))
    found = [f"{'' if noun == 'subagent' else least}{ON_SCREEN.plural(count, noun)}" for count, noun in counts if count]
    return [*found, *([f"{ON_SCREEN.plural(session.problems, 'unreadable record')}"] if session.problems else [])]


def next_with_attention(sessions: Sequence[LiveSession], here: int, now: float) -> int | None:
    """Return the position of the next session that needs attention after one, wrapping around; None if none does."""
    for step in range(1, len(sessions) + 1):
        place = (here + step) % len(sessions)
        if sessions[place].attention(now):
            return place
    return None
