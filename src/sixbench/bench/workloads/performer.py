"""The type of a performer: one kind of workload in one trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from ...model.evidence.events import LinkEvent
from ...model.leg import Legs
from ...model.network import Network
from ...model.observation import TranslatorState
from ...model.observer import Observer
from ...model.parameter import Params, Scalar
from ...model.path import Path
from ...model.topology import Family
from ...model.workload import Part, Result
from ..parts import Started, parts_of, run_parts
from ..setting import TrialSetting


@dataclass(frozen=True, kw_only=True)
class Performance:
    """The traffic of a trial, as its two ends and its links saw it.

    Attributes:
        client, server: the agents' results.
        events: the changes of links that happened.
        forgotten: the last counters of translators that were taken away meanwhile.
    """

    client: Result = field(default_factory=dict)
    server: Result = field(default_factory=dict)
    events: tuple[LinkEvent, ...] = ()
    forgotten: tuple[TranslatorState, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """The place of a workload.

    Attributes:
        network: its legs are those that the traffic uses.
        params: of the workload, by column, with those that follow from the place.
    """

    network: Network
    params: dict[str, Scalar]


class Performer:
    """A workload as it is performed: flows between client and server over the path, which begin as one.

    A workload that is performed otherwise has a class of its own, which changes what is other.
    """

    workload: ClassVar[str | None] = None
    """The name of the workload. None: this is how all others are performed."""

    def prepare(self, path: Path, network: Network, params: Params) -> Prepared:
        """The place of a trial. Nobody is asked.

        Args:
            network: with the path installed.
        """
        return Prepared(network=network, params=dict(params))

    def ordered(self, legs: Mapping[Family, Legs], path: Path, params: Params) -> Mapping[Family, Legs]:
        """The legs in the order in which flows that use several families get their addresses.

        Args:
            legs: those of the path's own family first.
        """
        return legs

    def perform(
        self, setting: TrialSetting, params: dict[str, Scalar], begun: Started, observer: Observer | None
    ) -> Performance:
        """Runs the workload. Raises `AgentError` or `LabError`.

        Args:
            params: those of the setting, and what witnesses add to them.
            begun: is called with what runs, once the first of the traffic has begun.
            observer: is told what arrives and how senders fare, by other threads. None: nobody is asked.
        """
        parts = [_with_contents(part, setting) for part in parts_of(setting.kind, params)]
        client, server = run_parts(parts, setting.hosts, setting.key, setting.token, begun, observer)
        return Performance(client=client, server=server)


def _with_contents(part: Part, setting: TrialSetting) -> Part:
    """The parameters with the contents of files in place of their names."""
    contents: dict[str, Scalar] = {}
    if "trace" in part.params:
        contents["trace"] = setting.traces[str(part.params["trace"])].datagrams
    if "page" in part.params:
        contents["page"] = setting.pages[str(part.params["page"])].encoded
    return replace(part, params=part.params | contents)
