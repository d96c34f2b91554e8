"""A network of the lab in which single datagrams are sent, and what tshark saw of them on every link."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any

from sixbench.agent import AgentHub
from sixbench.agent.requests import CaptureStop
from sixbench.bench.laboratory import Laboratory
from sixbench.bench.proof.pcapng import to_pcapng
from sixbench.mechanisms import MECHANISMS, install
from sixbench.model.headers import IPV6
from sixbench.model.leg import Crossing
from sixbench.model.network import Network
from sixbench.model.path import Path as MechanismPath
from sixbench.plan.experiment_file import read_topology_only
from sixbench.plan.yaml_source import parse_yaml

TOKEN = "00" * 16
SPACING_PPS = 40
"""So far apart that an error is back before the next datagram."""
LIMIT_S = 60.0
SNAPLEN_BYTES = 65535
MAX_PACKETS = 4096
CAPTURE_NS = 60 * 10**9

_FIELDS = ("frame.section_number", "frame.protocols", "ip.len", "ipv6.plen")
OUTBOUND = 2
"""Direction in a packet's flags in pcapng: it left by the interface that it was seen on."""

_NUMBERS = count()


@dataclass(frozen=True, kw_only=True)
class Profile:
    """A line of nodes h1, r1 .. rN, h2, and a path through it.

    Attributes:
        mtus: of its links, in order.
        mechanism, nodes, options, engine: the path's.
        settings: of its nodes, such as `masquerade`.
    """

    mtus: tuple[int, ...]
    mechanism: str
    nodes: tuple[str, ...] = ()
    options: Mapping[str, str | int] = field(default_factory=dict)
    engine: str | None = None
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def network(self) -> Network:
        """Network with the path installed."""
        names = ["h1", *(f"r{number}" for number in range(1, len(self.mtus))), "h2"]
        kinds = ", ".join(f"{name}: {'host' if name[0] == 'h' else 'router'}" for name in names)
        links = "\n".join(
            f"  - {{endpoints: [{near}, {far}], mtu: {mtu}}}"
            for near, far, mtu in zip(names, names[1:], self.mtus, strict=False)
        )
        topology = read_topology_only(parse_yaml(f"nodes: {{{kinds}}}\nlinks:\n{links}\n", "test.yaml"))
        options = dict(self.options)
        path = MechanismPath(
            name=self.mechanism,
            mechanism=self.mechanism,
            family=MECHANISMS[self.mechanism].family(options),
            nodes=self.nodes,
            options=options,
            engine=self.engine,
        )
        nodes = {name: replace(node, **self.settings.get(name, {})) for name, node in topology.nodes.items()}
        return install(path, replace(topology, nodes=nodes), ("h1", "h2"))


@dataclass(frozen=True, kw_only=True)
class Seen:
    """Sizes and counts of some datagrams on their way.

    Attributes:
        sizes_bytes: of the packets on each segment, in order.
        client, server: the agents' results.
        before, after: what the nodes counted.
        capture: a pcapng file, with a section for each segment.
    """

    sizes_bytes: list[list[int]]
    client: dict[str, Any]
    server: dict[str, Any]
    before: dict[str, Any]
    after: dict[str, Any]
    capture: Path

    def counted(self, node: str, family: int, name: str) -> int:
        """Increase of a counter of IP."""
        group = "Ip" if family == 4 else "Ip6"
        return int(self.after[node]["snmp"][group][name]) - int(self.before[node]["snmp"][group][name])


class FragmentsLab(AbstractContextManager["FragmentsLab"]):
    """A network that is up."""

    def __init__(self, hub: AgentHub, profile: Profile, directory: Path) -> None:
        self.profile = profile
        self.network = profile.network()
        self._directory = directory
        engine = profile.engine or MECHANISMS[profile.mechanism].engines[0]
        self._lab = Laboratory(hub, self.network, engine)
        self.agents = self._lab.agents
        self._lab.check_reachable(self.network.legs)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._lab.close()

    def send(self, datagram_bytes: int, datagrams: int, **params: str) -> Seen:
        """Sends datagrams one after the other to a network that has forgotten all path MTUs."""
        self._forget()
        session = f"fragments-{next(_NUMBERS)}"
        captures = [
            self._start(crossing, f"{session}-{index}") for index, crossing in enumerate(self.network.crossings)
        ]
        before = self._counters()
        first, last = self.network.legs[0], self.network.legs[-1]
        request = {
            "session": session,
            "workload": "udp-stream",
            "token": TOKEN,
            "params": {"datagram_bytes": datagram_bytes, "count": datagrams, "rate_pps": SPACING_PPS, **params},
        }
        server, client = self.agents["h2"], self.agents["h1"]
        port = server.call("serve", address=str(last.destination), peer=str(last.source), **request)["port"]
        asking = {"address": str(first.source), "peer": str(first.destination), "port": port}
        result = client.call("run", timeout_s=LIMIT_S, **asking, **request)
        finished = server.call("finish", timeout_s=LIMIT_S, session=session, sent=result["sent"], timeout_ns=10**9)
        stopped = {
            name: self.agents[crossing.near].answer(CaptureStop(capture=name))
            for crossing, name in zip(self.network.crossings, captures, strict=True)
        }
        after = self._counters()
        file = self._directory / f"{session}.pcapng"
        file.write_bytes(b"".join(to_pcapng(value.packets, name, SNAPLEN_BYTES) for name, value in stopped.items()))
        sizes_bytes = _read(file)
        return Seen(
            sizes_bytes=[sizes_bytes.get(section, []) for section in range(1, len(captures) + 1)],
            client=result,
            server=finished,
            before=before,
            after=after,
            capture=file,
        )

    def _forget(self) -> None:
        for agent in self.agents.values():
            for family in ("-4", "-6"):
                agent.call("exec", argv=["ip", family, "route", "flush", "cache"])

    def _counters(self) -> dict[str, Any]:
        return {name: agent.call("counters") for name, agent in self.agents.items()}

    def _start(self, crossing: Crossing, name: str) -> str:
        self.agents[crossing.near].call(
            "capture-start",
            capture=name,
            interface=crossing.link.end_of(crossing.near).name,
            addresses=[],
            after_ns=0,
            max_packets=MAX_PACKETS,
            max_ns=CAPTURE_NS,
            snaplen_bytes=SNAPLEN_BYTES,
        )
        return name


def _read(file: Path) -> dict[int, list[int]]:
    """The sizes of the IP packets that left towards the server, outermost header included, by the section of the
    file, as tshark decodes them."""
    words = ["tshark", "-r", str(file), "-o", "ip.defragment:FALSE", "-o", "ipv6.defragment:FALSE"]
    words += ["-T", "fields", "-E", "occurrence=f", "-E", "separator=,"]
    words += [word for name in _FIELDS for word in ("-e", name)]
    # Not by Ethernet addresses: a router that fragments anew overwrites the headers of packets that an earlier node's
    # capture still shares with it.
    words += ["-Y", f"frame.packet_flags_direction == {OUTBOUND} && !arp && !icmp && !icmpv6 && !igmp"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    collected: dict[int, list[int]] = {}
    for line in done.stdout.splitlines():
        section, *layers = line.split(",")
        collected.setdefault(int(section), []).append(_outermost_bytes(*layers))
    return collected


def _outermost_bytes(protocols: str, ipv4: str, ipv6: str) -> int:
    outermost = next(name for name in protocols.split(":") if name in ("ip", "ipv6"))
    return int(ipv4) if outermost == "ip" else int(ipv6) + IPV6.size_bytes
