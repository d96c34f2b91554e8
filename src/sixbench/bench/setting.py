"""The place of a trial: its network and its workload, what is observed of it, and between whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..agent import Agent
from ..model.experiment import LinkChange
from ..model.leg import Legs
from ..model.network import Network
from ..model.parameter import Scalar
from ..model.placement import Placement
from ..model.recorded_page import RecordedPage
from ..model.topology import Family
from ..model.trace import Trace
from ..model.workload import WorkloadKind
from .laboratory import Laboratory
from .parts import Hosts
from .processors import Placed
from .proof.viewpoints import Viewpoint
from .under_way import first_silence_ns


@dataclass(frozen=True, kw_only=True)
class TrialSetting:
    """The place of a trial.

    Attributes:
        params: of the workload, by column.
        key: of the trial.
        token: by which its datagrams name it.
        views: where it is observed, from client to server.
        is_bpf: whether programs of ours carry it.
        keeps_packets: whether the packets of every link are kept.
        seed: a text from which the random numbers of emulated links follow.
        events: the changes in the middle of it; with them there is no prediction to hold it against.
        traces: the datagrams of captures, by the name that parameters give.
        pages: the pages of HAR files, likewise.
        placement: where its nodes are to run.
        placed: the processors that its nodes run on.
        is_alone: whether nothing else of the run is on these.
        legs: those of the path, and of other families that the workload needs too, in the order in which flows that
            use several get their addresses.
        remaining: the network after each event that takes a link, or its addresses, from the client.
    """

    laboratory: Laboratory
    network: Network
    kind: WorkloadKind
    params: dict[str, Scalar]
    key: str
    token: str
    between: tuple[str, str]
    views: list[Viewpoint]
    is_bpf: bool
    keeps_packets: bool
    seed: str
    legs: Mapping[Family, Legs]
    events: tuple[LinkChange, ...] = ()
    remaining: tuple[Network, ...] = ()
    traces: Mapping[str, Trace] = field(default_factory=dict)
    pages: Mapping[str, RecordedPage] = field(default_factory=dict)
    placement: Placement = "free"
    placed: Placed = field(default_factory=Placed)
    is_alone: bool = False

    @property
    def watched(self) -> dict[str, Agent]:
        """The nodes on the path that sixbench holds, from client to server."""
        names = [self.between[0], *(view.crossing.far for view in self.views)]
        return {name: self.laboratory.agents[name] for name in names if name in self.laboratory.agents}

    @property
    def hosts(self) -> Hosts:
        """Both ends, with their addresses in the families that the trial needs."""
        client, server = (self.laboratory.agents[name] for name in self.between)
        return Hosts(
            client=client,
            server=server,
            family=self.network.family,
            legs=self.legs,
            first_silence_ns=first_silence_ns(self.network),
            further=tuple(network.legs for network in self.remaining),
        )

    @property
    def taken_down(self) -> frozenset[str]:
        """The links that events take down."""
        return frozenset(event.link for event in self.events if event.takes == "link")

    @property
    def has_one_clock(self) -> bool:
        """True if client and server are on one machine."""
        client, server = (self.laboratory.agents[name] for name in self.between)
        return client.host == server.host
