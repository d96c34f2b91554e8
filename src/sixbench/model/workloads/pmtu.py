"""`pmtu`: the path MTU in each direction by three methods, the hop that limits it, and a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

from ..parameter import Parameter, Params
from ..quantity import Metric, duration, metric
from ..reason import ReasonKind
from ..workload import Expected, Result, Side, Traffic, TrialMeasurements, WorkloadKind
from .common import CONGESTION, SECOND_NS

VerdictName = Literal["fine", "discovered-by-icmp", "asymmetric", "inconsistent", "discovered-by-probing", "black-hole"]

VERDICTS: tuple[VerdictName, ...] = (
    "fine",
    "discovered-by-icmp",
    "asymmetric",
    "inconsistent",
    "discovered-by-probing",
    "black-hole",
)
"""All verdicts, from the best to the worst.

- `fine`: packets as large as the sender's interface allows arrive. - `discovered-by-icmp`: the path is narrower, ICMP
says so, and kernel, probing and TCP come to the same. - `asymmetric`: that holds in both directions, but their path
MTUs differ. A verdict on a path, not on a direction. - `inconsistent`: messages came, and yet the three methods
disagree: a router reports less than its link carries or less than the
  kernel believes, a route has an MTU of its own, or TCP stalls for another reason than size.
- `discovered-by-probing`: packets as large as the kernel takes the path MTU to be vanish without any message; TCP gets
  through nevertheless (`tcp_mtu_probing`, RFC 4821, or an MSS that a router clamps), datagrams only where they probe.
- `black-hole`: they vanish without any message, and TCP stalls (RFC 2923).
"""


def verdict(client: Result, server: Result) -> VerdictName | None:
    """The verdict on a path by the results of a trial: the worse one of its directions. None where one of them could
    not be judged."""
    ways = (client["forward"], server["reverse"])
    verdicts = [direction_verdict(result) for result in ways]
    names = [name for name in verdicts if name is not None]
    if len(names) < len(ways):
        return None
    if ways[0]["probed_bytes"] != ways[1]["probed_bytes"]:
        names.append("asymmetric")
    return max(names, key=VERDICTS.index)


def direction_verdict(result: Result) -> VerdictName | None:
    """The verdict on a `forward` or a `reverse` of docs/protocol.md. None where nothing was acknowledged."""
    probed, interface = result.get("probed_bytes"), result.get("interface_bytes")
    if probed is None or interface is None:
        return None
    kernel, stalled = result["kernel"], result["tcp"]["stalled"]
    if "black_hole" in result or (kernel["silent"] and probed < result["kernel_bytes"]):
        return "black-hole" if stalled else "discovered-by-probing"
    if stalled or not kernel["confirmed"] or result["kernel_bytes"] != probed:
        return "inconsistent"
    return "fine" if probed == interface else "discovered-by-icmp"


def _summarise(params: Params, client: Result, server: Result) -> TrialMeasurements:
    measured = TrialMeasurements()
    forward, reverse = client["forward"], server["reverse"]
    metrics = measured.metrics
    for result, name, suffix in ((forward, "forward", ""), (reverse, "reverse", "_reverse")):
        if result.get("probed_bytes") is None:
            words = f"{name}: no datagram was acknowledged, not even of the smallest size"
            measured.reject(ReasonKind.NOTHING_ARRIVED, words)
        _put(metrics, f"pmtu_{name}_bytes", _largest_proven(result))
        _put(metrics, f"pmtu_kernel{suffix}_bytes", result.get("kernel_bytes"))
        _put(metrics, f"pmtu_tcp{suffix}_bytes", result.get("tcp_bytes"))
        _put(metrics, f"black_hole_hop{suffix}", result.get("black_hole", {}).get("index"))
        if result["tcp"]["stalled"]:
            measured.notes.append(f"{name}: TCP stalled after {result['tcp'].get('bytes_acked', 0)} bytes")
    _put(metrics, "pmtu_probed_bytes", forward.get("probed_bytes"))
    times = forward.get("converged_ns", {})
    _put(metrics, "pmtu_converge_ns", times.get("probed"))
    _put(metrics, "pmtu_converge_kernel_ns", times.get("kernel"))
    _put(metrics, "pmtu_converge_tcp_ns", times.get("tcp"))
    for key, column in (
        ("probes", "pmtu_probes_count"),
        ("probe_bytes", "pmtu_probe_bytes"),
        ("lost_probes", "pmtu_lost_probes_count"),
    ):
        if key in forward and key in reverse:
            metrics[column] = float(forward[key] + reverse[key])
    measured.notes[:0] = verdict_notes(client, server)
    return measured


def verdict_notes(client: Result, server: Result) -> list[str]:
    """The note on the verdict of a trial; none where a direction could not be judged."""
    text = verdict(client, server)
    if text is None:
        return []
    return [f"verdict: {text} (forward: {_words(client['forward'])}; reverse: {_words(server['reverse'])})"]


def _put(metrics: dict[str, float], column: str, value: float | None) -> None:
    if value is not None:
        metrics[column] = float(value)


def _largest_proven(result: Mapping[str, Any]) -> int | None:
    """The largest packet that is known to have arrived, whichever method found it."""
    confirmed = result["kernel_bytes"] if result.get("kernel", {}).get("confirmed") else None
    sizes = [size for size in (result.get("probed_bytes"), confirmed, result.get("tcp_bytes")) if size is not None]
    return max(sizes, default=None)


def _words(result: Mapping[str, Any]) -> str:
    """The verdict on a direction, with its path MTU and the hop that limits it."""
    text = direction_verdict(result)
    if text == "fine":
        return f"fine, {result['probed_bytes']} bytes"
    hop = result.get("black_hole") or result.get("limiting_hop") or {}
    return f"{text}, {result['probed_bytes']} bytes{_place(hop)}"


def _place(hop: Mapping[str, Any]) -> str:
    """Place of a hop, as far as it is known."""
    address = hop.get("address") or hop.get("before")
    known_as = f" ({address})" if address else ""
    if hop.get("index") == 0:
        return ", limited by the first link"
    if "index" in hop:
        return f", limited at hop {hop['index']}{known_as}"
    if "between" in hop:
        first, last = hop["between"]
        return f", limited at one of the hops {first} to {last}"
    return f", limited{known_as or ' at an unknown hop'}" if hop else ""


def _traffic(params: Params, client: Result, server: Result) -> Traffic:
    return Traffic(
        forward_payload_bytes=int(server["received_bytes"]),
        reverse_payload_bytes=int(client["received_bytes"]),
        chooses_hop_limits=True,  # it searches for the hop that limits the path MTU
    )


@cache
def _expected() -> dict[Side, Expected]:
    from ..form import Natural
    from ..result_form import SideResult
    from ..results import PathMtu

    class PathMtuClient(SideResult):
        """The client's direction."""

        forward: PathMtu
        received_bytes: Natural

    class PathMtuServer(SideResult):
        """The server's direction."""

        reverse: PathMtu
        received_bytes: Natural

    return {"client": Expected(form=PathMtuClient), "server": Expected(form=PathMtuServer)}


def _path_mtu(name: str, label: str, reference: str) -> Metric:
    return metric(f"pmtu_{name}", "bytes", "higher", label, reference, is_exact=True)


def _hop(name: str, label: str) -> Metric:
    return metric(name, "hop", "neither", label, "RFC 2923", is_exact=True)


OWN_METRICS = (
    _path_mtu("forward", "Path MTU, client to server", "RFC 8899"),
    _path_mtu("reverse", "Path MTU, server to client", "RFC 8899"),
    _path_mtu("kernel", "Path MTU that the client's kernel learned", "RFC 1191, RFC 8201"),
    _path_mtu("kernel_reverse", "Path MTU that the server's kernel learned", "RFC 1191, RFC 8201"),
    _path_mtu("probed", "Path MTU that probing found, client to server", "RFC 8899"),
    _path_mtu("tcp", "Packets that TCP settled on, client to server", "RFC 4821 (TCP_INFO)"),
    _path_mtu("tcp_reverse", "Packets that TCP settled on, server to client", "RFC 4821 (TCP_INFO)"),
    duration("pmtu_converge", "Time to find the path MTU by probing", "RFC 8899"),
    duration("pmtu_converge_kernel", "Time to learn the path MTU from ICMP", "RFC 1191, RFC 8201"),
    duration("pmtu_converge_tcp", "Time until TCP sends what fits the path", "RFC 4821 (TCP_INFO)"),
    metric("pmtu_probes", "count", "lower", "Probes of the path MTU", "RFC 8899", unit="packets"),
    metric("pmtu_probe", "bytes", "lower", "Bytes sent to probe the path MTU", "RFC 8899"),
    metric(
        "pmtu_lost_probes",
        "count",
        "lower",
        "Packets lost until the path MTU was found",
        "RFC 8899",
        unit="packets",
        scale="difference",
    ),
    _hop("black_hole_hop", "Hop of a black hole, client to server"),
    _hop("black_hole_hop_reverse", "Hop of a black hole, server to client"),
)

KIND = WorkloadKind(
    name="pmtu",
    title="Path MTU",
    transport="udp",
    needs_icmp=True,
    doc="The path MTU each way: learned by the kernel from ICMP, found by probing (RFC 8899), and settled on by TCP.",
    parameters=(
        Parameter(
            name="probe-timeout",
            kind="duration",
            doc="longest wait for the answer to a probe, or three round trips if that is longer",
            minimum=10**6,
            maximum=10 * SECOND_NS,
            default=SECOND_NS // 10,
        ),
        Parameter(
            name="transfer",
            kind="size",
            doc="amount that TCP sends each way",
            minimum=1,
            maximum=2**30,
            default=200 * 1024,
        ),
        Parameter(
            name="stall-timeout",
            kind="duration",
            doc="TCP counts as stalled after this time without an acknowledgement; where it probes, it begins after "
            "6.5s",
            minimum=10**8,
            maximum=300 * SECOND_NS,
            default=10 * SECOND_NS,
        ),
        Parameter(
            name="forget",
            kind="flag",
            doc="make the kernels forget, before the trial, the path MTUs that they have learned",
            default=True,
        ),
        CONGESTION,
    ),
    primary="pmtu_forward",
    headline=("pmtu_forward", "pmtu_reverse", "pmtu_kernel", "pmtu_tcp", "pmtu_converge", "black_hole_hop"),
    metrics=(
        *("pmtu_forward", "pmtu_reverse", "pmtu_kernel", "pmtu_kernel_reverse"),
        *("pmtu_probed", "pmtu_tcp", "pmtu_tcp_reverse"),
        *("pmtu_converge", "pmtu_converge_kernel", "pmtu_converge_tcp"),
        *("pmtu_probes", "pmtu_probe", "pmtu_lost_probes"),
        *("black_hole_hop", "black_hole_hop_reverse"),
    ),
    own_metrics=OWN_METRICS,
    summarise=_summarise,
    traffic=_traffic,
    results=lambda side, params: (_expected()[side],),
    compared_blocks=1,
)
