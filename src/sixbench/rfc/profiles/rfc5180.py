"""The clauses of RFC 5180, IPv6 Benchmarking Methodology for Network Interconnect Devices."""

from __future__ import annotations

from ..clauses import Clause, always, length, line, residual, sizes, tester, throughput
from .common import BOTH, FIXED_PORTS, NO_TEST, ONE_NETWORK, OWN_ADDRESSES

CLAUSES = (
    Clause(section="section 4 (RFC 2544 section 6)", asks="the tester is not the limit", judge=tester),
    Clause(section="section 5.1.1", asks="the frame sizes for Ethernet, with jumbo frames", judge=sizes),
    Clause(
        section="section 5.1.1",
        asks="frames of 64 bytes",
        judge=always("not met", "IPv6, UDP and the tester's signature fill 84 bytes, which take the place of 64"),
    ),
    Clause(section="section 5.2", asks="addresses of 2001:2::/48", judge=always("not met", OWN_ADDRESSES)),
    Clause(
        section="section 5.2.2",
        asks="prefixes of 48, 64, 126 and 128 bits, and many networks",
        judge=always("not met", ONE_NETWORK),
    ),
    Clause(section="section 5.3", asks="extension headers: none, each, a chain", judge=always("not met", NO_TEST)),
    Clause(section="section 5.4", asks="mixes of IPv4 and IPv6", judge=always("not met", NO_TEST)),
    Clause(section="section 5.4 (RFC 4814)", asks="pseudo-random ports", judge=always("not met", FIXED_PORTS)),
    Clause(section="section 6", asks="bidirectional traffic", judge=always("met", BOTH)),
    Clause(section="section 7 (RFC 2544 section 23)", asks="2 s for residual frames", judge=residual),
    Clause(section="section 7 (RFC 2544 section 24)", asks="trials of at least 60 s", judge=length),
    Clause(section="section 7.1", asks="throughput", judge=throughput),
    Clause(section="appendix A.1", asks="beside the maximum frame rate of the line", judge=line),
    Clause(section="section 7.2", asks="latency", judge=always("not met", NO_TEST)),
    Clause(section="section 7.3", asks="frame loss rate", judge=always("not met", NO_TEST)),
    Clause(section="section 7.4", asks="back-to-back frames", judge=always("not met", NO_TEST)),
    Clause(section="section 7.5", asks="system recovery", judge=always("not met", NO_TEST)),
    Clause(section="section 7.6", asks="reset", judge=always("not met", NO_TEST)),
)
