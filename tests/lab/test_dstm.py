"""DSTM in a real network of two hosts: each leases its own address, and the IPv4 network sees it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lab.experiments import read, run, wrong
from lab.wire import decode

from sixbench.agent import Agent, AgentHub
from sixbench.bench.laboratory import Laboratory
from sixbench.mechanisms import install
from sixbench.model.errors import AgentError
from sixbench.model.network import Network

EXPERIMENT = """
topology:
  nodes: {h1: host, h3: host, r1: router, r2: router, r3: router, h2: host}
  links:
    - {endpoints: [h1, r1]}
    - {endpoints: [h3, r1]}
    - {endpoints: [r1, r2]}
    - {endpoints: [r2, r3]}
    - {endpoints: [r3, h2], mtu: 1400}
between: [h3, h2]
paths: {leased: {dstm: {nodes: [h1, h3, r2], server: r1, pool: 192.0.2.0/29}}}
workloads:
  - ping: {count: 5, interval: 2ms}
  - udp-rr: {message: 200B, duration: 50ms, warmup: 0s}
  - tcp-stream: {bytes: 500kB, warmup: 0s}
  - pmtu
blocks: 1
"""


def test_the_second_host_is_seen_by_its_own_address(hub: AgentHub, tmp_path: Path) -> None:
    finished = run(hub, EXPERIMENT, tmp_path / "run")
    assert wrong(finished.trials) == []
    packets = decode([file for trial in finished.trials for file in finished.captures(trial).values()], tmp_path)
    inside, outside = (
        [packet for packet in packets if packet.file.stem == link and not packet.keeps_the_link_going]
        for link in ("r1-r2", "r2-r3")
    )
    assert {packet.stack for packet in inside} == {("ipv6", "ip")}
    assert {packet.sources[0] for packet in inside} == {"2001:2:0:1::1", "2001:2:0:2::2"}
    assert {packet.stack for packet in outside if packet.transport != "icmp"} == {("ip",)}
    # The third is the router before the narrow link, with its errors.
    assert (
        {"192.0.2.3", "198.18.4.2"}
        <= {packet.sources[0] for packet in outside}
        <= {"192.0.2.3", "198.18.4.2", "198.18.3.2"}
    )
    [path_mtu] = [trial for trial in finished.trials if trial.workload == "pmtu"]
    assert path_mtu.metrics["pmtu_forward_bytes"] == 1400


@pytest.fixture
def built(hub: AgentHub) -> tuple[Laboratory, Network]:
    """The network with nothing sent yet."""
    experiment = read(hub, EXPERIMENT)
    [path] = experiment.paths
    assert path.engine is not None
    network = install(path, experiment.topologies[0], experiment.between)
    return Laboratory(hub, network, path.engine), network


def test_hosts_lease_different_addresses_and_a_full_pool_says_so(built: tuple[Laboratory, Network]) -> None:
    lab, network = built
    h1, h3, server = (lab.agents[name] for name in ("h1", "h3", "r1"))
    assert {address(h1, "dstm-1"), address(h3, "dstm-2")} == {"192.0.2.2", "192.0.2.3"}
    lab.check_reachable(network.legs)
    # Each reaches the other by the tunnel end point, which knows whose address is whose.
    assert "bytes from 192.0.2.2" in ping(h3, "192.0.2.2")
    assert "bytes from 192.0.2.3" in ping(lab.agents["h2"], "192.0.2.3")
    assert "Unreachable" in ping(lab.agents["h2"], "192.0.2.6")

    server.call("broker-stop")
    fields = network.stages[0]["r1"].requests[0].fields
    item = fields["addresses"] | {"last": "192.0.2.2"}
    port = server.call("broker-start", **fields | {"addresses": item})["port"]
    asked = {
        node: dict(stage[node].requests[0].fields) | {"device": "again", "port": port}
        for node, stage in zip(("h1", "h3"), network.stages[1:3], strict=True)
    }
    assert h3.call("broker-request", **asked["h3"])["address"] == "192.0.2.2/32"
    with pytest.raises(AgentError, match=r"it refuses: no-room \(all its leases are taken\)") as refused:
        h1.call("broker-request", **asked["h1"])
    assert refused.value.code == "refused"
    h3.call("broker-release", device="again")
    assert h1.call("broker-request", **asked["h1"])["address"] == "192.0.2.2/32"


def address(agent: Agent, device: str) -> str:
    """The IPv4 address of a device that has one."""
    done = agent.call("exec", argv=["ip", "-j", "-4", "address", "show", "dev", device])
    [addr_info] = json.loads(done["stdout"])[0]["addr_info"]
    return str(addr_info["local"])


def ping(agent: Agent, destination: str) -> str:
    """Output of ping(8) for one echo."""
    done = agent.call("exec", argv=["ping", "-n", "-c", "1", "-W", "5", destination])
    return str(done["stdout"])
