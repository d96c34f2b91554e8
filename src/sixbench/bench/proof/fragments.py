"""The fragments that the nodes counted in a trial, and whether theory says the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ...model.evidence.fragments import FragmentLink, Fragments
from ...model.evidence.packets import Changes
from ...model.network import Network
from ...model.observation import CountersAnswer
from ...model.parameter import Params
from ...model.path import Path
from ...model.topology import Family
from ...model.workload import Result
from ...model.workloads import WORKLOADS
from ...model.workloads.common import DIRECTION
from ...model.workloads.traffic_models import one_size, sizes_of
from ...theory import POLICIES, Attempt, NotPredicted, Policy, Prediction, path_mtu, predict
from .link_counts import bounds, link_counts
from .packets import Counters
from .viewpoints import viewpoints

GROUPS: Mapping[Family, str] = {4: "Ip", 6: "Ip6"}

COUNTED = {
    "cut": "FragOKs",
    "created": "FragCreates",
    "too_long": "FragFails",
    "collected": "ReasmReqds",
    "reassembled": "ReasmOKs",
    "failed": "ReasmFails",
}
"""Our names for what RFC 4293 calls ipFragOKs, ipFragCreates, ipFragFails, ipReasmReqds, ipReasmOKs, ipReasmFails."""

FORWARDED: Mapping[Family, str] = {4: "ForwDatagrams", 6: "OutForwDatagrams"}

TOO_BIG: Mapping[Family, tuple[str, str, str]] = {
    4: ("Icmp", "OutDestUnreachs", "InDestUnreachs"),
    6: ("Icmp6", "OutPktTooBigs", "InPktTooBigs"),
}
"""Group, sent, received. IPv4 counts all of type 3 together, of which Fragmentation Needed is code 4."""

JUDGED = ("cut", "created", "too_long", "collected", "reassembled")
"""Theory's expectations. That a reassembly failed is only known when the kernel gives it up, 30 s (IPv4) or 60 s (IPv6)
later, mostly in another trial."""


KNOWN = 1
"""The index of the state in which the client knows the path MTU."""


@dataclass(frozen=True, kw_only=True)
class FragmentEvidence:
    """The findings.

    Attributes:
        fragments: what a record keeps.
        notes: remarks where theory expects otherwise.
        unreached: the links that no packet of the trial reaches, as theory has it.
        is_loss_foretold: whether theory says that no datagram arrives, and none did.
    """

    fragments: Fragments
    notes: list[str] = field(default_factory=list)
    unreached: frozenset[str] = frozenset()
    is_loss_foretold: bool = False


def fragment_evidence(
    kind: str,
    params: Params,
    network: Network,
    path: Path,
    client: Result,
    server: Result,
    before: Counters,
    after: Counters,
) -> FragmentEvidence:
    """Holds the counters of the nodes on the way against theory, for datagrams from client to server; for other
    traffic it only tells them.

    Raises:
        KeyError: a result of datagrams lacks what docs/protocol.md says it has.
    """
    measured = {node: _counted(before[node], after[node]) for node in after if node in before}
    nodes = {node: families for node, families in ((n, _shown(f)) for n, f in measured.items()) if families}
    counted = Fragments(nodes=nodes)
    if WORKLOADS[kind].flow != "datagrams" or DIRECTION.of(params) != DIRECTION.default:
        return FragmentEvidence(fragments=counted)
    sent = int(client["sent"]) + int(client.get("warmup_sent", 0))
    arrived = sum(int(server.get(name, 0)) for name in ("received", "warmup_received", "socket_drops"))
    delivered = min(sent, arrived)
    counted = replace(counted, datagrams=sent, delivered=delivered)
    try:
        states = _states(network, params, path.engine)
    except (NotPredicted, ValueError) as error:
        return FragmentEvidence(fragments=replace(counted, not_predicted=str(error)))
    views = viewpoints(network)
    judged = [_judged(prediction, sent, delivered, measured) for prediction in states]
    losses = [abs(sent - delivered - prediction.lost_first) for prediction in states]
    index = min(range(len(states)), key=lambda number: (len(judged[number][0]), losses[number]))
    differences, expected = judged[index]
    # For datagrams of several sizes, only the number of packets is predicted.
    is_one_size = one_size(params) is not None
    links = link_counts(views, states[index], sent, delivered, before, after) if is_one_size else []
    differences = differences + [_link_words(link) for link in links if link.agrees is False]
    return FragmentEvidence(
        fragments=replace(
            counted,
            known=index == KNOWN,
            lost_first=states[index].lost_first,
            links=tuple(links),
            expected=expected,
            agrees=not differences,
        ),
        notes=differences,
        unreached=_unreached(states[index]),
        is_loss_foretold=not delivered and states[index].settled.outcome != "delivered",
    )


def _unreached(prediction: Prediction) -> frozenset[str]:
    loads = [load for attempt in prediction.attempts for load in attempt.loads]
    reached = {load.crossing.link.name for load in loads if load.count}
    return frozenset(load.crossing.link.name for load in loads) - reached


def _states(network: Network, params: Params, engine: str | None) -> list[Prediction]:
    """The expectations where the client knows nothing of the path, and where it knows its MTU from earlier traffic."""
    policy: Policy = next((name for name in POLICIES if name == params.get("df")), "clear")
    sizes = sizes_of(params)
    if sizes is None:
        raise NotPredicted("the datagrams have the sizes of a trace")
    size_bytes = int(sizes.most)
    known = {network.between: path_mtu(network)}
    if sizes.least < sizes.most:
        largest = predict(network, size_bytes, policy, engine)
        if largest.lost_first or any(load.count != 1 for load in largest.settled.loads):
            raise NotPredicted("the datagrams have several sizes, of which some do not fit in one packet on every link")
    return [
        predict(network, size_bytes, policy, engine),
        predict(network, size_bytes, policy, engine, known),
    ]


def _judged(
    prediction: Prediction, sent: int, delivered: int, measured: Mapping[str, Mapping[Family, Mapping[str, int]]]
) -> tuple[list[str], dict[str, dict[str, dict[str, tuple[int, int]]]]]:
    """Differences, and the expected values."""
    differences = []
    expected: dict[str, dict[str, dict[str, tuple[int, int]]]] = {}
    for node, families in measured.items():
        for family, counts in families.items():
            bounds = _bounds(prediction, node, family, sent, delivered)
            for name in JUDGED:
                least, most = bounds[name]
                if most or counts[name]:
                    expected.setdefault(node, {}).setdefault(f"ipv{family}", {})[name] = least, most
                if not least <= counts[name] <= most:
                    words = _range_words(least, most)
                    differences.append(
                        f"{node} counted {counts[name]} {COUNTED[name]} of IPv{family}, where theory expects {words}"
                    )
    return differences, expected


def _bounds(prediction: Prediction, node: str, family: Family, sent: int, delivered: int) -> dict[str, tuple[int, int]]:
    """The least and the most that a node can have counted. A queue that takes not all fragments makes the cutting fail
    too (FragFails)."""
    settled = _work(prediction.settled, node, family)
    pairs = {
        name: bounds(prediction, lambda attempt, name=name: _work(attempt, node, family)[name], sent, delivered)  # type: ignore[misc]
        for name in JUDGED
    }
    least, most = pairs["too_long"]
    return pairs | {"too_long": (least, most + settled["cut"] * (sent - delivered))}


def _work(attempt: Attempt, node: str, family: Family) -> dict[str, int]:
    work = attempt.work.get((node, family))
    counters = {} if work is None else work.counters(family)
    return {name: counters.get(counter, 0) for name, counter in COUNTED.items()}


def _link_words(link: FragmentLink) -> str:
    counted = f"{link.counted_packets} packets of {link.counted_bytes} bytes crossed {link.link}"
    packets, octets = _range_words(*link.expected_packets), _range_words(*link.expected_bytes)
    return f"{counted}, where theory expects {packets} of {octets} bytes"


def _range_words(least: int, most: int) -> str:
    return str(least) if least == most else f"{least} to {most}"


def _counted(before: CountersAnswer, after: CountersAnswer) -> dict[Family, dict[str, int]]:
    def rise(group: str, name: str) -> int:
        early, late = before.snmp.get(group, {}), after.snmp.get(group, {})
        return late.get(name, 0) - early.get(name, 0)

    numbers: dict[Family, dict[str, int]] = {}
    for family, group in GROUPS.items():
        errors, sent, received = TOO_BIG[family]
        numbers[family] = {name: rise(group, counter) for name, counter in COUNTED.items()} | {
            "forwarded": rise(group, FORWARDED[family]),
            "errors_sent": rise(errors, sent),
            "errors_received": rise(errors, received),
        }
    return numbers


def _shown(families: Mapping[Family, Mapping[str, int]]) -> dict[str, Changes]:
    """Counts that are not zero; of a node that only forwarded, nothing."""
    shown = {f"ipv{family}": {k: v for k, v in counts.items() if v} for family, counts in families.items()}
    return {family: counts for family, counts in shown.items() if counts.keys() - {"forwarded"}}
