"""`http`: how long pages of objects take by HTTP/1.1, 2 and 3."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from ..expectation import Expectation
from ..parameter import Parameter, Params, Wrong
from ..programs import CLIENT, SERVER, checked, foretold, without_programs
from ..quantity import FAILURES, duration, metric, times
from ..recorded_page import PageObject, RecordedPage
from ..server import ServerUse
from ..topology import Family
from ..workload import CONNECTION_PACKETS, Expected, Result, Side, Traffic, TrialMeasurements, WorkloadKind
from .applications import (
    FIRST_BYTE_TIMES,
    HANDSHAKE_TIMES,
    IN_FLIGHT,
    agreed,
    arrived_traffic,
    failures,
    marks,
    of_program,
    same_at_both_ends,
)
from .common import (
    COUNT,
    DURATION,
    SECOND_NS,
    SHORT_WARMUP,
    TIMEOUT,
    histogram,
    in_words,
    one_length,
    rate,
    transactions,
)
from .http_theory import PageLoad, expectation_of
from .tls import VERSION as TLS_VERSION

if TYPE_CHECKING:
    from ..form import Form


class _Stack(NamedTuple):
    """The protocols under HTTP."""

    protocol: str
    """The protocol that both ends agree on: its name in ALPN, or in the same registry without TLS."""
    over_tcp: bool
    is_secured: bool


_STACKS = {
    ("1.1", "1.3"): _Stack("http/1.1", True, True),
    ("1.1", "none"): _Stack("http/1.1", True, False),
    ("2", "1.3"): _Stack("h2", True, True),
    ("2", "none"): _Stack("h2c", True, False),
    ("3", "1.3"): _Stack("h3", False, True),
}
MAX_CONNECTIONS = 512
"""Connections that the agent serves at once."""
CONNECTIONS = 6
"""Connections to a host by HTTP/1.1 unless given, as browsers open them."""
STREAMS = 100
"""Streams of a connection by HTTP/2 and 3 unless given: the least that RFC 9113 section 6.5.2 and RFC 9114 section 6.1
recommend."""

HTTP_VERSION = Parameter(
    name="version",
    kind="choice",
    choices=("1.1", "2", "3"),
    doc="version of HTTP: 1.1 (RFC 9112), 2 (RFC 9113), 3 over QUIC (RFC 9114)",
    identifying=True,
    default="1.1",
)
TLS = Parameter(
    name="tls",
    kind="choice",
    choices=("1.3", "none"),
    doc="version of TLS; without it HTTP/2 begins by prior knowledge, and there is no HTTP/3",
    identifying=True,
    default="1.3",
)
OBJECT = Parameter(
    name="object",
    kind="size",
    doc="length of an object's body",
    minimum=1,
    maximum=2**30,
    identifying=True,
    default=10240,
)
OBJECTS = Parameter(
    name="objects",
    kind="count",
    doc="objects of a page",
    minimum=1,
    maximum=2000,
    identifying=True,
    default=1,
)
PAGE = Parameter(
    name="page",
    kind="file",
    doc="a HAR file, named from the experiment's folder: the hosts, sizes, order and dependencies of its objects",
    identifying=True,
)
PARALLEL = Parameter(
    name="parallel",
    kind="count",
    doc="connections to a host by HTTP/1.1; streams of a connection by HTTP/2 and 3",
    minimum=1,
    maximum=256,
    identifying=True,
    unless_given=f"{CONNECTIONS} connections, or {STREAMS} streams",
)
CONNECTION = Parameter(
    name="connection",
    kind="choice",
    choices=("new", "kept"),
    doc="connections for each page, or the same for all pages of one of those in flight; a first page, which does not "
    "count, opens them",
    identifying=True,
    default="new",
)
PAGES_IN_FLIGHT = replace(
    IN_FLIGHT, doc="pages at the same time, each with connections of its own: the next one begins when one ends"
)
PAGE_TIMEOUT = replace(TIMEOUT, doc="longest time of a page", default=10 * SECOND_NS)


def _check(params: Params, families: frozenset[Family]) -> Wrong | None:
    version = HTTP_VERSION.of(params)
    if version == "3" and TLS.of(params) == "none":
        return Wrong(TLS.name, "HTTP/3 has no form without TLS; leave tls out")
    given = [parameter.name for parameter in (OBJECT, OBJECTS) if parameter.column in params]
    if PAGE.column in params and given:
        return Wrong(given[0], f"the page says what its objects are; leave out {', '.join(given)}")
    objects = int(OBJECTS.of(params))
    connections = pages_in_flight(params) * min(connections_to_host(params), objects)
    if connections > MAX_CONNECTIONS:
        words = f"so many pages would have {connections} connections at once: at most {MAX_CONNECTIONS} are served"
        return Wrong(PAGES_IN_FLIGHT.name, words)
    return one_length(params, DURATION, COUNT)


def connections_to_host(params: Params) -> int:
    """The most connections of a page to a host."""
    return int(params.get(PARALLEL.column, CONNECTIONS)) if HTTP_VERSION.of(params) == "1.1" else 1


def pages_in_flight(params: Params) -> int:
    """Number of pages at the same time."""
    return int(PAGES_IN_FLIGHT.of(params))


def _stack(params: Params) -> _Stack:
    return _STACKS[str(HTTP_VERSION.of(params)), str(TLS.of(params))]


def _summarise(params: Params, client: Result, server: Result) -> TrialMeasurements:
    if CLIENT.column in params:
        return _of_program(params, client, server)
    measured = TrialMeasurements()
    for name in ("connect", "handshake", "first_byte", "object", "page"):
        histogram(measured, client, name, name, "mean", "p50", "p99")
    transactions(measured, client, "page")
    _rates(measured, client)
    stack = _stack(params)
    agreed(measured, client["protocols"], stack.protocol, "the protocol of the answers")
    if stack.over_tcp and stack.is_secured:
        agreed(measured, client["versions"], TLS_VERSION, "the version of TLS")
    if SERVER.column not in params:
        ours = {"transactions": server["requests"]}
        same_at_both_ends(measured, {"transactions": client["requests"]}, ours, "objects")
    # TCP's field is the kernel's.
    sides = {"client": client, "server": server}
    marks(measured, {side: result for side, result in sides.items() if result.get("ecn") is not None})
    failures(measured, client, "pages")
    return measured


def _of_program(params: Params, client: Result, server: Result) -> TrialMeasurements:
    """The measurements of a trial with somebody else's client: it counts objects, and nobody knows its pages."""
    measured = of_program(params, client, {**server, "transactions": server["requests"]}, "object")
    requests_rate = measured.metrics.pop("transactions_rate_per_s", None)
    if requests_rate is not None:
        measured.metrics.setdefault("requests_rate_per_s", requests_rate)
    return measured


def _rates(measured: TrialMeasurements, client: Result) -> None:
    """Adds what follows from the numbers of objects and bytes."""
    requests, pages = client["requests"], client["transactions"]
    if not requests or not pages:
        return
    requests_rate = rate(requests, client["measured_ns"])
    goodput = rate(8 * client["body_bytes"], client["measured_ns"])
    if requests_rate is not None and goodput is not None:
        measured.metrics["requests_rate_per_s"] = requests_rate
        measured.metrics["goodput_bps"] = goodput
    measured.metrics["page_sent_bytes"] = client["sent_bytes"] / pages
    measured.metrics["page_received_bytes"] = client["received_bytes"] / pages
    measured.metrics["page_connections_count"] = client["connections"] / pages
    cpu = client.get("cpu")
    if cpu:
        spent_ns = sum(cpu["to"][key] - cpu["from"][key] for key in ("agent_user_ns", "agent_system_ns"))
        measured.metrics["cpu_per_request_ns"] = spent_ns / requests


def _expects(params: Params) -> Expectation:
    """The expectation of a page. A HAR file has objects that its name does not tell."""
    if PAGE.column in params:
        return expectation_of(_page_load(params, None))
    item = PageObject(host=0, body_bytes=int(OBJECT.of(params)), after=None)
    return expectation_of(_page_load(params, (item,) * int(OBJECTS.of(params))))


def _expects_page(params: Params, page: RecordedPage) -> Expectation:
    """The expectation of a page of a HAR file."""
    return expectation_of(_page_load(params, page.objects))


def _page_load(params: Params, objects: tuple[PageObject, ...] | None) -> PageLoad:
    return PageLoad(
        version=str(HTTP_VERSION.of(params)),
        is_secured=_stack(params).is_secured,
        is_new=CONNECTION.of(params) == "new",
        objects=objects,
        connections=connections_to_host(params),
        streams=1 if HTTP_VERSION.of(params) == "1.1" else int(params.get(PARALLEL.column, STREAMS)),
    )


def _completed(params: Params, server: Result) -> float:
    """The objects that the server has answered with."""
    return int(server.get("requests", 0))


def _traffic(params: Params, client: Result, server: Result) -> Traffic:
    if CLIENT.column in params:
        body_bytes = 0 if PAGE.column in params else int(OBJECT.of(params)) * int(server["requests"])
        return Traffic(reverse_payload_bytes=body_bytes, messages=CONNECTION_PACKETS * int(server["connections"]))
    over_tcp = _stack(params).over_tcp
    messages = CONNECTION_PACKETS * int(client["connections"]) if over_tcp else 0
    return arrived_traffic(client, server, over_tcp=over_tcp, messages=messages)


@cache
def _forms() -> dict[Side, type[Form]]:
    from pydantic import model_validator

    from ..form import ABSENT, Counts, Natural
    from ..result_form import EcnMarks, Histogram, SideResult
    from ..results import ObjectTimes

    class HttpClient(SideResult):
        """The client that loads pages."""

        transactions: Natural
        warmup_transactions: Natural
        failed: Counts
        measured_ns: Natural
        connect: Histogram
        handshake: Histogram
        first_byte: Histogram
        object: Histogram
        page: Histogram
        connections: Natural
        requests: Natural
        body_bytes: Natural
        sent_bytes: Natural
        received_bytes: Natural
        protocols: Counts
        versions: Counts
        ciphers: Counts
        ecn: EcnMarks = ABSENT
        last_page: ObjectTimes = ABSENT

        @model_validator(mode="after")
        def _adds_up(self) -> HttpClient:
            if sum(self.protocols.values()) != self.requests:
                raise ValueError(f"the protocols of the answers ({in_words(self.protocols)}) are not as many as they")
            return self

    class HttpServer(SideResult):
        """The server of generated objects."""

        requests: Natural
        connections: Natural
        failed: Natural
        sent_bytes: Natural = ABSENT
        received_bytes: Natural = ABSENT
        ecn: EcnMarks = ABSENT

    return {"client": HttpClient, "server": HttpServer}


OBJECT_TIMES = tuple(
    times("object", "Time from the request for an object until all of it is there", "RFC 9110", "mean", "p50", "p99")
)
PAGE_TIMES = tuple(
    times("page", "Time from the start of a page until all its objects are there", "RFC 9110", "mean", "p50", "p99")
)

KIND = WorkloadKind(
    name="http",
    title="HTTP",
    is_proper_name=True,
    transport="tcp",
    transports=lambda params: frozenset({"tcp" if _stack(params).over_tcp else "udp"}),
    doc="Load pages of objects by HTTP/1.1, 2 or 3: a given number at once. The server makes up the objects.",
    parameters=(
        *(HTTP_VERSION, TLS, OBJECT, OBJECTS, PAGE, PARALLEL, CONNECTION),
        *(PAGES_IN_FLIGHT, DURATION, COUNT, SHORT_WARMUP, PAGE_TIMEOUT, SERVER, CLIENT),
    ),
    primary="page_p50",
    headline=("page_p50", "first_byte_p50", "object_p50", "requests_rate", "goodput", "cpu_per_request"),
    metrics=(
        *("connect_mean", "connect_p50", "connect_p99"),
        *(quantity.name for quantity in (*HANDSHAKE_TIMES, *FIRST_BYTE_TIMES, *OBJECT_TIMES, *PAGE_TIMES)),
        *("transactions_rate", "requests_rate", "goodput"),
        *("page_sent", "page_received", "page_connections", "cpu_per_request", "wire_sent", "wire_received", FAILURES),
    ),
    own_metrics=(
        *OBJECT_TIMES,
        *PAGE_TIMES,
        metric("requests_rate", "per_s", "higher", "Objects per second", "RFC 9110"),
        metric("page_sent", "bytes", "lower", "Bytes to the server for a page", "RFC 9110"),
        metric("page_received", "bytes", "lower", "Bytes from the server for a page", "RFC 9110"),
        metric(
            "page_connections",
            "count",
            "neither",
            "Connections opened for a page",
            "RFC 9110 section 3.3",
            unit="connections",
            scale="difference",
        ),
        duration("cpu_per_request", "CPU time of the client's process per object", "getrusage(2)"),
    ),
    distributions=("connect", "handshake", "first_byte", "object", "page"),
    check=checked("http", _check),
    agent_params=without_programs,
    summarise=_summarise,
    traffic=_traffic,
    expects=foretold(_expects),
    expects_page=foretold(_expects_page),
    completed=_completed,
    results=lambda side, params: (Expected(form=_forms()[side]),),
    to_servers=ServerUse(
        parameters=("version", "count", "timeout"), defaults={"count": 1}, variant=HTTP_VERSION.name, first=4
    ),
)
