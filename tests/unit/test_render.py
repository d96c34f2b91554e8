"""Networks as commands."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

import pytest

from sixbench.lab.build import Completed, build
from sixbench.lab.render import NodeScript, fill_pids, render, script_text
from sixbench.model.errors import AgentError, LabError
from sixbench.model.experiment import Experiment
from sixbench.model.topology import Topology

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
    found = scripts(read)
    made = [(name, line.split(" type veth peer ")) for name, script in found.items() for line in script.links]
    assert [(name, words.split()[3], peer.split()[1], peer.split()[-1]) for name, (words, peer) in made] == [
        ("h1", "eth0", "eth0", "{pid:r1}"),
        ("r1", "eth1", "eth0", "{pid:h2}"),
    ]
    assert "address 02:00:00:00:01:01" in made[1][1][0]
    assert "address 02:00:00:00:01:02" in made[1][1][1]


def test_addresses_and_mtu(read: Read) -> None:
    assert scripts(read)["r1"].devices == [
        "link set lo up",
        "address add 198.18.0.2/24 dev eth0",
        "address add 2001:2::2/64 dev eth0 nodad",
        "link set eth0 mtu 1500 up",
        "address add 198.18.1.1/24 dev eth1",
        "address add 2001:2:0:1::1/64 dev eth1 nodad",
        "link set eth1 mtu 1400 up",
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
    found = scripts(read)
    assert found["r1"].sysctl["net.ipv4.ip_forward"] == "1"
    assert found["r1"].sysctl["net.ipv6.conf.all.forwarding"] == "1"
    assert "net.ipv4.ip_forward" not in found["h1"].sysctl
    assert found["h1"].sysctl["net.ipv4.tcp_rmem"] == "4096 87380 6291456"


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
        ("delay: 5ms", ["root netem delay 5000000ns 0ns limit"]),
        ("loss: 0.1%", ["root netem loss 0.1% limit"]),
        (
            "rate: 1Mbit, delay: 5ms, jitter: 1ms, loss: 2%",
            ["root handle 1: tbf", "parent 1:1 netem delay 5000000ns 1000000ns loss 2% limit"],
        ),
    ],
)
def test_rate_queue_and_impairments(read: Read, link: str, queues: list[str]) -> None:
    found = scripts(read, link)
    for node in ("h1", "r1"):
        lines = [line for line in found[node].queues if " eth0 " in line]
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
    text = script_text(scripts(read)["h1"], {"h1": "101", "r1": "102", "h2": "103"})
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
    most_running: int = 0

    def execute(self, argv: list[str], stdin: str = "") -> Future[Completed]:
        self.done.append(" ".join(argv) + ": " + stdin)
        said = next((words for word, words in self.fails.items() if word in stdin or word in argv), None)
        future = Waited(self)
        self.running.append(future)
        self.most_running = max(self.most_running, len(self.running))
        future.set_result(Completed(argv=argv, exit=0 if said is None else 1, stdout="", stderr=said or ""))
        return future

    def set_sysctl(self, values: object) -> Future[object]:
        self.done.append("sysctl")
        future: Future[object] = Future()
        if "sysctl" in self.fails:
            future.set_exception(AgentError("system", self.fails["sysctl"]))
        else:
            future.set_result(None)
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
    made = nodes()
    build(network(read, "rate: 1Mbit"), made)
    assert [line.split(":")[0].split(" -K")[0] for line in made["h1"].done] == [
        *("sysctl", "ip -batch -", "ip -batch -", "ethtool", "tc -batch -"),
    ]
    assert "netns 101\n" in made["h1"].done[1]


def test_a_node_runs_one_command_at_a_time(read: Read) -> None:
    """An agent has room for 16 (docs/protocol.md), and a router may have more links."""
    leaves = range(40)
    text = "topology:\n  nodes: {r1: router, " + ", ".join(f"h{i}: host" for i in leaves) + "}\n  links:\n"
    text += "".join(f"    - {{endpoints: [h{i}, r1], rate: 1Gbit}}\n" for i in leaves)
    topology = read(text + "between: [h1, h2]\npaths: {a: native4}\nworkloads: [ping]\n").topologies[0]
    made = {name: FakeNode(index) for index, name in enumerate(topology.nodes)}
    build(topology, made)
    assert sum("ethtool" in line for line in made["r1"].done) == 40
    assert max(node.most_running for node in made.values()) == 1


@pytest.mark.parametrize(
    ("fails", "message"),
    [
        (
            {"tbf": "Error: unknown qdisc.\nCommand failed -:1"},
            "building the network: tc -batch in r1 ended with 1: Error: unknown qdisc. Command failed -:1 "
            "(in: qdisc add dev eth0 root handle 1: tbf ",
        ),
        ({"-K": ""}, "building the network: ethtool -K eth0 tso off"),
        ({"-K": ""}, "in r1 ended with 1: it said nothing"),
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
