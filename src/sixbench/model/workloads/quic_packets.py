"""The least sizes of packets and datagrams of QUIC version 1 (RFC 9000 sections 17 and 19)."""

from __future__ import annotations

from .tls_messages import HASH_BYTES, MESSAGE_BYTES, server_flight_bytes

LEAST_DATAGRAM_BYTES = 1200
"""The payload of UDP of each datagram with an Initial packet that asks for an acknowledgement, and the least that a
path of QUIC has to carry (section 14)."""
AMPLIFICATION = 3
"""The most that a server sends to an address that it has not validated, per byte that came from there (section 8.1)."""
TAG_BYTES = 16
"""The tag of each packet (RFC 9001 section 5.3)."""
CONNECTION_ID_BYTES = 8
"""The connection IDs that quinn's endpoints choose."""
SHORT_HEADER_BYTES = 1 + CONNECTION_ID_BYTES + 1
"""First byte, connection ID and the shortest packet number (section 17.3.1)."""
LONG_HEADER_BYTES = 1 + 4 + 2 * (1 + CONNECTION_ID_BYTES) + 2 + 1
"""First byte, version, both connection IDs, length and the shortest packet number (section 17.2)."""
SEARCHED_DATAGRAM_BYTES = 1452
"""The longest payload of UDP that quinn looks for on a path unless it is given another one: what fits a link of 1500 by
IPv6."""
STREAM_FRAME_BYTES = 1 + 1 + 4
"""Type, stream ID and an offset of 16 KiB to 1 GiB, in a frame to the end of its packet (section 19.8)."""
BULK_HEADER_BYTES = SHORT_HEADER_BYTES + TAG_BYTES + STREAM_FRAME_BYTES
"""The part of a full datagram that is no data of a stream."""
FIRST_STREAM_HEADER_BYTES = SHORT_HEADER_BYTES + TAG_BYTES + 1 + 1
"""The same at the start of a stream, whose frame has no offset there."""

_CRYPTO_FRAME_BYTES = 1 + 1 + 1


def handshake_round_trips(chain_bytes: int | None, *, is_validated: bool = False) -> int:
    """The least round trips until the client has verified the server: one more where the certificates are longer than
    the server may send to an address that is not validated."""
    limit_bytes = AMPLIFICATION * LEAST_DATAGRAM_BYTES
    return 1 if is_validated or server_flight_bytes(chain_bytes) <= limit_bytes else 2


def handshake_datagrams(chain_bytes: int | None, then_bytes: int = 0) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The least datagrams of a handshake to the server, and from it. Both first ones are padded.

    Args:
        then_bytes: a packet that the client may send in the datagram with its last message.
    """
    finished = then_bytes + LONG_HEADER_BYTES + _CRYPTO_FRAME_BYTES + MESSAGE_BYTES + HASH_BYTES + TAG_BYTES
    left = server_flight_bytes(chain_bytes)
    answers: list[int] = []
    while not answers or left > 0:
        answers.append(LEAST_DATAGRAM_BYTES if not answers else LONG_HEADER_BYTES + TAG_BYTES + left)
        left -= LEAST_DATAGRAM_BYTES - LONG_HEADER_BYTES - TAG_BYTES
    return (LEAST_DATAGRAM_BYTES, finished), tuple(min(size, LEAST_DATAGRAM_BYTES) for size in answers)


def stream_bytes(data_bytes: int) -> int:
    """The least packet with so many bytes of a stream, at its begin."""
    return FIRST_STREAM_HEADER_BYTES + data_bytes
