"""Contenders whose two programs are ends of a trial: the agents start both, with certificates that are made for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sixbench.model.programs import CLIENT, SERVER, client_end, server_end
from sixbench.model.programs.end import ProgramEnd

from ..comparisons import OF_APPLICATIONS
from ..contender import Contender, Ends, ToolReport, Trial, Unreadable

Reader = Callable[[str], ToolReport]
"""The client's output to what it says. Raises `Unreadable`."""
CHAIN_BYTES = 1536
"""Length of the server's certificates: that of our workloads."""


def read_client(client: dict[str, Any], _: dict[str, Any], *, read: Reader) -> ToolReport:
    """Figures in the client's output. Raises `Unreadable` where it failed, or where the output is no result."""
    program = client["program"]
    if program.get("exit", 0) != 0:
        raise Unreadable(program["ended"])
    return read(program["output"])


def reads_nothing(_: str) -> ToolReport:
    """No figures, of a program that prints nothing."""
    return {}


def of_recipes(comparison: str, name: str, *, server: str, client: str, read: Reader) -> Contender:
    """A contender of two programs that sixbench knows, with the workload and the parameters of ours."""
    workload, params = OF_APPLICATIONS[comparison]

    def traffic(_: Ends, seconds: int) -> Trial:
        timed = {**params, "duration_ns": seconds * 10**9}
        return Trial(
            workload=workload,
            params=timed,
            read=partial(read_client, read=read),
            server=server_end(workload, {**timed, SERVER.column: server}),
            client=client_end(workload, {**timed, CLIENT.column: client}),
        )

    return Contender(comparison=comparison, name=name, traffic=traffic)


def of_commands(
    comparison: str, name: str, *, server: ProgramEnd, client: Callable[[int], ProgramEnd], read: Reader
) -> Contender:
    """A contender of two other programs. The client's depends on the length in seconds."""
    workload, params = OF_APPLICATIONS[comparison]

    def traffic(_: Ends, seconds: int) -> Trial:
        return Trial(
            workload=workload,
            params={**params, "duration_ns": seconds * 10**9},
            read=partial(read_client, read=read),
            server=server,
            client=client(seconds),
        )

    return Contender(comparison=comparison, name=name, traffic=traffic)
