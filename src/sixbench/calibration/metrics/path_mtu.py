"""Path MTUs: each method must find exactly that of the narrow link."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..metric import CalibratedMetric, Level, MatchReading, ReadingSource

MTUS = (1280, 1400, 1480, 1500, 4000, 9000)
"""From IPv6's least (RFC 8200 section 5) to jumbo frames. Under the tunnel the narrow link is wider by its header."""

QUICK = (1280, 1500, 9000)

FIRST_LINK_MTU = 9200

PATH_MTU_METRICS = (
    "pmtu_forward_bytes",
    "pmtu_reverse_bytes",
    "pmtu_kernel_bytes",
    "pmtu_probed_bytes",
    "pmtu_tcp_bytes",
)

TUNNEL_HEADER_BYTES = 20

PROBE_TIMEOUT = "30ms"
"""On links without delay no answer takes so long. Most probes of a search get no answer."""


def narrow_links(workload: Mapping[str, Mapping[str, Any]]) -> tuple[Level, ...]:
    """A level for each path MTU, which this workload measures."""
    return tuple(
        Level(
            truth=float(mtu),
            link={"mtu": mtu},
            tunnel_link={"mtu": mtu + TUNNEL_HEADER_BYTES},
            first_link={"mtu": FIRST_LINK_MTU},
            workload=workload,
            is_quick=mtu in QUICK,
        )
        for mtu in MTUS
    )


def _read(trial: ReadingSource) -> MatchReading | None:
    values = {name: trial.record.metrics.get(name) for name in PATH_MTU_METRICS}
    if values["pmtu_forward_bytes"] is None:
        return None
    truth = trial.level.truth
    wrong = [f"{name} {value}" for name, value in values.items() if value != truth]
    return MatchReading(measured=values["pmtu_forward_bytes"], truth=truth, difference=", ".join(wrong) or None)


PATH_MTU = CalibratedMetric(
    name="path-mtu",
    label="Path MTU",
    column="path_mtu_bytes",
    workload="pmtu",
    metrics=tuple(name.removesuffix("_bytes") for name in PATH_MTU_METRICS),
    levels=narrow_links({"pmtu": {"probe-timeout": PROBE_TIMEOUT}}),
    scale="absolute",
    read=_read,
    note="A trial is exact if the kernel, probing and TCP all find the path MTU in both directions",
)
