"""Models that bind their thinking to the conversation before it, so that editing the one makes the other invalid."""

from __future__ import annotations

from inspector.tokens.model_names import taken_apart, version_of

_FIRST_PRESERVED = {"opus": (5, 5), "sonnet": (5, 5), "haiku": (5, 5), "fable": (5, 1), "mythos": (5, 1)}
"""The first version of each Claude family whose thinking blocks are checked against what stands before them.

Source: Anthropic's documentation on preserved thinking, 2026.
"""


def preserves_thinking(model: str) -> bool:
    """True where an edit of an earlier message makes the model's later thinking blocks invalid."""
    name = taken_apart(model).name
    versions = ((version_of(name, family), first) for family, first in _FIRST_PRESERVED.items())
    return any(version is not None and version >= first for version, first in versions)
