"""Checks whether the tests were repeated over frames that differ from plain ones, as a clause asks."""

from __future__ import annotations

from collections.abc import Sequence

from ..mechanisms import install
from ..model.path import Path
from ..model.quoting import listed
from .clauses import Judge, State, Tested
from .procedures import TESTS
from .results import AtSize, RfcTestResults
from .traffic import TRAFFICS, unfit


def repeated(*names: str, test: str | None = None, where_unfit: State = "not met") -> Judge:
    """Checks whether the tests were repeated over each of these frames, on every path that can have them.

    Args:
        test: only that test. None: all that were run.
        where_unfit: what the clause is where no path can have them.
    """

    def judge(tested: Tested) -> tuple[State, str]:
        unfit_paths = _unfit_paths(tested, names)
        paths = [path.name for path in _paths(tested) if path.name not in unfit_paths]
        if not paths:
            return where_unfit, next(iter(unfit_paths.values()))
        procedure = tested.procedure
        besides = "".join(f"; not over {path}: {why}" for path, why in unfit_paths.items()) + _without(tested, names)
        repeatable = [test] if test else [name for name in procedure.tests if _is_repeatable(name)]
        if test is not None and test not in procedure.tests:
            return "not met", f"it was not asked for: --test {test}"
        if not repeatable:
            return "not met", "no test with frames was asked for"
        lacking = [name for name in names if name not in procedure.traffics]
        if lacking:
            left_out = (procedure.traffics_left_out or {}).get(lacking[0])
            return "not met", left_out or f"not asked for: --traffic {listed(lacking)}"
        if procedure.is_partial:
            words = "not repeated" if test else "only the throughput is repeated, at one frame size"
            more = " and so on" if len(names) > 1 else ""
            return "not met", f"--quick: {words}; all of it with --traffic {names[0]}{more}"
        open_ones = [where for name in names for text in repeatable for where in _open(tested, name, text)]
        if open_ones:
            some = f" and {len(open_ones) - 1} more" if len(open_ones) > 1 else ""
            return "not met", f"no result for {open_ones[0]}{some}"
        words = f"{listed(repeatable)} over {listed(names)}"
        if procedure.quick:
            return "not met", f"--quick: {words}, in shorter trials{besides}"
        return "met", f"{words}{besides}"

    return judge


def _paths(tested: Tested) -> list[Path]:
    testers = tested.procedure.testers
    return [path for path in tested.run.manifest.experiment.paths if path.name not in testers]


def _unfit_paths(tested: Tested, names: Sequence[str]) -> dict[str, str]:
    """The paths that cannot have these frames, and why."""
    experiment, texts = tested.run.manifest.experiment, dict[str, str]()
    for path in _paths(tested):
        network = install(path, experiment.topologies[0], experiment.between)
        why = next((why for name in names if (why := unfit(TRAFFICS[name], path, network)) is not None), None)
        if why is not None:
            texts[path.name] = why
    return texts


def _is_repeatable(name: str) -> bool:
    test = TESTS.get(name)
    return test is not None and test.by_frame_size and test.over_traffics


def _open(tested: Tested, traffic: str, test: str) -> list[str]:
    """Places without a result, in words."""
    rows = [
        (item.path, item.frame_bytes, is_known) for item, is_known in _known(tested, test) if item.traffic == traffic
    ]
    if not rows:
        return [f"{test} over {traffic}"]
    return [f"{test} over {traffic}: {path} at {size} bytes" for path, size, is_known in rows if not is_known]


def _known(tested: Tested, test: str) -> list[tuple[AtSize | RfcTestResults, bool]]:
    """The results of a test without those of the tester, and whether each is known."""
    testers = tested.procedure.testers
    if test == "throughput":
        throughputs = [result for result in tested.all_results if not result.is_tester]
        return [
            (throughput, throughput.goals[0].is_settled and throughput.goals[0].bounds.lower_pps is not None)
            for throughput in throughputs
        ]
    return [
        (item, any(value.value is not None or value.has_none for value in item.values))
        for item in tested.all_values
        if item.test == test and item.path not in testers
    ]


def _without(tested: Tested, names: Sequence[str]) -> str:
    """The frame sizes that were tested with plain frames only, as a remark."""
    sizes = {device.frame_bytes for device in tested.devices}
    for name in names:
        numbers = {
            result.frame_bytes for result in tested.all_results if result.traffic == name and not result.is_tester
        }
        if sizes - numbers:
            return (
                f"; {name} without frames of {', '.join(map(str, sorted(sizes - numbers)))} bytes, where they do not "
                "fit"
            )
    return ""
