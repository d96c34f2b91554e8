"""Shapes of networks: chain, star, tree, ring, mesh, as nodes and links without any settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from ..model.topology import NodeKind

MAX_NODES = 2000
MAX_LINKS = 2000


@dataclass(frozen=True, kw_only=True)
class Skeleton:
    """Nodes and links without any settings. `between`: the hosts that exchange traffic unless others are named."""

    nodes: dict[str, NodeKind]
    links: list[tuple[str, str]]
    between: tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A short form.

    Attributes:
        sizes: the keys that say how large it is, with the least and the greatest value. The first can stand alone.
        required: the sizes that must be given.
        is_row: whether its links follow one another, so that an MTU may shrink `per link`.
        too_large: whether sizes would give more nodes or links than there may be.
    """

    name: str
    doc: str
    sizes: Mapping[str, tuple[int, int]]
    required: tuple[str, ...]
    make: Callable[[Mapping[str, int]], Skeleton]
    links: Callable[[Mapping[str, int]], int]
    is_row: bool = False


def _chain(sizes: Mapping[str, int]) -> Skeleton:
    routers = [f"r{number}" for number in range(1, sizes["nodes"] - 1)]
    names = ["h1", *routers, "h2"]
    nodes: dict[str, NodeKind] = dict.fromkeys(names, "router")
    return Skeleton(nodes=nodes | {"h1": "host", "h2": "host"}, links=list(pairwise(names)), between=("h1", "h2"))


def _star(sizes: Mapping[str, int]) -> Skeleton:
    hosts = [f"h{number}" for number in range(1, sizes["hosts"] + 1)]
    nodes: dict[str, NodeKind] = {"r1": "router"}
    return Skeleton(
        nodes=nodes | dict.fromkeys(hosts, "host"),
        links=[("r1", host) for host in hosts],
        between=(hosts[0], hosts[-1]),
    )


def _tree(sizes: Mapping[str, int]) -> Skeleton:
    nodes: dict[str, NodeKind] = {"r1": "router"}
    links: list[tuple[str, str]] = []
    level, routers = ["r1"], 1
    hosts: list[str] = []
    for depth in range(1, sizes["depth"] + 1):
        below: list[str] = []
        for parent in level:
            for _ in range(sizes["fanout"]):
                if depth == sizes["depth"]:
                    hosts.append(f"h{len(hosts) + 1}")
                    name = hosts[-1]
                else:
                    routers += 1
                    name = f"r{routers}"
                nodes[name] = "host" if depth == sizes["depth"] else "router"
                below.append(name)
                links.append((parent, name))
        level = below
    return Skeleton(nodes=nodes, links=links, between=(hosts[0], hosts[-1]))


def _ring(sizes: Mapping[str, int]) -> Skeleton:
    return _mesh({"routers": sizes["routers"], "degree": 2})


def _mesh(sizes: Mapping[str, int]) -> Skeleton:
    """Routers in a circle, each linked to its `degree` nearest, half of them on either side (of an odd degree the
    opposite one too), and a host at each."""
    count = sizes["routers"]
    degree = _degree(sizes)
    pairs = [(number, (number + step) % count) for step in range(1, degree // 2 + 1) for number in range(count)]
    pairs += [(number, number + count // 2) for number in range(count // 2)] if degree % 2 else []
    routers = [f"r{number}" for number in range(1, count + 1)]
    hosts = [f"h{number}" for number in range(1, count + 1)]
    nodes: dict[str, NodeKind] = dict.fromkeys(routers, "router")
    return Skeleton(
        nodes=nodes | dict.fromkeys(hosts, "host"),
        links=[
            (routers[number], routers[other]) for number, other in dict.fromkeys(tuple(sorted(pair)) for pair in pairs)
        ]
        + list(zip(routers, hosts, strict=True)),
        between=(hosts[0], hosts[count // 2]),
    )


def _degree(sizes: Mapping[str, int]) -> int:
    return sizes.get("degree", sizes["routers"] - 1)


SHAPES: dict[str, Shape] = {
    shape.name: shape
    for shape in (
        *(
            Shape(
                name=name,
                doc=doc,
                sizes={"nodes": (2, MAX_NODES)},
                required=("nodes",),
                make=_chain,
                links=lambda sizes: sizes["nodes"] - 1,
                is_row=True,
            )
            for name, doc in (
                ("chain", "that many nodes in a row: h1, r1, r2 ..., h2"),
                ("line", "another word for chain"),
            )
        ),
        Shape(
            name="star",
            doc="that many hosts h1, h2 ... around a router r1",
            sizes={"hosts": (2, MAX_NODES - 1)},
            required=("hosts",),
            make=_star,
            links=lambda sizes: sizes["hosts"],
        ),
        Shape(
            name="tree",
            doc="routers below r1, fanout of them below each, and hosts h1, h2 ... that many links (depth) below r1",
            sizes={"depth": (1, 10), "fanout": (2, MAX_NODES - 1)},
            required=("depth", "fanout"),
            make=_tree,
            links=lambda sizes: sum(sizes["fanout"] ** level for level in range(1, sizes["depth"] + 1)),
        ),
        Shape(
            name="ring",
            doc="that many routers r1, r2 ... in a circle, with a host h1, h2 ... at each",
            sizes={"routers": (3, MAX_NODES // 2)},
            required=("routers",),
            make=_ring,
            links=lambda sizes: 2 * sizes["routers"],
        ),
        Shape(
            name="mesh",
            doc=(
                "that many routers r1, r2 ..., each linked to every other one or to as many as degree "
                "says, with a host at each"
            ),
            sizes={"routers": (2, MAX_NODES // 2), "degree": (1, MAX_NODES // 2 - 1)},
            required=("routers",),
            make=_mesh,
            links=lambda sizes: sizes["routers"] * (_degree(sizes) + 2) // 2,
        ),
    )
}
"""The shapes by the keys that experiments write."""
