"""Linux's own tunnels, as ip-link(8) and ip-tunnel(8) have them."""

from __future__ import annotations

from ...model.network import Tunnel
from .engine import TunnelScript

VXLAN_PORT = 4789
"""RFC 7348 section 5."""
DEFAULT_VNI = 1


def make(tunnel: Tunnel) -> TunnelScript:
    """A device of the kernel's. ECN passes through it (RFC 6040) and cannot be kept from doing so."""
    match tunnel.payload:
        case "ethernet":
            lines = [_vxlan(tunnel)]
        case "gre":
            lines = [_gre(tunnel)]
        case "ipv4" | "ipv6" if tunnel.outer == 6:
            lines = [_ip6tnl(tunnel)]
        case _:
            lines = _sit(tunnel)
    return TunnelScript(ip=(*lines, f"link set {tunnel.device} mtu {tunnel.mtu_bytes} up"))


def _sit(tunnel: Tunnel) -> list[str]:
    mapping = tunnel.mapping
    add = f"link add {tunnel.device} type sit local {tunnel.local}"
    rest = f"{_ttl(tunnel)} {_tos(tunnel)} {_pmtu(tunnel)}"
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
    """Locally administered and predictable: from the end of the outer address."""
    octets = tunnel.local.packed[-4:]
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
