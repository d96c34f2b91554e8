"""Bytes of transactions on links, from the counters of interfaces."""

from __future__ import annotations

import pytest
from chain_networks import network

from sixbench.bench.proof.transactions import transaction_links, wire_metrics
from sixbench.bench.proof.viewpoints import viewpoints
from sixbench.mechanisms import install
from sixbench.model.evidence.transactions import TransactionLink
from sixbench.model.expectation import TransactionTraffic
from sixbench.model.observation import CountersAnswer, InterfaceCounters
from sixbench.model.path import Path

pytestmark = pytest.mark.computes

ASKING = TransactionTraffic(transport="udp", sent=(72,), received=(128,))
NETWORK = install(Path(name="ipv4", mechanism="native4", family=4), network({"rate_bps": 10**6}, {}), ("n0", "n2"))
FRAME_BYTES = {"sent": 14 + 20 + 8 + 72, "received": 14 + 20 + 8 + 128}


def counters(transactions: int) -> dict[str, CountersAnswer]:
    """The counters after so many: each end has sent to the other one what it should."""
    views = viewpoints(NETWORK)
    answers: dict[str, dict[str, InterfaceCounters]] = {}
    for view in views:
        ways = ("tx", "rx") if view.towards_server else ("rx", "tx")
        values = dict.fromkeys(("errors", "dropped"), 0)
        numbers = {f"{prefix}_{what}": value for prefix in ways for what, value in values.items()}
        for prefix, direction in zip(ways, ("sent", "received"), strict=True):
            numbers |= {
                f"{prefix}_packets": transactions,
                f"{prefix}_bytes": transactions * FRAME_BYTES[direction],
            }
        answers.setdefault(view.end.node, {})[view.end.name] = InterfaceCounters.model_validate(numbers)
    return {node: CountersAnswer(interfaces=interfaces, snmp={}) for node, interfaces in answers.items()}


def test_a_link_with_counters_tells_the_bytes_on_its_wire() -> None:
    links = transaction_links(ASKING, 10, NETWORK, None, viewpoints(NETWORK), counters(5), counters(15))
    sent, received = 72 + 8 + 20 + 38, 128 + 8 + 20 + 38
    assert links == (
        TransactionLink(link="link0", least_sent=sent, least_received=received, sent=sent, received=received),
        # It has segmentation offload.
        TransactionLink(link="link1", least_sent=sent, least_received=received),
    )
    assert wire_metrics(links) == {"wire_sent_bytes": sent, "wire_received_bytes": received}


def test_a_link_that_is_not_the_widest_has_no_metric() -> None:
    narrow = TransactionLink(link="a", least_sent=10, least_received=10, sent=12, received=13)
    wide = TransactionLink(link="b", least_sent=30, least_received=10)
    assert wire_metrics([narrow, wide]) == {"wire_received_bytes": 13}
    assert wire_metrics([]) == {}
