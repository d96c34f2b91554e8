"""The reason why a trial does not count: a kind that programs tell apart, and a sentence for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from .quoting import sentence, shown, visible


class ReasonKind(StrEnum):
    """The fault of a trial."""

    AGENT_FAILED = "agent-failed"
    """An agent refused, died, fell silent, or answered with what its protocol does not allow."""
    NETWORK_FAILED = "network-failed"
    """The network could not be built, or not be made what it was."""
    DEVICE_ENDED = "device-ended"
    """A program under test ended in the midst of the trial."""
    EVENT_FAILED = "event-failed"
    """A link did not change as the experiment says, or not when it says."""
    NOT_MOVED = "not-moved"
    """The client lost its address, and did not go on from the next one as the experiment says."""
    LINK_DOWN = "link-down"
    """An interface of the way went down or lost its carrier."""
    CLOCK_STEP = "clock-step"
    """The realtime clock was stepped."""
    PROCESSORS_CHANGED = "processors-changed"
    """Processors of the machine were taken offline, or came online."""
    TESTER_LIMITED = "tester-limited"
    """The generator did not keep its rate, or the tester was the limit where the path was to be."""
    CPU_LIMITED = "cpu-limited"
    """The machine's CPU was the limit where the path was to be."""
    EMULATOR_LATE = "emulator-late"
    """An emulated link carried its packets too late, or lost packets that it was to carry."""
    EMULATOR_SILENT = "emulator-silent"
    """Nothing is known of what an emulated link did."""
    LATE_TIMERS = "late-timers"
    """Timers that ran late made a link slower than its rate."""
    STRAYS = "strays"
    """Packets of somebody else came to the trial's sockets, too many beside its own."""
    LEDGER = "ledger"
    """Two accounts of the same traffic contradict each other, such as what was sent and what was received and lost."""
    NOTHING_SENT = "nothing-sent"
    """The sender sent nothing in the measured time."""
    NOTHING_ARRIVED = "nothing-arrived"
    """Nothing of what was sent arrived, or was answered."""
    TOO_SHORT = "too-short"
    """Too little happened in the measured time for the metric."""
    NOT_TOLD = "not-told"
    """A side does not tell what the metric needs."""
    OTHER_PROTOCOL = "other-protocol"
    """The two sides agreed on another protocol, or on another use of it, than the experiment claims."""
    NOT_SEEN = "not-seen"
    """No packet of the trial, or of one of its flows, was seen on a link of its path."""
    OTHER_PATH = "other-path"
    """Packets or counters say that the traffic did not take the path that it claims."""
    TOO_LARGE = "too-large"
    """A packet was larger than the MTU of the link on which it was seen."""
    NOT_COUNTED = "not-counted"
    """A node on the way could not be asked for its counters."""
    TUNNEL_COUNTERS = "tunnel-counters"
    """An end of a tunnel on the way did not carry what arrived."""
    TRANSLATOR_COUNTERS = "translator-counters"
    """A translator on the way did not translate what arrived."""
    RELAY_COUNTERS = "relay-counters"
    """A relay on the way did not pass on what arrived."""
    SESSIONS_REFUSED = "sessions-refused"
    """A node that keeps state refused sessions, or gave some up, and the workload did not mean to fill it."""
    UNTYPED = "untyped"
    """A record of `sixbench.trial/1` has it, whose reasons had no kinds."""


OF_MACHINE = frozenset(
    {ReasonKind.CLOCK_STEP, ReasonKind.PROCESSORS_CHANGED, ReasonKind.EMULATOR_LATE, ReasonKind.LATE_TIMERS}
)
"""The kinds that say that the machine was disturbed: they come from its clocks, timers and processors, and from the
emulator's account of its own work. No kind is among them that looks at a metric (`cpu-limited`, `tester-limited` with
`bottleneck: path`), that a path brings about by what it costs (`tester-limited`), or that may be the result itself
(`nothing-arrived`, `ledger`)."""


class Excuse(StrEnum):
    """The excuse that makes a remark of a reason."""

    FORETOLD_LOSS = "foretold-loss"
    """Theory says that no datagram arrives, and none did."""
    DF_POLICY = "df-policy"
    """The trial asks what becomes of packets that nobody may fragment: that none arrives is its answer."""


EXCUSED: Mapping[Excuse, frozenset[ReasonKind]] = {
    Excuse.FORETOLD_LOSS: frozenset({ReasonKind.NOTHING_ARRIVED}),
    Excuse.DF_POLICY: frozenset({ReasonKind.NOTHING_ARRIVED}),
}
"""Consequences of an excuse, and no more: whatever else is wrong with such a trial is still wrong."""


@dataclass(frozen=True, kw_only=True)
class Reason:
    """The reason why a trial is `invalid` or `failed`. `str` gives the sentence, whose words may be those of other
    machines and programs (`quoting.sentence`)."""

    kind: ReasonKind
    text: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", sentence(self.text))

    def __str__(self) -> str:
        return self.text

    def of(self, flow: str) -> Reason:
        """The same of one of several flows, with its name."""
        return replace(self, text=f"{flow}: {self.text}")

    @property
    def is_of_machine(self) -> bool:
        """True if it says that the machine was disturbed, and nothing of the path or of the result."""
        return self.kind in OF_MACHINE

    def is_excused_by(self, excuse: Excuse) -> bool:
        """True if it follows from the excuse."""
        return self.kind in EXCUSED[excuse]

    def to_json(self) -> dict[str, str]:
        """The form of `trial.json`."""
        return {"kind": self.kind.value, "text": self.text}

    @classmethod
    def from_json(cls, data: Any) -> Reason:
        """Reads what `to_json` wrote. Raises `ValueError` on anything else."""
        if not isinstance(data, dict) or not isinstance(data.get("text"), str) or "kind" not in data:
            raise ValueError(f"a reason is {shown(data)}, and not an object with kind and text")
        if data["kind"] not in [*ReasonKind]:
            raise ValueError(
                f"a reason is of the kind {visible(shown(data['kind']))}, which this sixbench does not know"
            )
        return cls(kind=ReasonKind(data["kind"]), text=data["text"])


def sentences(reasons: Iterable[Reason]) -> str:
    """All of them on one line."""
    return "; ".join(reason.text for reason in reasons)
