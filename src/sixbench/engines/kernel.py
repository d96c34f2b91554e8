"""Linux's own tunnels, as ip-link(8) and ip-tunnel(8) have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

from ..model.device import DEFAULT_TTL, Device, Tunnel
from ..model.stage import Stage
from .engine import Engine

VXLAN_PORT = 4789
"""RFC 7348 section 5."""
DEFAULT_VNI = 1

OPTIONS = {
    "sit": "CONFIG_IPV6_SIT",
    "ip6tnl": "CONFIG_IPV6_TUNNEL",
    "gre": "CONFIG_NET_IPGRE",
    "ip6gre": "CONFIG_IPV6_GRE",
    "vxlan": "CONFIG_VXLAN",
}
"""The option of the kernel's configuration that a kind of device needs, built in or as a module."""


def make(device: Device) -> Stage:
    """The lines that make one of the kernel's tunnel devices. ECN always passes through it (RFC 6040). In sit, outer
    packets that may be fragmented have the inner packet's TTL: ip(8) takes no other then."""
    assert isinstance(device, Tunnel), "other devices are unfit"
    match device.payload:
        case "ethernet":
            lines = [_vxlan(device)]
        case "gre":
            lines = [_gre(device)]
        case "ipv4" | "ipv6" if device.outer == 6:
            lines = [_ip6tnl(device)]
        case _:
            lines = _sit(device)
    return Stage(ip=(*lines, f"link set {device.device} mtu {device.mtu_bytes} up"))


def unfit(device: Device) -> str | None:
    """The reason why Linux has no such device, as a sentence; None if it has."""
    if not isinstance(device, Tunnel):
        return f"Linux has no {type(device).__name__.lower()}"
    if not device.ecn:
        return "Linux's tunnels always let ECN through (RFC 6040)"
    if _inherits_ttl(device) and device.ttl not in (None, DEFAULT_TTL):
        return f"sit takes a TTL of its own ({device.ttl}) only with pmtu: dynamic"
    return None


def settled(device: Device) -> Device:
    """The device with the TTL that outer packets have: not the default where it is the inner packet's."""
    if isinstance(device, Tunnel) and _inherits_ttl(device) and device.ttl == DEFAULT_TTL:
        return replace(device, ttl=None)
    return device


def _inherits_ttl(tunnel: Tunnel) -> bool:
    """True if outer packets have the inner packet's TTL: those of sit that may be fragmented, as ip-tunnel(8) has
    it."""
    return tunnel.payload == "ipv6" and tunnel.outer == 4 and tunnel.pmtu == "static"


def refusal(stderr: str, lines: Sequence[str]) -> str:
    """The reason why `ip -batch` refused, in words. The first of `lines`, which it was given, makes the device."""
    text = " ".join(stderr.partition("Command failed")[0].split())
    if "Unknown device type" in text or "Operation not supported" in text:
        _, _, kind = lines[0].partition(" type ")
        kind = kind.split()[0] if kind else ""
        if kind in OPTIONS:
            return f"this kernel has no {kind} devices, or may not load their module ({OPTIONS[kind]})"
    return text


def _sit(tunnel: Tunnel) -> list[str]:
    mapping = tunnel.mapping
    add = f"link add {tunnel.device} type sit local {tunnel.local}"
    ttl = "ttl inherit" if _inherits_ttl(tunnel) else _ttl(tunnel)
    rest = f"{ttl} {_tos(tunnel)} {_pmtu(tunnel)}"
    match mapping["kind"]:
        case "fixed":
            return [f"{add} remote {mapping['remote']} {rest}"]
        case "6to4":
            return [f"{add} {rest}"]
        case "6rd":
            return [f"{add} {rest} 6rd-prefix {mapping['prefix']} 6rd-relay_prefix {_common(tunnel)}"]
        case "isatap":
            routers = [f"tunnel prl dev {tunnel.device} prl-default {router}" for router in mapping["routers"]]
            return [f"{add} {rest} isatap", *routers]
        case other:
            raise ValueError(f"Linux has no tunnel of kind {other}")


def _common(tunnel: Tunnel) -> str:
    """The bits that all IPv4 addresses of a 6rd domain begin with."""
    bits = int(tunnel.mapping["ipv4_mask_bits"])
    kept = int(tunnel.local) >> (32 - bits) << (32 - bits)
    return f"{kept >> 24}.{kept >> 16 & 255}.{kept >> 8 & 255}.{kept & 255}/{bits}"


def _ip6tnl(tunnel: Tunnel) -> str:
    mode = "ipip6" if tunnel.payload == "ipv4" else "ip6ip6"
    return (
        f"link add {tunnel.device} type ip6tnl mode {mode} local {tunnel.local} remote {tunnel.mapping['remote']} "
        f"{_hop_limit(tunnel)} encaplimit none"
    )


def _gre(tunnel: Tunnel) -> str:
    key = "" if tunnel.key is None else f" key {tunnel.key}"
    ends = f"local {tunnel.local} remote {tunnel.mapping['remote']}"
    if tunnel.outer == 4:
        return f"link add {tunnel.device} type gre {ends} {_ttl(tunnel)} {_tos(tunnel)} {_pmtu(tunnel)}{key}"
    return f"link add {tunnel.device} type ip6gre {ends} {_hop_limit(tunnel)} encaplimit none{key}"


def _vxlan(tunnel: Tunnel) -> str:
    vni = DEFAULT_VNI if tunnel.key is None else tunnel.key
    fragment = "set" if tunnel.pmtu == "dynamic" else "unset"
    return (
        f"link add {tunnel.device} address {_mac(tunnel)} type vxlan id {vni} local {tunnel.local} "
        f"remote {tunnel.mapping['remote']} dev {tunnel.underlay[0]} dstport {VXLAN_PORT} "
        f"{_ttl(tunnel)} {_tos(tunnel)} df {fragment}"
    )


def _mac(tunnel: Tunnel) -> str:
    """A locally administered MAC address, predictable from the whole outer address: IPv6 addresses may end alike."""
    octets = sha256(tunnel.local.packed).digest()[:4]
    return "02:05:" + ":".join(f"{octet:02x}" for octet in octets)


def _ttl(tunnel: Tunnel) -> str:
    return f"ttl {tunnel.ttl or 'inherit'}"


def _tos(tunnel: Tunnel) -> str:
    return f"tos {'inherit' if tunnel.tos is None else f'0x{tunnel.tos & 0xFC:02x}'}"


def _hop_limit(tunnel: Tunnel) -> str:
    tclass = "inherit" if tunnel.tos is None else f"0x{tunnel.tos & 0xFC:02x}"
    return f"hoplimit {tunnel.ttl or 'inherit'} tclass {tclass}"


def _pmtu(tunnel: Tunnel) -> str:
    return "pmtudisc" if tunnel.pmtu == "dynamic" else "nopmtudisc"


KERNEL = Engine(
    name="kernel", doc="Linux's own devices: sit, ip6tnl, gre, vxlan.", make=make, unfit=unfit, settled=settled
)
