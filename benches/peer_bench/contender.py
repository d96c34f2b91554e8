"""Contenders: tools with the options that they are run with, as values. Starts nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from sixbench.model.programs.end import ProgramEnd

ToolReport = dict[str, float]
"""Figures in a tool's output, by name with unit: `received_bps`, `received_pps`, `transactions_per_s`, `unsent`, ...
Those that it does not print are absent."""

Transport = Literal["tcp", "udp"]
Family = Literal[4, 6]
FAMILIES: tuple[Family, ...] = (4, 6)


class Unreadable(Exception):
    """A tool's output is not what its parser knows."""


@dataclass(frozen=True, kw_only=True)
class Ends:
    """Where the traffic goes: addresses of one family (4 or 6) of the client's and the server's namespace."""

    family: Family
    client: str
    server: str


@dataclass(frozen=True, kw_only=True)
class Command:
    """Traffic of a tool that is two programs.

    Attributes:
        server, client: what to run in the two namespaces.
        listens: the port by which the server is known to be ready.
        server_ends: whether the server ends by itself after its client; else it is ended.
        read: both outputs to what the tool says. Raises `Unreadable`.
    """

    server: list[str]
    client: list[str]
    listens: tuple[Transport, int]
    server_ends: bool = False
    read: Callable[[str, str], ToolReport]


@dataclass(frozen=True, kw_only=True)
class Trial:
    """Traffic of ours, or of programs that the agents start as ends of a trial, with the trial's certificates.

    Attributes:
        read: the client's and the server's result to what they say. Raises `Unreadable`.
        server, client: programs in the place of ours.
    """

    workload: str
    params: dict[str, Any]
    read: Callable[[dict[str, Any], dict[str, Any]], ToolReport]
    server: ProgramEnd | None = None
    client: ProgramEnd | None = None

    @property
    def has_program(self) -> bool:
        """True if an end is not ours."""
        return self.server is not None or self.client is not None


@dataclass(frozen=True, kw_only=True)
class Contender:
    """One way to run a tool in one comparison.

    Attributes:
        comparison: the key of a `Comparison`.
        name: unique within the comparison; begins with the tool's name.
        traffic: what to run, given the ends and the length in seconds.
        needs: words that the program's help must have; without them its version cannot.
    """

    comparison: str
    name: str
    traffic: Callable[[Ends, int], Command | Trial]
    needs: str = ""


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool and its contenders.

    Attributes:
        programs: what must be on the PATH.
        version: a command whose output has the version, and the pattern whose first group it is.
        help: a command whose output has all options; for `Contender.needs`.
    """

    name: str
    programs: tuple[str, ...]
    version: tuple[tuple[str, ...], str]
    contenders: tuple[Contender, ...]
    help: tuple[str, ...] = field(default=())
