"""A path: the treatment under comparison."""

from __future__ import annotations

from dataclasses import dataclass, field

from .identifiers import NAME, PATH_NAME, require
from .parameter import Scalar
from .topology import Family


@dataclass(frozen=True, kw_only=True)
class Path:
    """The way of traffic from end host to end host.

    Attributes:
        name: the experiment's name for it, such as `ipv4` or `host-to-host`.
        mechanism: `native4`, `native6`, or a transition mechanism's name.
        family: of the addresses that the workload's sockets use: the client's.
        server_family: that of the server's, where it is another; None: it is the same.
        nodes: where the mechanism is installed; empty for native paths.
        engine: who executes it; None: chosen by the mechanism, named in every record.
        options: the mechanism's own, by name, checked and in base units.
        line: where the experiment file has it.
        aa_of: the path that this one repeats, where it is an A/A path.
    """

    name: str
    mechanism: str
    family: Family
    nodes: tuple[str, ...] = ()
    engine: str | None = None
    options: dict[str, Scalar] = field(default_factory=dict)
    line: int | None = None
    aa_of: str | None = None
    server_family: Family | None = None

    def __post_init__(self) -> None:
        require(PATH_NAME, self.name, "a path")
        require(NAME, self.mechanism, "a mechanism")
