"""The run directory: what is in it, written atomically, read back.

::

    DIR/
      manifest.json            experiment (text and read), seed, versions, kernel, settings, state
      experiment.yaml          the file as it was
      accepted.jsonl           while the run goes on: the hashes of the trials that were recorded
      trials/KEY/              one immutable directory a trial, renamed into place when complete
        trial.json             the record
        series.parquet         interval series: source, t_ns, quantity, value
        packets.parquet        what became of each datagram, where that was asked for
        *.pcapng               header captures
        tls-keys.log           with --capture: the secrets of TLS, by which Wireshark reads these
        client.sqlog           with --capture: the client's events of QUIC (qlog)
      arrived/ATTEMPT/KEY/     blocks from workers, whole, on their way to the trials (docs/many-machines.md)
      apart/ATTEMPT/KEY/       blocks from workers that came late or twice, and enter nothing
      trials.parquet           derived: one row a trial, for pandas and DuckDB
      findings.json, report.html, figures/     derived

`monitor` has what is in the directory of a monitor, which holds many runs.

It may import `model` and `mechanisms` only. No other layer knows the names of files.
"""

from .adoption import adopt_trials
from .atomic import create_file, replacing, write_file, write_into
from .briefs import read_briefs
from .calibration_file import calibration_to_json, keep_calibration, keep_false_alarms, machine_name, read_calibration
from .changes import RunDirectoryState
from .event_log import EventLog
from .folder import Folder
from .interrupting import interrupt_run
from .manifest import (
    CONTROL,
    LINK,
    PTP,
    Clock,
    ClockReading,
    EmulatedMachine,
    Environment,
    HostFacts,
    Manifest,
    ProcessorUse,
    RunState,
    Underlay,
    UnderlayReading,
    UnderlayWay,
    WorkerMachine,
    nowhere,
)
from .manifest_json import manifest_from_text, manifest_to_text, worker_from_text, worker_to_text
from .monitor import MonitorWriter, holds_monitor, read_monitor
from .monitor_room import Room, make_room, used_bytes
from .run_directory import (
    PACKETS,
    QLOG,
    REVERSE_PACKETS,
    SERIES,
    TLS_KEYS,
    TRIAL,
    Run,
    holds_run,
    others_who_may_write,
    prepare_to_read,
    read_run,
    trial_of,
    verify_run,
)
from .run_list import is_being_run, read_findings, run_directories
from .run_writing import (
    RunWriter,
    check_free,
    create_new_run,
    create_run,
    new_directory,
    open_run,
    trial_files,
    write_derived,
)
