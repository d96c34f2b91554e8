"""The places where a trial is observed, one on each link of its path."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ...model.headers import in_vlan, stack_name
from ...model.leg import Crossing, Legs
from ...model.network import Network
from ...model.topology import Interface, Link


@dataclass(frozen=True, kw_only=True)
class Viewpoint:
    """The place where a trial is observed on a link: one end of it, a router's where there is one that sixbench holds.

    Attributes:
        crossing: the link in the direction of the path's packets.
        end: the observing end.
        towards_server: whether packets from client to server leave through it (else they arrive through it).
        others: the link in the direction of the other family's packets, where a trial has flows of both; and of
            packets from the client's other addresses, where it moves.
        ways: the numbers of the ways that cross it, of which the trial takes one after the other; empty: it has one.
    """

    crossing: Crossing
    end: Interface
    towards_server: bool
    others: tuple[Crossing, ...] = ()
    ways: frozenset[int] = frozenset()

    @property
    def link(self) -> Link:
        return self.crossing.link

    @property
    def claimed(self) -> str:
        """The headers that the path claims there, such as `ipv6 in ipv4`, or `ipv6 in vlan 100`."""
        return self._claim(self.crossing)

    @property
    def all_claimed(self) -> tuple[str, ...]:
        """The headers that the flows of both families claim there."""
        return tuple(dict.fromkeys(self._claim(crossing) for crossing in (self.crossing, *self.others)))

    def _claim(self, crossing: Crossing) -> str:
        return in_vlan(stack_name(crossing.headers), self.link.vlan_id)

    @property
    def headers(self) -> frozenset[str]:
        """The names of all headers there."""
        return frozenset(name for crossing in (self.crossing, *self.others) for name in crossing.headers)


def viewpoints(network: Network, others: Iterable[Legs] = (), remaining: Sequence[Network] = ()) -> list[Viewpoint]:
    """Every link of the path from client to server, in order. Those that only flows on `others` cross come last, and
    those of the ways that the path takes in what remains of the network."""
    crossings = network.crossings
    other = [crossing for legs in others for crossing in replace(network, legs=legs).crossings]
    all_ways = [network, *remaining] if remaining else []
    names = [{crossing.link.name for crossing in item.crossings} for item in all_ways]
    # Until the client notices that its address is gone, packets from there may go over what remains.
    for number, left in enumerate(remaining, start=1):
        for earlier in [left, *all_ways[:number]]:
            other += replace(left, legs=earlier.legs).crossings
    own_links = {crossing.link.name for crossing in crossings}
    results = []
    further = {crossing.link.name: crossing for crossing in reversed(other) if crossing.link.name not in own_links}
    for crossing in [*crossings, *(crossing for crossing in other if further.get(crossing.link.name) is crossing)]:
        near_end, far_end = crossing.link.end_of(crossing.near), crossing.link.other_end(crossing.near)
        near, far = (network.topology.nodes[end.node] for end in (near_end, far_end))
        at_far = far.equipment is None and (far.kind == "router" or near.kind == "host" or near.equipment is not None)
        also = tuple(item for item in other if item.link.name == crossing.link.name and item is not crossing)
        end = far_end if at_far else near_end
        ways = frozenset(number for number, crossed in enumerate(names) if crossing.link.name in crossed)
        results.append(Viewpoint(crossing=crossing, end=end, towards_server=not at_far, others=also, ways=ways))
    return results


def middle_of(views: Sequence[Viewpoint]) -> int:
    """The place where packets carry most headers. Of several such links it is the one nearest to the middle of the
    path, and of two of these the first. Links that only some of the trial's ways cross come after all others."""
    middle = (len(views) - 1) / 2

    def order(index: int) -> tuple[int, int, float, int]:
        view = views[index]
        return -len(view.ways), -len(view.crossing.headers), abs(index - middle), index

    return min(range(len(views)), key=order)
