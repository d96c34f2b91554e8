"""Forms of workloads' results, held against the schemas of the results that the agent writes.

`results.json` of `crates/traffic` and `crates/applications` are what `sixbench-agent --results` prints; a test of each
crate keeps its own so.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sixbench.model.form import ABSENT, Form, Natural
from sixbench.model.parameter import Params
from sixbench.model.result_form import SideResult
from sixbench.model.workload import Side, WorkloadKind
from sixbench.model.workloads import WORKLOADS

pytestmark = pytest.mark.computes

ROOT = Path(__file__).parents[2]
DOCUMENTS: list[dict[str, Any]] = [
    json.loads((ROOT / "crates" / crate / "results.json").read_text()) for crate in ("traffic", "applications")
]
ANSWERS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "answers.json").read_text(encoding="utf-8"))

SIDES: tuple[Side, ...] = ("client", "server")
OF_AGENT = [kind for kind in WORKLOADS.values() if kind.parts is None]
CASES: list[Params] = [
    {},
    {"direction": "reverse"},
    {"direction": "both"},
    {"df": "set"},
    {"packet_log": True},
    {"rate_per_s": 10},
    {"gaps": "exponential"},
]
"""Parameters on which the forms of results depend."""

OF_ANY_SIDE = frozenset(SideResult.model_fields)

NEVER_ABSENT = {
    ("frames", ".lateness"): "frames always have a schedule",
    ("happy-eyeballs", ".ipv4"): "an experiment's client has addresses of both families",
    ("happy-eyeballs", ".ipv6"): "likewise",
    ("happy-eyeballs", ".accepted_by_family"): "and so has its server",
}
"""Keys that the agent can leave out, and never does in a trial."""


class Node(NamedTuple):
    """A schema, and the document in which it stands."""

    schema: Mapping[str, Any]
    document: Mapping[str, Any]

    def at(self, schema: Any) -> Node:
        return Node({} if schema is True else schema, self.document)

    def alternatives(self) -> Iterator[Node]:
        """Schemas of one type each, without references, of which one holds."""
        schema = self.schema
        if "$ref" in schema:
            name = str(schema["$ref"]).removeprefix("#/$defs/")
            yield from self.at(self.document["$defs"][name]).alternatives()
        elif "anyOf" in schema or "oneOf" in schema:
            for other in schema.get("anyOf", schema.get("oneOf", ())):
                yield from self.at(other).alternatives()
        elif isinstance(schema.get("type"), list):
            for kind in schema["type"]:
                yield self.at({**schema, "type": kind})
        else:
            yield self


@dataclass
class Comparison:
    """Forms of results that the agent may write, against the forms that read it.

    Attributes:
        written: keys that the agent writes of those that a form reads, by the form's name.
        read: all keys that a form reads.
    """

    written: set[tuple[str, str]] = field(default_factory=set)
    read: set[tuple[str, str]] = field(default_factory=set)

    def differences(self, written: Node, read: Node, place: str = "") -> Iterator[str]:
        """Differences: forms that the agent may write and that the reader refuses."""
        readers = list(read.alternatives())
        for alternative in written.alternatives():
            of_readers = [list(self._of_type(alternative, reader, place)) for reader in readers]
            if all(of_readers):
                yield from min(of_readers, key=len)

    def _of_type(self, written: Node, read: Node, place: str) -> Iterator[str]:
        kind, expected = written.schema.get("type"), read.schema.get("type")
        if expected is not None and (kind, expected) != ("integer", "number") and kind != expected:
            yield f"{place} is {kind or 'anything'}, not {expected}"
        elif kind == "integer" and written.schema.get("minimum", -math.inf) < read.schema.get("minimum", -math.inf):
            yield f"{place} may be less than {read.schema['minimum']}"
        elif kind == "object":
            yield from self._of_object(written, read, place)
        elif kind == "array" and "items" in read.schema:
            yield from self.differences(
                written.at(written.schema["items"]), read.at(read.schema["items"]), f"{place}[]"
            )
            for bound in ("minItems", "maxItems"):
                if bound in written.schema and written.schema[bound] != read.schema.get(bound, written.schema[bound]):
                    yield f"{place} has another {bound}"

    def _of_object(self, written: Node, read: Node, place: str) -> Iterator[str]:
        properties, keys = written.schema.get("properties", {}), read.schema.get("properties", {})
        form = str(read.schema.get("title"))
        for name, schema in keys.items():
            self.read.add((form, name))
            if name in properties:
                self.written.add((form, name))
                yield from self.differences(written.at(properties[name]), read.at(schema), f"{place}.{name}")
            if name in read.schema.get("required", ()) and name not in written.schema.get("required", ()):
                yield f"{place}.{name} may be absent"
        values = read.schema.get("additionalProperties")
        if isinstance(values, dict):
            others = [schema for name, schema in properties.items() if name not in keys]
            others += [written.schema["additionalProperties"]] if "additionalProperties" in written.schema else []
            for other in others:
                yield from self.differences(written.at(other), read.at(values), f"{place}.*")


def result_of(workload: str, side: Side) -> Node:
    [document] = [document for document in DOCUMENTS if workload in document["workloads"]]
    return Node(document["workloads"][workload][side], document)


@cache
def form_of(form: type[Form]) -> Node:
    schema = form.model_json_schema()
    return Node(schema, schema)


def ends(workload: str, side: Side, place: str | None) -> list[Node]:
    """Forms that the agent may write at a place of a result."""
    results = list(result_of(workload, side).alternatives())
    if place is None:
        # Where there are several kinds of results, those that consist of ends have no other keys.
        whole = [node for node in results if not _ends_in(node)]
        return whole or results
    return [node.at(_ends_in(node)[place]) for node in results if place in _ends_in(node)]


def _ends_in(node: Node) -> dict[str, Any]:
    names = (f"{direction}_{end}" for direction in ("forward", "reverse") for end in ("sender", "receiver"))
    properties = node.schema.get("properties", {})
    return {name: properties[name] for name in names if name in properties}


def compare(comparison: Comparison, kind: WorkloadKind, side: Side) -> Iterator[str]:
    for params in CASES:
        for expected in kind.results(side, params):
            written = ends(kind.served_by, side, expected.place)
            if not written:
                yield f"{expected.place} is not written"
            for node in written:
                yield from comparison.differences(node, form_of(expected.form))


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("kind", OF_AGENT, ids=lambda kind: kind.name)
def test_forms_take_whatever_the_agent_may_write(kind: WorkloadKind, side: Side) -> None:
    differences = set(compare(Comparison(), kind, side))
    known = {f"{place} may be absent" for name, place in NEVER_ABSENT if name == kind.name}
    assert differences - known == set()


def test_the_keys_that_are_never_absent_are_keys_that_could_be() -> None:
    differences = {
        (kind.name, words) for kind in OF_AGENT for side in SIDES for words in compare(Comparison(), kind, side)
    }
    assert differences == {(name, f"{place} may be absent") for name, place in NEVER_ABSENT}


def test_forms_read_only_keys_that_the_agent_writes() -> None:
    comparison = Comparison()
    for kind in OF_AGENT:
        for side in SIDES:
            list(compare(comparison, kind, side))
    unwritten = {(form, name) for form, name in comparison.read - comparison.written if name not in OF_ANY_SIDE}
    assert unwritten == set()


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("kind", OF_AGENT, ids=lambda kind: kind.name)
def test_the_agent_writes_the_keys_that_parameters_ask_for(kind: WorkloadKind, side: Side) -> None:
    for params in CASES:
        for expected in kind.results(side, params):
            for node in ends(kind.served_by, side, expected.place):
                keys = {name for part in node.alternatives() for name in part.schema["properties"]}
                assert set(expected.keys) <= keys, params


def test_the_keys_of_any_side_are_written_by_some() -> None:
    schemas = [schema for document in DOCUMENTS for schema in document["$defs"].values()]
    assert {name for schema in schemas for name in schema.get("properties", {})} >= OF_ANY_SIDE


@pytest.mark.parametrize("index", [at for at, answer in enumerate(ANSWERS) if answer["op"] in ("run", "finish")])
def test_answers_of_the_tests_have_the_keys_that_the_agent_writes(index: int) -> None:
    answer = ANSWERS[index]
    alternatives = result_of(answer["workload"], "client" if answer["op"] == "run" else "server").alternatives()
    assert any(answer["answer"].keys() <= node.schema["properties"].keys() for node in alternatives)


class Needy(Form):
    """A form that needs keys of which the agent leaves one out sometimes, and never writes another."""

    unit: str
    p50: Natural
    p95: Natural


class Mistaken(Form):
    """A form with other types."""

    count: str = ABSENT
    mean: Natural = ABSENT
    buckets: list[Natural] = ABSENT


@pytest.mark.parametrize(
    ("form", "words"),
    [
        (Needy, [".p50 may be absent", ".p95 may be absent"]),
        (
            Mistaken,
            [".count is integer, not string", ".mean is number, not integer", ".buckets[] is array, not integer"],
        ),
    ],
)
def test_a_form_that_differs_is_found(form: type[Form], words: list[str]) -> None:
    [client] = result_of("ping", "client").alternatives()
    comparison = Comparison()
    assert list(comparison.differences(client.at(client.schema["properties"]["rtt"]), form_of(form))) == words
    assert ("Needy", "p95") not in comparison.written
