"""Addresses and hop limits on a wire, against those that the path claims there."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

import pytest

from sixbench.bench.proof.legs import LegMatch
from sixbench.mechanisms import install
from sixbench.model.captured import IpHeader
from sixbench.model.experiment import Experiment
from sixbench.model.headers import stack_name
from sixbench.model.leg import Crossing

pytestmark = pytest.mark.computes

Read = Callable[[str], Experiment]

EXPERIMENT = """
topology:
  nodes: {{h1: host, r1: router, r2: router, h2: host}}
  links: [{{endpoints: [h1, r1]}}, {{endpoints: [r1, r2]}}, {{endpoints: [r2, h2]}}]
between: [h1, h2]
paths: {{path: {path}}}
workloads: [ping]
"""


def crossings(read: Read, path: str) -> tuple[Crossing, ...]:
    experiment = read(EXPERIMENT.format(path=path))
    return install(experiment.paths[0], experiment.topologies[0], experiment.between).crossings


def headers(crossing: Crossing, is_forward: bool = True, **changed: Any) -> list[dict[str, Any]]:
    """The IP headers of a packet there. `changed`: what is different in the innermost one."""
    layers = []
    for ip in crossing.ip:
        source, destination = (ip.source, ip.destination) if is_forward else (ip.destination, ip.source)
        limit = ip.hop_limit if is_forward else ip.reverse_hop_limit
        layers.append({"kind": f"ipv{ip.family}", "source": source, "destination": destination, "hop_limit": limit})
        layers[-1] |= {name: str(layers[-1][name]) for name in ("source", "destination")}
    layers[-1] |= changed
    return layers


def seen(crossing: Crossing, *packets: list[dict[str, Any]], **options: Any) -> LegMatch:
    match = LegMatch(crossings=(crossing,), **options)
    for layers in packets:
        match.see(stack_name(crossing.headers), [IpHeader(**layer) for layer in layers])
    return match


def test_packets_to_a_network_behind_the_host_fit(read: Read) -> None:
    [*_, last] = crossings(read, "native4")
    match = seen(last, headers(last, destination="198.19.128.2"), destinations={ip_address("198.19.128.2")})
    assert (match.compared, match.addresses.total()) == (1, 0)
    assert seen(last, headers(last, destination="198.19.128.2")).addresses.total() == 1


PATHS = ["native4", "native6", "{6in4: [r1, r2]}", "{4in6: [r1, r2]}", "{gre: [r1, r2]}", "{vxlan: [r1, r2]}"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("is_forward", [True, False])
def test_packets_of_the_path_fit_on_every_wire(read: Read, path: str, is_forward: bool) -> None:
    for crossing in crossings(read, path):
        match = seen(crossing, headers(crossing, is_forward))
        assert (match.compared, match.reasons("there")) == (1, [])


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "changed",
    [{"source": "192.0.2.7"}, {"source": "2001:db8::7"}, {"destination": "192.0.2.7"}, {"destination": "2001:db8::7"}],
)
def test_other_addresses_are_told(read: Read, path: str, changed: dict[str, str]) -> None:
    for crossing in crossings(read, path):
        [reason] = seen(crossing, headers(crossing, **changed)).reasons("there")
        assert reason.kind == "other-path"
        assert reason.text.startswith("1 of 1 packets seen there had other addresses, such as ")
        assert next(iter(changed.values())) in reason.text


def test_what_is_told_of_addresses(read: Read) -> None:
    _, tunnelled, _ = crossings(read, "{6in4: [r1, r2]}")
    outer, inner = headers(tunnelled)
    [reason] = seen(tunnelled, [outer | {"source": "198.18.9.9"}, inner]).reasons("on r1-r2 at r2")
    assert reason.text == (
        "1 of 1 packets seen on r1-r2 at r2 had other addresses, such as 198.18.9.9 > 198.18.1.2, "
        "where the path claims 2001:2::1 > 2001:2:0:2::2 in 198.18.1.1 > 198.18.1.2"
    )


def test_addresses_of_one_direction_each(read: Read) -> None:
    """A packet to the server in an outer one to the client is of neither direction."""
    _, tunnelled, _ = crossings(read, "{6in4: [r1, r2]}")
    [reason] = seen(tunnelled, [headers(tunnelled)[0], headers(tunnelled, is_forward=False)[1]]).reasons("there")
    assert "other addresses" in reason.text


@pytest.mark.parametrize("is_forward", [True, False])
def test_another_hop_limit_is_told(read: Read, is_forward: bool) -> None:
    crossing = crossings(read, "native4")[1]
    wrong = headers(crossing, is_forward, hop_limit=61)
    assert headers(crossing, is_forward)[0]["hop_limit"] == 63
    match = seen(crossing, wrong)
    assert match.hop_limits == {"ipv4 61": 1}
    [reason] = match.reasons("there")
    assert reason.text == (
        "1 of 1 packets seen there had another hop limit, such as ipv4 61, "
        "where the path claims ipv4 63 to the server and 63 back"
    )
    assert seen(crossing, wrong, chooses_hop_limits=True).reasons("there") == []


def test_the_hop_limit_of_a_packet_is_that_of_its_direction(read: Read) -> None:
    crossing = crossings(read, "native6")[0]
    there, back = (headers(crossing, is_forward)[0]["hop_limit"] for is_forward in (True, False))
    assert (there, back) == (64, 62)
    assert seen(crossing, headers(crossing, is_forward=True, hop_limit=back)).hop_limits == {"ipv6 62": 1}
    assert seen(crossing, headers(crossing, is_forward=False, hop_limit=there)).hop_limits == {"ipv6 64": 1}


@pytest.mark.parametrize(("others", "is_told"), [(1, False), (8, False), (9, True)])
def test_an_eighth_may_be_of_somebody_else(read: Read, others: int, is_told: bool) -> None:
    crossing = crossings(read, "native4")[1]
    foreign = [headers(crossing, source="192.0.2.7")] * others
    match = seen(crossing, *foreign, *[headers(crossing)] * (64 - others))
    assert match.addresses == {f"192.0.2.7 > {crossing.destination}": others}
    assert bool(match.reasons("there")) is is_told


def test_what_a_capture_does_not_say_is_not_compared(read: Read) -> None:
    crossing = crossings(read, "native4")[1]
    assert seen(crossing, [{"kind": "ipv4"}]).compared == 0
    assert seen(crossing, headers(crossing, hop_limit=None)).reasons("there") == []
    other = LegMatch(crossings=(crossing,))
    other.see("ipv6", [{"kind": "ipv6", "source": "2001:2::1", "destination": "2001:2::2"}])
    assert other.compared == 0
