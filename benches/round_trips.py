"""Times of applications over a link whose round trip is known, beside the whole round trips that theory expects.

The time that the ends compute (mostly the cryptography of a handshake) is measured over the same link without a delay,
in turn, and taken off: the rest is waiting, such as for timers.
"""

from __future__ import annotations

from contextlib import ExitStack

from links import Lab
from measure import ROUNDS
from table import Figure, Table
from tunnels import native

from sixbench.agent import AgentHub

DELAY = "10ms"
ROUND_TRIP_NS = 20 * 10**6
SECONDS, WARMUP_S = 0.4, 0.1
TARGET = "< 1.03"

CASES: tuple[tuple[str, str, dict[str, object], str, int], ...] = (
    ("TCP connect", "tls", {}, "connect", 1),
    ("TLS handshake", "tls", {}, "handshake", 1),
    ("TLS handshake, resumed", "tls", {"session": "resumed"}, "handshake", 1),
    ("TLS early data, first byte", "tls", {"session": "resumed", "early_data": True}, "first_byte", 2),
    ("QUIC handshake", "quic-connect", {}, "handshake", 1),
    ("QUIC first byte", "quic-connect", {}, "first_byte", 2),
    ("QUIC first byte, 0-RTT", "quic-connect", {"session": "0-rtt"}, "first_byte", 1),
    ("HTTP/3, first byte", "http", {"version": "3", "object_bytes": 1000}, "first_byte", 2),
    *(
        (f"DNS over {over}, first answer", "dns", {"over": over}, "transaction", round_trips)
        for over, round_trips in (("udp", 1), ("tcp", 2), ("tls", 3), ("https", 3), ("quic", 2))
    ),
)
"""Names, workloads, their parameters, the time that is looked at, and its round trips."""


def bench_round_trips(hub: AgentHub, table: Table) -> None:
    """Both families."""
    for family in (4, 6):
        for case in CASES:
            round_trips(hub, table, family, case)


def round_trips(hub: AgentHub, table: Table, family: int, case: tuple[str, str, dict[str, object], str, int]) -> None:
    """The median of a time in round trips, as a share of what theory expects: without what the ends compute, and with
    it."""
    what, workload, params, time, expected = case
    path = native(family)
    waited = Figure(f"{what} by {path.name}, waiting / {expected} round trips of 20 ms", TARGET)
    whole = Figure("... with what the ends compute")

    def measure() -> None:
        with ExitStack() as stack:
            delayed = stack.enter_context(Lab(hub, path, f"delay: {DELAY}, emulator: user"))
            direct = stack.enter_context(Lab(hub, path, "offload: false"))
            for _ in range(ROUNDS):
                over_delay, computed = (
                    lab.asked(workload, params, SECONDS, WARMUP_S)[time]["p50"] for lab in (delayed, direct)
                )
                whole.values.append(over_delay / (expected * ROUND_TRIP_NS))
                waited.values.append((over_delay - computed) / (expected * ROUND_TRIP_NS))

    table.measure([waited, whole], measure)
