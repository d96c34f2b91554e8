"""A measurement between two machines, as an experiment without a network of its own.

So it has trials, blocks and findings like any other. What is between the machines is not known: there is no topology.
"""

from __future__ import annotations

from ..model.experiment import Blocks, Combination, Experiment, Statistics
from ..model.path import Path
from ..model.topology import Family
from ..model.workload import Workload
from .experiment_file import DEFAULT_SEED

DEFAULT_BLOCKS = 6
"""Of two families: an even number, so that as many blocks begin with one as with the other (`plan.schedule`)."""

PATH_NAMES: dict[Family, str] = {4: "ipv4", 6: "ipv6"}

LOCAL = "local"
"""This machine, where an experiment names its hosts."""


def as_experiment(
    workload: Workload, host: str, families: tuple[Family, ...], blocks: int | None, text: str
) -> Experiment:
    """The experiment: one combination, a path for each family, IPv4 the baseline where there are both.

    Args:
        blocks: how often each family is measured; None: as often as it needs, `DEFAULT_BLOCKS` for a comparison.
        text: what stands for the experiment's file.
    """
    comparing = len(families) > 1
    number = blocks or (DEFAULT_BLOCKS if comparing and workload.kind != "pmtu" else 1)
    names = [f"IPv{family}" for family in families]
    paths = tuple(Path(name=PATH_NAMES[f], mechanism=f"native{f}", family=f) for f in families)
    return Experiment(
        name="measure",
        title=f"{workload.kind} to {host} over {' and '.join(names)}",
        description="Between two machines. What is between them is not known, and no packet was captured.",
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
