"""The least sizes of the messages of TLS 1.3 between a client and a server of sixbench (RFC 8446 section 4).

The structures are those of the RFC, with the extensions that it asks for. A client may have others besides, and a
signature may be shorter by some bytes, so that sums are bounds from below.
"""

from __future__ import annotations

NAME_BYTES = 30
"""The name of a trial's server: 16 digits, and the domain."""
RECORD_BYTES = 5 + 1 + 16
"""The header of a record, the type of its content and the tag (section 5.2)."""
MESSAGE_BYTES = 4
"""The type of a handshake message and its length (section 4)."""
HASH_BYTES = 32
"""The shortest hash of a cipher suite (appendix B.4)."""
KEY_BYTES = 32
"""A public key of X25519 (RFC 7748)."""
SESSION_ID_BYTES = 32
"""The session ID that clients over TCP send, and that the server repeats (appendix D.4). There is none over QUIC (RFC
9001 section 8.4)."""
CHANGE_CIPHER_SPEC_BYTES = 6
"""A record for middleboxes, over TCP alone (appendix D.4)."""
CHAIN_BYTES = 1536
"""The certificates of servers whose workload has no parameter for their length."""
CERTIFICATES = 2
"""The server's own, and that of who signed it."""
SIGNATURE_BYTES = 68
"""A signature of ECDSA by P-256 in DER, which is seldom shorter (RFC 3279 section 2.2.3)."""
TICKET_BYTES = 32
"""The shortest ticket: what names a session at its server."""

_EXTENSION_BYTES = 4
_HELLO_BYTES = MESSAGE_BYTES + 2 + 32 + 1
"""Version, random number and the length of the session ID (section 4.1.2)."""


def client_hello_bytes(*, is_resumed: bool, over_quic: bool) -> int:
    """The first message, with one cipher suite, and a ticket where the client has one (section 4.2.11)."""
    extensions = (
        3,  # supported_versions: one
        2 + 1 + 2 + NAME_BYTES,  # server_name
        2 + 2,  # supported_groups: one
        2 + 2,  # signature_algorithms: one
        2 + 2 + 2 + KEY_BYTES,  # key_share: one
    )
    size_bytes = _HELLO_BYTES + (2 + 2) + (1 + 1) + 2 + sum(_EXTENSION_BYTES + size for size in extensions)
    if is_resumed:
        # psk_key_exchange_modes; the identity with its age, and the binder.
        size_bytes += _EXTENSION_BYTES + 2 + _EXTENSION_BYTES + 2 + 2 + TICKET_BYTES + 4 + 2 + 1 + HASH_BYTES
    return size_bytes if over_quic else size_bytes + SESSION_ID_BYTES


def server_hello_bytes(*, is_resumed: bool, over_quic: bool) -> int:
    """The answer to it (section 4.1.3)."""
    # supported_versions, key_share, pre_shared_key.
    extensions = [2, 2 + 2 + KEY_BYTES, 2] if is_resumed else [2, 2 + 2 + KEY_BYTES]
    size_bytes = _HELLO_BYTES + 2 + 1 + 2 + sum(_EXTENSION_BYTES + size for size in extensions)
    return size_bytes if over_quic else size_bytes + SESSION_ID_BYTES


def server_flight_bytes(chain_bytes: int | None) -> int:
    """The server's encrypted messages: extensions, certificates, the proof that it has their key, and Finished.

    Args:
        chain_bytes: of its certificates; None: the session is resumed, so it sends none.
    """
    extensions_and_finished = (MESSAGE_BYTES + 2) + (MESSAGE_BYTES + HASH_BYTES)
    if chain_bytes is None:
        return extensions_and_finished
    certificate = MESSAGE_BYTES + 1 + 3 + CERTIFICATES * (3 + 2) + chain_bytes
    return extensions_and_finished + certificate + MESSAGE_BYTES + 2 + 2 + SIGNATURE_BYTES


def over_tcp(chain_bytes: int | None) -> tuple[int, int]:
    """The least bytes of a handshake to the server, and from it, until the client has verified the server."""
    is_resumed = chain_bytes is None
    hello = 5 + client_hello_bytes(is_resumed=is_resumed, over_quic=False)
    finished = CHANGE_CIPHER_SPEC_BYTES + RECORD_BYTES + MESSAGE_BYTES + HASH_BYTES
    answer = 5 + server_hello_bytes(is_resumed=is_resumed, over_quic=False) + CHANGE_CIPHER_SPEC_BYTES
    return hello + finished, answer + RECORD_BYTES + server_flight_bytes(chain_bytes)
