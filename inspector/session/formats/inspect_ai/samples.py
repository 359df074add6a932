"""Naming the samples of a log, and choosing one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.decoding import lenient_json
from inspector.session.errors import SessionError
from inspector.session.formats.inspect_ai.archive import Archive
from inspector.session.nodes import FileNode
from inspector.session.opening import open_for_reading
from inspector.session.values import mapping, objects, string

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from inspector.session.nodes import Node

SUMMARIES = "summaries.json"

TITLE_CHARACTERS = 200


def name_of_sample(value: Mapping[str, Any]) -> str:
    """What a sample is called, as archives name its file."""
    return f"{value.get('id')}_epoch_{value.get('epoch', 1)}".replace("/", "_")


def title_of(task: str, value: Mapping[str, Any]) -> str:
    """A sample's title: what was evaluated, and which sample of it."""
    epoch = value.get("epoch", 1)
    which = f"sample {value.get('id')}" + (f", epoch {epoch}" if epoch != 1 else "")
    return f"{task}: {which}" if task else which


def chosen(names: Iterable[str], wanted: str, path: Path) -> str:
    """The name of the sample to read: the one named, else the last one.

    Raises:
        SessionError: There is no such sample, or none at all.
    """
    listed = list(names)
    if not listed:
        raise SessionError(f"{path}: the log has no samples yet.")
    if not wanted:
        return listed[-1]
    if wanted in listed:
        return wanted
    near = [name for name in listed if name.startswith(f"{wanted}_epoch_")]
    if near:
        return near[0]
    raise SessionError(f"{path}: no sample {wanted}. Give the path of the log alone to open its last sample.")


def nodes_of_samples(log: Node) -> dict[str, Node]:
    """The samples of a JSON log by name."""
    fields = log.fields()
    found: dict[str, Node] = {}
    for item in fields["samples"].items() if "samples" in fields else ():
        about = item.fields()
        value: dict[str, Any] = {name: about[name].value() for name in ("id", "epoch") if name in about}
        found[name_of_sample(value)] = item
    return found


def titles_of_samples(path: Path, *, is_archive: bool) -> list[tuple[str, str]]:
    """Name and title of every sample of a log, in order.

    Raises:
        SessionError: It cannot be read.
    """
    if not is_archive:
        with open_for_reading(path) as file:
            node = FileNode(file.read(), 0)
        return [(name, _title(one.fields())) for name, one in nodes_of_samples(node).items()]
    archive = Archive.at(path)
    titles: dict[str, str] = {}
    if SUMMARIES in archive.files:
        for summary in objects(lenient_json(archive.read(SUMMARIES))[0]):
            titles[name_of_sample(summary)] = first_words(summary.get("input"))
    return [(name, titles.get(name, "")) for name in archive.samples]


def _title(fields: Mapping[str, Node]) -> str:
    return first_words(fields["input"].value()) if "input" in fields else ""


def first_words(asked: Any) -> str:
    """The beginning of what was asked, which may be a list of messages."""
    if isinstance(asked, str):
        return asked[:TITLE_CHARACTERS]
    content = mapping(next(reversed(objects(asked)), {})).get("content")
    parts = [string(part.get("text")) for part in objects(content)]
    return (string(content) or " ".join(parts))[:TITLE_CHARACTERS]


def header_of(archive: Archive) -> Mapping[str, Any]:
    """What an archive says of the evaluation; empty where that cannot be read."""
    for name in archive.headers:
        try:
            return mapping(lenient_json(archive.read(name))[0])
        except SessionError:
            continue
    return {}
