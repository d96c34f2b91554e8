"""An experiment with servers in tables and sentences: the vantage point, the servers, and what does not work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..model.addresses import why_no_single_host
from ..model.server import SERVER_COLUMN
from ..model.survey import PathKind, PathMtuReading, RouteReading, ServerAddresses, Survey, SurveyedServer
from ..model.workloads import WORKLOADS, http
from ..store import Run
from . import words
from .once import once_a_run
from .tables import Table, left, without_empty

FAMILIES = {"ipv4": "IPv4", "ipv6": "IPv6"}

KINDS: Mapping[PathKind, str] = {
    "native": "native",
    "6to4": "6to4 (RFC 3056), not native",
    "teredo": "Teredo (RFC 4380), not native",
    "tunnel": "a tunnel over the other family, such as 6rd, not native",
    "nat64": "NAT64: the server has no IPv6 address of its own",
    "clat": "a CLAT (RFC 6877): IPv4 that crosses the network as IPv6",
    "vpn": "a VPN or a tunnel of a program",
}
_SHORT: Mapping[PathKind, str] = {
    "native": "native",
    "6to4": "6to4",
    "teredo": "Teredo",
    "tunnel": "a tunnel",
    "nat64": "NAT64",
    "clat": "a CLAT",
    "vpn": "a VPN",
}

MOST_SENTENCES = 200
MOST_BRIEF = 12
"""Servers that a terminal has room for."""
HTTP_3 = http.KIND.offer_name({http.HTTP_VERSION.column: "3"})
_UNANSWERED = {"ping": "echo requests unanswered", "dns": "look-ups unanswered", "quic-connect": "UDP unanswered"}
"""Words for silence, by workload; of those over TCP it is the SYN."""
_OUTCOMES = {
    "refused": "refused",
    "reset": "reset",
    "unreachable": "unreachable",
    "no-route": "not sent by this machine",
    "tls": "TLS failed",
    "other-name": "answered by a certificate of another name, as a portal does",
    "not-offered": "no common protocol",
    "closed": "closed without an answer",
    "protocol": "answered with something else",
}
_LISTS = ("attempts", "replies", "answers")
"""The keys of a result under which the attempts are."""


def survey_of(run: Run) -> Survey | None:
    """The survey before the first trial; None for runs without servers."""
    return run.manifest.environment.survey


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
        if not kinds:
            parts.append(f"{name} leads to no server from here")
        elif len(kinds) == 1:
            parts.append(f"{name} from here is {_SHORT[next(iter(kinds))]}")
        else:
            texts = [f"{_SHORT[kind]} to {words.count(count, 'server')}" for kind, count in kinds.most_common()]
            parts.append(f"{name} from here is {words.listing(texts)}")
    text = "; ".join(parts)
    if survey.vantage.proxies:
        text += f"; a proxy is named by {words.listing(survey.vantage.proxies)}, and was not used"
    return f"{text}."


def vantage_table(run: Run) -> Table | None:
    """A row for each family and kind of path: from where, and to how many servers."""
    survey = survey_of(run)
    if survey is None:
        return None
    counted: Counter[tuple[str, PathKind, str, str]] = Counter()
    for server in survey.servers:
        for family, entry in server.families.items():
            if entry.is_reachable:
                counted[family, entry.kind, entry.interface or "", entry.source or ""] += 1
    return without_empty(
        Table(
            title=vantage_sentence(survey),
            columns=left("family", "is", "interface", "from", "servers"),
            rows=[
                [FAMILIES[family], KINDS[kind], interface, source, str(count)]
                for (family, kind, interface, source), count in counted.items()
            ],
        )
    )


def servers_table(run: Run) -> Table | None:
    """A row for each server: its addresses, and what it does not offer."""
    survey = survey_of(run)
    if survey is None:
        return None
    return without_empty(
        Table(
            title="Servers",
            columns=left("server", "IPv4", "IPv6", "left out"),
            rows=[
                [
                    server.label,
                    *(_address_words(server.families.get(family)) for family in FAMILIES),
                    "; ".join(f"{name}: {why}" for name, why in server.left_out.items()),
                ]
                for server in survey.servers
            ],
        )
    )


def brief_table(run: Run) -> Table | None:
    """The table of servers for a terminal: of many servers, those alone that something was left out of."""
    table = servers_table(run)
    survey = survey_of(run)
    if table is None or survey is None or len(survey.servers) <= MOST_BRIEF:
        return table
    odd = {server.label for server in survey.servers if server.left_out}
    rows = [row for row in table.rows if row[0] in odd]
    return replace(table, title=f"Servers, {len(rows)} of {len(survey.servers)}", rows=rows) if rows else None


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
    sentences = fault_sentences(run)
    rows = [[sentence] for sentence in sentences[:MOST_SENTENCES]]
    if len(sentences) > MOST_SENTENCES:
        rows.append([f"{len(sentences) - MOST_SENTENCES} more"])
    return Table(title="What does not work", columns=left("finding"), rows=rows) if rows else None


def routes_table(run: Run) -> Table | None:
    """A row for each server and family whose path was read: its routers and its MTU, before the trials and after."""
    survey = survey_of(run)
    if survey is None:
        return None
    rows = [
        [
            server.label,
            FAMILIES[family],
            _both([str(len(reading.hops)) for reading in entry.routes]),
            _both([reading.ended for reading in entry.routes]),
            str(_differing_hops(entry.routes)) if len(entry.routes) > 1 else "",
            str(sum(len(hop) > 1 for hop in entry.routes[0].hops)) if entry.routes else "",
            _both([_mtu_words(reading) for reading in entry.path_mtus]),
            next((reading.packet_too_big for reading in entry.path_mtus if reading.packet_too_big), ""),
        ]
        for server in survey.servers
        for family, entry in server.families.items()
        if entry.routes or entry.path_mtus
    ]
    columns = left(
        *("server", "family", "hops", "ended", "hops that changed", "hops of several routers"),
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


@dataclass(kw_only=True)
class _Attempts:
    """The attempts of a workload at a server over a path."""

    outcomes: Counter[str] = field(default_factory=Counter)
    details: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return sum(self.outcomes.values())

    @property
    def answered(self) -> int:
        return self.outcomes["answered"]


_Key = tuple[str, str, str]
"""A server, a workload (of HTTP with the version) and a family."""


@once_a_run
def fault_sentences(run: Run) -> list[str]:
    """Sentences that can be forwarded to who runs a server or the network to it, each about one thing."""
    survey = survey_of(run)
    if survey is None:
        return []
    attempts = _attempts(run)
    sentences: list[str] = []
    for server in survey.servers:
        sentences += _of_announced(server)
        for family, entry in server.families.items():
            sentences += _of_addresses(server.label, family, entry)
            sentences += _of_unsent(server, family, entry)
        for (label, workload, family), seen in attempts.items():
            if label == server.label and 2 * seen.answered < seen.total:
                sentences.append(_of_attempts(server, workload, family, seen, attempts))
    return sentences


def _attempts(run: Run) -> dict[_Key, _Attempts]:
    """The attempts of all trials that were not failures of sixbench's own."""
    families = {path.name: f"ipv{path.family}" for path in run.manifest.experiment.paths}
    by_key: dict[_Key, _Attempts] = {}
    for trial in run.trials:
        label = trial.levels.get(SERVER_COLUMN)
        if trial.status != "ok" or not isinstance(label, str) or trial.path not in families:
            continue
        workload = WORKLOADS[trial.workload].offer_name(trial.params) if trial.workload in WORKLOADS else trial.workload
        seen = by_key.setdefault((label, workload, families[trial.path]), _Attempts())
        for attempt in _entries(trial.client):
            outcome = str(attempt.get("outcome"))
            status = attempt.get("status")
            if status in (429, 503):
                outcome = "refused"
            seen.outcomes[outcome] += 1
            detail = _detail(attempt)
            if detail and outcome != "answered":
                seen.details[detail] += 1
    return by_key


def _entries(result: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for key in _LISTS:
        entries = result.get(key)
        if isinstance(entries, list):
            yield from (entry for entry in entries if isinstance(entry, Mapping))


def _detail(attempt: Mapping[str, Any]) -> str:
    icmp = attempt.get("icmp")
    if isinstance(icmp, Mapping):
        sender = f" from {icmp['from']}" if isinstance(icmp.get("from"), str) else ""
        return f"ICMP type {icmp.get('type')} code {icmp.get('code')}{sender}"
    reason = attempt.get("reason")
    return words.one_line(reason) if isinstance(reason, str) else ""


def _of_attempts(
    server: SurveyedServer, workload: str, family: str, seen: _Attempts, every: Mapping[_Key, _Attempts]
) -> str:
    """Such as `IPv6 to www.example.org fails by tcp-connect: SYN unanswered in 20 of 20, while ping over IPv6 and
    tcp-connect over IPv4 answer`."""
    failures = [(outcome, count) for outcome, count in seen.outcomes.most_common() if outcome != "answered"]
    texts = [f"{_outcome_words(workload, outcome)} in {count} of {seen.total}" for outcome, count in failures]
    detail = f" ({seen.details.most_common(1)[0][0]})" if seen.details else ""
    working = [
        f"{name} over {FAMILIES[other]}"
        for (label, name, other), attempts in every.items()
        if label == server.label
        and (name == workload or other == family)
        and 2 * attempts.answered >= attempts.total > 0
    ]
    verb = "answers" if len(working) == 1 else "answer"
    contrast = f", while {words.listing(working)} {verb}" if working else ", and nothing else answers"
    address = server.families[family].address
    at = "" if address is None or address == server.label else f" ({address})"
    return f"{FAMILIES[family]} to {server.label}{at} fails by {workload}: {words.listing(texts)}{detail}{contrast}."


def _outcome_words(workload: str, outcome: str) -> str:
    if outcome == "silence":
        name = workload.partition(" ")[0]
        if workload == HTTP_3:
            return "UDP unanswered"
        return _UNANSWERED.get(name, "SYN or what follows it unanswered" if name != "tcp-connect" else "SYN unanswered")
    return _OUTCOMES.get(outcome, outcome)


def _of_addresses(label: str, family: str, entry: ServerAddresses) -> list[str]:
    """Sentences on the name and the addresses of a server in one family."""
    name, sentences = FAMILIES[family], []
    record = {"ipv4": "A", "ipv6": "AAAA"}[family]
    if entry.lookup == "silence":
        sentences.append(f"The look-up of the {record} records of {label} is not answered.")
    elif entry.lookup not in (None, "answered", "NOERROR", "NXDOMAIN"):
        sentences.append(f"The look-up of the {record} records of {label} fails: {entry.lookup}.")
    if entry.kind == "nat64":
        sentences.append(
            f"{label} has no IPv6 address of its own: a DNS64 made {entry.address}, so that its IPv6 is IPv4 by NAT64."
        )
    wrong = None if entry.address is None else why_no_single_host(entry.address)
    if wrong is not None:
        sentences.append(
            f"The {record} records of {label} lead to no server: {wrong}. A resolver that filters names answers so."
        )
    elif entry.address is not None and entry.source is None:
        sentences.append(f"This machine has no route to {label} over {name} ({entry.address}).")
    silent = {address: outcome for address, outcome in entry.outcomes.items() if outcome != "answered"}
    if silent and len(silent) < len(entry.outcomes):
        texts = [f"{address} ({outcome})" for address, outcome in silent.items()]
        verb = "does" if len(silent) == 1 else "do"
        sentences.append(
            f"{len(silent)} of {len(entry.outcomes)} {name} addresses of {label} {verb} not answer: "
            f"{words.listing(texts)}. The trials went to {entry.address}."
        )
    if entry.now is not None and entry.address is not None and entry.address not in entry.now:
        now = f"other {name} addresses" if entry.now else f"no {name} address any more"
        listing = f" ({words.listing(entry.now)})" if entry.now else ""
        sentences.append(f"{label} has {now} at the end of the run{listing}; all trials went to {entry.address}.")
    sentences += _of_path_mtu(label, name, entry)
    return sentences


def _of_unsent(server: SurveyedServer, family: str, entry: ServerAddresses) -> list[str]:
    """That this machine has a route, and sends nothing: its own filter, which is no fault of the server."""
    unsent = [name for name, outcomes in server.offers.items() if outcomes.get(family) == "no-route"]
    if not unsent:
        return []
    to = f"{server.label} over {FAMILIES[family]} ({entry.address})"
    return [
        f"This machine sends nothing to {to} by {words.listing(unsent)}, though it has a route: see its own filters."
    ]


def _of_announced(server: SurveyedServer) -> list[str]:
    """That HTTP/3 is announced, and no family answers it."""
    if "h3" not in server.announced or HTTP_3 not in server.left_out:
        return []
    outcomes = server.offers.get(HTTP_3, {})
    texts = [f"{outcome} over {FAMILIES[family]}" for family, outcome in outcomes.items() if family in FAMILIES]
    return [
        f"{server.label} announces HTTP/3 in its HTTPS record, and UDP does not lead to it: {words.listing(texts)}."
    ]


def _of_path_mtu(label: str, name: str, entry: ServerAddresses) -> list[str]:
    for reading in entry.path_mtus:
        if reading.packet_too_big == "never" and reading.mtu_bytes is not None:
            return [
                f"The path MTU to {label} over {name} is {reading.mtu_bytes} bytes, less than that of the interface, "
                "and no Packet Too Big comes back: connections hang where neither end probes."
            ]
    return []
