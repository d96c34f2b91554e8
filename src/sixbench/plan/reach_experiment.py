"""The experiment of `sixbench reach`: servers of others as a file would name them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ..model.errors import UsageError
from ..model.quoting import visible
from ..model.server import Server, why_no_server
from .size_limits import MAX_TRIALS

REACH = "reach"
"""The name of each such experiment."""

HTTP_VERSIONS = ["1.1", "2", "3"]
WORKLOADS = ("dns", "ping", "tcp-connect", "tls", "http")
"""The workloads of servers of the web and of others. The survey before the first trial leaves out those that a server
does not offer."""
FEWEST_BLOCKS = 5
MOST_BLOCKS = 1000
TIME = "2min"
DECIDED_TIME = "30min"
"""The longest time where answers decide when to stop, unless it is given."""
MARGIN = "5%"
"""The largest change that does not matter."""
MAX_LIST_BYTES = 2**20

_WITH_PORT = re.compile(r"(?:\[(?P<bracketed>[^\]]*)\]|(?P<plain>[^:\[\]]*)):(?P<port>[0-9]{1,5})")


@dataclass(frozen=True, kw_only=True)
class ReachOptions:
    """The options of the command that the experiment has.

    Attributes:
        servers: in the order in which they were named.
        workloads: names; None: `WORKLOADS`. That of HTTP is measured by each version.
        blocks: exactly this many; None: as many as the time allows.
        until: `decided`, or None.
        time: the longest time, as a file has it; None: the usual one.
        vantages: number of machines that it is measured from.
    """

    servers: tuple[Server, ...]
    workloads: tuple[str, ...] | None = None
    resolver: str | None = None
    hides_addresses: bool = False
    blocks: int | None = None
    until: str | None = None
    time: str | None = None
    seed: int | None = None
    vantages: int = 1

    @property
    def chosen_workloads(self) -> tuple[str, ...]:
        """The names of the workloads."""
        return WORKLOADS if self.workloads is None else self.workloads


def text_of(options: ReachOptions) -> str:
    """The experiment as a file."""
    servers = [_written(server) for server in options.servers]
    names = [server.label for server in options.servers]
    title = f"IPv4 and IPv6 to {', '.join(names[:3])}" + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    blocks: Any = options.blocks
    if blocks is None:
        blocks = {"min": FEWEST_BLOCKS, "max": _most_blocks(options)}
        if options.until is not None:
            blocks["until"] = options.until
        blocks["time"] = options.time or (TIME if options.until is None else DECIDED_TIME)
    data: dict[str, Any] = {"experiment": REACH, "title": title, "servers": servers}
    if options.resolver is not None:
        data["resolver"] = options.resolver
    if options.hides_addresses:
        data["hide-addresses"] = True
    data["workloads"] = [
        {"http": {"version": HTTP_VERSIONS}} if name == "http" else name for name in options.chosen_workloads
    ]
    data["blocks"] = blocks
    data["statistics"] = {"margin": MARGIN}
    if options.seed is not None:
        data["seed"] = options.seed
    text: str = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)
    return text


def _most_blocks(options: ReachOptions) -> int:
    """As many blocks as an experiment may have with so many servers and vantages."""
    combinations = sum(len(HTTP_VERSIONS) if name == "http" else 1 for name in options.chosen_workloads)
    return max(
        FEWEST_BLOCKS, min(MOST_BLOCKS, MAX_TRIALS // (2 * combinations * len(options.servers) * options.vantages))
    )


def _written(server: Server) -> Any:
    given: dict[str, Any] = {"name": server.name}
    if server.port != Server(name=server.name).port:
        given["port"] = server.port
    if server.mine:
        given["mine"] = True
    return server.name if len(given) == 1 else given


def server_of(text: str, *, mine: bool = False, where: str = "") -> Server:
    """A server as the command line has it: a name, an address, or either with a port, such as `[2001:db8::1]:8443`.

    Args:
        where: the place, for messages.

    Raises `UsageError`.
    """
    match = _WITH_PORT.fullmatch(text)
    name = text if match is None else match["bracketed"] or match["plain"]
    wrong = why_no_server(name)
    if wrong is not None:
        words = "name servers one by one, such as www.example.org or [2001:db8::1]:8443"
        raise UsageError(f"{where}{wrong}; {words}")
    if match is None:
        return Server(name=name, mine=mine)
    port = int(match["port"])
    if not 0 < port < 2**16:
        raise UsageError(f"{where}{visible(text)}: a port is from 1 to 65535")
    return Server(name=name, port=port, mine=mine)


def read_list(file: Path, *, mine: bool = False) -> list[Server]:
    """The servers of a file: one a line; what follows a # is a remark. Raises `UsageError`."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise UsageError(f"reading the servers from {file}: {error.strerror}") from error
    if len(content) > MAX_LIST_BYTES:
        raise UsageError(f"{file} has more than {MAX_LIST_BYTES} bytes; give a list of servers, one a line")
    servers = []
    for number, line in enumerate(content.decode("utf-8-sig", errors="replace").splitlines(), start=1):
        text = line.partition("#")[0].strip()
        if text:
            servers.append(server_of(text, mine=mine, where=f"{file}:{number}: "))
    if not servers:
        raise UsageError(f"{file} names no server; write one a line, such as www.example.org")
    return servers


def without_repeats(servers: Sequence[Server]) -> tuple[Server, ...]:
    """The servers, each once."""
    return tuple({server.label: server for server in servers}.values())
