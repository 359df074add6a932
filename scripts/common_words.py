"""Count the words that sessions of unrelated projects share, for `inspector/replay/analysis/common_words.txt`.

    python scripts/common_words.py FOLDER... [--projects 5] > inspector/replay/analysis/common_words.txt

Sort the sessions into one folder per project: the folder that holds a session is its project. A word counts for a
project if a tool result shows it or the model writes it there, including as a part of a longer word. Such a word is not
evidence that a model used a certain result. Only words that the detectors would take for identifiers are printed,
without names of standard libraries (`is_standard`). No word of fewer projects is printed.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.errors import InspectorError
from inspector.replay.analysis.reuse import identifiers_of, is_standard, strings_of
from inspector.session.discovery import found_in
from inspector.session.model import BlockKind, TextUnavailableError
from inspector.session.open import open_session
from inspector.strategies.history.reads import decoded

if TYPE_CHECKING:
    from inspector.session.model import Block, Session

WRITTEN = frozenset({BlockKind.TOOL_RESULT, BlockKind.TOOL_CALL, BlockKind.ASSISTANT_TEXT, BlockKind.THINKING})

LEFT_OUT = re.compile(r"[0-9]|^[nt][A-Z]|[Ee]ntire|[Cc]heckpoint|session-bridge")
"""Digits, the rest of an escaped line break or tab, and names of the tools that recorded and published the sessions."""


def texts_of(session: Session, block: Block) -> list[str]:
    """Return a block's text, or the strings in a tool call's arguments."""
    try:
        text = session.text(block)
    except TextUnavailableError:
        return []
    arguments = decoded(text) if block.kind is BlockKind.TOOL_CALL else None
    return [value for _, value in strings_of(arguments)] if isinstance(arguments, dict) else [text]


def main() -> int:
    """Print the words."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path, help="folders with a folder of sessions per project")
    parser.add_argument("--projects", type=int, default=5, help="projects that have a common word")
    options = parser.parse_args()
    projects_of: defaultdict[str, set[str]] = defaultdict(set)
    projects, count = set(), 0
    for path in sorted(header.path for each in options.paths for header in found_in(each)):
        try:
            session = open_session(path)
        except InspectorError as error:
            print(f"{path}: {error}", file=sys.stderr)
            continue
        count += 1
        projects.add(path.parent.name)
        words: set[str] = set()
        for block in session.blocks:
            if block.kind in WRITTEN:
                words.update(*map(identifiers_of, texts_of(session, block)))
        for word in words:
            projects_of[word].add(path.parent.name)
    common = [word for word, named in projects_of.items() if len(named) >= options.projects]
    print(f"# Words in sessions of at least {options.projects} of {len(projects)} public projects ({count:,} sessions,")
    print(f"# {datetime.now(UTC):%d %B %Y}), counted by scripts/common_words.py.")
    print("\n".join(sorted(word for word in common if not LEFT_OUT.search(word) and not is_standard(word))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
