"""Forks of a process that has imported the program: real processes with real streams, without the time of imports.

`python -m tests.forked_program` forks once for every line of JSON on standard input, and answers with the exit code.
"""

import atexit
import gc
import json
import os
import pkgutil
import runpy
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from io import BufferedReader
from pathlib import Path
from tempfile import TemporaryDirectory

STREAMS = (("in", os.O_RDONLY), ("out", os.O_WRONLY | os.O_CREAT), ("err", os.O_WRONLY | os.O_CREAT))
LEFT_OUT = ("inspector.ui", "inspector.adapters", "inspector.cli.mcp", "inspector.__main__")
"""Not needed by commands, or only with a library that takes longer to import than everything else."""
READ_FIRST = ("genai_prices.data_snapshot", "rich.live")
"""Libraries that most commands import late."""

one_at_a_time = threading.Lock()


def run_forked(
    words: Sequence[str], env: Mapping[str, str], cwd: str, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Run `inspector` in a fork, in this environment and folder."""
    with one_at_a_time, TemporaryDirectory() as name:
        folder, server = Path(name), _server(env["PYTHONPATH"])
        assert server.stdin is not None
        assert server.stdout is not None
        (folder / "in").write_bytes(stdin)
        try:
            asked = {"words": list(words), "env": dict(env), "cwd": cwd, "streams": name}
            server.stdin.write(json.dumps(asked).encode() + b"\n")
            server.stdin.flush()
            code = int(server.stdout.readline())
        except BaseException:  # a time limit, or ctrl-c
            _server.cache_clear()
            server.kill()
            raise
        out, err = ((folder / stream).read_bytes() for stream, _ in STREAMS[1:])
        return subprocess.CompletedProcess(list(words), code, out, err)


@cache
def _server(path: str) -> subprocess.Popen[bytes]:
    server = subprocess.Popen(
        [sys.executable, "-m", __name__],
        env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    atexit.register(server.communicate)
    return server


def serve(requests: BufferedReader, answers: int) -> None:
    """Fork for every request; return in no child."""
    for line in requests:
        process = os.fork()
        if process == 0:
            requests.close()
            os.close(answers)
            _run(json.loads(line))
        os.write(answers, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))


def _run(asked: dict[str, str]) -> None:
    """Become `python -m inspector`, with the streams, folder and environment of the request."""
    for number, (name, flags) in enumerate(STREAMS):
        file = os.open(os.path.join(asked["streams"], name), flags)  # noqa: PTH118  as light as can be
        os.dup2(file, number)
        os.close(file)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    time.tzset()
    sys.argv = ["inspector", *asked["words"]]
    try:
        runpy.run_module("inspector", run_name="__main__", alter_sys=True)
    except SystemExit as ending:
        # As Python ends, without freeing every object: that would copy the memory of the process it was forked from.
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(ending.code if isinstance(ending.code, int) else 0 if ending.code is None else 1)


if __name__ == "__main__":
    import inspector
    from inspector.tokens import counter

    for module in pkgutil.walk_packages(inspector.__path__, "inspector."):
        if not module.name.startswith(LEFT_OUT):
            import_module(module.name)
    for late in READ_FIRST:
        import_module(late)
    counter.shared_counter().prepare()
    gc.collect()
    gc.freeze()
    serve(os.fdopen(os.dup(0), "rb"), os.dup(1))
