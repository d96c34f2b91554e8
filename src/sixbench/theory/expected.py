"""Theory for the metrics of a trial."""

from __future__ import annotations

from collections.abc import Sequence

from ..model.path import Path
from ..model.topology import Topology
from ..model.workload import Params
from .limits import tcp_limits_bps, udp_limits_bps
from .stacks import Hop, hops_of


def expected(kind: str, params: Params, path: Path, topology: Topology, between: tuple[str, str]) -> dict[str, float]:
    """What the path allows at most, by metric column; a metric of which theory has nothing exact to say is absent.

    Given: `goodput_bps` of `tcp-stream` in one direction, and of `udp-stream`, with its `packets_rate_pps`. They are
    upper bounds: windows, buffers, pauses of the application, losses and the CPU may keep a trial below.

    Not given:
        - `tcp-stream` with direction `both`: each direction's acknowledgements share the other's wire, and how many
          there are depends on the receiver.
        - round trips, connections and transactions: a token bucket does not delay a packet that comes alone, so the
          least time on a wire (`waiting`) is no bound for the lab's links.
        - anything whose tightest link is reached by packets with segmentation offload on: the link's rate limiter
          then counts one preamble and gap for several segments.
        - IPv4 datagrams in fragments over links of different MTUs: who fragments them, and how, depends on what path
          MTU the sender has come to know.

    Args:
        kind: of the workload, such as `tcp-stream`.
        params: its parameters by column.
    """
    hops = hops_of(path, topology, between)
    if not hops:
        return {}
    match kind:
        case "tcp-stream":
            return _tcp_stream(params, hops)
        case "udp-stream":
            return _udp_stream(params, hops)
    return {}


def _tcp_stream(params: Params, hops: list[Hop]) -> dict[str, float]:
    direction = params.get("direction", "forward")
    if direction == "both":
        return {}
    if direction == "reverse":
        hops = hops[::-1]
    mss_bytes = params.get("mss_bytes")
    try:
        limits_bps = tcp_limits_bps(hops, int(mss_bytes) if mss_bytes is not None else None)
    except ValueError:
        return {}
    limit_bps = _exact(limits_bps, hops)
    return {} if limit_bps is None else {"goodput_bps": limit_bps}


def _udp_stream(params: Params, hops: list[Hop]) -> dict[str, float]:
    datagram_bytes = int(params["datagram_bytes"])
    if _fragments_vary(datagram_bytes, hops):
        return {}
    try:
        limits_bps = udp_limits_bps(hops, datagram_bytes)
    except ValueError:
        return {}
    bounds_bps = []
    if any(limit is not None for limit in limits_bps):
        limit_bps = _exact(limits_bps, hops)
        if limit_bps is None:
            return {}
        bounds_bps.append(limit_bps)
    if "rate_bps" in params:
        bounds_bps.append(float(params["rate_bps"]))
    if "rate_pps" in params:
        bounds_bps.append(float(params["rate_pps"]) * 8 * datagram_bytes)
    if not bounds_bps:
        return {}
    return {"goodput_bps": min(bounds_bps), "packets_rate_pps": min(bounds_bps) / (8 * datagram_bytes)}


def _exact(limits_bps: Sequence[float | None], hops: Sequence[Hop]) -> float | None:
    """The tightest limit, unless packets may come to that link in the super-packets of segmentation offload."""
    known = [(limit, index) for index, limit in enumerate(limits_bps) if limit is not None]
    if not known:
        return None
    limit_bps, index = min(known)
    return None if any(hop.offload for hop in hops[: index + 1]) else limit_bps


def _fragments_vary(datagram_bytes: int, hops: Sequence[Hop]) -> bool:
    """Whether fragments that IPv4 routers make may be among the packets."""
    inner = hops[0].stack[-1]
    rooms_bytes = {hop.mtu_bytes - hop.outer_bytes for hop in hops}
    fits = inner.size_bytes + 8 + datagram_bytes <= min(rooms_bytes)
    return not fits and len(rooms_bytes) > 1 and not inner.fragment_bytes
