"""The calibration of this machine and kernel, kept where later runs find it."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
from dataclasses import asdict, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from ..model.calibration import Calibration, ComparisonErrors
from ..model.errors import StoreError, WriteError
from ..model.files import open_regular
from ..model.quoting import printable
from .atomic import write_file

CALIBRATION_SCHEMA = "sixbench.calibration/1"

MAX_FILE_BYTES = 4 * 2**20

_MACHINE_ID = Path("/etc/machine-id")


def machine_name() -> str:
    """An opaque name of this machine: a hash of its machine-id, which should not be shown (machine-id(5)), or of the
    host's name where it has none."""
    try:
        identity = _MACHINE_ID.read_text(encoding="ascii").strip()
    except (OSError, UnicodeError):
        identity = ""
    return sha256(f"sixbench {identity or platform.node()}".encode()).hexdigest()[:16]


def calibration_path(machine: str, kernel: str) -> Path:
    """The file in which it is kept, in `sixbench` in the state directory of the XDG Base Directory Specification."""
    given = os.environ.get("XDG_STATE_HOME", "")
    state = Path(given) if os.path.isabs(given) else Path.home() / ".local" / "state"
    return state / "sixbench" / f"calibration-{machine}-{re.sub(r'[^A-Za-z0-9._+-]', '_', kernel)}.json"


def calibration_to_json(calibration: Calibration, results: Any) -> str:
    """The text of the file.

    Args:
        results: the results in detail. Later runs do not need them.
    """
    data = {"schema": CALIBRATION_SCHEMA, **asdict(calibration), "results": results}
    return json.dumps(data, indent=1, allow_nan=False, ensure_ascii=False)


def keep_calibration(text: str, machine: str, kernel: str) -> Path:
    """Writes it where later runs find it. It replaces an older one. Raises `WriteError`."""
    path = calibration_path(machine, kernel)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(f"making {path.parent} for the calibration: {error.strerror}") from error
    write_file(path, text)
    return path


def keep_false_alarms(false_alarms: ComparisonErrors, machine: str, kernel: str) -> Path:
    """Puts false alarms into the calibration of that machine and kernel, unless it has later ones. If there is no
    calibration, a new one has nothing else. Raises `WriteError`."""
    calibration = Calibration(
        machine=machine,
        kernel=kernel,
        realtime_ns=false_alarms.realtime_ns,
        quick=False,
        ranges=(),
        false_alarms=false_alarms,
    )
    results: Any = []
    with contextlib.suppress(StoreError):
        calibration, results = _read(machine, kernel) or (calibration, results)
    known = calibration.false_alarms
    if known is None or known.realtime_ns < false_alarms.realtime_ns:
        calibration = replace(calibration, false_alarms=false_alarms)
    return keep_calibration(calibration_to_json(calibration, results), machine, kernel)


def read_calibration(machine: str, kernel: str) -> Calibration | None:
    """The calibration of that machine and kernel; None where there is none. Raises `StoreError` if the file is not a
    calibration, or belongs to another machine or kernel."""
    known = _read(machine, kernel)
    return None if known is None else known[0]


def _read(machine: str, kernel: str) -> tuple[Calibration, Any] | None:
    """The calibration, and its results in detail."""
    path = calibration_path(machine, kernel)
    try:
        with open_regular(path) as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"reading the calibration {path}: {error.strerror}") from error
    try:
        if len(content) > MAX_FILE_BYTES:
            raise ValueError(f"it has more than {MAX_FILE_BYTES} bytes")
        data = json.loads(content)
        if not isinstance(data, dict) or data.get("schema") != CALIBRATION_SCHEMA:
            raise ValueError(f"its schema is not {CALIBRATION_SCHEMA}")
        known = {name: value for name, value in data.items() if name not in ("schema", "results")}
        calibration = _adapter().validate_python(known)
    except (ValueError, RecursionError) as error:
        reason = printable(str(error).partition("\n")[0])
        raise StoreError(
            f"this version cannot read the calibration {path} ({reason}); make a new one with: sixbench calibrate"
        ) from error
    if (calibration.machine, calibration.kernel) != (machine, kernel):
        raise StoreError(f"{path} belongs to another machine or kernel; make a new one with: sixbench calibrate")
    return calibration, data.get("results", [])


@cache
def _adapter() -> TypeAdapter[Calibration]:
    return TypeAdapter(Calibration)
