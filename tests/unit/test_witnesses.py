"""Witnesses of a trial: the order in which they ask, answers that are missing, and their parts of the record."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from sixbench.bench.proof import case as proof
from sixbench.bench.proof.case import Case, Observations
from sixbench.bench.setting import TrialSetting
from sixbench.bench.witnesses import WITNESSES, Witnesses
from sixbench.bench.witnesses import witness as witness_module
from sixbench.bench.witnesses.clocks import ClockWitness
from sixbench.bench.witnesses.counters import CounterWitness
from sixbench.bench.witnesses.processors import ProcessorWitness
from sixbench.bench.witnesses.slowness import SlownessWitness
from sixbench.bench.witnesses.witness import Waiting, Witness
from sixbench.model.errors import AgentError
from sixbench.model.evidence import Evidence, joined
from sixbench.model.evidence.sessions import TrackedSessions
from sixbench.model.workload import Traffic
from sixbench.model.workloads import WORKLOADS

pytestmark = pytest.mark.computes


class Noting(Witness):
    """Notes what it does, and fails where it is to."""

    def __init__(self, name: str, notes: list[str], fails: tuple[str, ...] = ()) -> None:
        super().__init__(cast(TrialSetting, None))
        self.name, self.notes, self.fails = name, notes, fails

    def _ask(self, what: str) -> Waiting:
        self.notes.append(f"{self.name} {what}")

        def answered() -> None:
            if what in self.fails:
                raise AgentError("system", f"{self.name} {what}")
            self.notes.append(f"{self.name} {what} answered")

        return answered

    def look_before(self) -> Waiting:
        return self._ask("before")

    def begin(self) -> Waiting:
        return self._ask("begin")

    def end(self) -> Waiting:
        return self._ask("end")

    def look_after(self) -> Waiting:
        return self._ask("after")


def test_all_ask_before_anybody_waits_and_in_the_reverse_order_after_the_traffic() -> None:
    notes: list[str] = []
    with Witnesses([Noting("a", notes), Noting("b", notes)]).observing():
        notes.append("traffic")
    before, after = notes[: notes.index("traffic")], notes[notes.index("traffic") + 1 :]
    assert before[:4] == ["a before", "b before", "a before answered", "b before answered"]
    assert [note for note in before[4:] if "answered" not in note] == ["a begin", "b begin"]
    assert after[:4] == ["b end", "a end", "b end answered", "a end answered"]
    assert [note for note in after[4:] if "answered" not in note] == ["b after", "a after"]


def test_an_answer_that_is_missing_afterwards_keeps_nobody_from_asking() -> None:
    notes: list[str] = []
    witnesses = Witnesses([Noting("a", notes), Noting("b", notes, fails=("end", "after"))])
    with witnesses.observing():
        pass
    assert [str(error) for error in witnesses.unanswered] == ["b end", "b after"]
    assert {"a end answered", "a after answered"} <= set(notes)


def test_after_a_trial_that_could_not_begin_all_are_ended_and_know_it() -> None:
    notes: list[str] = []
    both = [Noting("a", notes), Noting("b", notes, fails=("before",))]
    with pytest.raises(AgentError, match="b before"), Witnesses(both).observing():
        notes.append("traffic")
    assert "traffic" not in notes
    assert "a begin" not in notes
    assert {"a end answered", "b end answered", "a after answered", "b after answered"} <= set(notes)
    assert all(witness.is_cut_short for witness in both)


def test_processors_are_timed_while_nobody_else_asks_and_clocks_before_anything_is_counted() -> None:
    """The order that the list of witnesses promises."""
    places = [WITNESSES.index(kind) for kind in (ClockWitness, CounterWitness, SlownessWitness, ProcessorWitness)]
    assert places == sorted(places)
    assert places[:2] == [0, 1]
    later = WITNESSES[places[-1] + 1 :]
    assert all(kind.begin is Witness.begin and kind.end is Witness.end for kind in later)


@dataclass(frozen=True)
class Seen:
    """An observation."""

    packets: int = 0


class Sharing(Noting):
    def observation(self) -> Seen:
        return Seen(7)

    def judge(self, case: Case) -> proof.Testimony:
        return proof.Testimony(unreached=frozenset({"core"}))


class Reading(Noting):
    def judge(self, case: Case) -> proof.Testimony:
        return proof.Testimony(notes=[*case.unreached, f"{case.seen(Seen).packets} packets"])


def case(observations: Observations) -> Case:
    nothing: Any = None
    return Case(
        kind=WORKLOADS["ping"],
        params={},
        path=nothing,
        network=nothing,
        views=[],
        between=("h1", "h2"),
        nodes={},
        margin=0.01,
        client={},
        server={},
        traffic=Traffic(),
        transports=frozenset({"icmp"}),
        observations=observations,
    )


def test_a_witness_knows_what_others_saw_and_what_those_before_it_said() -> None:
    both = Witnesses([Sharing("a", []), Reading("b", [])])
    _, testimony = both.testimonies(case(both.observations))
    assert testimony.notes == ["core", "7 packets"]


def test_what_nobody_saw_is_empty() -> None:
    alone = Witnesses([Reading("b", [])])
    [testimony] = alone.testimonies(case(alone.observations))
    assert testimony.notes == ["0 packets"]


def test_parts_of_a_record_are_put_together() -> None:
    tracked, relayed = (TrackedSessions(before=0, after=count, most=9) for count in (1, 2))
    whole = joined([Evidence(sessions={"nat": tracked}), Evidence(), Evidence(sessions={"relay": relayed}, middle=0)])
    assert whole == Evidence(sessions={"nat": tracked, "relay": relayed}, middle=0)
    assert joined([]) == Evidence()


BENCH = Path(witness_module.__file__).parents[1]


def test_only_the_list_and_the_kinds_themselves_name_a_kind_of_evidence() -> None:
    """So a new kind changes nothing that runs or judges trials. The doctor proves mechanisms, by packets alone."""
    kinds = {kind.__module__.rpartition(".")[2] for kind in WITNESSES}
    judgements = {path.stem for path in (BENCH / "proof").glob("*.py")} - {"__init__", "case", "viewpoints"}
    classes = {kind.__name__ for kind in WITNESSES} | set(_observations())
    assert len(kinds) > 15
    assert {"CounterLooks", "Drops", "Captures"} <= classes
    naming = {
        (str(path.relative_to(BENCH)), name)
        for path in sorted(BENCH.parent.rglob("*.py"))
        if path.parent not in (BENCH / "witnesses", BENCH / "proof")
        for name in _names(path)
        if name in classes or _is_in(name, "witnesses", kinds) or _is_in(name, "proof", judgements)
    }
    assert naming == {("mechanism_doctor.py", "proof.packets")}


def _observations() -> Iterator[str]:
    """The names of the types that kinds of evidence share with each other."""
    for path in (BENCH / "witnesses").glob("*.py"):
        yield from re.findall(r"def observation\(self\) -> (\w+):", path.read_text())


def _names(path: Path) -> Iterator[str]:
    """The names that a module uses or gives, and the modules that it imports from."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                yield name
            case ast.ImportFrom(module=str(module)):
                yield module
                yield from (f"{module}.{alias.name}" for alias in node.names)


def _is_in(name: str, package: str, modules: set[str]) -> bool:
    """True if a name is that of one of these modules of a package."""
    above, _, module = name.rpartition(".")
    return module in modules and above.rpartition(".")[2] == package
