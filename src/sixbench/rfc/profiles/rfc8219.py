"""The clauses of RFC 8219, Benchmarking Methodology for IPv6 Transition Technologies."""

from __future__ import annotations

from ..clauses import Clause, always, length, line, residual, sizes, tester, throughput
from .common import BOTH, FIXED_PORTS, NO_TEST

CLAUSES = (
    Clause(
        section="section 4",
        asks="a single device, or two around one technology",
        judge=always("met", "as the path of the experiment has them"),
    ),
    Clause(
        section="section 4.2",
        asks="each half of two devices by itself, too",
        judge=always("not met", "a path is tested as it is; a half is a path of its own"),
    ),
    Clause(section="section 4 (RFC 2544 section 6)", asks="the tester is not the limit", judge=tester),
    Clause(section="section 5.1", asks="the frame sizes for Ethernet", judge=sizes),
    Clause(section="section 5.1", asks="beside the line's rate less the overhead", judge=line),
    Clause(section="section 5.2", asks="UDP", judge=always("met", "frames have UDP inside")),
    Clause(
        section="section 5.3",
        asks="100/0, 90/10, 50/50 and 10/90 of translated to native traffic",
        judge=always("not met", "all of the traffic takes the path"),
    ),
    Clause(section="section 5 (RFC 4814)", asks="pseudo-random ports", judge=always("not met", FIXED_PORTS)),
    Clause(section="section 5 (RFC 2544 section 14)", asks="bidirectional traffic", judge=always("met", BOTH)),
    Clause(section="section 7 (RFC 2544 section 23)", asks="2 s for residual frames", judge=residual),
    Clause(section="section 7.1 (RFC 2544 section 24)", asks="trials of at least 60 s", judge=length),
    Clause(section="section 7.1", asks="throughput", judge=throughput),
    Clause(section="section 7.2", asks="latency: typical and worst case", judge=always("not met", NO_TEST)),
    Clause(section="section 7.3.1", asks="packet delay variation", judge=always("not met", NO_TEST)),
    Clause(section="section 7.3.2", asks="inter-packet delay variation (optional)", judge=always("not met", NO_TEST)),
    Clause(section="section 7.4", asks="frame loss rate", judge=always("not met", NO_TEST)),
    Clause(section="section 7.5", asks="back-to-back frames", judge=always("not met", NO_TEST)),
    Clause(section="section 7.6", asks="system recovery", judge=always("not met", NO_TEST)),
    Clause(section="section 7.7", asks="reset", judge=always("not met", NO_TEST)),
    Clause(section="section 8", asks="stateful: concurrent connections, their rate", judge=always("not met", NO_TEST)),
    Clause(section="section 9", asks="DNS64", judge=always("not met", NO_TEST)),
    Clause(section="section 10", asks="overload scalability", judge=always("not met", NO_TEST)),
)
