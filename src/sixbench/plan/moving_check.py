"""Checks of events that take a link, or its addresses, from the client of a trial."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..mechanisms import Mechanism, MechanismError, remaining
from ..model.experiment import Combination
from ..model.path import Path
from ..model.topology import Topology
from ..model.workloads import WORKLOADS
from .reader import Reader


def check_moving(
    reader: Reader,
    combinations: Iterable[Combination],
    topologies: Sequence[Topology],
    paths: Sequence[Path],
    between: tuple[str, str],
    mechanisms: Mapping[str, Mechanism],
) -> None:
    """Notes workloads that end with the client's address, those that move where nothing is taken, and paths without
    another way."""
    for combination in combinations:
        kind, params = WORKLOADS[combination.workload.kind], combination.workload.params
        moves = kind.moves_by is not None and bool(kind.moves_by.of(params))
        takes = any(change.takes is not None for change in combination.events)
        if moves and not takes and kind.moves_by is not None:
            reader.problem(
                ("workloads",),
                f"{kind.name} with {kind.moves_by.name} needs an event that takes a link or addresses of the client, "
                "such as {at: 1s, link: h1-r1, takes: link}",
            )
        if takes and not moves:
            able = " or ".join(
                f"{item.name} with {item.moves_by.name}" for item in WORKLOADS.values() if item.moves_by is not None
            )
            reader.problem(
                ("workloads",), f"{kind.name} ends where an event takes the client's address; measure {able}"
            )
        if not takes:
            continue
        for path in paths:
            if not combination.goes_over(path.name):
                continue
            topology = topologies[combination.topology_of(path.name)]
            try:
                remaining(mechanisms[path.mechanism].install(path, topology, between), combination.events)
            except MechanismError as error:
                reader.problem(("paths", path.aa_of or path.name), str(error))
