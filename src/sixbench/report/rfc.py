"""What a run of `sixbench rfc` found: its throughputs, the results of the other tests, and the clauses of its
profile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ..model.json_object import JsonObject
from ..rfc.clauses import STATES
from ..rfc.conformance import judged
from ..rfc.results import AtSize, Found, results_of, values_of
from ..rfc.test import Value
from ..rfc.tests import TESTS
from ..rfc.throughput import Throughput
from ..rfc.traffic import PLAIN
from ..store import Run
from . import words
from .tables import Table, left, right, without_empty

TRAFFIC_WORDS = (
    "Plain frames go between one pair of networks, with one pair of ports, all of them on the path. With networks-256 "
    "they go to 256 networks behind each host, with random-ports they have pseudo-random ports, with native-10 to "
    "native-90 so many percent go natively, over the other family, and the others have IPv6 extension headers."
)


def properties(run: Run) -> list[tuple[str, str]]:
    """What a run is, and how many clauses it meets: names and values. Empty for a run that is no such test."""
    procedure = run.manifest.procedure
    if procedure is None:
        return []
    counts = Counter(one.state for one in judged(run))
    told = [f"{counts[state]} {state}" for state in STATES if counts[state]]
    quick = ", shortened by --quick" if procedure.quick else ""
    return [("Profile", f"RFC {procedure.profile}{quick}"), ("Clauses", ", ".join(told))]


def throughput_table(run: Run) -> Table | None:
    """A row for each path, frame size and goal, with plain frames. None for a run that is no such test."""
    return _throughputs("Throughput", [one for one in results_of(run) if one.traffic == PLAIN])


def traffic_table(run: Run) -> Table | None:
    """The same of frames that differ from plain ones, with their share of the throughput of plain ones. None where all
    frames are plain."""
    found = results_of(run)
    plain = {(one.path, one.frame_bytes): one.goals[0].bounds.lower_pps for one in found if one.traffic == PLAIN}
    devices = [one for one in found if one.traffic != PLAIN and not one.is_tester]
    return _throughputs("Throughput by traffic", devices, plain)


def _throughputs(
    title: str, found: Sequence[AtSize], plain: Mapping[tuple[str, int], float | None] | None = None
) -> Table | None:
    """`plain`: the throughputs of plain frames by path and frame size; None: these are they."""
    if not found:
        return None
    has_goals = len(found[0].goals) > 1
    columns = [
        *left("path"),
        *right("frame"),
        *left(*(["traffic"] if plain is not None else []), *(["goal"] if has_goals else [])),
        *right("frames/s"),
        *right(*(["of plain"] if plain is not None else []), "under", "line", "tester", "trials", "refused"),
        *left("remark"),
    ]
    rows = [
        [
            one.path,
            f"{one.frame_bytes} B",
            *([one.traffic] if plain is not None else []),
            *([of_goal.goal.name] if has_goals else []),
            _rate(of_goal.bounds.lower_pps),
            *([_share(one, of_goal, plain)] if plain is not None else []),
            _rate(of_goal.bounds.upper_pps),
            _rate(one.line_pps),
            words.MISSING if one.is_tester else _rate(one.tester_pps),
            str(of_goal.trials),
            str(of_goal.refused or ""),
            _remark(one, of_goal),
        ]
        for one in found
        for of_goal in one.goals
    ]
    return without_empty(Table(title=title, columns=columns, rows=rows))


def _share(one: AtSize, found: Throughput, plain: Mapping[tuple[str, int], float | None]) -> str:
    """A throughput as a share of that of plain frames, with the goal of no loss."""
    of_plain_pps, own_pps = plain.get((one.path, one.frame_bytes)), found.bounds.lower_pps
    if own_pps is None or not of_plain_pps or found.goal != one.goals[0].goal:
        return words.MISSING
    return f"{100 * own_pps / of_plain_pps:.0f} %"


def _without_traffic(table: Table) -> Table:
    """The table without the column of traffic where all frames are plain ones."""
    at = [column.name for column in table.columns].index("traffic")
    if any(row[at] not in (PLAIN, words.MISSING) for row in table.rows):
        return table
    return Table(
        title=table.title,
        columns=[*table.columns[:at], *table.columns[at + 1 :]],
        rows=[[*row[:at], *row[at + 1 :]] for row in table.rows],
    )


def _rate(pps: float | None) -> str:
    return words.MISSING if pps is None else words.whole(round(pps))


def _remark(one: AtSize, found: Throughput) -> str:
    """What limits it, or why it is not known."""
    said = []
    if found.failed is not None:
        said.append(f"ended early: {found.failed}")
    if not found.is_settled:
        said += [] if said and not found.trials else [_why_open(found)]
    elif found.bounds.lower_pps is None:
        said.append("no rate meets the goal")
    elif found.bounds.upper_pps is None:
        if one.is_tester:
            return "; ".join(said)
        is_line = one.line_pps is not None and found.bounds.lower_pps >= 0.99 * one.line_pps
        said.append("as fast as the line" if is_line else "as fast as the tester")
    return "; ".join(said)


def _why_open(found: Throughput) -> str:
    """Why a search has no end."""
    if not found.trials and not found.refused:
        return "not measured"
    why = f": {found.refused_why}" if found.refused_why else ""
    return f"not settled{why}"


def test_tables(run: Run) -> list[Table]:
    """A table for each other test, with a row for each path, frame size and value."""
    found = values_of(run)
    return [
        _test_table(TESTS[name].title, [one for one in found if one.test == name])
        for name in dict.fromkeys(one.test for one in found)
    ]


def _test_table(title: str, found: Sequence[Found]) -> Table:
    columns = [
        *left("path"),
        *right("frame"),
        *left("traffic"),
        *right("frames/s"),
        *left("what"),
        *right("value", "p1", "p99", "trials", "refused"),
        *left("remark"),
    ]
    rows = [
        [
            one.path,
            words.MISSING if one.frame_bytes is None else f"{one.frame_bytes} B",
            words.MISSING if one.frame_bytes is None else one.traffic,
            _rate(value.rate_pps),
            value.name,
            _measured(value.value, value.unit),
            _end(value.low, value.unit),
            _end(value.high, value.unit),
            str(value.trials),
            str(one.refused or ""),
            _found_remark(one, value),
        ]
        for one in found
        for value in one.values
    ]
    return without_empty(_without_traffic(Table(title=title, columns=columns, rows=rows)))


_COUNTED = frozenset({"connections", "frames", "frames/s"})


def _measured(value: float | None, unit: str) -> str:
    return f"{_rate(value)} {unit}" if value is not None and unit in _COUNTED else words.quantity(value, unit)


def _end(value: float | None, unit: str) -> str:
    """A percentile; of what is counted without the unit, which the value has."""
    return _rate(value) if unit in _COUNTED else words.quantity(value, unit)


def _found_remark(found: Found, value: Value) -> str:
    said = [] if found.failed is None else [f"ended early: {found.failed}"]
    return "; ".join([*said, *filter(None, [value.remark])])


def conformance_table(run: Run) -> Table | None:
    """A row for each clause of the profile. None for a run that is no such test."""
    procedure, clauses = run.manifest.procedure, judged(run)
    if procedure is None:
        return None
    columns = left("clause", "asks for", "", "reason")
    rows = [[clause.section, clause.asks, clause.state, clause.reason] for clause in clauses]
    return Table(title=f"Conformance with RFC {procedure.profile}", columns=columns, rows=rows)


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
        "throughput": [_result(one, of_goal) for one in results_of(run) for of_goal in one.goals],
        "results": [_value(found, value) for found in values_of(run) for value in found.values],
        "conformance": [
            {"section": one.section, "asks": one.asks, "state": one.state, "reason": one.reason} for one in judged(run)
        ],
    }


def _result(one: AtSize, found: Throughput) -> JsonObject:
    return {
        "path": one.path,
        "frame_bytes": one.frame_bytes,
        "traffic": one.traffic,
        "is_tester": one.is_tester,
        "goal": found.goal.name,
        "loss_ratio": found.goal.loss_ratio,
        "lower_pps": found.bounds.lower_pps,
        "upper_pps": found.bounds.upper_pps,
        "line_pps": one.line_pps,
        "tester_pps": one.tester_pps,
        "is_testers": found.is_testers,
        "is_settled": found.is_settled,
        "refused_pps": found.refused_pps,
        "trials": found.trials,
        "refused": found.refused,
        "refused_why": found.refused_why,
        "failed": found.failed,
    }


def _value(found: Found, value: Value) -> JsonObject:
    return {
        "test": found.test,
        "path": found.path,
        "frame_bytes": found.frame_bytes,
        "traffic": None if found.frame_bytes is None else found.traffic,
        "rate_pps": value.rate_pps,
        "what": value.name,
        "unit": value.unit,
        "value": value.value,
        "p1": value.low,
        "p99": value.high,
        "is_testers": value.is_testers,
        "trials": value.trials,
        "refused": found.refused,
        "failed": found.failed,
        "remark": value.remark,
    }
