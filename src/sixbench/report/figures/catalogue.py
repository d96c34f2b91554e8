"""Figures of a run, in the order of the report."""

from __future__ import annotations

from dataclasses import replace

from ...model.finding import Analysis
from ...model.workloads import WORKLOADS
from ...store import Run
from . import (
    data,
    distribution,
    dots,
    forest,
    fragments,
    groups,
    headers,
    kernels,
    network,
    paper_tables,
    path_mtu,
    published,
    rfc,
    sweep,
    timeline,
    waterfall,
)
from .data import Context
from .drawing import Drawing, slug


def drawings(run: Run, analysis: Analysis) -> list[Drawing]:
    """The figures for which the run has something to show. None is drawn yet."""
    context = Context.of(run.manifest.experiment, run.trials)
    results = [*network.drawings(context, run), *rfc.drawings(context, run)]
    items = data.measured(analysis)
    later = [
        *kernels.drawings(context, analysis),
        *groups.drawings(context, analysis),
        *path_mtu.drawings(context, run),
        *fragments.drawings(context, run),
        *forest.drawings(context, analysis),
        *distribution.drawings(context, run),
        *timeline.drawings(context, run),
        *waterfall.drawings(context, run),
    ]
    for workload in dict.fromkeys(item.workload for item in items):
        of_workload = [item for item in items if item.workload == workload]
        primary = WORKLOADS[workload].primary if workload in WORKLOADS else None
        results += sweep.drawings(context, [item for item in of_workload if item.main is not None], primary)
        results += dots.drawings(context, [item for item in of_workload if item.main is None])
        results += [drawing for drawing in later if drawing.workload == workload]
    results += published.drawings(context, analysis.published)
    results += paper_tables.drawings(analysis.tables)
    results += headers.drawings(context, run)
    return [replace(drawing, name=slug(drawing.name)) for drawing in results]
