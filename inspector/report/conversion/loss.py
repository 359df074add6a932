"""What a form cannot say, counted."""

from __future__ import annotations

from collections import Counter


class Losses:
    """What was left out or written as something else, by what it is."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def note(self, what: str, count: int = 1) -> None:
        """Note something; `what` is in the plural and says what became of it."""
        if count:
            self._counts[what] += count

    def sentences(self) -> list[str]:
        """One line each, for people."""
        return [f"{what}: {count:,}" for what, count in self._counts.items()]

    @property
    def counts(self) -> dict[str, int]:
        """How many of what."""
        return dict(self._counts)
