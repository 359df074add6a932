"""OpenCode's sessions while another process writes them, and with unexpected content."""

import copy
import json
import random
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.session.follow import Follower
from inspector.session.formats import opencode
from inspector.session.open import open_session
from tests.examples import examples
from tests.session.following import assert_same_objects
from tests.session.mutations import ODD, changed, places
from tests.session.opencode_store import SCHEMA, Store, tokens
from tests.session.other_process import quiet_moments, sql
from tests.session.soundness import assert_reads, assert_sound

WRITER = """
import json, os, random, sys, time
chance = random.Random(7)
for line in sys.stdin:
    for name, text in json.loads(line):
        path = os.path.join(sys.argv[1], name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb", buffering=0) as file:
            data = text.encode()
            cut = chance.randrange(len(data) + 1)
            file.write(data[:cut])
            time.sleep(chance.choice([0, 0, 0.001, 0.004]))
            file.write(data[cut:])
    print("quiet", flush=True)
"""


DELETED = {"msg": "DELETE FROM message WHERE id = ?", "prt": "DELETE FROM part WHERE id = ?"}


def states(chance: random.Random, count: int) -> list[Store]:
    store = Store()
    store.prompt("go")
    found = []
    for number in range(count):
        _step(store, number, chance)
        store.clock += 10
        found.append(copy.deepcopy(store))
    return found


def _step(store: Store, number: int, chance: random.Random) -> None:
    last = store.messages[-1]
    parts = [part for message in store.messages for part in message["parts"]]
    tools = [part for part in parts if part["type"] == "tool"]
    running = [part for part in tools if part["state"]["status"] == "running"]
    match chance.randrange(9):
        case 0:
            store.prompt(f"prompt {number}")
        case 1:
            store.answer()
            store.part("step-start")
            store.part("text", text="")
        case 2 if last["info"]["role"] == "assistant":
            store.tool(f"c{number}", status="running")
        case 3 if running:
            running[0]["state"] |= {
                "status": chance.choice(["completed", "error"]),
                "error": "no",
                "output": f"o{number}",
            }
        case 4 if tools:
            chance.choice(tools)["state"]["time"]["compacted"] = store.clock
        case 5:
            asked = store.message("user")
            store.part(
                "compaction", auto=True, **chance.choice([{}, {"tail_start_id": store.messages[0]["info"]["id"]}])
            )
            store.response(text=f"summary {number}", summary=True, parentID=asked)
        case 6:
            store.revert = None if store.revert else {"messageID": chance.choice(store.messages)["info"]["id"]}
        case 7 if len(store.messages) > 3 and chance.random() < 0.5:
            del store.messages[chance.randrange(1, len(store.messages))]
        case _:
            texts = [part for part in last["parts"] if part["type"] == "text"]
            if texts:
                texts[-1]["text"] += f" and {number}"
            else:
                store.response(f"c{number}", text=f"text {number}", usage=tokens(number, 1))


def statements(store: Store, before: Store | None = None) -> list[tuple[str, tuple[Any, ...]]]:
    rows, old = store.rows(), before.rows() if before is not None else []
    known = {(statement, values[0]): values[-1] for statement, values in old[1:]}
    new = [row for row in rows[1:] if known.get((row[0], row[1][0])) != row[1][-1]]
    left = {values[0] for _, values in rows[1:]}
    gone = [values[0] for _, values in old[1:] if values[0] not in left]
    deletions = [(DELETED[identifier[:3]], (identifier,)) for identifier in gone]
    return [rows[0], *new, *deletions]


@pytest.mark.parametrize("seed", [1, 2])
def test_a_database_written_by_another_process_is_followed(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311  # nothing secret
    path = tmp_path / "opencode.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(SCHEMA)
    found = states(chance, 60)
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement, values in statements(found[0]):
            connection.execute(statement, values)
    steps = []
    for before, store in pairwise(found):
        if chance.random() < 0.2:
            steps.append(sql(*statements(found[-1], before)[:9], end="ROLLBACK"))
        steps.append(sql(*statements(store, before)))
        if chance.random() < 0.1:
            steps.append({"do": "checkpoint"})
    notices: list[str] = []
    follower = Follower(path, on_notice=notices.append)
    for _ in quiet_moments(path, steps, follower.poll, seed):
        earlier = follower.session.messages
        follower.poll()
        session = follower.session
        assert session == open_session(path)
        assert follower.state == "live"
        assert_same_objects(session.messages, earlier)
    assert all("no longer in opencode.db" in notice for notice in notices), "messages were taken away"
    assert_sound(follower.session)
    assert len(follower.session.messages) > 10


def test_a_tree_written_by_another_process_is_followed(tmp_path: Path) -> None:
    storage = tmp_path / "storage"
    found = states(random.Random(11), 60)  # noqa: S311  # nothing secret
    path = found[0].tree(storage)
    follower = Follower(path)
    written = {name: json.dumps(value) for name, value in found[0].files()}
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(storage)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        for store in found[1:]:
            files = {name: json.dumps(value) for name, value in store.files()}
            new = [(name, text) for name, text in files.items() if written.get(name) != text]
            for name in written.keys() - files.keys():
                (storage / name).unlink()
            written = files
            process.stdin.write(json.dumps(new) + "\n")
            process.stdin.flush()
            _poll_until_quiet(process, follower.poll)
            follower.poll()
            assert follower.session == open_session(path)
        process.stdin.close()
        assert process.wait(60) == 0
    assert_sound(follower.session)


def test_a_tree_that_goes_and_comes_back_is_followed_on_and_keeps_its_view_while_parts_are_broken(
    tmp_path: Path,
) -> None:
    storage = tmp_path / "storage"
    store = Store()
    store.prompt("go")
    for number in range(4):
        store.response(f"c{number}", text=f"text {number}")
    notices: list[str] = []
    follower = Follower(store.tree(storage), on_notice=notices.append)
    before = follower.session
    part = max((storage / "part").rglob("*.json"))
    whole = part.read_bytes()
    part.write_bytes(whole[:20])
    follower.poll()
    assert follower.session.messages == before.messages
    part.write_bytes(whole)
    storage.rename(tmp_path / "away")
    for _ in range(2):
        follower.poll()
    assert (follower.state, follower.session.messages) == ("vanished", before.messages)
    store.response("c9", text="more")
    store.tree(storage)
    for _ in range(3):
        follower.poll()
    assert follower.state == "live"
    assert follower.session == open_session(follower.path)
    assert len(follower.session.calls) == len(before.calls) + 1
    assert ["no longer exists" in notice for notice in notices] == [True, False]


def _poll_until_quiet(process: subprocess.Popen[str], poll: Callable[[], object]) -> None:
    assert process.stdout is not None
    said: list[str] = []
    listener = threading.Thread(target=lambda: said.append(process.stdout.readline() if process.stdout else ""))
    listener.start()
    while listener.is_alive():
        poll()
        listener.join(0.0005)
    assert said == ["quiet\n"]


@pytest.fixture(scope="module")
def real(corpus: Path) -> dict[str, Any]:
    """A real session, cut to its smaller messages."""
    document = json.loads((corpus / "opencode" / "ses_277daa810ffePOBsdfS6gm8uA2.json").read_bytes())
    small = [message for message in document["messages"] if len(json.dumps(message)) < 6_000]
    asked = [
        message for message in document["messages"] if any(part["type"] == "compaction" for part in message["parts"])
    ]
    for message in document["messages"]:
        message["info"].pop("summary", None) if message["info"]["role"] == "user" else None
    return {"info": document["info"], "messages": [*small[:3], *asked, *small[8:10]]}


def mutated_document(data: st.DataObject, document: Any) -> Any:
    value = copy.deepcopy(document)
    for _ in range(data.draw(st.integers(1, 6))):
        found = places(value)
        how = data.draw(st.sampled_from(["replace", "remove", "rename"]))
        name = data.draw(st.sampled_from(["type", "id", "info", "parts", "state", "role", "unknown"]))
        value = changed(
            value, data.draw(st.sampled_from(found)), how, copy.deepcopy(data.draw(st.sampled_from(ODD))), name
        )
        if not isinstance(value, dict) or not places(value):
            break
    return value


@settings(max_examples=examples(100), deadline=None)
@given(data=st.data())
def test_whatever_an_export_holds_it_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, real: dict[str, Any], data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "session.json"
    content = json.dumps(mutated_document(data, real)).encode()
    if data.draw(st.integers(0, 5)) == 0:
        cut = data.draw(st.integers(0, len(content)))
        content = (
            content[:cut] + data.draw(st.sampled_from([b"\xff", b"\\ud800", b'"', b"}", b""])) + content[cut + 1 :]
        )
    path.write_bytes(content)
    try:
        reader = opencode.OpenCodeFormat().reader(path)
    except Exception as error:  # noqa: BLE001  # any error without an explanation is a bug
        assert type(error).__name__ == "SessionError"  # noqa: PT017
        return
    for _ in reader.load():
        pass
    assert_sound(reader.snapshot())


@settings(max_examples=examples(40), deadline=None)
@given(data=st.data())
def test_whatever_the_rows_hold_they_are_read(
    tmp_path_factory: pytest.TempPathFactory, real: dict[str, Any], data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "opencode.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.executescript(SCHEMA)
        identifier = real["info"]["id"]
        connection.execute(
            "INSERT INTO session (id, project_id, slug, directory, title, version, revert, time_created, time_updated)"
            " VALUES (?, '', '', '/', '', '', ?, 0, 0)",
            (identifier, data.draw(st.sampled_from([None, "{", "[1]", '{"messageID": 5}', '{"messageID": "msg"}']))),
        )
        rows = [(message, part) for message in real["messages"] for part in (None, *message["parts"])]
        odd = data.draw(st.sets(st.integers(0, len(rows) - 1), max_size=4))
        for number, (message, part) in enumerate(rows):
            info = message["info"]
            stored: Any = json.dumps(info if part is None else part)
            created = info["time"]["created"]
            if number in odd:
                created = data.draw(st.sampled_from([created, "yesterday", -1, 1e300]))
                stored = data.draw(st.sampled_from(["changed", b"\xff\x00", "", "null", 7]))
                if stored == "changed":
                    stored = json.dumps(mutated_document(data, info if part is None else part))
            if part is None:
                values = (info["id"], identifier, created, 0, stored)
                connection.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", values)
            else:
                place = (part["id"], info["id"], identifier, created, 0)
                connection.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", (*place, stored))
    assert_reads(opencode.OpenCodeFormat(), path)
