"""The workloads: one file each, and this list of them."""

from __future__ import annotations

from ..workload import WorkloadKind
from . import (
    bring_up,
    compete,
    connections,
    dns,
    dns64,
    frames,
    happy_eyeballs,
    http,
    latency_under_load,
    ping,
    pmtu,
    quic_connect,
    quic_stream,
    tcp_connect,
    tcp_crr,
    tcp_rr,
    tcp_stream,
    tls,
    udp_rr,
    udp_stream,
    voip,
)

WORKLOADS: dict[str, WorkloadKind] = {
    kind.name: kind
    for kind in (
        tcp_stream.KIND,
        udp_stream.KIND,
        frames.KIND,
        tcp_rr.KIND,
        udp_rr.KIND,
        tcp_connect.KIND,
        tcp_crr.KIND,
        connections.KIND,
        tls.KIND,
        quic_connect.KIND,
        quic_stream.KIND,
        http.KIND,
        dns.KIND,
        dns64.KIND,
        ping.KIND,
        bring_up.KIND,
        pmtu.KIND,
        voip.KIND,
        compete.KIND,
        happy_eyeballs.KIND,
        latency_under_load.KIND,
    )
}
