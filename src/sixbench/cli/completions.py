"""Completions that a shell offers after Tab: names of experiments, papers, formats, run directories, kernels and the
like.

Each function takes the word so far and gives the words that begin with it, some with a line that says what they are.
Nothing here raises: a shell would print that into the command line.
"""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Iterable

Words = list[tuple[str, str]]
"""Words and what they are."""


def experiments(incomplete: str) -> Words:
    """Shipped experiments, and experiment files."""
    from ..plan.shipped import shipped_names

    return _beginning(incomplete, shipped_names(), "a shipped experiment") + experiment_files(incomplete)


def experiment_files(incomplete: str) -> Words:
    """YAML files, and directories that may lead to some."""
    names = sorted(glob.glob(f"{glob.escape(incomplete)}*"))
    directories = [(f"{path}/", "a directory") for path in names if os.path.isdir(path)]
    return [(path, "a file") for path in names if path.endswith((".yaml", ".yml"))] + directories


def papers(incomplete: str) -> Words:
    """Papers that can be reproduced."""
    from ..plan.shipped import PUBLISHED_FILE, shipped_directory, shipped_names

    names = [name for name in shipped_names() if (shipped_directory() / name / PUBLISHED_FILE).is_file()]
    return _beginning(incomplete, names, "a paper")


def profiles(incomplete: str) -> Words:
    """Access networks."""
    from ..plan.profile_file import shipped_profiles

    return [(name, profile.title) for name, profile in shipped_profiles().items() if name.startswith(incomplete)]


def templates(incomplete: str) -> Words:
    """Templates of experiments."""
    from ..plan.templates import templates as known

    return [(name, purpose) for name, purpose in known().items() if name.startswith(incomplete)]


def run_directories(incomplete: str) -> Words:
    """Run directories: those under `runs` and those below the path so far; else directories on the way to them."""
    from pathlib import Path

    from ..store import holds_run

    names = [path for path in sorted(glob.glob(f"{glob.escape(incomplete)}*")) if os.path.isdir(path)]
    names += [path for path in sorted(glob.glob("runs/*")) if path.startswith(incomplete) and path not in names]
    runs = [(path, "a run") for path in names if holds_run(Path(path))]
    known = {path for path, _ in runs}
    return runs + [(f"{path}/", "a directory") for path in names if path not in known]


def directories(incomplete: str) -> Words:
    """Directories."""
    names = sorted(glob.glob(f"{glob.escape(incomplete)}*"))
    return [(f"{path}/", "a directory") for path in names if os.path.isdir(path)]


def kernels(incomplete: str) -> Words:
    """Kernels, kept or to be fetched."""
    from ..guest import kept_kernels
    from ..model.kernels import DEBIAN_KERNELS

    kept = [kernel.name for kernel in kept_kernels()]
    missing = [name for name in DEBIAN_KERNELS if name not in kept]
    return _beginning(incomplete, kept, "kept") + _beginning(incomplete, missing, "to fetch")


def kept_kernels(incomplete: str) -> Words:
    """Kernels that are kept."""
    from ..guest import kept_kernels as kept

    return _beginning(incomplete, [kernel.name for kernel in kept()], "kept")


def kernel_list(incomplete: str) -> Words:
    """Kernels with commas between them."""
    before, comma, last = incomplete.rpartition(",")
    given = before.split(",")
    return [(f"{before}{comma}{name}", words) for name, words in kernels(last) if name not in given]


def formats(incomplete: str) -> Words:
    """Formats of reports."""
    from ..report import FORMATS

    return _beginning(incomplete, FORMATS, "a format")


def metrics(incomplete: str) -> Words:
    """Metrics of which more or less is better, so that one run can be worse than another."""
    from ..model.metric import METRICS

    return [
        (name, metric.label)
        for name, metric in METRICS.items()
        if metric.better != "neither" and name.startswith(incomplete)
    ]


def server_workloads(incomplete: str) -> Words:
    """Workloads that go to servers of others."""
    from ..model.workloads import WORKLOADS
    from ..report.words import workload_title

    return [
        (name, workload_title(name))
        for name, kind in WORKLOADS.items()
        if kind.to_servers is not None and name.startswith(incomplete)
    ]


def workloads(incomplete: str) -> Words:
    """Workloads that `measure` does."""
    from ..model.workloads import WORKLOADS
    from ..report.words import workload_title

    return [
        (name, workload_title(name))
        for name, kind in WORKLOADS.items()
        if kind.needs_network is None and name.startswith(incomplete)
    ]


def mechanisms(incomplete: str) -> Words:
    """Native paths and transition mechanisms."""
    from ..mechanisms import MECHANISMS

    return _beginning(incomplete, MECHANISMS, "a mechanism")


def df_policies(incomplete: str) -> Words:
    """Policies of the DF bit."""
    from ..theory import POLICIES

    return _beginning(incomplete, POLICIES, "a policy")


def labs(incomplete: str) -> Words:
    """Labs that are up."""
    from ..lab import registry
    from ..model.errors import SixbenchError

    with contextlib.suppress(SixbenchError, OSError):
        return _beginning(incomplete, [lab.name for lab in registry.all_labs() if lab.holder.alive], "a lab")
    return []


def lab_nodes(incomplete: str) -> Words:
    """Nodes of the labs that are up."""
    from ..lab import registry
    from ..model.errors import SixbenchError

    with contextlib.suppress(SixbenchError, OSError):
        alive = [lab for lab in registry.all_labs() if lab.holder.alive]
        return [(node, f"of {lab.name}") for lab in alive for node in lab.nodes if node.startswith(incomplete)]
    return []


def calibrated(incomplete: str) -> Words:
    """Quantities that a calibration measures."""
    from ..calibration.metrics import BY_NAME

    return _beginning(incomplete, BY_NAME, "a quantity")


def _beginning(incomplete: str, names: Iterable[str], what: str) -> Words:
    return [(name, what) for name in names if name.startswith(incomplete)]
