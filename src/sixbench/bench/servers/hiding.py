"""The addresses of this machine and of its network, kept out of what is written (`hide-addresses`)."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

from ...model.survey import Survey

HIDDEN = "hidden"
LEAST_BITS = {4: 24, 6: 48}
"""The prefix that a network at its customer's is known by: the site's (RFC 6177)."""


class Hiding:
    """Replaces addresses of this machine's networks.

    Args:
        addresses: addresses of this machine.
    """

    def __init__(self, addresses: Iterable[str]) -> None:
        self._networks: set[IPv4Network | IPv6Network] = set()
        for text in addresses:
            address = ip_address(text.partition("%")[0])
            self._networks.add(ip_network(f"{address}/{LEAST_BITS[address.version]}", strict=False))

    def text(self, text: str) -> str:
        """A text, or `hidden` where it is an address of these networks, with or without a prefix's length."""
        try:
            address = ip_address(text.partition("%")[0].partition("/")[0])
        except ValueError:
            return text
        return HIDDEN if any(address in network for network in self._networks) else text

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


def hidden_survey(survey: Survey, hiding: Hiding) -> Survey:
    """The survey without addresses of this machine's networks. Those of servers stay, because trials go there."""
    from pydantic import TypeAdapter

    adapter = TypeAdapter(Survey)
    data = adapter.dump_python(survey, mode="json")
    data["vantage"] = hiding.value(data["vantage"])
    for server in data["servers"]:
        for family in server["families"].values():
            family["source"] = family["source"] and hiding.text(family["source"])
            family["routes"] = hiding.value(family["routes"])
    return adapter.validate_python(data)
