"""Datagrams on every link, as theory predicts them and as tshark reads them from captures: exactly."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from _pytest.mark import ParameterSet
from fragments_lab import FragmentsLab, Profile, Seen

from sixbench.agent import AgentHub, find_agent
from sixbench.model.topology import Family
from sixbench.theory import Attempt, Policy, Prediction, predict

COUNTERS: list[tuple[Family, str]] = [
    (family, name)
    for family in (4, 6)
    for name in ("FragOKs", "FragCreates", "FragFails", "ReasmReqds", "ReasmOKs", "ReasmFails")
]
SETTLED = 2
"""So many datagrams are sent once all path MTUs are known."""

MASQUERADE = {"masquerade": True}

NATIVE = {
    "one-mtu": (Profile(mtus=(1500, 1500, 1500), mechanism="native4"), (1400, 1472, 1473, 4000)),
    "shrinking": (Profile(mtus=(1500, 1485, 1470, 1455), mechanism="native4"), (1400, 1445, 1470, 2000, 8000)),
    "narrow-middle": (
        Profile(mtus=(1500, 1485, 1000, 1400, 576, 9000), mechanism="native4"),
        (500, 1470, 2932, 5000, 65507),
    ),
    "least": (Profile(mtus=(1500, 68, 1500), mechanism="native4"), (40, 41, 1470)),
    "translated": (
        Profile(
            mtus=(1500, 1485, 1000, 1400, 576, 9000),
            mechanism="native4",
            settings=dict.fromkeys(("r1", "r2", "r3", "r4", "r5"), MASQUERADE),
        ),
        (500, 1470, 5000),
    ),
    "translated-once": (
        Profile(mtus=(1500, 1485, 1000, 1400, 576, 9000), mechanism="native4", settings={"r3": MASQUERADE}),
        (1470, 5000),
    ),
    "one-mtu-6": (Profile(mtus=(1500, 1500, 1500), mechanism="native6"), (1452, 1453, 2889, 2893)),
    "shrinking-6": (Profile(mtus=(1500, 1485, 1470, 1455), mechanism="native6"), (1400, 1445, 1470, 2000, 8000)),
    "narrow-middle-6": (Profile(mtus=(1500, 1485, 1300, 1400, 1280, 9000), mechanism="native6"), (1200, 1470, 65527)),
    "translated-6": (
        Profile(
            mtus=(1500, 1485, 1300, 1400, 1280),
            mechanism="native6",
            settings=dict.fromkeys(("r1", "r2", "r3", "r4"), MASQUERADE),
        ),
        (1200, 1470, 5000),
    ),
}
"""Profiles by name, each with sizes of datagrams."""

CARRIER = (1500, 1400, 1300, 1500)
TUNNELS = {
    "6in4": (Profile(mtus=CARRIER, mechanism="6in4", nodes=("r1", "r3"), engine="user"), (1200, 1470)),
    "6in4-cut": (
        Profile(mtus=CARRIER, mechanism="6in4", nodes=("r1", "r3"), options={"mtu": 1480}, engine="user"),
        (1400, 1470, 5000),
    ),
    "6in4-hosts": (
        Profile(mtus=CARRIER, mechanism="6in4", nodes=("h1", "h2"), options={"mtu": 1480}, engine="ebpf"),
        (1400, 5000),
    ),
    "4in6-cut": (
        Profile(mtus=CARRIER, mechanism="4in6", nodes=("r1", "r3"), options={"mtu": 1480}, engine="user"),
        (1200, 1400, 1470),
    ),
    "4in6-many": (
        Profile(mtus=CARRIER, mechanism="4in6", nodes=("r1", "r3"), options={"mtu": 1480}, engine="ebpf"),
        (5000,),
    ),
    "ds-lite-cut": (
        Profile(mtus=CARRIER, mechanism="ds-lite", nodes=("r1", "r3"), options={"mtu": 1480}, engine="user"),
        (1400, 1470, 5000),
    ),
    "gre-cut": (
        Profile(mtus=CARRIER, mechanism="gre", nodes=("r1", "r3"), options={"mtu": 1480}, engine="ebpf"),
        (1400, 1470, 5000),
    ),
    "gre-4-in-6": (
        Profile(
            mtus=CARRIER,
            mechanism="gre",
            nodes=("h1", "r3"),
            options={"mtu": 1450, "inner": "ipv4", "outer": "ipv6"},
            engine="user",
        ),
        (1400, 1470),
    ),
    "vxlan-cut": (
        Profile(
            mtus=(1500, 1400, 1300, 1400, 1500),
            mechanism="vxlan",
            nodes=("r1", "r4"),
            options={"mtu": 1350, "inner": "ipv6"},
            engine="kernel",
        ),
        (1300, 1470),
    ),
}
POLICIED = {
    "df": (Profile(mtus=(1500, 1485, 1470, 1455), mechanism="native4"), (1400, 1430, 1470)),
    "df-6": (Profile(mtus=(1500, 1485, 1470, 1455), mechanism="native6"), (1400, 1430, 1470)),
    "df-narrow": (Profile(mtus=(1500, 576, 1500), mechanism="native4"), (540, 1000)),
    "df-translated": (
        Profile(mtus=(1500, 1485, 1300), mechanism="native4", settings=dict.fromkeys(("r1", "r2"), MASQUERADE)),
        (1270, 1400),
    ),
    "df-6in4": (Profile(mtus=CARRIER, mechanism="6in4", nodes=("r1", "r3"), engine="user"), (1200, 1400)),
    "df-4in6": (
        Profile(mtus=(1500, 1400, 1350, 1500), mechanism="4in6", nodes=("r1", "r3"), engine="user"),
        (1200, 1400),
    ),
    "black-hole": (
        Profile(mtus=(1500, 1485, 1300, 1500), mechanism="native4", settings={"r1": {"icmp": "no-too-big"}}),
        (1200, 1450),
    ),
    "black-hole-6": (
        Profile(mtus=(1500, 1485, 1300, 1500), mechanism="native6", settings={"r2": {"icmp": "none"}}),
        (1200, 1450),
    ),
}
"""Profiles for every policy about DF."""

ATOMIC = {
    "atomic": (Profile(mtus=(1500, 1485, 1470, 1455), mechanism="native6"), (32, 1399, 1400, 1445, 1452)),
    "atomic-translated": (
        Profile(mtus=(1500, 1485, 1470), mechanism="native6", settings={"r1": MASQUERADE}),
        (1200, 1414, 1418, 1429, 1430),
    ),
    "atomic-6in4": (Profile(mtus=CARRIER, mechanism="6in4", nodes=("r1", "r3"), engine="user"), (1200, 1400)),
    "atomic-6in4-cut": (
        Profile(mtus=CARRIER, mechanism="6in4", nodes=("r1", "r3"), options={"mtu": 1480}, engine="ebpf"),
        (1200, 1424, 1425),
    ),
    "atomic-black-hole": (
        Profile(mtus=(1500, 1485, 1300, 1500), mechanism="native6", settings={"r2": {"icmp": "none"}}),
        (1200, 1420),
    ),
} | {
    f"atomic-{drop}": (
        Profile(mtus=(1500, 1400, 1500), mechanism="native6", settings={"r2": {"drop": drop}}),
        (1200,),
    )
    for drop in ("first-fragments", "later-fragments", "fragments")
}
"""Profiles for datagrams that are atomic fragments (RFC 6946)."""

DROPPING = {
    f"{drop}-{mechanism}": (
        Profile(mtus=(1500, 1400, 1500), mechanism=mechanism, settings={"r2": {"drop": drop}}),
        (1200, 2000),
    )
    for drop in ("first-fragments", "later-fragments", "fragments")
    for mechanism in ("native4", "native6")
}


def _cases(profiles: dict[str, tuple[Profile, tuple[int, ...]]], policies: tuple[Policy, ...]) -> list[ParameterSet]:
    return [
        pytest.param((name, profile), size_bytes, policy, id=f"{name}-{size_bytes}-{policy}")
        for name, (profile, sizes) in profiles.items()
        for size_bytes in sizes
        for policy in policies
    ]


CASES = [
    *_cases(NATIVE | TUNNELS | DROPPING, ("clear",)),
    *_cases(POLICIED, ("set", "probe", "kernel")),
    *_cases(ATOMIC, ("atomic",)),
]


@pytest.fixture(scope="module", autouse=True)
def tshark() -> None:
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")


@pytest.fixture(scope="module")
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FragmentsLab]:
    """Built once for all sizes of a profile: pytest groups them."""
    name, profile = request.param
    with AgentHub(find_agent()) as hub, FragmentsLab(hub, profile, tmp_path_factory.mktemp(name)) as lab:
        yield lab


@pytest.mark.parametrize(("lab", "size_bytes", "policy"), CASES, indirect=["lab"])
def test_every_link_carries_and_every_node_counts_what_is_predicted(
    lab: FragmentsLab, size_bytes: int, policy: Policy
) -> None:
    prediction = predict(lab.network, size_bytes, policy, engine=lab.profile.engine)
    seen = lab.send(size_bytes, prediction.lost_first + SETTLED, **{} if policy == "clear" else {"df": policy})
    outcome = prediction.settled.outcome
    assert seen.client.get("refused", 0) == (SETTLED if outcome == "refused" else 0)
    if outcome == "delivered":
        assert seen.server["unique"] >= SETTLED
    else:
        assert seen.server["unique"] == 0
    for index, crossing in enumerate(lab.network.crossings):
        settled = list(prediction.settled.loads[index].sizes_bytes) * SETTLED
        last = seen.sizes_bytes[index][-len(settled) :] if settled else []
        # Packets of one datagram overtake one another where programs carry a part of them.
        assert sorted(last) == sorted(settled), crossing.link.name
    if _learns_within_a_datagram(prediction):
        return
    attempts = _attempts(prediction)
    for index, crossing in enumerate(lab.network.crossings):
        every = [size for attempt in attempts for size in attempt.loads[index].sizes_bytes]
        assert sorted(seen.sizes_bytes[index]) == sorted(every), crossing.link.name
    assert _counted(lab, seen) == _predicted_counts(lab, attempts)


def _attempts(prediction: Prediction) -> list[Attempt]:
    """Attempts that are sent: the lost ones, then those that arrive."""
    return [*prediction.attempts[: prediction.lost_first], *[prediction.settled] * SETTLED]


def _learns_within_a_datagram(prediction: Prediction) -> bool:
    """True if errors about the first packets of a datagram come while a tunnel's entry sends its others."""
    return any(
        attempt.learned_mtus and any(work.too_long > 1 for (node, _), work in attempt.work.items() if node != "h1")
        for attempt in prediction.attempts
    )


Counts = dict[tuple[str, Family, str], int]


def _counted(lab: FragmentsLab, seen: Seen) -> Counts:
    return {(node, family, name): seen.counted(node, family, name) for node in lab.agents for family, name in COUNTERS}


def _predicted_counts(lab: FragmentsLab, attempts: list[Attempt]) -> Counts:
    counts = {(node, family, name): 0 for node in lab.agents for family, name in COUNTERS}
    for attempt in attempts:
        for (node, family), work in attempt.work.items():
            for name, number in work.counters(family).items():
                counts[node, family, name] += number
    return counts
