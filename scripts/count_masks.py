"""Count the masks in tool results of real sessions, by kind, and sample some for review.

    count_masks.py FOLDER [--draw N] [--seed S]

Prints the number of masks of each kind per thousand tool results. With `--draw`, also prints N of each kind with their
context, only on this terminal: a masked text that is not a secret is a false positive.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter, defaultdict
from pathlib import Path

from inspector import open_session
from inspector.errors import SessionError
from inspector.report.secret_redaction import SecretRedactor
from inspector.safe_text import one_line
from inspector.session.discovery import found_in
from inspector.session.model import BlockKind, TextUnavailableError

AROUND = 60
"""Characters shown on both sides of a mask."""


def main() -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder of sessions")
    parser.add_argument("--draw", type=int, default=0, metavar="N", help="number of samples of each kind")
    parser.add_argument("--seed", type=int, default=0, help="random seed of the samples")
    options = parser.parse_args()
    redactor = SecretRedactor()
    results = characters = 0
    kinds: Counter[str] = Counter()
    shown: defaultdict[str, list[str]] = defaultdict(list)
    for header in found_in(options.folder):
        try:
            session = open_session(header.path)
        except SessionError:
            continue
        for block in session.blocks:
            if block.kind is not BlockKind.TOOL_RESULT:
                continue
            try:
                text = session.text(block)
            except TextUnavailableError:
                continue
            results += 1
            characters += len(text)
            for found in redactor.in_place(text):
                kinds[found.kind] += 1
                before, after = text[max(0, found.start - AROUND) : found.start], text[found.stop : found.stop + AROUND]
                shown[found.kind].append(
                    f"{one_line(before)} >>{one_line(text[found.start : found.stop])}<< {one_line(after)}"
                )
    print(f"{results:,} tool results, {characters:,} characters, {kinds.total():,} masks")
    for kind, count in kinds.most_common():
        print(f"{1_000 * count / max(results, 1):9.2f} per thousand  {count:7,}  {kind}")
        drawn = random.Random(options.seed).sample(shown[kind], min(options.draw, len(shown[kind])))  # noqa: S311
        for line in drawn:
            print(f"    {line}")


if __name__ == "__main__":
    main()
