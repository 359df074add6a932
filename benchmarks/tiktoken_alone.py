"""Time of tiktoken alone for the texts of a session: the baseline of exact counts.

Prints the seconds to load the tokenizer and the seconds to encode every text once, one by one. Reading the texts is not
timed. The verified vocabulary is put into tiktoken's download cache, so that tiktoken loads it without a download.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from benchmarks.workbench import ROOT

ENCODING = "o200k_base"
NAME_IN_CACHE = "fb374d419588a4632f3f557e76b4b70aebbca790"
"""The SHA-1 of the address that tiktoken would download the encoding from."""


class Seconds(NamedTuple):
    """Seconds to load the tokenizer, and to encode every text once."""

    loading: float
    encoding: float


def texts_of(*paths: Path) -> list[str]:
    """Every text of sessions that is counted, once each."""
    from inspector.session.open import open_session
    from inspector.tokens.block_tokens import sends_text

    texts: dict[bytes, str] = {}
    for session in map(open_session, paths):
        texts |= {
            block.digest: session.text(block)
            for block in session.blocks
            if sends_text(block) and block.digest not in texts
        }
    return list(texts.values())


def measure(texts: list[str]) -> Seconds:
    """Seconds to load the tokenizer, and to encode the texts."""
    from inspector.tokens.vocabulary import find_vocabulary

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, NAME_IN_CACHE).write_bytes(find_vocabulary(ENCODING).data)
        os.environ["TIKTOKEN_CACHE_DIR"] = folder
        start = perf_counter()
        import tiktoken

        encoding = tiktoken.get_encoding(ENCODING)
        loaded = perf_counter()
    for text in texts:
        encoding.encode_ordinary(text)
    return Seconds(loaded - start, perf_counter() - loaded)


def tiktoken_alone(*paths: Path) -> Seconds:
    """Measure a separate process on the texts of sessions."""
    command = (sys.executable, "-m", "benchmarks.tiktoken_alone", *map(str, paths))
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
    return Seconds(*map(float, done.stdout.split()))


def main() -> None:
    """Measure and print."""
    print(*measure(texts_of(*map(Path, sys.argv[1:]))))


if __name__ == "__main__":
    main()
