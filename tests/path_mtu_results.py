"""Results of an agent for one direction of a path, as the workload `pmtu` gets them."""

from __future__ import annotations

from typing import Any

Result = dict[str, Any]

FINE = {
    "interface_bytes": 1500,
    "kernel_bytes": 1500,
    "kernel": {"confirmed": True, "silent": False},
    "probed_bytes": 1500,
    "tcp_bytes": 1500,
    "tcp": {"stalled": False, "bytes_acked": 204800},
    "converged_ns": {"kernel": 1, "probed": 2, "tcp": 3},
    "probes": 5,
    "probe_bytes": 6000,
    "lost_probes": 0,
}
REPORTED = FINE | {
    "kernel_bytes": 1400,
    "probed_bytes": 1400,
    "tcp_bytes": 1400,
    "limiting_hop": {"index": 2, "address": "2001:db8::2", "reported_mtu_bytes": 1400},
    "lost_probes": 13,
}
HOLE = FINE | {
    "kernel": {"confirmed": False, "silent": True},
    "probed_bytes": 1400,
    "tcp": {"stalled": True, "bytes_acked": 33},
    "converged_ns": {"probed": 2},
    "black_hole": {"packet_bytes": 1500, "index": 4, "before": "192.0.2.4", "after": "192.0.2.5"},
}
HOLE = {key: value for key, value in HOLE.items() if key != "tcp_bytes"}
ESCAPED = HOLE | {"tcp_bytes": 1298, "tcp": {"stalled": False}}
