"""Which model a run of SWE-agent was configured with, and each attempt of a run that tries several times.

Runs say it in their trajectory (`replay_config`), but for those of `RetryAgent`: its attempts are agents of their own,
to which the configuration is not given. It stands in a file beside the trajectory, in the folder above for what an
attempt wrote itself: the text of a JSON document as a YAML scalar. Attempts take the configured agents in turn. One
quoted scalar is all of YAML that is read: for that no YAML package is asked to be installed.

Source: SWE-agent/SWE-agent@3ea751c0 `sweagent/agent/agents.py` (`RetryAgent`), `sweagent/run/run_single.py` and
`run_batch.py`; PyYAML's `emitter.py` for how scalars are quoted and folded.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from inspector.session.files import Locator
from inspector.session.json.codec import json_in
from inspector.session.json.values import clean_string, mapping, objects
from inspector.session.linked_documents import SidecarFile

if TYPE_CHECKING:
    from pathlib import Path

ATTEMPT = re.compile(r"attempt_(\d{1,6})")
"""The folder that an attempt writes its own trajectory to."""


def attempt_of_folder(folder: Path) -> int | None:
    """The number of the attempt whose folder it is, from 0; None for any other."""
    found = ATTEMPT.fullmatch(folder.name)
    return int(found[1]) if found else None


def models_in(configuration: Any) -> tuple[str, ...]:
    """The models of a configuration, one for every configured agent; it may be the text of a JSON document."""
    value = json_in(configuration) if isinstance(configuration, str) else configuration
    agent = mapping(mapping(value).get("agent"))
    names = tuple(_name(one) for one in objects(agent.get("agent_configs")) or [dict(agent)])
    return names if any(names) else ()


def _name(agent: Any) -> str:
    return clean_string(mapping(mapping(agent).get("model")).get("name"))


def model_of_attempt(models: tuple[str, ...], attempt: int) -> str:
    """The model of an attempt, the first being 0; empty where none is known."""
    return models[attempt % len(models)] if models else ""


def configurations_beside(path: Path) -> tuple[SidecarFile, ...]:
    """The files that may hold the configuration of a trajectory, the likelier first; each holds the models."""
    file = Locator.of(path).file
    folder = file.absolute().parent
    folders = [folder] if attempt_of_folder(folder) is None else [folder, folder.parent]
    names = (f"{file.stem}.config.yaml", "config.yaml")
    return tuple(SidecarFile(place / name, models_in, text_of_scalar) for place in folders for name in names)


def text_of_scalar(data: bytes) -> str | None:
    """The text of a YAML document that is one quoted scalar; None for any other."""
    text = data.decode(errors="replace").strip()
    quote = text[:1]
    if len(text) < len("''") or quote not in ("'", '"') or text[-1] != quote:
        return None
    inner = text[1:-1]
    if quote == "'":
        return _FOLDED.sub(" ", inner).replace("''", "'")
    return _ESCAPED.sub(_unescaped, inner)


_FOLDED = re.compile(r"[ \t]*\r?\n[ \t]*")
"""A line end within a quoted scalar stands for a space. Texts of JSON have none of their own."""

_ESCAPED = re.compile(
    r"\\(?:x(?P<x>[0-9a-fA-F]{2})|u(?P<u>[0-9a-fA-F]{4})|U(?P<U>[0-9a-fA-F]{8})|\r?\n[ \t]*|(?P<one>.))"
    r"|[ \t]*\r?\n[ \t]*"
)

_NAMED = {
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "t": "\t",
    "n": "\n",
    "v": "\v",
    "f": "\f",
    "r": "\r",
    "e": "\x1b",
    "N": "\x85",
    "_": "\xa0",
    "L": "\u2028",
    "P": "\u2029",
}


def _unescaped(found: re.Match[str]) -> str:
    code = found["x"] or found["u"] or found["U"]
    if code:
        number = int(code, 16)
        return chr(number) if number <= 0x10FFFF else "\ufffd"
    if found["one"]:
        return _NAMED.get(found["one"], found["one"])
    return "" if found[0].startswith("\\") else " "
