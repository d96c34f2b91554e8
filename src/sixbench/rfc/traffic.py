"""Kinds of frames over which the RFCs have their tests repeated: to 256 networks, also with prefixes of other lengths,
with pseudo-random ports, shares of native frames, and extension headers. A new one is an entry here, and its clauses in
`profiles`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from ..model.network import Network
from ..model.parameter import Scalar
from ..model.path import Path
from ..model.topology import Family, OtherBits
from ..model.workloads import frames_parameters
from ..plan.workloads.frames import natively, unfit_frames
from .state import keeps_state

PLAIN = "plain"
"""Frames between one pair of networks, with one pair of ports, all on the path, without extension headers. Every test
is run with them."""


@dataclass(frozen=True, kw_only=True)
class RfcTraffic:
    """Frames that differ from plain ones.

    Attributes:
        name: as `--traffic` and tables have it.
        doc: what they are, in a few words.
        params: what their trials have, by column.
        profiles: the RFCs that ask for them.
        changes_device: whether the device's own configuration has to know of them.
    """

    name: str
    doc: str
    params: Mapping[str, Scalar]
    profiles: frozenset[str]
    changes_device: bool = False

    @property
    def native_ratio(self) -> float:
        """The share of the frames that go natively."""
        return float(frames_parameters.NATIVE.of(self.params))

    def least_bytes(self, family: Family) -> int:
        """The smallest frames of that family."""
        return frames_parameters.LEAST_BYTES[family] + frames_parameters.extension_bytes(self.params)


_TRANSITION, _IPV6, _ALL = frozenset({"8219"}), frozenset({"5180"}), frozenset({"2544", "5180", "8219"})
NETWORKS = 256
"""RFC 2544 section 12."""

TRAFFICS: Mapping[str, RfcTraffic] = {
    rfc_traffic.name: rfc_traffic
    for rfc_traffic in (
        RfcTraffic(
            name=f"networks-{NETWORKS}",
            doc=f"to {NETWORKS} networks behind each host, in pseudo-random order (RFC 2544 section 12)",
            params={frames_parameters.NETWORKS.column: NETWORKS},
            profiles=_ALL,
            changes_device=True,
        ),
        *(
            RfcTraffic(
                name=f"prefix-{bits}",
                doc=f"to {NETWORKS} networks with prefixes of {bits} bits (RFC 5180 section 5.2.1)",
                params={frames_parameters.NETWORKS.column: NETWORKS, frames_parameters.NETWORK_PREFIX.column: bits},
                profiles=_IPV6,
                changes_device=True,
            )
            for bits in get_args(OtherBits)
        ),
        RfcTraffic(
            name="random-ports",
            doc="with pseudo-random pairs of ports (RFC 4814 section 4.5)",
            params={frames_parameters.PORTS.column: "pseudo-random"},
            profiles=_TRANSITION,
        ),
        *(
            RfcTraffic(
                name=f"native-{percent}",
                doc=f"{100 - percent} % on the path and {percent} % natively, over the other family "
                "(RFC 8219 section 5.3, RFC 5180 section 7)",
                params={frames_parameters.NATIVE.column: percent / 100},
                profiles=_TRANSITION | _IPV6,
            )
            for percent in (10, 50, 90)
        ),
        *(
            RfcTraffic(
                name=name,
                doc=f"with the IPv6 extension headers `{name}` (RFC 5180 section 5.3)",
                params={frames_parameters.EXTENSION_HEADERS.column: name},
                profiles=_IPV6,
            )
            for name in frames_parameters.EXTENSION_BYTES
        ),
    )
}


def traffics_of(profile: str) -> list[RfcTraffic]:
    """Those that a profile asks for."""
    return [traffic for traffic in TRAFFICS.values() if profile in traffic.profiles]


def unfit(traffic: RfcTraffic, path: Path, network: Network) -> str | None:
    """The reason why such frames cannot go over a path. None: they can."""
    why = next((words for _, words in unfit_frames(network, path, traffic.params)), None)
    if why is not None:
        return why
    if traffic.native_ratio and not natively(network, traffic.params):
        other = 6 if network.family == 4 else 4
        return f"{path.name} has no route for native IPv{other} from host to host"
    if frames_parameters.PORTS.of(traffic.params) == "pseudo-random" and keeps_state(network):
        return f"a device that keeps state on {path.name} takes frames from the server only to ports that it knows"
    return None
