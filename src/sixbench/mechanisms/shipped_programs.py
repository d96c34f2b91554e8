"""Devices that sixbench brings: each is options of the mechanism `program` or `guest`, as an experiment would write
them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .parting import DEFAULT_PREFIX
from .resolvers import RESOLVERS, root_zone

TAYGA: Mapping[str, Any] = {
    "start": "tayga -d -c {dir}/tayga.conf",
    "ready": "ip link show nat64",
    "interface": "nat64",
    "family": [6, 4],
    "prefix": "2001:db8:64::/96",
    "client-as": "192.0.2.2",
    "hops": 3,
    "files": {
        "tayga.conf": "tun-device {interface}\nipv4-addr 192.0.2.1\nprefix {prefix}\nmap {client-as} {client}\n",
    },
}
"""A translator in user space (Debian's package tayga). The node forwards into its device and out of it, and tayga takes
one from the hop limit itself. Debian's takes no prefix in 64:ff9b::/32 for addresses of a lab."""

NFTABLES_NAT44: Mapping[str, Any] = {
    "start": "sh {dir}/start",
    "ready": "nft list chain ip nat44 postrouting",
    "family": 4,
    "client-as": "own",
    "state": "linux",
    "files": {
        "start": "nft -f {dir}/ruleset && exec sleep infinity\n",
        "ruleset": (
            "table ip nat44 {\n"
            "  chain postrouting {\n"
            "    type nat hook postrouting priority srcnat; policy accept;\n"
            '    oifname "{far}" masquerade\n'
            "  }\n"
            "  chain untranslated {\n"
            "    type filter hook forward priority filter; policy accept;\n"
            '    oifname "{far}" ct state invalid counter drop\n'
            "  }\n"
            "}\n"
        ),
    },
}
"""Linux's translation of IPv4 addresses and ports (Debian's package nftables). What Linux calls invalid it does not
translate: it goes no further, and so not out with its private address."""


def _resolver(name: str) -> Mapping[str, Any]:
    """A resolver with DNS64 in the node, which asks the server as the authority of the tested zone.

    It has its files where its package has them, which is where it may read them under AppArmor too.
    """
    resolver = RESOLVERS[name]
    configuration = resolver.configuration({6: ["{near-address}"]}, "{prefix}", "{authority}")
    start = [
        f"command -v {resolver.program} >/dev/null || {{",
        f'  echo "{resolver.program} is not on the PATH; install the Debian package {resolver.package}"',
        "  exit 127",
        "}",
        f"mount -t tmpfs none {resolver.folder} || exit 1",
        f"cp {{dir}}/zone {{dir}}/sixbench.conf {resolver.folder}/ || exit 1",
        f"exec {resolver.start}",
    ]
    return {
        "start": "sh {dir}/start",
        "ready": "grep -q :0035 /proc/net/udp6",
        "ready-within": "30s",
        "memory": "4GiB",
        "family": 6,
        "prefix": DEFAULT_PREFIX,
        "dns64": True,
        "files": {
            "start": "\n".join(start) + "\n",
            "zone": "\n".join(root_zone("dut", ["dut. AAAA {near-address}"])) + "\n",
            "sixbench.conf": "\n".join(configuration) + "\n",
        },
    }


SHIPPED: Mapping[str, Mapping[str, Any]] = {
    "tayga": TAYGA,
    "nftables-nat44": NFTABLES_NAT44,
    **{name: _resolver(name) for name in RESOLVERS},
}
"""Shipped programs, by the name that `dut` gives them. Those of resolvers are Debian's packages unbound and bind9."""


def _has_jool(module: str) -> str:
    """The command that loads one of Jool's modules, and says how a kernel gets it."""
    add = "sixbench kernels add debian-6.1 --with jool"
    return f'modprobe {module} || {{ echo "the kernel has no Jool, which this adds: {add}"; exit 1; }}'


JOOL_NAT64: Mapping[str, Any] = {
    "kernel": "debian-6.1",
    "setup": [
        _has_jool("jool"),
        "jool instance add --netfilter --pool6 {prefix}",
        *(f"jool pool4 add --{what} {{far-address}} 1024-65535" for what in ("tcp", "udp")),
        "jool pool4 add --icmp {far-address} 0-65535",
    ],
    "family": [6, 4],
    "prefix": DEFAULT_PREFIX,
    "client-as": "own",
    "hops": 1,
    "state": "own",
}
"""Jool, a NAT64 in the kernel (RFC 6146). It takes packets before they are routed, and one from the hop limit."""

JOOL_SIIT: Mapping[str, Any] = {
    "kernel": "debian-6.1",
    "setup": [
        _has_jool("jool_siit"),
        "jool_siit instance add --netfilter --pool6 {prefix}",
        "jool_siit eamt add {client} {client-as}",
    ],
    "family": [6, 4],
    "prefix": DEFAULT_PREFIX,
    "client-as": "192.0.2.2",
    "hops": 1,
}
"""Jool without state (RFC 7915). The client's address is in its table (RFC 7757), the server's in the prefix."""

SHIPPED_GUESTS: Mapping[str, Mapping[str, Any]] = {"jool": JOOL_NAT64, "jool-siit": JOOL_SIIT}
"""Emulated machines, by the name that `dut` gives them."""
