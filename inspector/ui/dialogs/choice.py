"""Something that is chosen from a list."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DialogChoice:
    """Something that may be chosen.

    Attributes:
        identifier: What is answered.
        name: What it is called.
        title: What it is, in a few words.
        help: What it does and where it comes from.
    """

    identifier: str
    name: str
    title: str
    help: str
