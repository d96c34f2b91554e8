"""Networks as commands."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import pytest

from sixbench.lab.build import Completed, build, build_path
from sixbench.lab.node_script import NodeScript
from sixbench.lab.render import fill_pids, render, render_path, script_text
from sixbench.mechanisms import install
from sixbench.model.errors import AgentError, LabError
from sixbench.model.experiment import Experiment
from sixbench.model.network import Network
from sixbench.model.topology import Topology

pytestmark = pytest.mark.computes

Read = Callable[[str], Experiment]

TEXT = """
topology:
  nodes: {h1: {kind: host, sysctl: {net.ipv4.tcp_rmem: 4096 87380 6291456}}, r1: router, h2: host}
  links:
    - {endpoints: [h1, r1], LINK}
    - {endpoints: [r1, h2], mtu: 1400}
paths: {a: native4}
workloads: [ping]
"""


def network(read: Read, link: str = "mtu: 1500") -> Topology:
    return read(TEXT.replace("LINK", link)).topologies[0]


def scripts(read: Read, link: str = "mtu: 1500") -> dict[str, NodeScript]:
    return render(network(read, link))


def test_a_link_is_made_once_with_both_ends_in_place(read: Read) -> None:
    actual_scripts = scripts(read)
    links = [(name, line.split(" type veth peer ")) for name, script in actual_scripts.items() for line in script.links]
    assert [(name, words.split()[3], peer.split()[1], peer.split()[-1]) for name, (words, peer) in links] == [
        ("h1", "eth0", "eth0", "{pid:r1}"),
        ("r1", "eth1", "eth0", "{pid:h2}"),
    ]
    assert "address 02:00:00:00:01:01" in links[1][1][0]
    assert "address 02:00:00:00:01:02" in links[1][1][1]


def test_addresses_and_mtu(read: Read) -> None:
    assert scripts(read)["r1"].devices == [
        "link set lo up",
        "address add 198.18.0.2/24 dev eth0",
        "address add 2001:2::2/64 dev eth0 nodad",
        "link set eth0 mtu 1500 up",
        "ntable change name arp_cache dev eth0 base_reachable 86400000 delay_probe 86400000",
        "ntable change name ndisc_cache dev eth0 base_reachable 86400000 delay_probe 86400000",
        "address add 198.18.1.1/24 dev eth1",
        "address add 2001:2:0:1::1/64 dev eth1 nodad",
        "link set eth1 mtu 1400 up",
        "ntable change name arp_cache dev eth1 base_reachable 86400000 delay_probe 86400000",
        "ntable change name ndisc_cache dev eth1 base_reachable 86400000 delay_probe 86400000",
    ]


def test_routes(read: Read) -> None:
    assert {name: script.routes for name, script in scripts(read).items()} == {
        "h1": ["route add default via 198.18.0.2 dev eth0", "route add default via 2001:2::2 dev eth0"],
        "r1": [],
        "h2": ["route add default via 198.18.1.1 dev eth0", "route add default via 2001:2:0:1::1 dev eth0"],
    }


def test_a_link_too_small_for_ipv6_has_none(read: Read) -> None:
    lines = scripts(read, "mtu: 1279")["h1"]
    assert not any(":" in line.split()[2] for line in lines.devices if line.startswith("address"))
    assert lines.routes == ["route add default via 198.18.0.2 dev eth0"]


def test_only_routers_forward(read: Read) -> None:
    actual_scripts = scripts(read)
    assert actual_scripts["r1"].sysctl["net.ipv4.ip_forward"] == "1"
    assert actual_scripts["r1"].sysctl["net.ipv6.conf.all.forwarding"] == "1"
    assert "net.ipv4.ip_forward" not in actual_scripts["h1"].sysctl
    assert actual_scripts["h1"].sysctl["net.ipv4.tcp_rmem"] == "4096 87380 6291456"


@pytest.mark.parametrize(
    ("link", "queues"),
    [
        ("mtu: 1500", []),
        (
            "rate: 100Mbit",
            ["handle 1: tbf rate 100000000bit burst 25000 limit 650000 overhead 24 mpu 84"],
        ),
        ("rate: 100Mbit, queue: 10ms", ["tbf rate 100000000bit burst 25000 limit 150000 overhead 24 mpu 84"]),
        ("rate: 100Mbit, queue: 30kB, burst: 5kB", ["tbf rate 100000000bit burst 5000 limit 35000 overhead"]),
        ("rate: 100kbit", ["tbf rate 100000bit burst 3076 limit 134148 overhead"]),
        ("delay: 5ms", []),
        ("delay: 5ms, emulator: netem", ["root handle 10: netem delay 5000us limit"]),
        ("loss: 0.1%, emulator: netem", ["root handle 10: netem loss 0.1% limit"]),
        (
            "rate: 1Mbit, delay: 5ms, emulator: netem",
            ["root handle 10: netem delay 5000us limit", "parent 10:1 handle 1: tbf rate 1000000bit"],
        ),
        (
            "delay: 5ms, jitter: 1ms, jitter-distribution: normal, emulator: netem",
            ["netem delay 5000us 1000us distribution normal limit"],
        ),
        (
            "delay: 5ms, jitter: 1ms, jitter-distribution: pareto, emulator: netem",
            ["netem delay 5000us 6000us distribution pareto limit"],
        ),
        (
            "loss: 2%, loss-burst: 4, corrupt: 0.5%, emulator: netem",
            ["netem loss gemodel 0.510204082% 25% 100% 0% corrupt 0.5% limit"],
        ),
        (
            "gilbert-elliott: 1% 20% 0.5% 50%, delay: 1ms, reorder: 3%, emulator: netem",
            ["netem delay 1000us loss gemodel 1% 20% 50% 0.5% reorder 3% limit"],
        ),
        ("delay: 1ms, duplicate: 1%, emulator: netem", ["netem delay 1000us duplicate 1% limit"]),
    ],
)
def test_rate_queue_and_impairments(read: Read, link: str, queues: list[str]) -> None:
    actual_scripts = scripts(read, link)
    for node in ("h1", "r1"):
        lines = [line for line in actual_scripts[node].queues if " eth0 " in line]
        assert len(lines) == len(queues)
        assert all(wanted in line for line, wanted in zip(lines, queues, strict=True)), lines


@pytest.mark.parametrize(
    ("link", "state"),
    [("mtu: 1500", None), ("rate: 1Mbit", "off"), ("rate: 1Mbit, offload: true", "on"), ("offload: false", "off")],
)
def test_offload(read: Read, link: str, state: str | None) -> None:
    calls = scripts(read, link)["h1"].ethtool
    assert calls == (
        []
        if state is None
        else [["-K", "eth0", *f"tso {state} gso {state} gro {state} tx-udp-segmentation {state}".split()]]
    )


def test_the_script_can_be_typed_into_a_shell(read: Read) -> None:
    text = fill_pids(script_text(scripts(read)["h1"]), {"h1": "101", "r1": "102", "h2": "103"})
    words = [shlex.split(line) for line in text.splitlines()]
    assert ["sysctl", "-w", "net.ipv4.tcp_rmem=4096 87380 6291456"] in words
    assert words[-1] == ["ip", "route", "add", "default", "via", "2001:2::2", "dev", "eth0"]
    assert "netns 102" in text


def test_pids_are_those_of_the_names() -> None:
    assert fill_pids("{pid:r1} {pid:r10} {pid:r}", {"r": "1", "r1": "2", "r10": "3"}) == "2 3 1"


@dataclass
class FakeNode:
    """Runs commands by writing them down; `fails` maps a word of the input to what the program says."""

    pid: int
    done: list[str] = field(default_factory=list)
    running: list[Future[Completed]] = field(default_factory=list)
    fails: dict[str, str] = field(default_factory=dict)
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    most_running: int = 0

    def execute(self, argv: list[str], stdin: str = "") -> Future[Completed]:
        self.done.append(" ".join(argv) + ": " + stdin)
        fail = next((words for word, words in self.fails.items() if word in stdin or word in argv), None)
        future = Waited(self)
        self.running.append(future)
        self.most_running = max(self.most_running, len(self.running))
        future.set_result(Completed(argv=argv, exit=0 if fail is None else 1, stdout="", stderr=fail or ""))
        return future

    def set_sysctl(self, values: object) -> Future[object]:
        self.done.append("sysctl")
        future: Future[object] = Future()
        if "sysctl" in self.fails:
            future.set_exception(AgentError("system", self.fails["sysctl"]))
        else:
            future.set_result(None)
        return future

    def request(self, op: str, fields: Mapping[str, Any]) -> Future[dict[str, Any]]:
        self.done.append(f"{op}: {json.dumps(fields)}")
        future: Future[dict[str, Any]] = Future()
        if op in self.fails:
            future.set_exception(AgentError("system", self.fails[op]))
        else:
            future.set_result(self.answers.get(op, {}))
        return future


class Waited(Future[Completed]):
    """A command that runs until someone waits for it."""

    def __init__(self, node: FakeNode) -> None:
        super().__init__()
        self.node = node

    def result(self, timeout: float | None = None) -> Completed:
        self.node.running.remove(self)
        return super().result(timeout)


def nodes(**fails: dict[str, str]) -> dict[str, FakeNode]:
    return {name: FakeNode(100 + index, fails=fails.get(name, {})) for index, name in enumerate(("h1", "r1", "h2"))}


def test_a_network_is_built_step_by_step(read: Read) -> None:
    actual_nodes = nodes()
    build(network(read, "rate: 1Mbit"), actual_nodes)
    assert [line.split(":")[0].split(" -K")[0] for line in actual_nodes["h1"].done] == [
        *("sysctl", "ip -batch -", "ip -batch -", "ethtool", "tc -batch -"),
    ]
    assert "netns 101\n" in actual_nodes["h1"].done[1]


def test_a_node_runs_one_command_at_a_time(read: Read) -> None:
    """An agent has room for 16 (docs/protocol.md), and a router may have more links."""
    leaves = range(40)
    text = "topology:\n  nodes: {r1: router, " + ", ".join(f"h{i}: host" for i in leaves) + "}\n  links:\n"
    text += "".join(f"    - {{endpoints: [h{i}, r1], rate: 1Gbit}}\n" for i in leaves)
    topology = read(text + "between: [h1, h2]\npaths: {a: native4}\nworkloads: [ping]\n").topologies[0]
    fake_nodes = {name: FakeNode(index) for index, name in enumerate(topology.nodes)}
    build(topology, fake_nodes)
    assert sum("ethtool" in line for line in fake_nodes["r1"].done) == 40
    assert max(node.most_running for node in fake_nodes.values()) == 1


@pytest.mark.parametrize(
    ("fails", "message"),
    [
        (
            {"tbf": "Error: unknown qdisc.\nCommand failed -:1"},
            "building the network: tc -batch in r1 ended with 1: Error: unknown qdisc. Command failed -:1 "
            "(in: qdisc add dev eth0 root handle 1: tbf ",
        ),
        ({"-K": ""}, "building the network: ethtool -K eth0 tso off"),
        ({"-K": ""}, "in r1 ended with 1: it printed no message"),
        (
            {"link": "no\nCommand failed -:99"},
            "building the network: ip -batch in r1 ended with 1: no Command failed -:99",
        ),
        ({"sysctl": "r1: no such setting"}, "building the network: setting in r1: r1: no such setting"),
    ],
)
def test_a_failure_names_node_command_and_cause(read: Read, fails: dict[str, str], message: str) -> None:
    with pytest.raises(LabError) as caught:
        build(network(read, "rate: 1Mbit"), nodes(r1=fails))
    assert message in str(caught.value)


FOUR = """
topology:
  nodes: {h1: host, r1: router, r2: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, r2]}, {endpoints: [r2, h2]}]
paths: {p: PATH}
workloads: [ping]
"""


def path_network(read: Read, path: str) -> Network:
    experiment = read(FOUR.replace("PATH", path))
    return install(experiment.paths[0], experiment.topologies[0], experiment.between)


def test_a_tunnel_is_made_before_its_addresses_and_these_before_its_routes(read: Read) -> None:
    scripts = render_path(path_network(read, "{6in4: {nodes: [r1, r2], pmtu: dynamic}}"), "kernel")
    lines = script_text(scripts["r1"]).splitlines()
    assert lines[-4:] == [
        "ip link add 6in4-1 type sit local 198.18.1.1 remote 198.18.1.2 ttl 64 tos inherit pmtudisc",
        "ip link set 6in4-1 mtu 1480 up",
        "ip address add 2001:db8::1/64 dev 6in4-1 nodad",
        "ip route add 2001:2:0:2::/64 via 2001:db8::2 dev 6in4-1",
    ]
    assert "ip address add 198.18.1.1/24 dev eth1" in lines
    assert not [line for line in lines if line.startswith("ip address add 2001:2:0:1:")]
    assert not scripts["h1"].first_devices
    assert not scripts["h1"].made_routes


@pytest.mark.parametrize(
    ("link", "segments"),
    [("mtu: 1500", []), ("rate: 1Gbit", ["link set 6in4-1 gso_max_segs 1"]), ("rate: 1Gbit, offload: true", [])],
)
@pytest.mark.parametrize("engine", ["ebpf", "kernel"])
def test_a_tunnel_gets_no_super_packets_where_a_wire_of_its_node_carries_none(
    read: Read, link: str, segments: list[str], engine: str
) -> None:
    """They would reach the rate limiter of that wire as they are, which would count them as one packet."""
    text = TEXT.replace("LINK", link).replace("native4", "{6in4: [h1, h2]}")
    experiment = read(text)
    scripts = render_path(install(experiment.paths[0], experiment.topologies[0], ("h1", "h2")), engine)
    assert [line for line in scripts["h1"].made_addresses if "gso" in line] == segments
    assert [line for line in scripts["h2"].made_addresses if "gso" in line] == []


def test_what_only_the_agent_does_is_a_comment_in_the_script(read: Read) -> None:
    scripts = render_path(path_network(read, "{6in4: [r1, r2]}"), "ebpf")
    [line] = [line for line in script_text(scripts["r1"]).splitlines() if line.startswith("#")]
    assert line.startswith('# the agent: tunnel-add {"device": "6in4-1", "mtu_bytes": 1480, "outer": "ipv4"')


def test_a_plain_network_has_the_same_script_with_and_without_a_path(read: Read) -> None:
    network = path_network(read, "native6")
    assert {name: script_text(script) for name, script in render_path(network, "kernel").items()} == {
        name: script_text(script) for name, script in render(network.topology).items()
    }


def four(**answers: dict[str, dict[str, Any]]) -> dict[str, FakeNode]:
    return {
        name: FakeNode(100 + index, answers=answers.get(name, {}))
        for index, name in enumerate(("h1", "r1", "r2", "h2"))
    }


def asked(node: FakeNode, *words: str) -> list[str]:
    """Things done in a node that contain one of these words, in order."""
    return [line for line in node.done if any(word in line for word in words)]


ADVERTISED = {"router": "fe80::200:5efe:c612:102", "prefixes": [{"prefix": "2001:db8::/64", "autonomous": True}]}


def test_stages_follow_one_another_and_routes_come_last(read: Read) -> None:
    four_nodes = four(h1={"router-solicit": ADVERTISED})
    installed = build_path(path_network(read, "{isatap: [h1, r2]}"), "ebpf", four_nodes)
    assert installed.install_ns > 0
    assert (installed.undo, installed.programs) == ([], [])
    steps = asked(four_nodes["h1"], "tunnel-add", "router-solicit", "isatap-1")
    assert [step.split(":")[0] for step in steps] == ["tunnel-add", "router-solicit", "ip -batch -", "ip -batch -"]
    assert "address add 2001:db8::200:5efe:c612:1/64 dev isatap-1 nodad" in steps[2]
    assert "route add default via fe80::200:5efe:c612:102 dev isatap-1" in steps[3]
    assert asked(four_nodes["r2"], "router-advertise")


def test_an_answer_that_is_not_the_expected_one_fails_the_network(read: Read) -> None:
    four_nodes = four(h1={"router-solicit": ADVERTISED | {"router": "fe80::1"}})
    with pytest.raises(LabError) as caught:
        build_path(path_network(read, "{isatap: [h1, r2]}"), "ebpf", four_nodes)
    assert str(caught.value) == (
        "building the network: router-solicit in h1: the router fe80::1 advertised itself, "
        "where fe80::200:5efe:c612:102 was expected"
    )


def test_what_one_node_answered_is_asked_of_the_other_and_undone_in_the_reverse_order(read: Read) -> None:
    four_nodes = four(
        r2={"broker-start": {"port": 4242}},
        h1={"broker-request": {"device": "broker-1", "address": "2001:db8:b00::2/64"}},
    )
    undo = build_path(path_network(read, "{tunnel-broker: [h1, r2]}"), "ebpf", four_nodes).undo
    [request] = asked(four_nodes["h1"], "broker-request")
    assert '"port": 4242' in request
    assert [(item.node, item.op, dict(item.fields)) for item in undo] == [
        ("h1", "broker-release", {"device": "broker-1"}),
        ("r2", "broker-stop", {}),
    ]


@pytest.mark.parametrize(
    ("path", "node", "word", "message"),
    [
        ("{6in4: [r1, r2]}", "r1", "tunnel-add", "building the network: tunnel-add in r1: no such right"),
        ("{ds-lite: [r1, r2]}", "r2", "nft", "building the network: nft -f - in r2 ended with 1: no such right"),
        ("{6over4: [h1, h2]}", "r2", "multicast-forward", "building the network: multicast-forward in r2: no such"),
    ],
)
def test_a_mechanism_that_cannot_be_installed_names_node_and_cause(
    read: Read, path: str, node: str, word: str, message: str
) -> None:
    four_nodes = four()
    four_nodes[node].fails[word] = "no such right"
    with pytest.raises(LabError) as caught:
        build_path(path_network(read, path), "ebpf", four_nodes)
    assert str(caught.value).startswith(message)
