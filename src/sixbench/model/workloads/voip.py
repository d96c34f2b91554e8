"""`voip`: one direction of a call, and how good it is by the E-model (ITU-T G.107)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..e_model import CodecImpairments, mos_cqe, r_factor
from ..parameter import Parameter, Params, Scalar, Wrong
from ..quantity import duration, metric, share
from ..topology import Family
from ..workload import Result, TrialMeasurements, WorkloadKind, apart
from . import udp_stream
from .common import COUNT, DF, DURATION, HEADER_BYTES, INTERVAL, PACKET_LOG, RCVBUF, SNDBUF, WARMUP, one_length
from .traffic_models import SEED

RTP_BYTES = 12
"""RFC 3550 section 5.1."""

MS = 10**6
TALK_NS, PAUSE_NS = 1004 * MS, 1587 * MS
"""Mean lengths of talk spurts and pauses (ITU-T P.59 Table 1)."""


@dataclass(frozen=True, kw_only=True)
class Codec:
    """A codec.

    Attributes:
        frame_ns, frame_bytes: of the frames that it makes; for G.711, the samples of 10 ms.
        lookahead_ns: what it waits for beyond a frame.
        packetisation_ns: the speech in a packet, unless told otherwise.
        equipment: by ITU-T G.113 Appendix I, without and with voice activity detection.
    """

    frame_ns: int
    frame_bytes: int
    lookahead_ns: int
    packetisation_ns: int
    equipment: tuple[CodecImpairments, CodecImpairments]


_G711 = CodecImpairments(ie=0, bpl=4.3)
_G711_CONCEALED = CodecImpairments(ie=0, bpl=25.1)

CODECS = {
    "g711": Codec(frame_ns=10 * MS, frame_bytes=80, lookahead_ns=0, packetisation_ns=20 * MS, equipment=(_G711, _G711)),
    "g711-plc": Codec(
        frame_ns=10 * MS,
        frame_bytes=80,
        lookahead_ns=0,
        packetisation_ns=20 * MS,
        equipment=(_G711_CONCEALED, _G711_CONCEALED),
    ),
    "g729": Codec(
        frame_ns=10 * MS,
        frame_bytes=10,
        lookahead_ns=5 * MS,
        packetisation_ns=20 * MS,
        equipment=(CodecImpairments(ie=10, bpl=19), CodecImpairments(ie=11, bpl=19)),
    ),
    "g723.1": Codec(
        frame_ns=30 * MS,
        frame_bytes=24,
        lookahead_ns=7_500_000,
        packetisation_ns=30 * MS,
        equipment=(CodecImpairments(ie=15, bpl=16.1), CodecImpairments(ie=15, bpl=16.1)),
    ),
}


CODEC = Parameter(
    name="codec",
    kind="choice",
    choices=tuple(CODECS),
    identifying=True,
    doc="codec; g711-plc conceals losses (G.711 Appendix I), as g729 and g723.1 always do",
    default="g711",
)
PACKETISATION = Parameter(
    name="packetisation",
    kind="duration",
    doc="speech in a packet, in whole frames",
    minimum=10 * MS,
    maximum=200 * MS,
    unless_given="20ms; of g723.1 30ms",
)
VAD = Parameter(
    name="vad",
    kind="flag",
    doc="voice activity detection: talk spurts of 1.004 s and pauses of 1.587 s (ITU-T P.59), exponential",
    default=False,
)
JITTER_BUFFER = Parameter(
    name="jitter-buffer",
    kind="duration",
    doc="a packet that is later than the fastest one by more than this is not played",
    minimum=0,
    maximum=10_000 * MS,
    default=40 * MS,
)
VOICE_PARAMETERS = (CODEC, PACKETISATION, VAD, JITTER_BUFFER)


def _codec(params: Params) -> Codec:
    return CODECS[str(CODEC.of(params))]


def _packetisation_ns(params: Params) -> int:
    return int(params.get(PACKETISATION.column, _codec(params).packetisation_ns))


def _datagram_bytes(params: Params) -> int:
    codec = _codec(params)
    return RTP_BYTES + _packetisation_ns(params) // codec.frame_ns * codec.frame_bytes


def _check(params: Params, _: frozenset[Family]) -> Wrong | None:
    codec, name = _codec(params), CODEC.of(params)
    if _packetisation_ns(params) % codec.frame_ns:
        words = f"packetisation must be a multiple of {codec.frame_ns // MS} ms, a frame of {name}"
        return Wrong(PACKETISATION.name, words)
    if _datagram_bytes(params) < HEADER_BYTES:
        return Wrong(
            PACKETISATION.name,
            f"a packet of {_datagram_bytes(params)} bytes is too small to be measured: at least {HEADER_BYTES}; "
            "give a longer packetisation",
        )
    return one_length(params, DURATION, COUNT)


def _agent_params(params: Params) -> dict[str, Scalar]:
    voice_columns = {parameter.column for parameter in VOICE_PARAMETERS}
    asked = {column: value for column, value in params.items() if column not in voice_columns}
    asked |= {"datagram_bytes": _datagram_bytes(params), "gaps_mean_ns": _packetisation_ns(params)}
    if _has_vad(params):
        asked |= {"on_off": "exponential", "on_ns": TALK_NS, "off_ns": PAUSE_NS}
    return asked


def _has_vad(params: Params) -> bool:
    return VAD.of(params) is True


def _summarise(params: Params, client: Result, server: Result) -> TrialMeasurements:
    measured = udp_stream.KIND.summarise(_agent_params(params), client, server)
    delays = server.get("one_way_delay") or {}
    if not client["sent"] or not delays.get("count"):
        return measured
    if server.get("one_way_delay_negative"):
        measured.notes.append("packets arrived before they were sent, by the two clocks: their delay is meaningless")
        return measured
    buffer_ns = int(JITTER_BUFFER.of(params))
    late = sum(count for value_ns, count in server["pdv"]["buckets"] if value_ns > buffer_ns)
    lost = measured.metrics["loss_ratio"] * client["sent"]
    codec = _codec(params)
    mouth_to_ear_ns = delays["min"] + buffer_ns + _packetisation_ns(params) + codec.lookahead_ns
    playout_loss = (lost + late) / client["sent"]
    r = r_factor(mouth_to_ear_ns / 1e6, 100 * playout_loss, codec.equipment[_has_vad(params)])
    measured.metrics["playout_loss_ratio"] = playout_loss
    measured.metrics["mouth_to_ear_ns"] = float(mouth_to_ear_ns)
    if r > 0:
        measured.metrics["r_factor"] = r
    else:
        measured.notes.append("R is not above 0: a conversation is impossible")
    measured.metrics["mos_cqe"] = mos_cqe(r)
    return measured


_QUALITIES = (
    metric("mos_cqe", "cqe", "higher", "Conversational quality (MOS-CQE)", "ITU-T G.107 Annex B", unit="MOS"),
    metric("r_factor", "factor", "higher", "Transmission rating factor", "ITU-T G.107 section 7.1", unit="R"),
    share("playout_loss_ratio", "Loss after the jitter buffer", "ITU-T G.107 section 7.5"),
    duration("mouth_to_ear", "Mouth-to-ear delay", "ITU-T G.107 section 7.4"),
)

KIND = WorkloadKind(
    name="voip",
    title="Voice over IP",
    transport="udp",
    doc="One direction of a call: packets as a codec sends them, and how good they sound by the E-model (ITU-T G.107).",
    parameters=(
        *VOICE_PARAMETERS,
        DURATION,
        COUNT,
        WARMUP,
        SNDBUF,
        RCVBUF,
        DF,
        INTERVAL,
        SEED,
        PACKET_LOG,
    ),
    placement=apart,
    primary="mos_cqe",
    headline=("mos_cqe", "r_factor", "playout_loss_ratio", "mouth_to_ear", "one_way_delay_p50", "jitter_rfc3550"),
    metrics=("mos_cqe", "r_factor", "playout_loss_ratio", "mouth_to_ear", *udp_stream.KIND.metrics),
    # All follow from one-way delays.
    own_metrics=tuple(replace(quality, needs_one_clock=True) for quality in _QUALITIES),
    distributions=("one_way_delay",),
    check=_check,
    summarise=_summarise,
    traffic=udp_stream.KIND.traffic,
    agent_name=udp_stream.KIND.name,
    agent_params=_agent_params,
    gap_ns=_packetisation_ns,
    is_drawn=_has_vad,
    needs_network="one clock for both ends, because its scores follow from one-way delays",
    instead="-u measures loss, jitter and IPDV, such as -u -b 50pps -l 172",
)
