"""`sixbench rfc`: devices tested by the benchmarking RFCs."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from ..plan.loading import default_directory, experiment_source, load_experiment
from . import completions
from .consent import require_consent
from .event_logs import event_log
from .options import ALLOW_PROGRAMS, EVENTS, MEAN_IT, QUIET, RESULTS_AS_JSON, RFC_OUT, SET, WAIT
from .run_command import measure_and_present
from .running import agent_hub, begin_run, first_manifest, known_calibration, tell

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
    from ..lab.privileges import enter_namespace_if_needed
    from ..model.errors import UsageError
    from ..model.units import parse_size
    from ..rfc.design import design
    from ..rfc.search import require_library
    from ..rfc.tests import TESTS
    from ..run.other_runs import measuring
    from ..run.probing import probe_machine
    from ..store import check_free

    loaded = load_experiment(experiment, set_, False, None, None)
    try:
        wanted = [parse_size(size) for size in frame]
    except ValueError as error:
        raise UsageError(f"--frame: {error}") from None
    if loaded.kernels:
        raise UsageError(
            f"{experiment} runs in emulated machines, whose clock a tester cannot use; leave out its kernels"
        )
    if any(topology.is_spread for topology in loaded.topologies):
        raise UsageError(f"{experiment} has hosts, and a tester has one clock; leave out its hosts")
    require_consent(loaded.paths, allowed=allow_programs)
    result, procedure = design(loaded, profile, test, wanted, traffic, quick=quick)
    if any(TESTS[name].needs_search for name in procedure.tests):
        require_library()
    if out is not None:
        check_free(out, result.text)
    enter_namespace_if_needed(sys.argv[1:])
    with event_log(events) as log, agent_hub() as hub:
        result, environment = probe_machine(
            hub, result, lambda: experiment_source(experiment, set_, False, None, None), means_it=i_mean_it
        )
        with measuring(result.name, wait=wait, told=tell) as presence:
            directory = out or default_directory(f"{result.name}-rfc")
            manifest = first_manifest(
                directory, result, environment, procedure=procedure, calibration=known_calibration(environment.kernel)
            )
            with begin_run(directory, manifest, is_named=out is not None) as writer:
                return measure_and_present(result, writer, [], hub, presence, json, quiet, log)
