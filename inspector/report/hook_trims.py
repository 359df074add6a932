"""What the hook trimmed of a session in a live agent, from the hook's own store on this machine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from inspector.hook.records import TRIMS, trims
from inspector.recall.originals import has_original, state_folder
from inspector.report.numbers import ABOUT, ON_SCREEN
from inspector.session.model import LinkKind
from inspector.tokens.counter import estimated_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.hook.records import Trim
    from inspector.session.model import Session

StoreStamp = tuple[tuple[int, int], ...]


class KeptTrim(NamedTuple):
    """A result that was trimmed, and whether all of it was kept for `inspector recall`."""

    trim: Trim
    is_kept: bool


@dataclass(frozen=True)
class SessionTrims:
    """What the hook trimmed of a session.

    Attributes:
        by_call: By the tool call's id, the newest trim of its result.
        count: How many results were trimmed.
        saved: What that left out, in characters, as `inspector hook stats` adds it up.
    """

    by_call: Mapping[str, KeptTrim]
    count: int
    saved: int

    @property
    def in_words(self) -> str:
        """How many results, and what it saved, in a line: `trimmed by the hook: 3 results, ~12,400 tokens saved`."""
        tokens = ON_SCREEN.whole(estimated_tokens(max(self.saved, 0)))
        return f"trimmed by the hook: {ON_SCREEN.plural(self.count, 'result')}, {ABOUT}{tokens} tokens saved"


def store_stamp() -> StoreStamp | None:
    """What is something else once the hook has trimmed more; None where it has trimmed nothing."""
    folder, found = state_folder(), []
    for name in (f"{TRIMS}.1", TRIMS):
        try:
            status = os.stat(f"{folder}/{name}")  # noqa: PTH116  the folder is a text everywhere
        except OSError:
            continue
        found.append((status.st_mtime_ns, status.st_size))
    return tuple(found) or None


def session_trims(session: Session) -> SessionTrims | None:
    """What the hook trimmed of a session; None for nothing. Reads all that is recorded of trims.

    Of one that it goes on from, by a fork or a resume under an id of its own: what was trimmed of the calls that it
    holds copies of.
    """
    folder = state_folder()
    before = {link.identifier for link in session.links if link.kind is LinkKind.CONTINUED}
    of_it = {session.identifier, *before} - {""}
    recorded = [trim for trim in trims(folder) if trim.session in of_it]
    calls = {block.tool_call_id for block in session.all_blocks} if before and recorded else set()
    found = [trim for trim in recorded if trim.session == session.identifier or trim.identifier in calls]
    if not found:
        return None
    by_call = {trim.identifier: KeptTrim(trim, has_original(trim.identifier, trim.session, folder)) for trim in found}
    return SessionTrims(by_call, len(found), sum(trim.saved for trim in found))


def trim_in_words(kept: KeptTrim, recall: str) -> str:
    """What became of a result: `trimmed by the hook: 12,400 → 2,000 tokens (est.), original: inspector recall ID`.

    Args:
        kept: The trim.
        recall: The command that prints the original.
    """
    before, after = (ON_SCREEN.whole(estimated_tokens(each)) for each in (kept.trim.original, kept.trim.trimmed))
    original = f"original: {recall}" if kept.is_kept else "its original is not kept any more"
    return f"trimmed by the hook: {before} → {after} tokens (est.), {original}"
