"""How many examples a property is tried on."""

import os

EXAMPLES = "INSPECTOR_EXAMPLES"
"""The variable that asks for more or fewer than a common run has."""

SHARE = float(os.environ.get(EXAMPLES, "0.33"))
"""Of the examples written beside a property so many are drawn: a third in a common run, many times as many by hand."""


def examples(count: int) -> int:
    """So many examples, or the share of them that this run draws; never none."""
    return max(round(count * SHARE), 1)
