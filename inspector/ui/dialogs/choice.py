"""Entries of a picker."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DialogChoice:
    """Entry of a picker.

    Attributes:
        identifier: Value the picker returns.
        name: Display name.
        title: Short description.
        help: Effect and origin.
    """

    identifier: str
    name: str
    title: str
    help: str
