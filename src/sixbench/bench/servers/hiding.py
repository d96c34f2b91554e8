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
        """A text in which `hidden` stands for each address of these networks, with or without a prefix's length."""
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
