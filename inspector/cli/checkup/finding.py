"""Result of a check: a fact, and for a problem its effect and remedy."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """Result of one check.

    Attributes:
        name: Subject, in a word or two.
        text: Result.
        problem: Effect of a problem; empty if there is none.
        advice: Remedy; empty if there is no problem.
    """

    name: str
    text: str
    problem: str = ""
    advice: str = ""
