"""Results of a session that the hook trimmed in a live agent, from the hook's store on this machine."""

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
    """A trimmed result, and whether its original is stored for `inspector recall`."""

    trim: Trim
    is_kept: bool


@dataclass(frozen=True)
class SessionTrims:
    """Results of a session trimmed by the hook.

    Attributes:
        by_call: Newest trim of each result, by tool call id.
        count: Number of trimmed results.
        saved: Characters left out, as in `inspector hook stats`.
    """

    by_call: Mapping[str, KeptTrim]
    count: int
    saved: int

    @property
    def in_words(self) -> str:
        """Summary in one line: `trimmed by the hook: 3 results, ~12,400 tokens saved`."""
        tokens = ON_SCREEN.whole(estimated_tokens(max(self.saved, 0)))
        return f"trimmed by the hook: {ON_SCREEN.plural(self.count, 'result')}, {ABOUT}{tokens} tokens saved"


def store_stamp() -> StoreStamp | None:
    """Return a stamp that changes when the hook trims another result; None if it has trimmed nothing."""
    folder, found = state_folder(), []
    for name in (f"{TRIMS}.1", TRIMS):
        try:
            status = os.stat(f"{folder}/{name}")  # noqa: PTH116  the folder is a string everywhere
        except OSError:
            continue
        found.append((status.st_mtime_ns, status.st_size))
    return tuple(found) or None


def session_trims(session: Session) -> SessionTrims | None:
    """Return the trims of a session, read from all recorded trims; None if there are none.

    A fork or resume with a new id also includes trims of the calls it copied from the earlier session.
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
    """Describe a trim: `trimmed by the hook: 12,400 → 2,000 tokens (est.), original: inspector recall ID`.

    Args:
        kept: The trim.
        recall: The command that prints the original.
    """
    before, after = (ON_SCREEN.whole(estimated_tokens(each)) for each in (kept.trim.original, kept.trim.trimmed))
    original = f"original: {recall}" if kept.is_kept else "its original is no longer stored"
    return f"trimmed by the hook: {before} → {after} tokens (est.), {original}"
