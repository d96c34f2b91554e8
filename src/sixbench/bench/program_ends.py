"""Programs of others that are an end of a trial: whether they did their part, and what they used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from ..model.errors import AgentError
from ..model.evidence.programs import ProgramUse
from ..model.programs.end import PROGRAM
from ..model.workload import Result

DEVICE_FAILED = "device-failed"
"""The agent's code for a program that could not be started, or ended when it should not."""


def require_alive(server: Result) -> None:
    """Raises `AgentError` where a server that is a program ended before the trial did."""
    ended = server.get(PROGRAM, {}).get("ended")
    if ended is not None:
        raise AgentError(DEVICE_FAILED, f"the server {ended}")


def require_success(client: Result) -> None:
    """Raises `AgentError` where a client that is a program failed. One that ran until its time was over did not."""
    program = client.get(PROGRAM, {})
    if program.get("ended") is not None and program.get("exit") != 0:
        raise AgentError(DEVICE_FAILED, f"the client {program['ended']}")


@contextmanager
def blaming_server(finish: Callable[[], Result]) -> Iterator[None]:
    """Where a client fails because its server, a program of others, has ended: the error says so.

    Args:
        finish: ends the server, and gives its result.
    """
    try:
        yield
    except AgentError:
        server: Result = {}
        with suppress(AgentError):
            server = finish()
        require_alive(server)
        raise


def use_of(result: Result) -> ProgramUse | None:
    """Resources that the program used; None: this end is sixbench's own."""
    program: Mapping[str, Any] | None = result.get(PROGRAM)
    if program is None:
        return None
    return ProgramUse(
        cpu_ns=program["cpu_ns"],
        peak_memory_bytes=program["peak_memory_bytes"],
        processes=program["processes"],
        listening=tuple(program["listening"]),
        ran_ns=program["ran_ns"],
        exit=program.get("exit"),
    )


def output_of(result: Result) -> bytes:
    """The output of the program, as far as it is kept."""
    program = result.get(PROGRAM)
    if program is None or not program["output"]:
        return b""
    omitted = program["omitted_bytes"]
    before = f"({omitted} bytes before this are gone)\n" if omitted else ""
    return (before + str(program["output"])).encode()
