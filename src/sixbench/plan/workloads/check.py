"""The type of a check: one kind of workload against the paths and networks of an experiment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from ...model.experiment import Combination
from ...model.network import Network
from ...model.parameter import Params
from ...model.path import Path
from ...model.topology import Topology
from ..reader import Reader

Misfit = tuple[str | None, str]
"""The parameter that does not fit, and why. None: it is the path that does not."""


class WorkloadCheck:
    """The needs of a workload beyond a route for each of its families. Most have none."""

    workload: ClassVar[str | None] = None
    """The name of the workload. None: one without such needs."""

    def with_needs(
        self,
        reader: Reader,
        topologies: tuple[Topology, ...],
        combinations: Sequence[Combination],
        between: tuple[str, str],
    ) -> tuple[Topology, ...]:
        """The topologies with what its traffic needs there. Notes what is in the way.

        Args:
            combinations: its own.
        """
        return topologies

    def unfit(self, path: Path, params: Params) -> str | None:
        """The reason why it cannot go over a path, whatever the network is like, as a sentence. None: it can."""
        return None

    def misfits(self, network: Network, path: Path, params: Params) -> Iterable[Misfit]:
        """Problems that its traffic would have with a network.

        Args:
            network: with the path installed.
        """
        return ()
