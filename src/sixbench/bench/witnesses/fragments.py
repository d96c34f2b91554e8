"""Fragments that nodes and links counted, beside what theory says of them."""

from __future__ import annotations

from ...model.evidence import Evidence
from ...model.evidence.fragments import Fragments
from ...model.reason import Excuse
from ..proof.case import Case, Testimony
from ..proof.fragments import FragmentEvidence, fragment_evidence
from .counters import CounterLooks
from .witness import Witness


class FragmentWitness(Witness):
    """Holds the counters of fragments against theory. It asks nobody itself."""

    def judge(self, case: Case) -> Testimony:
        looks = case.seen(CounterLooks)
        judged = FragmentEvidence(fragments=Fragments())
        if not case.due:
            judged = fragment_evidence(
                case.kind.served_by,
                case.kind.agent_params(case.params),
                case.network,
                case.path,
                case.client,
                case.server,
                looks.before,
                looks.after,
            )
        unreached = judged.unreached
        if "df" in case.params and (case.due or case.client.get("sent") == 0):
            # Packets may reach no link after an event, or if the sender's DF policy refused them.
            unreached = frozenset(view.link.name for view in case.views)
        return Testimony(
            evidence=Evidence(fragments=judged.fragments),
            notes=judged.notes,
            excuses=[Excuse.FORETOLD_LOSS] if judged.is_loss_foretold else [],
            unreached=unreached,
        )
