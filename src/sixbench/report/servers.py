"""An experiment with servers in tables and sentences: the vantage point, the servers, and what does not work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..model.addresses import why_no_single_host
from ..model.parameter import Params
from ..model.server import SERVER_COLUMN, TOO_MANY, UNAVAILABLE, VANTAGE_COLUMN
from ..model.survey import PathKind, PathMtuReading, RouteReading, ServerAddresses, Survey, SurveyedServer
from ..model.workloads import WORKLOADS, dns, http
from ..store import Run
from . import words
from .once import once_a_run
from .tables import Table, left, without_empty

FAMILIES = {"ipv4": "IPv4", "ipv6": "IPv6"}

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

KNOWN_LOOKUPS = (None, "answered", "NOERROR", "NXDOMAIN")
"""The outcomes of look-ups that tell whether a name has addresses. None: there was no name."""
MOST_SENTENCES = 200
MOST_BRIEF = 12
"""Servers that a terminal has room for."""
HTTP_3 = http.KIND.offer_name({http.HTTP_VERSION.column: "3"})
DNS = dns.KIND.name
FAMILY_RECORDS = {"ipv4": "A", "ipv6": "AAAA"}
ANSWERED, SILENCE, OTHER_NAME = "answered", "silence", "other-name"
AFTER_CONNECT, AFTER_HANDSHAKE = "silence after the connection", "silence after the handshake"
MOST_CHARACTERS = 300
"""Characters of a text that a record has from elsewhere."""
MOST_OUTCOMES = 6
_UNANSWERED = {"ping": "echo requests unanswered", "quic-connect": "UDP unanswered"}
"""Words for silence, by workload; of those over TCP it is the SYN."""
_LOOK_UPS = {
    SILENCE: "unanswered",
    "protocol": "answered with an error",
    "refused": "refused",
    "no-route": "not sent by this machine",
}
_OUTCOMES = {
    "refused": "refused",
    "reset": "reset",
    "unreachable": "unreachable",
    "no-route": "not sent by this machine",
    "tls": "TLS failed",
    OTHER_NAME: "answered by a certificate of another name, as portals have,",
    AFTER_CONNECT: "TCP connected and then nothing came",
    AFTER_HANDSHAKE: "nothing came after the handshake",
    "not-offered": "no common protocol",
    "closed": "closed without an answer",
    "protocol": "answered with something else",
}
_LISTS = ("attempts", "replies", "answers")
"""The keys of a result under which the attempts are."""


def surveys_of(run: Run) -> dict[str | None, Survey]:
    """The surveys by vantage; that of None is this machine's. Empty for runs without servers."""
    return run.manifest.environment.all_surveys


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
        for (seen_from, _), of_server in _attempts(run).items()
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


@dataclass(kw_only=True)
class _Attempts:
    """The attempts of a workload at a server over a path, by what became of them."""

    outcomes: Counter[str] = field(default_factory=Counter)
    details: dict[str, Counter[str]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(self.outcomes.values())

    @property
    def answered(self) -> int:
        return self.outcomes[ANSWERED]

    @property
    def has_failed(self) -> bool:
        """True if more failed than were answered."""
        return 2 * self.answered < self.total

    def note(self, outcome: str, detail: str) -> None:
        """Counts an attempt."""
        self.outcomes[outcome] += 1
        if detail and outcome != ANSWERED:
            self.details.setdefault(outcome, Counter())[detail] += 1


_Key = tuple[str, str]
"""A workload (of HTTP with the version) and a family."""


def faults_by_vantage(run: Run) -> dict[str | None, list[str]]:
    """The sentences of `faults_of_servers` by vantage."""
    faults: dict[str | None, list[str]] = {vantage: [] for vantage in surveys_of(run)}
    for (vantage, _), sentences in faults_of_servers(run).items():
        faults[vantage] += sentences
    return faults


@once_a_run
def faults_of_servers(run: Run) -> dict[tuple[str | None, str], list[str]]:
    """Sentences that can be forwarded to who runs a server or the network to it, each about one thing, by vantage and
    server."""
    attempts = _attempts(run)
    return {
        (vantage, server.label): _fault_sentences(server, attempts.get((vantage, server.label), {}))
        for vantage, survey in surveys_of(run).items()
        for server in survey.servers
    }


def _fault_sentences(server: SurveyedServer, of_server: Mapping[_Key, _Attempts]) -> list[str]:
    sentences = _of_announced(server)
    for family, entry in server.families.items():
        sentences += _of_addresses(server.label, family, entry)
        sentences += _of_unsent(server, family, entry)
    sentences += [
        _of_lookups(server, family, of_server) if workload == DNS else _of_attempts(server, workload, family, of_server)
        for (workload, family), seen in of_server.items()
        if seen.has_failed and family in server.families
    ]
    return sentences


@once_a_run
def _attempts(run: Run) -> dict[tuple[str | None, str], dict[_Key, _Attempts]]:
    """The attempts of all trials that are valid, by vantage and server, in the order of the experiment."""
    experiment = run.manifest.experiment
    families = {path.name: f"ipv{path.family}" for path in experiment.paths}
    by_server: dict[tuple[str | None, str], dict[_Key, _Attempts]] = {}
    for trial in run.trials:
        label = trial.levels.get(SERVER_COLUMN)
        if trial.status != "ok" or not isinstance(label, str) or trial.path not in families:
            continue
        key = _offer_name(trial.workload, trial.params), families[trial.path]
        vantage = trial.levels.get(VANTAGE_COLUMN) if experiment.vantages else None
        place = (None if vantage is None else str(vantage), label)
        seen = by_server.setdefault(place, {}).setdefault(key, _Attempts())
        for attempt in _entries(trial.client):
            seen.note(_outcome(attempt), _detail(attempt, families[trial.path]))
    names = (_offer_name(item.workload.kind, item.workload.params) for item in experiment.combinations)
    order = {name: place for place, name in enumerate(dict.fromkeys(names))}
    return {
        place: dict(sorted(of_server.items(), key=lambda item: (order.get(item[0][0], len(order)), item[0])))
        for place, of_server in by_server.items()
    }


def _offer_name(workload: str, params: Params) -> str:
    return WORKLOADS[workload].offer_name(params) if workload in WORKLOADS else workload


def _entries(result: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for key in _LISTS:
        entries = result.get(key)
        if isinstance(entries, list):
            yield from (entry for entry in entries if isinstance(entry, Mapping))


def _outcome(attempt: Mapping[str, Any]) -> str:
    """The outcome of an attempt: also the status by which a server asks to be left alone, and how far silence came."""
    outcome = words.one_line(str(attempt.get("outcome"))[:MOST_CHARACTERS])
    status = attempt.get("status")
    if outcome == ANSWERED and type(status) is int and status in (TOO_MANY, UNAVAILABLE):
        return f"status {status}"
    if outcome == SILENCE and type(attempt.get("handshake_ns")) is int:
        return AFTER_HANDSHAKE
    return AFTER_CONNECT if outcome == SILENCE and type(attempt.get("connect_ns")) is int else outcome


def _detail(attempt: Mapping[str, Any], family: str) -> str:
    icmp = attempt.get("icmp")
    if isinstance(icmp, Mapping) and type(icmp.get("type")) is int and type(icmp.get("code")) is int:
        sender = str(icmp.get("from", ""))[:MOST_CHARACTERS]
        is_ipv6 = ":" in sender or (family == "ipv6" and "." not in sender)
        text = f"ICMP{'v6' if is_ipv6 else ''} type {icmp['type']} code {icmp['code']}"
        return words.one_line(f"{text} from {sender}" if sender else text)
    reason = attempt.get("reason")
    return words.one_line(reason[:MOST_CHARACTERS]) if isinstance(reason, str) else ""


def _of_attempts(server: SurveyedServer, workload: str, family: str, of_server: Mapping[_Key, _Attempts]) -> str:
    """Such as `IPv6 to www.example.org fails by tcp-connect: SYN unanswered in 20 of 20, while ping over IPv6 and
    tcp-connect over IPv4 answer`."""
    entry = server.families[family]
    others = {key: seen for key, seen in of_server.items() if key != (workload, family) and key[0] != DNS}
    working = [key for key, seen in others.items() if seen.total and not seen.has_failed]
    near = [key for key in working if workload == key[0] or family == key[1]] or working
    verb = "answers" if len(near) == 1 else "answer"
    contrast = ", and nothing else answers" if any(seen.total for seen in others.values()) else ""
    if near:
        contrast = f", while {words.listing(f'{name} over {FAMILIES[other]}' for name, other in near)} {verb}"
    at = "" if entry.address is None or entry.address == server.label else f" ({entry.address})"
    texts = _failures(of_server[workload, family], lambda outcome: _outcome_words(workload, outcome, entry))
    return f"{FAMILIES[family]} to {server.label}{at} fails by {workload}: {texts}{contrast}."


def _of_lookups(server: SurveyedServer, family: str, of_server: Mapping[_Key, _Attempts]) -> str:
    """Such as `Look-ups of the AAAA records of www.example.org fail: unanswered in 20 of 20, while those of its A
    records are answered`. They go to a resolver, and not to the server."""
    working = [
        FAMILY_RECORDS[other] for (name, other), seen in of_server.items() if name == DNS and not seen.has_failed
    ]
    contrast = f", while those of its {words.listing(working)} records are answered" if working else ""
    texts = _failures(of_server[DNS, family], lambda outcome: _LOOK_UPS.get(outcome, outcome))
    return f"Look-ups of the {FAMILY_RECORDS[family]} records of {server.label} fail: {texts}{contrast}."


def _failures(seen: _Attempts, in_words: Callable[[str], str]) -> str:
    """Such as `SYN unanswered in 18 of 20 and refused in 1 of 20`."""
    texts = []
    for outcome, count in seen.outcomes.most_common(MOST_OUTCOMES):
        if outcome != ANSWERED:
            details = seen.details.get(outcome)
            detail = f" ({details.most_common(1)[0][0]})" if details else ""
            texts.append(f"{in_words(outcome)} in {count} of {seen.total}{detail}")
    return words.listing(texts)


def _outcome_words(workload: str, outcome: str, entry: ServerAddresses) -> str:
    if outcome == SILENCE:
        name = workload.partition(" ")[0]
        return "UDP unanswered" if workload == HTTP_3 else _UNANSWERED.get(name, "SYN unanswered")
    if outcome == OTHER_NAME and entry.lookup is None:
        return "answered by a certificate that does not have its address"
    return _OUTCOMES.get(outcome, f"answered with {outcome}" if outcome.startswith("status ") else outcome)


def _of_addresses(label: str, family: str, entry: ServerAddresses) -> list[str]:
    """Sentences on the name and the addresses of a server in one family."""
    name, sentences = FAMILIES[family], []
    record = FAMILY_RECORDS[family]
    if entry.lookup == "silence":
        sentences.append(f"The look-up of the {record} records of {label} is not answered.")
    elif entry.lookup not in KNOWN_LOOKUPS:
        because = _LOOK_UPS.get(entry.lookup, entry.lookup)
        sentences.append(f"The look-up of the {record} records of {label} fails: {because}.")
    if entry.kind == "nat64" and entry.lookup is None:
        sentences.append(f"{entry.address} of {label} is an address of a NAT64, so that its IPv6 is IPv4 by NAT64.")
    elif entry.kind == "nat64":
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
        tried = (
            f" (of {len(entry.addresses)} addresses not all were tried)"
            if len(entry.outcomes) < len(entry.addresses)
            else ""
        )
        sentences.append(
            f"{len(silent)} of {len(entry.outcomes)} {name} addresses of {label} {verb} not answer: "
            f"{words.listing(texts)}. The trials went to {entry.address}{tried}."
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
    outcomes = {family: outcome for family, outcome in server.offers.get(HTTP_3, {}).items() if family in FAMILIES}
    if not outcomes or "cannot" in outcomes.values() or "no-route" in outcomes.values():
        return []
    texts = [f"{outcome} over {FAMILIES[family]}" for family, outcome in outcomes.items()]
    is_lost = set(outcomes.values()) <= {SILENCE, "unreachable", "refused"}
    how = "UDP does not lead to it" if is_lost else "does not answer by it"
    return [f"{server.label} announces HTTP/3 in its HTTPS record, and {how}: {words.listing(texts)}."]


def _of_path_mtu(label: str, name: str, entry: ServerAddresses) -> list[str]:
    for reading in entry.path_mtus:
        if reading.packet_too_big == "never" and reading.mtu_bytes is not None:
            back = " It may be the way back: answers to echo requests are as long." if reading.by == "icmp" else ""
            return [
                f"The path MTU to {label} over {name} is {reading.mtu_bytes} bytes, less than that of the interface, "
                "and no Packet Too Big comes back: connections hang unless an end probes or a router lowers the MSS."
                f"{back}"
            ]
    return []
