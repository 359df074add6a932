"""Documents beside a session's own, which tell more of it: the last state of each that could be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.decoding import lenient_json
from inspector.session.errors import SessionError
from inspector.session.opening import Place, open_for_reading

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MOST_BYTES = 1 << 28


class Beside:
    """A JSON document that may be missing, be written at the moment, or come later."""

    def __init__(self, path: Path, part: Callable[[Any], Any] | None = None) -> None:
        """Begin; nothing is read yet.

        Args:
            path: The document.
            part: Gives what of it is of interest, where that is not all: other changes are none.
        """
        self._path = path
        self._part = part
        self._place: Place | None = None
        self._value: Any = None

    def value(self) -> Any:
        """What it holds, or held when it could last be read; None where it never could."""
        self.changed()
        return self._value

    def changed(self) -> bool:
        """Look at it again; whether it holds something else than before."""
        try:
            place = Place.of(self._path.stat())
            if place == self._place or place.size > MOST_BYTES:
                return False
            with open_for_reading(self._path) as file:
                data = file.read()
        except (OSError, SessionError):
            return False
        value = lenient_json(data)[0]
        if value is None:
            return False  # written at the moment; looked at again
        self._place = place
        before, self._value = self._value, value if self._part is None else self._part(value)
        return bool(before != value)
