"""Generated Claude Code sessions of any size: the shape of real ones, the same bytes every time.

Shape, from public sessions: lines of one block, usage repeated on every line of a response, four fifths of the bytes
outside the conversation (progress lines and data for the agent's own screen), results of all lengths with a median of
some 800 characters, a compaction whenever the window is nearly full. Reported usage follows the texts, so that
calibration has something to find.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from json.encoder import encode_basestring_ascii as quoted
from math import exp
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MODEL = "claude-opus-4-6"
CHARACTERS_PER_TOKEN = 3.0
"""Ratio of the generated texts, in the provider's tokens."""

OVERHEAD_TOKENS = 18_000
FULL_TOKENS = 160_000
SECONDS_BETWEEN_CALLS = 7.0

_START = 1_780_000_000.0
_POOL_CHARACTERS = 1 << 20
_TOOLS = ("Read", "Read", "Read", "Bash", "Bash", "Grep", "Edit", "WebFetch", "Glob")
# fmt: off
_WORDS = (
    "session", "route", "guard", "resolve", "request", "response", "handler", "token", "message", "config", "value",
    "result", "error", "import", "path", "item", "the", "a", "of", "to", "and", "is", "in", "it", "that", "for", "with",
    "on", "as", "this", "was", "be", "by", "not", "are", "from", "have", "which", "all", "but", "can", "if", "or",
    "when", "then", "assert", "return", "class", "self", "name", "test", "build", "cache", "index", "offset", "record",
    "block", "limit", "count", "parse", "write", "read", "open", "close", "timeout", "retry", "connection", "database",
    "schema", "migration", "column", "query", "transaction", "commit", "branch", "merge", "review", "deploy", "server",
    "client", "socket", "buffer", "stream", "encode", "decode", "digest", "signature", "certificate", "permission",
    "directory", "unexpected",
)
# fmt: on


@dataclass(frozen=True)
class Shape:
    """Distribution of a session's bytes.

    Attributes:
        result_characters: Median length of a tool result.
        spread: Sigma of its lognormal distribution.
        overhead: Characters outside the conversation for every call.
        text_share: Share of responses with a text before a tool call.
    """

    result_characters: int = 812
    spread: float = 1.54
    overhead: int = 9_000
    text_share: float = 0.4


REAL = Shape()
"""The shape of real files: a fifth of the bytes is counted text."""

LEAN = Shape(result_characters=160, spread=0.9, overhead=0, text_share=0.2)
"""Maximum number of messages per megabyte."""


class SessionWriter:
    """Writes the lines of a session, call by call. Equal seeds and shapes give equal lines."""

    def __init__(self, shape: Shape = REAL, seed: int = 1) -> None:
        self._shape = shape
        self._seed = seed
        self._random = random.Random(seed)  # noqa: S311  not for secrets
        self._parent = "null"
        self._calls = 0
        self._lines = 0
        self._reported = 0
        self._prompt = OVERHEAD_TOKENS

    def lines(self, calls: int) -> Iterator[str]:
        """Yield the lines of further calls, each with a tool call and its result, line ends included."""
        if not self._calls:
            yield self.question("Find out why the guard runs too late and repair it.")
        for _ in range(calls):
            if self._prompt > FULL_TOKENS:
                yield from self._compaction()
            yield from self._call()

    def question(self, text: str) -> str:
        """Return the line of a user prompt."""
        self._grow(text)
        return self._line("user", f'{{"role":"user","content":{quoted(text)}}}')

    def _call(self) -> Iterator[str]:
        self._calls += 1
        usage = self._usage()
        tool = self._random.choice(_TOOLS)
        call = f"toolu_{self._seed}_{self._calls}"
        if self._random.random() < self._shape.text_share:
            said = self._text(self._random.randint(20, 300))
            yield self._response(f'{{"type":"text","text":{quoted(said)}}}', usage)
        arguments = self._arguments(tool)
        self._grow(arguments + tool, 60)
        part = f'{{"type":"tool_use","id":"{call}","name":"{tool}","input":{arguments}}}'
        yield self._response(part, usage)
        text = self._text(self._result_characters())
        extra = ""
        if self._shape.overhead:
            half = self._shape.overhead // 2
            yield self._line(
                "progress", extra=f',"data":{{"type":"bash_progress","output":{quoted(self._slice(half))}}}'
            )
            shown = quoted(text + self._slice(max(half - len(text), 0)))
            extra = f',"toolUseResult":{{"stdout":{shown},"interrupted":false}}'
        result = f'{{"type":"tool_result","tool_use_id":"{call}","content":{quoted(text)}}}'
        yield self._line("user", f'{{"role":"user","content":[{result}]}}', extra)

    def _compaction(self) -> Iterator[str]:
        before = self._prompt
        metadata = f'"compactMetadata":{{"trigger":"auto","preTokens":{before}}}'
        parent, self._parent = self._parent, "null"
        yield self._line(
            "system",
            extra=f',"subtype":"compact_boundary","content":"Conversation compacted",{metadata},'
            f'"logicalParentUuid":{parent}',
        )
        self._prompt = OVERHEAD_TOKENS
        self._reported = 0
        text = "This session is being continued from a previous conversation. " + self._slice(6_000)
        self._grow(text)
        yield self._line("user", f'{{"role":"user","content":{quoted(text)}}}', ',"isCompactSummary":true')

    def _response(self, part: str, usage: str) -> str:
        head = f'"model":"{MODEL}","id":"msg_{self._seed}_{self._calls}","type":"message","role":"assistant"'
        return self._line("assistant", f'{{{head},"content":[{part}],{usage}}}')

    def _usage(self) -> str:
        """Return the provider's usage: the last prompt was read from the cache, the rest written to it."""
        prompt = round(self._prompt)
        read, self._reported = self._reported, prompt - 3
        written = prompt - 3 - read
        return (
            f'"usage":{{"input_tokens":3,"cache_read_input_tokens":{read},"cache_creation_input_tokens":{written},'
            f'"cache_creation":{{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":{written}}},'
            f'"output_tokens":{self._random.randint(60, 400)}}}'
        )

    def _line(self, kind: str, message: str = "", extra: str = "") -> str:
        self._lines += 1
        uuid = f'"{self._seed:08x}-0000-4000-8000-{self._lines:012x}"'
        at = datetime.fromtimestamp(_START + self._calls * SECONDS_BETWEEN_CALLS, UTC).isoformat(
            timespec="milliseconds"
        )
        said = f',"message":{message}' if message else ""
        parent, self._parent = self._parent, uuid
        return (
            f'{{"parentUuid":{parent},"isSidechain":false,"userType":"external","cwd":"/home/sam/project",'
            f'"sessionId":"generated-{self._seed}","version":"2.1.150","type":"{kind}"{said},"uuid":{uuid},'
            f'"timestamp":"{at[:-6]}Z"{extra}}}\n'
        )

    def _arguments(self, tool: str) -> str:
        path = f"src/app/module_{self._random.randint(0, 60)}.py"
        if tool == "Bash":
            return f'{{"command":"python -m pytest -q {path}","description":"run the tests"}}'
        if tool == "Grep":
            return f'{{"pattern":"{self._random.choice(_WORDS)}","path":"src"}}'
        return f'{{"file_path":"{path}"}}'

    def _result_characters(self) -> int:
        return min(int(self._shape.result_characters * exp(self._random.gauss(0, self._shape.spread))), 100_000)

    def _text(self, characters: int) -> str:
        """Return a unique text, and grow the prompt by it."""
        text = f"{self._lines} {self._slice(characters)}"
        self._grow(text)
        return text

    def _grow(self, text: str, tokens: int = 0) -> None:
        self._prompt += round(len(text) / CHARACTERS_PER_TOKEN) + tokens

    def _slice(self, characters: int) -> str:
        pool = _pool()
        start = self._random.randrange(len(pool) - characters)
        return pool[start : start + characters]


@cache
def _pool() -> str:
    """Text as tools print it: code, logs, JSON, differences and prose in turn."""
    rng = random.Random(7)  # noqa: S311  not for secrets

    def word() -> str:
        return rng.choice(_WORDS)

    def number() -> int:
        return rng.randrange(100_000)

    kinds: tuple[Callable[[], str], ...] = (
        lambda: f"    def {word()}_{word()}(self, {word()}: {word().title()}, limit: int = {number()}) -> None:",
        lambda: f"        if self.{word()} is not None and {word()}.{word()}({number()}) > {number()}:",
        lambda: f"20:{number() % 60:02}:{number() % 60:02} INFO {word()}.{word()} {word()} {word()} id={number():08x}",
        lambda: f'  "{word()}": {{"{word()}": {number()}, "{word()}": "{word()} {word()}", "{word()}": true}},',
        lambda: f"+    {word()} = {word()}_{word()}[{number() % 50}]  # {word()} {word()}",
        lambda: " ".join(word() for _ in range(14)).capitalize() + ".",
        lambda: f'<li class="{word()}-{word()}"><a href="/{word()}/{number()}">{word()} {word()}</a></li>',
    )
    lines: list[str] = []
    length = 0
    while length < _POOL_CHARACTERS:
        kind = rng.choice(kinds)
        for _ in range(rng.randint(4, 30)):
            lines.append(kind())
            length += len(lines[-1]) + 1
    return "\n".join(lines)


def write_session(
    path: Path, *, messages: int | None = None, megabytes: float | None = None, shape: Shape = REAL
) -> Path:
    """Write a session of so many messages, or of at least so many megabytes. Returns the path.

    Raises:
        ValueError: Neither size is given, or both.
    """
    if (messages is None) == (megabytes is None):
        raise ValueError("give messages or megabytes")
    writer = SessionWriter(shape)
    with path.open("w", encoding="utf-8") as file:
        if messages is not None:
            file.writelines(writer.lines(messages // 2))
        else:
            written = 0
            while written < (megabytes or 0) * 1e6:
                written += sum(map(file.write, writer.lines(100)))
    return path
