"""A counter, and sessions held in memory."""

from collections.abc import Callable, Iterable
from hashlib import blake2b
from pathlib import Path

import pytest

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
    """A session with one tool result a message; after `messages`, where given, whose texts begin below `offset`."""
    kept = dict(enumerate(texts, start=offset))
    new = tuple(Message(Role.USER, (block_of(text, number),)) for number, text in kept.items())
    return Session("test", path, "test", messages + new, (), (), TextsInMemory(kept))


@pytest.fixture(scope="session")
def counter() -> Counter:
    return load_counter()


@pytest.fixture(scope="session")
def counter_of() -> Callable[[str], Counter]:
    counters: dict[str, Counter] = {}

    def load(encoding: str) -> Counter:
        return counters.setdefault(encoding, load_counter(encoding))

    return load
