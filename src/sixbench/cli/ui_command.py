"""`sixbench ui`."""

from __future__ import annotations

import contextlib
import os
import socket
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..model.exit_codes import Exit
from . import completions
from .common import note

if TYPE_CHECKING:
    from ..ui.site import Site
    from ..ui.tls import Identity

PORT = 8066


def ui(
    directory: Path = typer.Argument(
        Path("runs"),
        metavar="[DIR]",
        help="A directory that holds run directories; new runs are made there.",
        autocompletion=completions.directories,
    ),
    port: int = typer.Option(PORT, "--port", "-p", metavar="PORT", min=0, max=65535, help="The port; 0: any free one."),
    bind: str = typer.Option(
        "127.0.0.1", "--bind", "-B", metavar="ADDR", help="The address to listen on; beyond loopback over TLS only."
    ),
    tls: bool = typer.Option(
        False, "--tls", help="Serve over TLS, with a certificate that signs itself; its fingerprint is printed."
    ),
    certificate: Path | None = typer.Option(
        None, "--certificate", metavar="FILE", help="Serve over TLS with this certificate (PEM)."
    ),
    key: Path | None = typer.Option(
        None, "--key", metavar="FILE", help="The certificate's private key (PEM), if it is in another file."
    ),
    name: str | None = typer.Option(
        None, "--name", metavar="HOST", help="The name or address by which browsers ask; default: the certificate's."
    ),
) -> int:
    """Show runs in a browser, live and when they are done.

    It prints an address, which has a token: whoever has it can start experiments. Runs that it started go on when it
    ends. Started as root, its web server gives up root's rights, and a process beside it starts the runs.
    """
    from ..model.errors import CapabilityError

    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if (tls or certificate is not None) and find_spec("cryptography") is None:
        missing.append("cryptography")
    if missing:
        raise CapabilityError(
            f"the page needs {' and '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed; "
            "install with: pip install 'sixbench[ui]'"
        )
    from ..ui.listening import identity_for, listen, site_of

    names, identity = identity_for(bind, name, is_own=tls, certificate=certificate, key=key)
    with listen(bind, port) as listening:
        site = site_of(listening, names, is_tls=identity is not None)
        for_runner, for_server = socket.socketpair()
        server = os.fork()
        if server == 0:
            for_runner.close()
            return _serve(directory, listening, site, identity, for_server)
        for_server.close()
    return _run(directory, for_runner, server)


def _run(directory: Path, asked: socket.socket, server: int) -> int:
    """Runs what the server asks for until that ends, or somebody interrupts this; then that ends, too."""
    from ..model.errors import CapabilityError
    from ..ui.runner import run_for

    try:
        with contextlib.suppress(KeyboardInterrupt), asked:
            run_for(asked, directory)
    finally:
        _, status = os.waitpid(server, 0)
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        raise CapabilityError(f"the page's server was killed by signal {-code}; runs go on without it")
    return code


def _serve(
    directory: Path, listening: socket.socket, site: Site, identity: Identity | None, runner: socket.socket
) -> int:
    """Serves the page without root's rights, and gives way to what measures."""
    from ..agent import held_agent
    from ..ui.priority import give_way
    from ..ui.rights import give_up_root
    from ..ui.server import serve

    give_way()
    agent = held_agent()  # the user that this process becomes may not be able to read it
    remark = give_up_root(directory)

    def print_address(address: str) -> None:
        note(f"sixbench: open {address}")
        if identity is not None and identity.fingerprint is not None:
            note(
                "sixbench: the certificate signs itself; go on only if the browser shows its SHA-256 fingerprint as "
                f"{identity.fingerprint}"
            )
        if remark is not None:
            note(f"sixbench: {remark}")

    with contextlib.suppress(KeyboardInterrupt):
        serve(directory, listening, site, None if identity is None else identity.context, runner, agent, print_address)
    return Exit.DONE
