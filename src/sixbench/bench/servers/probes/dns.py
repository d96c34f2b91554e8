"""Look-ups of a server's name: its A records with IPv4, its AAAA records with IPv6."""

from __future__ import annotations

from ....agent import Agent
from ....agent.requests import ResolveRequest
from ....agent.server_answers import Lookup
from ....model.form import ABSENT
from ....model.parameter import Params
from ....model.topology import Family
from ....model.workload import TrialMeasurements
from ....model.workloads import dns
from .prober import Probed, ProbedServer, Prober, add_times, waits_s

TIMEOUT_NS = 5_000_000_000
DNS_PORT = 53
RECORDS: dict[Family, str] = {4: "A", 6: "AAAA"}
GOOD = frozenset({"NOERROR", "NXDOMAIN"})
"""The codes of an answer. Others, such as SERVFAIL, say that there is none."""


def _ask(agent: Agent, target: ProbedServer, params: Params) -> Probed:
    timeout_ns = int(params.get("timeout_ns", TIMEOUT_NS))
    lookups: list[Lookup] = []
    for _ in range(int(params["count"])):
        request = ResolveRequest(
            name=target.name or target.address,
            types=[RECORDS[target.family]],
            resolver=resolver_of(target.resolver),
            timeout_ns=timeout_ns,
        )
        answer = agent.answer(request, timeout_s=waits_s(1, timeout_ns))
        lookups += [judged(lookup) for lookup in answer.answers]
    return Probed(
        attempts=lookups,
        result={"answers": [lookup.model_dump(by_alias=True, exclude_none=True) for lookup in lookups]},
        strays=sum(lookup.strays or 0 for lookup in lookups),
    )


def resolver_of(address: str | None) -> dict[str, str | int] | None:
    """A resolver as the agent takes it."""
    return None if address is None else {"address": address, "port": DNS_PORT}


def judged(lookup: Lookup) -> Lookup:
    """The look-up, which has failed where the resolver answered that it has no answer."""
    if lookup.outcome == "answered" and lookup.rcode is not ABSENT and lookup.rcode not in GOOD:
        return lookup.model_copy(update={"outcome": "protocol", "reason": f"the resolver answered {lookup.rcode}"})
    return lookup


def _summarise(params: Params, probed: Probed, measured: TrialMeasurements) -> None:
    lookups = [item for item in probed.attempts if isinstance(item, Lookup) and item.outcome == "answered"]
    for name in ("response", "transaction"):
        add_times(measured, name, [lookup.elapsed_ns for lookup in lookups], "mean", "p50", "p99")


DNS = Prober(workload=dns.KIND.name, ask=_ask, summarise=_summarise, failures="questions_unanswered_ratio")
