"""miredo as an engine: Teredo's client, relay and server (RFC 4380) as Debian has them, in user space."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from ipaddress import IPv4Address
from typing import Any

from ..engines import Engine
from ..model.device import Device, Translator, Tunnel
from ..model.leg import Address
from ..model.stage import NodeRequest, Program, Stage

CLIENT, RELAY = "teredo-client", "teredo-relay"
"""The kinds of mapping. Any other device is a server's."""

SERVER_PORT = 3544
"""RFC 4380 section 2.7."""

MADE_BY = "miredo"
"""No device is made beforehand: the server has to be there before the clients."""

READY_S = 15
"""A client asks its server anew every 4 s, three times (RFC 4380 section 5.2.1)."""

_START = 'mount -t tmpfs none /run && cat >/run/conf && "$0" -f -u nobody -p /run/pid -c /run/conf; exit $?'
"""The file with its process number is one for the whole machine. So it gets a /run of its own. It gives up its rights,
and with them the signal at its parent's end. So it is in a PID namespace, which ends with this shell."""


def make(device: Device) -> Stage:
    """A TUN device, and miredo or its server with the configuration on standard input (miredo.conf(5)). The client's
    device gets its address from miredo's own script, once it is qualified."""
    name = device.device
    if isinstance(device, Tunnel):
        mapping = device.mapping
        client = mapping["kind"] == CLIENT
        lines = [
            f"RelayType {'client' if client else 'relay'}",
            f"InterfaceName {name}",
            *([f"ServerAddress {mapping['server']}"] if client else []),
            f"BindAddress {device.local}",
            f"BindPort {mapping['port']}",
        ]
        addresses: list[str] = []
        program = _program("miredo", lines)
    else:
        first, second = (IPv4Address(prefix) for prefix in device.prefixes[0])
        lines = [f"ServerBindAddress {first}", f"ServerBindAddress2 {second}"]
        addresses = [f"address add {address}/32 dev {name}" for address in (first, second)]
        program = _program("miredo-server", lines)
    pair = (f"tuntap add dev {name} mode tun", f"link set {name} mtu {device.mtu_bytes} addrgenmode none up")
    return Stage(ip=(*pair, *addresses), programs=(program,))


def unfit(device: Device) -> str | None:
    """The reason why miredo is no such device, as a sentence; None if it is."""
    kinds = (CLIENT, RELAY)
    fits = device.mapping["kind"] in kinds if isinstance(device, Tunnel) else not isinstance(device, Translator)
    return None if fits else "miredo carries Teredo only: its client, relay and server"


def awaited(
    condition: str,
    otherwise: str,
    check: Callable[[str], str | None] = lambda message: None,
    learns: Callable[[str], Mapping[Address, Address]] = lambda message: {},
) -> NodeRequest:
    """The request that waits for a shell's condition to hold.

    Args:
        otherwise: what is wrong where it does not hold in time, as a sentence.
        check: what is wrong with what it then printed.
        learns: the addresses that this tells, as `Request.learns`.
    """
    script = _UNTIL.format(condition=condition)

    def wrong(answer: Mapping[str, Any]) -> str | None:
        if answer.get("exit") != 0:
            return f"{otherwise} within {READY_S} s"
        return check(str(answer.get("stdout")))

    return NodeRequest(
        op="exec",
        fields={"argv": ["sh", "-c", script]},
        check=wrong,
        learns=lambda answer: learns(str(answer.get("stdout"))),
    )


def listening(port: int, sockets: int, who: str) -> NodeRequest:
    """Waits until so many UDP sockets have the port."""
    return awaited(f'[ "$(grep -c ":{port:04X} " /proc/net/udp)" -ge {sockets} ]', f"{who} did not begin")


def _program(name: str, lines: list[str]) -> Program:
    starter = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", _START)
    return Program(argv=(*starter, name), stdin="\n".join(lines) + "\n", package=name, name=name)


_UNTIL = f"""read now rest </proc/uptime
end=$((${{{{now%.*}}}} + {READY_S}))
until {{condition}}; do
  read now rest </proc/uptime
  [ "${{{{now%.*}}}}" -lt "$end" ] || exit 1
  sleep 0.02
done"""

MIREDO = Engine(
    name="miredo",
    doc="miredo, Teredo's client, relay and server in user space (Debian's packages miredo and miredo-server).",
    make=make,
    unfit=unfit,
)
