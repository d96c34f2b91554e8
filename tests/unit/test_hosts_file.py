"""Machines in experiments: what is read, and the one sentence for everything else."""

from __future__ import annotations

from pathlib import Path

import pytest

from sixbench.cli.consent import require_consent_to_hosts
from sixbench.lab.render import render, script_text
from sixbench.mechanisms import MECHANISMS
from sixbench.model.errors import ExperimentError, UsageError
from sixbench.model.experiment import Experiment
from sixbench.model.host import split_destination
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.hosts_override import apply_hosts
from sixbench.plan.yaml_source import parse_yaml
from sixbench.report.hosts import drift_ppm
from sixbench.store import ClockReading
from sixbench.ui.check import checked

pytestmark = pytest.mark.computes

HOSTS = """
hosts:
  lab1: {ssh: bench@lab1.example, address: 192.0.2.1, interfaces: {left: eth0, right: eth2}}
  lab2: {ssh: 'bench@lab2.example:2222', sudo: true, address: 192.0.2.2, interfaces: {left: eth0}}
  lab3: {ssh: lab3, address: 2001:db8::3}
  here: {interfaces: {left: eth5}}
"""
REST = """
paths: {ipv4: native4, ipv6: native6}
workloads: [{ping: {count: 5}}]
"""
NODES = "{a: {kind: host, on: lab1}, r: {kind: router, on: lab2}, b: {kind: host, on: lab2}}"
LINKS = "[{endpoints: [a, r], over: [left, left]}, {endpoints: [r, b]}]"


def read(hosts: str = HOSTS, nodes: str = NODES, links: str = LINKS, rest: str = REST) -> Experiment:
    text = f"{hosts}topology:\n  nodes: {nodes}\n  links: {links}\n{rest}"
    return read_experiment(parse_yaml(text, "e.yaml"), MECHANISMS)


def problem(**parts: str) -> str:
    with pytest.raises(ExperimentError) as error:
        read(**parts)
    return str(error.value)


def test_a_cable_has_the_interfaces_of_the_machines() -> None:
    [topology] = read().topologies
    cable, inside = topology.links
    assert (cable.over, [end.name for end in cable.ends]) == ("cable", ["eth0", "eth0"])
    # What a node may borrow is nobody else's name.
    assert (inside.over, [end.name for end in inside.ends]) == (None, ["eth1", "eth1"])
    assert topology.borrowed("r") == ("eth0",)
    scripts = render(topology)
    assert not scripts["a"].links
    assert "link set eth0 mtu 1500 up" in scripts["a"].devices
    # It was there before the namespace had its defaults.
    sysctls = {name for name, value in scripts["a"].sysctl.items() if "/eth0/" in name and value == "0"}
    assert sysctls >= {f"net/ipv6/conf/eth0/{name}" for name in ("accept_dad", "accept_ra", "router_solicitations")}
    assert not [name for name in scripts["b"].sysctl if "/" in name]
    assert scripts["r"].links[0].startswith("link add name eth1 index 1000002 ")


def test_a_vlan_is_a_cable_whose_frames_have_its_tag() -> None:
    [topology] = read(links=LINKS.replace("[left, left]", "{vlan: 100, on: [left, left]}, rate: 10Mbit")).topologies
    link, inside = topology.links
    assert (link.over, link.vlan_id, [end.name for end in link.ends]) == ("cable", 100, ["eth0", "eth0"])
    assert (link.mtu_bytes, link.tag_bytes, inside.tag_bytes) == (1500, 4, 0)
    assert topology.borrowed("r") == ("eth0",)
    script = render(topology)["r"]
    [begin] = script.vlans
    assert (begin.op, begin.fields) == ("vlan-begin", {"interface": "eth0", "vlan_id": 100})
    # A network card is not to drop what the kernel has no VLAN device for.
    assert ["-K", "eth0", "rx-vlan-filter", "off"] in script.ethtool
    # The tag is beside the packet while that waits, and takes its time on the wire.
    assert any("dev eth0 root handle 1: tbf" in line and "overhead 28 mpu 84" in line for line in script.queues)
    assert not render(topology)["b"].vlans
    assert "# the agent: vlan-begin" in script_text(script)


@pytest.mark.parametrize(("second", "mtu_bytes"), [("lab2", 1450), ("lab4", 1430)], ids=["over IPv4", "over IPv6"])
def test_vxlan_begins_in_the_machines(second: str, mtu_bytes: int) -> None:
    hosts = f"{HOSTS}  lab4: {{ssh: lab4, address: 2001:db8::4}}\n"
    first = "lab1" if second == "lab2" else "lab3"
    nodes = f"{{a: {{kind: host, on: {first}}}, b: {{kind: host, on: {second}}}}}"
    [topology] = read(hosts=hosts, nodes=nodes, links="[{endpoints: [a, b], over: vxlan}]").topologies
    assert topology.links[0].mtu_bytes == mtu_bytes
    scripts = render(topology)
    name = "eth1" if first == "lab1" else "eth0"  # lab1 has an eth0 that nodes may borrow
    near, far = topology.hosts[first].address, topology.hosts[second].address
    assert scripts[f"(host {first})"].links == [
        f"link add name {name} netns {{pid:a}} type vxlan id 6220000 local {near} remote {far} dstport 4789"
    ]


def test_a_host_without_ssh_is_this_machine() -> None:
    nodes = "{a: {kind: host, on: here}, b: host, c: {kind: host, on: lab1}}"
    links = "[{endpoints: [a, b]}, {endpoints: [a, c], over: [left, left]}]"
    [topology] = read(nodes=nodes, links=links, rest=f"between: [b, a]\n{REST}").topologies
    assert [link.over for link in topology.links] == [None, "cable"]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            {"nodes": NODES.replace("lab1", "lab9")},
            'topology.nodes.a.on: there is no host "lab9"; did you mean "lab3"?',
        ),
        ({"hosts": ""}, 'there is no host "lab1"; describe it, such as hosts: {lab1: {ssh: user@lab1.example}}'),
        ({"links": LINKS.replace("[left, left]", "[left, rihgt]")}, 'over.1: lab2 has no interface "rihgt"'),
        (
            {"links": LINKS.replace(", over: [left, left]", "")},
            "this link joins lab1 and lab2 and needs a connection: give over: [left, left]",
        ),
        (
            {"links": LINKS.replace("[left, left]", "wire")},
            "over must be two interfaces, such as [left, left], a VLAN on them, such as {vlan: 100, on: [left, left]}, "
            'vxlan, or internet, not "wire"',
        ),
        (
            {"links": LINKS.replace("[left, left]", "[left]")},
            "over must be two interfaces, such as [left, left], a VLAN",
        ),
        (
            {"links": LINKS.replace("[left, left]", "{vlan: 4095, on: [left, left]}")},
            "over.vlan: vlan must be the number of a VLAN, 1 to 4094, not 4095",
        ),
        ({"links": LINKS.replace("[left, left]", "{vlan: 0, on: [left, left]}")}, "1 to 4094, not 0"),
        ({"links": LINKS.replace("[left, left]", "{vlan: true, on: [left, left]}")}, "1 to 4094, not true"),
        (
            {"links": LINKS.replace("[left, left]", "{on: [left, left]}")},
            "topology.links.0.over: vlan must be the number of a VLAN, 1 to 4094, which is missing",
        ),
        (
            {"links": LINKS.replace("[left, left]", "{vlan: 100}")},
            "over: on must be the two interfaces that have the VLAN, such as [left, left], which is missing",
        ),
        (
            {"links": LINKS.replace("[left, left]", "{vlan: 100, on: left}")},
            'over.on: on must be two interfaces, such as [left, left], not "left"',
        ),
        (
            {"links": LINKS.replace("[left, left]", "{vlan: 100, on: [left, rihgt]}")},
            'over.on.1: lab2 has no interface "rihgt"',
        ),
        (
            {"links": LINKS.replace("[left, left]", "{vlan: 100, on: [left, left], tag: 5}")},
            "over.tag: unknown key; known here: vlan, on",
        ),
        (
            {
                "nodes": NODES.replace(
                    "r: {kind: router, on: lab2}, b: {kind: host, on: lab2}", "b: {kind: host, on: lab2}"
                ),
                "links": "[{endpoints: [a, b], name: one, over: {vlan: 1, on: [left, left]}}, "
                "{endpoints: [a, b], name: two, over: {vlan: 2, on: [right, left]}}]",
            },
            "over.on.1: left of lab2 carries a-b already; give this end another interface",
        ),
        (
            {"links": LINKS.replace("[r, b]", "[r, b], over: [left, left]")},
            "over.0: left of lab2 carries a-r already; give this end another interface",
        ),
        (
            {"links": LINKS.replace("[r, b]", "[r, b], over: vxlan")},
            "both ends are on lab2, and need no network between them",
        ),
        (
            {"nodes": NODES.replace("lab2", "here"), "links": LINKS.replace("[left, left]", "vxlan")},
            "vxlan between lab1 and here needs addresses of both; give hosts.here its address",
        ),
        (
            {"nodes": NODES.replace("lab2", "lab3"), "links": LINKS.replace("[left, left]", "vxlan")},
            "the addresses of lab1 and lab3 are of two families; give both of one",
        ),
        (
            {"nodes": NODES.replace("{kind: host, on: lab1}", "host")},
            "over.0: this end is on this machine, which has no interfaces to borrow; describe this machine as a host",
        ),
        (
            {"links": LINKS.replace("over: [left, left]", "over: [left, left], delay: 5ms")},
            "no emulator of ours stands between two machines",
        ),
        (
            {"hosts": HOSTS.replace("bench@lab1.example", "-oProxyCommand=x")},
            "hosts.lab1.ssh: ssh must be as ssh takes it",
        ),
        ({"hosts": f"{HOSTS}  lab5: {{ssh: }}\n"}, "hosts.lab5.ssh: ssh must be as ssh takes it"),
        (
            {"hosts": HOSTS.replace("left: eth5", "left: eth 5")},
            "hosts.here.interfaces.left: give it as the host calls it",
        ),
        ({"hosts": HOSTS.replace("right: eth2", "right: eth0")}, "eth0 has two names; leave one of them out"),
        ({"hosts": HOSTS.replace("192.0.2.2", "192.0.2")}, "hosts.lab2.address: "),
        (
            {"hosts": HOSTS.replace("{interfaces", "{sudo: true, interfaces")},
            "here has no ssh, so that it is this machine",
        ),
        (
            {"hosts": HOSTS.replace("sudo", "sodu")},
            "hosts.lab2.sodu: unknown key; known here: ssh, sudo, interfaces, address",
        ),
        (
            {"nodes": "{a: host, b: host}", "links": "[{endpoints: [a, b]}]"},
            "hosts: no node is on any of these; put one there, such as client: {kind: host, on: lab1}",
        ),
        ({"rest": f"kernels: debian-6.1{REST}"}, "an emulated machine has no others beside it"),
    ],
)
def test_what_is_wrong_is_said_at_its_place(parts: dict[str, str], message: str) -> None:
    actual_problem = problem(**parts)
    assert message in actual_problem
    assert actual_problem.startswith("e.yaml:")


PLAIN = "topology: {nodes: {a: host, r: router, b: host}, links: [{endpoints: [a, r]}, {endpoints: [r, b]}]}"
CHAIN = "topology: {chain: 3}"


@pytest.mark.parametrize(
    ("topology", "nodes", "link"), [(PLAIN, ("a", "r", "b"), "a-r"), (CHAIN, ("h1", "r1", "h2"), "h1-r1")]
)
def test_an_experiment_is_put_on_hosts(tmp_path: Path, topology: str, nodes: tuple[str, ...], link: str) -> None:
    first, second, third = nodes
    path = tmp_path / "hosts.yaml"
    path.write_text(
        f"{HOSTS}nodes: {{{first}: lab1, {second}: lab2, {third}: lab2}}\nlinks: {{{link}: [left, left]}}\n"
    )
    experiment = read_experiment(apply_hosts(parse_yaml(f"{topology}\n{REST}", "e.yaml"), path), MECHANISMS)
    assert [node.on for node in experiment.topologies[0].nodes.values() if node.name in nodes] == [
        "lab1",
        "lab2",
        "lab2",
    ]
    assert experiment.topologies[0].links[0].over == "cable"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nodes: {x: lab1}\nhosts: {lab1: {ssh: lab1}}", 'hosts.yaml:1: nodes.x: there is no "topology.nodes.x"'),
        ("hosts: {}", "there are no hosts in it"),
        ("host: {}", 'host: unknown key; did you mean "hosts"?'),
        ("hosts: {lab1: {ssh: 5}}", "hosts.yaml:1: hosts.lab1.ssh: ssh must be as ssh takes it"),
    ],
)
def test_a_wrong_file_of_hosts(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "hosts.yaml"
    path.write_text(text)
    with pytest.raises(ExperimentError) as error:
        read_experiment(apply_hosts(parse_yaml(f"{PLAIN}\n{REST}", "e.yaml"), path), MECHANISMS)
    assert message in str(error.value)


def test_a_clock_that_drifts() -> None:
    first, last = (
        ClockReading(realtime_ns=at, low_ns=low, high_ns=low + 100_000, round_trip_ns=100_000)
        for at, low in ((0, 5 * 10**9), (100 * 10**9, 5 * 10**9 + 20_000_000))
    )
    assert drift_ppm(first, last) == pytest.approx((199, 201))


@pytest.mark.parametrize(
    ("destination", "parts"),
    [
        ("lab1", (None, "lab1", None)),
        ("bench@lab1.example", ("bench", "lab1.example", None)),
        ("bench@lab1:22", ("bench", "lab1", 22)),
        ("[2001:db8::1]", (None, "2001:db8::1", None)),
        ("root@[2001:db8::1]:2222", ("root", "2001:db8::1", 2222)),
    ],
)
def test_destinations(destination: str, parts: tuple[str | None, str, int | None]) -> None:
    assert split_destination(destination) == parts


def test_a_run_directory_connects_to_no_host_by_itself() -> None:
    planned = read()
    with pytest.raises(UsageError, match=r"bench@lab1\.example, bench@lab2\.example:2222\. .* --allow-hosts"):
        require_consent_to_hosts(planned, allowed=False)
    require_consent_to_hosts(planned, allowed=True)


def test_the_page_starts_no_experiment_with_hosts() -> None:
    text = f"experiment: far\n{HOSTS}topology:\n  nodes: {NODES}\n  links: {LINKS}\n{REST}"
    with pytest.raises(UsageError, match="connects to other machines; start it with sixbench run"):
        checked({"text": text})
