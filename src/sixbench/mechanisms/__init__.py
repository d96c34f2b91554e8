"""The transition mechanisms: what each is, which options an experiment may give it, and the network with it installed.
Pure.

One module a family of mechanisms, and this list. Engines (`sixbench.engines`) carry them out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..engines import ENGINES, Engine
from ..model.network import Network
from ..model.path import Path
from ..model.topology import Topology
from .bih import BIH
from .broker import TUNNEL_BROKER
from .common import legs_of
from .configured import FOUR_IN_SIX, GRE, SIX_IN_FOUR, VXLAN
from .consent import commands_of, commands_of_workloads, kernel_file_of
from .dslite import DS_LITE
from .dstm import DSTM
from .guest import GUEST
from .internet import INTERNET
from .isatap import ISATAP
from .kind import Mechanism, MechanismError
from .lost_links import remaining
from .lw4o6 import LW4O6
from .mape import MAP_E
from .mapt import MAP_T
from .nat64 import FOUR_SIX_FOUR_XLAT, NAT64
from .native import DUAL_STACK, NATIVE4, NATIVE6
from .natpt import NAT_PT
from .program import PROGRAM
from .selection import by_preference
from .shipped_programs import SHIPPED, SHIPPED_GUESTS
from .siit import SIIT
from .siitdc import SIIT_DC
from .sixover4 import SIX_OVER_FOUR
from .sixrd import SIX_RD
from .sixtofour import SIX_TO_FOUR
from .teredo import TEREDO
from .trt import TRT

MECHANISMS: Mapping[str, Mechanism] = {
    mechanism.name: mechanism
    for mechanism in (
        *(NATIVE4, NATIVE6, DUAL_STACK),
        *(SIX_IN_FOUR, SIX_OVER_FOUR, SIX_TO_FOUR, SIX_RD, ISATAP, TEREDO, TUNNEL_BROKER),
        *(FOUR_IN_SIX, DS_LITE, LW4O6, MAP_E, DSTM, GRE, VXLAN),
        *(SIIT, SIIT_DC, NAT64, NAT_PT, FOUR_SIX_FOUR_XLAT, MAP_T, BIH, TRT),
        *(PROGRAM, GUEST),
    )
}
"""All mechanisms, by name."""


def engine_of(path: Path) -> str:
    """The engine that executes it: the one that was chosen, or the first that is tried."""
    return path.engine or (MECHANISMS.get(path.mechanism) or INTERNET[path.mechanism]).engines[0]


def find_engine(name: str) -> Engine:
    """The engine of that name, which several mechanisms share or one has for itself. Raises `KeyError`."""
    engines = (engine for mechanism in MECHANISMS.values() for engine in mechanism.executed_by)
    return {engine.name: engine for engine in (*engines, *ENGINES.values())}[name]


def install(path: Path, topology: Topology, between: tuple[str, str]) -> Network:
    """The network with a path installed. Raises `MechanismError` where it cannot be."""
    network = MECHANISMS[path.mechanism].install(path, topology, between)
    if path.engine is None:
        return network
    settled = find_engine(path.engine).settled
    return replace(network, devices=tuple(settled(device) for device in network.devices))
