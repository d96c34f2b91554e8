"""Sentences on what does not work at servers of others, for who runs them or the network to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..model.addresses import why_no_single_host
from ..model.parameter import Params
from ..model.server import SERVER_COLUMN, TOO_MANY, UNAVAILABLE, VANTAGE_COLUMN
from ..model.survey import ServerAddresses, Survey, SurveyedServer
from ..model.workloads import WORKLOADS, dns, http
from ..store import Run
from . import words
from .once import once_a_run

FAMILIES = {"ipv4": "IPv4", "ipv6": "IPv6"}
KNOWN_LOOKUPS = (None, "answered", "NOERROR", "NXDOMAIN")
"""The outcomes of look-ups that tell whether a name has addresses. None: there was no name."""
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


@dataclass(kw_only=True)
class Attempts:
    """The attempts of a workload at a server over a path, by what became of them."""

    outcomes: Counter[str] = field(default_factory=Counter)
    details: dict[str, Counter[str]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Number of attempts."""
        return sum(self.outcomes.values())

    @property
    def answered(self) -> int:
        """Number of attempts that did what was asked."""
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
    attempts = attempts_by_server(run)
    return {
        (vantage, server.label): _fault_sentences(server, attempts.get((vantage, server.label), {}))
        for vantage, survey in surveys_of(run).items()
        for server in survey.servers
    }


def _fault_sentences(server: SurveyedServer, of_server: Mapping[_Key, Attempts]) -> list[str]:
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
def attempts_by_server(run: Run) -> dict[tuple[str | None, str], dict[_Key, Attempts]]:
    """The attempts of all trials that are valid, by vantage and server, in the order of the experiment."""
    experiment = run.manifest.experiment
    families = {path.name: f"ipv{path.family}" for path in experiment.paths}
    by_server: dict[tuple[str | None, str], dict[_Key, Attempts]] = {}
    for trial in run.trials:
        label = trial.levels.get(SERVER_COLUMN)
        if trial.status != "ok" or not isinstance(label, str) or trial.path not in families:
            continue
        key = _offer_name(trial.workload, trial.params), families[trial.path]
        vantage = trial.levels.get(VANTAGE_COLUMN) if experiment.vantages else None
        place = (None if vantage is None else str(vantage), label)
        seen = by_server.setdefault(place, {}).setdefault(key, Attempts())
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


def _of_attempts(server: SurveyedServer, workload: str, family: str, of_server: Mapping[_Key, Attempts]) -> str:
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


def _of_lookups(server: SurveyedServer, family: str, of_server: Mapping[_Key, Attempts]) -> str:
    """Such as `Look-ups of the AAAA records of www.example.org fail: unanswered in 20 of 20, while those of its A
    records are answered`. They go to a resolver, and not to the server."""
    working = [
        FAMILY_RECORDS[other] for (name, other), seen in of_server.items() if name == DNS and not seen.has_failed
    ]
    contrast = f", while those of its {words.listing(working)} records are answered" if working else ""
    texts = _failures(of_server[DNS, family], lambda outcome: _LOOK_UPS.get(outcome, outcome))
    return f"Look-ups of the {FAMILY_RECORDS[family]} records of {server.label} fail: {texts}{contrast}."


def _failures(seen: Attempts, in_words: Callable[[str], str]) -> str:
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
