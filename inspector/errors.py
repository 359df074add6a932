"""The root of everything that can go wrong and that somebody can do something about.

A program that uses `inspector` as a library catches `InspectorError` and has them all. Each kind stands beside what
raises it. Faults of the program itself are none of these: they stay what Python raises.
"""

from __future__ import annotations

from typing import ClassVar


class InspectorError(Exception):
    """Something could not be done.

    Attributes:
        message: One line for a person: what is wrong, where, and what to do about it where that depends on the case.
            May hold untrusted text; whoever shows it makes it safe.
        advice: What to do about any error of this kind, in a few words. Every kind has some.
    """

    advice: ClassVar[str] = ""

    def __init__(self, message: str = "") -> None:
        super().__init__(message)
        self.message = message

    @property
    def explanation(self) -> str:
        """The message, with the advice where the message does not say it."""
        parts = (self.message, "" if self.advice in self.message else self.advice)
        return ": ".join(part for part in parts if part) or type(self).__name__
