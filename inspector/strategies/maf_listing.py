"""The message that lists the results of a tool use, as Microsoft's agent framework puts it in their place.

Source: agent-framework-core 1.23 `_compaction.py` (`ToolResultCompactionStrategy`). It holds the beginning of what the
results say, so they have to be read for it; results that are sent as recorded are read for it once, whatever limits are
moved meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from inspector.session.model import BlockKind, TextUnavailableError
from inspector.strategies.base import Decision
from inspector.strategies.kinds import TOOL_CALL, TOOL_RESULT
from inspector.strategies.maf_messages import JSON_CHARACTERS
from inspector.strategies.speeches import SayInstead

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from inspector.strategies.base import Moment

_PREFIX, _SUFFIX, _CUT = "[Tool results: ", "]", "... [truncated]"
_LONGEST = 4_096
_KEPT_CHARACTERS = 32_000_000
"""Most characters of listings that are kept: what a session of a hundred megabytes needs and somewhat more."""

REASON = "older than the newest tool uses"


class Listing(NamedTuple):
    """What takes the place of a tool use.

    Attributes:
        decision: Says it.
        characters: Length of its text as a JSON string.
    """

    decision: Decision
    characters: int


def results_text(labels: Iterable[str]) -> str:
    """The message that lists the results of a tool use, cut where it would be too long."""
    label = "; ".join(labels) or "no results"
    if len(_PREFIX) + len(label) + len(_SUFFIX) > _LONGEST:
        label = label[: _LONGEST - len(_PREFIX) - len(_CUT) - len(_SUFFIX)].rstrip() + _CUT
    return f"{_PREFIX}{label}{_SUFFIX}"


class _Listings:
    """Listings by what their results are called and the digests of what they say."""

    def __init__(self) -> None:
        self._known: dict[tuple[tuple[str, bytes], ...], Listing] = {}
        self._characters = 0

    def of(self, moment: Moment, blocks: Sequence[int]) -> Listing:
        """What takes the place of a tool use, given its blocks."""
        history = moment.history
        recorded, kinds = history.session.blocks, history.kind_bytes
        names = {recorded[at].tool_call_id: recorded[at].tool_name for at in blocks if kinds[at] == TOOL_CALL}
        names.pop("", None)
        results = [(at, names.get(recorded[at].tool_call_id, "")) for at in blocks if kinds[at] == TOOL_RESULT]
        if not all(moment.is_whole(at) for at, _ in results):
            return _listing([_label(name, _text(moment, at) or "") for at, name in results])
        key = tuple([(name, recorded[at].digest) for at, name in results])
        known = self._known.get(key)
        if known is None:
            texts = [_text(moment, at) for at, _ in results]
            known = _listing([_label(name, text or "") for (_, name), text in zip(results, texts, strict=True)])
            if None not in texts:
                self._keep(key, known)
        return known

    def _keep(self, key: tuple[tuple[str, bytes], ...], listing: Listing) -> None:
        self._characters += listing.characters
        if self._characters > _KEPT_CHARACTERS:
            self._known.clear()
            self._characters = listing.characters
        self._known[key] = listing


LISTINGS = _Listings()


def _text(moment: Moment, block: int) -> str | None:
    try:
        return moment.text(block)
    except TextUnavailableError:
        return None


def _label(name: str, text: str) -> str:
    return (f"{name}: {text}" if name else text).strip()


def _listing(labels: Iterable[str]) -> Listing:
    text = results_text(labels)
    return Listing(
        Decision(SayInstead(text, BlockKind.ASSISTANT_TEXT), REASON, "results"), JSON_CHARACTERS.of_text(text)
    )
