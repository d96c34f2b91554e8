"""The tools, one file each: what it is run with in each comparison, and how its output is read. Pure."""

from __future__ import annotations

from ..contender import Tool
from . import dnsperf, h2load, iperf, iperf3, itg, neper, netperf, ngtcp2, nuttcp, openssl, qperf, sockperf

PEERS: tuple[Tool, ...] = (
    iperf3.TOOL,
    iperf.TOOL,
    nuttcp.TOOL,
    sockperf.TOOL,
    netperf.TOOL,
    neper.TOOL,
    qperf.TOOL,
    itg.TOOL,
    h2load.TOOL,
    openssl.TOOL,
    ngtcp2.TOOL,
    dnsperf.TOOL,
)
