"""Bytes of transactions on each link, beside theory."""

from __future__ import annotations

from ...model.evidence import Evidence
from ...model.expectation import NOTHING_FORETOLD
from ..proof.case import Case, Testimony
from ..proof.transactions import transaction_links, wire_metrics
from ..setting import TrialSetting
from .counters import CounterLooks
from .witness import Witness


class TransactionWitness(Witness):
    """Holds the counters of links against the bytes that the workload declares. It asks nobody itself."""

    @classmethod
    def sees(cls, setting: TrialSetting) -> bool:
        return setting.kind.expectation(setting.params, setting.pages) is not NOTHING_FORETOLD

    def judge(self, case: Case) -> Testimony:
        looks = case.seen(CounterLooks)
        exchange = case.kind.expectation(case.params, self.setting.pages).exchange
        # A link that changes loses packets, or has an MTU of its own.
        if exchange is None or case.due:
            return Testimony()
        transactions = case.kind.completed(case.params, case.server) / exchange.answers
        if not transactions:
            return Testimony()
        links = transaction_links(
            exchange, transactions, case.network, case.path.engine, case.views, looks.before, looks.after
        )
        return Testimony(evidence=Evidence(transactions=links or None), metrics=wire_metrics(links))
