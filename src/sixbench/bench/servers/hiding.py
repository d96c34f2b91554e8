"""The addresses of this machine and of its network, kept out of what is written (`hide-addresses`)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

from ...model.survey import Survey

HIDDEN = "hidden"
LEAST_BITS = {4: 24, 6: 48}
"""The prefix that a network at its customer's is known by: the site's (RFC 6177)."""

_WRITTEN_ADDRESS = re.compile(r"(?<![\w.:])(?:[0-9A-Fa-f:]*:[0-9A-Fa-f:.]+|\d+(?:\.\d+){3})(?:%\w+)?(?:/\d+)?")
"""A word of a text that may be an address, with its interface and the length of a prefix."""


LINK_LOCAL = frozenset({ip_network("fe80::/10"), ip_network("169.254.0.0/16")})
"""Those of this machine and of its routers, which may have their hardware's addresses within (RFC 4291 appendix A)."""
_NAMED_BY_HARDWARE = re.compile(r"\b(?:en|wl|ww)x[0-9a-f]{12}\b")
"""An interface that is called by the address of its hardware (systemd.net-naming-scheme(7))."""


class Hiding:
    """Replaces addresses of this machine's networks.

    Args:
        addresses: addresses of this machine.
    """

    def __init__(self, addresses: Iterable[str]) -> None:
        self._networks: set[IPv4Network | IPv6Network] = set(LINK_LOCAL)
        self.learn(addresses)

    def learn(self, addresses: Iterable[str]) -> None:
        """Hides these networks, too, such as those that this machine got while it measured."""
        for text in addresses:
            address = ip_address(text.partition("%")[0])
            self._networks.add(ip_network(f"{address}/{LEAST_BITS[address.version]}", strict=False))

    def text(self, text: str) -> str:
        """A text in which `hidden` stands for each address of these networks, with or without a prefix's length."""
        text = _NAMED_BY_HARDWARE.sub(HIDDEN, text)
        return _WRITTEN_ADDRESS.sub(lambda match: self._word(match[0]), text)

    def _word(self, word: str) -> str:
        written = word.rstrip(":.")
        try:
            address = ip_address(written.partition("%")[0].partition("/")[0])
        except ValueError:
            return self._of_socket(word)
        address = getattr(address, "ipv4_mapped", None) or address
        return HIDDEN + word[len(written) :] if any(address in network for network in self._networks) else word

    def _of_socket(self, word: str) -> str:
        """A word that is an IPv4 address with a port, or none."""
        host, colon, port = word.partition(":")
        return f"{self._word(host)}{colon}{port}" if colon and "." in host and ":" not in port else word

    def value(self, value: Any) -> Any:
        """JSON with all its texts so."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(key): self.value(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        return value


def own_addresses(survey: Survey) -> list[str]:
    """The addresses of this machine, and those that packets to the servers leave from."""
    sources = [entry.source for server in survey.servers for entry in server.families.values()]
    return [*(item.address for item in survey.vantage.addresses), *(source for source in sources if source is not None)]


class HidingNothing(Hiding):
    """Leaves all as it is."""

    def __init__(self) -> None:
        super().__init__(())

    def text(self, text: str) -> str:
        """The text."""
        return text


def hidden_survey(survey: Survey, hiding: Hiding) -> Survey:
    """The survey without addresses of this machine's networks, of their resolvers, and of the first router beyond them,
    which is of the network by which this machine is known outside. Those of servers stay, because trials go there."""
    from pydantic import TypeAdapter

    adapter = TypeAdapter(Survey)
    data = adapter.dump_python(survey, mode="json")
    data["vantage"] = hiding.value(data["vantage"])
    data["vantage"]["resolvers"] = [HIDDEN for _ in data["vantage"]["resolvers"]]
    data["cannot"] = hiding.value(data["cannot"])
    for server in data["servers"]:
        server["left_out"] = hiding.value(server["left_out"])
        for family in server["families"].values():
            family["source"] = family["source"] and hiding.text(family["source"])
            family["interface"] = family["interface"] and hiding.text(family["interface"])
            family["routes"] = [hiding.value(_without_way_out(reading)) for reading in family["routes"]]
    return adapter.validate_python(data)


def _without_way_out(reading: dict[str, Any]) -> dict[str, Any]:
    """A reading of a route whose routers are hidden up to the first one with a public address."""
    hops = list(reading["hops"])
    for place, hop in enumerate(hops):
        hops[place] = [HIDDEN for _ in hop]
        if any(_is_public(address) for address in hop):
            break
    return reading | {"hops": hops}


def _is_public(address: str) -> bool:
    try:
        return ip_address(address).is_global
    except ValueError:
        return False
