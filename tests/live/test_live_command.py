"""`inspector live` without a screen: alerts for a service, and one snapshot."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from tests.live.made import call_lines, write_session
from tests.program import COMMAND, environment, run_program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def session(private_home: Path) -> Path:
    return write_session(private_home, "/srv/api")


@pytest.fixture
def service(session: Path, private_home: Path) -> Iterator[subprocess.Popen[str]]:
    """`inspector live --alerts` as a service starts it: no terminal, lines in a pipe."""
    target = private_home / "delivered"
    config = private_home / "xdg_config_home" / "inspector" / "settings.toml"
    config.parent.mkdir(parents=True)
    script = f'printf "%s: %s\\n" "$INSPECTOR_ALERT" "$INSPECTOR_ALERT_TEXT" >> {target}'
    config.write_text(f"alert_fill = 80\nalert_command = {json.dumps(['sh', '-c', script])}\n")
    process = subprocess.Popen(
        [*COMMAND, "live", "--alerts", "--home", str(session.parent)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    yield process
    process.kill()
    process.wait()


def append(session: Path, number: int, read: int, written: int) -> None:
    lines = call_lines(number, time.time(), read, written, 500, sessionId="one", cwd="/srv/api")
    with session.open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def test_a_service_prints_and_delivers_one_alert_and_ends_on_sigterm(
    service: subprocess.Popen[str], session: Path, private_home: Path
) -> None:
    assert service.stdout is not None
    time.sleep(3)  # until it watches; a call before that would be the first state
    # 141,000 tokens with the response: 84 % of the 167,000 at which this version compacts.
    append(session, 5, 102_000, 38_500)
    line = service.stdout.readline()
    assert line.startswith("api is at 84 % of the 167k tokens at which it compacts")

    append(session, 6, 141_000, 1_500)
    time.sleep(2)
    service.send_signal(signal.SIGTERM)
    left, complaints = service.communicate(timeout=60)
    assert service.returncode == 0
    assert (left, complaints) == ("", ""), "still above the line: no second alert"
    deadline = time.monotonic() + 20
    delivered = private_home / "delivered"
    while not delivered.exists() or not delivered.read_text().endswith("\n"):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert delivered.read_text() == f"fill: {line}"


def test_one_snapshot_has_the_fields_of_status(session: Path) -> None:
    outcome = run_program("live", "--json", "--home", session.parent)
    assert (outcome.code, outcome.err) == (0, "")
    (entry,) = json.loads(outcome.out)["sessions"]
    assert (entry["project"], entry["prompt"]["value"], entry["working_directory"]) == ("api", 102_500, "/srv/api")


def test_without_a_terminal_the_sessions_are_listed(session: Path) -> None:
    outcome = run_program("live", "--home", session.parent)
    assert outcome.code == 0
    assert outcome.out.startswith("api · 61 % of 167k · ")
    assert run_program("live", "--home", session.parent / os.devnull.strip("/")).code == 2
