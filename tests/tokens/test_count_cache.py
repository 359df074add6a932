import multiprocessing
import os
import stat
import time
from pathlib import Path

import numpy as np
import pytest

from inspector.tokens.counter import load_counter
from inspector.tokens.prefix_counts import CountedTexts
from inspector.tokens.token_table import CountCache, SharedCountCache, count_session
from tests.tokens.conftest import session_of

PRIVATE = "the password is swordfish"
TEXTS = [PRIVATE, "number two " * 50, "汉字 and 😀", "", "number two " * 50]


LENGTHS = np.ones(2, np.uint8)


@pytest.fixture
def file(tmp_path):
    file = tmp_path / "session.jsonl"
    file.write_text("only its place matters here")
    return file


@pytest.fixture
def cache(tmp_path):
    return CountCache(tmp_path / "cache" / "tokens")


def counted(session, counter, cache, previous=None):
    *_, table = count_session(session, counter, previous, cache=cache)
    return table


def kept_files(cache):
    return sorted(cache.folder.iterdir())


def test_a_session_opened_again_has_exact_counts_without_reading_or_counting(counter, cache, file):
    table = counted(session_of(TEXTS, file), counter, cache)
    again = session_of(TEXTS, file)
    fresh = load_counter()
    tables = list(count_session(again, fresh, cache=cache))
    assert len(tables) == 1
    assert tables[0].is_complete
    assert again.texts.read == []
    assert tables[0].tokens.tolist() == table.tokens.tolist()
    blocks, lengths = np.repeat(np.arange(5), 30), np.tile(np.arange(30), 5)
    for some in ("head_tokens", "tail_tokens"):
        assert np.array_equal(getattr(tables[0], some)(blocks, lengths), getattr(table, some)(blocks, lengths))


def test_tool_names_are_kept_too_so_that_no_tokenizer_is_needed(counter, cache, file, monkeypatch):
    from inspector.session.model import BlockKind, Message, Role, Session
    from tests.tokens.conftest import TextsInMemory, block_of

    def session():
        block = block_of("{}", 0, BlockKind.TOOL_CALL, tool_name="list_everything")
        messages = (Message(Role.ASSISTANT, (block,)),)
        return Session("test", file, "test", messages, (), (), TextsInMemory({0: "{}"}), files=(file,))

    expected = counted(session(), counter, cache).tokens.tolist()
    fresh = load_counter()
    monkeypatch.setattr(fresh, "prepare", lambda: pytest.fail("the tokenizer was needed"))
    assert counted(session(), fresh, cache).tokens.tolist() == expected


def test_only_digests_and_numbers_are_kept_and_only_for_the_owner(counter, cache, file):
    counted(session_of(TEXTS, file), counter, cache)
    (kept,) = kept_files(cache)
    data = kept.read_bytes()
    assert b"swordfish" not in data
    assert b"session.jsonl" not in data
    assert "session" not in kept.name
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(cache.folder.stat().st_mode) == 0o700


def test_nothing_is_written_next_to_the_session(counter, cache, file):
    counted(session_of(TEXTS, file), counter, cache)
    assert sorted(path.name for path in file.parent.iterdir()) == ["cache", "session.jsonl"]


def test_sessions_and_encodings_have_files_of_their_own(counter, counter_of, cache, file):
    counted(session_of(TEXTS, file), counter, cache)
    counted(session_of(TEXTS, file), counter_of("cl100k_base"), cache)
    other = file.with_name("other.jsonl")
    other.touch()
    counted(session_of(TEXTS, other), counter, cache)
    assert len(kept_files(cache)) == 3
    table = counted(session_of(TEXTS, file), counter_of("cl100k_base"), cache)
    assert table.tokens.tolist() == counter_of("cl100k_base").count_all(TEXTS)


def test_a_conversation_that_is_in_no_file_is_not_kept(counter, cache):
    session = session_of(TEXTS, Path("no such file"))
    assert session.files == ()
    counted(session, counter, cache)
    assert not cache.folder.exists()


def test_a_damaged_file_is_ignored_and_replaced(counter, cache, file):
    expected = counted(session_of(TEXTS, file), counter, cache).tokens.tolist()
    (kept,) = kept_files(cache)
    good = kept.read_bytes()
    for data in (b"", b"not an archive", good[: len(good) // 2], good[:-30]):
        kept.write_bytes(data)
        assert counted(session_of(TEXTS, file), counter, cache).tokens.tolist() == expected
        again = session_of(TEXTS, file)
        assert counted(again, counter, cache).tokens.tolist() == expected
        assert again.texts.read == [], "it was not replaced by a good one"


def test_a_single_wrong_byte_anywhere_gives_right_counts_or_none(counter, cache, file):
    session = session_of(TEXTS, file)
    counted(session, counter, cache)
    (kept,) = kept_files(cache)
    good = kept.read_bytes()
    rows = np.arange(4, dtype=np.int32)
    outcomes = set()
    for position in range(len(good)):
        kept.write_bytes(good[:position] + bytes([good[position] ^ 0x55]) + good[position + 1 :])
        texts = CountedTexts(counter)
        cache.load(session, texts)
        outcomes.add(len(texts.digests()))
        if len(texts.digests()) > 1:
            assert texts.columns().tokens(rows).tolist() == counter.count_all(["", *TEXTS[:3]])
            assert [texts.row(block.digest) for block in session.blocks] == [1, 2, 3, 0, 2]
    assert outcomes == {1, 4}


@pytest.mark.parametrize(
    "columns",
    [
        {"digests": np.zeros((1, 16), np.uint8), "tokens": np.array([3], np.int32)},
        {"digests": np.zeros((1, 16), np.uint8), "tokens": np.array([3], np.int32), "lengths": LENGTHS},
        {"digests": np.zeros((1, 8), np.uint8), "tokens": np.array([2], np.int32), "lengths": LENGTHS},
        {
            "digests": np.zeros((2, 16), np.uint8),
            "tokens": np.array([3, -1], np.int32),
            "lengths": LENGTHS,
        },
        {"digests": np.zeros((1, 16), np.uint8), "tokens": np.array([2.0]), "lengths": LENGTHS},
        {"digests": np.array([object()]), "tokens": np.array([2], np.int32), "lengths": LENGTHS},
    ],
)
def test_a_file_with_other_columns_is_ignored(counter, cache, file, columns):
    expected = counted(session_of(TEXTS, file), counter, cache).tokens.tolist()
    (kept,) = kept_files(cache)
    np.savez(kept, **columns)
    assert counted(session_of(TEXTS, file), counter, cache).tokens.tolist() == expected


def test_a_folder_that_cannot_be_made_or_written_is_no_failure(counter, tmp_path, file):
    in_the_way = tmp_path / "a file"
    in_the_way.touch()
    table = counted(session_of(TEXTS, file), counter, CountCache(in_the_way / "tokens"))
    assert table.is_complete
    assert in_the_way.read_bytes() == b""


def test_a_full_disk_is_no_failure_and_leaves_no_half_file(counter, cache, file, monkeypatch):
    def full(*arguments, **columns):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    assert counted(session_of(TEXTS, file), counter, cache).is_complete
    assert kept_files(cache) == []


def test_the_files_used_longest_ago_make_room_for_new_ones(counter, tmp_path):
    texts = [f"sentence number {number} of this session. " * 20 for number in range(20)]
    sessions = []
    for name in ("first", "second", "third"):
        file = tmp_path / name
        file.touch()
        sessions.append(session_of([name, *texts], file))
    cache = CountCache(tmp_path / "cache")
    counted(sessions[0], counter, cache)
    (first,) = kept_files(cache)
    cache = CountCache(cache.folder, room_bytes=first.stat().st_size * 5 // 2)
    counted(sessions[1], counter, cache)
    (second,) = set(kept_files(cache)) - {first}
    os.utime(first, (1, 1))
    os.utime(second, (2, 2))
    counted(session_of(["first", *texts], tmp_path / "first"), counter, cache)
    counted(sessions[2], counter, cache)
    assert first.exists()
    assert not second.exists()
    assert len(kept_files(cache)) == 2


def test_what_a_killed_process_left_half_written_is_removed(counter, cache, file):
    cache.folder.mkdir(parents=True)
    abandoned, in_work = cache.folder / "new-a.part", cache.folder / "new-b.part"
    for part in (abandoned, in_work):
        part.touch()
    os.utime(abandoned, (time.time() - 7200,) * 2)
    counted(session_of(TEXTS, file), counter, cache)
    assert not abandoned.exists()
    assert in_work.exists()


def test_a_few_new_texts_are_not_worth_writing_a_file_again(counter, cache, file):
    session = session_of(TEXTS, file)
    table = counted(session, counter, cache)
    (kept,) = kept_files(cache)
    os.utime(kept, (1, 1))
    grown = session_of(["a little more"], file, messages=session.messages, offset=5)
    table = counted(grown, counter, cache, table)
    assert kept.stat().st_mtime == 1
    much = session_of([" word" * 30_000], file, messages=grown.messages, offset=6)
    counted(much, counter, cache, table)
    assert kept.stat().st_mtime > 1
    again = session_of([*TEXTS, "a little more", " word" * 30_000], file)
    assert counted(again, counter, cache).is_complete
    assert again.texts.read == []


def test_texts_the_session_no_longer_holds_are_not_kept_for_ever(counter, cache, file):
    counted(session_of([f"old text {number} " * 500 for number in range(40)], file), counter, cache)
    (kept,) = kept_files(cache)
    large = kept.stat().st_size
    counted(session_of([" new" * 30_000], file), counter, cache)
    with np.load(kept) as columns:
        assert len(columns["tokens"]) == 1
    assert kept.stat().st_size < large


def write_again_and_again(folder, file, began, stop):
    counter = load_counter()
    cache = CountCache(Path(folder))
    session = session_of(TEXTS, Path(file))
    while not stop.is_set():
        texts = CountedTexts(counter)
        for block in session.blocks:
            texts.add(block.digest, session.text(block))
        cache.save(session, texts)
        began.set()


def test_processes_that_write_the_same_file_never_show_each_other_half_of_it(counter, cache, file):
    context = multiprocessing.get_context("spawn")
    stop, began = context.Event(), [context.Event(), context.Event()]
    processes = [
        context.Process(target=write_again_and_again, args=(str(cache.folder), str(file), each, stop)) for each in began
    ]
    for process in processes:
        process.start()
    try:
        assert all(each.wait(60) for each in began)
        for _ in range(300):
            texts = CountedTexts(counter)
            cache.load(session_of(TEXTS, file), texts)
            assert len(texts.digests()) == 4
    finally:
        stop.set()
        for process in processes:
            process.join()
    assert [process.exitcode for process in processes] == [0, 0]


def test_what_one_session_counted_another_has_without_reading_it(counter, tmp_path):
    shared = SharedCountCache(tmp_path / "cache" / "tokens")
    counted(session_of(TEXTS, tmp_path / "one.jsonl"), counter, shared)
    other = session_of([*TEXTS, "only here"], tmp_path / "two.jsonl")
    table = counted(other, counter, shared)
    assert other.texts.read == [len(TEXTS)]
    assert table.is_complete
    alone = counted(session_of([*TEXTS, "only here"], tmp_path / "two.jsonl"), counter, CountCache(tmp_path / "none"))
    assert table.tokens.tolist() == alone.tokens.tolist()
    assert table.head_tokens([1] * 20, range(20)).tolist() == alone.head_tokens([1] * 20, range(20)).tolist()


def test_no_more_is_remembered_of_other_sessions_than_there_is_room_for(counter, tmp_path):
    shared = SharedCountCache(tmp_path / "cache" / "tokens", shared_bytes=150)
    for number in range(20):
        counted(session_of([f"text {number} " * 20], tmp_path / f"{number}.jsonl"), counter, shared)
        assert sum(map(len, shared.shared.lengths.values())) == shared.shared.size <= 150
