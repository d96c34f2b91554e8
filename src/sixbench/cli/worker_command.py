"""`sixbench scheduler` and `sixbench worker`: machines that share the blocks of runs."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..model.addresses import read_address
from ..model.errors import CapabilityError, UsageError
from ..model.exit_codes import Exit
from ..model.identifiers import NAME, NAME_RULE
from .common import note
from .running import agent_hub, known_calibration, tell

if TYPE_CHECKING:
    from distributed.security import Security

KEY: Path | None = typer.Option(
    None,
    "--key",
    metavar="FILE",
    help="The key that scheduler and workers have; default: ~/.config/sixbench/workers.key.",
)


def scheduler(
    port: int = typer.Option(8786, "-p", "--port", min=0, max=65535, help="Its port; 0 takes any that is free."),
    bind: str = typer.Option("127.0.0.1", "-B", "--bind", metavar="ADDR", help="The address to listen on."),
    key: Path | None = KEY,
) -> int:
    """Hand out the blocks of runs to workers, until Ctrl-C.

    All connections are under TLS, and only those who have the key can make one. Where there is no key yet, it makes
    one: copy it to the machines of the workers. A run takes the workers with `sixbench run --workers ADDRESS`.
    """
    address = str(read_address(bind, "--bind"))
    security_of = ready_for_workers()
    from ..workers.address import Address
    from ..workers.key import make_default_key, read_key
    from ..workers.scheduler import run_scheduler

    path = make_default_key() if key is None else None
    if path is not None:
        note(f"sixbench: made the key {path}; copy it to each worker, to the same place")
    data = read_key(key)

    def ready(address: Address) -> None:
        note(f"sixbench: the scheduler listens on {address}, with a key; stop with Ctrl-C")

    try:
        run_scheduler(Address(host=address, port=port), security_of(data), ready)
    except KeyboardInterrupt:
        return Exit.DONE
    return Exit.DONE


def worker(
    scheduler: str = typer.Option(..., "--scheduler", metavar="ADDRESS", help="Where the scheduler is, as HOST:PORT."),
    name: str | None = typer.Option(
        None, "--name", metavar="NAME", help="Name of this machine in the run; default: the host's name."
    ),
    key: Path | None = KEY,
) -> int:
    """Measure the blocks that a scheduler hands out, until Ctrl-C.

    A worker measures one block at a time, and only while no other run of sixbench measures on its machine. When the
    scheduler goes, it waits until there is one again. What it is told to do it does as the user who started it: give
    the key to nobody else.
    """
    from ..lab.privileges import enter_namespace_if_needed

    security_of = ready_for_workers()
    from ..workers.address import read_address as read_scheduler
    from ..workers.joining import run_worker
    from ..workers.key import read_key
    from ..workers.measuring import BlockMeasurer

    address = read_scheduler(scheduler)
    called = name or re.sub(r"[^A-Za-z0-9._-]", "-", platform.node()).strip("-._")[:40] or "worker"
    if not NAME.fullmatch(called):
        raise UsageError(f"--name {called}: {NAME_RULE}")
    data = read_key(key)
    enter_namespace_if_needed(sys.argv[1:])
    with agent_hub() as hub:
        try:
            run_worker(address, security_of(data), called, BlockMeasurer(called, hub, known_calibration, tell), tell)
        except KeyboardInterrupt:
            return Exit.DONE
    return Exit.DONE


def ready_for_workers() -> Callable[[bytes], Security]:
    """The TLS of a key, once Dask is set up. Raises `CapabilityError` where it is not installed."""
    from ..workers.settings import set_up, why_missing

    missing = why_missing()
    if missing is not None:
        raise CapabilityError(missing)
    set_up()
    from ..workers.key import security_of

    return security_of
