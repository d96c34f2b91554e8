"""The forms of answers (docs/protocol.md), and the error of an answer that has another form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, ValidationError

from ..model.captured import AnyLayer, KeptPacket
from ..model.errors import AgentError
from ..model.form import ABSENT, Form, Natural, Number
from ..model.observation import DiscoveredPrefixAnswer, WithoutIpv4Answer

SHOWN_PROBLEMS = 3
SHOWN_CHARACTERS = 60


_Form = TypeVar("_Form", bound=Form)


def message_of(line: bytes) -> Any:
    """The meaning of a line of the agent's output. Raises `AgentError` where it is no JSON."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise AgentError(
            "agent-broken", f"the agent answered with something that is no JSON: {line[:100]!r}"
        ) from error


def check(form: type[_Form], answer: object, what: str, place: tuple[str, ...] = ()) -> _Form:
    """Holds an answer against its form, and gives it in that form.

    Args:
        what: the answer, in words, such as `finish`.
        place: the keys that lead to it, where it is an object in an answer.

    Raises:
        AgentError: of code `agent-broken`; it says what is wrong, and where.
    """
    try:
        return form.model_validate(answer)
    except ValidationError as error:
        problems = [
            _problem(item["type"], (*place, *item["loc"]), item["msg"], item["input"]) for item in error.errors()
        ]
        more = f", and {len(problems) - SHOWN_PROBLEMS} more" if len(problems) > SHOWN_PROBLEMS else ""
        words = "; ".join(problems[:SHOWN_PROBLEMS])
        raise AgentError("agent-broken", f"{what} was answered {words}{more}") from None


def _problem(kind: str, place: Iterable[int | str], message: str, value: object) -> str:
    where = ".".join(str(part) for part in place)
    if kind == "missing":
        return f"without {where}"
    shown = repr(value)
    short = shown if len(shown) <= SHOWN_CHARACTERS else f"{shown[:SHOWN_CHARACTERS]}..."
    return f"with {where or 'an object'} of type {type(value).__name__} ({short}): {message[:1].lower()}{message[1:]}"


class Nothing(Form):
    """The answer says no more than that it is done."""


class HelloAnswer(Form):
    """The agent's identity."""

    protocol: int
    version: str
    pid: int
    netns_inode: Natural = ABSENT


class ExecAnswer(Form):
    """The end of a command."""

    exit: int
    stdout: str
    stderr: str


class SysctlAnswer(Form):
    """Settings as they are."""

    values: dict[str, str]


class ForgottenAnswer(Form):
    """The number of exceptions to IPv6 routes that were forgotten."""

    ipv6: Natural


class Decoded(Form):
    """A packet by its headers."""

    wire_bytes: Annotated[int, Field(ge=0, lt=2**32)]
    layers: list[AnyLayer]

    @property
    def kept(self) -> KeptPacket:
        return KeptPacket(wire_bytes=self.wire_bytes, layers=tuple(self.layers))


class PacketAnswer(Form):
    """The outcome of a packet in a mechanism; `packets` are hexadecimal."""

    verdict: Literal["translated", "answered", "dropped", "waits"]
    reason: str
    section: str | None
    words: str
    packets: list[Annotated[str, Field(pattern=r"^([0-9a-f]{2})+$")]]


class PacketsEnd(Form):
    """The counts after all packets have come."""

    fragments_in_vain: Natural


class ServeAnswer(Form):
    """Addresses at which a server listens."""

    port: Annotated[int, Field(ge=0, lt=2**16)]
    cookie: bool = ABSENT
    certificate: Annotated[str, Field(max_length=2**17, pattern=r"^[A-Za-z0-9+/]+=*$")] = ABSENT


class ArrivedDatagrams(Form):
    """Those that came, each once, those that have not though a later one has, and the jitter so far."""

    unique: Natural
    lost_middle: Natural
    jitter_rfc3550_ns: Number = ABSENT


class SendersSample(Form):
    """State of the senders of TCP at a moment of the measured window."""

    t_ns: Natural
    rtt_ns: Natural = ABSENT
    cwnd_packets: Number = ABSENT
    retransmits: Natural = ABSENT


class ProgressAnswer(Form):
    """Bytes that have arrived at a session so far, and the state of its senders."""

    now_ns: Natural
    first_ns: Natural = ABSENT
    received_bytes: Natural = ABSENT
    datagrams: ArrivedDatagrams = ABSENT
    sending: SendersSample = ABSENT


class TunnelAnswer(Form):
    """A tunnel's device."""

    ifindex: Natural
    overhead_bytes: Natural


class TranslatorAnswer(Form):
    """A translator's device."""

    ifindex: Natural


class RouterAnswer(Form):
    """A router's advertisement."""

    router: str
    prefixes: list[Mapping[str, Any]]


class BringUpAnswer(Form):
    """Times at which a CLAT began to ask, learned that it can do without IPv4, had its prefix, and translated, by the
    monotonic clock."""

    dhcp: WithoutIpv4Answer = ABSENT
    dhcp_ns: Natural = ABSENT
    discovered: DiscoveredPrefixAnswer
    begun_ns: Natural
    discovered_ns: Natural
    configured_ns: Natural


class BrokerAnswer(Form):
    """Addresses at which a broker listens."""

    port: Natural


class DnsAnswer(Form):
    """Questions that a resolver got, and their outcome."""

    udp: Natural
    tcp: Natural
    outcomes: dict[str, Natural]
    truncated: Natural
    asked: Natural
    unanswered: Natural
    ignored: dict[str, Natural]


class DeviceAnswer(Form):
    """Time that a device took to be ready."""

    ready_after_ns: Natural


class LeaseAnswer(Form):
    """A broker's answer: an address, and the other end of the tunnel."""

    device: str
    address: str
    remote: str
