"""Central European time without a time zone database.

The offset is one hour in winter and two in summer. Summer begins on the last Sunday of March at 01:00 UTC and ends on
the last Sunday of October at 01:00 UTC.
"""

from datetime import date, datetime, timedelta, timezone

WINTER = timedelta(hours=1)
SUMMER = timedelta(hours=2)


def last_sunday(year, month):
    """The last Sunday of a month that has 31 days."""
    last = date(year, month, 31)
    return last - timedelta(days=last.weekday() + 1)


def change(year, month):
    """The instant of a clock change, in UTC."""
    sunday = last_sunday(year, month)
    return datetime(sunday.year, sunday.month, sunday.day, 1, tzinfo=timezone.utc)


def offset(instant):
    """What is added to UTC at an instant to get local time."""
    start, end = change(instant.year, 3), change(instant.year, 10)
    return SUMMER if start <= instant < end else WINTER


def local(instant):
    """An instant's local wall clock time, without a zone."""
    return (instant + offset(instant)).replace(tzinfo=None)


def hours_of_day(day):
    """How many hours a local day has: 23, 24 or 25."""
    if day == last_sunday(day.year, 3):
        return 23
    if day == last_sunday(day.year, 10):
        return 25
    return 24
