"""`sixbench serve`, the other end of `sixbench measure`, and `sixbench key`."""

from __future__ import annotations

import json
import os
import secrets
import signal
import sys
from pathlib import Path

import typer

from .common import note, option_words, say

KEY_BYTES = 32
"""Length of a pre-shared key of the Noise Protocol Framework (revision 34, section 9)."""


def serve(
    port: int = typer.Option(5210, "-p", "--port", min=0, max=65535, help="Control port; 0 takes any that is free."),
    bind: str | None = typer.Option(
        None,
        "-B",
        "--bind",
        metavar="ADDR",
        help="Where to listen; separate several by commas. Default: loopback only.",
    ),
    key: Path | None = typer.Option(
        None, "--key", metavar="FILE", help="The key that clients must have. Beyond loopback a key is required."
    ),
    max_clients: int | None = typer.Option(
        None, "--max-clients", metavar="N", help="Number of clients at a time; default 8."
    ),
    max_client_flows: int | None = typer.Option(
        None,
        "--max-client-flows",
        metavar="N",
        min=1,
        max=65536,
        help="Number of flows of one client at a time: streams in each direction, connections in flight; default 256.",
    ),
    max_flows: int | None = typer.Option(
        None,
        "--max-flows",
        metavar="N",
        min=1,
        max=65536,
        help="Number of flows of all clients at a time; default 1024.",
    ),
    max_rate: str | None = typer.Option(
        None, "--max-rate", metavar="RATE", help="Highest rate of a UDP flow; default 1G."
    ),
    max_duration: str | None = typer.Option(None, "--max-duration", metavar="S", help="Longest trial; default 120 s."),
    one_off: bool = typer.Option(False, "-1", "--one-off", help="End when the first client has gone."),
    as_json: bool = typer.Option(
        False,
        "--json",
        help="Print the addresses as one line of JSON. This is the default where the output is not a terminal.",
    ),
) -> None:
    """Answer `sixbench measure` on another machine, until Ctrl-C.

    The agent takes the place of this process, so that signals reach it and its exit code is the command's.
    """
    from ..agent import find_agent
    from ..model.addresses import read_address
    from ..model.errors import CapabilityError
    from ..plan.measure_options import read_rate, read_seconds

    for address in () if bind is None else bind.split(","):
        read_address(address, "--bind")
    agent = find_agent()
    given = {
        "--port": port,
        "--listen": None if bind is None else ",".join(map(_without_mapping, bind.split(","))),
        "--key": key,
        "--max-clients": max_clients,
        "--max-client-flows": max_client_flows,
        "--max-flows": max_flows,
        "--max-rate": None if max_rate is None else read_rate("--max-rate", max_rate),
        "--max-duration": None if max_duration is None else read_seconds("--max-duration", max_duration),
    }
    words = [str(agent), "serve", *option_words(given), *(["--one-off"] if one_off else [])]
    if not as_json and sys.stdout.isatty():
        _read_out_loud()
    try:
        os.execv(agent, words)
    except OSError as error:
        raise CapabilityError(f"starting {agent}: {error.strerror}") from error


def _without_mapping(text: str) -> str:
    """An address to listen on. An IPv4-mapped one is the IPv4 address that it stands for; the agent judges others."""
    from ipaddress import ip_address

    from ..plan.measure_options import without_mapping

    try:
        return str(without_mapping(ip_address(text.strip())))
    except ValueError:
        return text


def listening_words(line: str) -> str:
    """The agent's line of JSON, in words; any other line as it is."""
    try:
        report = json.loads(line)
        places = [(str(place["address"]), int(place["port"])) for place in report["listening"]]
        with_key = bool(report["key"])
    except (ValueError, KeyError, TypeError):
        return line
    where = ", ".join(f"[{address}]:{port}" if ":" in address else f"{address}:{port}" for address, port in places)
    return f"Listening on {where} ({'with' if with_key else 'without'} a key), stop with Ctrl-C\n"


def _read_out_loud() -> None:
    """Puts a process between the agent's output and the terminal, which tells the agent's JSON in words.

    It ends with the agent: a signal that the terminal sends to both of them must not take it away first.
    """
    sys.stdout.flush()
    reading, writing = os.pipe()
    if os.fork() != 0:
        os.dup2(writing, sys.stdout.fileno())
        os.close(reading)
        os.close(writing)
        return
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.close(writing)
        with open(reading, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                say(listening_words(line).removesuffix("\n"))
    finally:
        os._exit(0)


def key(file: Path = typer.Argument(help="A file that does not exist yet.")) -> None:
    """Make a key for `serve` and `measure`.

    Copy the file to the other machine in a safe way, such as scp.
    """
    from ..model.errors import UsageError
    from ..store import create_file

    try:
        create_file(file, secrets.token_hex(KEY_BYTES) + "\n", 0o600)
    except FileExistsError as error:
        raise UsageError(f"{file} exists, and no key is ever overwritten; name another file") from error
    note(f"written: {file}")
