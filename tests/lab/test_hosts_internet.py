"""A lab on each of two machines, and between them a network that is not ours: two routers, of which nobody tells."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.host_machines import Machines, machines
from lab.test_hosts import is_home, outcomes, trials
from waiting import wait_for

from sixbench.model.topology import Family

FAR_MTU_BYTES = 1400
"""MTU of the link between the two routers: after 50 bytes of headers it leaves 1350."""

EXPERIMENT = """
experiment: internet
{hosts}
topology:
  nodes:
    client: {{kind: host, on: lab1}}
    ra: {{kind: router, on: lab1}}
    rb: {{kind: router, on: lab2}}
    server: {{kind: host, on: lab2}}
  links:
    - {{endpoints: [client, ra], rate: 20Mbit}}
    - {{endpoints: [ra, rb], over: internet{mtu}}}
    - {{endpoints: [rb, server], rate: 20Mbit}}
paths: {{ipv4: native4, ipv6: native6}}
workloads: [{{ping: {{count: 5, interval: 2ms}}}}, {{udp-stream: {{rate: 1Mbit, duration: 200ms, datagram: 1200B}}}}]
blocks: 1
repeats: 0
"""


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """Two hosts with two routers between them."""
    if os.geteuid() != 0:
        pytest.skip("a machine with an sshd of its own takes root")
    with machines(tmp_path_factory.mktemp("internet"), far_mtu_bytes=FAR_MTU_BYTES) as actual_machines:
        yield actual_machines


def written(hosts: Machines, name: str, mtu: str = "", family: Family = 4) -> Path:
    addresses = {item: f", address: '{hosts.address(item, family)}'" for item in ("lab1", "lab2")}
    path = hosts.scratch / f"{name}.yaml"
    path.write_text(EXPERIMENT.format(hosts=hosts.hosts(**addresses), mtu=mtu))
    return path


def settings(hosts: Machines) -> dict[str, str]:
    """Settings of the machines' own networks: interfaces, routes, and what is known of paths."""
    return {
        name: hosts.interfaces(name)
        + hosts.inside(name, "ip", "route", "show", "table", "all")
        + hosts.inside(name, "sysctl", "net.ipv4.ip_forward", "net.ipv4.conf.all.rp_filter")
        for name in ("lab1", "lab2")
    }


@pytest.mark.parametrize(("family", "outer_bytes"), [(4, 50), (6, 70)], ids=["over IPv4", "over IPv6"])
def test_a_lab_on_each_side_of_a_network_that_is_not_ours(hosts: Machines, family: Family, outer_bytes: int) -> None:
    before, run = settings(hosts), hosts.scratch / f"run{family}"
    done = hosts.run("run", written(hosts, f"internet{family}", family=family), "--out", run, "--quiet")
    assert done.returncode == 0, done.stderr
    actual_trials = trials(run)
    assert outcomes(actual_trials) == ["ok"] * 4, [trial["reasons"] for trial in actual_trials]
    manifest = json.loads((run / "manifest.json").read_text())
    # The MTU of the link is what the network between the hosts leaves, and no MTU is found any more.
    [topology] = manifest["experiment"]["topologies"]
    [far] = [link for link in topology["links"] if link.get("over") == "internet"]
    assert (far["mtu_bytes"], far.get("finds_mtu", False)) == (FAR_MTU_BYTES - outer_bytes, False)
    # What can be seen of it is told, as it was before and after: path MTU, hop limit spent, family.
    underlay = manifest["environment"]["underlays"]["lab1 and lab2"]
    assert underlay["family"] == family
    assert len(underlay["readings"]) == 2
    for reading in underlay["readings"]:
        for direction in (reading["there"], reading["back"]):
            assert (direction["path_mtu_bytes"], direction["routers"]) == (FAR_MTU_BYTES, 2)
    report = hosts.run("report", run, "--format", "markdown")
    assert f"IPv{family}, path MTU {FAR_MTU_BYTES} B" in report.stdout, report.stderr
    assert "nothing else is known of it" in report.stdout
    for trial in actual_trials:
        # On the wire of the labs it is the path's own packets, and nothing is foretold of what is between.
        assert [segment["stacks"].keys() for segment in trial["evidence"]["segments"]] == [{trial["path"]}] * 3
        assert "theory" not in trial or not trial["theory"]
        # What left one end arrived at the other.
        counters = trial["evidence"]["counters"]
        [left, arrived] = [counters[node]["interfaces"][end] for node, end in _ends(topology)]
        assert left["tx_packets"] >= 5
        assert arrived["rx_packets"] == left["tx_packets"]
    wait_for(lambda: settings(hosts) == before)
    assert is_home(hosts, {name: hosts.interfaces(name) for name in ("lab1", "lab2")})


def _ends(topology: dict[str, list[dict[str, list[dict[str, str]]]]]) -> list[tuple[str, str]]:
    [far] = [link for link in topology["links"] if link.get("over") == "internet"]
    return [(end["node"], end["name"]) for end in far["ends"]]


def test_an_mtu_that_the_network_does_not_carry_is_refused(hosts: Machines) -> None:
    before = settings(hosts)
    done = hosts.run("run", written(hosts, "wide", mtu=", mtu: 1450"), "--out", hosts.scratch / "wide", "--quiet")
    assert done.returncode == 3
    assert (
        "link ra-rb has an MTU of 1450 bytes, and the network between lab1 and lab2 carries packets of 1400, which "
        "leaves 1350; give the link mtu: 1350, or none"
    ) in done.stderr
    assert not (hosts.scratch / "wide").exists()
    wait_for(lambda: settings(hosts) == before)
