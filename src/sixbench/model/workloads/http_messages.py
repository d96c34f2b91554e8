"""The least sizes of requests and answers of HTTP/1.1, 2 and 3, as a page of objects has them.

A field takes a byte at least where headers are compressed, whatever was sent before (RFC 7541 section 6.1, RFC 9204
section 4.5.2), so that sums are bounds from below.
"""

from __future__ import annotations

from ..expectation import Records
from ..recorded_page import PageObject
from .tls_messages import NAME_BYTES, RECORD_BYTES

FRAME_BYTES = 9
"""The header of a frame of HTTP/2 (RFC 9113 section 4.1)."""
PREFACE_BYTES = 24 + FRAME_BYTES
"""The preface of an HTTP/2 connection, with the client's empty settings (RFC 9113 section 3.4)."""
CONTROL_BYTES = 1 + 2
"""The begin of a control stream of HTTP/3: its type and empty settings (RFC 9114 section 6.2.1)."""

_FRAME_DATA_BYTES = 2**14
"""The most data of a frame of HTTP/2 whose receiver has not asked for more (RFC 9113 section 6.5.2), and of a record of
TLS (RFC 8446 section 5.1)."""
RECORDS = Records(data_bytes=_FRAME_DATA_BYTES, header_bytes=RECORD_BYTES)
"""The records of TLS."""
_REQUEST_FIELDS = 4
"""Method, scheme, authority and path."""
_ANSWER_FIELDS = 2
"""Status, and the content's length or the date."""
_SECTION_BYTES = 1 + 1 + 2
"""A frame's type and length, and the prefix of the fields in it (RFC 9114 section 7.2.2, RFC 9204 section 4.5.1)."""
_DATE_BYTES = len("date: Sun, 06 Nov 1994 08:49:37 GMT\r\n")


def further_name_bytes(host: int) -> int:
    """The part of a host's name before the server's. `host`: its number; the first has the server's name."""
    return len(f"host{host}.") if host else 0


def request_bytes(version: str, item: PageObject) -> int:
    """The least request for an object, by the version of HTTP."""
    match version:
        case "1.1":
            # The port has a digit at least.
            name_bytes = NAME_BYTES + further_name_bytes(item.host)
            return len(f"GET /{item.body_bytes} HTTP/1.1\r\n") + len("host: :0\r\n") + name_bytes + len("\r\n")
        case "2":
            return FRAME_BYTES + _REQUEST_FIELDS
    return _SECTION_BYTES + _REQUEST_FIELDS


def answer_bytes(version: str, item: PageObject) -> int:
    """The least answer with its body."""
    body_bytes = item.body_bytes
    match version:
        case "1.1":
            length = len(f"content-length: {body_bytes}\r\n")
            return len("HTTP/1.1 200 OK\r\n") + length + _DATE_BYTES + len("\r\n") + body_bytes
        case "2":
            frames = 1 + _parts(body_bytes)
            return frames * FRAME_BYTES + _ANSWER_FIELDS + body_bytes
    return _SECTION_BYTES + _ANSWER_FIELDS + 1 + _integer_bytes(body_bytes) + body_bytes


def _parts(data_bytes: int) -> int:
    return -(-data_bytes // _FRAME_DATA_BYTES)


def _integer_bytes(value: int) -> int:
    """The length of a number in frames of HTTP/3 (RFC 9000 section 16)."""
    return next(size for size in (1, 2, 4, 8) if value < 2 ** (8 * size - 2))
