"""The tools of a worker's measurements: agents, the networks of the run at hand, and what is known of the machine."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ..agent import AgentHub
from ..bench.bypass import by_workload, measure_bypass
from ..bench.laboratory import Laboratories
from ..bench.node_settings import merged
from ..bench.other_runs import measuring
from ..bench.probing import probe_machine
from ..bench.runner import TrialRunner
from ..model.bypass import Bypass
from ..model.calibration import Calibration
from ..model.errors import SixbenchError
from ..model.observer import Observer
from ..model.repeats import next_attempt
from ..model.trial import TrialRecord
from ..plan.schedule import numbered
from ..store import Environment, Manifest, WorkerMachine, manifest_from_text, manifest_to_text, trial_files
from ..theory import expected_amid_changes
from .messages import BlockJob, BrokenBlock, MeasuredBlock, RefusedBlock, Reply, WorkerPlan, job_from_wire
from .refusals import refuse_foreign

Report = Callable[[str], None]
"""A function that gets a sentence for people."""


class Abandoned(Exception):
    """Nobody waits for the block any more."""


@dataclass(kw_only=True)
class _AtHand:
    """The run that is measured: what stays between its blocks.

    Attributes:
        fence: of the orchestrator that hands out its blocks.
        any_built: whether one of its networks was up.
    """

    fence: str
    manifest: Manifest
    environment: Environment
    laboratories: Laboratories
    bypass: tuple[Bypass, ...] = ()
    any_built: bool = False
    nodes: dict[str, dict[str, list[str]]] = field(default_factory=dict)


class BlockMeasurer:
    """The measuring of one worker, one block at a time.

    Args:
        name: of the worker.
        hub: starts its agents.
        calibration: gives what is known of how far the machine may be trusted, by its kernel.
        report: gets sentences on what goes on.
    """

    def __init__(
        self, name: str, hub: AgentHub, calibration: Callable[[str], Calibration | None], report: Report
    ) -> None:
        self.name = name
        self._hub = hub
        self._calibration = calibration
        self._report = report
        self._at_hand: _AtHand | None = None

    def choose(self, run: str) -> WorkerPlan:
        """The plan of this machine for a run."""
        try:
            manifest = manifest_from_text(run, "a run that the scheduler handed out")
            refuse_foreign(manifest.experiment)
            experiment, environment = probe_machine(self._hub, manifest.experiment)
        except SixbenchError as error:
            return WorkerPlan(worker=self.name, run=None, why=str(error))
        chosen = replace(manifest, experiment=experiment, environment=environment)
        return WorkerPlan(worker=self.name, run=manifest_to_text(chosen), why=None)

    def measure(self, wire: str, is_wanted: Callable[[], bool]) -> Reply:
        """The outcome of a block.

        Args:
            wire: the job.
            is_wanted: whether somebody still waits for it; asked before each trial.

        Raises:
            Abandoned: nobody does.
            KeyboardInterrupt: as it comes; then the networks are down.
        """
        try:
            job, manifest = job_from_wire(wire)
            refuse_foreign(manifest.experiment)
            return self._measured(job, manifest, is_wanted)
        except SixbenchError as error:
            self.rest()
            return RefusedBlock(worker=self.name, why=str(error))
        except Abandoned:
            raise
        except Exception:  # noqa: BLE001, nothing is hidden: the orchestrator ends with this error
            self.rest()
            return BrokenBlock(worker=self.name, traceback=traceback.format_exc())
        except BaseException:
            self.rest()
            raise

    def rest(self) -> None:
        """Takes down the networks, and lets the processors sleep."""
        if self._at_hand is not None:
            self._at_hand.laboratories.close()
            self._at_hand = None

    def _measured(self, job: BlockJob, manifest: Manifest, is_wanted: Callable[[], bool]) -> MeasuredBlock:
        def ask() -> None:
            if not is_wanted():
                raise Abandoned

        experiment = manifest.experiment
        # While other runs measure, this worker waits, and its networks must not keep processors awake.
        with measuring(experiment.name, wait=True, report=self._waits, meanwhile=ask) as presence:
            at_hand = self._taken_up(job, manifest)
            experiment, laboratories = at_hand.manifest.experiment, at_hand.laboratories
            laboratories.forget_times()
            laboratories.processors.start(experiment.keep_awake)
            at_hand.bypass = measure_bypass(self._hub, experiment, at_hand.bypass)
            runner = TrialRunner(
                experiment=experiment,
                laboratories=laboratories,
                theory=expected_amid_changes,
                observer=Observer(),
                bypass=by_workload(at_hand.bypass),
                keeps_packets=manifest.capture,
                presence=presence,
                directory=None,
                any_built=at_hand.any_built,
            )
            self._report(f"block {job.block} of {experiment.name}")
            trials: dict[str, dict[str, bytes]] = {}
            recorded: dict[str, TrialRecord] = {}
            for planned, first in numbered(experiment, job.block):
                if planned.combination not in job.combinations:
                    continue
                while (attempt := next_attempt(planned, recorded, experiment.repeats)) is not None:
                    ask()
                    outcome, _ = runner.run(attempt, first + (attempt.repeat or 0))
                    at_hand.any_built = runner.any_built
                    record = replace(outcome.record, worker=self.name, attempt=job.attempt)
                    recorded[record.key] = record
                    trials[record.key] = trial_files(record, outcome.series, outcome.files)
        return MeasuredBlock(
            worker=self.name,
            machine=self._machine(at_hand),
            lab_build_ns=list(laboratories.build_ns),
            install_ns={path: list(times) for path, times in laboratories.install_ns.items()},
            trials=trials,
        )

    def _waits(self, sentence: str) -> None:
        self.rest()
        self._report(sentence)

    def _taken_up(self, job: BlockJob, manifest: Manifest) -> _AtHand:
        """The run that the job belongs to, with the networks that are up if the block before was of it, too."""
        if self._at_hand is None or self._at_hand.fence != job.fence:
            self.rest()
            experiment, environment = probe_machine(self._hub, manifest.experiment)
            self._at_hand = _AtHand(
                fence=job.fence,
                manifest=replace(manifest, experiment=experiment),
                environment=environment,
                laboratories=Laboratories(self._hub, experiment),
            )
        return self._at_hand

    def _machine(self, at_hand: _AtHand) -> WorkerMachine:
        at_hand.nodes = merged(at_hand.nodes, at_hand.laboratories.settings)
        environment = replace(at_hand.environment, nodes=at_hand.nodes, processors=at_hand.laboratories.processors.use)
        return WorkerMachine(
            environment=environment, calibration=self._calibration(environment.kernel), bypass=at_hand.bypass
        )
