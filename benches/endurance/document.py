"""The figures of docs/measurements/reliability.md, from the JSON files of `make endurance`.

    PYTHONPATH=benches python -m endurance.document OUT...    takes over these folders' results, and writes the figures
    PYTHONPATH=benches python -m endurance.document           writes the figures again

docs/measurements/reliability.json keeps the results. A result replaces what is there of the same part, victim, fault,
target or seed. Of kills on machines a result is one way's by one seed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pages import head, measured_at, put, row

MEASUREMENTS = Path(__file__).parents[2] / "docs/measurements"
DATA = MEASUREMENTS / "reliability.json"
PAGE = MEASUREMENTS / "reliability.md"
BEGIN = "<!-- figures: made by python -m endurance.document -->\n"

_BY_NAME = {"kills": "victims", "signals": "victims", "faults": "faults", "fuzz": "targets", "flood": "floods"}
_BY_NAME |= {"tampered": "seeds", "machines": "ways"}
"""Where the parts have their results by name."""

_RUN = ("date", "took_s", "commit", "kernel", "machine", "processors", "memory_gib", "python", "seconds")
Results = dict[str, Any]


def main() -> None:
    data = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else {}
    for folder in map(Path, sys.argv[1:]):
        for file in sorted(folder.glob("*.json")):
            take(data, json.loads(file.read_text(encoding="utf-8")))
    DATA.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    put(PAGE, BEGIN, figures(data))


def take(data: Results, result: Results) -> None:
    """Adds a part's result. What was not done replaces nothing that was."""
    part = result["part"]
    run = {key: result[key] for key in _RUN if key in result}
    if part not in _BY_NAME:
        values = {key: value for key, value in result.items() if key not in _RUN}
        if "not_done" not in result or part not in data:
            data[part] = {**values, "run": run}
        return
    kept = data.setdefault(part, {})
    for name, values in result.get(_BY_NAME[part], {}).items():
        if "not_done" not in values or name not in kept:
            # Kills on machines fall at the moments of a seed, and those of all seeds are added up.
            key = f"{name}, seed {result['seed']}" if part == "machines" else name
            kept[key] = {**values, "run": run}


def figures(data: Results) -> str:
    """The tables, as Markdown."""
    parts = [
        *_interruptions({**data.get("kills", {}), **data.get("signals", {})}),
        *_machines(data.get("machines", {})),
        *_faults(data.get("faults", {})),
        *_soak(data.get("soak")),
        *_builds(data.get("builds")),
        *_fuzz(data.get("fuzz", {})),
        *_floods(data.get("flood", {})),
        *_tampered(data.get("tampered", {})),
    ]
    return "\n".join(["", *parts, ""])


def _interruptions(rows: Results) -> Iterable[str]:
    if not rows:
        return
    yield "### Killed and interrupted"
    yield ""
    yield head(
        "hit",
        "times",
        "trials recorded before",
        "lost",
        "half",
        "left over",
        "sets that differ",
        "hangs, tracebacks, other exit codes",
        "date, commit",
    )
    for name, tally in rows.items():
        what = f"kill -9 of the {name}" if name.islower() else f"{name} to the orchestrator"
        if "not_done" in tally:
            yield row(what, f"not done: {tally['not_done']}", *[""] * 6, measured_at(tally))
            continue
        wrong = tally["hung"] + tally["tracebacks"] + tally["other_codes"]
        counts = [
            tally[key] for key in ("interruptions", "acknowledged", "lost", "half", "left_over", "sets_that_differ")
        ]
        yield row(what, *counts, wrong, measured_at(tally))
    yield ""


def _machines(rows: Results) -> Iterable[str]:
    if not rows:
        return
    yield "### Killed on many machines"
    yield ""
    yield head(
        "by",
        "kill -9 of",
        "sweeps, trials",
        "lost",
        "twice",
        "half",
        "left over, not home",
        "sets that differ",
        "hangs, tracebacks, other exit codes",
        "resumed after exit 3",
        "date, commit",
    )
    for name, tally in sorted(rows.items()):
        method, _, seed = name.partition(", ")
        kills = ", ".join(f"{victim} ({times})" for victim, times in sorted(tally["kills"].items()))
        what = f"`--{method}`, {seed}" if seed else f"`--{method}`"
        yield row(what, kills, *_of_sweeps([tally]), measured_at(tally))
    if len(rows) > 1:
        tallies = list(rows.values())
        yield row("all", sum(sum(tally["kills"].values()) for tally in tallies), *_of_sweeps(tallies), "")
    yield ""


def _of_sweeps(tallies: list[Results]) -> list[Any]:
    """Results of sweeps, all together: their number, and what was wrong."""

    def total(*keys: str) -> int:
        return sum(tally[key] for tally in tallies for key in keys)

    trials = sum(sum(tally["trials"].values()) for tally in tallies)
    return [
        f"{total('sweeps')}, {_number(trials)}",
        *map(total, ("lost", "twice", "half")),
        total("left_over", "not_home"),
        total("sets_that_differ"),
        total("hung", "tracebacks", "other_codes"),
        total("refused"),
    ]


def _faults(rows: Results) -> Iterable[str]:
    if not rows:
        return
    yield "### Faults of the machine"
    yield ""
    yield head(
        "fault in the midst of a run",
        "runs",
        "ended with",
        "valid trials",
        "trials that do not count",
        "false",
        "lost",
        "left over",
        "date, commit",
    )
    for name, tally in rows.items():
        if "not_done" in tally:
            yield row(name, f"not done: {tally['not_done']}", *[""] * 6, measured_at(tally))
            continue
        ended = ", ".join(f"{code} ({count})" for code, count in sorted(tally["ended_with"].items()))
        without = ", ".join(f"{count} {kind}" for kind, count in sorted(tally["not_valid"].items())) or "0"
        counts = [tally[key] for key in ("false", "lost", "left_over")]
        yield row(name, tally["runs"], ended, tally["valid"], without, *counts, measured_at(tally))
    yield ""


def _soak(result: Results | None) -> Iterable[str]:
    if result is None:
        return
    minutes = result["length_s"] / 60
    yield "### Trials without rest"
    yield ""
    yield f"{minutes:.0f} minutes, {result['trials']} trials, {result['valid']} of them valid ({measured_at(result)})."
    yield ""
    yield head("median of", "second quarter", "last quarter")
    for name, early in result["second_quarter"].items():
        if name != "trials":
            yield row(
                name.replace("_mib", ", MiB").replace("_", " "), _number(early), _number(result["last_quarter"][name])
            )
    yield ""


def _builds(result: Results | None) -> Iterable[str]:
    if result is None:
        return
    yield "### Networks built and taken down"
    yield ""
    if "failed" in result:
        yield f"{result['builds']} networks of {result['nodes']} nodes: failed."
    else:
        before, after = result["before"], result["after"]
        same = all(before[name] == after[name] for name in before if name != "resident_mib")
        growth_mib = after["resident_mib"] - before["resident_mib"]
        what = "Descriptors, threads, processes and interfaces are the same after as before"
        yield (
            f"{result['builds']} networks of {result['nodes']} nodes. {what}: {'yes' if same else 'no'}. "
            f"Memory: {growth_mib:+.1f} MiB ({measured_at(result)})."
        )
    yield ""


def _fuzz(rows: Results) -> Iterable[str]:
    if not rows:
        return
    yield "### Fuzzed"
    yield ""
    yield head("target", "seconds", "executions", "edges covered", "crashes", "date, commit")
    for name, target in rows.items():
        if "not_done" in target:
            yield row(name, f"not done: {target['not_done']}", *[""] * 3, measured_at(target))
        else:
            coverage = _number(target["coverage"]) if target.get("coverage") is not None else "not measured"
            if target.get("edges"):
                coverage += f" of {_number(target['edges'])}"
            crashes = 1 if target.get("crash") else 0
            seconds = round(target["run"]["seconds"])
            yield row(name, seconds, _number(target["executions"]), coverage, crashes, measured_at(target))
    yield ""


def _floods(rows: Results) -> Iterable[str]:
    if not rows:
        return
    yield "### `serve` under floods"
    yield ""
    yield head("flood", "good clients", "median", "slowest", "not served", "connections of the flood", "date, commit")
    for name, each_row in rows.items():
        served = f"{each_row['in_time']} of {each_row['tried']} within {each_row['within_s']:g} s"
        times = [_seconds(each_row[key]) for key in ("median_s", "slowest_s")]
        opened = sum(attacker["opened"] for attacker in each_row["attackers"])
        yield row(name, served, *times, sum(each_row["errors"].values()), _number(opened), measured_at(each_row))
    yield ""


def _seconds(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f} s"


def _tampered(rows: Results) -> Iterable[str]:
    """A line for each seed, since cases of one seed are the same each time, and their sum."""
    if not rows:
        return
    yield "### Tampered directories"
    yield ""
    yield head("seed", "directories", "executions of readers", "kinds of outcomes", "kinds of failures", "date, commit")
    for seed, result in sorted(rows.items(), key=lambda item: int(item[0])):
        counts = [_number(result[key]) for key in ("cases", "executions", "outcomes")]
        yield row(seed, *counts, len(result["failures"]), measured_at(result))
    if len(rows) > 1:
        sums = [_number(sum(each_row[key] for each_row in rows.values())) for key in ("cases", "executions")]
        yield row("all", *sums, "", len({kind for each_row in rows.values() for kind in each_row["failures"]}), "")
    yield ""


def machines(data: Results) -> list[str]:
    """The machines that the results are of."""
    runs = [item["run"] for part in data.values() for item in (part.values() if "run" not in part else [part])]
    return sorted({f"Linux {run['kernel']}, {run['processors']} processors, {run['memory_gib']} GiB" for run in runs})


def _number(value: float) -> str:
    return f"{value:,.0f}".replace(",", " ") if float(value).is_integer() else f"{value:.1f}"


if __name__ == "__main__":
    main()
