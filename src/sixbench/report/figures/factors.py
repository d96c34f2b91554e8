"""Factors that are quantities. Only between levels of a quantity can there be a line."""

from __future__ import annotations

from collections.abc import Collection

from ...model.parameter import Scalar
from ...model.workloads import WORKLOADS

_UNITS = ("_bytes", "_bps", "_ns", "_pps", "_per_s", "_ratio", "_packets")
"""Endings of the columns of quantities."""

_NAMES = ("seed",)
"""Factors whose numbers are mere names."""

_SYSCTL = "net_"
_CODES = range(10)
"""Numbers that stand for a choice in the kernel's settings, such as 0, 1 and 2 of `tcp_ecn`."""


def is_quantity(workload: str, column: str, levels: Collection[Scalar]) -> bool:
    """True if these levels are amounts of something, so that there are values between them.

    A category is what has no values between its levels: words, yes and no, seeds, and the codes of the kernel's
    settings, which may be numbers all the same.

    Args:
        workload: the kind of workload that has the factor.
        column: the factor's name in records, with its unit.
    """
    if column in _NAMES or not all(map(_is_number, levels)):
        return False
    if column.endswith(_UNITS):
        return True
    if workload in WORKLOADS and WORKLOADS[workload].by_column(column) is not None:
        return True
    # The remaining factors are kernel settings, and shared factors, whose names say nothing about the scale.
    is_code = all(level in _CODES for level in levels)
    return not (is_code and (column.startswith(_SYSCTL) or 0 in levels))


def _is_number(level: Scalar) -> bool:
    return isinstance(level, (int, float)) and not isinstance(level, bool)
