"""Claude Code sessions of any size, made up: the shape of real ones, the same bytes every time."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORDS = (
    "the session reads a file and finds that every route is resolved before the guard runs so we move the check "
    "return self items value error import from path assert result def class test name config token message"
).split()
_TOOLS = ("Read", "Read", "Read", "Bash", "Bash", "Grep", "Edit", "WebFetch", "Glob")
_MODEL = "claude-opus-4-6"
_START = 1_780_000_000.0


@dataclass
class SessionWriter:
    """Writes the lines of a session, call by call.

    Attributes:
        seed: Equal seeds give equal lines.
        ballast: Characters of user-interface data beside every tool result; about four fifths of a real file is such.
    """

    seed: int = 1
    ballast: int = 3000
    _calls: int = 0
    _prompt: int = 24_000
    _parent: str | None = None
    _random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)  # noqa: S311  not for secrets

    def lines(self, calls: int) -> Iterator[str]:
        """The lines of so many further calls, each with a tool call and its result, line ends included."""
        if not self._calls:
            yield self._line("user", {"role": "user", "content": "Find out why the guard runs too late and repair it."})
        for _ in range(calls):
            yield from self._call()

    def _call(self) -> Iterator[str]:
        self._calls += 1
        at = self._calls
        tool = self._random.choice(_TOOLS)
        text = self._text(int(self._random.lognormvariate(6.6, 1.5)))
        growth = 200 + len(text) // 3
        usage = {
            "input_tokens": 3,
            "cache_read_input_tokens": self._prompt,
            "cache_creation_input_tokens": growth,
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": growth},
            "output_tokens": 90,
        }
        self._prompt = (self._prompt + growth) % 900_000 or 24_000
        common = {"model": _MODEL, "id": f"msg_{self.seed}_{at}", "role": "assistant", "usage": usage}
        said = {"type": "text", "text": self._text(self._random.randint(20, 300))}
        made = {"type": "tool_use", "id": f"toolu_{self.seed}_{at}", "name": tool, "input": self._input(tool)}
        yield self._line("assistant", {**common, "content": [said]})
        yield self._line("assistant", {**common, "content": [made], "stop_reason": "tool_use"})
        result = {"type": "tool_result", "tool_use_id": made["id"], "content": text}
        beside = {"stdout": self._text(self.ballast), "interrupted": False}
        yield self._line("user", {"role": "user", "content": [result]}, toolUseResult=beside)

    def _line(self, kind: str, message: dict[str, Any], **beside: Any) -> str:
        identifier = f"{self.seed:08x}-{self._random.getrandbits(64):016x}"
        moment = _START + self._calls * 7.0
        record = {
            "parentUuid": self._parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/sam/project",
            "sessionId": f"generated-{self.seed}",
            "version": "2.1.150",
            "type": kind,
            "message": message,
            "uuid": identifier,
            "timestamp": _iso(moment),
            **beside,
        }
        self._parent = identifier
        return json.dumps(record, separators=(",", ":")) + "\n"

    def _input(self, tool: str) -> dict[str, Any]:
        path = f"src/app/module_{self._random.randint(0, 60)}.py"
        if tool == "Bash":
            return {"command": f"python -m pytest -q {path}", "description": "run the tests"}
        if tool == "Grep":
            return {"pattern": self._random.choice(_WORDS), "path": "src"}
        return {"file_path": path}

    def _text(self, characters: int) -> str:
        words: list[str] = []
        length = 0
        while length < characters:
            word = self._random.choice(_WORDS)
            words.append(word + ("\n" if self._random.random() < 0.12 else " "))
            length += len(words[-1])
        return "".join(words)[:characters]


def _iso(moment: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def write_session(path: Path, *, messages: int | None = None, megabytes: float | None = None, ballast: int = 3000) -> Path:
    """Write a session of so many messages, or of at least so many megabytes. Returns the path."""
    writer = SessionWriter(ballast=ballast)
    with path.open("w", encoding="utf-8") as file:
        if messages is not None:
            file.writelines(writer.lines(messages // 2))
        else:
            written = 0
            while written < (megabytes or 0) * 1e6:
                for line in writer.lines(100):
                    written += file.write(line)
    return path
