"""An agent with recorded answers about servers of others, for tests without a network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any, ClassVar

from sixbench.agent.requests import (
    ApplicationRequest,
    HopsRequest,
    PathMtuRequest,
    PingRequest,
    ResolveRequest,
    TcpConnectRequest,
    VantageRequest,
)
from sixbench.model.errors import AgentError

MS = 1_000_000
Outcomes = Mapping[tuple[str, str], str]
"""The outcomes by workload (of HTTP with the version) and address; those that it lacks are `answered`."""


@dataclass(kw_only=True, eq=False)
class RecordedAgent:
    """Answers as an agent does, from what a test says.

    Attributes:
        names: by name and type of record, the addresses; a text is the outcome or the code of the answer.
        outcomes: those of attempts.
        rtt_ns: the round trip to an address, in the order in which it is asked for.
        interfaces: by address, the interface that leads there; none: no route.
        routes_by: by address, the interface of the route, where it is another than the one that has the source.
        owner: the interface that has the addresses.
        kinds: the kernel's kinds of interfaces.
        proxies: variables that name one.
        prefixes: those of a NAT64.
        drops_too_big: whether the path MTU is 1480 bytes, and no Packet Too Big comes.
        cannot: operations that the kernel refuses.
    """

    names: dict[str, dict[str, Any]] = field(default_factory=dict)
    outcomes: dict[tuple[str, str], str] = field(default_factory=dict)
    rtt_ns: Callable[[str], int] = lambda address: 10 * MS
    interfaces: dict[str, str | None] = field(default_factory=dict)
    routes_by: dict[str, str] = field(default_factory=dict)
    owner: str = "eth0"
    kinds: dict[str, str] = field(default_factory=dict)
    sources: dict[int, str] = field(default_factory=lambda: {4: "198.51.100.7", 6: "2001:db8:7::7"})
    proxies: list[str] = field(default_factory=list)
    prefixes: list[str] = field(default_factory=list)
    cannot: set[str] = field(default_factory=set)
    statuses: dict[str, int] = field(default_factory=dict)
    asked: list[Any] = field(default_factory=list)
    alive: bool = True
    drops_too_big: bool = False

    def answer(self, request: Any, *, timeout_s: float = 30.0) -> Any:
        """The answer in its form. Raises `AgentError`."""
        self.asked.append(request)
        address = getattr(request, "address", None)
        if address is not None and (ip_address(address).is_unspecified or ip_address(address).is_multicast):
            raise AgentError("bad-params", f"`address` {address} is not that of one host")
        if request.op in self.cannot:
            raise AgentError("system", f"{request.op}: the kernel allows no such socket; set net.ipv4.ping_group_range")
        return request.read(self._answers[type(request)](self, request))

    def _resolve(self, request: ResolveRequest) -> dict[str, Any]:
        answers = []
        for kind in request.types or []:
            records = self.names.get(request.name, {}).get(kind, [])
            item: dict[str, Any] = {"type": kind, "outcome": "answered", "elapsed_ns": 2 * MS}
            if kind == "HTTPS":
                item |= {"rcode": "NOERROR", "https": [{"alpn": records}] if records else []}
            elif isinstance(records, list):
                item |= {"rcode": "NOERROR", "addresses": records}
            elif records.isupper():
                item |= {"rcode": records}
            else:
                item = {"type": kind, "outcome": records}
            answers.append(item)
        return {"resolver": {"address": "192.0.2.53", "port": 53}, "answers": answers}

    def _vantage(self, request: VantageRequest) -> dict[str, Any]:
        if len(request.towards or []) > 256:
            raise AgentError("bad-params", "`towards` must be from 0 to 256")
        routes = []
        for address in request.towards or []:
            interface = self.interfaces.get(address, "eth0")
            route: dict[str, Any] = {"towards": address, "outcome": "no-route"}
            if interface is not None:
                source = self.sources[6 if ":" in address else 4]
                by = self.routes_by.get(address, interface)
                route = {"towards": address, "outcome": "route", "interface": by, "source": source}
            routes.append(route)
        return {
            "addresses": [
                {"interface": self.owner, "address": address, "prefix_bits": 64, "kind": "global"}
                for address in self.sources.values()
            ],
            "interfaces": [{"interface": name, "kind": kind} for name, kind in self.kinds.items()],
            "routes": routes,
            "nat64": {"outcome": "answered", "prefixes": self.prefixes},
            "proxies": self.proxies,
        }

    def _local(self, address: str) -> dict[str, Any]:
        source = self.sources[6 if ":" in address else 4]
        return {"source": source, "source_port": 40000, "interface": self.interfaces.get(address) or "eth0"}

    def _tcp(self, request: TcpConnectRequest) -> dict[str, Any]:
        outcome = self.outcomes.get(("tcp-connect", request.address), "answered")
        attempt = {"outcome": outcome, **self._local(request.address)}
        if outcome == "answered":
            attempt["elapsed_ns"] = self.rtt_ns(request.address)
        return {"attempts": [attempt] * (request.count or 1)}

    def _ping(self, request: PingRequest) -> dict[str, Any]:
        outcome = self.outcomes.get(("ping", request.address), "answered")
        reply: dict[str, Any] = {"outcome": outcome}
        if outcome == "answered":
            reply["rtt_ns"] = self.rtt_ns(request.address)
        return {"replies": [reply | {"sequence": number} for number in range(request.count or 1)], "strays": 0} | (
            self._local(request.address)
        )

    def _application(self, request: ApplicationRequest) -> dict[str, Any]:
        if request.server_name is None:
            raise AgentError("bad-request", "missing field `server_name`")
        key = request.workload if request.version is None else f"{request.workload} {request.version}"
        outcome = self.outcomes.get((key, request.address), "answered")
        attempt: dict[str, Any] = {"outcome": outcome, **self._local(request.address)}
        if outcome == "answered":
            rtt_ns = self.rtt_ns(request.address)
            attempt |= {"connect_ns": rtt_ns, "handshake_ns": 2 * rtt_ns, "first_byte_ns": 4 * rtt_ns}
            attempt |= {"total_ns": 5 * rtt_ns, "status": self.statuses.get(request.address, 200)}
        return {"attempts": [attempt] * (request.count or 1)}

    def _hops(self, request: HopsRequest) -> dict[str, Any]:
        router = "2001:db8:7::1" if ":" in request.address else "198.51.100.1"
        answers = [{"outcome": "time-exceeded", "from": router, "rtt_ns": MS}]
        last = [{"outcome": "answered", "from": request.address, "rtt_ns": 9 * MS}]
        return {"hops": [{"hop_limit": 1, "answers": answers}, {"hop_limit": 2, "answers": last}], "ended": "reached"}

    def _path_mtu(self, request: PathMtuRequest) -> dict[str, Any]:
        return {
            "outcome": "answered",
            "mtu_bytes": 1480 if self.drops_too_big else 1500,
            "interface_mtu_bytes": 1500,
            "packet_too_big": "never" if self.drops_too_big else "not-needed",
        }

    _answers: ClassVar[dict[type[Any], Callable[[RecordedAgent, Any], dict[str, Any]]]] = {
        ResolveRequest: _resolve,
        VantageRequest: _vantage,
        TcpConnectRequest: _tcp,
        PingRequest: _ping,
        ApplicationRequest: _application,
        HopsRequest: _hops,
        PathMtuRequest: _path_mtu,
    }


@dataclass(kw_only=True)
class RecordedHub:
    """Starts recorded agents."""

    agent: RecordedAgent

    def start_here(self, name: str, on: str | None = None) -> RecordedAgent:
        return self.agent

    def stop(self, agents: list[Any]) -> None:
        """They need no end."""
