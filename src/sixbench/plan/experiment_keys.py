"""The keys of an experiment, declared."""

from __future__ import annotations

from ..model.identifiers import NAME, NAME_RULE
from ..model.parameter import Parameter
from ..model.placement import PLACEMENTS
from .blocks_file import BLOCKS, REPEATS, STATISTICS
from .dut_file import DEVICE_UNDER_TEST
from .events_file import EVENTS
from .factors import FACTORS
from .hosts_file import HOSTS
from .kernels_file import KERNELS
from .keys import A_NAME, CompoundKey, KnownKeys, NamedValues, NameRule, ValueList, ValuePair
from .overrides import MAX_QUICK, QUICK, QUICK_VIRTUAL
from .paths_file import PATHS
from .profile_file import PROFILES
from .servers_file import HIDE_ADDRESSES, RESOLVER, SERVERS_KEY
from .topology_keys import TOPOLOGY
from .workload_file import WORKLOAD_LIST

DEFAULT_NAME = "experiment"
DEFAULT_SEED = 1
REQUIRED = ("topology", "paths", "workloads")
"""The keys that an experiment needs. `dut` and `servers` stand for the first two of them."""

NOTE = Parameter(name="note", kind="line", noun="a note", doc="")
NOTES = ValueList(what="notes", item=NOTE)
BETWEEN = ValuePair(item=A_NAME, rule="between must be a list of two hosts, the client and the server")

_ABOUT = (
    Parameter(
        name="experiment",
        kind="name",
        parser=NameRule(noun="an experiment", pattern=NAME, rule=NAME_RULE).parse,
        default=DEFAULT_NAME,
        doc="its name, also of the run directory",
    ),
    Parameter(name="title", kind="line", doc="one line for reports", unless_given="the name"),
    Parameter(name="description", kind="text", doc="the question, in a few sentences"),
    CompoundKey(name="notes", value=NOTES, doc="remarks that reports repeat"),
    CompoundKey(name="factors", value=FACTORS, doc="levels that several places share as $name, by name"),
    CompoundKey(name="profiles", value=PROFILES, doc="access networks of your own"),
)
"""The name and the question of an experiment, and values that others share."""

_COMPARED = (
    CompoundKey(
        name="dut",
        value=DEVICE_UNDER_TEST,
        unless_given="none",
        doc="the device between two hosts; it gives topology, between and paths",
    ),
    CompoundKey(
        name="hosts",
        value=HOSTS,
        unless_given="none",
        doc="machines over SSH that nodes may be on, or that servers are measured from",
    ),
    SERVERS_KEY,
    RESOLVER,
    HIDE_ADDRESSES,
    CompoundKey(name="topology", value=TOPOLOGY, doc="the network"),
    CompoundKey(
        name="between",
        value=BETWEEN,
        unless_given="the two hosts, where there are just two; those of the shape",
        doc="the two hosts that exchange traffic: the client, then the server",
    ),
    CompoundKey(name="paths", value=PATHS, doc="the paths that are compared"),
    CompoundKey(
        name="baseline",
        value=A_NAME,
        unless_given="the first path",
        doc="the path with which the others are compared",
    ),
    Parameter(name="aa", kind="flag", default=False, doc="run the baseline once more as NAME-aa, to measure the noise"),
    CompoundKey(name="workloads", value=WORKLOAD_LIST, doc="the traffic, and so the measurements"),
)
"""The network, the paths that are compared, and the traffic over them."""

_TRIALS = (
    CompoundKey(name="events", value=EVENTS, doc="changes of links in the middle of every trial"),
    CompoundKey(
        name="kernels",
        value=KERNELS,
        doc="run it in an emulated machine with each of these kernels, such as debian-6.1; several are a factor",
    ),
    BLOCKS,
    REPEATS,
    STATISTICS,
    Parameter(
        name="seed",
        kind="count",
        minimum=0,
        maximum=2**63 - 1,
        default=DEFAULT_SEED,
        doc="seed of the random order of trials",
    ),
    Parameter(
        name="bottleneck",
        kind="choice",
        choices=("any", "path"),
        default="any",
        doc="path: a trial that the machine's CPU rather than the path limited is invalid",
    ),
)
"""The trials: their conditions, their number, and what is made of them."""

_MACHINE = (
    Parameter(
        name="placement",
        kind="choice",
        choices=PLACEMENTS,
        unless_given="by workload",
        doc=(
            "the processors on which nodes run: together all on one, apart the server on one of its own, free as the "
            "kernel decides"
        ),
    ),
    Parameter(
        name="keep-awake",
        kind="flag",
        unless_given="where the machine is virtual",
        doc="processors do not sleep: a thread of the idle class keeps each awake",
    ),
    CompoundKey(
        name=QUICK,
        value=NamedValues(what=QUICK, item=None, most=MAX_QUICK),
        unless_given="fewer blocks, trials of 1 s",
        doc="the changes that --quick makes: values by dotted paths, such as blocks: 3",
    ),
    CompoundKey(
        name=QUICK_VIRTUAL,
        value=NamedValues(what=QUICK_VIRTUAL, item=None, most=MAX_QUICK),
        unless_given="nothing",
        doc="the same, beyond quick, on a virtual clock",
    ),
)
"""The use of the machine, and the changes of `--quick`."""

EXPERIMENT = KnownKeys(what="an experiment", entries=(*_ABOUT, *_COMPARED, *_TRIALS, *_MACHINE))
