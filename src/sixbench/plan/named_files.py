"""The files that parameters of workloads name, such as traces and recorded pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from ..model.parameter import Parameter
from .factors import Factors
from .reader import Reader
from .workload_file import WorkloadTemplate, values_of

_T = TypeVar("_T")


def read_named_files(
    reader: Reader,
    factors: Factors,
    templates: Sequence[WorkloadTemplate],
    parameter: Parameter,
    read: Callable[[Path], _T],
    wrong: type[Exception],
) -> dict[str, _T]:
    """The contents of the files that workloads name, by their names. Each is read once, and what is wrong with it is
    noted.

    Args:
        read: reads one of them.
        wrong: what `read` raises where a file has not the form that it should have.
    """
    contents: dict[str, _T] = {}
    for template in templates:
        for name in values_of(template, factors, parameter.column):
            if str(name) in contents:
                continue
            try:
                contents[str(name)] = read(reader.source.directory / str(name))
            except wrong as error:
                reader.problem((*template.path, parameter.name), f"{name}: {error}")
            except OSError as error:
                reader.problem((*template.path, parameter.name), f"reading {name}: {error.strerror}")
    return contents
