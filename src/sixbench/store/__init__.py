"""The run directory: what is in it, written atomically, read back.

::

    DIR/
      manifest.json            experiment (text and read), seed, versions, kernel, settings, state
      experiment.yaml          the file as it was
      trials/KEY/              one immutable directory a trial, renamed into place when complete
        trial.json             the record
        series.parquet         interval series: source, t_ns, quantity, value
        packets.parquet        what became of each datagram, where that was asked for
        *.pcap                 header captures
      trials.parquet           derived: one row a trial, for pandas and DuckDB
      findings.json, report.html, figures/     derived

May import `model` only. No layer but this one knows file names.
"""

from .adoption import adopt_trials
from .atomic import write_file
from .calibration_file import calibration_to_json, keep_calibration, keep_false_alarms, machine_name, read_calibration
from .manifest import Clock, Environment, Guest, Manifest, RunState
from .run_directory import Run, RunWriter, create_run, holds_run, open_run, read_run, write_derived

__all__ = [
    "Clock",
    "Environment",
    "Guest",
    "Manifest",
    "Run",
    "RunState",
    "RunWriter",
    "adopt_trials",
    "calibration_to_json",
    "create_run",
    "holds_run",
    "keep_calibration",
    "keep_false_alarms",
    "machine_name",
    "open_run",
    "read_calibration",
    "read_run",
    "write_derived",
    "write_file",
]
