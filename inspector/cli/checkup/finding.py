"""What a check-up finds: a fact, and where it is wrong what that means and what to do."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """One thing that was looked at.

    Attributes:
        name: What was looked at, in a word or two.
        said: What was found.
        problem: What that breaks; empty where all is well.
        advice: What to do about it; empty where all is well.
    """

    name: str
    said: str
    problem: str = ""
    advice: str = ""
