"""`inspector serve`: the screen in a browser on this machine."""

from __future__ import annotations

import ipaddress
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from contextlib import redirect_stdout
from pathlib import Path

from inspector.cli.output import CommandError, ExitCode, narrate, write
from inspector.cli.reading import resolve_targets

LOOPBACK = "127.0.0.1"
MOST_PORTS = 65_535

USUAL_SCREENS = 8
MOST_SCREENS = 1_000


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="session files, or a directory to choose from; default: choose from this machine's agents",
    )
    parser.add_argument("--port", metavar="N", type=_port, default=0, help="port to listen on; default: any free port")
    parser.add_argument(
        "--host",
        metavar="ADDRESS",
        default=LOOPBACK,
        help=f"address to listen on; default: {LOOPBACK}; connections from other machines are not encrypted",
    )
    parser.add_argument(
        "--screens",
        metavar="N",
        type=_screens,
        default=USUAL_SCREENS,
        help="maximum number of open screens, each in its own process; default: %(default)s",
    )


def run(options: Namespace) -> int:
    try:
        from inspector.cli.serve.server import ScreenServer, listening_socket
    except ImportError:
        message = (
            "serving needs an optional part of the program; install it with: pip install 'session-inspector[serve]'"
        )
        raise CommandError(message) from None

    if _is_every_address(options.host):
        message = f"{options.host} is not an address a browser can open; use one that reaches this machine"
        raise CommandError(message, ExitCode.WRONG_USAGE)
    resolve_targets([Path(path) for path in options.paths])  # report read errors before a browser connects
    try:
        listening = listening_socket(options.host, options.port)
    except OSError as error:
        raise CommandError(
            f"{options.host} port {options.port}: {error.strerror or error}; choose another --port"
        ) from None
    if not _is_loopback(options.host):
        narrate(f"{options.host} is not a loopback address: anyone who can see the traffic can see the sessions")
    server = ScreenServer(options.paths, options.host, listening, options.screens)
    write(f"{server.address}\n")
    narrate("open this address; it works once. Ctrl-C stops the server and all its screens")
    with redirect_stdout(sys.stderr):  # output of a failed screen
        server.run()
    return ExitCode.FINE


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_every_address(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return not host


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > MOST_PORTS:
        raise ArgumentTypeError(f"{text!r} is not a port; use 0 (any) to {MOST_PORTS}")
    return int(text)


def _screens(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_SCREENS:
        raise ArgumentTypeError(f"{text!r} is not a number of screens; use 1 to {MOST_SCREENS:,}")
    return int(text)
