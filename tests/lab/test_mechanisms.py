"""Every mechanism by every engine that works here: ping, TCP and UDP both ways, proved by tshark on every link."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from lab.experiments import Finished, run, wrong
from lab.wire import Packet, decode

from sixbench.agent import AgentHub, find_agent
from sixbench.bench.mechanism_doctor import refusals
from sixbench.engines import ENGINES
from sixbench.lab.privileges import try_namespace
from sixbench.mechanisms import MECHANISMS
from sixbench.model.errors import SixbenchError
from sixbench.model.trial import TrialRecord
from sixbench.model.workloads import WORKLOADS

EXPERIMENT = """
topology:
  nodes: {{h1: host, r1: router, r2: router, h2: host}}
  links:
    - {{endpoints: [h1, r1], {link}}}
    - {{endpoints: [r1, r2], {link}}}
    - {{endpoints: [r2, h2], {link}}}
between: [h1, h2]
paths: {{path: {{{mechanism}: {{nodes: [{nodes}], engine: {engine}}}}}}}
workloads:
{ping}  - tcp-stream: {{bytes: 600kB, direction: [forward, reverse], warmup: 0s}}
  - udp-stream: {{datagram: [64B, 3000B], rate: 2Mbit, duration: 100ms, warmup: 0s}}
  - udp-rr: {{message: 200B, duration: 40ms, warmup: 0s}}
blocks: 1
"""

PING = "  - ping: {count: 4, interval: 2ms}\n"

LINKS = {"off": "rate: 50Mbit, offload: false", "on": "offload: true"}

GROUPS = "239.192."
"""First bytes of the IPv4 multicast groups of 6over4 (RFC 2529 section 6)."""

LARGEST_FRAME_BYTES = 1514

BACKGROUND = 16
"""So many packets of a tunnel may not have been captured: what came before the capture began, or after its end."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """Claims of a path about its packets, written down apart from the code that installs it.

    Attributes:
        inner: the header that the hosts exchange packets of, by tshark's name.
        outer: those before it.
        links: where they are.
        ends: the addresses in the outermost one, by node.
        fields: of tshark, that must have a value there.
        families: the header on each link instead, where nodes translate packets; `ends` then has these nodes.
        is_relayed: whether these nodes are relays instead.
    """

    inner: str = "ipv6"
    outer: tuple[str, ...] = ("ip",)
    links: tuple[str, ...] = ("r1-r2",)
    ends: Mapping[str, str] = field(default_factory=lambda: {"r1": "198.18.1.1", "r2": "198.18.1.2"})
    fields: tuple[tuple[str, str], ...] = ()
    families: Mapping[str, str] = field(default_factory=dict)
    is_relayed: bool = False

    def header_on(self, link: str) -> str:
        """The header that hosts or translators give packets there."""
        return self.families.get(link, self.inner)


def translated(*families: str) -> Claim:
    """Packets that change their family at the routers."""
    by_link = dict(zip(("h1-r1", "r1-r2", "r2-h2"), families, strict=True))
    changing = [name for name, item, other in (("r1", *families[:2]), ("r2", *families[1:])) if item != other]
    return Claim(outer=(), links=(), ends=dict.fromkeys(changing, ""), families=by_link)


_OVER_IPV6 = Claim(inner="ip", outer=("ipv6",), ends={"r1": "2001:2:0:1::1", "r2": "2001:2:0:1::2"})
CLAIMS = {
    "6in4": Claim(fields=(("ip.proto", "41"),)),
    "6over4": Claim(links=("h1-r1", "r1-r2", "r2-h2"), ends={"h1": "198.18.0.1", "h2": "198.18.2.2"}),
    "6to4": Claim(),
    "6rd": Claim(),
    "isatap": Claim(links=("h1-r1", "r1-r2"), ends={"h1": "198.18.0.1", "r2": "198.18.1.2"}),
    "teredo": Claim(outer=("ip", "udp"), links=("h1-r1", "r1-r2"), ends={"h1": "198.18.0.1", "r2": "198.18.1.2"}),
    "tunnel-broker": Claim(),
    "4in6": _OVER_IPV6,
    "ds-lite": _OVER_IPV6,
    "lw4o6": _OVER_IPV6,
    "map-e": Claim(inner="ip", outer=("ipv6",), ends={"r1": "2001:db8:ce00::c000:201:0", "r2": "2001:2:0:1::2"}),
    "dstm": replace(_OVER_IPV6, links=("h1-r1", "r1-r2"), ends={"h1": "2001:2::1", "r2": "2001:2:0:1::2"}),
    "gre": Claim(outer=("ip", "gre"), fields=(("ip.proto", "47"), ("gre.proto", "0x86dd"))),
    "vxlan": Claim(outer=("ip", "vxlan"), fields=(("vxlan.vni", "1"),)),
    "siit": translated("ipv6", "ip", "ip"),
    "siit-dc": translated("ip", "ipv6", "ipv6"),
    "nat64": translated("ipv6", "ip", "ip"),
    "nat-pt": translated("ipv6", "ip", "ip"),
    "464xlat": translated("ip", "ipv6", "ip"),
    "map-t": translated("ip", "ipv6", "ip"),
    "bih": replace(translated("ipv6", "ipv6", "ipv6"), ends={"h1": ""}),
    "trt": replace(translated("ipv6", "ip", "ip"), is_relayed=True),
}


def engines_here() -> list[tuple[str, str]]:
    """The mechanisms with their engines that this machine does not refuse, by the doctor; none without a lab."""
    if try_namespace(["--net"]) is not None:
        return []
    try:
        with AgentHub(find_agent()) as hub:
            return [pair for pair, reason in refusals(hub).items() if reason is None and pair[1] in ENGINES]
    except SixbenchError:
        return []


HERE = engines_here()
ALL_LINKS = os.environ.get("SIXBENCH_LINKS") == "all"
CASES = [
    (*pair, offload)
    for number, pair in enumerate(HERE)
    for turn, offload in enumerate(LINKS)
    if ALL_LINKS or (number + number // 2 + turn) % 2 == 0
]
"""Each mechanism with each engine, over links with and without offloads in turn; over both in `make test-slow`."""


def test_our_engines_work_where_the_lab_does() -> None:
    """An engine that is not here is not in the parameters below; ours are expected on every machine that runs these."""
    of_others = ("program", "guest")
    with_tunnels = {
        name: mechanism for name, mechanism in MECHANISMS.items() if mechanism.sample and name not in of_others
    }
    assert CLAIMS.keys() == with_tunnels.keys()
    if os.environ.get("SIXBENCH_EXPECT_LAB") == "1":
        ours = {(n, engine) for n, m in with_tunnels.items() for engine in m.engines if engine in ("ebpf", "user")}
        assert ours <= set(HERE)


@pytest.mark.parametrize(("mechanism", "engine", "offload"), CASES)
def test_a_mechanism_carries_ping_tcp_and_udp_both_ways_as_tshark_sees_it(
    hub: AgentHub, tmp_path: Path, mechanism: str, engine: str, offload: str
) -> None:
    nodes = ", ".join(MECHANISMS[mechanism].sample)
    ping = PING if MECHANISMS[mechanism].unfit(WORKLOADS["ping"]) is None else ""
    text = EXPERIMENT.format(link=LINKS[offload], mechanism=mechanism, nodes=nodes, engine=engine, ping=ping)
    interfaces = set(os.listdir("/sys/class/net"))
    finished = run(hub, text, tmp_path / "run", whole_checksums=offload == "off")
    assert agents_of_this_process() == []
    assert set(os.listdir("/sys/class/net")) == interfaces
    assert wrong(finished.trials) == []
    assert {trial.engine for trial in finished.trials} == {engine}
    claim = CLAIMS[mechanism]
    packets = decode([file for trial in finished.trials for file in finished.captures(trial).values()], tmp_path)
    for trial in finished.trials:
        for link, file in finished.captures(trial).items():
            check_link(trial, link, [packet for packet in packets if packet.file == file], claim)
        check_counters(trial, finished, packets, claim, whole=offload == "off")
    if offload == "off":
        assert [packet for packet in packets if packet.has_wrong_checksum] == []
    elif engine == "ebpf":
        streams = {trial.key for trial in finished.trials if trial.workload == "tcp-stream"}
        sizes = {packet.file.parent.name: 0 for packet in packets}
        for packet in packets:
            if packet.file.stem in (claim.links or claim.families):
                sizes[packet.file.parent.name] = max(sizes[packet.file.parent.name], int(packet.fields["frame.len"]))
        assert min(sizes[key] for key in streams) > LARGEST_FRAME_BYTES, "segments are cut behind the tunnel"
    check_sources(mechanism, packets)


def check_link(trial: TrialRecord, link: str, packets: Iterable[Packet], claim: Claim) -> None:
    """Nothing but what is claimed, both ways, and of the workload among it."""
    place = f"{trial.key} on {link}"
    inner = claim.header_on(link)
    stack = (*claim.outer, inner) if link in claim.links else (inner,)
    seen = [packet for packet in packets if not packet.keeps_the_link_going]
    others = [packet.fields["frame.protocols"] for packet in seen if packet.stack != stack]
    assert seen, place
    assert not others, place
    transport = {"ping": "icmp" if inner == "ip" else "icmpv6"}.get(trial.workload, trial.workload.split("-")[0])
    ways = {packet.sources[-1] for packet in seen if packet.transport == transport and not packet.is_discovery}
    assert len(ways) == (1 if trial.workload == "udp-stream" else 2), place
    if link in claim.links:
        addresses = {address for packet in seen for address in (packet.sources[0], packet.destinations[0])}
        assert {address for address in addresses if not address.startswith(GROUPS)} == set(claim.ends.values()), place
        for name, value in claim.fields:
            assert {packet.fields[name].split(",")[0] for packet in seen} == {value}, place


def check_counters(trial: TrialRecord, finished: Finished, packets: list[Packet], claim: Claim, *, whole: bool) -> None:
    """The tunnels' ends have counted what went over the link between them. Every translator was asked."""
    if claim.families:
        asked = trial.evidence.relays if claim.is_relayed else trial.evidence.translators
        assert (asked or {}).keys() == claim.ends.keys()
        return
    file = finished.captures(trial)[claim.links[-1]]
    here = [packet for packet in packets if packet.file == file and packet.stack == (*claim.outer, claim.inner)]
    sent = Counter(packet.sources[0] for packet in here if not packet.destinations[0].startswith(GROUPS))
    assert trial.evidence.tunnels.keys() == claim.ends.keys()
    for node, devices in trial.evidence.tunnels.items():
        [counted] = devices.values()
        sent_here = sent[claim.ends[node]]
        for direction, seen, *counts in (
            ("encapsulated", sent_here, counted.encapsulated, counted.slow_encapsulated),
            ("decapsulated", sent.total() - sent_here, counted.decapsulated, counted.slow_decapsulated),
        ):
            fast, slow = (0 if count is None else count.packets for count in counts)
            assert seen <= fast + slow, (trial.key, node, direction)
            if whole:  # else a packet seen may be a segment that is counted as what it will be cut into
                assert fast + slow <= seen + BACKGROUND, (trial.key, node, direction)
            if trial.engine == "ebpf":
                assert slow <= BACKGROUND, (trial.key, node, direction)
            if trial.engine == "user":
                assert fast == 0, (trial.key, node, direction)


def check_sources(mechanism: str, packets: list[Packet]) -> None:
    """The addresses that a mechanism defines."""
    inner = {packet.sources[-1] for packet in packets if not packet.keeps_the_link_going}
    if mechanism in ("6to4", "6rd"):
        prefix = "2002:c612:101:" if mechanism == "6to4" else "2001:db8:c612:101:"
        assert any(source.startswith(prefix) for source in inner)
    if mechanism in ("isatap", "6over4"):
        assert any(source.endswith("5efe:c612:1" if mechanism == "isatap" else "::c612:1") for source in inner)
    if mechanism == "tunnel-broker":
        assert "2001:2::1" in inner
    if mechanism == "dstm":
        assert "192.0.2.2" in inner
    if mechanism == "map-t":
        between = {packet.sources[-1] for packet in packets if packet.file.stem == "r1-r2"}
        assert {"2001:db8:ce00::c000:201:0", "2001:db8:64::c612:202"} <= between
        assert {"192.168.1.1", "192.0.2.1"} <= inner
    if mechanism in ("ds-lite", "lw4o6", "map-e"):
        far = {packet.sources[-1] for packet in packets if packet.file.stem == "r2-h2"}
        # The own address of an lwAFTR or a border relay is that of its errors.
        assert far - {"198.18.2.1"} == ({"198.18.2.2"} if mechanism == "ds-lite" else {"192.0.2.1", "198.18.2.2"})
        assert mechanism != "ds-lite" or "198.18.2.1" in far
        assert "192.168.1.1" in inner


def agents_of_this_process() -> list[str]:
    """Agents that are children of this process, and with them namespaces and interfaces."""
    children = [
        child for task in Path("/proc/self/task").iterdir() for child in (task / "children").read_text().split()
    ]
    names = [Path(f"/proc/{child}/comm").read_text().strip() for child in children if Path(f"/proc/{child}").exists()]
    return [name for name in names if "sixbench" in name]
