"""A translator that only this file has: IPv6 at the client, IPv4 at the server, by a program in user space. Of the
product, only the registry of mechanisms gets a line."""

from __future__ import annotations

import sys
from dataclasses import replace
from ipaddress import IPv4Network, IPv6Address, IPv6Network
from pathlib import Path as File

import pytest
from lab.experiments import run, wrong

from sixbench.agent import AgentHub
from sixbench.engines import Engine
from sixbench.mechanisms import MECHANISMS, Mechanism, legs_of
from sixbench.mechanisms.common import without_family
from sixbench.model.device import Device, Translator
from sixbench.model.network import Network
from sixbench.model.path import Path
from sixbench.model.stage import Program, Stage
from sixbench.model.topology import Topology
from sixbench.report.figures.data import Context
from sixbench.report.figures.headers import drawings
from sixbench.report.routes import route_of
from sixbench.store import read_run

PREFIX, POOL = IPv6Network("64:ff9b::/96"), IPv4Network("192.0.2.0/24")


def install_draft(path: Path, topology: Topology, between: tuple[str, str]) -> Network:
    (client, server), [at] = between, path.nodes
    links = {link.name for link in topology.route(client, at) or []}
    topology = without_family(topology, links, 4)
    topology = without_family(topology, {link.name for link in topology.links} - links, 6)
    [inside], [outside] = legs_of(topology, (client, at), 6), legs_of(topology, (at, server), 4)
    device = Translator(
        node=at,
        device="draft",
        mtu_bytes=1500,
        prefixes=(PREFIX, POOL),
        mapping={"kind": "draft", "client": str(inside.source)},
        hops=2,  # The node forwards into the device and out of it, and the program takes nothing.
    )
    inside = replace(inside, destination=IPv6Address(int(PREFIX[0]) | int(outside.destination)))
    return Network(topology=topology, devices=(device,), legs=(inside, replace(outside, source=POOL[1])))


def make_draft(device: Device) -> Stage:
    assert isinstance(device, Translator)
    ip = (f"tuntap add dev {device.device} mode tun", f"link set {device.device} mtu {device.mtu_bytes} up")
    argv = (sys.executable, "-I", "-c", TRANSLATE, device.device, device.mapping["client"])
    return Stage(ip=ip, programs=(Program(argv=argv),))


TRANSLATE = """
import fcntl, ipaddress, os, struct, sys
tun = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH", sys.argv[1].encode(), 0x1001))
client = ipaddress.ip_address(sys.argv[2]).packed
prefix, pool = bytes.fromhex("0064ff9b") + bytes(8), bytes([192, 0, 2, 1])
def checksum(data):
    total = sum(struct.unpack(f"!{-(-len(data) // 2)}H", data + bytes(len(data) % 2)))
    while total > 65535:
        total = (total & 65535) + (total >> 16)
    return ~total & 65535
def transport(data, protocol, pseudo, echo):
    data, at = bytearray(data), 6 if protocol == 17 else 2
    if protocol != 17:
        data[0] = echo[data[0]]
    data[at : at + 2] = bytes(2)
    covered = pseudo + struct.pack("!HH", len(data), protocol) + data if pseudo else data
    data[at : at + 2] = struct.pack("!H", checksum(covered))
    return bytes(data)
while True:
    packet = os.read(tun, 65535)
    if packet[0] >> 4 == 6 and packet[24:36] == prefix and packet[6] in (17, 58):
        protocol = {17: 17, 58: 1}[packet[6]]
        ends = pool + packet[36:40]
        data = transport(packet[40:], protocol, ends if protocol == 17 else b"", {128: 8, 129: 0})
        header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(data), 0, 0x4000, packet[7], protocol, 0) + ends
        os.write(tun, header[:10] + struct.pack("!H", checksum(header)) + header[12:] + data)
    elif packet[0] == 0x45 and packet[16:20] == pool and packet[9] in (17, 1):
        protocol = {17: 17, 1: 58}[packet[9]]
        ends = prefix + packet[12:16] + client
        data = transport(packet[20:], protocol, ends, {8: 128, 0: 129})
        os.write(tun, struct.pack("!IHBB", 6 << 28, len(data), protocol, packet[8]) + ends + data)
"""

DRAFT = Mechanism(
    name="draft",
    doc="A translator of a test.",
    family=lambda options: 6,
    server_family=lambda options, nodes: 4,
    install=install_draft,
    carriers=frozenset({4, 6}),
    node_count=(1, 1),
    executed_by=(Engine(name="draft", doc="A program of a test.", make=make_draft),),
)

EXPERIMENT = """
topology:
  nodes: {h1: host, r1: router, r2: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, r2]}, {endpoints: [r2, h2]}]
between: [h1, h2]
paths: {translated: {draft: [r1]}}
workloads: [{ping: {count: 10, interval: 2ms}}, {udp-rr: {message: 200B, duration: 100ms, warmup: 0s}}]
blocks: 1
"""


def test_a_translator_is_one_file_and_its_line_in_the_registry(
    hub: AgentHub, tmp_path: File, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(MECHANISMS, "draft", DRAFT)
    finished = run(hub, EXPERIMENT, tmp_path / "run")
    assert wrong(finished.trials) == []
    assert {trial.workload for trial in finished.trials} == {"ping", "udp-rr"}
    for trial in finished.trials:
        claimed = [(segment.link, segment.claimed, set(segment.stacks)) for segment in trial.evidence.segments]
        assert claimed == [
            ("h1-r1", "ipv6", {"ipv6"}),
            ("r1-r2", "ipv4", {"ipv4"}),
            ("r2-h2", "ipv4", {"ipv4"}),
        ]
        pairs = [set(segment.outer) for segment in trial.evidence.segments]
        there, back = "2001:2::1 > 64:ff9b::c612:202", "64:ff9b::c612:202 > 2001:2::1"
        assert pairs[0] == {there, back}
        assert pairs[1] == pairs[2] == {"192.0.2.1 > 198.18.2.2", "198.18.2.2 > 192.0.2.1"}
    figure_names_both_legs(finished.directory)


def figure_names_both_legs(directory: File) -> None:
    """The report draws the headers of either leg."""
    recorded = read_run(directory)
    experiment = recorded.manifest.experiment
    [drawing] = drawings(Context.of(experiment, recorded.trials), recorded)
    shown = [text.get_text() for axes in drawing.draw(7.0).figure.axes for text in axes.texts]
    assert {"h1-r1", "r1-r2, r2-h2", "IPv6\n40", "IPv4\n20"} <= set(shown)
    route = route_of(experiment.paths[0], experiment.topologies[0], experiment.between)
    assert route is not None
    assert [(stretch.nodes, stretch.headers) for stretch in route.stretches] == [
        (("h1", "r1"), ("ipv6",)),
        (("r1", "r2", "h2"), ("ipv4",)),
    ]
