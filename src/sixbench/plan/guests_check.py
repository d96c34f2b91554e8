"""Features that networks with an emulated machine cannot have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..mechanisms import Mechanism
from ..model.experiment import Combination
from ..model.path import Path
from ..model.topology import Topology
from .reader import Reader


def check_guests(
    reader: Reader,
    combinations: Iterable[Combination],
    topologies: Sequence[Topology],
    paths: Iterable[Path],
    between: tuple[str, str],
    mechanisms: Mapping[str, Mechanism],
) -> None:
    """Notes events that change the MTU of an interface in an emulated machine, where nobody is told of it."""
    guests = {
        node for path in paths for node in mechanisms[path.mechanism].install(path, topologies[0], between).guests
    }
    if not guests:
        return
    links = {link.name: link for link in topologies[0].links}
    for change in (change for combination in combinations for change in combination.events):
        link = links[change.link]
        machine = next((end.node for end in link.ends if end.node in guests), None)
        if machine is not None and change.mtu_bytes != link.mtu_bytes:
            reader.problem(
                ("events",), f'"{machine}" is an emulated machine, whose MTU no event changes; leave the mtu out'
            )
            return
