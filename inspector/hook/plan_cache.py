"""Cache of compiled plans between hook processes.

The rules for each plan and tool are stored with the plan's text, so a changed plan is compiled again.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from inspector.hook.records import open_regular

if TYPE_CHECKING:
    from inspector.hook.rules import Cut, Store

_FOLDER = "plans"
_FORM = 2
"""Version of the cache format; caches of other versions are ignored."""


def cuts_for(plan: str, tool: str, folder: str) -> list[Cut | Store]:
    """Return a plan's cuts of a tool's results, in order. Raises `InspectorError` if the plan cannot be read.

    Args:
        plan: The plan's file, or the name of a plan.
        folder: The hook's folder, which contains the cache.
    """
    from zlib import crc32

    from inspector import __version__

    try:
        with open(plan, encoding="utf-8", opener=open_regular) as file:
            text = file.read()
    except FileNotFoundError:
        text = plan
    key = [__version__, _FORM, plan, text]
    path = f"{folder}/{_FOLDER}/{crc32(plan.encode('utf-8', 'surrogatepass')):08x}.json"
    kept: dict[str, Any] = {}
    try:
        with open(path, encoding="utf-8", opener=open_regular) as file:
            kept = json.load(file)
        if kept["key"] == key:
            known: list[Cut | Store] | None = kept["tools"].get(tool)
            if known is not None:
                return known
        else:
            kept = {}
    except (OSError, ValueError, LookupError, TypeError):
        kept = {}
    from inspector.hook.compiled import cuts_of, read_plan

    cuts = cuts_of(read_plan(plan), tool)
    _keep(path, {"key": key, "tools": {**kept.get("tools", {}), tool: cuts}})
    return cuts


def _keep(path: str, document: dict[str, Any]) -> None:
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120
        part = f"{path}.{os.urandom(6).hex()}.part"
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(document, file)
        os.replace(part, path)  # noqa: PTH105
    except OSError:
        return  # compiled again next time
