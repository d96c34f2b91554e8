"""The clauses of RFC 9693, Benchmarking Methodology for Stateful NATxy Gateways.

They have no numbers of sections, because its text was not at hand when they were written.
"""

from __future__ import annotations

from ..clauses import Clause, always, empty_table, was_run

CLAUSES = (
    Clause(
        section="test setup",
        asks="the client side opens connections through the device to the server side",
        judge=always("met", "both hosts are agents of one run, and each trial has counters and packets as evidence"),
    ),
    Clause(
        section="test phase 1",
        asks="frames that each make a new connection, over UDP",
        judge=always("met", "a datagram of each connection's own pair of ports"),
    ),
    Clause(
        section="number of network flows",
        asks="limited ranges of ports, pseudo-random and without repetition",
        judge=always("not met", "ports are unique, but the client's kernel chooses the client's"),
    ),
    Clause(
        section="control of the table",
        asks="an empty table before each trial, and entries that last longer than it",
        judge=empty_table,
    ),
    Clause(
        section="maximum connection establishment rate",
        asks="a binary search, in which all connections of a trial are established",
        judge=was_run("establishment"),
    ),
    Clause(
        section="validation of connection establishment",
        asks="a frame of each connection comes back from the server side in phase 2",
        judge=always("met", "each connection is asked again at the end, and its answer comes through the device"),
    ),
    Clause(
        section="connection tracking table capacity",
        asks="the number of connections doubled, then bisected",
        judge=was_run("capacity"),
    ),
    Clause(
        section="connection tracking table capacity",
        asks="a number is too large if its establishment rate drops far under the safe one",
        judge=always("not met", "it is too large if not all are established at half of the highest rate"),
    ),
    Clause(
        section="connection tear-down rate",
        asks="the time in which the device deletes all of so many connections",
        judge=was_run("teardown"),
    ),
    Clause(
        section="classic measurements",
        asks="throughput, latency, frame loss rate and delay variation with many connections in phase 2",
        judge=always("not met", "they use one pair of ports; --profile 8219 runs them"),
    ),
    Clause(
        section="scalability",
        asks="against the number of connections, and against the number of processors",
        judge=always("not met", "one number of connections, and the processors that the experiment gives"),
    ),
)
