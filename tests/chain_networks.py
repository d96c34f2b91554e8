"""Networks that are chains, for tests of theory."""

from __future__ import annotations

from synthetic import both_ways

from sixbench.model.topology import Interface, Link, Node, Topology
from sixbench.plan.addressing import link_ipv4, link_ipv6


def network(*links: dict[str, object]) -> Topology:
    """Hosts h0 and hN with routers between, one link after another."""
    names = [f"n{index}" for index in range(len(links) + 1)]
    kinds = {name: "host" if name in (names[0], names[-1]) else "router" for name in names}
    return Topology(
        nodes={name: Node(name=name, kind="host" if kind == "host" else "router") for name, kind in kinds.items()},
        links=tuple(
            Link(
                **{  # type: ignore[arg-type]
                    "name": f"link{index}",
                    "ends": tuple(
                        Interface(node=node, name=f"eth{1 - position}", ipv4=ipv4, ipv6=ipv6)
                        for position, (node, ipv4, ipv6) in enumerate(
                            zip(names[index : index + 2], link_ipv4(index), link_ipv6(index), strict=True)
                        )
                    ),
                    "mtu_bytes": 1500,
                    **_fields(settings),
                }
            )
            for index, settings in enumerate(links)
        ),
    )


def _fields(settings: dict[str, object]) -> dict[str, object]:
    """Fields of a link; a `rate_bps` is that of both directions."""
    values = {name: value for name, value in settings.items() if name != "rate_bps"}
    rate_bps = settings.get("rate_bps")
    return {"directions": both_ways(rate_bps if isinstance(rate_bps, int) else None)} | values
