"""`sixbench rfc`: devices tested by the benchmarking RFCs."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..plan.changes import ExperimentChanges
from ..plan.loading import default_directory, experiment_source, load_experiment
from . import completions
from .consent import require_consent_to_run
from .event_logs import event_log
from .options import ALLOW_PROGRAMS, EVENTS, MEAN_IT, QUIET, RESULTS_AS_JSON, RFC_OUT, SET, WAIT
from .run_command import measure_and_present
from .run_requests import RunOutput
from .running import agent_hub, begin_run, first_manifest, known_calibration, run_here, tell

if TYPE_CHECKING:
    from ..model.experiment import Experiment
    from ..model.procedure import Procedure

DEFAULT_PROFILE = "8219"


def rfc(
    experiment: str = typer.Argument(
        help="An experiment file, or the name of a shipped one: its network and its paths are tested.",
        autocompletion=completions.experiments,
    ),
    test: list[str] = typer.Option(
        [],
        "--test",
        metavar="NAME",
        help="Run only this test, and those that it needs; may be repeated. There are: throughput, latency, pdv, ipdv, "
        "frame-loss-rate, back-to-back, recovery, overload, establishment, capacity, teardown, dns64.",
    ),
    profile: str = typer.Option(
        DEFAULT_PROFILE,
        "--profile",
        metavar="2544|5180|8219|9693",
        help="The RFC whose tests, frame sizes and clauses apply.",
    ),
    frame: list[str] = typer.Option(
        [], "--frame", metavar="SIZE", help="Test only frames of this size, such as 512B; may be repeated."
    ),
    traffic: list[str] = typer.Option(
        [],
        "--traffic",
        metavar="NAME",
        help="Repeat the tests over these frames alone, beside plain ones; may be repeated. There are: plain (no "
        "others), networks-256, prefix-48, prefix-126, prefix-128, random-ports, native-10, native-50, native-90, "
        "hop-by-hop, destination-options, routing, fragment, chain. Left out: those that the RFC asks for.",
    ),
    set_: list[str] = SET,
    quick: bool = typer.Option(
        False, "--quick", help="Shorter trials than the RFC asks for; the report says which clauses that breaks."
    ),
    out: Path | None = RFC_OUT,
    json: bool = RESULTS_AS_JSON,
    quiet: bool = QUIET,
    wait: bool = WAIT,
    allow_programs: bool = ALLOW_PROGRAMS,
    i_mean_it: bool = MEAN_IT,
    events: Path | None = EVENTS,
) -> int:
    """Test devices by RFC 2544, 5180, 8219 or 9693, clause by clause.

    The paths are those of the experiment, whose workloads are not used. The tester's own limit is searched first,
    between the hosts without a device. An interrupted run goes on with: sixbench resume DIR.
    """
    request = RfcRequest(
        experiment=experiment,
        changes=ExperimentChanges(assignments=tuple(set_)),
        tests=tuple(test),
        profile=profile,
        frame_sizes=tuple(frame),
        traffic=tuple(traffic),
        quick=quick,
        out=out,
        wait=wait,
        allows_programs=allow_programs,
        means_it=i_mean_it,
        output=RunOutput(as_json=json, quiet=quiet, events=events),
    )
    return _test(request, *_designed(request))


@dataclass(frozen=True, kw_only=True)
class RfcRequest:
    """Tests by an RFC, of the paths of an experiment.

    Attributes:
        experiment: its file, or the name of a shipped one.
        changes: to that file.
        tests: their names; empty: all of the profile.
        profile: the number of the RFC.
        frame_sizes: as text; empty: those of the profile.
        traffic: the names of what is tested beside plain frames; empty: what the profile asks for.
        quick: whether trials are shorter than the RFC asks for.
        out: the run directory; None: a new one in `runs`.
        wait: whether it begins only when no other run measures on this machine.
        allows_programs: whether programs may run that the experiment names.
        means_it: whether interfaces may be lent that are in use.
    """

    experiment: str
    changes: ExperimentChanges
    tests: tuple[str, ...]
    profile: str
    frame_sizes: tuple[str, ...]
    traffic: tuple[str, ...]
    quick: bool
    out: Path | None
    wait: bool
    allows_programs: bool
    means_it: bool
    output: RunOutput


def _designed(request: RfcRequest) -> tuple[Experiment, Procedure]:
    """The experiment of the tests, and their procedure. Raises `UsageError` and `ExperimentError` where they cannot be
    run."""
    from ..model.errors import UsageError
    from ..model.units import parse_size
    from ..rfc.design import design
    from ..rfc.procedures import TESTS
    from ..rfc.search import require_library
    from ..store import check_free

    loaded = load_experiment(request.experiment, request.changes)
    try:
        sizes = [parse_size(size) for size in request.frame_sizes]
    except ValueError as error:
        raise UsageError(f"--frame: {error}") from None
    if loaded.servers:
        raise UsageError(f"{request.experiment} has servers, and a tester needs a network; give it a topology")
    if loaded.kernels:
        raise UsageError(
            f"{request.experiment} runs in emulated machines, whose clock a tester cannot use; leave out its kernels"
        )
    if any(topology.is_spread for topology in loaded.topologies):
        raise UsageError(f"{request.experiment} has hosts, and a tester has one clock; leave out its hosts")
    require_consent_to_run(loaded, allowed=request.allows_programs)
    experiment, procedure = design(loaded, request.profile, request.tests, sizes, request.traffic, quick=request.quick)
    if any(TESTS[name].needs_search for name in procedure.tests):
        require_library()
    if request.out is not None:
        check_free(request.out, experiment.text)
    return experiment, procedure


def _test(request: RfcRequest, designed: Experiment, procedure: Procedure) -> int:
    """Runs the tests, and presents them."""
    from ..bench.other_runs import measuring
    from ..bench.probing import probe_machine
    from ..lab.privileges import enter_namespace_if_needed

    enter_namespace_if_needed(sys.argv[1:])
    with event_log(request.output.events) as log, agent_hub() as hub:
        experiment, environment = probe_machine(
            hub,
            designed,
            lambda: experiment_source(request.experiment, request.changes),
            means_it=request.means_it,
        )
        with measuring(experiment.name, wait=request.wait, report=tell) as presence:
            directory = request.out or default_directory(f"{experiment.name}-rfc")
            calibration = known_calibration(environment.kernel)
            manifest = first_manifest(directory, experiment, environment, procedure=procedure, calibration=calibration)
            with begin_run(directory, manifest, is_named=request.out is not None) as writer:
                return measure_and_present(run_here(experiment, writer, hub, presence), request.output, log)
