"""Our own tunnels as a side of the tests: a node of an agent behind the router, told by `tunnel-add`."""

from __future__ import annotations

import tempfile
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from sixbench.agent import AgentHub, find_agent
from sixbench.engines import ENGINES
from sixbench.model.device import PathMtu

from .process import Result, execute
from .tunnels import CARRIER, DEVICE, Side, Tunnel, router_address

RUN_TIMEOUT_S = 300.0
INTERFACE = "eth0"


@dataclass(frozen=True, kw_only=True)
class OurJob:
    """A command that runs in the node beside others."""

    name: str
    command: str
    answer: Future[dict[str, Any]]

    def wait(self, timeout_s: float = RUN_TIMEOUT_S, *, check: bool = True) -> Result:
        """Waits for its end."""
        done = self.answer.result(timeout=timeout_s)
        result = Result(command=self.command, exit=done["exit"], stdout=done["stdout"], stderr=done["stderr"])
        return result.checked(self.name) if check else result


class OurEnd:
    """A node that carries the tunnel itself."""

    def __init__(self, router_pid: int, side: Side) -> None:
        """Starts the node, behind the router that this process holds."""
        self.link = f"veth-{side}"
        self.side: Side = side
        self._scratch = tempfile.TemporaryDirectory(prefix="sixbench-peers-")
        self._hub = AgentHub(find_agent())
        try:
            self._agent = self._hub.start([side])[side]
            undetected = {f"net.ipv6.conf.{name}.accept_dad": "0" for name in ("all", "default")}
            self._agent.call("sysctl", set=undetected)
            pid = str(self._agent.pid)
            execute(
                router_pid, *["ip", "link", "add", "dev"], self.link, *["type", "veth", "peer"], INTERFACE, "netns", pid
            )
        except BaseException:
            self.close()
            raise

    def wait_ready(self) -> None:
        four, six = (CARRIER[self.side][version] for version in (4, 6))
        self.run(
            f"ip link set lo up && ip address add {four} dev {INTERFACE} && "
            f"ip address add {six} dev {INTERFACE} nodad && ip link set {INTERFACE} up && "
            f"ip route add default via {router_address(self.side, 4).ip} && "
            f"ip route add default via {router_address(self.side, 6).ip}"
        )

    def install(self, tunnel: Tunnel, mtu_bytes: int) -> None:
        self._make(tunnel, mtu_bytes, "dynamic")

    def widen(self, tunnel: Tunnel, mtu_bytes: int) -> None:
        """Makes the tunnel anew, with outer packets that may be fragmented."""
        self._agent.call("tunnel-remove", device=DEVICE)
        self._make(tunnel, mtu_bytes, "static")

    def _make(self, tunnel: Tunnel, mtu_bytes: int, pmtu: PathMtu) -> None:
        actual_request = tunnel.as_told(mtu_bytes, [INTERFACE], pmtu=pmtu)
        for request in ENGINES["ebpf"].make(actual_request).requests:
            self._agent.call(request.op, **request.fields)
        for address in tunnel.addresses:
            nodad = "nodad" if address.version == 6 else ""
            self.run(f"ip address add {address} dev {DEVICE} {nodad}")
        if tunnel.mechanism == "6rd":
            self.run(f"ip route add {tunnel.prefix} dev {DEVICE}")

    def run(self, command: str, *, timeout_s: float = RUN_TIMEOUT_S, check: bool = True) -> Result:
        return self._submit(command, timeout_s).wait(timeout_s + 10, check=check)

    def start(self, command: str) -> OurJob:
        return self._submit(command, 2 * RUN_TIMEOUT_S)

    def counters(self, device: str) -> dict[str, int]:
        tunnel = self._agent.call("tunnel-counters", device=device)["tunnels"][device]
        # Multicast of the node itself (listener reports, router solicitations) has no mapping in some mechanisms,
        # and may come before the other end has its tunnel.
        our_reasons = ("no-mapping", "carrier-unreachable")
        reasons = {reason: count for reason, count in tunnel["drops"].items() if reason not in our_reasons}
        drops = {f"dropped_{reason}": count["packets"] for reason, count in reasons.items()}
        return {
            "rx_packets": tunnel["decapsulated"]["packets"] + tunnel["slow_decapsulated"]["packets"],
            "tx_packets": tunnel["encapsulated"]["packets"] + tunnel["slow_encapsulated"]["packets"],
        } | drops

    def close(self) -> None:
        self._hub.close()
        self._scratch.cleanup()

    def _submit(self, command: str, timeout_s: float) -> OurJob:
        argv = ["sh", "-c", f"cd {self._scratch.name}\n{command}"]
        answer = self._agent.submit("exec", argv=argv, timeout_ns=round(timeout_s * 1e9))
        return OurJob(name=f"ours {self.side}", command=command, answer=answer)
