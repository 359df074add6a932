"""Reference prompt cache that processes every prompt token by token, to check the column arithmetic."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from inspector.replay.cache.cache_models import CacheModel


class Served(NamedTuple):
    """One call's prompt tokens by how they were served."""

    uncached: int
    read: int
    write_5m: int
    write_1h: int


@dataclass
class CacheByHand:
    """Entries are whole prompts with the time of their last use; a call reads the longest prefix shared with one."""

    cache: CacheModel
    entries: list[tuple[str, tuple[object, ...], float]] = field(default_factory=list)

    def send(self, model: str, prompt: Sequence[object], time: float, at_most: int | None = None) -> Served:
        """Send a prompt; `at_most` forces a miss after so many tokens, as a provider may have at any time."""
        prompt = tuple(prompt)
        shared = 0
        for entry_model, entry, used in self.entries:
            if entry_model == model and time - used <= self.cache.lifetime:
                shared = max(shared, _common(entry, prompt))
        if at_most is not None:
            shared = min(shared, at_most)
        shared = shared // self.cache.step * self.cache.step
        read = shared if shared >= self.cache.minimum_prefix else 0
        write = 0
        if len(prompt) >= self.cache.minimum_prefix:
            self.entries.append((model, prompt, time))
            write = len(prompt) - read if self.cache.writes else 0
        uncached = len(prompt) - read - write
        return Served(uncached, read, *((0, write) if self.cache.writes_one_hour else (write, 0)))


def common_prefix(first: Sequence[object], second: Sequence[object]) -> int:
    return _common(tuple(first), tuple(second))


def _common(first: tuple[object, ...], second: tuple[object, ...]) -> int:
    length = 0
    for mine, other in zip(first, second, strict=False):
        if mine != other:
            break
        length += 1
    return length
