"""JSON that is safe to print on a terminal and says exactly what it was given."""

from __future__ import annotations

import json
import re
from typing import Any

# JSON escapes C0 itself. These reach a terminal as they are: DEL and C1 (which some take for escape sequences), the
# controls that reorder text or are not seen, line separators, and halves of surrogate pairs, which nothing can encode.
_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")


def to_json(value: Any, *, ascii_only: bool = False) -> str:
    """`value` as indented JSON with a line end, every character that could disturb a terminal escaped.

    Args:
        value: Dictionaries, lists, strings, numbers, booleans, None.
        ascii_only: Escape everything outside ASCII, for outputs that cannot encode it.
    """
    text = json.dumps(value, indent=2, ensure_ascii=ascii_only)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"
