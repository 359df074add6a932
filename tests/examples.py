"""Number of examples per property test."""

import os

EXAMPLES = "INSPECTOR_EXAMPLES"

SHARE = float(os.environ.get(EXAMPLES, "0.2"))


def examples(count: int) -> int:
    return max(round(count * SHARE), 1)
