"""The type of a workload: its parameters, its metrics, and the way from the two agents' results to them.

The kinds themselves live in `model.workloads`, one file each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from .expectation import NOTHING_FORETOLD, Expectation
from .identifiers import NAME, require
from .parameter import Parameter, Params, Scalar, Wrong
from .placement import Placement
from .quantity import Metric
from .reason import Excuse, Reason, ReasonKind
from .server import ServerUse
from .topology import Family

if TYPE_CHECKING:
    from .form import Form
    from .leg import Address
    from .programs.end import ProgramEnd
    from .recorded_page import RecordedPage

Transport = Literal["tcp", "udp", "icmp"]
Flow = Literal["stream", "datagrams"]
"""A flow of which theory knows what the path allows: full TCP segments, or UDP datagrams of the sizes and at the
distances that `workloads.traffic_models` reads from the parameters."""

SEGMENT_BYTES = 1460
"""The payload of a TCP segment over Ethernet and IPv4 (RFC 6691). What arrives as a stream of bytes counts as so many
packets."""
CONNECTION_PACKETS = 4
"""The packets that each TCP connection has at least: SYN, SYN with ACK, ACK, and one that ends it (RFC 9293 section
3.5)."""
MAX_INTERVALS = 200_000
"""Number of intervals of a series that fit into one line of the protocol of the agent."""
Result = Mapping[str, Any]
"""An agent's result, as docs/protocol.md describes it."""
Side = Literal["client", "server"]
FlowEnd = Literal["sender", "receiver"]
COMPARED_BLOCKS = 6
"""Blocks by which `measure` compares two families. The number is even, so that each family begins half of the blocks
(`plan.schedule`)."""


@dataclass(frozen=True, kw_only=True)
class TrialMeasurements:
    """The measurements of a trial: metrics by column, histograms by name, interval series by name, and remarks.

    `invalid` holds reasons for which the trial is not what it claims, `uncertainty` how far from the truth a metric may
    be, where that is known.
    """

    metrics: dict[str, float] = field(default_factory=dict)
    uncertainty: dict[str, float] = field(default_factory=dict)
    histograms: dict[str, dict[str, Any]] = field(default_factory=dict)
    series: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    invalid: list[Reason] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def reject(self, kind: ReasonKind, text: str) -> None:
        """Adds a reason for which the trial is not what it claims."""
        self.invalid.append(Reason(kind=kind, text=text))

    def excuse(self, excuse: Excuse) -> None:
        """Turns the reasons that follow from the excuse into remarks."""
        self.notes.extend(reason.text for reason in self.invalid if reason.is_excused_by(excuse))
        self.invalid[:] = [reason for reason in self.invalid if not reason.is_excused_by(excuse)]


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """The traffic that a trial must have put on the wire, for the evidence.

    Attributes:
        forward_payload_bytes, reverse_payload_bytes: payload that certainly arrived, each way (over all of the trial,
            warm-up included where known).
        forward_datagrams: datagrams that were certainly sent from client to server, without copies that a link made;
            None where the workload has none.
        messages: datagrams, requests, responses and packets that open or close connections, both ways, that certainly
            arrived. Of streams of bytes there are none.
        by_family: the traffic of each family's flows, where both are used; empty: all flows are of the path's own.
        silent: families over which nothing was answered, so that their packets may not have gone far.
        chooses_hop_limits: whether packets have other hop limits than their host's.
        foreign_packets: how many packets of the family that the path does not bring them nodes received for the
            workload's sake.
        destinations: addresses that packets may have as their destinations instead of a host's own: those in networks
            behind it.
        fills_tables: whether there may be more connections than a node on the way can keep state of, so that its
            refusals are what the trial is there to see.
    """

    forward_payload_bytes: int = 0
    reverse_payload_bytes: int = 0
    forward_datagrams: int | None = None
    messages: int = 0
    by_family: Mapping[Family, Traffic] = field(default_factory=dict)
    silent: frozenset[Family] = frozenset()
    chooses_hop_limits: bool = False
    foreign_packets: int = 0
    destinations: frozenset[Address] = frozenset()
    fills_tables: bool = False

    def of(self, family: Family) -> Traffic:
        """The traffic of this family's flows."""
        return self.by_family.get(family, self)

    @property
    def packets(self) -> int:
        """Least number of the trial's packets that arrived, both ways."""
        payload_bytes = self.forward_payload_bytes + self.reverse_payload_bytes
        return max(self.messages, -(-payload_bytes // SEGMENT_BYTES))


@dataclass(frozen=True, kw_only=True)
class Expected:
    """An object in a side's result.

    Attributes:
        form: what it is held against when it arrives.
        place: the key that leads to it; None: it is the result itself.
        keys: those that it must have besides, for what the parameters asked for.
    """

    form: type[Form]
    place: str | None = None
    keys: tuple[str, ...] = ()


def nothing_of_its_own(side: Side, params: Params) -> tuple[Expected, ...]:
    """Expected result of a side that reports no more than any."""
    from .result_form import SideResult

    return (Expected(form=SideResult),)


@dataclass(frozen=True, kw_only=True)
class Part:
    """One of several flows of a trial, which is one of the agent's workloads.

    Attributes:
        name: in the results, which are then `{"parts": {name: result}}` on both sides.
        workload: the agent's, such as `tcp-stream`.
        params: its parameters by column.
        step: parts of one step run at the same time, and steps one after the other.
        family: of its addresses; None: the path's own.
        families: of a part that has the addresses of several, all of them.
        server, client: programs of others that are its ends; None: the end is sixbench's.
    """

    name: str
    workload: str
    params: dict[str, Scalar]
    step: int = 0
    family: Family | None = None
    families: frozenset[Family] = frozenset()
    server: ProgramEnd | None = None
    client: ProgramEnd | None = None


def default_placement(params: Params) -> Placement:
    """On one processor, so that no message has to wake another one; but apart where both sides spin."""
    return "apart" if params.get("busy_poll") else "together"


def apart(_: Params) -> Placement:
    """The placement of a sender that spins until a datagram is due. On one processor it would be in the receiver's
    way."""
    return "apart"


@dataclass(frozen=True, kw_only=True)
class WorkloadKind:
    """A kind of workload, as far as it needs no agents and no networks.

    Besides, `bench.workloads` has how it is performed where that is not by flows between client and server alone, and
    `plan.workloads` its checks of paths.

    Attributes:
        name: in experiments and in the protocol.
        title: in headings and sentences, such as `TCP bulk transfer`.
        is_proper_name: whether its title is written so in the middle of a sentence, too.
        transport: what its packets carry.
        transports: what they carry by the parameters, where those say it; None: its `transport`.
        primary: the metric that precision stops by and that figures show first.
        headline: the metrics that the terminal shows.
        metrics: all it can report (CPU metrics apart, which every workload has).
        own_metrics: the declarations of those among them that no other workload has; `model.metric` has the others.
        check: what is wrong with a set of parameters; None if nothing. Takes the parameters and the families that
            will use them.
        summarise: the agents' results to metrics.
        traffic: the agents' results to what must have crossed the wire.
        results: the objects that a side's result has, by the parameters that the agent was given. The forms are made
            when they are first asked for: they need pydantic, and most commands do not.
        agent_name: the agent's workload that does it, which is another one of these; its own name unless given.
        agent_params: the parameters that the agent is given, of the experiment's.
        is_drawn: whether any of the traffic is random, so that it has a seed.
        parts: the flows that a trial consists of, where it is not one of the agent's workloads; None: it is.
        placement: where the nodes of its path run, by its parameters, unless the experiment says so.
        when_together: by column, the parameters that are others where the nodes share a processor, unless they are
            given.
        families: those that the two hosts need besides the path's own, by the parameters. The agent's workload gets the
            addresses of all of them.
        flow: what it is to theory and to the counters of fragments; None: nothing that they know.
        expects: its own part of theory, by its parameters.
        expects_page: the same where a parameter names a recorded page, by the page too.
        completed: the answers that a server of sixbench's gave, warm-up included.
        gap_ns: the time from one of the things that `count` counts to the next, where the parameters say it.
        distributions: the histograms that reports draw, by the prefix of their metrics.
        compared_blocks: the blocks by which `measure` compares two families unless it is given a number; 1: a trial
            looks for an answer that a second one would only find again, so nothing is compared.
        progress: the ends of its flows that tell how they fare while they run (docs/protocol.md).
        needs_icmp: whether ICMP has to pass from one host to the other: echoes, or errors about packets that are too
            long.
        moves_by: the parameter with which its client goes on from its next address where it loses the present one;
            None: it does not.
        needs_network: what the workload needs that only a network of sixbench has; None where `measure` does it, too.
        instead: the options of `measure` that come nearest to a workload that it cannot do, and what they measure.
        quick_count: the largest `count` of a trial that `--quick` shortens; None: it leaves the count alone.
        to_servers: what it takes towards a server of others; None: it needs sixbench at the other end.
    """

    name: str
    title: str
    is_proper_name: bool = False
    transport: Transport
    transports: Callable[[Params], frozenset[Transport]] | None = None
    doc: str
    parameters: tuple[Parameter, ...]
    primary: str
    headline: tuple[str, ...]
    metrics: tuple[str, ...]
    own_metrics: tuple[Metric, ...] = ()
    check: Callable[[Params, frozenset[Family]], Wrong | None] = lambda params, families: None
    summarise: Callable[[Params, Result, Result], TrialMeasurements]
    traffic: Callable[[Params, Result, Result], Traffic]
    parts: Callable[[Params], tuple[Part, ...]] | None = None
    placement: Callable[[Params], Placement] = default_placement
    when_together: Mapping[str, Scalar] = field(default_factory=dict)
    families: Callable[[Params], frozenset[Family]] = lambda _: frozenset()
    results: Callable[[Side, Params], tuple[Expected, ...]] = nothing_of_its_own
    agent_name: str | None = None
    agent_params: Callable[[Params], dict[str, Scalar]] = dict
    is_drawn: Callable[[Params], bool] = lambda _: False
    flow: Flow | None = None
    expects: Callable[[Params], Expectation] = lambda _: NOTHING_FORETOLD
    expects_page: Callable[[Params, RecordedPage], Expectation] | None = None
    completed: Callable[[Params, Result], float] = lambda params, server: server.get("transactions", 0)
    gap_ns: Callable[[Params], float | None] = lambda _: None
    distributions: tuple[str, ...] = ()
    compared_blocks: int = COMPARED_BLOCKS
    progress: frozenset[FlowEnd] = frozenset()
    needs_icmp: bool = False
    moves_by: Parameter | None = None
    needs_network: str | None = None
    instead: str | None = None
    quick_count: int | None = None
    to_servers: ServerUse | None = None

    @property
    def served_by(self) -> str:
        """The agent's workload."""
        return self.agent_name or self.name

    def transports_of(self, params: Params) -> frozenset[Transport]:
        """The transports whose packets a trial with these parameters sends."""
        return frozenset({self.transport}) if self.transports is None else self.transports(params)

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of that name in experiments."""
        return next((p for p in self.parameters if p.name == name), None)

    def expectation(self, params: Params, pages: Mapping[str, RecordedPage]) -> Expectation:
        """Its own part of theory. `pages`: the recorded pages by the names that parameters give."""
        page = pages.get(str(params.get("page")))
        return self.expects(params) if page is None or self.expects_page is None else self.expects_page(params, page)

    @property
    def series_interval(self) -> Parameter | None:
        """The parameter with the length of an interval of its series; None: the agent tells none. An interval that says
        what is sent, such as the one between two echo requests, is none of a series."""
        interval = self.parameter("interval")
        return interval if interval is not None and interval.length else None

    def placed(self, params: Params, placement: Placement) -> dict[str, Scalar]:
        """The parameters of a trial whose nodes run there."""
        return (dict(self.when_together) if placement == "together" else {}) | dict(params)

    def offer_name(self, params: Params) -> str:
        """The name of what a server offers or not: its own, and the value of its variant, such as `http 3`."""
        variant = None if self.to_servers is None or self.to_servers.variant is None else self.to_servers.variant
        parameter = None if variant is None else self.parameter(variant)
        return self.name if parameter is None else f"{self.name} {parameter.of(params)}"

    def wrong(self, params: Params, families: frozenset[Family]) -> Wrong | None:
        """The problem with parameters that are each right on their own; None if nothing is."""
        return self.check(params, families) or self._too_long(params)

    def _too_long(self, params: Params) -> Wrong | None:
        """The problem of a trial whose series would have too many intervals."""
        interval, duration_ns = self.series_interval, params.get("duration_ns")
        if interval is None or not isinstance(duration_ns, int):
            return None
        entries = duration_ns // int(interval.of(params))
        if entries <= MAX_INTERVALS:
            return None
        words = f"a series of {entries} intervals is too long; at most {MAX_INTERVALS} fit, so give a longer interval"
        return Wrong(None, words)

    def with_lengths(self, params: Params) -> dict[str, Scalar]:
        """The parameters with the length that a trial has where none is given, and the warm-up before it."""
        completed = dict(params)
        duration, warmup = self.parameter("duration"), self.parameter("warmup")
        if duration is not None and not completed.keys() & {"duration_ns", "bytes", "count"}:
            completed["duration_ns"] = duration.of(params)
        if warmup is not None and "duration_ns" in completed:
            completed["warmup_ns"] = warmup.of(params)
        return completed

    def by_column(self, column: str) -> Parameter | None:
        return next((p for p in self.parameters if p.column == column), None)


@dataclass(frozen=True, kw_only=True)
class Workload:
    """One workload of an experiment at one combination of levels."""

    kind: str
    params: dict[str, Scalar]
    """The parameters by column, complete but for the agent's own defaults."""

    def __post_init__(self) -> None:
        require(NAME, self.kind, "a workload")
