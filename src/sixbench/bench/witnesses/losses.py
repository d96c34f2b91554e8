"""Places where packets of a trial were lost: the kernel's own reports of what it drops, and counters of rules.

The reports come from a program on a tracepoint that runs only when a packet is dropped (docs/protocol.md,
`drops-start`): a trial that loses nothing pays nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...agent import Agent
from ...agent.answers import ExecAnswer
from ...agent.requests import DropsStart, DropsStop, Exec
from ...model.evidence import Evidence
from ...model.observation import Drop
from ...model.topology import Topology
from ..asking import SentRequest, ask, ask_all, wait_all
from ..by_machine import by_machine, with_namespaces
from ..proof.case import Case, Testimony
from ..proof.drops import Drops, read_counters
from ..proof.emulation import lost_places
from ..proof.losses import loss_evidence
from ..setting import TrialSetting
from .counters import CounterLooks
from .emulation import EmulatorRecords
from .witness import Waiting, Witness

LIST_COUNTERS = ["nft", "-j", "list", "counters"]


class LossWitness(Witness):
    """Watches the nodes of a path for the datagrams of one trial, unless this network's kernel has refused before."""

    def __init__(self, setting: TrialSetting) -> None:
        super().__init__(setting)
        self._watching: list[tuple[Agent, list[Agent]]] = []
        self._refused: str | None = None
        self._reports: list[Drop] | None = None
        self._rules_before: dict[str, dict[str, int]] = {}
        self._rules_after: dict[str, dict[str, int]] = {}

    def begin(self) -> Waiting:
        laboratory, token = self.setting.laboratory, self.setting.token
        rules = _ask_rules(laboratory.topology, self.setting.watched)
        self._refused = laboratory.unwatchable
        machines = by_machine(self.setting.watched.values()) if self._refused is None else []
        watching = [(laboratory.watcher(agents), agents) for agents in machines]
        asked = [ask(watcher, _start(agents, token)) for watcher, agents in watching]
        self._watching = watching

        def started() -> None:
            self._rules_before = _read_rules(rules)
            self._watching = []
            for both, item in zip(watching, asked, strict=True):
                refusal = item.refusal()
                if refusal is None:
                    self._watching.append(both)
                else:
                    laboratory.unwatchable = self._refused = refusal

        return started

    def end(self) -> Waiting:
        asked = [(agents, ask(watcher, DropsStop())) for watcher, agents in self._watching]
        self._watching = []
        rules = _ask_rules(self.setting.laboratory.topology, self.setting.watched)

        def stopped() -> None:
            drops = [
                with_namespace
                for agents, answer in asked
                for with_namespace in with_namespaces(answer.answer().dropped, agents)
            ]
            if asked and self._refused is None:
                self._reports = drops
            self._rules_after = _read_rules(rules)

        return stopped

    def observation(self) -> Drops:
        return Drops(
            reports=self._reports,
            not_told=self._refused,
            rules_before=self._rules_before,
            rules_after=self._rules_after,
        )

    def judge(self, case: Case) -> Testimony:
        drops, looks = self.observation(), case.seen(CounterLooks)
        losses = loss_evidence(
            case.transports,
            case.network.topology,
            case.nodes,
            case.client,
            case.server,
            drops,
            looks.before,
            looks.after,
            lost_places(case.network.topology, case.seen(EmulatorRecords).by_link),
        )
        return Testimony(evidence=Evidence(losses=losses.losses, filters=drops.rules), notes=losses.notes)


def _start(agents: Sequence[Agent], token: str) -> DropsStart:
    return DropsStart(netns_inodes=[agent.netns_inode for agent in agents], token=token)


def rule_counters(topology: Topology, agents: Mapping[str, Agent]) -> dict[str, dict[str, int]]:
    """Packets by node and named counter, of the nodes that have a ruleset of ours. Raises `AgentError`."""
    return _read_rules(_ask_rules(topology, agents))


def _ask_rules(topology: Topology, agents: Mapping[str, Agent]) -> dict[str, SentRequest[ExecAnswer]]:
    filtering = {name: agent for name, agent in agents.items() if topology.nodes[name].filters}
    return ask_all(filtering, Exec(argv=LIST_COUNTERS))


def _read_rules(asked: Mapping[str, SentRequest[ExecAnswer]]) -> dict[str, dict[str, int]]:
    return {name: read_counters(answer.stdout) for name, answer in wait_all(asked).items()}
