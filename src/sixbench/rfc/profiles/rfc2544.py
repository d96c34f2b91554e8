"""The clauses of RFC 2544, Benchmarking Methodology for Network Interconnect Devices.

Those of back-to-back frames are of RFC 9004, which updates section 26.4.
"""

from __future__ import annotations

from ..clauses import (
    Clause,
    addresses,
    always,
    beyond,
    halves,
    latency,
    length,
    line,
    residual,
    sizes,
    tester,
    throughput,
    was_run,
)
from ..traffic_clauses import repeated
from .common import BOTH, NETWORKS, PLAIN, RESET, SETTLING, STATIC

CLAUSES = (
    Clause(
        section="section 6",
        asks="the tester sends to the device and receives from it",
        judge=always("met", "both hosts are agents of one run, and each trial has counters and packets as evidence"),
    ),
    Clause(section="section 6", asks="the tester is not the limit", judge=tester),
    Clause(
        section="section 7",
        asks="the device's configuration is reported, and is the same in all tests",
        judge=always("met", "the run directory has the experiment, and the settings of each node"),
    ),
    Clause(
        section="section 8 and appendix C.2",
        asks="frames of UDP Echo in a given format",
        judge=always("not met", "frames have UDP, but in its payload a signature, a number and a time stamp"),
    ),
    Clause(section="section 9.1", asks="the frame sizes for Ethernet", judge=sizes),
    Clause(
        section="section 10",
        asks="received frames are verified: length, no others, sequence, duplicates",
        judge=always("met", "by a signature, a sequence number and checksums in each frame"),
    ),
    Clause(
        section="section 11",
        asks="modifiers: broadcast, management, routing updates, filters",
        judge=always("not met", PLAIN),
    ),
    Clause(section="section 12 and appendix C.2.2", asks="addresses of 198.18.0.0/15", judge=addresses),
    Clause(
        section="appendix C.2.2.1",
        asks="198.18 on the input side, 198.19 on the output side",
        judge=halves,
    ),
    Clause(section="section 12", asks="one pair of networks, then 256", judge=repeated(NETWORKS)),
    Clause(
        section="section 13",
        asks="routing updates give the device its routes",
        judge=always("not met", STATIC),
    ),
    Clause(section="section 14", asks="bidirectional traffic", judge=always("met", BOTH)),
    Clause(
        section="section 15",
        asks="one input and one output port",
        judge=always("met", "one interface on each side"),
    ),
    Clause(
        section="section 16",
        asks="multiple ports",
        judge=always("not applicable", "a path has two ends"),
    ),
    Clause(
        section="section 20",
        asks="the highest rate is the theoretical one of the line",
        judge=line,
    ),
    Clause(
        section="section 21",
        asks="bursts of 16, 64, 256 and 1024 frames, with ever less time between them",
        judge=always("not met", "the load is constant; back-to-back frames are single bursts"),
    ),
    Clause(
        section="section 23",
        asks="2 s after a routing update, and 2 s after learning frames",
        judge=always("not met", STATIC),
    ),
    Clause(section="section 23", asks="2 s for residual frames", judge=residual),
    Clause(
        section="section 23",
        asks="5 s for the device to settle before the next trial",
        judge=always("not met", SETTLING),
    ),
    Clause(section="section 24", asks="trials of at least 60 s", judge=length),
    Clause(
        section="section 25",
        asks="the device resolves addresses",
        judge=always("met", "both hosts answer ARP and neighbour discovery, as any host does"),
    ),
    Clause(section="section 26.1", asks="throughput: the highest rate without loss", judge=throughput),
    Clause(section="section 26.1", asks="drawn against the line's theoretical rate", judge=line),
    Clause(section="section 26.2", asks="latency at the throughput rate, 20 times", judge=latency),
    Clause(
        section="section 26.2",
        asks="latency also with each tagged frame to another network",
        judge=repeated(NETWORKS, test="latency"),
    ),
    Clause(
        section="section 26.3",
        asks="frame loss rate in steps of 10 %, until two rates lose nothing",
        judge=was_run("frame-loss-rate"),
    ),
    Clause(
        section="section 26.4, RFC 9004 section 6",
        asks="back-to-back frames: the longest burst, 50 times",
        judge=was_run("back-to-back"),
    ),
    Clause(
        section="RFC 9004 section 6.1",
        asks="only frame sizes at which the device is slower than the line",
        judge=beyond("back-to-back", "met", "a device as fast as the line has no result, and the remark says so"),
    ),
    Clause(
        section="RFC 9004 section 6.2",
        asks="bursts of up to 30 s, if so configured",
        judge=beyond("back-to-back", "not met", "bursts of up to 2 s; the remark says where they were too short"),
    ),
    Clause(
        section="RFC 9004 section 6.4",
        asks="mean, least, largest and standard deviation, and the buffer time, corrected",
        judge=beyond("back-to-back", "met", "all of them are results, with the number of searches"),
    ),
    Clause(section="section 26.5", asks="system recovery after 110 % of the throughput", judge=was_run("recovery")),
    Clause(section="section 26.6 (RFC 6201)", asks="reset", judge=always("not met", RESET)),
)
