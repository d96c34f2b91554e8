"""Results of a run of `sixbench rfc`: its throughputs, the results of the other tests, and the clauses of its
profile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..model.json_object import JsonObject
from ..rfc.clauses import STATES
from ..rfc.conformance import JudgedClause, judged
from ..rfc.procedures import TESTS
from ..rfc.results import AtSize, RfcTestResults, results_of, values_of
from ..rfc.rfc_test import Value
from ..rfc.throughput import Throughput
from ..rfc.traffic import PLAIN
from ..store import Run
from . import words
from .tables import ColumnOf, Table, number_column, table_in, without_empty, words_column

TRAFFIC_WORDS = (
    "Plain frames go between one pair of networks, with one pair of ports, all of them on the path. With networks-256 "
    "they go to 256 networks behind each host, with random-ports they have pseudo-random ports, with native-10 to "
    "native-90 so many percent go natively, over the other family, and the others have IPv6 extension headers."
)


def properties(run: Run) -> list[tuple[str, str]]:
    """Summary of a run, with the number of clauses that it meets: names and values. Empty for a run that is no such
    test."""
    procedure = run.manifest.procedure
    if procedure is None:
        return []
    counts = Counter(item.state for item in judged(run))
    names = [f"{counts[state]} {state}" for state in STATES if counts[state]]
    quick = ", shortened by --quick" if procedure.quick else ""
    return [("Profile", f"RFC {procedure.profile}{quick}"), ("Clauses", ", ".join(names))]


def throughput_table(run: Run) -> Table | None:
    """A row for each path, frame size and goal, with plain frames. None for a run that is no such test."""
    return _throughputs("Throughput", [at_size for at_size in results_of(run) if at_size.traffic == PLAIN])


def traffic_table(run: Run) -> Table | None:
    """The same of frames that differ from plain ones, with their share of the throughput of plain ones. None where all
    frames are plain."""
    at_sizes = results_of(run)
    plain = {
        (at_size.path, at_size.frame_bytes): at_size.goals[0].bounds.lower_pps
        for at_size in at_sizes
        if at_size.traffic == PLAIN
    }
    devices = [at_size for at_size in at_sizes if at_size.traffic != PLAIN and not at_size.is_tester]
    return _throughputs("Throughput by traffic", devices, plain)


def _throughputs(
    title: str, at_sizes: Sequence[AtSize], plain: Mapping[tuple[str, int], float | None] | None = None
) -> Table | None:
    """`plain`: the throughputs of plain frames by path and frame size; None: these are they."""
    if not at_sizes:
        return None
    columns: list[ColumnOf[_OfGoal]] = [
        words_column("path", lambda item: item.at_size.path),
        number_column("frame", lambda item: f"{item.at_size.frame_bytes} B"),
    ]
    if plain is not None:
        columns.append(words_column("traffic", lambda item: item.at_size.traffic))
    if len(at_sizes[0].goals) > 1:
        columns.append(words_column("goal", lambda item: item.throughput.goal.name))
    columns.append(number_column("frames/s", lambda item: _rate(item.throughput.bounds.lower_pps)))
    if plain is not None:
        columns.append(number_column("of plain", lambda item: _share(item.at_size, item.throughput, plain)))
    columns += [
        number_column("under", lambda item: _rate(item.throughput.bounds.upper_pps)),
        number_column("line", lambda item: _rate(item.at_size.line_pps)),
        number_column(
            "tester", lambda item: words.MISSING if item.at_size.is_tester else _rate(item.at_size.tester_pps)
        ),
        number_column("trials", lambda item: str(item.throughput.trials)),
        number_column("refused", lambda item: str(item.throughput.refused or "")),
        words_column("remark", lambda item: _remark(item.at_size, item.throughput)),
    ]
    items = [_OfGoal(at_size=at_size, throughput=goal) for at_size in at_sizes for goal in at_size.goals]
    return without_empty(table_in(title, columns, items))


@dataclass(frozen=True, kw_only=True)
class _OfGoal:
    """The throughput for one goal."""

    at_size: AtSize
    throughput: Throughput


def _share(at_size: AtSize, throughput: Throughput, plain: Mapping[tuple[str, int], float | None]) -> str:
    """A throughput as a share of that of plain frames, with the goal of no loss."""
    of_plain_pps, own_pps = plain.get((at_size.path, at_size.frame_bytes)), throughput.bounds.lower_pps
    if own_pps is None or not of_plain_pps or throughput.goal != at_size.goals[0].goal:
        return words.MISSING
    return f"{100 * own_pps / of_plain_pps:.0f} %"


def _rate(pps: float | None) -> str:
    return words.MISSING if pps is None else words.whole(round(pps))


def _remark(at_size: AtSize, throughput: Throughput) -> str:
    """Its limit, or the reason why it is not known."""
    names = []
    if throughput.failed is not None:
        names.append(f"ended early: {throughput.failed}")
    if not throughput.is_settled:
        names += [] if names and not throughput.trials else [_why_open(throughput)]
    elif throughput.bounds.lower_pps is None:
        names.append("no rate meets the goal")
    elif throughput.bounds.upper_pps is None:
        if at_size.is_tester:
            return "; ".join(names)
        is_line = at_size.line_pps is not None and throughput.bounds.lower_pps >= 0.99 * at_size.line_pps
        names.append("as fast as the line" if is_line else "as fast as the tester")
    return "; ".join(names)


def _why_open(throughput: Throughput) -> str:
    """The reason why a search has no end."""
    if not throughput.trials and not throughput.refused:
        return "not measured"
    why = f": {throughput.refused_why}" if throughput.refused_why else ""
    return f"not settled{why}"


def result_tables(run: Run) -> list[Table]:
    """A table for each other test, with a row for each path, frame size and value."""
    results = values_of(run)
    return [
        _test_table(TESTS[name].title, [result for result in results if result.test == name])
        for name in dict.fromkeys(result.test for result in results)
    ]


def _test_table(title: str, results: Sequence[RfcTestResults]) -> Table:
    columns: list[ColumnOf[_OfTest]] = [
        words_column("path", lambda item: item.result.path),
        number_column("frame", lambda item: item.of_frames(f"{item.result.frame_bytes} B")),
    ]
    if any(result.frame_bytes is not None and result.traffic != PLAIN for result in results):
        columns.append(words_column("traffic", lambda item: item.of_frames(item.result.traffic)))
    columns += [
        number_column("frames/s", lambda item: _rate(item.value.rate_pps)),
        words_column("what", lambda item: item.value.name),
        number_column("value", lambda item: _measured(item.value.value, item.value.unit)),
        number_column("p1", lambda item: _end(item.value.low, item.value.unit)),
        number_column("p99", lambda item: _end(item.value.high, item.value.unit)),
        number_column("trials", lambda item: str(item.value.trials)),
        number_column("refused", lambda item: str(item.result.refused or "")),
        words_column("remark", lambda item: _found_remark(item.result, item.value)),
    ]
    items = [_OfTest(result=result, value=value) for result in results for value in result.values]
    return without_empty(table_in(title, columns, items))


@dataclass(frozen=True, kw_only=True)
class _OfTest:
    """A value of a test at a place."""

    result: RfcTestResults
    value: Value

    def of_frames(self, text: str) -> str:
        """The text, where the test has frames."""
        return words.MISSING if self.result.frame_bytes is None else text


_COUNTED = frozenset({"connections", "frames", "frames/s"})


def _measured(value: float | None, unit: str) -> str:
    return f"{_rate(value)} {unit}" if value is not None and unit in _COUNTED else words.quantity(value, unit)


def _end(value: float | None, unit: str) -> str:
    """A percentile; of what is counted without the unit, which the value has."""
    return _rate(value) if unit in _COUNTED else words.quantity(value, unit)


def _found_remark(result: RfcTestResults, value: Value) -> str:
    names = [] if result.failed is None else [f"ended early: {result.failed}"]
    return "; ".join([*names, *filter(None, [value.remark])])


def conformance_table(run: Run) -> Table | None:
    """A row for each clause of the profile. None for a run that is no such test."""
    procedure, clauses = run.manifest.procedure, judged(run)
    if procedure is None:
        return None
    columns: list[ColumnOf[JudgedClause]] = [
        words_column("clause", lambda clause: clause.section),
        words_column("asks for", lambda clause: clause.asks),
        words_column("", lambda clause: clause.state),
        words_column("reason", lambda clause: clause.reason),
    ]
    return table_in(f"Conformance with RFC {procedure.profile}", columns, clauses)


def document(run: Run) -> JsonObject | None:
    """The same for programs."""
    procedure = run.manifest.procedure
    if procedure is None:
        return None
    return {
        "profile": procedure.profile,
        "tests": list(procedure.tests),
        "quick": procedure.quick,
        "traffics": [PLAIN, *procedure.traffics],
        "is_partial": procedure.is_partial,
        "throughput": [_result(at_size, of_goal) for at_size in results_of(run) for of_goal in at_size.goals],
        "results": [_value(result, value) for result in values_of(run) for value in result.values],
        "conformance": [
            {"section": item.section, "asks": item.asks, "state": item.state, "reason": item.reason}
            for item in judged(run)
        ],
    }


def _result(at_size: AtSize, throughput: Throughput) -> JsonObject:
    return {
        "path": at_size.path,
        "frame_bytes": at_size.frame_bytes,
        "traffic": at_size.traffic,
        "is_tester": at_size.is_tester,
        "goal": throughput.goal.name,
        "loss_ratio": throughput.goal.loss_ratio,
        "lower_pps": throughput.bounds.lower_pps,
        "upper_pps": throughput.bounds.upper_pps,
        "line_pps": at_size.line_pps,
        "tester_pps": at_size.tester_pps,
        "is_testers": throughput.is_testers,
        "is_settled": throughput.is_settled,
        "refused_pps": throughput.refused_pps,
        "trials": throughput.trials,
        "refused": throughput.refused,
        "refused_why": throughput.refused_why,
        "failed": throughput.failed,
    }


def _value(result: RfcTestResults, value: Value) -> JsonObject:
    return {
        "test": result.test,
        "path": result.path,
        "frame_bytes": result.frame_bytes,
        "traffic": None if result.frame_bytes is None else result.traffic,
        "rate_pps": value.rate_pps,
        "what": value.name,
        "unit": value.unit,
        "value": value.value,
        "p1": value.low,
        "p99": value.high,
        "is_testers": value.is_testers,
        "trials": value.trials,
        "refused": result.refused,
        "failed": result.failed,
        "remark": value.remark,
    }
