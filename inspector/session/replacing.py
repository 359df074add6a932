"""Files of this program's own, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

UNFINISHED_SUFFIX = ".part"
"""Ends the name of a file that is being written, or was when its writer was killed."""


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A new file, readable by its owner alone, that takes the place of another once it was written whole.

    Args:
        path: The file to be replaced, or made. Its folder is there.

    Raises:
        OSError: It cannot be written; what was there before is left as it was.
    """
    descriptor, name = tempfile.mkstemp(prefix="new-", suffix=UNFINISHED_SUFFIX, dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
