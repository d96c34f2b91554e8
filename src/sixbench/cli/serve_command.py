"""`sixbench serve`, the other end of `sixbench measure`, and `sixbench key`."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import typer

from .common import note

KEY_BYTES = 32
"""Of a pre-shared key of the Noise Protocol Framework (revision 34, section 9)."""


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command("serve")(serve)
    app.command("key")(key)


def serve(
    port: int = typer.Option(5210, "-p", "--port", min=0, max=65535, help="Control port; 0: any that is free."),
    bind: str | None = typer.Option(
        None, "-B", "--bind", metavar="ADDR", help="Listen there; several with commas; default: loopback only."
    ),
    key: Path | None = typer.Option(
        None, "--key", metavar="FILE", help="The key that clients must have; beyond loopback there must be one."
    ),
    max_clients: int | None = typer.Option(None, "--max-clients", metavar="N", help="Clients at a time; default 8."),
    max_rate: str | None = typer.Option(None, "--max-rate", metavar="RATE", help="Of a UDP flow; default 1G."),
    max_duration: str | None = typer.Option(None, "--max-duration", metavar="S", help="Of a trial; default 120 s."),
    one_off: bool = typer.Option(False, "-1", "--one-off", help="End when the first client has gone."),
) -> None:
    """Serve sixbench measure on another machine, until Ctrl-C."""
    from ..agent import find_agent
    from ..model.errors import CapabilityError
    from ..plan.letters import read_rate, read_seconds

    agent = find_agent()
    words = [str(agent), "serve", "--port", str(port)]
    if bind is not None:
        words += ["--listen", bind]
    if key is not None:
        words += ["--key", str(key)]
    if max_clients is not None:
        words += ["--max-clients", str(max_clients)]
    if max_rate is not None:
        words += ["--max-rate", str(read_rate("--max-rate", max_rate))]
    if max_duration is not None:
        words += ["--max-duration", str(read_seconds("--max-duration", max_duration))]
    if one_off:
        words.append("--one-off")
    try:
        os.execv(agent, words)
    except OSError as error:
        raise CapabilityError(f"starting {agent}: {error.strerror}") from error


def key(file: Path = typer.Argument(help="A file that does not exist yet.")) -> None:
    """Make a key for sixbench serve and measure; copy the file to the other machine by a safe way."""
    from ..model.errors import UsageError, WriteError

    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError as error:
        raise UsageError(f"{file} exists, and no key is ever overwritten; name another file") from error
    except OSError as error:
        raise WriteError(f"making the key {file}: {error.strerror}") from error
    with open(descriptor, "w", encoding="ascii") as opened:
        opened.write(secrets.token_hex(KEY_BYTES) + "\n")
    note(f"written: {file}")
