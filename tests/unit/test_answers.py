"""Agents' answers are held against their form where they arrive: what passes never makes judging fail."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from sixbench.agent.answers import check
from sixbench.agent.requests import REQUESTS
from sixbench.agent.results import check_result
from sixbench.bench.cpu import core_shares, find_span, machine_cores, spun_ns
from sixbench.bench.measure_trials import assess
from sixbench.model.errors import AgentError
from sixbench.model.workload import Side
from sixbench.model.workloads import WORKLOADS, bring_up
from sixbench.store.packet_log import packet_log_files

pytestmark = pytest.mark.computes

ANSWERS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "answers.json").read_text(encoding="utf-8"))
"""Answers of agents in a run of all workloads; long lists are cut."""

OF_NODES = [answer for answer in ANSWERS if answer["op"] not in ("run", "finish")]
RESULTS_OF = {
    (
        answer["workload"],
        json.dumps(answer["params"], sort_keys=True),
        "client" if answer["op"] == "run" else "server",
    ): answer
    for answer in ANSWERS
    if answer["op"] in ("run", "finish")
}
PAIRS = [
    (workload, RESULTS_OF[workload, params, "client"], RESULTS_OF[workload, params, "server"])
    for workload, params, side in RESULTS_OF
    if side == "client" and (workload, params, "server") in RESULTS_OF
]

OTHERS: tuple[Any, ...] = (None, "text", -1, 1.5, True, [], {}, [[1]], {"a": None}, float("nan"))


def checked(item: Mapping[str, Any], answer: object) -> None:
    if "workload" in item:
        side: Side = "client" if item["op"] == "run" else "server"
        check_result(item["workload"], side, item["params"], answer, item["op"])
    else:
        check(REQUESTS[item["op"]].answer, answer, item["op"])


def places(value: object, at: tuple[int | str, ...] = ()) -> Iterator[tuple[int | str, ...]]:
    """Where everything is in an answer."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield (*at, key)
        yield from places(part, (*at, key))


def spoiled(answer: Any) -> Iterator[tuple[str, Any]]:
    """A copy of the answer with one thing missing or another, everywhere in turn. Each is the same copy, changed."""
    copied = copy.deepcopy(answer)
    for place in list(places(answer)):
        holder = copied
        for key in place[:-1]:
            holder = holder[key]
        whole = copy.copy(holder)
        for other in ("left out", *OTHERS):
            if isinstance(other, str) and other == "left out":
                del holder[place[-1]]
            else:
                holder[place[-1]] = other
            yield f"{place}: {other!r}", copied
            holder.clear()
            holder.update(whole) if isinstance(holder, dict) else holder.extend(whole)
    assert copied == answer


def judged(workload: str, params: dict[str, Any], client: Any, server: Any) -> None:
    """Computes everything that is computed of both sides' results."""
    kind = WORKLOADS[workload]
    assess(kind, params, client, server)
    kind.traffic(params, client, server)
    if params.get("packet_log"):
        packet_log_files(client, server)
    for result in (client, server):
        span = find_span(result)
        if span is not None:
            machine_cores(span, spun_ns(result, with_warmup=True))
            core_shares(span)


@pytest.mark.parametrize("item", ANSWERS, ids=lambda item: f"{item['op']} {item.get('workload', '')}")
def test_what_agents_answer_has_its_form(item: dict[str, Any]) -> None:
    checked(item, item["answer"])


def test_every_workload_has_a_form_and_is_tried() -> None:
    served = {kind.served_by for kind in WORKLOADS.values() if kind.parts is None}
    # The result of a bring-up is made of those of many clients, and of what its CLAT answered.
    alone = {bring_up.KIND.served_by}
    assert served == {workload for workload, _, _ in PAIRS} | alone
    assert alone == {answer["workload"] for answer in ANSWERS if answer["op"] == "run" and answer["workload"] in alone}


@pytest.mark.parametrize(
    ("workload", "client", "server"), PAIRS, ids=lambda item: item if isinstance(item, str) else ""
)
@pytest.mark.parametrize("side", ["client", "server"])
def test_a_result_that_is_spoiled_anywhere_is_refused_or_can_be_judged(
    workload: str, client: dict[str, Any], server: dict[str, Any], side: str
) -> None:
    """So that what fails in judging is a mistake of ours, and not the agents' answer."""
    params = client["params"]
    judged(workload, params, client["answer"], server["answer"])
    side_result, refused = client if side == "client" else server, 0
    for what, answer in spoiled(side_result["answer"]):
        try:
            checked(side_result, answer)
        except AgentError:
            refused += 1
            continue
        try:
            judged(workload, params, *((answer, server["answer"]) if side == "client" else (client["answer"], answer)))
        except Exception as error:  # noqa: BLE001
            pytest.fail(f"{workload}, {side}, {what}: {error!r}")
    assert refused or not side_result["answer"]


@pytest.mark.parametrize("item", OF_NODES, ids=lambda item: item["op"])
def test_an_answer_without_what_is_read_of_it_says_what_is_missing(item: dict[str, Any]) -> None:
    for key in REQUESTS[item["op"]].answer.model_fields:
        if REQUESTS[item["op"]].answer.model_fields[key].is_required():
            with pytest.raises(AgentError, match=rf"^{item['op']} was answered without {key}"):
                checked(item, {name: value for name, value in item["answer"].items() if name != key})


def test_an_error_names_the_place_in_the_answer_and_what_is_there() -> None:
    [only_answer] = [answer for answer in ANSWERS if answer["op"] == "counters"]
    answer = copy.deepcopy(only_answer["answer"])
    answer["interfaces"]["eth0"]["rx_bytes"] = "many"
    with pytest.raises(
        AgentError, match=r"^counters was answered with interfaces\.eth0\.rx_bytes of type str \('many'\)"
    ):
        checked(only_answer, answer)


def test_what_a_later_agent_tells_besides_is_no_mistake() -> None:
    [answer] = [answer for answer in ANSWERS if answer["op"] == "counters"]
    checked(answer, answer["answer"] | {"later": {"a": 1}})
