"""The two sides of a tunnel across a router. Another engine is one more class of the form of `TunnelEnd`, and a line
in `ENDS`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from sixbench.engines import ENGINES

from .ours import OurEnd
from .process import Result
from .tunnels import CARRIER, DEVICE, Side, Tunnel, router_address
from .uml import RUN_TIMEOUT_S, UmlPeer


class Running(Protocol):
    """A command that runs beside others."""

    def wait(self, timeout_s: float = RUN_TIMEOUT_S, *, check: bool = True) -> Result:
        """Waits for its end."""


class TunnelEnd(Protocol):
    """A host of one address of each family, behind the router, that can have a tunnel."""

    link: str
    """The router's interface towards it."""

    def wait_ready(self) -> None:
        """Waits until it has its carrier addresses and its default routes."""

    def install(self, tunnel: Tunnel, mtu_bytes: int) -> None:
        """Makes the tunnel as `DEVICE`."""

    def run(self, command: str, *, timeout_s: float = RUN_TIMEOUT_S, check: bool = True) -> Result:
        """Runs a shell command there, in a folder of its own; it finds busybox and Debian's ping and tracepath."""

    def start(self, command: str) -> Running:
        """Starts one that runs beside others."""

    def counters(self, device: str) -> dict[str, int]:
        """The statistics of a device."""

    def close(self) -> None:
        """Ends it."""


class UmlEnd:
    """Linux's own tunnels, in user-mode Linux behind a TAP device."""

    MODULES = ("sit", "ip6_tunnel", "ip_gre", "ip6_gre")

    def __init__(self, router_pid: int, side: Side) -> None:
        """Starts it behind the router that this process holds; `wait_ready` has to follow."""
        self.link = f"tap-{side}"
        self.side: Side = side
        self.peer = UmlPeer(router_pid, [self.link], name=f"kernel {side}")

    def wait_ready(self) -> None:
        self.peer.wait_booted(self.MODULES)
        four, six = (CARRIER[self.side][version] for version in (4, 6))
        self.peer.run(
            f"ip address add {four} dev vec0 && ip address add {six} dev vec0 nodad && ip link set vec0 up && "
            f"ip route add default via {router_address(self.side, 4).ip} && "
            f"ip route add default via {router_address(self.side, 6).ip}"
        )

    def install(self, tunnel: Tunnel, mtu_bytes: int) -> None:
        *lines, up = _tunnel_commands(tunnel, mtu_bytes)
        if all(address.version == 4 for address in tunnel.addresses):
            # Else it sends its own neighbour discovery into a tunnel that refuses it, and counts errors.
            lines.append(f"echo 1 >/proc/sys/net/ipv6/conf/{DEVICE}/disable_ipv6")
        lines.append(up)
        lines += [f"ip address add {address} dev {DEVICE}" for address in tunnel.addresses]
        # An IPv4-compatible next hop names the outer destination (net/ipv6/sit.c, ipip6_tunnel_xmit).
        lines += [f"ip route add {network} via ::{address} dev {DEVICE}" for network, address in tunnel.members]
        self.peer.run(" && ".join(lines))

    def run(self, command: str, *, timeout_s: float = RUN_TIMEOUT_S, check: bool = True) -> Result:
        return self.peer.run(f"cd /tmp\n{command}", timeout_s=timeout_s, check=check)

    def start(self, command: str) -> Running:
        return self.peer.start(f"cd /tmp\n{command}")

    def counters(self, device: str) -> dict[str, int]:
        return self.peer.counters(device)

    def close(self) -> None:
        self.peer.close()


ENDS: dict[str, Callable[[int, Side], TunnelEnd]] = {"kernel": UmlEnd, "ours": OurEnd}
"""Kinds of ends behind the router that a process holds, by name."""

PAIRS = [("kernel", "kernel"), ("kernel", "ours"), ("ours", "kernel")]
"""The engines of A and B that are tried with each other."""

CONTROLS = ("6in4", "4in6")
"""The tunnels that are tried without any engine of ours: that the tests themselves are right."""

KNOWN_FAILURES: dict[str, tuple[str, bool]] = {}
"""Failures that are known, by patterns of test names: the reason, and True if they always fail, so that it is an error
if they pass."""


def _tunnel_commands(tunnel: Tunnel, mtu_bytes: int) -> list[str]:
    """Commands that the engine `kernel` runs; but this kernel is built without CONFIG_IPV6_SIT_6RD: the mapping is in
    the routes."""
    request = tunnel.as_told(mtu_bytes, ["vec0"], pmtu="dynamic")
    lines = [f"ip {line}" for line in ENGINES["kernel"].make(request).ip]
    return [line.partition(" 6rd-prefix ")[0] for line in lines]
