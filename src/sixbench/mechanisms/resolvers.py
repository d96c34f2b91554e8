"""Resolvers of others as DNS64 (RFC 6147) in a node: unbound and BIND 9, as Debian has them.

Each has a root zone with the names of the network, so that it asks nobody else. It runs in namespaces of its own, in
which an empty file system stands in the place of the machine's configuration: nothing of that is read or written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv6Network

from ..model.leg import Address
from ..model.stage import Program
from ..model.topology import Family

TESTED_ZONE = "dns64perf.test"
"""The zone whose names the workload `dns64` asks for. Its authority is the server of a trial."""

TTL_S = 60
"""Time for which an answer may be kept. Our own resolver has the same."""

_WELL_KNOWN = ("ipv4only.arpa. A 192.0.0.170", "ipv4only.arpa. A 192.0.0.171")
"""RFC 7050 section 8.2."""

_EXCLUDED = "::ffff:0:0/96"
"""RFC 6147 section 5.1.4. unbound has no setting for it."""


@dataclass(frozen=True, kw_only=True)
class Resolver:
    """A resolver that an experiment may name.

    Attributes:
        program: what runs.
        package: the Debian package that has it.
        folder: where the package has its configuration, which it may read under AppArmor too.
        configuration: its text, from the addresses at which it answers by family, the prefix, and the address of the
            authority of `TESTED_ZONE`, if any.
        start: the command, which stays in the foreground.
    """

    program: str
    package: str
    folder: str
    configuration: Callable[[Mapping[Family, Sequence[str]], str, str | None], list[str]]
    start: str


def resolver_program(
    resolver: Resolver,
    server_addresses: Iterable[Address],
    prefix: IPv6Network,
    names: Mapping[str, Iterable[Address]],
    authority: Address | None,
) -> Program:
    """The node's script with the zone and the configuration, which starts the resolver.

    The shell stays, because a resolver that gives up rights loses the signal at its parent's end. Its PID namespace
    ends with it.
    """
    answering = list(server_addresses)
    by_family: dict[Family, list[str]] = {
        4: [str(address) for address in answering if address.version == 4],
        6: [str(address) for address in answering if address.version == 6],
    }
    lines = [
        f"command -v {resolver.program} >/dev/null || exit 127",
        f"mount -t tmpfs none {resolver.folder} || exit 1",
        f"cat >{resolver.folder}/zone <<'ZONE'",
        *zone(names),
        "ZONE",
        f"cat >{resolver.folder}/sixbench.conf <<'CONFIGURATION'",
        *resolver.configuration(by_family, str(prefix), None if authority is None else str(authority)),
        "CONFIGURATION",
        f"{resolver.start} </dev/null",
        "exit $?",
    ]
    return Program(
        argv=("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-s"),
        stdin="\n".join(lines) + "\n",
        package=resolver.package,
        name=resolver.program,
        version=(resolver.program, "-V"),
    )


def zone(names: Mapping[str, Iterable[Address]]) -> list[str]:
    """The lines of a root zone (RFC 1035 section 5.1) that has these names, the names of their addresses, and
    `ipv4only.arpa`.

    Of several names with one address, the first is the address's. The first name stands for the zone's server, because
    BIND wants that to have an address.
    """
    records: list[str] = []
    pointers: dict[Address, str] = {}
    for name, addresses in names.items():
        for address in addresses:
            records.append(f"{name}. {'A' if address.version == 4 else 'AAAA'} {address}")
            pointers.setdefault(address, f"{address.reverse_pointer}. PTR {name}.")
    return root_zone(next(iter(names)), [*records, *pointers.values()])


def root_zone(server: str, records: Iterable[str]) -> list[str]:
    """The lines of a root zone whose server has that name, with these records and those of `ipv4only.arpa`."""
    return [
        f"$TTL {TTL_S}",
        f". SOA . . 1 {' '.join([str(TTL_S)] * 4)}",
        f". NS {server}.",
        *records,
        *_WELL_KNOWN,
    ]


def _unbound(server_addresses: Mapping[Family, Sequence[str]], prefix: str, authority: str | None) -> list[str]:
    """unbound.conf(5). Of `test.` it would say that there is nothing (RFC 6761)."""
    asked = [
        "stub-zone:",
        f'  name: "{TESTED_ZONE}"',
        f"  stub-addr: {authority}",
    ]
    return [
        "server:",
        "  do-daemonize: no",
        "  use-syslog: no",
        '  chroot: ""',
        '  username: ""',
        '  pidfile: ""',
        '  directory: "/etc/unbound"',
        *(f"  interface: {address}" for addresses in server_addresses.values() for address in addresses),
        "  access-control: 0.0.0.0/0 allow",
        "  access-control: ::/0 allow",
        '  module-config: "dns64 iterator"',
        f"  dns64-prefix: {prefix}",
        "  unblock-lan-zones: yes",
        "  insecure-lan-zones: yes",
        '  local-zone: "test." nodefault',
        "remote-control:",
        "  control-enable: no",
        "auth-zone:",
        '  name: "."',
        '  zonefile: "/etc/unbound/zone"',
        "  for-downstream: no",
        "  for-upstream: yes",
        "  fallback-enabled: no",
        *(asked if authority is not None else []),
    ]


def _bind9(server_addresses: Mapping[Family, Sequence[str]], prefix: str, authority: str | None) -> list[str]:
    """named.conf(5). All that it writes would be in the folder of its zone."""
    asked = f'zone "{TESTED_ZONE}" {{ type static-stub; server-addresses {{ {authority}; }}; }};'

    def listening(family: Family) -> str:
        return "".join(f"{address}; " for address in server_addresses.get(family, ())) or "none; "

    return [
        "options {",
        '  directory "/etc/bind";',
        "  pid-file none;",
        "  session-keyfile none;",
        f"  listen-on {{ {listening(4)}}};",
        f"  listen-on-v6 {{ {listening(6)}}};",
        "  allow-query { any; };",
        "  allow-recursion { any; };",
        "  allow-query-cache { any; };",
        "  recursion yes;",
        "  notify no;",
        "  dnssec-validation no;",
        "  empty-zones-enable no;",
        "  ipv4only-enable no;",
        f"  dns64 {prefix} {{ exclude {{ {_EXCLUDED}; }}; }};",
        "};",
        "controls { };",
        'zone "." { type primary; file "/etc/bind/zone"; };',
        *([asked] if authority is not None else []),
    ]


RESOLVERS: Mapping[str, Resolver] = {
    "unbound": Resolver(
        program="unbound",
        package="unbound",
        folder="/etc/unbound",
        configuration=_unbound,
        start="unbound -d -c /etc/unbound/sixbench.conf",
    ),
    "bind9": Resolver(
        program="named",
        package="bind9",
        folder="/etc/bind",
        configuration=_bind9,
        start="named -g -c /etc/bind/sixbench.conf",
    ),
}
"""Those that an experiment may name beside ours."""
