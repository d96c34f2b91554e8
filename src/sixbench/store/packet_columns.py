"""The columns of a packet log, as agents send them (docs/protocol.md)."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np


def packet_column(log: Mapping[str, Any], name: str, form: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    """One of its columns. Raises `KeyError`, `TypeError` or `ValueError` where it has not that form."""
    return np.frombuffer(base64.b64decode(log[name], validate=True), dtype=form).astype(np.int64)
