"""Results too large to keep: the model is shown a preview, and all of it stands in a file beside the session."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from inspector.session.decoding import lenient_json
from inspector.session.errors import SessionError
from inspector.session.format import StoredOutput
from inspector.session.formats.claude_code.places import parent_file
from inspector.session.opening import open_for_reading
from inspector.session.paths import exists
from inspector.session.values import mapping, string

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "tool-results"

PREVIEW = re.compile(r"<persisted-output>\s.{0,200}?Full output saved to:\s*(?P<path>[^\n]+)", re.DOTALL)

MOST_BYTES = 1 << 26
"""More of a file is not shown."""


def stored_output(path: Path, text: str) -> StoredOutput | None:
    """The whole of a result whose preview a session holds; None for any other result.

    Of the path in the preview, only the names of the file and of its session are used: it is looked for where results
    of sessions beside this one are kept.

    Args:
        path: The session.
        text: The result, as the model was sent it.
    """
    found = PREVIEW.match(text.lstrip())
    if found is None:
        return None
    names = found["path"].strip().replace("\\", "/").split("/")
    folder, name = (names[-3] if len(names) > 2 else ""), names[-1]
    if not name or "\x00" in found["path"]:
        return None
    session = parent_file(path) or path
    file = session.with_suffix("") / FOLDER / name
    if folder not in ("", ".", "..") and not exists(file):
        # A session that was renamed, or an early subagent's beside it: the folder keeps the session's own id.
        kept = session.with_name(folder) / FOLDER / name
        file = kept if exists(kept) else file
    try:
        with open_for_reading(file) as opened:
            data = opened.read(MOST_BYTES)
    except (SessionError, OSError):
        return StoredOutput(file, None)
    return StoredOutput(file, _text(data) if name.endswith(".json") else data.decode(errors="replace"))


def _text(data: bytes) -> str:
    """The texts of a result kept as JSON: of its parts, one after the other; as it stands where it has none."""
    value, _ = lenient_json(data)
    parts = value if isinstance(value, list) else [value]
    texts = [part if isinstance(part, str) else string(mapping(part).get("text")) for part in parts]
    return "\n".join(text for text in texts if text) or data.decode(errors="replace")
