"""`bring-up`: how long a CLAT without a prefix takes until IPv4 works, again and again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from ..parameter import Params
from ..quantity import times
from ..reason import ReasonKind
from ..workload import Expected, Result, Side, Traffic, TrialMeasurements, WorkloadKind, nothing_of_its_own
from .common import COUNT, INTERVAL, SECOND_NS, TIMEOUT, all_but, histogram_of

if TYPE_CHECKING:
    from ..form import Form

PAYLOAD_BYTES = 56
"""The data of an echo request, as those of ping(8)."""

REPETITIONS = replace(
    COUNT,
    doc="number of times that the CLAT forgets its prefix and learns it again",
    maximum=1000,
    length=True,
    default=10,
)
PROBE_INTERVAL = replace(
    INTERVAL,
    doc="time from one echo request to the next until one is answered: the resolution of the result",
    minimum=10**5,
    length=False,
    default=SECOND_NS // 1000,
)
PATIENCE = replace(TIMEOUT, doc="longest time until IPv4 works", default=10 * SECOND_NS)


def _summarise(params: Params, client: Result, server: Result) -> TrialMeasurements:
    measured = TrialMeasurements()
    numbers: dict[str, list[int]] = {"v6only": [], "prefix": [], "configured": [], "ipv4": []}
    for number, item in enumerate(client["repetitions"], start=1):
        clat, probe = item["clat"], item["probe"]
        begun_ns, answered = clat["begun_ns"], probe.get("answered")
        if answered is None:
            words = f"IPv4 did not work after repetition {number}: none of {probe['sent']} echo requests was answered"
            measured.reject(ReasonKind.NOTHING_ARRIVED, words)
            continue
        if probe["began_ns"] > clat["configured_ns"]:
            words = f"the echo requests of repetition {number} began after the CLAT was configured"
            measured.reject(ReasonKind.TESTER_LIMITED, words)
            continue
        if clat.get("dhcp_ns") is not None:
            numbers["v6only"].append(clat["dhcp_ns"] - begun_ns)
        numbers["prefix"].append(clat["discovered_ns"] - begun_ns)
        numbers["configured"].append(clat["configured_ns"] - begun_ns)
        numbers["ipv4"].append(answered["received_ns"] - begun_ns)
    for name, times_ns in numbers.items():
        if times_ns:
            metric = f"time_to_{name}"
            measured.histograms[metric] = histogram_of(times_ns)
            for statistic in ("mean", "p50", "max"):
                if f"{metric}_{statistic}" in KIND.metrics:
                    measured.metrics[f"{metric}_{statistic}_ns"] = float(measured.histograms[metric][statistic])
    asked = [max(answer["asked"] for answer in _answers(element)) for element in client["repetitions"]]
    if any(count > 1 for count in asked):
        again = sum(count > 1 for count in asked)
        measured.notes.append(f"in {again} of {len(asked)} repetitions, the CLAT had to ask more than once")
    return measured


def _answers(repetition: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The answers to what the CLAT asked."""
    clat = repetition["clat"]
    return [answer for answer in (clat.get("dhcp"), clat["discovered"]) if answer is not None]


def _traffic(params: Params, client: Result, server: Result) -> Traffic:
    """One request of each repetition was answered for certain."""
    answered = sum("answered" in item["probe"] for item in client["repetitions"])
    payload = PAYLOAD_BYTES * answered
    by_dhcp = [item["clat"]["dhcp"]["asked"] for item in client["repetitions"] if item["clat"].get("dhcp") is not None]
    return Traffic(
        forward_payload_bytes=payload,
        reverse_payload_bytes=payload,
        messages=2 * answered,
        foreign_packets=sum(by_dhcp),
    )


@cache
def _client() -> type[Form]:
    from ..form import ABSENT, Counts, Form, Natural
    from ..result_form import SideResult

    class Answered(Form):
        """The first request that was answered. Times are of the monotonic clock."""

        number: Natural
        sent_ns: Natural
        received_ns: Natural

    class Probe(SideResult):
        """The sender of echo requests, until one was answered."""

        began_ns: Natural
        sent: Natural
        refused: Counts
        errors: Counts
        answered: Answered = ABSENT

    return Probe


def _results(side: Side, params: Params) -> tuple[Expected, ...]:
    return nothing_of_its_own(side, params) if side == "server" else (Expected(form=_client()),)


KIND = WorkloadKind(
    name="bring-up",
    title="Bring-up of a CLAT",
    transport="icmp",
    needs_icmp=True,
    doc="A CLAT forgets the prefix of its NAT64, learns it again and configures its translator, while the client sends "
    "echo requests over IPv4 until one is answered. It is for paths whose CLAT learns its prefix.",
    parameters=(REPETITIONS, PROBE_INTERVAL, PATIENCE),
    primary="time_to_ipv4_p50",
    headline=("time_to_prefix_p50", "time_to_ipv4_p50", "time_to_ipv4_max"),
    metrics=(
        "time_to_v6only_p50",
        *("time_to_prefix_mean", "time_to_prefix_p50", "time_to_prefix_max"),
        "time_to_configured_p50",
        *("time_to_ipv4_mean", "time_to_ipv4_p50", "time_to_ipv4_max"),
    ),
    own_metrics=(
        *times("time_to_v6only", "Time until a CLAT knows that it can do without IPv4", "RFC 8925", "p50"),
        *times("time_to_prefix", "Time until a CLAT has its prefix", "RFC 8781, RFC 7050", "mean", "p50", "max"),
        *times("time_to_configured", "Time until a CLAT translates", "RFC 6877", "p50"),
        *times("time_to_ipv4", "Time until IPv4 works", "RFC 6877", "mean", "p50", "max"),
    ),
    summarise=_summarise,
    traffic=_traffic,
    results=_results,
    agent_params=all_but(REPETITIONS),
    needs_network="a CLAT that learns its prefix",
    quick_count=5,
)
