"""`quic-stream`: bulk transfer over QUIC."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from ..expectation import Datagrams, Expectation
from ..parameter import Parameter, Params
from ..quantity import duration, metric, share
from ..reason import ReasonKind
from ..workload import Expected, Result, Side, Traffic, TrialMeasurements, WorkloadKind
from .applications import marks
from .common import BYTES, DURATION, INTERVAL, RCVBUF, SECOND_NS, SNDBUF, TIMEOUT, WARMUP, of_one_length, rate
from .moving import MIGRATE, outage
from .quic_packets import BULK_HEADER_BYTES, LEAST_DATAGRAM_BYTES

if TYPE_CHECKING:
    from ..form import Form

CONGESTION = Parameter(
    name="congestion",
    kind="choice",
    choices=("cubic", "bbr", "newreno"),
    doc="congestion control of the sender",
    default="cubic",
)
OFFLOAD = Parameter(
    name="offload",
    kind="flag",
    doc="UDP_SEGMENT, with which several datagrams go to the sender's kernel in one piece",
    default=True,
)
LARGEST = Parameter(
    name="largest-datagram",
    kind="size",
    doc="largest payload of UDP that the sender looks for on the path",
    minimum=1200,
    maximum=65527,
    default=1472,
)


def _summarise(params: Params, client: Result, server: Result) -> TrialMeasurements:
    measured = TrialMeasurements()
    goodput = rate(8 * server["measured_bytes"], server["measured_ns"])
    if goodput is None or not server["measured_bytes"]:
        measured.reject(ReasonKind.NOTHING_ARRIVED, "no byte arrived in the measured time")
    else:
        measured.metrics["goodput_bps"] = goodput
    quic = client["quic"]
    if quic["sent_packets"]:
        measured.metrics["quic_loss_ratio"] = quic["lost_packets"] / quic["sent_packets"]
    measured.metrics["datagram_size_bytes"] = float(client["datagram_bytes"])
    changes = client["datagram_changes"]
    if changes:
        measured.metrics["datagram_search_ns"] = float(changes[-1]["t_ns"])
    settled_ns = client.get("datagram_settled_ns")
    if settled_ns is not None:
        measured.metrics["datagram_settled_ns"] = float(settled_ns)
    arrived = server["ecn"]
    if sum(arrived.values()):
        measured.metrics["ecn_marked_ratio"] = arrived["ce"] / sum(arrived.values())
    outage(measured, server)
    marks(measured, {"client": client, "server": server})
    if quic["black_holes"]:
        measured.notes.append(f"{quic['black_holes']} times the path carried no datagram of the size found before")
    for side, result in (("client", client), ("server", server)):
        if result.get("series"):
            measured.series[side] = result["series"]
    return measured


def _expects(params: Params) -> Expectation:
    """Full datagrams, each with the headers of QUIC and its tag."""
    return Expectation(
        bulk=Datagrams(
            largest_bytes=int(LARGEST.of(params)),
            least_bytes=LEAST_DATAGRAM_BYTES,
            header_bytes=BULK_HEADER_BYTES,
            may_be_joined=bool(OFFLOAD.of(params)),
        )
    )


def _traffic(params: Params, client: Result, server: Result) -> Traffic:
    return Traffic(
        forward_payload_bytes=int(server["received_bytes"]),
        messages=int(server["received_datagrams"]) + int(client["quic"]["received_datagrams"]),
    )


@cache
def _forms() -> dict[Side, type[Form]]:
    from ..form import ABSENT, Natural
    from ..form import Form as Checked
    from ..result_form import EcnMarks, Move, SeenMove, SideResult

    class SenderCounts(Checked):
        """The sender's own counts of its connection."""

        sent_packets: Natural
        lost_packets: Natural
        lost_bytes: Natural
        congestion_events: Natural
        probes: Natural
        lost_probes: Natural
        black_holes: Natural
        sent_datagrams: Natural
        sent_datagram_bytes: Natural
        received_datagrams: Natural
        received_datagram_bytes: Natural
        rtt_ns: Natural
        min_rtt_ns: Natural
        cwnd_bytes: Natural

    class SizeChange(Checked):
        """A change of the size of datagrams."""

        t_ns: Natural
        datagram_bytes: Natural

    class QuicSender(SideResult):
        """The client that sends."""

        handshake_ns: Natural
        measured_ns: Natural
        sent_bytes: Natural
        quic: SenderCounts
        datagram_bytes: Natural
        datagram_changes: list[SizeChange]
        datagram_settled_ns: Natural | None = None
        ecn: EcnMarks
        moves: list[Move] = ABSENT

    class QuicReceiver(SideResult):
        """The server that receives."""

        measured_ns: Natural
        measured_bytes: Natural
        received_bytes: Natural
        received_datagrams: Natural
        received_datagram_bytes: Natural
        reads: Natural
        connections: Natural
        failed: Natural
        ecn: EcnMarks
        moves: list[SeenMove] = ABSENT

    return {"client": QuicSender, "server": QuicReceiver}


KIND = WorkloadKind(
    name="quic-stream",
    title="QUIC bulk transfer",
    is_proper_name=True,
    transport="udp",
    doc="Bulk transfer over one stream of one connection of QUIC; goodput as the receiver sees it.",
    parameters=(
        DURATION,
        BYTES,
        WARMUP,
        CONGESTION,
        OFFLOAD,
        LARGEST,
        MIGRATE,
        replace(SNDBUF, unless_given="4MiB"),
        replace(RCVBUF, unless_given="4MiB"),
        replace(TIMEOUT, doc="longest silence of the peer", default=5 * SECOND_NS),
        INTERVAL,
    ),
    primary="goodput",
    headline=("goodput", "outage", "quic_loss_ratio", "datagram_size", "cpu_per_byte"),
    metrics=(
        *("goodput", "quic_loss_ratio", "datagram_size", "datagram_search", "datagram_settled"),
        "ecn_marked_ratio",
        "outage",
    ),
    own_metrics=(
        share("quic_loss_ratio", "Packets that QUIC took for lost", "RFC 9002 section 6"),
        metric("datagram_size", "bytes", "higher", "Largest datagram that was found", "RFC 8899", is_exact=True),
        duration("datagram_search", "Time until the largest datagram was found", "RFC 8899"),
        duration("datagram_settled", "Time until nothing larger was looked for", "RFC 8899"),
        share("ecn_marked_ratio", "Datagrams that came with a mark of congestion", "RFC 9000 section 13.4"),
    ),
    check=of_one_length(DURATION, BYTES),
    summarise=_summarise,
    traffic=_traffic,
    expects=_expects,
    results=lambda side, params: (Expected(form=_forms()[side]),),
    progress=frozenset({"receiver"}),
    moves_by=MIGRATE,
)
