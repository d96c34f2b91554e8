"""What was seen on the wire, path by path: the proof that trials took the path they claim.

Evidence is what the run layer stored with each trial. Only the keys that are there are used, and none is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..model.trial import TrialRecord
from ..store import Run

_NAMES = {
    "ethernet": "Ethernet",
    "ipv4": "IPv4",
    "ipv6": "IPv6",
    "tcp": "TCP",
    "udp": "UDP",
    "icmp": "ICMP",
    "icmpv6": "ICMPv6",
    "gre": "GRE",
}


@dataclass(frozen=True, kw_only=True)
class Layer:
    """A header of a captured packet. `bytes` is None where the capture does not say."""

    name: str
    bytes: int | None


@dataclass(frozen=True, kw_only=True)
class Stack:
    """A captured packet: its headers from the outermost, and the payload after the last."""

    layers: tuple[Layer, ...]
    payload_bytes: int | None = None

    @property
    def text(self) -> str:
        """Such as `Ethernet / IPv4 / IPv6 / TCP`."""
        return " / ".join(layer.name for layer in self.layers)


@dataclass(frozen=True, kw_only=True)
class PathEvidence:
    """What the trials of one path put on the wire.

    Attributes:
        trials: how many carry evidence.
        links: where it was looked for.
        claimed: what the mechanism puts on the wire, such as `ipv6 in ipv4`.
        seen: packets by their IP headers, added up over trials, named as in `claimed`.
        families: packets by family, such as `{"ipv4": 214}`, added up over trials; families with none are left out.
        max_ip_bytes: the largest IP packet seen.
        stacks: packets captured by their headers, most frequent first.
        largest: the captured packet with most bytes.
    """

    path: str
    mechanism: str
    engines: list[str]
    trials: int = 0
    links: list[str] = field(default_factory=list)
    claimed: list[str] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)
    families: dict[str, int] = field(default_factory=dict)
    max_ip_bytes: int | None = None
    stacks: dict[str, int] = field(default_factory=dict)
    largest: Stack | None = None


def by_path(run: Run) -> list[PathEvidence]:
    """One summary a path of the experiment, over its trials that are `ok` (over all of them where none is)."""
    found = []
    for path in run.manifest.experiment.paths:
        own = [trial for trial in run.trials if trial.path == path.name]
        found.append(_summary(path.name, path.mechanism, [trial for trial in own if trial.status == "ok"] or own))
    return found


def _summary(path: str, mechanism: str, trials: list[TrialRecord]) -> PathEvidence:
    links: dict[str, None] = {}
    claimed: dict[str, None] = {}
    families: dict[str, int] = {}
    seen: dict[str, int] = {}
    sizes: list[int] = []
    stacks: dict[str, int] = {}
    largest: Stack | None = None
    carrying = [trial.evidence for trial in trials if trial.evidence]
    for evidence in carrying:
        if isinstance(evidence.get("link"), str):
            links.setdefault(evidence["link"])
        if isinstance(evidence.get("claimed"), str):
            claimed.setdefault(evidence["claimed"])
        _add(families, evidence.get("families"))
        _add(seen, evidence.get("stacks"))
        if isinstance(evidence.get("max_ip_bytes"), int):
            sizes.append(evidence["max_ip_bytes"])
        for stack in _stacks(evidence):
            stacks[stack.text] = stacks.get(stack.text, 0) + 1
            if largest is None or _size(stack) > _size(largest):
                largest = stack
    return PathEvidence(
        path=path,
        mechanism=mechanism,
        engines=list(dict.fromkeys(trial.engine for trial in trials if trial.engine)),
        trials=len(carrying),
        links=list(links),
        claimed=list(claimed),
        seen=seen,
        families=families,
        max_ip_bytes=max(sizes, default=None),
        stacks=dict(sorted(stacks.items(), key=lambda item: -item[1])),
        largest=largest,
    )


def _stacks(evidence: Mapping[str, Any]) -> Iterator[Stack]:
    packets = evidence.get("packets")
    for packet in packets if isinstance(packets, list) else []:
        layers = packet.get("layers") if isinstance(packet, Mapping) else packet
        known = (
            [layer for layer in layers if isinstance(layer, Mapping) and layer.get("kind")]
            if isinstance(layers, list)
            else []
        )
        if known:
            yield Stack(
                layers=tuple(_layer(layer) for layer in known), payload_bytes=_whole(known[-1].get("payload_bytes"))
            )


def _layer(layer: Mapping[str, Any]) -> Layer:
    kind = str(layer["kind"])
    return Layer(name=_NAMES.get(kind, kind), bytes=_whole(layer.get("bytes")))


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _add(total: dict[str, int], counts: Any) -> None:
    """Adds counts of packets, if that is what they are."""
    for name, packets in counts.items() if isinstance(counts, Mapping) else ():
        if isinstance(packets, int) and packets > 0:
            total[name] = total.get(name, 0) + packets


def _size(stack: Stack) -> int:
    return sum(layer.bytes or 0 for layer in stack.layers) + (stack.payload_bytes or 0)
