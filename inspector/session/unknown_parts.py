"""Parts of a session that this version does not know: kinds of records, and usage fields.

They are the first sign of a new version of an agent. Each is counted and named, so that no figure is silently
incomplete.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct

from inspector.session.registry import format_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from inspector.session.model import Session


class UnknownParts(Struct, frozen=True):
    """Unknown parts in the sessions of one agent version.

    Attributes:
        agent: The program and its version as recorded; the format's name if the file does not name it.
        records: Number of records by unknown kind.
        fields: Number of usage reports by unknown field.
    """

    agent: str
    sessions: int
    records: Mapping[str, int]
    fields: Mapping[str, int]

    @property
    def count(self) -> int:
        return sum(self.records.values()) + sum(self.fields.values())

    @property
    def about_records(self) -> str:
        """A sentence on the records; empty if all kinds are known."""
        count = sum(self.records.values())
        if not count:
            return ""
        records = "1 record" if count == 1 else f"{count:,} records"
        return (
            f"{records} of a kind this version does not know, written by {self.agent}: figures may be incomplete "
            f"({_named(self.records)})"
        )

    @property
    def about_fields(self) -> str:
        """A sentence on the usage fields; empty if all are known."""
        count = sum(self.fields.values())
        if not count:
            return ""
        reports = "1 usage report" if count == 1 else f"{count:,} usage reports"
        return (
            f"{reports} with a field this version does not know, written by {self.agent}: totals are lower bounds "
            f"({_named(self.fields)})"
        )

    def sentences(self) -> Iterator[str]:
        yield from filter(None, (self.about_records, self.about_fields))


MOST_NAMED = 4


def _named(counts: Mapping[str, int]) -> str:
    more = len(counts) - MOST_NAMED
    return ", ".join([*list(counts)[:MOST_NAMED], *([f"{more} more"] if more > 0 else [])])


def unknown_parts(session: Session) -> UnknownParts:
    """Count the parts of a session that this version does not know."""
    known = format_named(session.format)
    counts = session.record_counts if known is not None else {}
    records = {kind: count for kind, count in counts.items() if known is not None and not known.knows_record(kind)}
    return UnknownParts(session.agent or session.format, 1, records, dict(session.ignored_usage))


def by_agent(found: Iterable[UnknownParts]) -> list[UnknownParts]:
    """Sum unknown parts by agent version, the most first; versions without any are left out."""
    of_agent: dict[str, list[UnknownParts]] = {}
    for each in found:
        if each.count:
            of_agent.setdefault(each.agent, []).append(each)
    sums = [
        UnknownParts(
            agent,
            sum(each.sessions for each in mine),
            sum((Counter(each.records) for each in mine), Counter()),
            sum((Counter(each.fields) for each in mine), Counter()),
        )
        for agent, mine in of_agent.items()
    ]
    return sorted(sums, key=lambda each: (-each.count, each.agent))
