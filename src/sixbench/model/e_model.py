"""The E-model: how good a conversation is, by delay and loss (ITU-T G.107 (06/2015)).

Everything that is not an argument has the Recommendation's default value (section 7.7, Table 2). Times are in
milliseconds and levels in dB, as there.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log2, log10, sqrt

SLR_DB, RLR_DB, STMR_DB, TELR_DB, WEPL_DB = 8.0, 2.0, 15.0, 65.0, 110.0
D_SEND, D_RECEIVE = 3.0, 3.0
QDU = 1.0
CIRCUIT_NOISE_DBM, FLOOR_NOISE_DBM, ROOM_NOISE_DBA = -70.0, -64.0, 35.0
LEAST_PERCEIVED_DELAY_MS = 100.0
"""mT of the default delay sensitivity class, whose sT is 1."""


@dataclass(frozen=True, kw_only=True)
class CodecImpairments:
    """A codec's impairments (ITU-T G.113 Appendix I).

    Attributes:
        ie: equipment impairment factor without loss.
        bpl: packet loss robustness factor.
    """

    ie: float
    bpl: float


def r_factor(delay_ms: float, loss_percent: float, equipment: CodecImpairments) -> float:
    """The transmission rating factor R (section 7.1).

    Args:
        delay_ms: from mouth to ear; the echo comes back after twice that.
        loss_percent: of packets, at random (BurstR is 1), those included that come too late to be played.
    """
    noise_dbm = _noise_dbm()
    basic = 15 - 1.5 * (SLR_DB + noise_dbm)
    delay = _talker_echo(delay_ms, noise_dbm) + _listener_echo(2 * delay_ms, basic) + _absolute_delay(delay_ms)
    return basic - _simultaneous(delay_ms, noise_dbm, basic) - delay - effective_ie(loss_percent, equipment)


def effective_ie(loss_percent: float, equipment: CodecImpairments) -> float:
    """Ie,eff (section 7.5)."""
    return equipment.ie + (95 - equipment.ie) * loss_percent / (loss_percent + equipment.bpl)


def mos_cqe(r: float) -> float:
    """The mean opinion score of a conversation, estimated, from 1 to 4.5 (Annex B)."""
    if r <= 0:
        return 1.0
    if r >= 100:
        return 4.5
    return max(1.0, 1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6)


def _noise_dbm() -> float:
    """No (section 7.2)."""
    olr_db = SLR_DB + RLR_DB
    sent = ROOM_NOISE_DBA - SLR_DB - D_SEND - 100 + 0.004 * (ROOM_NOISE_DBA - olr_db - D_SEND - 14) ** 2
    effective = ROOM_NOISE_DBA + 10 * log10(1 + 10 ** ((10 - (STMR_DB + D_RECEIVE)) / 10))
    received = RLR_DB - 121 + effective + 0.008 * (effective - 35) ** 2
    return 10 * log10(
        sum(10 ** (level / 10) for level in (CIRCUIT_NOISE_DBM, sent, received, FLOOR_NOISE_DBM + RLR_DB))
    )


def _simultaneous(delay_ms: float, noise_dbm: float, basic: float) -> float:
    """Is: too loud, side tone, quantisation (section 7.3)."""
    x = SLR_DB + RLR_DB + 0.2 * (64 + noise_dbm - RLR_DB)
    loud: float = 20 * ((1 + (x / 8) ** 8) ** (1 / 8) - x / 8)
    side_db = -10 * log10(10 ** (-STMR_DB / 10) + exp(-delay_ms / 4) * 10 ** (-TELR_DB / 10))
    side: float = (
        12 * (1 + ((side_db - 13) / 6) ** 8) ** (1 / 8)
        - 28 * (1 + ((side_db + 1) / 19.4) ** 35) ** (1 / 35)
        - 13 * (1 + ((side_db - 3) / 33) ** 13) ** (1 / 13)
        + 29
    )
    q = 37 - 15 * log10(QDU)
    g = 1.07 + 0.258 * q + 0.0602 * q**2
    y, z = (basic - 100) / 15 + 46 / 8.4 - g / 9, 46 / 30 - g / 40
    quantisation = 15 * log10(1 + 10**y + 10**z)
    return loud + side + quantisation


def _talker_echo(delay_ms: float, noise_dbm: float) -> float:
    """Idte (section 7.4)."""
    if delay_ms < 1:
        return 0.0
    loudness_db = TELR_DB - 40 * log10((1 + delay_ms / 10) / (1 + delay_ms / 150)) + 6 * exp(-0.3 * delay_ms**2)
    difference = -1.5 * (noise_dbm - RLR_DB) - (80 + 2.5 * (loudness_db - 14))
    return (difference / 2 + sqrt(difference**2 / 4 + 100) - 1) * (1 - exp(-delay_ms))


def _listener_echo(round_trip_ms: float, basic: float) -> float:
    """Idle (section 7.4)."""
    difference: float = basic - 10.5 * (WEPL_DB + 7) * (round_trip_ms + 1) ** -0.25
    return difference / 2 + sqrt(difference**2 / 4 + 169)


def _absolute_delay(delay_ms: float) -> float:
    """Idd (section 7.4)."""
    if delay_ms <= LEAST_PERCEIVED_DELAY_MS:
        return 0.0
    x = log2(delay_ms / LEAST_PERCEIVED_DELAY_MS)
    impairment: float = 25 * ((1 + x**6) ** (1 / 6) - 3 * (1 + (x / 3) ** 6) ** (1 / 6) + 2)
    return impairment
