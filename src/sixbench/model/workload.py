"""What a workload is: its parameters, its metrics, and how the two agents' results become them.

The kinds themselves live in `model.workloads`, one file each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv6Network
from typing import Any, Literal

from . import units
from .identifiers import NAME, require
from .placement import Placement
from .reason import Excuse, Reason, ReasonKind
from .topology import Family
from .wording import shown, visible

ParameterKind = Literal[
    "size",
    "rate",
    "packet-rate",
    "duration",
    "count",
    "number",
    "flag",
    "choice",
    "word",
    "name",
    "file",
    "ipv6-prefix",
    "mtu",
]
Transport = Literal["tcp", "udp", "icmp"]
MAX_FILE_NAME = 1024
SEGMENT_BYTES = 1460
"""The payload of a TCP segment over Ethernet and IPv4 (RFC 6691). What arrives as a stream of bytes counts as so many
packets."""
CONNECTION_PACKETS = 4
"""The packets that each TCP connection has at least: SYN, SYN with ACK, ACK, and one that ends it (RFC 9293 section
3.5)."""
Scalar = int | float | str | bool
Params = Mapping[str, Scalar]
"""Parameters by their protocol names, with units: `{"message_bytes": 64, "duration_ns": 5000000000}`."""
Result = Mapping[str, Any]
"""An agent's result, as docs/protocol.md describes it."""


def _whole(value: object) -> int | None:
    """A number of bytes without a unit, as ip(8) writes an MTU."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


_QUANTITIES: dict[ParameterKind, tuple[Callable[[object], int], Callable[[float], str]]] = {
    "size": (units.parse_size, units.format_size),
    "rate": (units.parse_rate, units.format_rate),
    "packet-rate": (units.parse_packet_rate, units.format_packet_rate),
    "duration": (units.parse_duration, units.format_duration),
    "mtu": (lambda value: _whole(value) or units.parse_size(value), lambda value: str(int(value))),
}

_WORD = re.compile(r"[A-Za-z0-9_-]{1,15}")
"""A word, such as a congestion control, whose name Linux keeps in 16 bytes (TCP_CA_NAME_MAX)."""


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One parameter of a workload.

    Attributes:
        name: as an experiment writes it, such as `message`. `gaps.shape` is `shape` in a mapping, as in
            `gaps: {distribution: gamma, shape: 2}`; the parameter that is `distribution` there is named `gaps`.
        column: the protocol's and the records' name, with its unit, such as `message_bytes`.
        minimum, maximum: inclusive, in the column's unit.
        length: whether it sets how long a trial is rather than what it is (then it is no level unless swept).
        default: the value where it is not given, as an experiment would write it or in words; None: there is none.
    """

    name: str
    column: str
    kind: ParameterKind
    doc: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    length: bool = False
    default: str | None = None

    def parse(self, value: object) -> Scalar:
        """The value in the column's unit. Raises `ValueError` saying what would be right."""
        parsed = self._parse(value)
        if isinstance(parsed, (int, float)) and not isinstance(parsed, bool):
            if self.minimum is not None and parsed < self.minimum:
                raise ValueError(f"{shown(value)} is too small: at least {self.format(self.minimum)}")
            if self.maximum is not None and parsed > self.maximum:
                raise ValueError(f"{shown(value)} is too large: at most {self.format(self.maximum)}")
        return parsed

    def _parse(self, value: object) -> Scalar:
        if self.kind in _QUANTITIES:
            return _QUANTITIES[self.kind][0](value)
        return _FORMS.get(self.kind, _word)(self, value)

    def format(self, value: Scalar) -> str:
        """The value as an experiment would write it."""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str):
            return value
        return _QUANTITIES[self.kind][1](value) if self.kind in _QUANTITIES else units.plain(value)


def _count(parameter: Parameter, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{shown(value)} is not a whole number, such as {parameter.format(parameter.minimum or 1)}")
    return value


def _number(_: Parameter, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{shown(value)} is not a number, such as 1.5")
    return float(value)


def _flag(_: Parameter, value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{shown(value)} is neither true nor false")
    return value


def _choice(parameter: Parameter, value: object) -> str:
    if not isinstance(value, str) or value not in parameter.choices:
        raise ValueError(f"{shown(value)} is not one of {', '.join(parameter.choices)}")
    return value


def _name(_: Parameter, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"{shown(value)} is not a name")
    return str(value)


def _file(_: Parameter, value: object) -> str:
    if not isinstance(value, str) or not value.isprintable() or not 0 < len(value) <= MAX_FILE_NAME:
        raise ValueError(f"{shown(value)} is not the path of a file")
    return value


def _word(_: Parameter, value: object) -> str:
    if not isinstance(value, str) or not _WORD.fullmatch(value):
        raise ValueError(f"{shown(value)} is not a word: 1 to 15 letters, digits, dashes or underscores")
    return value


def _ipv6_prefix(_: Parameter, value: object) -> str:
    if not isinstance(value, str) or "/" not in value or "%" in value:
        raise ValueError(f"{shown(value)} is not an IPv6 prefix, such as 2001:db8::/32")
    try:
        return str(IPv6Network(value))
    except ValueError as error:
        raise ValueError(
            f"{shown(value)} is not an IPv6 prefix, such as 2001:db8::/32: {visible(str(error))}"
        ) from error


_FORMS: dict[ParameterKind, Callable[[Parameter, object], Scalar]] = {
    "count": _count,
    "number": _number,
    "flag": _flag,
    "choice": _choice,
    "name": _name,
    "file": _file,
    "ipv6-prefix": _ipv6_prefix,
}


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The measurements of a trial: metrics by column, histograms by name, interval series by name, and remarks.

    `invalid` holds reasons for which the trial is not what it claims.
    """

    metrics: dict[str, float] = field(default_factory=dict)
    histograms: dict[str, dict[str, Any]] = field(default_factory=dict)
    series: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    invalid: list[Reason] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def reject(self, kind: ReasonKind, text: str) -> None:
        """Adds a reason for which the trial is not what it claims."""
        self.invalid.append(Reason(kind=kind, text=text))

    def excuse(self, excuse: Excuse) -> None:
        """Turns the reasons that follow from the excuse into remarks."""
        self.notes.extend(reason.text for reason in self.invalid if reason.is_excused_by(excuse))
        self.invalid[:] = [reason for reason in self.invalid if not reason.is_excused_by(excuse)]


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """The traffic that a trial must have put on the wire, for the evidence.

    Attributes:
        forward_payload_bytes, reverse_payload_bytes: payload that certainly arrived, each way (over all of the trial,
            warm-up included where known).
        forward_datagrams: datagrams that were certainly sent from client to server, without copies that a link made;
            None where the workload has none.
        messages: datagrams, requests, responses and packets that open or close connections, both ways, that certainly
            arrived. Of streams of bytes there are none.
        by_family: the traffic of each family's flows, where both are used; empty: all flows are of the path's own.
        silent: families over which nothing was answered, so that their packets may not have gone far.
    """

    forward_payload_bytes: int = 0
    reverse_payload_bytes: int = 0
    forward_datagrams: int | None = None
    messages: int = 0
    by_family: Mapping[Family, Traffic] = field(default_factory=dict)
    silent: frozenset[Family] = frozenset()

    def of(self, family: Family) -> Traffic:
        """The traffic of this family's flows."""
        return self.by_family.get(family, self)

    @property
    def packets(self) -> int:
        """How many packets of the trial arrived at least, both ways."""
        payload_bytes = self.forward_payload_bytes + self.reverse_payload_bytes
        return max(self.messages, -(-payload_bytes // SEGMENT_BYTES))


@dataclass(frozen=True, kw_only=True)
class Part:
    """One of several flows of a trial, which is one of the agent's workloads.

    Attributes:
        name: in the results, which are then `{"parts": {name: result}}` on both sides.
        workload: the agent's, such as `tcp-stream`.
        params: its parameters by column.
        step: parts of one step run at the same time, and steps one after the other.
        family: of its addresses; None: the path's own.
        families: of a part that has the addresses of several, all of them.
    """

    name: str
    workload: str
    params: dict[str, Scalar]
    step: int = 0
    family: Family | None = None
    families: frozenset[Family] = frozenset()


def default_placement(params: Params) -> Placement:
    """On one processor, so that no message has to wake another one; but apart where both sides spin."""
    return "apart" if params.get("busy_poll") else "together"


def apart(_: Params) -> Placement:
    """The placement of a sender that spins until a datagram is due. On one processor it would be in the receiver's
    way."""
    return "apart"


@dataclass(frozen=True, kw_only=True)
class WorkloadKind:
    """A kind of workload.

    Attributes:
        name: in experiments and in the protocol.
        transport: what its packets carry.
        primary: the metric that precision stops by and that figures show first.
        headline: the metrics that the terminal shows.
        metrics: all it can report (CPU metrics apart, which every workload has).
        check: what is wrong with a set of parameters, as a sentence; None if nothing. Takes the parameters and the
            families that will use them.
        summarise: the agents' results to metrics.
        traffic: the agents' results to what must have crossed the wire.
        agent_name: the agent's workload that does it; its own name unless given.
        agent_params: the parameters that the agent is given, of the experiment's.
        is_drawn: whether any of the traffic is random, so that it has a seed.
        parts: the flows that a trial consists of, where it is not one of the agent's workloads; None: it is.
        placement: where the nodes of its path run, by its parameters, unless the experiment says so.
        families: those that the two hosts need besides the path's own. The agent's workload gets the addresses of all
            of them.
    """

    name: str
    transport: Transport
    doc: str
    parameters: tuple[Parameter, ...]
    primary: str
    headline: tuple[str, ...]
    metrics: tuple[str, ...]
    check: Callable[[Params, frozenset[Family]], str | None]
    summarise: Callable[[Params, Result, Result], Measured]
    traffic: Callable[[Params, Result, Result], Traffic]
    parts: Callable[[Params], tuple[Part, ...]] | None = None
    placement: Callable[[Params], Placement] = default_placement
    families: frozenset[Family] = frozenset()
    agent_name: str | None = None
    agent_params: Callable[[Params], dict[str, Scalar]] = dict
    is_drawn: Callable[[Params], bool] = lambda _: False

    @property
    def served_by(self) -> str:
        """The agent's workload."""
        return self.agent_name or self.name

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of that name in experiments."""
        return next((p for p in self.parameters if p.name == name), None)

    def by_column(self, column: str) -> Parameter | None:
        """The parameter of that column."""
        return next((p for p in self.parameters if p.column == column), None)


@dataclass(frozen=True, kw_only=True)
class Workload:
    """One workload of an experiment at one combination of levels."""

    kind: str
    params: dict[str, Scalar]
    """The parameters by column, complete but for the agent's own defaults."""

    def __post_init__(self) -> None:
        require(NAME, self.kind, "a workload")
