"""The bytes that transactions took on each link, as its counters tell them, beside theory."""

from __future__ import annotations

from collections.abc import Sequence

from ...model.evidence.transactions import TransactionLink
from ...model.expectation import TransactionTraffic
from ...model.headers import ETHERNET
from ...model.network import Network
from ...theory import exchange_wire_bytes
from .packets import Counters
from .viewpoints import Viewpoint


def transaction_links(
    exchange: TransactionTraffic,
    transactions: float,
    network: Network,
    engine: str | None,
    views: Sequence[Viewpoint],
    before: Counters,
    after: Counters,
) -> tuple[TransactionLink, ...]:
    """The bytes of a transaction on each link. Empty where theory has no value.

    Args:
        transactions: all that the server completed between both looks, which are more than none.
    """
    least = exchange_wire_bytes(exchange, network, engine)
    links = []
    for view in views:
        if view.link.name in least:
            sent, received = (_wire_bytes(view, to_server, before, after) for to_server in (True, False))
            links.append(
                TransactionLink(
                    link=view.link.name,
                    least_sent=least[view.link.name][0],
                    least_received=least[view.link.name][1],
                    sent=None if sent is None else sent / transactions,
                    received=None if received is None else received / transactions,
                )
            )
    return tuple(links)


def wire_metrics(links: Sequence[TransactionLink]) -> dict[str, float]:
    """The bytes of a transaction on a link on which it has most, by theory, each way. Absent where no such link's
    counters tell them."""
    if not links:
        return {}
    most_sent, most_received = max(link.least_sent for link in links), max(link.least_received for link in links)
    counted = {
        "wire_sent_bytes": [link.sent for link in links if link.least_sent == most_sent],
        "wire_received_bytes": [link.received for link in links if link.least_received == most_received],
    }
    known = {column: [size for size in sizes if size is not None] for column, sizes in counted.items()}
    return {column: sizes[0] for column, sizes in known.items() if sizes}


def _wire_bytes(view: Viewpoint, to_server: bool, before: Counters, after: Counters) -> int | None:
    """The bytes on the wire in one direction. None: they are not known."""
    node, name = view.end.node, view.end.name
    framing = view.crossing.direction.framing
    if view.link.offload_on or framing.atm or node not in before or node not in after:
        return None
    early, late = (counters[node].interfaces.get(name) for counters in (before, after))
    if early is None or late is None:
        return None
    prefix = "tx" if view.towards_server == to_server else "rx"
    packets, octets = (
        late.counts[f"{prefix}_{what}"] - early.counts[f"{prefix}_{what}"] for what in ("packets", "bytes")
    )
    return octets + packets * (framing.overhead_bytes - ETHERNET.size_bytes)
