"""The comparison of addresses and hop limits on a wire with those that the path claims there.

The headers alone do not prove a leg: a packet that was not translated, or that took another route of the same family,
has the same ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import ip_address

from ...model.captured import IpHeader, Layer
from ...model.headers import stack_name
from ...model.leg import Address, Crossing
from ...model.reason import Reason, ReasonKind

OTHERS_SHARE = 1 / 8
"""The share of the packets seen on a link that may have other addresses or hop limits than the path's: somebody else's,
and the last ones of an earlier trial in the same network."""


@dataclass(frozen=True, kw_only=True)
class _LegCrossing:
    """A wire in the direction of packets to the server, or to the client."""

    crossing: Crossing
    is_forward: bool
    destinations: Collection[Address] = ()

    def other_addresses(self, seen: Sequence[IpHeader]) -> list[str]:
        """The addresses of a packet's IP headers, of those that have others than the path."""
        return [
            f"{layer.source} > {layer.destination}"
            for layer, ip in zip(seen, self.crossing.ip, strict=True)
            if not self._has(layer, *((ip.source, ip.destination) if self.is_forward else (ip.destination, ip.source)))
        ]

    def _has(self, layer: IpHeader, source: Address, destination: Address) -> bool:
        """True if a header has these addresses, or goes to a network behind its destination."""
        seen = _address(layer.destination)
        return _address(layer.source) == source and (seen == destination or seen in self.destinations)

    def other_hop_limits(self, seen: Sequence[IpHeader]) -> list[str]:
        """Likewise the hop limits, as far as they are known."""
        due = [ip.hop_limit if self.is_forward else ip.reverse_hop_limit for ip in self.crossing.ip]
        return [
            f"{layer.kind} {layer.hop_limit}"
            for layer, limit in zip(seen, due, strict=True)
            if limit is not None and layer.hop_limit not in (None, limit)
        ]


@dataclass(frozen=True, kw_only=True)
class _Difference:
    """Differences of one packet from the path: at most one of each, for a packet counts once."""

    addresses: Sequence[str] = ()
    hop_limits: Sequence[str] = ()


@dataclass(kw_only=True)
class LegMatch:
    """The packets on one wire that have the headers of the path, by whether the rest fits.

    Attributes:
        crossings: what the flows of a trial claim there.
        chooses_hop_limits: whether the sender sets hop limits of its own, so that they tell nothing.
        destinations: the addresses that packets may have as their destinations instead of a host's own.
        compared: how many packets were compared.
        addresses: of those with other addresses: pairs such as `198.18.1.1 > 198.18.1.2`, and how often.
        hop_limits: of those with the right addresses and another hop limit, likewise, such as `ipv6 63`.
    """

    crossings: Sequence[Crossing]
    chooses_hop_limits: bool = False
    destinations: Collection[Address] = ()
    compared: int = 0
    addresses: Counter[str] = field(default_factory=Counter)
    hop_limits: Counter[str] = field(default_factory=Counter)
    _differences: dict[tuple[object, ...], _Difference | None] = field(default_factory=dict, repr=False)
    """Counts of compared packets, by their headers: most packets of a trial have those of another one."""

    def see(self, stack: str, layers: Iterable[Layer]) -> None:
        """Compares a packet that has these headers, if it says its addresses."""
        seen = [layer for layer in layers if isinstance(layer, IpHeader)]
        if any(layer.source is None or layer.destination is None for layer in seen):
            return
        key = (
            stack,
            *((ip_header.kind, ip_header.source, ip_header.destination, ip_header.hop_limit) for ip_header in seen),
        )
        if key not in self._differences:
            self._differences[key] = self._compare(stack, seen)
        difference = self._differences[key]
        if difference is None:
            return
        self.compared += 1
        self.addresses.update(difference.addresses)
        self.hop_limits.update(difference.hop_limits)

    def _compare(self, stack: str, seen: Sequence[IpHeader]) -> _Difference | None:
        """Differences of a packet from the nearest leg; None where no leg has its headers."""
        legs = [
            _LegCrossing(crossing=crossing, is_forward=is_forward, destinations=self.destinations)
            for crossing in self.crossings
            if stack_name(crossing.headers) == stack
            for is_forward in (True, False)
        ]
        if not legs:
            return None
        others = min((leg.other_addresses(seen) for leg in legs), key=len)
        if others or self.chooses_hop_limits:
            return _Difference(addresses=others[:1])
        taken = [leg for leg in legs if not leg.other_addresses(seen)]
        return _Difference(hop_limits=min((leg.other_hop_limits(seen) for leg in taken), key=len)[:1])

    def reasons(self, place: str) -> list[Reason]:
        """Their objections to the trial. `place`: where they were seen, in words."""
        return [
            *self._reason(self.addresses, "other addresses", _addresses, place),
            *self._reason(self.hop_limits, "another hop limit", _hop_limits, place),
        ]

    def _reason(
        self, others: Counter[str], what: str, claimed: Callable[[Crossing], str], place: str
    ) -> Iterator[Reason]:
        if others.total() > OTHERS_SHARE * self.compared:
            [(example, _)] = others.most_common(1)
            claims = " or ".join(dict.fromkeys(claimed(crossing) for crossing in self.crossings))
            seen = f"{others.total()} of {self.compared} packets seen {place} had {what}, such as {example}"
            yield Reason(kind=ReasonKind.OTHER_PATH, text=f"{seen}, where the path claims {claims}")


@lru_cache(maxsize=1024)
def _address(text: str | None) -> Address | None:
    return None if text is None else ip_address(text)


def _addresses(crossing: Crossing) -> str:
    return " in ".join(f"{ip_header.source} > {ip_header.destination}" for ip_header in reversed(crossing.ip))


def _hop_limits(crossing: Crossing) -> str:
    return " in ".join(
        f"ipv{ip_header.family} {_shown(ip_header.hop_limit)} to the server and {_shown(ip_header.reverse_hop_limit)} "
        "back"
        for ip_header in reversed(crossing.ip)
    )


def _shown(hop_limit: int | None) -> str:
    return "any" if hop_limit is None else str(hop_limit)
