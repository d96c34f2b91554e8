"""Destinations behind each link of the network's routers, without asking anew for every router.

Most links of large networks are bridges: without such a link, what lies behind it could not be reached. Each router
then uses it for the same prefixes, which are found once, from the leaves to the root of a depth-first search (R. E.
Tarjan, A note on finding the bridges of a graph, Information Processing Letters 2(6), 1974). The work grows with the
number of links, and not with its square.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from .topology import Family, Link, Topology

Span = tuple[int, int]
"""Places in a list: the first, and the one behind the last."""


def by_bridges(
    topology: Topology, family: Family, places: Sequence[int | None]
) -> dict[str, list[tuple[Span, Link]]] | None:
    """Destinations behind each link of each router, for the routers whose links to other routers are all bridges.

    Args:
        places: the place of each link's prefix in a list; None: the link does not carry the family.

    Returns:
        For each of these routers the places that it reaches, in order, each with the router's link to them. Places of
        its own links may be among them. None: there are hosts with several links, which are ends and no bridges.
    """
    graph = _Graph(topology, family)
    if graph.has_joining_host:
        return None
    seen: dict[str, _Visit] = {}
    for root in graph.neighbours:
        if root not in seen:
            _search(graph, root, places, seen)
    return {name: _sides(visit, seen, topology.links) for name, visit in seen.items() if visit.only_bridges}


@dataclass(kw_only=True)
class _Visit:
    """A router in the depth-first search.

    Attributes:
        parent_link: the number of the link by which it was found; -1 at the root.
        low: the earliest router that it or one found through it has a link to, by the order in which they were found.
        behind: the places of the links of this router and of those that were found through it.
        children: the links by which others were found from it.
        only_bridges: whether each of its links to routers is a bridge.
    """

    name: str
    root: str
    number: int
    parent: str | None
    parent_link: int
    low: int
    behind: list[Span] = field(default_factory=list)
    children: list[tuple[int, str]] = field(default_factory=list)
    only_bridges: bool = True


class _Graph:
    """The routers over the links that carry a family."""

    def __init__(self, topology: Topology, family: Family) -> None:
        self.neighbours: dict[str, list[tuple[int, str]]] = {}
        self.links: dict[str, list[int]] = {}
        self.has_joining_host = False
        for name, node in topology.nodes.items():
            links = topology.neighbours(name, family)
            if node.kind == "host":
                self.has_joining_host |= len(links) > 1
                continue
            self.links[name] = [index for index, _ in links]
            self.neighbours[name] = [(index, other) for index, other in links if topology.nodes[other].kind != "host"]


def _search(graph: _Graph, root: str, places: Sequence[int | None], seen: dict[str, _Visit]) -> None:
    """Visits what is connected with a router, and finds for each what lies behind it."""
    first = _Visit(name=root, root=root, number=len(seen), parent=None, parent_link=-1, low=len(seen))
    seen[root] = first
    stack: list[tuple[_Visit, Iterator[tuple[int, str]]]] = [(first, iter(graph.neighbours[root]))]
    while stack:
        visit, rest = stack[-1]
        for index, other in rest:
            if index == visit.parent_link:
                continue
            if other in seen:
                visit.low = min(visit.low, seen[other].number)
                visit.only_bridges = False
                continue
            number = len(seen)
            child = _Visit(name=other, root=root, number=number, parent=visit.name, parent_link=index, low=number)
            seen[other] = child
            visit.children.append((index, other))
            stack.append((child, iter(graph.neighbours[other])))
            break
        else:
            stack.pop()
            pairs = ((place, place + 1) for index in graph.links[visit.name] if (place := places[index]) is not None)
            visit.behind = _united([*pairs, *(span for _, child in visit.children for span in seen[child].behind)])
            if visit.parent is not None:
                parent = seen[visit.parent]
                parent.low = min(parent.low, visit.low)
                if visit.low <= parent.number:
                    visit.only_bridges = parent.only_bridges = False


def _sides(visit: _Visit, seen: dict[str, _Visit], links: Sequence[Link]) -> list[tuple[Span, Link]]:
    """Destinations behind each link of a router whose links to routers are all bridges."""
    results = [(span, links[index]) for index, child in visit.children for span in seen[child].behind]
    if visit.parent is not None:
        link = links[visit.parent_link]
        results += [(span, link) for span in _without(seen[visit.root].behind, visit.behind)]
    return sorted(results, key=lambda item: item[0])


def _united(spans: Iterable[Span]) -> list[Span]:
    """The same places, each once, in as few spans as possible, in order."""
    results: list[Span] = []
    for first, end in sorted(spans):
        if results and first <= results[-1][1]:
            results[-1] = results[-1][0], max(end, results[-1][1])
        else:
            results.append((first, end))
    return results


def _without(spans: Sequence[Span], others: Sequence[Span]) -> Iterator[Span]:
    """The places of some spans that are in none of the others; both are in order."""
    rest = iter(others)
    other = next(rest, None)
    for first, end in spans:
        at = first
        while other is not None and other[0] < end:
            if at < other[0]:
                yield at, other[0]
            at = max(at, other[1])
            if other[1] > end:
                break
            other = next(rest, None)
        if at < end:
            yield at, end
