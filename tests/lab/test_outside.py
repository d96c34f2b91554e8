"""Packets that come to a NAT64 from outside and belong to nobody (`vectors/outside`) do not get in: by both engines, in
`translate` and in a network."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from ip_packets import ICMP, ICMPV6
from lab.commands import with_exit
from lab.networks import Watched, built, execute
from lab.packets import Ends, as_compared, echo, in4, in6, udp
from lab.wire import DISCOVERY
from outside_packets import BOUND_PORT, SERVER_PORT, outside_packets, packet_of
from packets_through import packets_through
from waiting import wait_for

from sixbench.agent import Agent, AgentHub
from sixbench.agent.requests import Counters, PacketSend, TranslatorCountersRequest, TunnelCountersRequest
from sixbench.mechanisms.dslite import B4
from sixbench.mechanisms.nat64 import INSIDE
from sixbench.model.observation import PacketCount

POOL, PREFIX, CLIENT = "192.0.2.1", "2001:db8:64::", "2001:db8:1::1"
ADDRESSES = {
    "pool": POOL,
    "server": "198.51.100.2",
    "stranger": "198.51.100.9",
    "router": "198.51.100.254",
    "inside": "100.64.0.0",
}
NONE = PacketCount(packets=0, bytes=0)
OUT = Ends(source=CLIENT, destination=f"{PREFIX}{ADDRESSES['server']}", ports=(BOUND_PORT, SERVER_PORT))
ANSWER = Ends(source=ADDRESSES["server"], destination=POOL, ports=(SERVER_PORT, BOUND_PORT))


@pytest.mark.parametrize("engine", ["user", "ebpf"])
def test_translate_lets_nothing_in_that_has_no_binding(
    sixbench: Callable[..., Any], tmp_path: Path, engine: str
) -> None:
    vectors = [outside_packet for outside_packet in outside_packets() if outside_packet.get("only", engine) == engine]
    assert len(vectors) >= 200
    packets = [packet_of(vector, ADDRESSES) for vector in vectors]
    words = ("nat64", "--prefix", f"{PREFIX}/96", "--pool", f"{POOL}/32", "--engine", engine)
    sent = [in6(OUT, udp(OUT)), *packets, in4(ANSWER, udp(ANSWER))]
    out, *passed, back = packets_through(with_exit(sixbench), tmp_path, words, sent)
    assert [out[0], back[0], back[2][0][24:40]] == ["translated", "translated", in6(OUT, b"")[8:24]]
    wrong = [
        (vector["name"], verdict, rule, [item.hex() for item in result])
        for vector, packet, (verdict, rule, result) in zip(vectors, packets, passed, strict=True)
        if not is_as_told(vector.get("told_by_linux" if engine == "ebpf" else "told", vector["told"]), packet, result)
    ]
    assert not wrong, "\n".join(map(str, wrong))


def is_as_told(expected: list[int] | None, packet: bytes, result: list[bytes]) -> bool:
    """True if nothing comes out, or the error that the source is to be told, which quotes the packet."""
    if expected is None:
        return result == []
    match result:
        case [item]:
            is_error = item[9] == ICMP and [*item[20:22]] == expected and item[16:20] == packet[12:16]
            return is_error and as_compared(packet).startswith(as_compared(item[28:]))
        case _:
            return False


@pytest.mark.parametrize("own4", [POOL, "192.0.2.254"])
def test_a_pool_may_be_the_translators_own_address(sixbench: Callable[..., Any], tmp_path: Path, own4: str) -> None:
    words = ("nat64", "--prefix", f"{PREFIX}/96", "--pool", f"{POOL}/32", "--own4", own4)
    strange = Ends(source=ANSWER.source, destination=POOL, ports=(SERVER_PORT, 41000))
    sent = [in6(OUT, udp(OUT)), in4(ANSWER, udp(ANSWER)), in4(strange, udp(strange))]
    user, ebpf = (
        packets_through(with_exit(sixbench), tmp_path, (*words, "--engine", engine), sent)
        for engine in ("user", "ebpf")
    )
    assert [verdict for verdict, _, _ in ebpf] == ["translated", "translated", "answered"]
    assert [[*map(as_compared, out)] for _, _, out in ebpf] == [[*map(as_compared, out)] for _, _, out in user]


def test_a_pool_of_shared_addresses_has_its_hosts_elsewhere(sixbench: Callable[..., Any], tmp_path: Path) -> None:
    """The addresses between translator and NAT44 are others then."""
    words = ("nat64", "--prefix", f"{PREFIX}/96", "--pool", "100.64.0.1/32", "--engine", "ebpf")
    back = Ends(source=ANSWER.source, destination="100.64.0.1", ports=ANSWER.ports)
    passed = packets_through(with_exit(sixbench), tmp_path, words, [in6(OUT, udp(OUT)), in4(back, udp(back))])
    assert [verdict for verdict, _, _ in passed] == ["translated", "translated"]


NETWORK = """
topology:
  nodes: {{h1: host, r1: router, h2: host}}
  links: [{{endpoints: [h1, r1]}}, {{endpoints: [r1, h2]}}]
between: [h1, h2]
paths: {{stateful: {{nat64: {{nodes: [r1], engine: {engine}}}}}}}
"""


SILENT = """table ip outside {
  chain errors { type filter hook output priority filter; policy drop; }
}
"""
"""The server tells nobody that its port is closed: what comes in are packets of the test alone."""


@pytest.mark.parametrize("engine", ["user", "ebpf"])
def test_a_network_lets_nothing_in_that_has_no_binding(hub: AgentHub, tmp_path: Path, engine: str) -> None:
    (tmp_path / "silent.nft").write_text(SILENT)
    lab, network, _ = built(hub, NETWORK.format(engine=engine))
    with closing(lab):
        client, router, server = (lab.agents[name] for name in ("h1", "r1", "h2"))
        execute(server, "nft", "-f", str(tmp_path / "silent.nft"))
        inner, outer = network.legs
        out = Ends(source=str(inner.source), destination=str(inner.destination), ports=(BOUND_PORT, SERVER_PORT))
        answer = Ends(source=str(outer.destination), destination=str(outer.source), ports=out.ports[::-1])
        send(client, mac(router, "eth0"), in6(out, udp(out)))
        wait_for(lambda: without_socket(server, "Udp") == 1)
        at_client = Watched(client, "eth0")
        addresses = {**ADDRESSES, "pool": answer.destination, "server": answer.source, "inside": str(INSIDE[0])}
        to, server_mac = mac(router, "eth1"), mac(server, "eth0")
        for vector in outside_packets():
            server.answer(PacketSend(interface="eth0", frame=framed(to, server_mac, packet_of(vector, addresses))))
        send(server, to, in4(answer, udp(answer)))
        wait_for(lambda: without_socket(client, "Udp6") == 1)
        got_in = [packet for packet in at_client.arrived() if packet[:1] == b"\x60" and not is_of_the_link(packet)]
        [state] = router.answer(TranslatorCountersRequest()).translators.values()
        assert [(packet[8:40], packet[40:44]) for packet in got_in] == [(in6(out.back, b"")[8:], udp(out.back)[:4])]
        assert (state.to_ipv6.packets, state.answered) == (1, {})


SOFTWIRES = """
topology:
  nodes: {{h1: host, r1: router, r2: router, h2: host}}
  links: [{{endpoints: [h1, r1]}}, {{endpoints: [r1, r2]}}, {{endpoints: [r2, h2]}}]
between: [h1, h2]
paths: {{path: {{{mechanism}: {{nodes: [r1, r2], engine: ebpf}}}}}}
"""


@pytest.mark.parametrize("mechanism", ["ds-lite", "lw4o6", "map-e"])
def test_nobody_outside_reaches_a_b4_by_its_well_known_address(hub: AgentHub, mechanism: str) -> None:
    """RFC 6333 section 5.7: the same one in all softwires."""
    lab, network, _ = built(hub, SOFTWIRES.format(mechanism=mechanism))
    with closing(lab):
        relay, server = lab.agents["r2"], lab.agents["h2"]
        last = network.legs[-1]
        [ips] = [end.ipv4.ip for link in network.topology.wires for end in link.ends if end.node == "r2" and end.ipv4]
        to = mac(relay, "eth1")
        inside = Ends(source=str(last.destination), destination=str(B4.ip), ports=(SERVER_PORT, BOUND_PORT))
        send(server, to, in4(inside, udp(inside)))
        # The answer to what is sent behind it says that the relay has dealt with it.
        behind = Ends(source=str(last.destination), destination=str(ips))
        send(server, to, in4(behind, echo(behind), ICMP))
        wait_for(lambda: server.answer(Counters()).snmp["IcmpMsg"].get("InType0") == 1)
        [state] = relay.answer(TunnelCountersRequest()).tunnels.values()
        assert (state.encapsulated, state.slow_encapsulated) == (NONE, NONE)


def mac(agent: Agent, interface: str) -> bytes:
    [link] = json.loads(execute(agent, "ip", "-json", "link", "show", interface))
    return bytes.fromhex(link["address"].replace(":", ""))


def send(agent: Agent, to: bytes, packet: bytes) -> None:
    agent.answer(PacketSend(interface="eth0", frame=framed(to, mac(agent, "eth0"), packet)))


def framed(to: bytes, items: bytes, packet: bytes) -> str:
    return (to + items + (b"\x86\xdd" if packet[0] >> 4 == 6 else b"\x08\x00") + packet).hex()


def without_socket(agent: Agent, group: str) -> int:
    """Datagrams that have arrived without a socket."""
    return agent.answer(Counters()).snmp[group].get("NoPorts", 0)


def is_of_the_link(packet: bytes) -> bool:
    """True if neighbours or listeners say it to each other."""
    message = packet[48:] if packet[6] == 0 else packet[40:]
    return ICMPV6 in (packet[6], packet[40]) and (message[0] in DISCOVERY)
