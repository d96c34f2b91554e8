"""Packets in translators and address sharing: DF, Traffic Class, lengths and Fragment headers as RFC 7915 has them,
with every offload, over IPv6 links of three MTUs, looked at in captures where they arrive."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest
from lab.networks import Watched, built, execute
from lab.wire import Packet, decode

from sixbench.agent import AgentHub
from sixbench.bench.laboratory import Laboratory
from sixbench.model.network import Network

MTUS_BYTES = {
    1280: ("none", "gro"),
    1480: ("none", "partial checksums"),
    1500: ("all", "gso and partial checksums"),
}
"""Those of the IPv6 link, each with the offloads that are tried with it (STATES)."""
LEAST_IPV6_MTU_BYTES = 1280
CLASSES = [0x80 | dscp << 2 | 0x02 for dscp in range(32)]
"""All DSCPs with the top bit set, with ECT(0): each case has its own, by which its packets are found."""

TOPOLOGY = """
topology:
  nodes: {{h1: host, r1: router, r2: router, h2: host}}
  links:
    - {{endpoints: [h1, r1], mtu: {first}}}
    - {{endpoints: [r1, r2], mtu: {middle}}}
    - {{endpoints: [r2, h2]}}
between: [h1, h2]
paths: {{p: {{{mechanism}: {{nodes: [{nodes}], engine: {engine}}}}}}}
"""

SERVE = """
import json, select, socket, sys
family, address = (socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET), sys.argv[1]
IP, DISCOVER, TOS, PROBE, DONT, MTU = 0, 10, 1, 3, 0, 14
def listening(kind):
    one = socket.socket(family, kind)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.bind((address, 7000))
    return one
asked, streams = listening(socket.SOCK_DGRAM), listening(socket.SOCK_STREAM)
streams.listen()
asked.settimeout(300)
while True:
    ready, _, _ = select.select([asked, streams], [], [], 300)
    if not ready:
        sys.exit("nobody asks")
    if streams in ready:
        connection, _ = streams.accept()
        connection.settimeout(300)
        received = b""
        while len(received) < 200000:
            received += connection.recv(65536) or sys.exit("cut off")
        connection.sendall(received)
        connection.close()
        continue
    data, client = asked.recvfrom(65535)
    words = json.loads(data.rstrip(b"."))
    if words == "end":
        break
    if not words["back"]:
        asked.sendto(json.dumps({"bytes": len(data), "whole": data.count(b".")}).encode(), client)
        continue
    back = listening(socket.SOCK_DGRAM)
    back.settimeout(300)
    back.connect(client)
    back.setsockopt(IP, DISCOVER, PROBE if words["df"] else DONT)
    back.setsockopt(IP, TOS, words["class"])
    answer = json.dumps({"bytes": words["bytes"]}).encode()
    try:
        back.send(answer.ljust(words["bytes"], b"."))
        back.recv(100)
    except OSError as error:
        learned = back.getsockopt(IP, MTU) if error.errno == 90 else str(error)
        back.setsockopt(IP, TOS, 0)
        back.setsockopt(IP, DISCOVER, DONT)
        back.send(json.dumps({"learned": learned}).encode())
        back.recv(100)
    back.close()
"""
"""Answers each datagram, with one of the length, DF and class that it asks for or with what it has come to, and TCP
connections with what they send. What does not fit makes ICMP errors: the answer is the MTU learned."""

ASK = """
import json, socket, sys
address, cases = sys.argv[1], json.loads(sys.argv[2])
six = ":" in address
family = socket.AF_INET6 if six else socket.AF_INET
LEVEL, DISCOVER, CLASS, MTU = (41, 23, 67, 24) if six else (0, 10, 1, 14)
def asking():
    one = socket.socket(family, socket.SOCK_DGRAM)
    one.settimeout(300)
    one.connect((address, 7000))
    return one
answers = []
for case in cases:
    asked = asking()
    try:
        if case["back"]:
            asked.send(json.dumps(case).encode())
            answer = asked.recv(65535)
            asked.send(b'"ok"')
        else:
            asked.setsockopt(LEVEL, DISCOVER, 3 if case["df"] else 0)
            asked.setsockopt(LEVEL, CLASS, case["class"])
            asked.send(json.dumps(case).encode().ljust(case["bytes"], b"."))
            answer = asked.recv(65535)
    except OSError as error:
        learned = asked.getsockopt(LEVEL, MTU) if error.errno == 90 else str(error)
        answer = json.dumps({"learned": learned}).encode()
    answers.append(json.loads(answer.rstrip(b".")) | ({"arrived": len(answer)} if case["back"] else {}))
    asked.close()
stream = socket.create_connection((address, 7000), timeout=300)
stream.settimeout(300)
data = bytes(range(250)) * 800
stream.sendall(data)
received = b""
while len(received) < len(data):
    received += stream.recv(65536) or sys.exit("cut off")
asking().send(b'"end"')
print(json.dumps({"answers": answers, "same": received == data}))
"""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A mechanism.

    Attributes:
        client: the family of the client's packets.
        header_bytes: by how much packets are longer as IPv6.
        least_mtu_bytes: what a link of IPv6 must carry.
    """

    nodes: str
    client: int = 4
    header_bytes: int = 20
    least_mtu_bytes: int = LEAST_IPV6_MTU_BYTES

    @property
    def encapsulates(self) -> bool:
        """True if IPv4 stays within IPv6."""
        return self.header_bytes == 40


KINDS = {
    "siit": Kind(nodes="r1", client=6),
    "nat64": Kind(nodes="r1", client=6),
    "464xlat": Kind(nodes="r1, r2"),
    "map-t": Kind(nodes="r1, r2"),
    "map-e": Kind(nodes="r1, r2", header_bytes=40, least_mtu_bytes=1320),
    "lw4o6": Kind(nodes="r1, r2", header_bytes=40),
}

STATES = {
    "all": ("tso on gso on gro on tx on", "tso on gso on gro on tx on"),
    "none": ("tso off gso off gro off tx off", "tso off gso off gro off tx off"),
    "gso and partial checksums": ("tso on gso on gro off tx on", "tso off gso off gro off tx off"),
    "gro": ("tso off gso off gro off tx off", "tso on gso on gro on tx on"),
    "partial checksums": ("tso off gso off gro off tx on", "tso off gso off gro off tx off"),
}
"""Offloads of the hosts' interfaces and those of the routers. A router that has none finishes what a host left."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A datagram.

    Attributes:
        ipv4_bytes: its length as a packet of IPv4.
        back: whether it goes from the server to the client.
    """

    number: int
    ipv4_bytes: int
    df: bool
    back: bool

    @property
    def traffic_class(self) -> int:
        return CLASSES[self.number]

    @property
    def words(self) -> dict[str, object]:
        return {"bytes": self.ipv4_bytes - 28, "df": self.df, "class": self.traffic_class, "back": self.back}


@pytest.fixture(scope="module", autouse=True)
def tshark() -> None:
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")


def cases_of(kind: Kind, mtu_bytes: int) -> list[Case]:
    """Every edge at which the rules change, both ways, with DF and without. IPv6 knows no DF: a client of it has the
    path MTU of its own link to keep to, and its packets are as long as fit."""
    fits = mtu_bytes - kind.header_bytes
    lengths = sorted({100, 1260, fits, min(fits + 1, 1500)})
    every = [
        (length, df, back)
        for length, df, back in product(lengths, (False, True), (False, True))
        if kind.client == 4 or back or (length <= fits and df)
    ]
    return [Case(number=n, ipv4_bytes=length, df=df, back=back) for n, (length, df, back) in enumerate(every)]


def network_of(hub: AgentHub, mechanism: str, engine: str, mtu_bytes: int) -> tuple[Laboratory, Network]:
    kind = KINDS[mechanism]
    first, middle = (mtu_bytes, 1500) if kind.client == 6 else (1500, mtu_bytes)
    words = {"mechanism": mechanism, "engine": engine, "nodes": kind.nodes}
    lab, network, _ = built(hub, TOPOLOGY.format(first=first, middle=middle, **words))
    lab.check_reachable(network.legs)
    return lab, network


def set_offloads(lab: Laboratory, state: str) -> None:
    hosts, routers = STATES[state]
    for node, interface in (("h1", "eth0"), ("h2", "eth0"), *product(("r1", "r2"), ("eth0", "eth1"))):
        words = hosts if node.startswith("h") else routers
        execute(lab.agents[node], "ethtool", "-K", interface, *words.split())


def forget_path_mtus(lab: Laboratory) -> None:
    """A sender that knows one sends fragments, and MAP-T's border relay cannot tell whose later ones are."""
    for node, family in product(("h1", "h2"), ("-4", "-6")):
        execute(lab.agents[node], "ip", family, "route", "flush", "cache")


@pytest.mark.parametrize(("mechanism", "engine"), list(product(KINDS, ("ebpf", "user"))))
def test_packets_arrive_as_the_rules_say(hub: AgentHub, tmp_path: Path, mechanism: str, engine: str) -> None:
    kind = KINDS[mechanism]
    wrong: list[tuple[object, ...]] = []
    for link_bytes, states in MTUS_BYTES.items():
        mtu_bytes = max(link_bytes, kind.least_mtu_bytes)
        lab, network = network_of(hub, mechanism, engine, mtu_bytes)
        for state in states:
            set_offloads(lab, state)
            forget_path_mtus(lab)
            cases = cases_of(kind, mtu_bytes)
            watched = {
                f"{node}-{interface}": Watched(lab.agents[node], interface)
                for node, interface in (("h1", "eth0"), ("r1", "eth1"), ("r2", "eth0"), ("h2", "eth0"))
            }
            answers = sent(lab, network, cases)
            files = [item.file(tmp_path, only_arriving=True) for item in watched.values()]
            packets = decode(files, tmp_path)
            for case, answer in zip(cases, answers, strict=True):
                mine = [packet for packet in packets if set(packet.traffic_classes) == {case.traffic_class}]
                by_link = {name: [item for item in mine if item.file.stem == name] for name in watched}
                for finding in unexpected(kind, mtu_bytes, case, answer, by_link):
                    wrong.append((mtu_bytes, state, case, answer, finding))
            if state not in ("all", "gro"):
                # Where the last router finishes checksums and segments, none is wrong and none is too long.
                arrived = [packet for packet in packets if packet.file.stem in ("h1-eth0", "h2-eth0")]
                wrong += [(mtu_bytes, state, item) for item in arrived if item.has_wrong_checksum]
                wrong += [(mtu_bytes, state, item) for item in arrived if item.ip_bytes > 1500]
        lab.close()
    assert not wrong, "\n".join(map(str, wrong))


def sent(lab: Laboratory, network: Network, cases: list[Case]) -> list[dict[str, object]]:
    """Sends the datagrams of all cases, each with its answer, and 200,000 bytes of TCP both ways."""
    server, address = str(network.legs[-1].destination), str(network.legs[0].destination)
    serving = lab.agents["h2"].submit("exec", argv=[sys.executable, "-I", "-c", SERVE, server])
    wait = ["sh", "-c", "for i in $(seq 200); do ss -Hltn 'sport = 7000' | grep -q . && exit; sleep 0.02; done; exit 1"]
    execute(lab.agents["h2"], *wait)
    words = json.dumps([case.words for case in cases])
    asked = lab.agents["h1"].call("exec", argv=[sys.executable, "-I", "-c", ASK, address, words])
    served = serving.result(timeout=30)
    assert (asked["exit"], served["exit"]) == (0, 0), (asked, served)
    done = json.loads(asked["stdout"])
    assert done["same"]
    answers: list[dict[str, object]] = done["answers"]
    return answers


def unexpected(
    kind: Kind, mtu_bytes: int, case: Case, answer: dict[str, object], by_link: dict[str, list[Packet]]
) -> list[str]:
    """Faults of the answer and the packets, in words."""
    fits = mtu_bytes - kind.header_bytes
    from_ipv4 = kind.client == 4 or case.back
    if from_ipv4 and case.df and case.ipv4_bytes > fits:
        return [] if answer.get("learned") == fits else [f"{fits} should have been learned"]
    if answer.get("bytes") != case.ipv4_bytes - 28:
        return ["did not arrive whole"]
    far, over_ipv6 = ("h1-eth0", "r1-eth1") if case.back else ("h2-eth0", "r2-eth0")
    if kind.client == 6:
        as_ipv6, as_ipv4 = (by_link[far], []) if case.back else ([], by_link[far])
    else:
        as_ipv6, as_ipv4 = by_link[over_ipv6], by_link[far]
    if not as_ipv6 and not as_ipv4:
        return ["no packet of its class arrived"]
    return [
        *(_ipv6_findings(kind, mtu_bytes, case, as_ipv6) if as_ipv6 or kind.client == 4 else ()),
        *(_ipv4_findings(kind, mtu_bytes, case, as_ipv4) if as_ipv4 or kind.client == 4 else ()),
    ]


def is_cut(kind: Kind, mtu_bytes: int, case: Case) -> bool:
    """True if it crosses IPv6 in fragments. Translators cut what may be cut to 1280 (RFC 7915, section 4); tunnels what
    does not fit."""
    most = mtu_bytes if kind.encapsulates else LEAST_IPV6_MTU_BYTES
    return not case.df and case.ipv4_bytes + kind.header_bytes > most


def _ipv6_findings(kind: Kind, mtu_bytes: int, case: Case, packets: list[Packet]) -> list[str]:
    texts = [f"{packet.ip_bytes} bytes of IPv6" for packet in packets if packet.ip_bytes > mtu_bytes]
    if is_cut(kind, mtu_bytes, case):
        most = mtu_bytes if kind.encapsulates else LEAST_IPV6_MTU_BYTES
        texts += [f"a fragment of {packet.ip_bytes} bytes" for packet in packets if packet.ip_bytes > most]
        if len(packets) < 2 or not (kind.encapsulates or all(packet.has_fragment_header for packet in packets)):
            texts.append(f"{len(packets)} IPv6 packets where there should be fragments")
        return texts
    if [packet.ip_bytes for packet in packets] != [case.ipv4_bytes + kind.header_bytes]:
        texts.append(f"IPv6 packets of {[packet.ip_bytes for packet in packets]} bytes")
    if any(packet.has_fragment_header for packet in packets):
        texts.append("a Fragment header that nothing needs")
    if kind.encapsulates and any(packet.dont_fragment != case.df for packet in packets):
        texts.append("another DF inside")
    return texts


def _ipv4_findings(kind: Kind, mtu_bytes: int, case: Case, packets: list[Packet]) -> list[str]:
    """RFC 7915, section 5.1: no DF up to 1260 bytes, DF over that; none in what comes from fragments (5.1.1)."""
    if is_cut(kind, mtu_bytes, case):
        flags = [packet.dont_fragment for packet in packets]
        return [] if len(flags) > 1 and not any(flags) else [f"{len(flags)} IPv4 fragments, with DF {flags}"]
    df = case.df if kind.encapsulates else case.ipv4_bytes > LEAST_IPV6_MTU_BYTES - 20
    if [(packet.ip_bytes, packet.dont_fragment) for packet in packets] != [(case.ipv4_bytes, df)]:
        return [f"IPv4 packets of {[(packet.ip_bytes, packet.dont_fragment) for packet in packets]} bytes and DF"]
    return []
