"""Networks between hosts that are not ours: what their links are, what is found of them, and what is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sixbench.bench import underlays
from sixbench.lab.render import render
from sixbench.mechanisms import MECHANISMS
from sixbench.model.errors import AgentError, CapabilityError, ExperimentError
from sixbench.model.experiment import Experiment
from sixbench.model.topology import Link
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.yaml_source import parse_yaml
from sixbench.report.hosts import host_properties
from sixbench.store import Environment, Manifest, Run, Underlay, UnderlayReading, UnderlayWay
from sixbench.theory import expected

pytestmark = pytest.mark.computes

TEXT = """
hosts:
  lab1: {{ssh: lab1, address: {near}}}
  lab2: {{ssh: lab2, address: {far}}}
topology:
  nodes: {{a: {{kind: host, on: lab1}}, b: {{kind: host, on: lab2}}}}
  links: [{{endpoints: [a, b], over: internet{mtu}}}]
paths: {paths}
workloads: [{{tcp-stream: {{duration: 1s}}}}]
"""
BOTH = "{ipv4: native4, ipv6: native6}"
V4, V6 = ("192.0.2.1", "192.0.2.2"), ("2001:db8::1", "2001:db8::2")


def read(addresses: tuple[str, str] = V4, mtu: str = "", paths: str = BOTH) -> Experiment:
    text = TEXT.format(near=addresses[0], far=addresses[1], mtu=mtu, paths=paths)
    return read_experiment(parse_yaml(text, "e.yaml"), MECHANISMS)


def link_of(experiment: Experiment) -> Link:
    [topology] = experiment.topologies
    [link] = topology.links
    return link


def seen(there: int | None, back: int | None = None, **more: str) -> UnderlayReading:
    ways = [UnderlayWay(path_mtu_bytes=size, routers=2) for size in (there, back or there)]
    return UnderlayReading(realtime_ns=1, there=ways[0], back=ways[1])


@pytest.fixture
def find(monkeypatch: pytest.MonkeyPatch) -> Callable[[Experiment, UnderlayReading], Experiment]:
    """Function for the experiment that results where the hosts see this of their network."""

    def result(experiment: Experiment, reading: UnderlayReading) -> Experiment:
        monkeypatch.setattr(underlays, "_read", lambda hub, near, far: reading)
        changed, facts = underlays.find_underlays(None, experiment)  # type: ignore[arg-type]
        [(name, fact)] = facts.items()
        assert (name, fact.hosts, fact.readings) == ("lab1 and lab2", ("lab1", "lab2"), (reading,))
        return changed

    return result


@pytest.mark.parametrize(("addresses", "most_bytes", "further"), [(V4, 1450, " ttl 64 df set"), (V6, 1430, " ttl 64")])
def test_it_is_vxlan_with_a_known_hop_limit_that_is_never_fragmented(
    addresses: tuple[str, str], most_bytes: int, further: str
) -> None:
    experiment = read(addresses)
    link = link_of(experiment)
    assert (link.over, link.mtu_bytes, link.finds_mtu) == ("internet", most_bytes, True)
    [line] = render(experiment.topologies[0])["(host lab1)"].links
    assert line.endswith(f"local {addresses[0]} remote {addresses[1]} dstport 4789{further}")


@pytest.mark.parametrize(
    ("addresses", "path_mtu_bytes", "mtu_bytes"), [(V4, 1400, 1350), (V6, 1400, 1330), (V4, 9000, 8950)]
)
def test_its_mtu_is_what_the_network_leaves(
    find: Callable[[Experiment, UnderlayReading], Experiment],
    addresses: tuple[str, str],
    path_mtu_bytes: int,
    mtu_bytes: int,
) -> None:
    link = link_of(find(read(addresses), seen(path_mtu_bytes)))
    assert (link.mtu_bytes, link.finds_mtu) == (mtu_bytes, False)


def test_the_narrower_direction_decides(find: Callable[[Experiment, UnderlayReading], Experiment]) -> None:
    assert link_of(find(read(), seen(1500, 1420))).mtu_bytes == 1370


def test_an_mtu_that_is_given_stays_or_is_refused(find: Callable[[Experiment, UnderlayReading], Experiment]) -> None:
    experiment = read(mtu=", mtu: 1350")
    assert not link_of(experiment).finds_mtu
    assert link_of(find(experiment, seen(1400))).mtu_bytes == 1350
    with pytest.raises(CapabilityError) as error:
        find(experiment, seen(1399))
    assert str(error.value) == (
        "link a-b has an MTU of 1350 bytes, and the network between lab1 and lab2 carries packets of 1399, which "
        "leaves 1349; give the link mtu: 1349, or none"
    )


@pytest.mark.parametrize(
    ("reading", "why"),
    [
        (seen(None), "no probe was answered"),
        (UnderlayReading(realtime_ns=1, not_known="timeout: the trial took longer"), "timeout: the trial took longer"),
    ],
)
def test_where_no_probe_comes_through_the_experiment_says_the_mtu(
    find: Callable[[Experiment, UnderlayReading], Experiment], reading: UnderlayReading, why: str
) -> None:
    with pytest.raises(CapabilityError) as error:
        find(read(), reading)
    assert str(error.value) == (
        f"link a-b: the path MTU of the network between lab1 and lab2 could not be found ({why}); give the link an "
        "mtu that fits"
    )
    assert link_of(find(read(mtu=", mtu: 1300"), reading)).mtu_bytes == 1300


def test_a_network_that_leaves_less_than_ipv6_needs(
    find: Callable[[Experiment, UnderlayReading], Experiment],
) -> None:
    with pytest.raises(CapabilityError) as error:
        find(read(), seen(1300))
    assert str(error.value) == (
        'path ipv6: no route leads from "a" to "b" over IPv6: the link "a-b" does not carry it; the network below a-b '
        "leaves it an MTU of 1250 bytes, and IPv6 needs 1280; leave the path out"
    )
    assert link_of(find(read(paths="{ipv4: native4}"), seen(1300))).mtu_bytes == 1250


def test_theory_says_nothing_about_it() -> None:
    experiment = read(mtu=", rate: 10Mbit")
    [topology] = experiment.topologies
    for path in experiment.paths:
        assert expected("tcp-stream", {}, path, topology, experiment.between) == {}


def test_addresses_are_needed_at_which_hosts_reach_each_other() -> None:
    with pytest.raises(ExperimentError) as error:
        read(("192.0.2.1", "2001:db8::2"))
    assert "the addresses of lab1 and lab2 are of two families; give both of one" in str(error.value)


def run_of(*readings: UnderlayReading) -> Run:
    experiment = read()
    underlay = Underlay(hosts=("lab1", "lab2"), family=4, readings=readings)
    environment = Environment(
        kernel="6.18",
        machine="x",
        cpu="x",
        distribution="x",
        cores=2,
        memory_bytes=1,
        versions={},
        underlays={"lab1 and lab2": underlay},
    )
    manifest = Manifest(
        run="internet", experiment=experiment, environment=environment, state="complete", started_realtime_ns=1
    )
    return Run(directory=Path(), manifest=manifest, trials=[])


def test_a_report_tells_what_was_seen_and_what_changed() -> None:
    narrow = UnderlayWay(path_mtu_bytes=1400, routers=1, narrowest="203.0.113.1")
    first = UnderlayReading(realtime_ns=1, there=narrow, back=narrow)
    message = "not ours, IPv4, path MTU 1400 B (limited by 203.0.113.1), 1 router there and back"
    name = "Network between lab1 and lab2"
    assert host_properties(run_of(first, first)) == [(name, f"{message}; nothing else is known of it")]
    last = UnderlayReading(realtime_ns=2, there=narrow, back=UnderlayWay(path_mtu_bytes=1500))
    [(_, text)] = host_properties(run_of(first, last))
    assert text == (
        f"{message}; at the end path MTU 1400 B (limited by 203.0.113.1), 1 router there, path MTU 1500 B, an unknown "
        "number of routers back; nothing else is known of it"
    )


def test_a_host_that_has_gone_tells_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"lab1 and lab2": Underlay(hosts=("lab1", "lab2"), readings=(seen(1400),))}
    topologies = read().topologies

    class Hub:
        def __init__(self, joined: bool) -> None:
            self.joined = joined

        def has_joined(self, host: str) -> bool:
            return self.joined

    def gone(hub: Hub, near: object, far: object) -> UnderlayReading:
        raise AgentError("agent-gone", "lab2 has gone")

    assert underlays.read_again(Hub(False), known, topologies) == known  # type: ignore[arg-type]
    monkeypatch.setattr(underlays, "_read", gone)
    assert underlays.read_again(Hub(True), known, topologies) == known  # type: ignore[arg-type]
    monkeypatch.setattr(underlays, "_read", lambda hub, near, far: seen(1500))
    [again] = underlays.read_again(Hub(True), known, topologies).values()  # type: ignore[arg-type]
    assert [reading.path_mtu_bytes for reading in again.readings] == [1400, 1500]
