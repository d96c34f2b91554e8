"""The clauses of RFC 8219, Benchmarking Methodology for IPv6 Transition Technologies."""

from __future__ import annotations

from ..clauses import (
    Clause,
    addresses,
    always,
    beyond,
    latency,
    length,
    line,
    mtus,
    residual,
    self_test,
    sizes,
    tagged,
    tester,
    throughput,
    was_run,
    with_state,
)
from ..traffic_clauses import repeated
from .common import BOTH, MIXES, NETWORKS, PLAIN, PORTS, RESET, SETTLING, STATIC

CLAUSES = (
    Clause(
        section="sections 4.1 and 4.2",
        asks="a single device for one translation, two for encapsulation and double translation",
        judge=always("met", "as the path of the experiment has them"),
    ),
    Clause(
        section="section 4.2",
        asks="each half of two devices by itself, too",
        judge=always("not met", "a path is tested as it is; a half is a path of its own"),
    ),
    Clause(section="section 4 (RFC 2544 section 6)", asks="the tester is not the limit", judge=tester),
    Clause(section="section 5.1.1", asks="the frame sizes for Ethernet", judge=sizes),
    Clause(section="section 5.1 and appendix A", asks="beside the line's rate less the overhead", judge=line),
    Clause(section="section 5.1", asks="one MTU everywhere, of 1280 bytes and the overhead", judge=mtus),
    Clause(
        section="section 5.2",
        asks="addresses as RFC 2544 section 12 and RFC 5180 section 5.2 have them",
        judge=addresses,
    ),
    Clause(
        section="section 5.2 (RFC 2544 section 12)",
        asks="one pair of networks, then 256",
        judge=repeated(NETWORKS),
    ),
    Clause(section="section 5.3", asks="bidirectional traffic", judge=always("met", BOTH)),
    Clause(section="section 5.3", asks="UDP", judge=always("met", "frames have UDP inside")),
    Clause(
        section="section 5.3",
        asks="stateful: connections of HTTP (RFC 3511 sections 5.2.2.2 and 5.3.2.2)",
        judge=with_state("not met", "connections of TCP whose messages are the tester's own, without HTTP"),
    ),
    Clause(
        section="section 5.3",
        asks="100/0, 90/10, 50/50 and 10/90 of translated to native traffic",
        judge=repeated(*MIXES),
    ),
    Clause(section="RFC 4814 section 4.5", asks="pseudo-random ports", judge=repeated(PORTS)),
    Clause(section="section 6", asks="modifiers of RFC 5180 section 6", judge=always("not met", PLAIN)),
    Clause(section="section 4 (RFC 2544 section 23)", asks="2 s for residual frames", judge=residual),
    Clause(
        section="section 4 (RFC 2544 section 23)",
        asks="5 s for the device to settle before the next trial",
        judge=always("not met", SETTLING),
    ),
    Clause(
        section="section 4 (RFC 2544 section 13)",
        asks="dynamic routing",
        judge=always("not met", STATIC),
    ),
    Clause(section="section 7.1 (RFC 2544 section 24)", asks="trials of at least 60 s", judge=length),
    Clause(section="section 7.1", asks="throughput", judge=throughput),
    Clause(
        section="section 7.2",
        asks="latency, typical and worst case: streams of 120 s, 20 times",
        judge=latency,
    ),
    Clause(section="section 7.2", asks="at least 500 tagged frames after 60 s", judge=tagged),
    Clause(section="section 7.3.1", asks="packet delay variation: 60 s, 20 times", judge=was_run("pdv")),
    Clause(section="section 7.3.2", asks="inter-packet delay variation (optional)", judge=was_run("ipdv")),
    Clause(section="section 7.4", asks="frame loss rate", judge=was_run("frame-loss-rate")),
    Clause(
        section="section 7.5 (RFC 9004)",
        asks="back-to-back frames",
        judge=was_run("back-to-back"),
    ),
    Clause(section="section 7.6", asks="system recovery", judge=was_run("recovery")),
    Clause(section="section 7.7 (RFC 6201 section 4)", asks="reset", judge=always("not met", RESET)),
    Clause(
        section="section 8.1 (RFC 3511 section 5.2)",
        asks="stateful: concurrent TCP connections",
        judge=was_run("capacity"),
    ),
    Clause(
        section="section 8.2 (RFC 3511 section 5.3)",
        asks="stateful: maximum TCP connection establishment rate",
        judge=was_run("establishment"),
    ),
    Clause(
        section="section 9.1",
        asks="DNS64: IPv6 between client and resolver",
        judge=beyond("dns64", "met", "the client asks over IPv6; the resolver asks the authority as the path has it"),
    ),
    Clause(
        section="section 9.2",
        asks="DNS64: the highest rate without loss, 60 s, 20 times, answers checked",
        judge=was_run("dns64"),
    ),
    Clause(section="section 9.2.1", asks="DNS64: the self-test of the tester", judge=self_test),
    Clause(
        section="section 9.2",
        asks="DNS64: tests with 20 % to 100 % of the names cached, or with AAAA records (optional)",
        judge=beyond("dns64", "not met", "every name is new, and has no AAAA record"),
    ),
    Clause(
        section="section 10.1.2",
        asks="overload: n client devices at one server device",
        judge=beyond("overload", "not met", "flows go through all devices of the path"),
    ),
    Clause(
        section="section 10.2.1",
        asks="overload: throughput of n flows at once against that of one, the degradation in percent",
        judge=was_run("overload"),
    ),
    Clause(
        section="section 10.2.1",
        asks="overload: the other tests of section 7 with n flows",
        judge=beyond("overload", "not met", "with n flows only the throughput is measured"),
    ),
    Clause(
        section="section 10.2.2",
        asks="overload: flows that begin one after the other",
        judge=beyond("overload", "not met", "all flows begin at once"),
    ),
    Clause(
        section="section 12 (RFC 2330 section 11.3)",
        asks="several repetitions: their median, with the 1st and the 99th percentile",
        judge=always("met", "each value that was measured repeatedly has them"),
    ),
)
