"""Which call a reported usage is of, wherever it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from inspector.session.model import Block, Usage

NONE = -1

INHERITED = -2
"""In the place of a call's index: the call was another session's."""


class Report(NamedTuple):
    """A reported usage.

    Attributes:
        usage: What was reported.
        time: When.
        block: The event itself.
    """

    usage: Usage
    time: float | None
    block: Block


class Attribution:
    """Gives reports to calls.

    Whether reports stand before or behind the items of their response shows at the first one: before, when there is no
    response yet that it could be of. One that cannot be of any recorded response (a request made to summarise, say)
    is left over.
    """

    def __init__(self) -> None:
        self._call = NONE
        self._lacks = False
        self._is_passed = False
        self._waiting: Report | None = None
        self._stands_first: bool | None = None

    def begin(self, call: int) -> Usage | None:
        """A response begins, of the given call; its usage, where that was reported before."""
        waiting, self._waiting = self._waiting, None
        self._call, self._lacks, self._is_passed = call, waiting is None, False
        return waiting.usage if waiting is not None else None

    def pass_by(self) -> None:
        """A turn or a prompt begins: later reports are of no earlier response."""
        self._is_passed = True

    def report(self, report: Report) -> tuple[int, Report | None]:
        """A usage was reported.

        Returns:
            The call it is of, `NONE` where it waits for a response, and a report that waited in vain.
        """
        if self._lacks and (not self._is_passed or self._stands_first is False):
            self._lacks, self._stands_first = False, False
            return self._call, None
        if self._stands_first is None:
            self._stands_first = True
        waited, self._waiting = self._waiting, report
        return NONE, waited

    def left_over(self, *, ends: bool = False) -> Report | None:
        """A report that cannot be of the response that begins now, or of any where a turn `ends`."""
        if self._waiting is None or (self._stands_first and not ends):
            return None
        waiting, self._waiting = self._waiting, None
        return waiting

    def forget(self) -> None:
        """What was reported so far was of another session."""
        self._waiting = None
