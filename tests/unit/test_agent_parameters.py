"""Parameters of workloads as experiments have them, held against those that the agent reads.

`parameters.json` of `crates/traffic` and `crates/applications` are what `sixbench-agent --parameters` prints; a test of
each crate keeps its own so.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sixbench.model.parameter import Parameter, Params, Scalar
from sixbench.model.workload import WorkloadKind
from sixbench.model.workloads import WORKLOADS

pytestmark = pytest.mark.computes

ROOT = Path(__file__).parents[2]
TABLES = [ROOT / "crates" / crate / "parameters.json" for crate in ("traffic", "applications")]
AGENT: dict[str, dict[str, Any]] = {
    name: parameters for table in TABLES for name, parameters in json.loads(table.read_text()).items()
}
PROTOCOL = (ROOT / "docs/protocol.md").read_text()

AGENT_ALONE = {
    ("tcp-stream", "connect_timeout_ns"),
    ("tcp-stream", "shared_window"),
    ("tcp-stream", "shared_streams"),
    ("frames", "client_networks"),
    ("frames", "server_networks"),
    ("frames", "hardware_stamps"),
}
"""Parameters that no experiment sets."""

SENT_ALWAYS = {"duration_ns", "warmup_ns"}
"""Parameters that an agent gets even where an experiment does not have them."""

REQUIRED: dict[str, Params] = {
    "udp-stream": {"datagram_bytes": 64},
    "frames": {"frame_bytes": 84, "rate_pps": 1},
}
"""Parameters that must be given besides a length."""

OF_AGENT = [kind for kind in WORKLOADS.values() if kind.parts is None]
IPV6 = frozenset[Any]({6})


def given_to_agent(kind: WorkloadKind) -> list[Parameter]:
    """The parameters that an agent is given as they are."""
    return [
        parameter
        for parameter in kind.parameters
        if parameter.column in kind.agent_params({parameter.column: sample(parameter)})
    ]


def sample(parameter: Parameter) -> Scalar:
    """A value that the parameter can have."""
    if parameter.default is not None:
        return parameter.default
    return parameter.choices[0] if parameter.choices else parameter.minimum or 0


def is_refused(kind: WorkloadKind, parameter: Parameter, value: Scalar) -> bool:
    """True if the workload itself refuses the value of this parameter, whatever others say."""
    params = {"count": 1, **REQUIRED.get(kind.name, {}), parameter.column: value}
    wrong = kind.check(params, IPV6)
    return wrong is not None and wrong.name == parameter.name and "bytes" in wrong.text


@pytest.mark.parametrize("kind", OF_AGENT, ids=lambda kind: kind.name)
def test_the_agent_reads_what_experiments_set(kind: WorkloadKind) -> None:
    assert {given_item.column for given_item in given_to_agent(kind)} <= AGENT[kind.served_by].keys()


@pytest.mark.parametrize("kind", OF_AGENT, ids=lambda kind: kind.name)
def test_both_have_the_same_defaults(kind: WorkloadKind) -> None:
    for given_item in given_to_agent(kind):
        if given_item.column not in SENT_ALWAYS:
            assert AGENT[kind.served_by][given_item.column].get("default") == given_item.default, given_item.name


@pytest.mark.parametrize("kind", OF_AGENT, ids=lambda kind: kind.name)
def test_the_agent_takes_whatever_an_experiment_may_set(kind: WorkloadKind) -> None:
    for given_item in given_to_agent(kind):
        form = AGENT[kind.served_by][given_item.column]
        assert set(given_item.choices) <= set(form.get("choices", given_item.choices)), given_item.name
        for bound in (given_item.minimum, given_item.maximum):
            if bound is not None and not is_refused(kind, given_item, int(bound)):
                assert form["minimum"] <= bound <= form["maximum"], given_item.name


@pytest.mark.parametrize("transport", [{"transport": "tcp"}, {"transport": "udp", "datagram_bytes": 64, "rate_bps": 1}])
def test_the_agent_reads_what_its_flows_are_given(transport: Params) -> None:
    parts = WORKLOADS["compete"].parts
    assert parts is not None
    for part in parts({"duration_ns": 1, **transport}):
        assert part.params.keys() <= AGENT[part.workload].keys()


def test_no_parameter_of_the_agent_is_forgotten() -> None:
    settable = {(kind.served_by, given_item.column) for kind in OF_AGENT for given_item in given_to_agent(kind)}
    assert {(name, column) for name, table in AGENT.items() for column in table} == settable | AGENT_ALONE


@pytest.mark.parametrize("name", AGENT)
def test_the_document_of_the_protocol_names_every_parameter(name: str) -> None:
    section = re.search(rf"^### [^\n]*`{name}`.*?(?=^##)", PROTOCOL, re.MULTILINE | re.DOTALL)
    assert section is not None
    known = set(re.findall(r"`([a-z0-9_]+)`", section[0]))
    shared = set(re.findall(r"`([a-z0-9_]+)`", PROTOCOL[: PROTOCOL.index("### `tcp-stream`")]))
    assert AGENT[name].keys() <= known | shared
