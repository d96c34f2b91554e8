"""What an engine is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...model.network import Request, Tunnel


@dataclass(frozen=True, kw_only=True)
class TunnelScript:
    """How one end of a tunnel is made: requests to the node's agent, or lines for `ip -batch`."""

    requests: tuple[Request, ...] = ()
    ip: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Engine:
    """Who executes a mechanism.

    Attributes:
        make: what makes a tunnel's end. It is up and has its MTU, and no addresses.
        unfit: why the engine cannot make such a tunnel, as a sentence; None if it can.
    """

    name: str
    doc: str
    make: Callable[[Tunnel], TunnelScript]
    unfit: Callable[[Tunnel], str | None] = lambda tunnel: None
