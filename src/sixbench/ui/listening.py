"""The address and port of the page, its names, and its TLS."""

from __future__ import annotations

import re
import socket
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

from ..model.errors import CapabilityError, UsageError
from .site import Site
from .tls import Identity, given_identity, own_identity

_HOST_NAME = re.compile(
    r"(?=.{1,253}$)[0-9A-Za-z]([0-9A-Za-z-]*[0-9A-Za-z])?(\.[0-9A-Za-z]([0-9A-Za-z-]*[0-9A-Za-z])?)*"
)
"""RFC 1123 section 2.1, in ASCII, as a browser sends it."""


def identity_for(
    bind: str, name: str | None, *, is_own: bool, certificate: Path | None, key: Path | None
) -> tuple[tuple[str, ...], Identity | None]:
    """The names of the page, and its TLS; None: it has none. Raises `UsageError`.

    Args:
        bind: the address to listen on.
        name: in the address that browsers use; None: from the certificate or from `bind`.
        is_own: whether to make a self-signed certificate.
    """
    address = _address(bind)
    if name is not None and not _is_name(name):
        raise UsageError(f"--name {name}: that is neither a host name nor an address")
    if certificate is None and key is not None:
        raise UsageError("--key belongs to a certificate; give the certificate with --certificate FILE")
    if certificate is not None and is_own:
        raise UsageError("--tls makes a certificate and --certificate gives one; leave one of them out")
    if not address.is_loopback and certificate is None and not is_own:
        raise UsageError(
            f"--bind {bind}: beyond loopback the page is served over TLS only; add --tls, or --certificate FILE and "
            "--key FILE, or reach it on loopback from another machine with: ssh -L 8066:127.0.0.1:8066 HOST"
        )
    given = None if certificate is None else given_identity(certificate, key)
    addresses = [] if address.is_unspecified else [str(address), *(["localhost"] if address.is_loopback else [])]
    first = [name] if name is not None else list(given.names) if given is not None else []
    names = tuple(dict.fromkeys([*first, *addresses]))
    if not names:
        raise UsageError(f"--bind {bind}: give the name or the address that browsers use with --name HOST")
    return names, own_identity(names) if is_own else given


def listen(bind: str, port: int) -> socket.socket:
    """A listening socket. Raises `UsageError`, and `CapabilityError` where the port is taken."""
    address = _address(bind)
    listening = socket.socket(socket.AF_INET if address.version == 4 else socket.AF_INET6, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((str(address), port))
        listening.listen(64)
    except OSError as error:
        listening.close()
        raise CapabilityError(
            f"listening on {bind} port {port}: {error.strerror}; give another --port or --bind"
        ) from error
    return listening


def site_of(listening: socket.socket, names: tuple[str, ...], *, is_tls: bool) -> Site:
    """The site of a listening socket."""
    return Site(names=names, port=listening.getsockname()[1], is_tls=is_tls)


def _address(bind: str) -> IPv4Address | IPv6Address:
    try:
        return ip_address(bind)
    except ValueError:
        raise UsageError(
            f"--bind {bind}: that is not an address; give 127.0.0.1, ::1, or another address of this machine"
        ) from None


def _is_name(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return _HOST_NAME.fullmatch(name) is not None
    return True
