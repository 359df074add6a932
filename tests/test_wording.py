"""The words of docstrings, comments, texts users see and documents, held to plain English.

Limits are per 10,000 words, and twice the figures measured in the code of Textual. Code in backticks does not count.
"""

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pytest

from tests.conftest import ROOT

PER_10_000 = {
    "what": (r"what", 4.0),
    "forms of say and tell": (r"say|says|said|saying|tell|tells|told|telling", 3.0),
    "stands": (r"stand|stands|stood", 1.0),
    "whoever, nobody, somebody": (r"whoever|whomever|whatever|nobody|somebody", 1.0),
    "is kept, is known, is asked": (r"(?:is|are) (?:kept|known|asked)|asks? for", 2.0),
    "by itself, of its own": (r"by (?:itself|themselves)|of (?:its|their) own", 1.0),
}
"""Words that native prose uses now and then: pattern and limit."""

NEVER = {
    "again, rebuilt (not: anew)": r"anew",
    "next to, in addition to (not: beside)": r"beside",
    "fix (not: mend)": r"mends?|mended|mending",
    "failed (not: came to grief)": r"c[ao]me to grief",
    "random keys (not: hasty hands)": r"hasty(?: hands)?",
    "returns, receives (not: hands back, is handed)": r"hand(?:s|ed)? (?:it |them )?back|(?:is|are) handed",
    "formatted, compared (not: laid out, set beside)": r"laid out|set beside",
    "is computed (not: is worked out)": r"(?:is|are|be|was|were) worked out",
    "total (not: what it came to)": r"came to|comes to",
    "as far as known (not: as far as is told)": r"as far as (?:is told|can be told)",
    "is (not: is found to be)": r"found to be",
    "cache rewrite (not: re-cached)": r"re-?cached",
    "is evicted (not: goes out of the cache)": r"go(?:es)? out of the cache",
    "lower bound (not: a least)": r"a least",
    "break-even (not: gone after)": r"gone after",
    "at most 1 in 100 calls (not: held to one need)": r"held to one need",
    "about, before a negative estimate (not: ~)": "~[\N{MINUS SIGN}-]\\$",
}
"""Words with a plain replacement: pattern by advice."""

STARTS = re.compile(r"(?:What|Whose|Whether|That|Of|So|The same)\b")
"""Openings of a docstring that is a sentence fragment."""

PROSE = re.compile(r"[A-Za-z]{2,}[^A-Za-z{}]* [A-Za-z(]")
"""A string literal that holds at least two words."""

PLAIN_COMMENT = re.compile(r"[^#\"']*#.*\n?")
"""A line with a comment behind no string."""

CODE_IN_PROSE = re.compile(r"`[^`]*`|\]\([^)]*\)|<[^>]*>")
CODE_BLOCK = re.compile(r"^(?: {4,}|\t)[^\n]*$|^```.*?^```", re.MULTILINE | re.DOTALL)

NOT_PROSE = re.compile(r"\b(?:SELECT|INSERT|CREATE|DELETE|UPDATE|PRAGMA)\b|\\[bdsSw]|\(\?|\.\*")
"""SQL and patterns."""

OTHERS_WORDS = frozenset({"strategies/library", "session/formats"})
"""Folders with texts that real agents write: markers and prompts in them are quoted to the byte."""


SAMPLES = ROOT / "scripts" / "samples" / "projects"
"""Projects that recorded agents read: the bundled sessions quote them to the byte."""


@dataclass(frozen=True)
class Text:
    """A piece of prose and its place."""

    place: str
    text: str

    @cached_property
    def prose(self) -> str:
        return CODE_IN_PROSE.sub("", self.text)


def sources(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from (path for path in sorted((ROOT / folder).rglob("*.py")) if SAMPLES not in path.parents)


def literals(tree: ast.AST) -> tuple[list[ast.Constant], list[ast.Constant]]:
    """Return strings that are statements (docstrings, also of attributes), and all others."""
    values, statements, others = set[int](), [], []
    for node in ast.walk(tree):  # a statement comes before its value
        if isinstance(node, ast.Expr):
            values.add(id(node.value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            (statements if id(node) in values else others).append(node)
    return statements, others


@cache
def of_modules() -> dict[str, tuple[Text, ...]]:
    """Docstrings and comments of all modules, and strings of the package, each module parsed once."""
    found: dict[str, list[Text]] = {"docstrings": [], "comments": [], "strings": []}
    for path in sources("inspector", "scripts", "benchmarks", "tests"):
        place, source = path.relative_to(ROOT), path.read_text(encoding="utf-8")
        statements, others = literals(ast.parse(source))
        found["docstrings"] += [Text(f"{place}:{node.lineno}", str(node.value)) for node in statements]
        found["comments"] += [Text(f"{place}:{line}", text) for line, text in comments_of(source, statements + others)]
        if place.parts[0] == "inspector" and "/".join(place.parts[1:3]) not in OTHERS_WORDS:
            texts = [Text(f"{place}:{node.lineno}", str(node.value)) for node in others]
            found["strings"] += [each for each in texts if PROSE.search(each.text) and not NOT_PROSE.search(each.text)]
    return {name: tuple(texts) for name, texts in found.items()}


def comments_of(source: str, strings: list[ast.Constant]) -> list[tuple[int, str]]:
    """Return line and text of every comment; only hashes near strings need Python's tokenizer, which is slow."""
    lines = source.splitlines(keepends=True)
    hashes = [line for line, text in enumerate(lines, start=1) if "#" in text]
    long = [(node.lineno, node.end_lineno or 0) for node in strings if node.end_lineno != node.lineno] if hashes else []
    inside = {line for first, last in long for line in range(first, last + 1)}
    if any(line in inside or not PLAIN_COMMENT.fullmatch(lines[line - 1]) for line in hashes):
        tokens = tokenize.generate_tokens(io.StringIO(source).readline)
        return [(each.start[0], each.string.lstrip("# ")) for each in tokens if each.type == tokenize.COMMENT]
    return [(line, lines[line - 1].partition("#")[2].strip("# \n")) for line in hashes]


@cache
def documents() -> tuple[Text, ...]:
    found = []
    for path in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "sample_sessions" / "README.md"]):
        text = CODE_BLOCK.sub("", path.read_text(encoding="utf-8"))
        found += [Text(str(path.relative_to(ROOT)), line) for line in text.splitlines() if line.strip()]
    return tuple(found)


def corpus_of(name: str) -> tuple[Text, ...]:
    return documents() if name == "documents" else of_modules()[name]


CORPORA = ("docstrings", "comments", "strings", "documents")


def found_in(texts: tuple[Text, ...], pattern: str) -> list[str]:
    compiled = re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])", re.IGNORECASE)
    return [
        f"{each.place}: …{each.prose[max(0, hit.start() - 40) : hit.end() + 40]!r}"
        for each in texts
        for hit in compiled.finditer(each.prose)
    ]


@pytest.mark.parametrize("corpus", CORPORA)
def test_words_of_a_translation_are_as_rare_as_in_native_prose(corpus: str, capsys: pytest.CaptureFixture[str]) -> None:
    texts = corpus_of(corpus)
    words = sum(len(each.prose.split()) for each in texts)
    assert words > 1_000
    rates, over = Counter[str](), []
    for name, (pattern, limit) in PER_10_000.items():
        places = found_in(texts, pattern)
        rates[name] = round(len(places) * 10_000 / words, 1)  # type: ignore[assignment]
        if rates[name] > limit:
            over += [f"{name}: {rates[name]} in 10,000 words, at most {limit}", *places[:40]]
    with capsys.disabled():
        sys.stdout.write(
            f"\n{corpus}: {words:,} words; " + ", ".join(f"{name} {rate}" for name, rate in rates.items()) + "\n"
        )
    assert not over, "\n".join(over)


@pytest.mark.parametrize("corpus", CORPORA)
def test_words_with_a_plain_replacement_are_absent(corpus: str) -> None:
    wrong = [
        f"{advice}: {place}" for advice, pattern in NEVER.items() for place in found_in(corpus_of(corpus), pattern)
    ]
    assert not wrong, "\n".join(wrong)


def test_no_docstring_starts_as_a_fragment() -> None:
    wrong = [f"{each.place}: {each.text[:60]}" for each in corpus_of("docstrings") if STARTS.match(each.text.strip())]
    assert not wrong, "\n".join(wrong)
