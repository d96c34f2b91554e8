"""An experiment with servers in tables and sentences: the vantage points, the servers, and the paths to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ..model.survey import PathKind, PathMtuReading, RouteReading, ServerAddresses, Survey, SurveyedServer
from ..store import Run
from . import words
from .server_faults import DNS, FAMILIES, KNOWN_LOOKUPS, attempts_by_server, faults_by_vantage, surveys_of
from .tables import Table, left, without_empty

KINDS: Mapping[PathKind, str] = {
    "native": "native as far as this machine shows",
    "6to4": "6to4 (RFC 3056), not native",
    "teredo": "Teredo (RFC 4380), not native",
    "tunnel": "a tunnel, such as that of 6rd, not native",
    "ppp": "a link by PPP, such as PPPoE or a VPN",
    "nat64": "NAT64: the server has no IPv6 address of its own",
    "clat": "a CLAT (RFC 6877): IPv4 that crosses the network as IPv6",
    "vpn": "a VPN or a tunnel of a program",
}
_SHORT: Mapping[PathKind, str] = {
    "native": "native",
    "6to4": "6to4",
    "teredo": "Teredo",
    "tunnel": "a tunnel",
    "ppp": "a link by PPP",
    "nat64": "NAT64",
    "clat": "a CLAT",
    "vpn": "a VPN",
}

MOST_SENTENCES = 200
MOST_BRIEF = 12
"""Servers that a terminal has room for."""
_VANTAGE = "vantage"
"""The heading of the column that names the machine that was measured from, where a run has several."""


def _heads(run: Run) -> tuple[str, ...]:
    """The first heads of tables: that of vantages, where there are any."""
    return (_VANTAGE,) if run.manifest.experiment.vantages else ()


def _named(vantage: str | None) -> list[str]:
    """The cells beneath them."""
    return [] if vantage is None else [vantage]


def vantage_sentence(survey: Survey) -> str:
    """The kinds of IPv4 and IPv6 from here, such as `IPv6 from here is native; IPv4 is native.`"""
    parts = []
    for family, name in reversed(FAMILIES.items()):
        kinds = Counter(
            entry.kind
            for server in survey.servers
            if (entry := server.families.get(family)) is not None and entry.is_reachable
        )
        if not any(family in server.families for server in survey.servers):
            continue
        if not kinds and not any(entry.addresses for entry in _entries_of(survey, family)):
            is_known = all(entry.lookup in KNOWN_LOOKUPS and entry.lookup for entry in _entries_of(survey, family))
            parts.append(f"no server has an {name} address" if is_known else f"no {name} address of a server was found")
        elif not kinds:
            parts.append(f"{name} leads to no server from here")
        elif len(kinds) == 1:
            parts.append(f"{name} from here is {_SHORT[next(iter(kinds))]}")
        else:
            texts = [f"{_SHORT[kind]} to {words.count(count, 'server')}" for kind, count in kinds.most_common()]
            parts.append(f"{name} from here is {words.listing(texts)}")
    proxies = [variable for variable in survey.vantage.proxies if variable.lower() != "no_proxy"]
    if proxies:
        parts.append(f"a proxy is named by {words.listing(proxies)}, and was not used")
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _entries_of(survey: Survey, family: str) -> list[ServerAddresses]:
    return [server.families[family] for server in survey.servers if family in server.families]


def coverage_sentence(survey: Survey) -> str:
    """The families by which the servers are reached, such as `Of 40 servers, 36 are reached by both families, 3 by IPv4
    alone and 1 by neither.`: comparisons of times have no row for the others. Empty where it is all of them, or one."""
    counted = Counter(
        tuple(family for family in FAMILIES if family in server.families and server.families[family].is_reachable)
        for server in survey.servers
    )
    number = len(survey.servers)
    if number < 2 or len(counted) < 2 or not all(_entries_of(survey, family) for family in FAMILIES):
        return ""
    names = {("ipv4", "ipv6"): "both families", ("ipv4",): "IPv4 alone", ("ipv6",): "IPv6 alone", (): "neither"}
    texts = [f"{counted[families]} by {name}" for families, name in names.items() if counted[families]]
    texts[0] = texts[0].replace(" by", " is reached by" if texts[0].startswith("1 ") else " are reached by", 1)
    return f"Of {number} servers, {words.listing(texts)}."


def silent_sentence(run: Run, vantage: str | None = None) -> str:
    """The number of servers that a family has no answer of by some workload: of these there is no time to compare, and
    a count of servers that are slower does not have them. Empty where there is one server, or none is so."""
    survey = surveys_of(run).get(vantage)
    if survey is None or len(survey.servers) < 2:
        return ""
    silent = sum(
        any(name != DNS and seen.total and not seen.answered for (name, _), seen in of_server.items())
        for (seen_from, _), of_server in attempts_by_server(run).items()
        if seen_from == vantage
    )
    verb = "has" if silent == 1 else "have"
    return (
        f"{words.count(silent, 'server')} {verb} no times to compare by some workload, as a family fails."
        if silent
        else ""
    )


def vantage_table(run: Run) -> Table | None:
    """A row for each vantage, family and kind of path: from where, and to how many servers."""
    surveys = surveys_of(run)
    if not surveys:
        return None
    vantages: dict[str, list[str]] = {}
    counted: Counter[tuple[str | None, str, PathKind, str, str]] = Counter()
    for vantage, survey in surveys.items():
        texts = (vantage_sentence(survey), coverage_sentence(survey), silent_sentence(run, vantage))
        vantages.setdefault(" ".join(filter(None, texts)), []).append(vantage or "")
        for server in survey.servers:
            for family, entry in server.families.items():
                if entry.is_reachable:
                    counted[vantage, family, entry.kind, entry.interface or "", entry.source or ""] += 1
    return without_empty(
        Table(
            title=" ".join(
                f"At {words.listing(names)}: {text}" if any(names) else text for text, names in vantages.items()
            ),
            columns=left(*_heads(run), "family", "is", "interface", "from", "servers"),
            rows=[
                [*_named(vantage), FAMILIES[family], KINDS[kind], interface, source, str(count)]
                for (vantage, family, kind, interface, source), count in counted.items()
            ],
        )
    )


def servers_table(run: Run) -> Table | None:
    """A row for each server as each vantage sees it: its addresses, and what it does not offer."""
    surveys = surveys_of(run)
    if not surveys:
        return None
    return _table_of_servers(
        run, "Servers", [(vantage, server) for vantage, survey in surveys.items() for server in survey.servers]
    )


def _table_of_servers(run: Run, title: str, seen: Sequence[tuple[str | None, SurveyedServer]]) -> Table:
    return without_empty(
        Table(
            title=title,
            columns=left(*_heads(run), "server", "IPv4", "IPv6", "left out"),
            rows=[
                [
                    *_named(vantage),
                    server.label,
                    *(_address_words(server.families.get(family)) for family in FAMILIES),
                    _left_out_words(server),
                ]
                for vantage, server in seen
            ],
        )
    )


def _left_out_words(server: SurveyedServer) -> str:
    """Each reason once, behind the workloads that it leaves out."""
    by_reason: dict[str, list[str]] = {}
    for name, why in server.left_out.items():
        by_reason.setdefault(why, []).append(name)
    return "; ".join(f"{words.listing(names)}: {why}" for why, names in by_reason.items())


def brief_table(run: Run) -> Table | None:
    """The table of servers for a terminal: of many servers, those alone that something was left out of."""
    seen = [(vantage, server) for vantage, survey in surveys_of(run).items() for server in survey.servers]
    if len(seen) <= MOST_BRIEF:
        return servers_table(run)
    odd = [(vantage, server) for vantage, server in seen if server.left_out]
    return _table_of_servers(run, f"Servers, {len(odd)} of {len(seen)}", odd) if odd else None


def _address_words(entry: ServerAddresses | None) -> str:
    if entry is None:
        return ""
    if entry.address is None:
        return f"none ({entry.lookup})" if entry.lookup not in (None, "answered") else "none"
    more = len(entry.addresses) - 1
    text = entry.address if entry.source is not None else f"{entry.address} (no route)"
    return f"{text} and {more} more" if more > 0 else text


def faults_table(run: Run) -> Table | None:
    """A row for each thing that does not work."""
    faults = [
        [*_named(vantage), sentence] for vantage, sentences in faults_by_vantage(run).items() for sentence in sentences
    ]
    rows = faults[:MOST_SENTENCES]
    if len(faults) > MOST_SENTENCES:
        rows.append([*("" for _ in _heads(run)), f"{len(faults) - MOST_SENTENCES} more"])
    return Table(title="What does not work", columns=left(*_heads(run), "finding"), rows=rows) if rows else None


def routes_table(run: Run) -> Table | None:
    """A row for each server and family whose path was read: its routers and its MTU, before the trials and after."""
    rows = [
        [
            *_named(vantage),
            server.label,
            FAMILIES[family],
            _both([str(len(reading.hops)) for reading in entry.routes]),
            _both([reading.ended for reading in entry.routes]),
            str(_differing_hops(entry.routes)) if len(entry.routes) > 1 else "",
            str(sum(len(hop) > 1 for hop in entry.routes[0].hops)) if entry.routes else "",
            _both([_mtu_words(reading) for reading in entry.path_mtus]),
            next((reading.packet_too_big for reading in entry.path_mtus if reading.packet_too_big), ""),
        ]
        for vantage, survey in surveys_of(run).items()
        for server in survey.servers
        for family, entry in server.families.items()
        if entry.routes or entry.path_mtus
    ]
    columns = left(
        *(*_heads(run), "server", "family", "hops", "ended", "hops that changed", "hops of several routers"),
        *("path MTU", "Packet Too Big"),
    )
    return without_empty(Table(title="Paths to the servers", columns=columns, rows=rows)) if rows else None


def _both(texts: Sequence[str]) -> str:
    """The values before the trials and after them, once where they are the same."""
    return ", then ".join(dict.fromkeys(texts)) if len(set(texts)) > 1 else next(iter(texts), "")


def _mtu_words(reading: PathMtuReading) -> str:
    return f"{reading.mtu_bytes} (by {reading.by})" if reading.mtu_bytes is not None else reading.outcome


def _differing_hops(readings: Sequence[RouteReading]) -> int:
    """Number of hop limits at which the routers before and after have nothing in common, of those that answered both
    times."""
    first, last = readings[0], readings[-1]
    return sum(
        bool(before and after) and not set(before) & set(after)
        for before, after in zip(first.hops, last.hops, strict=False)
    )
