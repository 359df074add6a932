"""Short definitions of terms, shown where a term first appears if there is room."""

from typing import Final

NEEDED: Final = "needed: a later call used text that was cut"
NEEDED_PHRASES: Final = (NEEDED, "needed: a later call used cut text")
"""`NEEDED` in several lengths, the longest first."""
APPLIED: Final = "applied: first call it changes"
TOKEN_CALLS: Final = "token-calls: tokens × calls that sent them"  # noqa: RUF001, S105  a multiplication is meant, and no password
