"""Many calls shown as few: stretches of calls that share a row of a table or a point of a chart."""

from __future__ import annotations


def stretches(count: int, most: int) -> list[tuple[int, int]]:
    """At most `most` stretches, nearly alike in length, that cover `count` things: first, and one after the last."""
    parts = min(count, most)
    return [(count * part // parts, count * (part + 1) // parts) for part in range(parts)]
