"""The clauses of RFC 8219, Benchmarking Methodology for IPv6 Transition Technologies."""

from __future__ import annotations

from ..clauses import (
    Clause,
    addresses,
    always,
    beyond,
    length,
    line,
    residual,
    self_test,
    sizes,
    tagged,
    tester,
    throughput,
    was_run,
)
from .common import BOTH, FIXED_PORTS, MIXES, PLAIN, RESET

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
    Clause(section="section 5.1.1", asks="the frame sizes for Ethernet", judge=sizes),
    Clause(section="section 5.1.1 and appendix A", asks="beside the line's rate less the overhead", judge=line),
    Clause(
        section="section 5.2",
        asks="addresses as RFC 2544 section 12 and RFC 5180 section 5.2 have them",
        judge=addresses,
    ),
    Clause(section="section 5.3", asks="bidirectional traffic", judge=always("met", BOTH)),
    Clause(section="section 5.3", asks="UDP", judge=always("met", "frames have UDP inside")),
    Clause(
        section="section 5.3",
        asks="100/0, 90/10, 50/50 and 10/90 of translated to native traffic",
        judge=always("not met", MIXES),
    ),
    Clause(section="section 5 (RFC 4814)", asks="pseudo-random ports", judge=always("not met", FIXED_PORTS)),
    Clause(section="section 6", asks="modifiers, as RFC 5180 section 6 has them", judge=always("not met", PLAIN)),
    Clause(section="section 7 (RFC 2544 section 23)", asks="2 s for residual frames", judge=residual),
    Clause(section="section 7.1 (RFC 2544 section 24)", asks="trials of at least 60 s", judge=length),
    Clause(section="section 7.1", asks="throughput", judge=throughput),
    Clause(
        section="section 7.2",
        asks="latency, typical and worst case: streams of 120 s, 20 times",
        judge=was_run("latency"),
    ),
    Clause(section="section 7.2", asks="at least 500 tagged frames after 60 s", judge=tagged),
    Clause(section="section 7.3.1", asks="packet delay variation: 60 s, 20 times", judge=was_run("pdv")),
    Clause(section="section 7.3.2", asks="inter-packet delay variation (optional)", judge=was_run("ipdv")),
    Clause(section="section 7.4", asks="frame loss rate", judge=was_run("frame-loss-rate")),
    Clause(section="section 7.5 (RFC 9004)", asks="back-to-back frames", judge=was_run("back-to-back")),
    Clause(section="section 7.6", asks="system recovery", judge=was_run("recovery")),
    Clause(section="section 7.7 (RFC 6201)", asks="reset", judge=always("not met", RESET)),
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
        section="section 10.2.1",
        asks="overload: n flows at once against one, the degradation in percent",
        judge=was_run("overload"),
    ),
    Clause(
        section="section 10.2.2",
        asks="overload: flows that begin one after the other",
        judge=beyond("overload", "not met", "all flows begin at once"),
    ),
)
