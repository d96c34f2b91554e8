"""Meaning of the counters for one packet: whether the device has dealt with it, by which path, and what the node itself
did. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ...bench.settling import is_waiting
from ...model.observation import CountersAnswer, PacketCount, TranslatorState, TunnelState

Verdict = Literal["translated", "answered", "dropped", "waits"]

_EXTRA_DROPS = frozenset({"not-sent", "no-room"})
"""Counts of a translator: packets of the slow path that could not be sent, and packets that never came to it."""
_IN_VAIN = "first-fragment-missing"
"""A counter of a translator: fragments that waited in vain. They came earlier than the packet under way when their
time is up."""
_OF_BOTH = ("InHdrErrors", "InAddrErrors", "InUnknownProtos", "InDiscards", "InDelivers", "ReasmReqds", "ReasmOKs")
_ENDS = {
    "Ip": (*_OF_BOTH, "OutNoRoutes", "OutDiscards", "FragFails"),
    "Ip6": (*_OF_BOTH, "OutNoRoutes", "OutDiscards", "FragFails", "InNoRoutes", "InTruncatedPkts", "InTooBigErrors"),
}
"""The node's counters that rise where it ends a packet's way itself, or may."""
_ANSWERS = {
    "Icmp": ("OutDestUnreachs", "OutTimeExcds", "OutParmProbs", "OutEchoReps"),
    "Icmp6": ("OutDestUnreachs", "OutPktTooBigs", "OutTimeExcds", "OutParmProblems", "OutEchoReplies"),
    "Tcp": ("OutRsts",),
}
"""Those that rise where it answers."""
_NO_PATH_OF_ITS_OWN = frozenset({"Ip.InDelivers", "Ip6.InDelivers", "Ip.ReasmReqds", "Ip6.ReasmReqds"})
"""Those that rise too where the device's slow path gets a packet."""


@dataclass(frozen=True, kw_only=True)
class DeviceCounts:
    """Counters of the device and its node. The device's counters were read before the node's, so that nothing is
    done here that was not handed, and `backlog` is never less than it was.

    Attributes:
        outcomes: packets of the device by what became of them, such as `fast encapsulated` and `dropped no-mapping`.
            Fragments whose time was up are not among them: they are no outcome of the packet under way.
        handed: how many packets were left to user space at the device.
        done: how many of them user space has dealt with; None: that is not told apart.
        fragments_in_vain: how many fragments wait in user space for others of their packet, or did so until their time
            was up.
        node: the counters of the node that say that it ended a packet's way, or answered.
        passed: packets by interface.
        is_still: whether none waits for a processor or in a queue.
    """

    outcomes: Mapping[str, int]
    handed: int
    done: int | None
    node: Mapping[str, int]
    passed: Mapping[str, tuple[int, int]]
    is_still: bool
    fragments_in_vain: int = 0

    @property
    def backlog(self) -> int | None:
        """Packets that user space had got and not dealt with, and those that it has lost in all; None: unknown."""
        return None if self.done is None else self.handed - self.done

    def risen(self, before: DeviceCounts) -> CountRises:
        """The increase since then."""
        outcomes = _risen(before.outcomes, self.outcomes)
        slow = sum(rise for name, rise in outcomes.items() if name.startswith("slow "))
        ways = {name: outcomes.pop(name) for name in list(outcomes) if name.startswith("way ")}
        if sum(ways.values()) > slow:
            outcomes |= {name.replace("way ", "fast "): rise for name, rise in ways.items()}
        return CountRises(
            outcomes=outcomes,
            handed=self.handed - before.handed,
            node=_risen(before.node, self.node),
        )


class SlowPathBacklog:
    """Least backlog of all looks at a device, which is that of an idle one.

    A packet is not held against the look before it: a packet of the node's own may have been in the device
    then, and its backlog would be waited for again.
    """

    def __init__(self) -> None:
        self._least: int | None = None

    def note(self, counted: DeviceCounts) -> None:
        """Notes a look."""
        if counted.backlog is not None:
            self._least = counted.backlog if self._least is None else min(self._least, counted.backlog)

    def is_idle(self, counted: DeviceCounts) -> bool:
        """True if user space had nothing that it had not dealt with, as far as it tells these apart."""
        return counted.backlog is None or self._least is None or counted.backlog <= self._least


@dataclass(frozen=True, kw_only=True)
class CountRises:
    """The increase since a packet came: as in `DeviceCounts`."""

    outcomes: Mapping[str, int]
    handed: int
    node: Mapping[str, int]

    @property
    def verdict(self) -> Verdict | None:
        """The outcome of the packet; None: no counter gives it."""
        if any(name.startswith("answered ") for name in self.outcomes) or self._node_answered:
            return "answered"
        if any(name.startswith(("fast ", "slow ")) for name in self.outcomes):
            return "translated"
        if "waits" in self.outcomes or self.is_held:
            return "waits"
        if any(name.startswith("dropped ") for name in self.outcomes) or self.node:
            return "dropped"
        return None

    @property
    def is_held(self) -> bool:
        """True if the node keeps it as a fragment of a packet that is not whole yet."""
        return any(f"{ip}.ReasmReqds" in self.node and f"{ip}.ReasmOKs" not in self.node for ip in ("Ip", "Ip6"))

    @property
    def reason(self) -> str:
        """The deciding path or rule of the device in one word, or `node`."""
        for name in (*self.outcomes, ""):
            kind, _, rule = name.partition(" ")
            if kind in ("answered", "dropped") or (kind in ("fast", "slow") and not self._node_answered):
                return rule
        return "fragment-waits" if self.verdict == "waits" else "node"

    @property
    def words(self) -> str:
        """The deciding part, as sentences: the path through the device, and the counters that have risen."""
        names = []
        for name in self.outcomes:
            kind, _, rule = name.partition(" ")
            names.append(
                {
                    "fast": f"The program in the kernel did it (fast path): {rule}.",
                    "slow": f"User space did it (slow path): {rule}.",
                    "handed": f"The program left it to user space: {rule}.",
                    "answered": f"User space sent the source an error: {rule}.",
                    "dropped": f"The device dropped it: {rule}.",
                    "waits": "It waits in user space for another fragment of its packet.",
                }[kind]
            )
        if self._node_answered or (not self.outcomes and self.node):
            ended = "kept it for reassembly" if self.is_held else "delivered or dropped it"
            did = "answered" if self._node_answered else ended
            counters = ", ".join(name for name in self.node if name not in _NO_PATH_OF_ITS_OWN) or ", ".join(self.node)
            names.append(f"The device's node {did}, and not the device: {counters}.")
        return " ".join(names) or "Neither the device nor its node has counted it."

    @property
    def _node_answered(self) -> bool:
        answers = {f"{group}.{name}" for group, names in _ANSWERS.items() for name in names}
        return not answers.isdisjoint(self.node)


def of_translator(state: TranslatorState, node: CountersAnswer, devices: Sequence[str]) -> DeviceCounts:
    """A translator's."""
    slow = {f"slow {clause}": count.packets for clause, count in state.slow.items()}
    ways = {"way to-ipv6": state.to_ipv6.packets, "way to-ipv4": state.to_ipv4.packets}
    answered = {f"answered {clause}": count.packets for clause, count in state.answered.items()}
    in_vain = state.drops[_IN_VAIN].packets if _IN_VAIN in state.drops else 0
    dropped = {f"dropped {reason}": count.packets for reason, count in state.drops.items() if reason != _IN_VAIN}
    seen = sum(count.packets for reason, count in state.drops.items() if reason not in _EXTRA_DROPS)
    slow_packets = sum(slow.values())
    waited = state.waiting.packets + in_vain
    return DeviceCounts(
        outcomes={**ways, **slow, **answered, **dropped, "waits": waited},
        handed=_sent(node, devices),
        done=slow_packets + sum(answered.values()) + seen + state.waiting.packets,
        fragments_in_vain=waited,
        **_of_node(node),
    )


def of_tunnels(states: Mapping[str, TunnelState], node: CountersAnswer) -> DeviceCounts:
    """That of the ends of tunnels. Their user space counts what it has put together, and not each fragment that was
    left to it."""
    outcomes: Counter[str] = Counter()
    for state in states.values():
        counts: dict[str, PacketCount | None] = {
            "fast encapsulated": state.encapsulated,
            "fast decapsulated": state.decapsulated,
            "slow encapsulated": state.slow_encapsulated,
            "slow decapsulated": state.slow_decapsulated,
            **{f"handed {reason}": count for reason, count in (state.slow or {}).items()},
            **{f"dropped {reason}": count for reason, count in (state.drops or {}).items()},
        }
        outcomes.update({name: count.packets for name, count in counts.items() if count is not None})
    return DeviceCounts(outcomes=outcomes, handed=_sent(node, states), done=None, **_of_node(node))


def of_program(node: CountersAnswer, devices: Sequence[str]) -> DeviceCounts:
    """Counts of another's program, which reports nothing about packets."""
    return DeviceCounts(outcomes={}, handed=_sent(node, devices), done=None, **_of_node(node))


def _of_node(node: CountersAnswer) -> dict[str, Any]:
    counted = {
        f"{group}.{name}": node.snmp.get(group, {}).get(name, 0)
        for group, names in (*_ENDS.items(), *_ANSWERS.items())
        for name in names
    }
    passed = {
        name: (interface_counters.rx_packets, interface_counters.tx_packets)
        for name, interface_counters in node.interfaces.items()
    }
    return {"node": counted, "passed": passed, "is_still": not is_waiting(node)}


def _sent(node: CountersAnswer, devices: Iterable[str]) -> int:
    """Packets that have left the near ends of devices, which the program did not take."""
    return sum(node.interfaces[device].tx_packets for device in devices if device in node.interfaces)


def _risen(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    return {name: count - before.get(name, 0) for name, count in after.items() if count > before.get(name, 0)}
