"""Records that went wrong: real ones with something changed, lost, moved or broken."""

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    1e308,
    float("nan"),
    2**70,
    "",
    "text",
    "\x00\x1b[31m\u202e",
    "2026-13-45T99:99:99Z",
    [],
    {},
    [None],
    [[[]]],
    {"type": None},
    {"type": "text", "text": 5},
    [{"type": "text"}, "x", 3],
]

BROKEN = [b"\xff\xfe", b"\x00", b'"', b"}", b"\\ud800", b"\n", b"\xed\xa0\x80", b"{" * 2000]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        for key, item in value.items():
            found += places(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += places(item, (*path, index))
    return found


def changed(value: Any, path: tuple[Any, ...], how: str, new: Any, name: str) -> Any:
    """The value with one place changed. The value itself is changed."""
    holder = value
    for step in path[:-1]:
        holder = holder[step]
    last = path[-1]
    if how == "replace":
        holder[last] = new
    elif how == "remove":
        del holder[last]
    elif isinstance(holder, dict):
        holder[name] = holder.pop(last)
    else:
        holder.append(holder[last])
    return value


@st.composite
def mutated(draw: st.DrawFn, lines: Sequence[bytes]) -> bytes:
    """A file made of some of the lines, in any order, some more than once, some changed and some broken."""
    indices = draw(st.lists(st.integers(0, len(lines) - 1), min_size=1, max_size=12))
    chosen = [lines[index] for index in (sorted(indices) if draw(st.booleans()) else indices)]
    made = []
    for line in chosen:
        value = json.loads(line)
        for _ in range(draw(st.integers(0, 3))):
            found = places(value)
            if not found:
                break
            how = draw(st.sampled_from(["replace", "remove", "rename"]))
            name = draw(st.sampled_from(["type", "id", "content", "message", "data", "unknown"]))
            new = draw(st.sampled_from([lambda odd=odd: json.loads(json.dumps(odd)) for odd in ODD]))()
            value = changed(value, draw(st.sampled_from(found)), how, new, name)
        data = json.dumps(value, ensure_ascii=draw(st.booleans())).encode(errors="replace")
        if draw(st.integers(0, 5)) == 0:
            cut = draw(st.integers(0, len(data)))
            data = data[:cut] + draw(st.sampled_from(BROKEN)) + data[cut + draw(st.integers(0, 3)) :]
        made.append(data)
    return b"\n".join(made) + draw(st.sampled_from([b"\n", b"", b"\r\n", b"\n{"]))


def short(lines: Sequence[bytes], longest: int = 6_000, most: int = 60) -> list[bytes]:
    """Lines of every kind, each small enough to be changed many times."""
    kinds: dict[str, list[bytes]] = {}
    for line in lines:
        if len(line) <= longest:
            value = json.loads(line)
            message = value.get("message") if isinstance(value, dict) else None
            role = message.get("role") if isinstance(message, dict) else ""
            payload = value.get("payload") if isinstance(value, dict) else None
            inner = payload.get("type") if isinstance(payload, dict) else ""
            kinds.setdefault(f"{value.get('type')}:{role}:{inner}", []).append(line)
    most_each = max(most // max(len(kinds), 1), 1)
    return [line for found in kinds.values() for line in found[:most_each]]
