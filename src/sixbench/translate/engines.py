"""The carriers of packets for `sixbench translate`: the core alone, or an engine's device in a throw-away network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from ..engines import USER as USER_ENGINE
from ..mechanisms.tayga import TAYGA
from ..model.errors import UsageError
from ..model.quoting import shown
from .kind import DeviceRequest, PacketMechanism
from .mechanisms import PACKET_MECHANISMS
from .option import Given

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .passing.network import PassingNetwork
    from .process import PacketDecision

USER = USER_ENGINE.name
ENGINES = tuple(dict.fromkeys((USER, *(engine for mechanism in PACKET_MECHANISMS for engine in mechanism.networks))))
"""The engines that packets can be taken through, the core alone first."""
_NATURES: Mapping[str, str] = {TAYGA.name: "a translator without state"}
"""The nature of engines that have devices of some mechanisms alone."""


class PacketCarrier(Protocol):
    """A mechanism, by the core or by a device, that takes packets."""

    def carry(self, packets: Sequence[tuple[int, bytes]]) -> list[PacketDecision]:
        """The decisions about packets, each of which comes with its time in nanoseconds."""

    def finish(self) -> int:
        """Number of fragments that waited in vain."""


@contextmanager
def carrying(
    mechanism: PacketMechanism,
    given: Given,
    engine: str,
    arguments: list[str],
    packets: Callable[[], Iterable[bytes]] = tuple,
) -> Iterator[PacketCarrier]:
    """The mechanism by an engine. Raises `UsageError` where it cannot be as it is asked for, and `CapabilityError`,
    `LabError` and `AgentError`.

    Args:
        arguments: of the command, which may have to begin anew in a user namespace.
        packets: reads all that are to come. Called where the network depends on who sends.
    """
    from ..agent import AgentHub, find_agent
    from .process import MechanismProcess

    line = mechanism.first_line(given)
    request = DeviceRequest(mechanism=mechanism.name, given=given, line=line, packets=tuple)
    if engine != USER:
        _network(mechanism, engine, request)
    with MechanismProcess(find_agent(), line) as core:
        if engine == USER:
            yield core
            return
        core.finish()  # the core refuses settings that no device can have
    from ..lab.privileges import enter_namespace_if_needed
    from .passing.passage import DevicePassage

    enter_namespace_if_needed(arguments)
    network = _network(mechanism, engine, replace(request, packets=packets))
    with AgentHub(find_agent()) as hub, DevicePassage(hub, network, engine) as passage:
        yield passage


def _network(mechanism: PacketMechanism, engine: str, request: DeviceRequest) -> PassingNetwork:
    """The network around the device. Raises `UsageError` and `CapabilityError`."""
    if engine not in ENGINES:
        raise UsageError(f"--engine {shown(engine)}: it is one of {', '.join(ENGINES)}")
    try:
        if engine not in mechanism.networks:
            raise UsageError(_no_device(engine, mechanism))
        return mechanism.networks[engine](request)
    except UsageError as error:
        raise UsageError(f"--engine {engine}: {error}; --engine {USER} does it") from error


def _no_device(engine: str, mechanism: PacketMechanism) -> str:
    names = ", ".join(other.name for other in PACKET_MECHANISMS if engine in other.networks)
    return f"{engine} is {_NATURES.get(engine, 'for other mechanisms')} ({names}), and no {mechanism.name}"
