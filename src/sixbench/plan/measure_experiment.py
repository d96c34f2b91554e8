"""A measurement between two machines, as an experiment without a network of its own.

It has trials, blocks and findings like any other. It has no topology, because nobody knows what is between the
machines.
"""

from __future__ import annotations

from ..model.experiment import Blocks, Combination, Experiment, Statistics
from ..model.path import Path
from ..model.topology import Family
from ..model.workload import Workload
from ..model.workloads import WORKLOADS
from .experiment_keys import DEFAULT_SEED

PATH_NAMES: dict[Family, str] = {4: "ipv4", 6: "ipv6"}

MEASUREMENT = "measure"
"""The name of each such experiment."""

LOCAL = "local"
"""The name of this machine where an experiment names its hosts."""


def as_experiment(
    workload: Workload, host: str, families: tuple[Family, ...], blocks: int | None, text: str
) -> Experiment:
    """The experiment. It has one combination and a path for each family. IPv4 is the baseline if there are both.

    Args:
        blocks: how often each family is measured; None: as often as it needs, and as its workload has it for a
            comparison.
        text: the text that takes the place of the experiment's file.
    """
    comparing = len(families) > 1
    number = blocks or (WORKLOADS[workload.kind].compared_blocks if comparing else 1)
    names = [f"IPv{family}" for family in families]
    paths = tuple(Path(name=PATH_NAMES[f], mechanism=f"native{f}", family=f) for f in families)
    return Experiment(
        name=MEASUREMENT,
        title=f"{workload.kind} to {host} over {' and '.join(names)}",
        description=(
            "A measurement between two machines. The network between them is not known, and no packet was captured."
        ),
        file="the command line",
        text=text,
        topologies=(),
        between=(LOCAL, host),
        paths=paths,
        baseline=paths[0].name,
        combinations=(Combination(name="c0001", workload=workload, levels={}, topology=0),),
        blocks=Blocks(minimum=number, maximum=number),
        statistics=Statistics(),
        seed=DEFAULT_SEED,
    )
