"""The networks between hosts that are not ours, below links `over: internet`: what can be seen of them from both ends.

A probe is a path MTU discovery (RFC 8899) between agents in the hosts' own namespaces, in both directions, by datagrams
that have a token of their own. Nothing of the hosts is changed: not even what their kernels know of path MTUs is
forgotten.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..agent import Agent, AgentHub
from ..agent.requests import ClientRunRequest, Serve
from ..lab.machines import agent_of
from ..mechanisms import MechanismError, install
from ..model.errors import AgentError, CapabilityError
from ..model.experiment import Experiment
from ..model.host import Host
from ..model.quoting import printable
from ..model.topology import Family, Link, Topology
from ..model.underlay import overhead_bytes
from ..model.workload import Result
from ..model.workloads import pmtu
from ..store import Underlay, UnderlayReading, UnderlayWay
from .session import ANSWER_TIMEOUT_S, cancel, finish, wait_for_run

PARAMS = {"transfer_bytes": 1, "stall_timeout_ns": 10**9, "forget": False}
"""Parameters of the probe: TCP is asked for next to nothing, and the hosts forget nothing."""
LIMIT_NS = 120 * 10**9
"""Longest time that a probe may take: some twenty sizes each way, each lost three times."""


def find_underlays(hub: AgentHub, experiment: Experiment) -> tuple[Experiment, dict[str, Underlay]]:
    """Looks at what links `over: internet` cross, and gives these links the MTU that is left of it, where the
    experiment gives none. The hosts must have been joined. Raises `CapabilityError`, and `AgentError`."""
    pairs = {_pair(topology, link): topology for topology in experiment.topologies for link in _links(topology)}
    underlays: dict[tuple[str, str], Underlay] = {}
    for (near, far), topology in pairs.items():
        hosts = topology.hosts[near], topology.hosts[far]
        underlays[near, far] = Underlay(hosts=(near, far), family=_family(hosts[0]), readings=(_read(hub, *hosts),))
    topologies = tuple(_with_mtus(topology, underlays) for topology in experiment.topologies)
    experiment = replace(experiment, topologies=topologies)
    _check_ways(experiment)
    return experiment, {f"{near} and {far}": underlay for (near, far), underlay in underlays.items()}


def read_again(hub: AgentHub, known: Mapping[str, Underlay], topologies: Sequence[Topology]) -> dict[str, Underlay]:
    """The facts about these networks, with their current state. Hosts that have gone tell nothing more."""
    hosts = {name: host for topology in topologies for name, host in topology.hosts.items()}
    underlays = dict(known)
    for name, underlay in known.items():
        ends = [hosts[host] for host in underlay.hosts if host in hosts]
        if len(ends) < len(underlay.hosts) or not all(host.ssh is None or hub.has_joined(host.name) for host in ends):
            continue
        try:
            reading = _read(hub, *ends)
        except (AgentError, CapabilityError):
            continue
        underlays[name] = replace(underlay, readings=(*underlay.readings, reading))
    return underlays


def _family(host: Host) -> Family:
    assert host.address is not None, "a host at the end of such a link has an address"
    return 4 if host.address.version == 4 else 6


def _links(topology: Topology) -> list[Link]:
    return [link for link in topology.wires if link.over == "internet"]


def _pair(topology: Topology, link: Link) -> tuple[str, str]:
    near, far = (topology.nodes[end.node].on for end in link.ends)
    assert near is not None
    assert far is not None
    return near, far


def _read(hub: AgentHub, near: Host, far: Host) -> UnderlayReading:
    agents: list[Agent] = []
    try:
        for host in (near, far):
            agents.append(hub.start_here(agent_of(host.name), None if host.ssh is None else host.name))
        return _probe(near, far, *agents)
    finally:
        hub.stop(agents)


def _probe(near: Host, far: Host, client: Agent, server: Agent) -> UnderlayReading:
    """A look from `near` to `far` and back. What no probe was answered on is not known, and the reason is told."""
    at_ns = time.time_ns()
    key, token, workload = "underlay", secrets.token_hex(16), pmtu.KIND.name
    near_text, other = str(near.address), str(far.address)
    served = server.answer(
        Serve(session=key, workload=workload, token=token, params=PARAMS, address=other, peer=near_text),
        timeout_s=ANSWER_TIMEOUT_S,
    )
    run = ClientRunRequest(
        session=key, workload=workload, address=near_text, peer=other, port=served.port, token=token, params=PARAMS
    )
    try:
        there = wait_for_run(client, client.ask(run), key, LIMIT_NS)
        back = finish(server, key, workload, PARAMS, there)
    except AgentError as error:
        cancel(server, key)
        return UnderlayReading(realtime_ns=at_ns, not_known=printable(str(error)))
    return UnderlayReading(
        realtime_ns=at_ns, there=_direction_of(there["forward"]), back=_direction_of(back["reverse"])
    )


def _direction_of(results: Result) -> UnderlayWay:
    hop = results.get("limiting_hop") or {}
    address = hop.get("address")
    return UnderlayWay(
        path_mtu_bytes=results.get("probed_bytes"),
        routers=results.get("routers"),
        narrowest=None if address is None else printable(str(address)),
    )


def _with_mtus(topology: Topology, underlays: Mapping[tuple[str, str], Underlay]) -> Topology:
    links = tuple(
        _with_mtu(topology, link, underlays[_pair(topology, link)]) if link.over == "internet" else link
        for link in topology.links
    )
    return replace(topology, links=links)


def _with_mtu(topology: Topology, link: Link, underlay: Underlay) -> Link:
    near, far = underlay.hosts
    between = f"the network between {near} and {far}"
    [reading] = underlay.readings
    if reading.path_mtu_bytes is None:
        if not link.finds_mtu:
            return link
        why = reading.not_known or "no probe was answered"
        raise CapabilityError(
            f"link {link.name}: the path MTU of {between} could not be found ({why}); give the link an mtu that fits"
        )
    address = topology.hosts[near].address
    assert address is not None
    inner_bytes = reading.path_mtu_bytes - overhead_bytes(address)
    if link.finds_mtu:
        return replace(link, mtu_bytes=inner_bytes, finds_mtu=False)
    if link.mtu_bytes > inner_bytes:
        raise CapabilityError(
            f"link {link.name} has an MTU of {link.mtu_bytes} bytes, and {between} carries packets of "
            f"{reading.path_mtu_bytes}, which leaves {inner_bytes}; give the link mtu: {inner_bytes}, or none"
        )
    return link


def _check_ways(experiment: Experiment) -> None:
    """A link whose MTU is too small for IPv6 (RFC 8200 section 5) carries none, and a path may have no way then."""
    for topology in experiment.topologies:
        narrow = [link for link in _links(topology) if not link.carries(6)]
        for path in experiment.paths if narrow else ():
            try:
                install(path, topology, experiment.between)
            except MechanismError as error:
                raise CapabilityError(
                    f"path {path.name}: {error}; the network below {narrow[0].name} leaves it an MTU of "
                    f"{narrow[0].mtu_bytes} bytes, and IPv6 needs 1280; leave the path out"
                ) from error
