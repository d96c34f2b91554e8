"""Networks that are built: addresses, routes, MTU, rates, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
from concurrent.futures import Future
from pathlib import Path

import pytest
from processes import descendants
from waiting import wait_for

from sixbench.agent import AgentHub
from sixbench.bench.laboratory import MORE_BUILDS, AgentNode, Laboratory, brought_up
from sixbench.lab.build import Completed
from sixbench.lab.registry import start_ticks
from sixbench.mechanisms import install
from sixbench.model.errors import AgentError, LabError, MissingRouteError
from sixbench.model.network import Blueprint
from sixbench.model.path import Path as NetworkPath
from sixbench.model.topology import Family
from sixbench.plan.experiment_file import read_topology_only
from sixbench.plan.yaml_source import parse_yaml

LINE = """
nodes: {h1: host, r1: router, r2: router, h2: host}
links:
  - {endpoints: [h1, r1], mtu: 9000}
  - {endpoints: [r1, r2], mtu: 1280, rate: 50Mbit}
  - {endpoints: [r2, h2], mtu: 1500}
"""

RING = """
nodes: {h1: host, r1: router, r2: router, r3: router, h2: host, h3: host}
links:
  - {endpoints: [h1, r1]}
  - {endpoints: [r1, r2]}
  - {endpoints: [r2, r3]}
  - {endpoints: [r3, r1]}
  - {endpoints: [r2, h2], ipv4: [192.168.7.1/24, 192.168.7.2/24], ipv6: ["2001:db8:7::1/64", "2001:db8:7::2/64"]}
  - {endpoints: [h3, r3]}
"""


def laboratory(hub: AgentHub, text: str) -> Laboratory:
    return Laboratory(hub, Blueprint(topology=read_topology_only(parse_yaml(text, "test.yaml"))))


def check_reachable(lab: Laboratory, client: str, server: str, family: Family) -> None:
    native = install(
        NetworkPath(name="native", mechanism=f"native{family}", family=family), lab.topology, (client, server)
    )
    lab.check_reachable(native.legs)


def execute(lab: Laboratory, node: str, *argv: str) -> str:
    done = lab.agents[node].call("exec", argv=list(argv))
    assert done["exit"] == 0, done
    return str(done["stdout"])


@pytest.mark.parametrize(("text", "hosts"), [(LINE, ["h1", "h2"]), (RING, ["h1", "h2", "h3"])])
def test_every_host_reaches_every_host_over_both_families(hub: AgentHub, text: str, hosts: list[str]) -> None:
    lab = laboratory(hub, text)
    for client in hosts:
        for server in hosts:
            if client != server:
                check_reachable(lab, client, server, 4)
                check_reachable(lab, client, server, 6)


def test_addresses_are_the_ones_that_plan_tells_and_duplicate_detection_is_off(hub: AgentHub) -> None:
    lab = laboratory(hub, RING)
    [eth0] = json.loads(execute(lab, "h2", "ip", "-j", "address", "show", "dev", "eth0"))
    addresses = {(a["local"], a["prefixlen"]): a for a in eth0["addr_info"]}
    assert ("192.168.7.2", 24) in addresses
    assert addresses["2001:db8:7::2", 64].get("tentative") is None
    settings = lab.agents["h2"].call("sysctl", get=["net.ipv6.conf.eth0.accept_dad"])["values"]
    assert settings["net.ipv6.conf.eth0.accept_dad"] == "0"


def test_links_have_their_mtu_and_rate_and_no_offload_where_there_is_a_rate(hub: AgentHub) -> None:
    lab = laboratory(hub, LINE)
    [link] = json.loads(execute(lab, "r1", "ip", "-j", "link", "show", "dev", "eth1"))
    assert link["mtu"] == 1280
    [tbf] = json.loads(execute(lab, "r1", "tc", "-j", "qdisc", "show", "dev", "eth1"))
    assert tbf["kind"] == "tbf"
    assert tbf["options"]["rate"] * 8 == 50_000_000
    assert "tcp-segmentation-offload: off" in execute(lab, "r1", "ethtool", "-k", "eth1")
    assert "tcp-segmentation-offload: on" in execute(lab, "r1", "ethtool", "-k", "eth0")


def test_a_link_under_1280_carries_ipv4_only(hub: AgentHub) -> None:
    lab = laboratory(hub, "nodes: {h1: host, h2: host}\nlinks: [{endpoints: [h1, h2], mtu: 576}]")
    check_reachable(lab, "h1", "h2", 4)
    assert "2001:2::1" not in execute(lab, "h1", "ip", "address")


def test_settings_of_the_user_reach_the_node(hub: AgentHub) -> None:
    lab = laboratory(
        hub, "nodes: {h1: {kind: host, sysctl: {net.ipv4.tcp_sack: 0}}, h2: host}\nlinks: [{endpoints: [h1, h2]}]"
    )
    assert lab.agents["h1"].call("sysctl", get=["net.ipv4.tcp_sack"])["values"] == {"net.ipv4.tcp_sack": "0"}
    assert lab.agents["h2"].call("sysctl", get=["net.ipv4.tcp_sack"])["values"] == {"net.ipv4.tcp_sack": "1"}


def test_a_path_without_answers_names_the_node_that_is_gone(hub: AgentHub, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ends only notice that nobody answers."""
    monkeypatch.setattr("sixbench.bench.laboratory.ECHO_TIMEOUTS_NS", (1_000_000,))
    lab = laboratory(hub, LINE)
    native = install(NetworkPath(name="native", mechanism="native4", family=4), lab.topology, ("h1", "h2"))
    os.kill(lab.agents["r2"].pid, signal.SIGKILL)
    wait_for(lambda: not lab.agents["r2"].alive and "eth1" not in execute(lab, "r1", "ip", "link"))
    with pytest.raises(LabError, match=r"the agent of r2 \(process \d+\) was killed by signal 9; .*no answer"):
        lab.check_path(native)


def test_a_network_that_cannot_be_built_says_which_command_failed_and_leaves_nothing(hub: AgentHub) -> None:
    before = set(Path("/proc").glob("[0-9]*"))
    with pytest.raises((LabError, AgentError), match="no_such_setting"):
        laboratory(
            hub,
            "nodes: {h1: {kind: host, sysctl: {net.ipv4.no_such_setting: 1}}, h2: host}\n"
            "links: [{endpoints: [h1, h2]}]",
        )
    left = [path for path in set(Path("/proc").glob("[0-9]*")) - before if _is_agent(path)]
    assert left == []


def test_closing_a_network_takes_agents_and_interfaces_away(hub: AgentHub) -> None:
    interfaces = {path.name for path in Path("/sys/class/net").iterdir()}
    lab = laboratory(hub, LINE)
    pids = [agent.pid for agent in lab.agents.values()]
    lab.close()
    assert [pid for pid in pids if start_ticks(pid) is not None] == []
    assert {path.name for path in Path("/sys/class/net").iterdir()} == interfaces


class ForgetfulKernel:
    """A kernel that has the addresses of h1 in its first networks, but not their routes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, networks: int) -> None:
        self.left = networks
        self._execute = AgentNode.execute
        monkeypatch.setattr(AgentNode, "execute", lambda node, argv, stdin="": self.execute(node, argv, stdin))

    def execute(self, node: AgentNode, argv: list[str], stdin: str) -> Future[Completed]:
        before, result, after = stdin.partition("route add")
        if result and node.agent.name == "h1" and self.left > 0:
            self.left -= 1
            stdin = f"{before}route del 2001:2::/64 dev eth0\n{result}{after}"
        return self._execute(node, argv, stdin)


def test_a_network_for_which_the_kernel_left_out_a_route_is_built_anew(
    hub: AgentHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = ForgetfulKernel(monkeypatch, MORE_BUILDS)
    before = set(Path("/proc").glob("[0-9]*"))
    lab = brought_up(hub, Blueprint(topology=read_topology_only(parse_yaml(LINE, "test.yaml"))))
    assert kernel.left == 0
    check_reachable(lab, "h1", "h2", 6)
    lab.close()
    left = [path for path in set(Path("/proc").glob("[0-9]*")) - before if _is_agent(path)]
    assert left == []


def test_a_network_for_which_the_kernel_leaves_out_routes_each_time_says_so(
    hub: AgentHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = ForgetfulKernel(monkeypatch, MORE_BUILDS + 2)
    with pytest.raises(MissingRouteError, match=r"ip -batch in h1 ended with 1: .*No route to host"):
        brought_up(hub, Blueprint(topology=read_topology_only(parse_yaml(LINE, "test.yaml"))))
    assert kernel.left == 1


def agents() -> set[int]:
    """The agents that this process has started, itself or by others, and not those of other tests on the machine."""
    return {pid for pid in descendants(os.getpid()) if _is_agent(pid)}


def _is_agent(pid: int) -> bool:
    try:
        return "sixbench-agent" in Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return False
