"""The bytes of a transaction on every link, as they were counted, beside theory."""

from __future__ import annotations

from dataclasses import dataclass

from ..form import Kept, Name, Number


@dataclass(frozen=True, kw_only=True, slots=True)
class TransactionLink(Kept):
    """Bytes on the wire of a link for each transaction: a mean over all that the server completed. Packets that keep
    the link going are among those that were counted.

    Attributes:
        least_sent, least_received: the least by theory, to the server and from it.
        sent, received: what was counted. None: the link's counters do not tell packets on the wire, such as those of a
            link with segmentation offload.
    """

    link: Name
    least_sent: Number
    least_received: Number
    sent: Number | None = None
    received: Number | None = None
