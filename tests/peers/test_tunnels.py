"""Tunnels between two ends across a router of ours, each end by any engine: ping, TCP, path MTU, what is on the wire.

The pairs of engines are `kernel_peer.ends.PAIRS`, the tunnels `kernel_peer.CASES`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from fnmatch import fnmatchcase as fnmatch
from pathlib import Path
from typing import Any

import pytest
from kernel_peer import CASES, Case, TunnelEnd
from kernel_peer.ends import CONTROLS, ENDS, KNOWN_FAILURES, PAIRS
from kernel_peer.ours import OurEnd
from kernel_peer.process import execute
from kernel_peer.tunnels import CARRIER, DEVICE, SIDES, TTL, Side, router_address
from kernel_peer.wire import capture

from sixbench.agent import Agent

OTHER: dict[Side, Side] = {"a": "b", "b": "a"}
TRANSFER_BYTES = 1_000_000
NARROW_MTU_BYTES = 1400
ROUTER_SETTINGS = {
    "net.ipv4.ip_forward": "1",
    "net.ipv6.conf.all.forwarding": "1",
    # Else it resolves no neighbours for the first seconds of a link, for want of an address to ask from.
    "net.ipv6.conf.all.accept_dad": "0",
    "net.ipv6.conf.default.accept_dad": "0",
}
ADDRESSES = {4: ("ip.src", "ip.dst"), 6: ("ipv6.src", "ipv6.dst")}
"""Names of source and destination in tshark."""


@dataclass(frozen=True, kw_only=True)
class Tunnelled:
    """Two ends with a tunnel between them."""

    case: Case
    router_pid: int
    ends: dict[Side, TunnelEnd]

    def ping(self, side: Side, version: int, options: str, *, check: bool = True) -> str:
        """Pings the other end through the tunnel; what ping said."""
        address = self.case.inner(OTHER[side], version)
        return self.ends[side].run(f"ping -n -W 5 {options} {address}", check=check).stdout


PARAMS = [(case, pair) for pair in PAIRS for case in CASES if "ours" in pair or case.name in CONTROLS]
SYMMETRIC_PARAMS = [(case, pair) for case, pair in PARAMS if pair == PAIRS[0] or pair[0] == "kernel"]
"""Without what only changes sides. The first ones of `PARAMS`: pytest groups tests by the place in the list."""


def over(params: list[tuple[Case, tuple[str, str]]]) -> pytest.MarkDecorator:
    """Runs a test over these."""
    ids = [f"{case.name}-{'-'.join(pair)}" for case, pair in params]
    return pytest.mark.parametrize("tunnelled", params, ids=ids, indirect=True, scope="module")


@pytest.fixture(scope="module")
def tunnelled(request: pytest.FixtureRequest, router: Agent) -> Iterator[Tunnelled]:
    case, pair = request.param
    with ExitStack() as stack:
        router.call("sysctl", set=ROUTER_SETTINGS)
        ends: dict[Side, TunnelEnd] = {}
        for side, engine in zip(SIDES, pair, strict=True):
            ends[side] = ENDS[engine](router.pid, side)
            stack.callback(ends[side].close)
        for side, end in ends.items():
            stack.callback(execute, router.pid, "ip", "link", "delete", "dev", end.link)
            for version in (4, 6):
                nodad = ["nodad"] if version == 6 else []
                address = str(router_address(side, version))
                execute(router.pid, "ip", "address", "add", address, "dev", end.link, *nodad)
            execute(router.pid, "ip", "link", "set", end.link, "up")
        for end in ends.values():
            end.wait_ready()
        for side, end in ends.items():
            end.install(case.ends[side], case.mtu_bytes)
        yield Tunnelled(case=case, router_pid=router.pid, ends=ends)


@pytest.fixture(autouse=True)
def known_failure(request: pytest.FixtureRequest, tunnelled: Tunnelled) -> None:
    """Expects those failures, and no others."""
    for pattern, (reason, always) in KNOWN_FAILURES.items():
        if fnmatch(request.node.name, pattern):
            request.node.add_marker(pytest.mark.xfail(reason=reason, strict=always))


@over(PARAMS)
def test_echoes_pass_both_ways_and_the_counters_are_clean(tunnelled: Tunnelled) -> None:
    for version in tunnelled.case.versions:
        for side in SIDES:
            # With a deadline, ping waits for late answers; otherwise for 20 ms after the last echo.
            answered = tunnelled.ping(side, version, "-c 5 -i 0.02 -w 10")
            assert [number for number in range(1, 6) if f"icmp_seq={number} " not in answered] == [], answered
    for end in tunnelled.ends.values():
        counters = end.counters(DEVICE)
        assert min(counters["rx_packets"], counters["tx_packets"]) >= 10 * len(tunnelled.case.versions)
        assert {name: n for name, n in counters.items() if n and ("error" in name or "dropped" in name)} == {}


@over(SYMMETRIC_PARAMS)
@pytest.mark.parametrize("sender", SIDES)
def test_tcp_carries_every_byte(tunnelled: Tunnelled, sender: Side) -> None:
    here, there = tunnelled.ends[sender], tunnelled.ends[OTHER[sender]]
    for version in tunnelled.case.versions:
        port = 5000 + 10 * SIDES.index(sender) + version
        # Its input stays open: nc ends, with what it has not sent, when the other side has ended its own.
        idle, listening = f"idle-{port}", f"':{port:04X} .* 0A '"
        server = there.start(f"busybox mkfifo {idle}; exec 5<>{idle}; busybox nc -l -p {port} <&5 | busybox sha256sum")
        there.run(f"until grep -q {listening} /proc/net/tcp /proc/net/tcp6; do busybox usleep 20000; done")
        sent = here.run(
            f"busybox head -c {TRANSFER_BYTES} /dev/urandom >sent && busybox sha256sum <sent && "
            f"busybox nc -w 20 {tunnelled.case.inner(OTHER[sender], version)} {port} <sent",
            timeout_s=40,
        )
        assert server.wait().stdout == sent.stdout


@over(SYMMETRIC_PARAMS)
def test_the_largest_packet_is_the_tunnels_mtu(tunnelled: Tunnelled) -> None:
    for version in tunnelled.case.versions:
        largest = tunnelled.case.mtu_bytes - {4: 28, 6: 48}[version]  # RFC 791 and RFC 8200 header, 8 bytes of ICMP
        for side in SIDES:
            assert "1 received" in tunnelled.ping(side, version, f"-M do -c 1 -s {largest}")
            refused = tunnelled.ping(side, version, f"-M do -c 1 -W 1 -s {largest + 1} 2>&1", check=False)
            assert "message too long" in refused.lower()  # iputils of 2024 no longer says for which MTU
        address = tunnelled.case.inner("b", version)
        path = tunnelled.ends["a"].run(f"tracepath -n -m 1 {address}").stdout
        assert f"Resume: pmtu {tunnelled.case.mtu_bytes} hops 1 back 1" in path


@over(PARAMS)
def test_the_link_shows_the_claimed_headers(tunnelled: Tunnelled, tmp_path: Path) -> None:
    case, sent = tunnelled.case, 3
    for version in case.versions:
        protocol = case.protocol[version]
        keep = f"ip proto {protocol}" if case.carrier == 4 else f"ip6 proto {protocol}"
        # Echoes only, by their size: a tunnel also has neighbour discovery and multicast listeners.
        keep += " and greater 500"
        with capture(tunnelled.router_pid, tunnelled.ends["b"].link, keep, 2 * sent, tmp_path) as seen:
            tunnelled.ping("a", version, f"-c {sent} -i 0.05 -s 600")
            packets = seen.packets()
        for number, packet in enumerate(packets):
            source: Side = "a" if number % 2 == 0 else "b"
            check_packet(case, version, packet, source)


def check_packet(case: Case, version: int, packet: dict[str, Any], source: Side) -> None:
    """An echo request or reply of that side in its outer header, one hop after the router."""
    outer, inner = headers(packet)
    destination = OTHER[source]
    hops = 1 if source == "a" else 0  # seen between the router and B
    assert outer[ADDRESSES[case.carrier][0]] == str(CARRIER[source][case.carrier].ip)
    assert outer[ADDRESSES[case.carrier][1]] == str(CARRIER[destination][case.carrier].ip)
    if case.carrier == 4:
        assert (outer["ip.proto"], outer["ip.ttl"]) == (str(case.protocol[version]), str(TTL - hops))
        assert outer["ip.checksum.status"] == "1"
    else:
        assert (outer["ipv6.nxt"], outer["ipv6.hlim"]) == (str(case.protocol[version]), str(TTL - hops))
    assert inner[ADDRESSES[version][0]] == case.inner(source, version)
    assert inner[ADDRESSES[version][1]] == case.inner(destination, version)
    echo = packet["icmp"] if version == 4 else packet["icmpv6"]
    kind = {4: ("8", "0"), 6: ("128", "129")}[version][SIDES.index(source)]
    assert echo["icmp.type" if version == 4 else "icmpv6.type"] == kind
    assert echo["icmp.checksum.status" if version == 4 else "icmpv6.checksum.status"] == "1"
    protocols = packet["frame"]["frame.protocols"]
    assert ("gre" in protocols.split(":")) == (47 in case.protocol.values())


def headers(packet: dict[str, Any]) -> list[dict[str, Any]]:
    """The IP headers, outermost first, which tshark puts into one entry by family."""
    packets = {name: packet[name] for name in ("ip", "ipv6") if name in packet}
    by_name = {name: list(it) if isinstance(it, list) else [it] for name, it in packets.items()}
    order = [name for name in packet["frame"]["frame.protocols"].split(":") if name in by_name]
    return [by_name[name].pop(0) for name in order]


WIDE_MTU_BYTES = 4000
OURS_AND_KERNEL = [(case, pair) for case, pair in PARAMS if pair == ("ours", "kernel") and case.name in CONTROLS]


@over(OURS_AND_KERNEL)
def test_an_end_takes_packets_longer_than_its_own_mtu(tunnelled: Tunnelled) -> None:
    """RFC 4213 section 3.2, RFC 2473 section 3.3: what the other end has fragmented and this one put together. Linux
    takes it, and so do we."""
    case, ours, kernel = tunnelled.case, tunnelled.ends["a"], tunnelled.ends["b"]
    assert isinstance(ours, OurEnd)
    [version] = case.versions
    remote = CARRIER["a"][4].ip
    longest = WIDE_MTU_BYTES - {4: 28, 6: 48}[version]
    try:
        ours.widen(case.ends["a"], WIDE_MTU_BYTES)
        tunnelled.ping("a", version, f"-c 3 -i 0.2 -s {longest}")
        ours.widen(case.ends["a"], case.mtu_bytes)
        if case.name == "6in4":  # Linux's ip6tnl leaves its outer packets whole.
            kernel.run(f"ip link set {DEVICE} mtu {WIDE_MTU_BYTES} type sit remote {remote} ttl inherit nopmtudisc")
            tunnelled.ping("b", version, f"-c 3 -i 0.2 -s {longest}")
            assert ours.counters(DEVICE)["rx_packets"] >= 1
    finally:
        ours.widen(case.ends["a"], case.mtu_bytes)
        if case.name == "6in4":
            kernel.run(f"ip link set {DEVICE} mtu {case.mtu_bytes} type sit remote {remote} ttl {TTL} pmtudisc")


@over(PARAMS)
def test_a_narrower_link_on_the_way_narrows_the_tunnel(tunnelled: Tunnelled) -> None:
    narrow = NARROW_MTU_BYTES - tunnelled.case.overhead_bytes
    link = tunnelled.ends["b"].link
    execute(tunnelled.router_pid, "ip", "link", "set", link, "mtu", str(NARROW_MTU_BYTES))
    try:
        for version in tunnelled.case.versions:
            address = tunnelled.case.inner("b", version)
            path = tunnelled.ends["a"].run(f"tracepath -n -m 1 {address}").stdout
            assert f"Resume: pmtu {narrow} hops 1 back 1" in path
    finally:
        execute(tunnelled.router_pid, "ip", "link", "set", link, "mtu", "1500")
