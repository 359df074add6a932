"""An agent that writes its session in another process, at its own pace.

The program receives steps and performs some of them at a time, with pauses between and inside them. It then reports
completion and waits for the next request.
"""

import base64
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

PROGRAM = r"""
import base64, json, os, random, sqlite3, sys, time

chance = random.Random(int(sys.argv[2]))
database = None

def pause():
    time.sleep(chance.choice([0, 0, 0.0005, 0.002, 0.006]))

def write(path, data, mode):
    with open(path, mode, buffering=0) as file:
        cuts = sorted(chance.randrange(len(data) + 1) for _ in range(chance.randrange(3)))
        for start, end in zip([0, *cuts], [*cuts, len(data)]):
            file.write(data[start:end])
            pause()

for line in sys.stdin:
    for step in json.loads(line):
        name, path = step["do"], sys.argv[1]
        data = base64.b64decode(step.get("data", ""))
        if name == "append":
            write(path, data, "ab")
        elif name == "rewrite":
            write(path, data, "wb")
        elif name == "replace":
            write(path + ".new", data, "wb")
            os.replace(path + ".new", path)
        elif name == "sql":
            if database is None:
                database = sqlite3.connect(path, isolation_level=None, timeout=60)
                database.execute("PRAGMA journal_mode = WAL")
            database.execute("BEGIN IMMEDIATE")
            for statement, values in step["statements"]:
                database.execute(statement, values)
                pause()
            database.execute(step.get("end", "COMMIT"))
        elif name == "file":
            write(os.path.join(path, step["name"]), data, "wb")
        elif name == "checkpoint":
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        pause()
    print("quiet", flush=True)
"""


def append(data: bytes) -> dict[str, Any]:
    return {"do": "append", "data": base64.b64encode(data).decode()}


def rewrite(data: bytes) -> dict[str, Any]:
    return {"do": "rewrite", "data": base64.b64encode(data).decode()}


def replace(data: bytes) -> dict[str, Any]:
    return {"do": "replace", "data": base64.b64encode(data).decode()}


def new_file(name: str, data: bytes) -> dict[str, Any]:
    return {"do": "file", "name": name, "data": base64.b64encode(data).decode()}


def sql(*statements: tuple[str, Sequence[Any]], end: str = "COMMIT") -> dict[str, Any]:
    return {"do": "sql", "statements": statements, "end": end}


def quiet_moments(
    path: Path, steps: Sequence[dict[str, Any]], poll: Callable[[], object], seed: int = 0, most: int = 4
) -> Iterator[int]:
    chance = random.Random(seed)  # noqa: S311  # nothing secret
    program = [sys.executable, "-S", "-c", PROGRAM, os.fspath(path), str(seed)]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        done = 0
        while done < len(steps):
            count = chance.randint(1, most)
            process.stdin.write(json.dumps(steps[done : done + count]) + "\n")
            process.stdin.flush()
            said: list[str] = []
            listener = threading.Thread(target=lambda heard=said: heard.append(process.stdout.readline()))
            listener.start()
            while listener.is_alive():
                poll()
                time.sleep(0.0005)
            listener.join()
            assert said == ["quiet\n"]
            done = min(done + count, len(steps))
            yield done
        process.stdin.close()
        assert process.wait(60) == 0
