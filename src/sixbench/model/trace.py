"""Times and sizes of datagrams as a capture has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from . import leb128

MAX_PACKETS = 65_536
MAX_GAP_NS = 3600 * 10**9
MIN_MEAN_GAP_NS = 1000
"""The agent's limit."""


@dataclass(frozen=True, kw_only=True)
class Trace:
    """The part of a capture that the agent gets.

    Attributes:
        packets: how many datagrams.
        duration_ns: from the first to the last.
        padded: packets that are too short for our token, number and time: they are sent as 32 bytes.
        skipped: packets of the file that are not IP.
        sha256: of the file.
        datagrams: Base64 of pairs of LEB128 numbers, ns since the one before and payload bytes (docs/protocol.md).
    """

    packets: int
    duration_ns: int
    padded: int
    skipped: int
    sha256: str
    datagrams: str


def encode(gaps_ns: Sequence[int], payloads_bytes: Sequence[int]) -> str:
    """The text for the agent."""
    return leb128.encode(number for pair in zip(gaps_ns, payloads_bytes, strict=True) for number in pair)
