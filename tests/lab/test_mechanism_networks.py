"""Purposes of single mechanisms, in networks larger than their sample, and packets that do not fit."""

from __future__ import annotations

import json
import sys
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from lab.experiments import run, wrong
from lab.networks import Watched, built, execute
from lab.wire import Packet, decode

from sixbench.agent import Agent, AgentHub
from sixbench.mechanisms import install

WORKLOADS = """
workloads:
  - ping: {count: 3, interval: 2ms}
  - tcp-stream: {bytes: 500kB, direction: both, warmup: 0s}
  - udp-rr: {message: 64B, duration: 30ms, warmup: 0s}
blocks: 1
"""

LINE = """
topology:
  nodes: {h1: host, r1: router, r2: router, h2: host}
  links:
    - {endpoints: [h1, r1]}
    - {endpoints: [r1, r2], CARRIER}
    - {endpoints: [r2, h2]}
"""


def tunnelled(packets: list[Packet]) -> list[Packet]:
    return [packet for packet in packets if len(packet.sources) > 1 and not packet.is_discovery]


def ends_on_the_wire(packets: list[Packet]) -> set[tuple[str, str]]:
    return {(packet.sources[0], packet.destinations[0]) for packet in packets}


def run_and_decode(hub: AgentHub, text: str, directory: Path) -> tuple[list[Any], list[Packet]]:
    finished = run(hub, text + WORKLOADS, directory / "run")
    assert wrong(finished.trials) == []
    files = [file for trial in finished.trials for file in finished.captures(trial).values()]
    return finished.trials, decode(files, directory)


# --- DS-Lite -------------------------------------------------------------------------------------------------------

SUBSCRIBERS = """
topology:
  nodes: {h1: host, b1: router, h3: host, b3: router, aftr: router, h2: host}
  links:
    - {endpoints: [h1, b1]}
    - {endpoints: [b1, aftr]}
    - {endpoints: [h3, b3]}
    - {endpoints: [b3, aftr]}
    - {endpoints: [aftr, h2]}
between: [h1, h2]
paths: {ds: {ds-lite: {nodes: [b1, b3, aftr], engine: ENGINE}}}
"""

ECHO_SERVER = """
import socket, sys
kind, address, port = sys.argv[1:]
server = socket.socket(socket.AF_INET, getattr(socket, kind))
server.bind((address, int(port)))
server.settimeout(300)
asked = {}  # both have asked before either is answered
if kind == "SOCK_STREAM":
    server.listen()
while len(asked) < 2:
    if kind == "SOCK_STREAM":
        connection, sender = server.accept()
        asked[sender] = connection.recv(64), connection
    else:
        data, sender = server.recvfrom(64)
        asked[sender] = data, None
for sender, (data, connection) in asked.items():
    answer = data + b" from " + str(sender[1]).encode()
    connection.sendall(answer) if connection else server.sendto(answer, sender)
"""
ASK = """
import socket, sys, time
kind, address, port, name = sys.argv[1:]
client = None
while True:  # until the server is up
    if client is None:
        client = socket.socket(socket.AF_INET, getattr(socket, kind))
        client.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        client.bind(("192.168.1.1", 40000))
        client.settimeout(0.2 if kind == "SOCK_DGRAM" else 300)
    try:
        client.connect((address, int(port)))
        client.sendall(name.encode())
        print(client.recv(64).decode())
        break
    except OSError:
        if kind == "SOCK_STREAM":  # the socket of datagrams stays, for the answer comes once and may come late
            client.close()
            client = None
        time.sleep(0.05)
"""


@pytest.mark.parametrize("engine", ["ebpf", "user"])
def test_two_subscribers_of_the_same_private_address_are_served_at_the_same_time(
    hub: AgentHub, tmp_path: Path, engine: str
) -> None:
    lab, network, experiment = built(hub, SUBSCRIBERS.replace("ENGINE", engine))
    other = install(experiment.paths[0], experiment.topologies[0], ("h3", "h2")).legs
    first, last = network.legs
    assert [(leg.source, leg.destination) for leg in other] == [(leg.source, leg.destination) for leg in network.legs]
    assert str(first.source) == "192.168.1.1"
    server = str(last.destination)
    lab.check_reachable(network.legs)
    lab.check_reachable(other)

    # Sessions of two clients, each with a token of its own: what reached the wrong one would be a stray.
    for workload in ("tcp-rr", "udp-rr"):
        common = {"workload": workload, "params": {"message_bytes": 512, "duration_ns": 10**8, "warmup_ns": 0}}
        runs = []
        for client, token in (("h1", "11" * 16), ("h3", "33" * 16)):
            mine = common | {"session": f"{workload}-{client}", "token": token}
            port = lab.agents["h2"].call("serve", address=server, peer=str(last.source), **mine)["port"]
            runs.append((client, mine | {"address": str(first.source), "peer": server, "port": port}))
        futures = [(client, fields, lab.agents[client].submit("run", **fields)) for client, fields in runs]
        for client, fields, future in futures:
            result = lab.agents[client].wait(future, "run", 20)
            assert result["transactions"] > 10, result
            ended = lab.agents["h2"].call("finish", session=fields["session"], timeout_ns=10**9)
            assert {*result.get("strays", {}).values(), *ended["strays"].values()} == {0}

    # The same address and the same port at the same time: only the softwire tells them apart.
    for kind in ("SOCK_DGRAM", "SOCK_STREAM"):
        echoing = lab.agents["h2"].submit("exec", argv=[sys.executable, "-c", ECHO_SERVER, kind, server, "7000"])
        asking = {
            client: lab.agents[client].submit("exec", argv=[sys.executable, "-c", ASK, kind, server, "7000", client])
            for client in ("h1", "h3")
        }
        answers = {client: future.result(timeout=30)["stdout"].split() for client, future in asking.items()}
        assert echoing.result(timeout=30)["exit"] == 0, echoing.result()
        assert {client: answer[0] for client, answer in answers.items()} == {"h1": "h1", "h3": "h3"}
        assert answers["h1"][-1] != answers["h3"][-1], "the server would see one sender twice"


# --- 6to4 and 6rd --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["ebpf", "user"])
def test_6to4_by_a_relay_from_private_addresses_with_the_smallest_mtu(
    hub: AgentHub, tmp_path: Path, engine: str
) -> None:
    text = LINE.replace("CARRIER", "ipv4: [10.0.0.1/8, 10.0.0.2/8], offload: false")
    text += f"paths: {{p: {{6to4: {{nodes: [r1], relay: r2, private: true, mtu: 1280B, engine: {engine}}}}}}}"
    trials, packets = run_and_decode(hub, text, tmp_path)
    inside = tunnelled(packets)
    assert ends_on_the_wire(inside) == {("10.0.0.1", "10.0.0.2"), ("10.0.0.2", "10.0.0.1")}
    sources = {packet.sources[1] for packet in inside}
    assert {source for source in sources if source.startswith("2002:a00:1:")}
    assert {source for source in sources if source.startswith("2001:2:")}, "behind the relay is native IPv6"
    assert max(trial.evidence.segments[1].max_ip_bytes for trial in trials) == 1300


def test_6rd_customers_reach_one_another_without_the_border_relay(hub: AgentHub, tmp_path: Path) -> None:
    text = """
topology:
  nodes: {h1: host, c1: router, x: router, c2: router, h2: host, br: router}
  links:
    - {endpoints: [h1, c1]}
    - {endpoints: [c1, x]}
    - {endpoints: [x, c2]}
    - {endpoints: [c2, h2]}
    - {endpoints: [x, br]}
paths: {p: {6rd: [c1, c2, br]}}
"""
    trials, packets = run_and_decode(hub, text, tmp_path)
    inside = tunnelled(packets)
    assert ends_on_the_wire(inside) == {("198.18.1.1", "198.18.2.2"), ("198.18.2.2", "198.18.1.1")}
    prefixes = {":".join(packet.sources[1].split(":")[:4]) for packet in inside}
    assert prefixes == {"2001:db8:c612:101", "2001:db8:c612:202"}
    for trial in trials:
        [relay] = trial.evidence.tunnels["br"].values()
        assert relay.encapsulated.packets == relay.decapsulated.packets == 0


# --- ISATAP and 6over4 ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["ebpf", "user"])
def test_isatap_hosts_reach_one_another_directly(hub: AgentHub, tmp_path: Path, engine: str) -> None:
    text = """
topology:
  nodes: {h1: host, x: router, h2: host, r1: router}
  links: [{endpoints: [h1, x]}, {endpoints: [x, h2]}, {endpoints: [x, r1]}]
between: [h1, h2]
"""
    text += f"paths: {{p: {{isatap: {{nodes: [h1, h2, r1], engine: {engine}}}}}}}"
    _, packets = run_and_decode(hub, text, tmp_path)
    inside = tunnelled(packets)
    assert ends_on_the_wire(inside) == {("198.18.0.1", "198.18.1.2"), ("198.18.1.2", "198.18.0.1")}
    assert {packet.sources[1] for packet in inside} == {"2001:db8::200:5efe:c612:1", "2001:db8::200:5efe:c612:102"}


@pytest.mark.parametrize("engine", ["ebpf", "user"])
def test_6over4_members_find_one_another_by_ipv4_multicast_through_routers(
    hub: AgentHub, tmp_path: Path, engine: str
) -> None:
    text = """
topology:
  nodes: {h1: host, r1: router, r2: router, h2: host, h3: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, r2]}, {endpoints: [r2, h2]}, {endpoints: [r2, h3]}]
between: [h1, h2]
"""
    text += f"paths: {{p: {{6over4: {{nodes: [h1, h2, h3], engine: {engine}}}}}}}"
    lab, _, experiment = built(hub, text)
    watched = Watched(lab.agents["r2"], "eth0")
    pairs = [("h1", "h2"), ("h1", "h3"), ("h2", "h3"), ("h3", "h1")]
    for client, server in pairs:
        lab.check_reachable(install(experiment.paths[0], experiment.topologies[0], (client, server)).legs)
    packets = watched.packets(tmp_path)
    asked = [packet for packet in packets if packet.stack == ("ip", "ipv6") and packet.icmp_types == [135]]
    collected = {}
    for packet in asked:
        group = ip_address(packet.destinations[1])
        if group.is_multicast:
            octets = group.packed[-2:]
            assert packet.destinations[0] == f"239.192.{octets[0]}.{octets[1]}"
            collected[packet.fields["icmpv6.nd.ns.target_address"]] = packet.destinations[0]
    # From h1's side the link is crossed to ask for h2 and h3 (198.18.2.2 and 198.18.3.2).
    assert {"2001:db8::c612:202", "2001:db8::c612:302"} <= collected.keys()
    actual_packets = [packet for packet in packets if packet.stack == ("ip", "ipv6") and packet.icmp_types == [136]]
    assert actual_packets
    assert {packet.destinations[0] for packet in actual_packets} <= {"198.18.0.1", "198.18.2.2", "198.18.3.2"}
    echoes = [packet for packet in packets if packet.icmp_types in ([128], [129])]
    assert ("198.18.0.1", "198.18.2.2") in ends_on_the_wire(echoes)
    assert ("198.18.0.1", "198.18.3.2") in ends_on_the_wire(echoes)
    addresses = json.loads(execute(lab.agents["h1"], "ip", "-j", "-6", "address", "show", "dev", "6over4-1"))
    assert "fe80::c612:1" in {item["local"] for item in addresses[0]["addr_info"]}


# --- tunnel broker -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["ebpf", "user"])
def test_a_broker_gives_a_tunnel_and_takes_it_back(hub: AgentHub, engine: str) -> None:
    text = LINE.replace(", CARRIER", "")
    lab, network, _ = built(hub, text + f"paths: {{p: {{tunnel-broker: {{nodes: [r1, r2], engine: {engine}}}}}}}")
    lab.check_reachable(network.legs)
    devices = {tunnel.node: tunnel.device for tunnel in network.tunnels}
    assert devices.keys() == {"r1", "r2"}
    for node, device in devices.items():
        assert device in lab.agents[node].call("tunnel-counters")["tunnels"]
        assert device in interfaces(lab.agents[node])
    lab.agents["r1"].call("broker-release", device=devices["r1"])
    for node, device in devices.items():
        assert lab.agents[node].call("tunnel-counters")["tunnels"] == {}
        assert not [name for name in interfaces(lab.agents[node]) if name.startswith(device)]


def interfaces(agent: Agent) -> set[str]:
    return {link["ifname"] for link in json.loads(execute(agent, "ip", "-j", "link"))}


# --- packets that do not fit ---------------------------------------------------------------------------------------

NARROW = """
topology:
  nodes: {h1: host, r1: router, x: router, r2: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, x]}, {endpoints: [x, r2], NARROW}, {endpoints: [r2, h2]}]
"""


@pytest.mark.parametrize("engine", ["ebpf", "user"])
def test_a_static_tunnel_over_a_narrower_carrier_is_fragmented_outside_and_still_carries_everything(
    hub: AgentHub, tmp_path: Path, engine: str
) -> None:
    text = NARROW.replace("NARROW", "mtu: 1400")
    text += f"paths: {{p: {{6in4: {{nodes: [r1, r2], mtu: 1480B, engine: {engine}}}}}}}"
    trials, packets = run_and_decode(hub, text, tmp_path)
    [streamed] = [trial for trial in trials if trial.workload == "tcp-stream"]
    [near] = streamed.evidence.tunnels["r1"].values()
    [far] = streamed.evidence.tunnels["r2"].values()
    if engine == "ebpf":
        assert far.slow["outer-fragment"].packets > 100, "x fragments what comes from r1"
        assert far.slow["outer-too-big"].packets > 50, "r2 fragments what it sends itself"
        assert "outer-too-big" not in near.slow
    assert far.slow_decapsulated.packets > 50
    assert not far.drops.keys() & {"outer-too-big"}
    first, later = "fragment of ipv6 in ipv4", "ipv6 in ipv4"
    [narrow] = [segment for segment in streamed.evidence.segments if segment.link == "x-r2"]
    assert narrow.stacks.keys() == {first, later}
    assert narrow.max_ip_bytes <= 1400
    on_narrow = [packet for packet in packets if packet.file.stem == "x-r2" and packet.more_fragments]
    assert {packet.sources[0] for packet in on_narrow} == {"198.18.1.1", "198.18.2.2"}


@pytest.mark.parametrize("engine", ["ebpf", "user"])
def test_a_dynamic_tunnel_tells_sources_the_mtu_of_a_carrier_that_becomes_narrower(
    hub: AgentHub, tmp_path: Path, engine: str
) -> None:
    text = NARROW.replace(", NARROW", "")
    text += f"paths: {{p: {{6in4: {{nodes: [r1, r2], pmtu: dynamic, engine: {engine}}}}}}}"
    lab, network, _ = built(hub, text)
    lab.check_reachable(network.legs)
    for node, interface in (("x", "eth1"), ("r2", "eth0")):
        execute(lab.agents[node], "ip", "link", "set", interface, "mtu", "1400")
    watched = Watched(lab.agents["r1"], "eth0")
    big = {"count": 8, "interval_ns": 2 * 10**7, "timeout_ns": 10**9, "payload_bytes": 1400}
    [leg] = network.legs
    fields = {"address": str(leg.source), "peer": str(leg.destination), "port": 0, "token": "00" * 16}
    result = lab.agents["h1"].call("run", session="big", workload="ping", params=big, **fields)
    assert 1 <= result["received"] < 8, "the first is lost, those after it are fragmented by the source"
    packets = [packet for packet in watched.packets(tmp_path) if packet.icmp_types[:1] == [2]]
    assert packets
    assert {packet.fields["icmpv6.mtu"] for packet in packets} == {"1380"}
    assert {packet.destinations[0] for packet in packets} == {str(leg.source)}
    assert "mtu 1380" in execute(lab.agents["h1"], "ip", "-6", "route", "get", str(leg.destination))
