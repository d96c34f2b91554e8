"""The tools, one file each: what it is run with in each comparison, and how its output is read. Pure."""

from __future__ import annotations

from ..contender import Tool
from . import iperf, iperf3, itg, neper, netperf, nuttcp, qperf, sockperf

PEERS: tuple[Tool, ...] = (
    iperf3.TOOL,
    iperf.TOOL,
    nuttcp.TOOL,
    sockperf.TOOL,
    netperf.TOOL,
    neper.TOOL,
    qperf.TOOL,
    itg.TOOL,
)
