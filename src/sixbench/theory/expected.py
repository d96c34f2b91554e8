"""Theory for the metrics of a trial."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ..mechanisms import install
from ..model.expectation import NOTHING_FORETOLD
from ..model.headers import TCP
from ..model.network import Network
from ..model.parameter import Params
from ..model.path import Path
from ..model.recorded_page import RecordedPage
from ..model.topology import Topology
from ..model.workloads import WORKLOADS
from ..model.workloads.traffic_models import has_constant_gaps, mean_gap_ns, one_size
from .declared import declared
from .fragmentation import NotPredicted, predict, settle
from .limits import limit_bps, loses_at_random, path_mtu
from .packets import TCP_TIMESTAMPS_BYTES, tcp_payload_bytes
from .pieces import POLICIES, Policy, header_of
from .stacks import CrossedLink

NO_PAGES: Mapping[str, RecordedPage] = MappingProxyType({})


def expected(
    kind: str,
    params: Params,
    path: Path,
    topology: Topology,
    between: tuple[str, str],
    pages: Mapping[str, RecordedPage] = NO_PAGES,
) -> dict[str, float]:
    """The most that the path allows, by metric column. A metric is absent if theory has no exact value for it.

    Given are `goodput_bps` of TCP streams in one direction, and `goodput_bps` and `packets_rate_pps` of datagrams.
    They hold when all path MTUs are known that can be learned. With direction `both` they are those of the flow from
    the client, as the metrics are. They are upper bounds: windows, buffers, pauses of the application, losses and the
    CPU may keep a trial below them.

    The source of IPv4 datagrams without DF may or may not know the path MTU from earlier traffic. The bound is then the
    higher one of the two cases.

    Not given:
        - TCP streams with direction `both`: each direction's acknowledgements share the other's wire, and how many
          there are depends on the receiver.
        - round trips, connections and transactions: a token bucket does not delay a packet that comes alone, so the
          least time on a wire is not a bound for the lab's links.
        - TCP streams whose packets are lost at random: how much TCP sends then depends on its congestion control, the
          round trip and which packets they are. The rate of the link is a bound far above that.
        - flows that reach their tightest link with segmentation offload on: the link's rate limiter then counts one
          preamble and gap for several segments.
        - datagrams of several sizes, and rates that are only the mean of a random draw.
        - anything over a relay that one of its two connections has no exact value for. Each has segments and fragments
          of its own, and the slower one bounds the other.
        - anything over a network that is not ours.
        - datagrams that never arrive: they are too long for their policy, or for a path that is silent (a black hole).
        - packets that do not fit the carrier of one of Linux's own tunnels.

    Args:
        kind: the kind of the workload, such as `tcp-stream`.
        params: its parameters by column.
        pages: the recorded pages, by the names that parameters give.
    """
    network = install(path, topology, between)
    if not network.crossings or any(crossing.link.over == "internet" for crossing in network.crossings):
        return {}
    expectation = WORKLOADS[kind].expectation(params, pages)
    if expectation is not NOTHING_FORETOLD:
        return declared(WORKLOADS[kind], expectation, network, path.engine)
    if params.get("direction") == "reverse":
        network = network.reversed
    bounds = []
    try:
        for number, part in enumerate(network.parts):
            # A relay sends its own packets as Linux's programs do.
            bounds.append(_of_part(kind, params if number == 0 else {**params, "df": "kernel"}, part, path.engine))
    except NotPredicted:
        return {}
    if any(not bound and _has_rate(part) for bound, part in zip(bounds, network.parts, strict=True)):
        return {}
    columns = {column for bound in bounds for column in bound}
    return {column: min(bound[column] for bound in bounds if column in bound) for column in sorted(columns)}


def _of_part(kind: str, params: Params, part: Network, engine: str | None) -> dict[str, float]:
    match WORKLOADS[kind].flow:
        case "stream":
            return _stream(params, part, engine)
        case "datagrams":
            return _datagrams(params, part, engine)
    return {}


def _has_rate(part: Network) -> bool:
    return any(crossing.direction.rate_bps is not None for crossing in part.crossings)


def _stream(params: Params, network: Network, engine: str | None) -> dict[str, float]:
    if params.get("direction") == "both" or loses_at_random(network):
        return {}
    mss_bytes = params.get("mss_bytes")
    hop = CrossedLink(stack=(header_of(network.family),), mtu_bytes=path_mtu(network))
    try:
        payload_bytes = tcp_payload_bytes(hop, int(mss_bytes) if mss_bytes is not None else None)
    except ValueError:
        return {}
    segment_bytes = TCP.size_bytes + TCP_TIMESTAMPS_BYTES + payload_bytes
    settled = settle(network, segment_bytes, "set", engine)[-1]
    goodput_bps = limit_bps(settled, payload_bytes)
    return {} if goodput_bps is None else {"goodput_bps": goodput_bps}


def _datagrams(params: Params, network: Network, engine: str | None) -> dict[str, float]:
    datagram_bytes = one_size(params)
    if datagram_bytes is None:
        return {}
    policy: Policy = next((name for name in POLICIES if name == params.get("df")), "clear")
    states = [{}, {network.between: path_mtu(network)}] if policy == "clear" else [{}]
    settled = [predict(network, datagram_bytes, policy, engine, known).settled for known in states]
    if any(attempt.outcome != "delivered" for attempt in settled):
        raise NotPredicted("datagrams that do not arrive have no goodput")
    bounds_bps = []
    if any(load.crossing.direction.rate_bps is not None for load in settled[0].loads):
        limits_bps = [
            limit for limit in (limit_bps(attempt, datagram_bytes) for attempt in settled) if limit is not None
        ]
        if len(limits_bps) < len(settled):
            return {}
        bounds_bps.append(max(limits_bps))
    gap_ns = mean_gap_ns(params)
    if gap_ns is not None and has_constant_gaps(params):
        bounds_bps.append(8e9 * datagram_bytes / gap_ns)
    if not bounds_bps:
        return {}
    return {"goodput_bps": min(bounds_bps), "packets_rate_pps": min(bounds_bps) / (8 * datagram_bytes)}
