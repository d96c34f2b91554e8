"""`happy-eyeballs`: connections to a server with addresses of both families, by the algorithm of RFC 8305."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from ..parameter import Parameter, Params
from ..quantity import metric, share, times
from ..reason import ReasonKind
from ..topology import Family
from ..workload import CONNECTION_PACKETS, Expected, Result, Side, Traffic, TrialMeasurements, WorkloadKind
from .common import CONGESTION, COUNT, SECOND_NS, TIMEOUT, all_but, histogram, in_words

MS = 10**6
FAMILIES: tuple[Family, ...] = (4, 6)


def _time(name: str, doc: str, default_ns: int, least_ns: int = 0) -> Parameter:
    return Parameter(name=name, kind="duration", doc=doc, minimum=least_ns, maximum=60 * SECOND_NS, default=default_ns)


A_AFTER = _time("a-after", "when the A answer arrives, counted from the queries; no packets are sent for it", 0)
AAAA_AFTER = _time("aaaa-after", "when the AAAA answer arrives, counted in the same way", 0)


PREFER = Parameter(
    name="prefer",
    kind="choice",
    choices=("default", "ipv4"),
    doc="the client's address selection: the policy table of RFC 6724 section 2.1, or IPv4 first (10.3)",
    unless_given="that of a dual-stack path, else default",
)


def _summarise(params: Params, client: Result, server: Result) -> TrialMeasurements:
    measured = TrialMeasurements()
    histogram(measured, client, "connect", "connect", "mean", "p50", "p99")
    races, won = client["races"], client["connect"]["count"]
    if not won:
        measured.reject(ReasonKind.NOTHING_ARRIVED, "no connection was made")
        return measured
    measured.metrics["failed_ratio"] = sum(client["failed"].values()) / races
    measured.metrics["ipv6_wins_ratio"] = client["ipv6"]["wins"] / won
    measured.metrics["attempts_per_connection"] = sum(client[f"ipv{family}"]["begun"] for family in FAMILIES) / races
    fastest_ns = []
    for family in FAMILIES:
        of_family, name = client[f"ipv{family}"], f"IPv{family}"
        alone = TrialMeasurements()
        histogram(alone, of_family["alone"], "connect", f"connect_ipv{family}", "mean")
        measured.histograms.update(alone.histograms)
        for column, value in alone.metrics.items():
            measured.metrics[column] = value
            fastest_ns.append(_answered_ns(params, family) + value)
        measured.notes.extend(_failures(f"over {name} alone, connections failed", of_family["alone"]["failed"]))
        measured.notes.extend(_failures(f"attempts over {name} failed", of_family["failed"]))
        if _connections(of_family) and not server["accepted_by_family"][f"ipv{family}"]:
            words = f"{_connections(of_family)} connections over {name}, of which the server accepted none"
            measured.reject(ReasonKind.LEDGER, words)
    if fastest_ns:
        measured.metrics["time_lost_ns"] = measured.metrics["connect_mean_ns"] - min(fastest_ns)
    measured.notes.extend(_failures("connections failed", client["failed"]))
    return measured


def _answered_ns(params: Params, family: Family) -> int:
    """Time at which a client of that family alone would have had its address."""
    return int((A_AFTER if family == 4 else AAAA_AFTER).of(params))


def _failures(what: str, failed: Mapping[str, int]) -> list[str]:
    return [f"{what}: {in_words(failed)}"] if failed else []


def _connections(of_family: Mapping[str, Any]) -> int:
    """Number of connections that were made over one family, alone or as the winner."""
    return int(of_family["wins"]) + int(of_family["alone"]["connect"]["count"])


def _traffic(params: Params, client: Result, server: Result) -> Traffic:
    silent = frozenset(family for family in FAMILIES if not _connections(client[f"ipv{family}"]))
    messages = CONNECTION_PACKETS * sum(_connections(client[f"ipv{family}"]) for family in FAMILIES)
    return Traffic(silent=silent, messages=messages)


@cache
def _expected() -> dict[Side, Expected]:
    from pydantic import model_validator

    from ..form import Counts, Form, Natural
    from ..result_form import Histogram, SideResult

    class AloneOverFamily(Form):
        """Connections over one family alone."""

        connect: Histogram
        failed: Counts

    class OverFamily(Form):
        """The results of one family in the races."""

        wins: Natural
        begun: Natural
        failed: Counts
        alone: AloneOverFamily

    class Races(SideResult):
        """The client that lets the families race."""

        races: Natural
        connect: Histogram
        failed: Counts
        ipv4: OverFamily
        ipv6: OverFamily

        @model_validator(mode="after")
        def _adds_up(self) -> Races:
            if self.races < self.connect.count:
                raise ValueError("more races were won than there were")
            return self

    class AcceptedByFamily(Form):
        """Connections that a server accepted."""

        ipv4: Natural
        ipv6: Natural

    class RacesServer(SideResult):
        """The server of both families."""

        accepted_by_family: AcceptedByFamily

    return {"client": Expected(form=Races), "server": Expected(form=RacesServer)}


OWN_METRICS = (
    *(
        time
        for family in FAMILIES
        for time in times(
            f"connect_ipv{family}", f"Connection time over IPv{family} alone", "RFC 3511 section 5.3", "mean"
        )
    ),
    metric("ipv6_wins", "ratio", "neither", "Share of connections over IPv6", "RFC 8305"),
    metric(
        "time_lost",
        "ns",
        "lower",
        "Time lost against the faster family alone",
        "RFC 8305; the mean connection time less that of the faster family",
        scale="difference",
        may_be_negative=True,
    ),
    metric(
        "attempts",
        "per_connection",
        "lower",
        "Connection attempts for a connection",
        "RFC 8305 section 5",
        unit="attempts",
    ),
    share("failed", "Share of connections that failed", "RFC 8305"),
)

KIND = WorkloadKind(
    name="happy-eyeballs",
    title="Happy Eyeballs",
    is_proper_name=True,
    transport="tcp",
    doc="Connections to a server with addresses of both families, by the algorithm of RFC 8305: which family wins, and "
    "what that costs against the faster one alone.",
    parameters=(
        replace(COUNT, doc="number of connections, one after the other", maximum=10**6, default=10),
        _time("gap", "pause before and after each connection", 20 * MS),
        _time(
            "attempt-delay",
            "Connection Attempt Delay: time of an attempt before the next one begins (RFC 8305 section 5)",
            250 * MS,
            least_ns=10 * MS,
        ),
        _time(
            "resolution-delay",
            "Resolution Delay: time for which the A answer waits for the AAAA answer (RFC 8305 section 3)",
            50 * MS,
        ),
        A_AFTER,
        AAAA_AFTER,
        PREFER,
        replace(TIMEOUT, doc="longest time of a connection, with all its attempts"),
        CONGESTION,
    ),
    primary="connect_mean",
    headline=("ipv6_wins", "connect_mean", "connect_p99", "time_lost", "attempts", "failed"),
    metrics=(
        *("ipv6_wins", "connect_mean", "connect_p50", "connect_p99", "connect_ipv4_mean", "connect_ipv6_mean"),
        *("time_lost", "attempts", "failed"),
    ),
    own_metrics=OWN_METRICS,
    distributions=("connect",),
    summarise=_summarise,
    traffic=_traffic,
    results=lambda side, params: (_expected()[side],),
    families=lambda _: frozenset(FAMILIES),
    agent_params=all_but(PREFER),
    needs_network="a server that is reached over both families in one trial",
    instead="-46 --workload tcp-connect compares how long connections take over each",
)
