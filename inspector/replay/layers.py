"""One strategy of a plan at work: what it decides at every call, and what it has decided so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inspector.strategies.core.batching import BatchedRun
    from inspector.strategies.core.strategy import Choice, Decision, Moment, Run


@dataclass
class Layer:
    """One strategy of the plan and what it has decided so far.

    Attributes:
        entry: Index of the strategy among the plan's entries.
        run: The strategy at work, where it is asked call by call.
        by_call: Its decisions in call order, where they are known in advance.
        decided: By block, the latest decision.
        batched: What holds its edits back, if anything does.
    """

    entry: int
    run: Run | None = None
    by_call: Iterator[tuple[int, Choice]] = field(default_factory=lambda: iter(()))
    decided: dict[int, Decision] = field(default_factory=dict)
    batched: BatchedRun | None = None
    _waiting: tuple[int, Choice] | None = None

    def __post_init__(self) -> None:
        self._waiting = next(self.by_call, None)

    def rests(self, call: int) -> bool:
        """Whether it is known in advance that nothing is decided at a call."""
        waiting = self._waiting
        return self.run is None and self.batched is None and (waiting is None or waiting[0] > call)

    def choices(self, moment: Moment) -> Iterable[Choice]:
        """What the strategy changes at this call."""
        return self.decide(moment) if self.batched is None else self.batched.step(moment)

    def decide(self, moment: Moment) -> Iterable[Choice]:
        """What the strategy decides at this call, whether or not it may change anything now."""
        if self.run is not None:
            return self.run.step(moment)
        return self._due(moment.call)

    def _due(self, call: int) -> Iterator[Choice]:
        while (item := self._waiting) is not None and item[0] <= call:
            self._waiting = next(self.by_call, None)
            yield item[1]
