"""The forms of answers about servers of others (docs/protocol.md)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from ..model.form import ABSENT, Flag, Form, Name, Natural, Text

ProbeOutcome = Literal[
    "answered",
    "silence",
    "refused",
    "reset",
    "unreachable",
    "no-route",
    "tls",
    "other-name",
    "not-offered",
    "closed",
    "protocol",
]
"""The ends of an attempt."""

MOST_ATTEMPTS = 1000


class IcmpError(Form):
    """An ICMP error about a packet of ours."""

    model_config = ConfigDict(strict=True, extra="ignore", populate_by_name=True)

    type: Natural
    code: Natural
    from_: Name = Field(alias="from", default=ABSENT)


class ServerAttempt(Form):
    """The parts that every attempt has."""

    outcome: ProbeOutcome
    reason: Text = ABSENT
    icmp: IcmpError = ABSENT
    begun_ns: Natural = ABSENT


class Connection(ServerAttempt):
    """An attempt that opens a connection."""

    source: Name = ABSENT
    source_port: Natural = ABSENT
    interface: Name = ABSENT
    mss_bytes: Natural = ABSENT
    rtt_ns: Natural = ABSENT
    retransmits: Natural = ABSENT


class TcpAttempt(Connection):
    """A TCP connection. `elapsed_ns`: until it was open, or its failure came."""

    elapsed_ns: Natural = ABSENT


class TcpConnectAnswer(Form):
    """TCP connections."""

    attempts: Annotated[list[TcpAttempt], Field(max_length=MOST_ATTEMPTS)]


class ApplicationAttempt(Connection):
    """A handshake of TLS or QUIC, or an object of HTTP. `connect_ns` is from the beginning to the end of TCP's
    handshake, `handshake_ns` from there (of QUIC from the beginning), the other times are from the beginning."""

    connect_ns: Natural = ABSENT
    handshake_ns: Natural = ABSENT
    first_byte_ns: Natural = ABSENT
    total_ns: Natural = ABSENT
    protocol: Name = ABSENT
    tls_version: Name = ABSENT
    cipher: Name = ABSENT
    certificate_names: Annotated[list[Name], Field(max_length=MOST_ATTEMPTS)] = ABSENT
    status: Natural = ABSENT
    retry_after_s: Natural = ABSENT
    body_bytes: Natural = ABSENT
    body_whole: Flag = ABSENT
    sent_bytes: Natural = ABSENT
    received_bytes: Natural = ABSENT


class ApplicationAnswer(Form):
    """Attempts of an application. `stopped`: why some were left out."""

    attempts: Annotated[list[ApplicationAttempt], Field(max_length=MOST_ATTEMPTS)]
    stopped: Name = ABSENT


class EchoReply(ServerAttempt):
    """An echo request and its outcome."""

    sequence: Natural = ABSENT
    rtt_ns: Natural = ABSENT
    kernel_stamps: Flag = ABSENT
    hop_limit: Natural = ABSENT


class PingAnswer(Form):
    """Echo requests, and what came besides their answers."""

    source: Name = ABSENT
    interface: Name = ABSENT
    replies: Annotated[list[EchoReply], Field(max_length=MOST_ATTEMPTS)]
    strays: Natural = ABSENT
    duplicates: Natural = ABSENT


class ResolverAddress(Form):
    """Where a resolver is."""

    address: Name
    port: Natural


class ServiceBinding(Form):
    """A record of the type HTTPS (RFC 9460)."""

    alpn: Annotated[list[Name], Field(max_length=100)] = ABSENT


class Lookup(ServerAttempt):
    """The look-up of one type of records."""

    type: Name
    elapsed_ns: Natural = ABSENT
    rcode: Name = ABSENT
    asked: Natural = ABSENT
    truncated: Flag = ABSENT
    ttl_s: Natural = ABSENT
    canonical_name: Name = ABSENT
    addresses: Annotated[list[Name], Field(max_length=MOST_ATTEMPTS)] = ABSENT
    https: Annotated[list[ServiceBinding], Field(max_length=MOST_ATTEMPTS)] = ABSENT
    strays: Natural = ABSENT


class ResolveAnswer(Form):
    """Look-ups of a name."""

    resolver: ResolverAddress
    answers: Annotated[list[Lookup], Field(max_length=100)]


class LocalAddressAnswer(Form):
    """An address of this machine."""

    interface: Name
    address: Name
    prefix_bits: Natural
    kind: Name
    scope: Name = ABSENT
    temporary: Flag = ABSENT
    deprecated: Flag = ABSENT


class InterfaceAnswer(Form):
    """An interface of this machine. `kind`: the kernel's, absent for devices."""

    interface: Name
    mtu_bytes: Natural = ABSENT
    kind: Name = ABSENT
    is_up: Flag = ABSENT


class RouteAnswer(Form):
    """The route of this machine to an address."""

    towards: Name
    outcome: Name
    source: Name = ABSENT
    interface: Name = ABSENT
    gateway: Name = ABSENT
    mtu_bytes: Natural = ABSENT


class Nat64Answer(Form):
    """The prefixes by which the resolver makes IPv6 addresses of IPv4 addresses (RFC 7050)."""

    outcome: Name
    prefixes: Annotated[list[Name], Field(max_length=100)] = ABSENT
    reason: Text = ABSENT


class VantageAnswer(Form):
    """The place of this machine, as far as it knows."""

    addresses: Annotated[list[LocalAddressAnswer], Field(max_length=10_000)]
    interfaces: Annotated[list[InterfaceAnswer], Field(max_length=10_000)] = ABSENT
    routes: Annotated[list[RouteAnswer], Field(max_length=10_000)]
    resolvers: Annotated[list[Name], Field(max_length=100)] = ABSENT
    nat64: Nat64Answer = ABSENT
    proxies: Annotated[list[Name], Field(max_length=100)] = ABSENT


class HopAnswer(ServerAttempt):
    """An answer from a hop."""

    outcome: Name  # type: ignore[assignment]
    from_: Name = Field(alias="from", default=ABSENT)
    rtt_ns: Natural = ABSENT


class Hop(Form):
    """The answers at one hop limit."""

    hop_limit: Natural
    answers: Annotated[list[HopAnswer], Field(max_length=100)]


class HopsAnswer(Form):
    """The routers towards an address, with a constant flow."""

    source: Name = ABSENT
    hops: Annotated[list[Hop], Field(max_length=255)]
    ended: Name


class TooBigReport(Form):
    """A Packet Too Big about a probe."""

    from_: Name = Field(alias="from", default=ABSENT)
    mtu_bytes: Natural = ABSENT
    probe_bytes: Natural = ABSENT


class PathMtuAnswer(ServerAttempt):
    """The path MTU towards a server without its help."""

    mtu_bytes: Natural = ABSENT
    interface_mtu_bytes: Natural = ABSENT
    packet_too_big: Name = ABSENT
    reports: Annotated[list[TooBigReport], Field(max_length=MOST_ATTEMPTS)] = ABSENT
    mss_bytes: Natural = ABSENT
