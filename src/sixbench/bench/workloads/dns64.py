"""Questions to the path's resolver, or to the server itself where the tester is tested."""

from __future__ import annotations

from ...mechanisms.asking import asked_prefix, with_questions
from ...model.network import Network
from ...model.parameter import Params
from ...model.path import Path
from ...model.workloads import dns64
from ...model.workloads.dns64 import PREFIX, SELF_TEST
from .performer import Performer, Prepared


class Dns64Performer(Performer):
    """A flow of questions, whose legs lead to the resolver and from there to the server."""

    workload = dns64.KIND.name

    def prepare(self, path: Path, network: Network, params: Params) -> Prepared:
        return Prepared(
            network=network if SELF_TEST.of(params) else with_questions(path, network),
            params={PREFIX.column: str(asked_prefix(path)), **params},
        )
