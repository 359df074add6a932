"""Find the configured model of a SWE-agent run, and of each attempt of a run with several.

Trajectories include it (`replay_config`), except with `RetryAgent`, which does not pass the configuration to the
separate agents of its attempts. There it is in a file next to the trajectory (one folder up for an attempt's own file),
as JSON in a YAML scalar. Attempts cycle through the configured agents. A single quoted scalar is the only YAML
supported, so that no YAML package is required.

Source: SWE-agent/SWE-agent@3ea751c0 `sweagent/agent/agents.py` (`RetryAgent`), `sweagent/run/run_single.py` and
`run_batch.py`; PyYAML's `emitter.py` for quoting and folding of scalars.
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
"""Folder name of an attempt's own trajectory."""


def attempt_of_folder(folder: Path) -> int | None:
    """Return the 0-based attempt number of a folder; None for other folders."""
    found = ATTEMPT.fullmatch(folder.name)
    return int(found[1]) if found else None


def models_in(configuration: Any) -> tuple[str, ...]:
    """Return the models of a configuration (an object or JSON text), one per configured agent."""
    value = json_in(configuration) if isinstance(configuration, str) else configuration
    agent = mapping(mapping(value).get("agent"))
    names = tuple(_name(one) for one in objects(agent.get("agent_configs")) or [dict(agent)])
    return names if any(names) else ()


def _name(agent: Any) -> str:
    return clean_string(mapping(mapping(agent).get("model")).get("name"))


def model_of_attempt(models: tuple[str, ...], attempt: int) -> str:
    """Return the model of a 0-based attempt; empty if unknown."""
    return models[attempt % len(models)] if models else ""


def configuration_files(path: Path) -> tuple[SidecarFile, ...]:
    """Return possible configuration files of a trajectory, most likely first; their values are the models."""
    file = Locator.of(path).file
    folder = file.absolute().parent
    folders = [folder] if attempt_of_folder(folder) is None else [folder, folder.parent]
    names = (f"{file.stem}.config.yaml", "config.yaml")
    return tuple(SidecarFile(place / name, models_in, text_of_scalar) for place in folders for name in names)


def text_of_scalar(data: bytes) -> str | None:
    """Return the text of a YAML document with a single quoted scalar; None for other documents."""
    text = data.decode(errors="replace").strip()
    quote = text[:1]
    if len(text) < len("''") or quote not in ("'", '"') or text[-1] != quote:
        return None
    inner = text[1:-1]
    if quote == "'":
        return _FOLDED.sub(" ", inner).replace("''", "'")
    return _ESCAPED.sub(_unescaped, inner)


_FOLDED = re.compile(r"[ \t]*\r?\n[ \t]*")
"""A line break in a quoted scalar is a space; JSON text contains no others."""

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
