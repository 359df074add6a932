"""Invariants of every session, from any file."""

import contextlib
from pathlib import Path

from inspector.errors import SessionError
from inspector.session.format import Format
from inspector.session.model import Session
from inspector.session.open import open_session


def assert_sound(session: Session) -> None:
    assert_indices_sound(session)
    for block in session.blocks:
        text = session.text(block)
        assert len(text) == block.characters
        assert text.startswith(block.preview)
        text.encode()
        assert isinstance(session.texts.record(block), bytes)


def assert_indices_sound(session: Session) -> None:
    """Indices point where they should, whether or not texts can still be read."""
    count = len(session.messages)
    for context in session.contexts:
        assert all(0 <= member < count for member in context.members)
        assert len(set(context.members)) == len(context.members)
        assert 0 <= context.retained <= len(context.members)
        assert all(session.messages[member].thread == context.thread for member in context.members)
        assert not any(session.messages[member].is_synthetic for member in context.members)
    for call in session.calls:
        assert 0 <= call.response < count
        assert 0 <= call.context < len(session.contexts)
        assert 0 <= call.prompt_messages <= len(session.contexts[call.context].members)
        assert call.response not in session.contexts[call.context].members[: call.prompt_messages]
    assert len({call.response for call in session.calls}) == len(session.calls)
    assert all(0 <= compaction.message <= count for compaction in session.compactions)
    assert session.blocks == tuple(block for message in session.messages for block in message.blocks)


def assert_reads(known: Format, path: Path) -> None:
    with contextlib.suppress(SessionError):
        reader = known.reader(path)
        for _ in reader.load():
            pass
        assert_sound(reader.snapshot())
        reader.refresh()
    with contextlib.suppress(SessionError):
        assert_sound(open_session(path))
