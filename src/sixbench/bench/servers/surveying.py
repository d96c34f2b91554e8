"""The survey before the first trial: the addresses of each server, the carrier of packets to it, and what it
offers; and after the last trial, whether a name has other addresses now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace

from ...agent import Agent
from ...agent.requests import ResolveRequest, VantageRequest
from ...agent.server_answers import Lookup, RouteAnswer, VantageAnswer
from ...model.addresses import is_private, why_no_single_host
from ...model.errors import AgentError, CapabilityError
from ...model.experiment import Combination, Experiment
from ...model.form import ABSENT
from ...model.quoting import listed
from ...model.server import DEFAULT_PORT, SERVER_COLUMN, Server, ServerUse
from ...model.survey import (
    LocalAddress,
    ServerAddresses,
    Survey,
    SurveyedServer,
    Vantage,
    family_name,
    path_kind,
)
from ...model.topology import Family
from ...model.workloads import WORKLOADS
from .paths import with_readings
from .probes import PROBERS
from .probes.dns import RECORDS, TIMEOUT_NS, judged, resolver_of
from .probes.prober import ProbedServer, waits_s

AT_ONCE = 16
"""Servers that are asked at the same time. The agent takes 32 requests."""
MOST_ADDRESSES = 8
"""Addresses of a name in one family that are tried."""
MOST_TOWARDS = 256
"""Addresses to which a request asks for routes (docs/protocol.md)."""
ALWAYS_NEAR = ("loopback", "link-local")
"""The kinds of addresses that say nothing of the vantage point."""
OFFERED = frozenset({"answered", "tls", "other-name"})
"""The outcomes of what is offered, though it may be faulty: an untrusted certificate, or that of a portal."""
HAS_ROUTE = ("route", "local")
"""The outcomes of a route by which packets go. `local`: the server is this machine."""
HAS_NO_ADDRESS = frozenset({"answered", "NOERROR", "NXDOMAIN"})
"""The outcomes of look-ups by which it is known that a name has no address."""
SERVICE = "HTTPS"
"""The type of record by which a name announces its protocols."""
CANNOT = "cannot"
"""The outcome of an attempt that this machine does not allow."""

_VANTAGE_S = 60.0


@dataclass(frozen=True, kw_only=True)
class _Resolved:
    server: Server
    lookups: dict[Family, Lookup | None]
    addresses: dict[Family, tuple[str, ...]]
    announced: tuple[str, ...] = ()


@contextmanager
def _threads() -> Iterator[ThreadPoolExecutor]:
    """Threads that ask servers. Nobody waits for them after an error or Ctrl-C: they end with the agent."""
    pool = ThreadPoolExecutor(max_workers=AT_ONCE)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def take_survey(agent: Agent, experiment: Experiment) -> Survey:
    """The vantage point and the servers of an experiment. Raises `AgentError`."""
    families = tuple(dict.fromkeys(path.family for path in experiment.paths))
    with _threads() as pool:
        resolved = list(pool.map(lambda server: _resolve(agent, server, experiment, families), experiment.servers))
        towards = [
            address for item in resolved for entry in item.addresses.values() for address in entry[:MOST_ADDRESSES]
        ]
        answer = _vantage(agent, list(dict.fromkeys(towards)), experiment.resolver)
        surveying = _Surveying(agent, experiment, answer)
        servers = tuple(pool.map(surveying.server, resolved))
        servers = tuple(pool.map(lambda server: with_readings(agent, server), servers))
    return Survey(vantage=vantage_of(answer), servers=servers, cannot=dict(sorted(surveying.cannot.items())))


def _vantage(agent: Agent, towards: Sequence[str], resolver: str | None) -> VantageAnswer:
    """The vantage point, with the routes to any number of addresses. Raises `AgentError`."""
    ends = [address for address in towards if why_no_single_host(address) is None]
    first, rest = ends[:MOST_TOWARDS], ends[MOST_TOWARDS:]
    answer = agent.answer(VantageRequest(towards=first or None, resolver=resolver_of(resolver)), timeout_s=_VANTAGE_S)
    routes = list(answer.routes)
    for begin in range(0, len(rest), MOST_TOWARDS):
        request = VantageRequest(towards=rest[begin : begin + MOST_TOWARDS], ask_nat64=False)
        routes += agent.answer(request, timeout_s=_VANTAGE_S).routes
    return answer.model_copy(update={"routes": routes})


def look_again(agent: Agent, experiment: Experiment, survey: Survey) -> Survey:
    """The survey with the addresses that the names of the servers have now, and what the paths to them are now. Raises
    `AgentError`."""
    families = tuple(dict.fromkeys(path.family for path in experiment.paths))
    named = {server.label: server for server in experiment.servers if not server.is_address}
    with _threads() as pool:
        read = list(pool.map(lambda server: with_readings(agent, server), survey.servers))
    servers = []
    for surveyed in read:
        server = named.get(surveyed.label)
        if server is None:
            servers.append(surveyed)
            continue
        now = _resolve(agent, server, experiment, families)
        changed = {
            family_name(family): replace(surveyed.families[family_name(family)], now=now.addresses.get(family, ()))
            for family, lookup in now.lookups.items()
            if lookup is not None and lookup.outcome == "answered"
        }
        servers.append(replace(surveyed, families=surveyed.families | changed))
    return replace(survey, servers=tuple(servers))


def vantage_of(answer: VantageAnswer) -> Vantage:
    """The vantage point, without what every machine has."""
    nat64 = answer.nat64
    return Vantage(
        addresses=tuple(
            LocalAddress(interface=item.interface, address=item.address, prefix_bits=item.prefix_bits, kind=item.kind)
            for item in answer.addresses
            if item.kind not in ALWAYS_NEAR
        ),
        resolvers=tuple(answer.resolvers or ()),
        nat64_prefixes=() if nat64 is ABSENT else tuple(nat64.prefixes or ()),
        proxies=tuple(name for name in answer.proxies or () if name.lower() != "no_proxy"),
    )


def _resolve(agent: Agent, server: Server, experiment: Experiment, families: Sequence[Family]) -> _Resolved:
    """All addresses of a server's name, in the order in which they came."""
    if server.is_address:
        named = server.addresses
        by_family: dict[Family, tuple[str, ...]] = {
            family: (named[family],) if family in named else () for family in families
        }
        return _Resolved(server=server, lookups=dict.fromkeys(families), addresses=by_family)
    request = ResolveRequest(
        name=server.name,
        types=[*(RECORDS[family] for family in families), SERVICE],
        resolver=resolver_of(experiment.resolver),
        timeout_ns=TIMEOUT_NS,
    )
    answers = {item.type: judged(item) for item in agent.answer(request, timeout_s=waits_s(1, TIMEOUT_NS)).answers}
    lookups = {family: answers.get(RECORDS[family]) for family in families}
    return _Resolved(
        server=server,
        lookups=lookups,
        # The records of a name are about its usual port (RFC 9460 section 9.1).
        announced=_announced(answers.get(SERVICE)) if server.port == DEFAULT_PORT else (),
        addresses={
            family: tuple(lookup.addresses or ()) if lookup is not None and lookup.outcome == "answered" else ()
            for family, lookup in lookups.items()
        },
    )


class _Surveying:
    """Asks servers what they offer."""

    def __init__(self, agent: Agent, experiment: Experiment, vantage: VantageAnswer) -> None:
        self._agent = agent
        self._experiment = experiment
        self._routes = {route.towards: route for route in vantage.routes}
        # Attempts tell the interface that has their address. That of the route is loopback to this machine itself.
        self._owners = {item.address: item.interface for item in reversed(vantage.addresses)}
        self._kinds = {item.interface: item.kind for item in vantage.interfaces or ()}
        self._prefixes = vantage_of(vantage).nat64_prefixes
        self.cannot: dict[str, str] = {}
        """The reasons why this machine cannot do a workload, by its name."""
        self._combinations: dict[str, list[Combination]] = {}
        for combination in experiment.combinations:
            self._combinations.setdefault(str(combination.levels[SERVER_COLUMN]), []).append(combination)

    def server(self, resolved: _Resolved) -> SurveyedServer:
        """The server as it answers now."""
        server = resolved.server
        combinations = self._combinations.get(server.label, [])
        tried = [address for addresses in resolved.addresses.values() for address in addresses[:MOST_ADDRESSES]]
        mine = server.mine or (bool(tried) and all(map(is_private, tried)))
        families = {
            family_name(family): self._family(family, resolved, combinations, mine) for family in resolved.addresses
        }
        offers: dict[str, dict[str, str]] = {}
        for combination in combinations:
            key = offer_key(combination)
            if key in offers or _use(combination).needs_name:
                continue
            offers[key] = {
                family_name(family): self._attempt(server, entry.address, family, combination, mine)
                for family in resolved.addresses
                if (entry := families[family_name(family)]).is_reachable and entry.address is not None
            }
        return SurveyedServer(
            label=server.label, families=families, offers=offers, announced=resolved.announced, mine=mine
        )

    def _family(
        self, family: Family, resolved: _Resolved, combinations: Sequence[Combination], mine: bool
    ) -> ServerAddresses:
        """The addresses of one family: those that were tried, and the first one that answered."""
        lookup, addresses = resolved.lookups[family], resolved.addresses[family]
        first = _first_attempt(combinations)
        outcomes: dict[str, str] = {}
        for address in addresses[:MOST_ADDRESSES] if first is not None and len(addresses) > 1 else ():
            if self._route(address).outcome in HAS_ROUTE:
                outcomes[address] = self._attempt(resolved.server, address, family, first, mine)
        pinned = next((address for address, outcome in outcomes.items() if outcome == "answered"), None)
        pinned = pinned or next(
            (item for item in addresses[:MOST_ADDRESSES] if self._route(item).outcome in HAS_ROUTE), None
        )
        pinned = pinned or (addresses[0] if addresses else None)
        route = None if pinned is None else self._route(pinned)
        source = None if route is None or route.outcome not in HAS_ROUTE else route.source
        return ServerAddresses(
            addresses=addresses,
            outcomes=outcomes,
            address=pinned,
            source=source,
            interface=None if source is None or route is None else self._owners.get(source, route.interface),
            kind="native"
            if pinned is None or route is None
            else path_kind(pinned, source, self._kinds.get(route.interface), self._prefixes),
            lookup=None if lookup is None else _lookup_outcome(lookup),
            lookup_ns=None if lookup is None else lookup.elapsed_ns,
        )

    def _route(self, address: str) -> RouteAnswer:
        return self._routes.get(address) or RouteAnswer(towards=address, outcome="no-route")

    def _attempt(
        self, server: Server, address: str, family: Family, combination: Combination | None, mine: bool
    ) -> str:
        assert combination is not None
        target = ProbedServer(
            server=server,
            address=address,
            family=family,
            mine=mine,
            resolver=self._experiment.resolver,
        )
        params = combination.workload.params | {"count": 1}
        try:
            probed = PROBERS[combination.workload.kind].ask(self._agent, target, params)
        except AgentError as error:
            if error.code != "system":
                raise
            self.cannot.setdefault(combination.workload.kind, str(error))
            return CANNOT
        if not probed.attempts:
            return "silence"
        attempt = probed.attempts[0]
        status = getattr(attempt, "status", None)
        return f"status {status}" if status is not None and attempt.outcome == "refused" else attempt.outcome


def _announced(lookup: Lookup | None) -> tuple[str, ...]:
    """The protocols that the HTTPS records of a name announce."""
    if lookup is None or lookup.https is ABSENT:
        return ()
    return tuple(dict.fromkeys(name for record in lookup.https for name in record.alpn or ()))


def _lookup_outcome(lookup: Lookup) -> str:
    """`answered`, the code of an answer without addresses, or what else became of the question."""
    if lookup.outcome == "answered":
        return "answered" if lookup.addresses else (lookup.rcode or "answered")
    return lookup.outcome if lookup.rcode is ABSENT else lookup.rcode


def _first_attempt(combinations: Sequence[Combination]) -> Combination | None:
    """The combination by which all addresses of a name are tried: the one that asks least of the server. None: those
    over datagrams and look-ups alone."""
    fit = [combination for combination in combinations if not _use(combination).needs_name]
    return min(fit, key=lambda combination: _use(combination).first, default=None)


def _use(combination: Combination) -> ServerUse:
    use = WORKLOADS[combination.workload.kind].to_servers
    assert use is not None, "no other workload goes to servers"
    return use


def offer_key(combination: Combination) -> str:
    """The name of what a server offers or not."""
    return WORKLOADS[combination.workload.kind].offer_name(combination.workload.params)


def with_offered_only(
    experiment: Experiment, surveys: Mapping[str | None, Survey]
) -> tuple[Experiment, dict[str | None, Survey]]:
    """The experiment without what no family of a server offers to a vantage, and over the families that lead to it from
    there; and the surveys with the reasons. Raises `CapabilityError` where nothing is left.

    Args:
        surveys: by vantage; that of None is this machine's.
    """
    left_out: dict[str | None, dict[str, dict[str, str]]] = {
        vantage: {server.label: {} for server in survey.servers} for vantage, survey in surveys.items()
    }
    kept = []
    for combination in experiment.combinations:
        host = experiment.vantage_of(combination)
        vantage = None if host is None else host.name
        surveyed = surveys[vantage].server(str(combination.levels[SERVER_COLUMN]))
        reason = _why_left_out(combination, surveyed, surveys[vantage].cannot)
        if reason is not None:
            left_out[vantage][surveyed.label][offer_key(combination)] = reason
        else:
            kept.append(_over_families(experiment, combination, surveyed))
    if not kept:
        raise CapabilityError("; ".join(_nothing(vantage, reasons) for vantage, reasons in left_out.items()))
    return replace(experiment, combinations=tuple(kept)), {
        vantage: replace(
            survey,
            servers=tuple(replace(server, left_out=left_out[vantage][server.label]) for server in survey.servers),
        )
        for vantage, survey in surveys.items()
    }


def _nothing(vantage: str | None, left_out: dict[str, dict[str, str]]) -> str:
    return f"no server can be measured from {vantage or 'here'}: {_reasons(left_out)}"


def _reasons(left_out: dict[str, dict[str, str]]) -> str:
    texts = [f"{label}: {listed(dict.fromkeys(reasons.values()))}" for label, reasons in left_out.items() if reasons]
    return "; ".join(texts[:5]) + ("; and others" if len(texts) > 5 else "")


def _why_left_out(combination: Combination, surveyed: SurveyedServer, cannot: Mapping[str, str]) -> str | None:
    """The reason why a combination has no trials, in words. None: it has some. A workload that a server answers in one
    family has trials in both."""
    if _use(combination).needs_name:
        is_reachable = any(entry.is_reachable for entry in surveyed.families.values())
        return None if is_reachable else _why_unreachable(surveyed)
    outcomes = surveyed.offers.get(offer_key(combination), {})
    if not outcomes:
        return _why_unreachable(surveyed)
    if not OFFERED.isdisjoint(outcomes.values()) or _is_the_last(combination, surveyed):
        return None
    if all(outcome == CANNOT for outcome in outcomes.values()):
        return cannot.get(combination.workload.kind, "this machine cannot do it")
    texts = [f"{outcome} over {family.replace('ipv', 'IPv')}" for family, outcome in outcomes.items()]
    return f"not offered: {' and '.join(texts)}"


def _is_the_last(combination: Combination, surveyed: SurveyedServer) -> bool:
    """True if a server answers nothing at all, and this is the workload that goes on to show it."""
    if any(outcome == "answered" for outcomes in surveyed.offers.values() for outcome in outcomes.values()):
        return False
    able = [key for key, outcomes in surveyed.offers.items() if set(outcomes.values()) - {CANNOT}]
    return bool(able) and min(able, key=_demand) == offer_key(combination)


def _demand(key: str) -> tuple[int, str]:
    """The demand of an offer on a server, for ordering."""
    use = WORKLOADS[key.partition(" ")[0]].to_servers
    return (use.first if use is not None else 0, key)


def _why_unreachable(surveyed: SurveyedServer) -> str:
    addresses = [address for entry in surveyed.families.values() for address in entry.addresses]
    wrong = dict.fromkeys(why_no_single_host(address) for address in addresses)
    if addresses and None not in wrong:
        return f"no address of its name leads to a server: {'; '.join(map(str, wrong))}"
    if not addresses:
        outcomes = dict.fromkeys(entry.lookup for entry in surveyed.families.values() if entry.lookup is not None)
        if not outcomes:
            return "it has no address"
        if HAS_NO_ADDRESS.isdisjoint(outcomes):
            return f"its name cannot be looked up here ({listed(outcomes)})"
        return f"its name has no address here ({listed(outcomes)})"
    return "this machine has no route to it"


def _over_families(experiment: Experiment, combination: Combination, surveyed: SurveyedServer) -> Combination:
    """The combination over the paths whose family leads to the server. Look-ups go over all."""
    if _use(combination).needs_name:
        return combination
    paths = experiment.paths_of(combination)
    over = [path.name for path in paths if surveyed.families[family_name(path.family)].is_reachable]
    return combination if len(over) == len(paths) else replace(combination, paths=tuple(over))
