"""The clauses of RFC 5180, IPv6 Benchmarking Methodology for Network Interconnect Devices."""

from __future__ import annotations

from ..clauses import (
    Clause,
    addresses,
    always,
    halves,
    latency,
    length,
    line,
    prefixes,
    residual,
    sizes,
    tester,
    throughput,
    was_run,
)
from ..traffic_clauses import repeated
from .common import BOTH, EXTENSIONS, MIXES, NETWORKS, PLAIN, PREFIXES, RESET

CLAUSES = (
    Clause(section="section 4 (RFC 2544 section 6)", asks="the tester is not the limit", judge=tester),
    Clause(
        section="section 4",
        asks="the device's processor and memory, if wanted, out of band",
        judge=always("met", "each trial records them by the kernel's counters, not by frames"),
    ),
    Clause(
        section="section 4",
        asks="neighbours are static, or are resolved while frames are sent",
        judge=always("met", "both hosts answer neighbour discovery, as any host does"),
    ),
    Clause(section="section 5.1.1", asks="the frame sizes for Ethernet, with jumbo frames", judge=sizes),
    Clause(
        section="section 5.1.1",
        asks="frames of 64 bytes",
        judge=always(
            "not met",
            "IPv6, UDP and the tester's signature fill 84 bytes, which take the place of 64, as section 5.1 foresees",
        ),
    ),
    Clause(
        section="section 5.2.1",
        asks="prefixes of the device's interfaces of 64 bits or fewer, or of 126",
        judge=prefixes,
    ),
    Clause(
        section="section 5.2.1",
        asks="several runs, with destination prefixes of 48, 64, 126 and 128 bits",
        judge=repeated(*PREFIXES, where_unfit="not applicable"),
    ),
    Clause(section="section 5.2.2 (section 8)", asks="addresses of 2001:2::/48", judge=addresses),
    Clause(
        section="section 5.2.2",
        asks="sources of one half of the range, destinations of the other",
        judge=halves,
    ),
    Clause(
        section="section 5.2.2",
        asks="one pair of addresses, then random destinations",
        judge=repeated(NETWORKS),
    ),
    Clause(
        section="sections 5.3 and 7",
        asks="extension headers: none, each one, a chain",
        judge=repeated(*EXTENSIONS, where_unfit="not applicable"),
    ),
    Clause(section="section 5.4", asks="bidirectional traffic", judge=always("met", BOTH)),
    Clause(section="section 6", asks="modifiers: management, routing updates, filters", judge=always("not met", PLAIN)),
    Clause(
        section="section 7",
        asks="mixes of IPv4 and IPv6: 90/10, 50/50 and 10/90",
        judge=repeated(*MIXES),
    ),
    Clause(section="section 5.4 (RFC 2544 section 23)", asks="2 s for residual frames", judge=residual),
    Clause(section="section 7 (RFC 2544 section 24)", asks="trials of at least 60 s", judge=length),
    Clause(section="section 7.1", asks="throughput", judge=throughput),
    Clause(section="appendix A.1", asks="beside the maximum frame rate of the line", judge=line),
    Clause(section="section 7.2", asks="latency", judge=latency),
    Clause(section="section 7.3", asks="frame loss rate", judge=was_run("frame-loss-rate")),
    Clause(
        section="section 7.4",
        asks="no test of back-to-back frames",
        judge=always("not applicable", "the RFC no longer recommends it for IPv6"),
    ),
    Clause(section="section 7.5", asks="system recovery", judge=was_run("recovery")),
    Clause(section="section 7.6", asks="reset", judge=always("not met", RESET)),
)
