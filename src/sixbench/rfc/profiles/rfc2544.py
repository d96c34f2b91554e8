"""The clauses of RFC 2544, Benchmarking Methodology for Network Interconnect Devices."""

from __future__ import annotations

from ..clauses import Clause, addresses, always, length, line, residual, sizes, tester, throughput, was_run
from .common import BOTH, ONE_NETWORK, PLAIN, RESET

CLAUSES = (
    Clause(
        section="section 6",
        asks="the tester sends to the device and receives from it",
        judge=always("met", "both hosts are agents of one run, and each trial has counters and packets as evidence"),
    ),
    Clause(section="section 6", asks="the tester is not the limit", judge=tester),
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
    Clause(section="section 12", asks="one pair of networks, then 256", judge=always("not met", ONE_NETWORK)),
    Clause(section="section 14", asks="bidirectional traffic", judge=always("met", BOTH)),
    Clause(
        section="section 16",
        asks="multiple ports",
        judge=always("not applicable", "a path has two ends"),
    ),
    Clause(
        section="section 21",
        asks="constant load and bursts",
        judge=always("met", "an absolute schedule; how late frames left decides whether a trial counts"),
    ),
    Clause(section="section 23", asks="2 s for residual frames", judge=residual),
    Clause(
        section="section 23",
        asks="5 s for the device to settle before the next trial",
        judge=always("not met", "a trial begins once nothing of the one before it is under way, which is looked at"),
    ),
    Clause(section="section 24", asks="trials of at least 60 s", judge=length),
    Clause(section="section 26.1", asks="throughput: the highest rate without loss", judge=throughput),
    Clause(section="section 26.1", asks="drawn against the line's theoretical rate", judge=line),
    Clause(section="section 26.2", asks="latency at the throughput rate, 20 times", judge=was_run("latency")),
    Clause(
        section="section 26.3",
        asks="frame loss rate in steps of 10 %, until two rates lose nothing",
        judge=was_run("frame-loss-rate"),
    ),
    Clause(
        section="section 26.4 (RFC 9004)",
        asks="back-to-back frames: the longest burst, 50 times",
        judge=was_run("back-to-back"),
    ),
    Clause(section="section 26.5", asks="system recovery after 110 % of the throughput", judge=was_run("recovery")),
    Clause(section="section 26.6 (RFC 6201)", asks="reset", judge=always("not met", RESET)),
)
