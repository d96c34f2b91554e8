"""Networks of an experiment's one path for packets of a test's own, and captures of what their links carry."""

from __future__ import annotations

import sys
from pathlib import Path

from lab.experiments import read
from lab.wire import Packet, decode

from sixbench.agent import Agent, AgentHub
from sixbench.agent.requests import CaptureStop
from sixbench.bench.laboratory import Laboratory
from sixbench.bench.proof.pcapng import to_pcapng
from sixbench.mechanisms import install
from sixbench.model.experiment import Experiment
from sixbench.model.network import Network

SNAPLEN_BYTES = 65535
_ETHERNET_BYTES = 14


def built(hub: AgentHub, text: str) -> tuple[Laboratory, Network, Experiment]:
    """The network of the one path of an experiment without workloads, up, with nothing sent yet."""
    experiment = read(hub, text + "\nworkloads: [ping]\nblocks: 1\n")
    [path] = experiment.paths
    network = install(path, experiment.topologies[0], experiment.between)
    assert path.engine is not None
    return Laboratory(hub, network, path.engine), network, experiment


def execute(agent: Agent, *argv: str) -> str:
    done = agent.call("exec", argv=list(argv))
    assert done["exit"] == 0, done
    return str(done["stdout"])


_SEND = """
import socket, sys
address, port, own_port, hops = sys.argv[1], *map(int, sys.argv[2:])
family, level, option = (socket.AF_INET6, socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS) if ":" in address else (
    socket.AF_INET, socket.IPPROTO_IP, socket.IP_TTL)
sender = socket.socket(family, socket.SOCK_DGRAM)
sender.setsockopt(level, option, hops)
sender.bind(("", own_port))
sender.sendto(b"sixbench", (address, port))
"""


def send_datagram(agent: Agent, address: str, port: int, *, own_port: int = 0, hops: int = 64) -> None:
    """Sends a UDP datagram from a node."""
    execute(agent, sys.executable, "-c", _SEND, address, str(port), str(own_port), str(hops))


class Watched:
    """Packets on an interface of a node, from now on until they are asked for."""

    def __init__(self, agent: Agent, interface: str) -> None:
        self.agent, self.interface = agent, interface
        fields = {"addresses": [], "after_ns": 0, "max_packets": 1000, "max_ns": 30 * 10**9}
        agent.call("capture-start", capture=interface, interface=interface, snaplen_bytes=SNAPLEN_BYTES, **fields)

    def packets(self, scratch: Path) -> list[Packet]:
        return decode([self.file(scratch)], scratch)

    def arrived(self) -> list[bytes]:
        """Those that came in from the link, from their IP headers on."""
        captured = self.agent.answer(CaptureStop(capture=self.interface)).packets
        return [bytes.fromhex(packet.data)[_ETHERNET_BYTES:] for packet in captured if not packet.outgoing]

    def file(self, scratch: Path, *, only_arriving: bool = False) -> Path:
        """A pcapng file of them, of those alone that came in from the link where so asked."""
        captured = self.agent.answer(CaptureStop(capture=self.interface)).packets
        kept = [packet for packet in captured if not (only_arriving and packet.outgoing)]
        file = scratch / f"{self.agent.name}-{self.interface}.pcapng"
        file.write_bytes(to_pcapng(kept, self.interface, SNAPLEN_BYTES))
        return file
