"""TLS for a page that is served beyond loopback: a certificate that the user gives, or one that signs itself.

The latter is made anew at each start, and nothing of it is kept. Whoever opens the page compares its fingerprint with
the printed one.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import ssl
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ..cells.certificate import self_signed
from ..model.errors import UsageError
from ..model.files import open_regular

VALID = timedelta(days=90)
"""Browsers let people go on to one that they do not know only while it is valid. A server runs for days at most."""

_MOST_BYTES = 2**20


@dataclass(frozen=True, kw_only=True)
class Identity:
    """What a server shows of itself.

    Attributes:
        names: that its certificate is for, less those that stand for many (`*.example.org`).
        fingerprint: of a certificate that signs itself, SHA-256 as browsers show it.
    """

    context: ssl.SSLContext
    names: tuple[str, ...]
    fingerprint: str | None = None


def own_identity(names: Sequence[str]) -> Identity:
    """A new certificate for these names, which signs itself."""
    from cryptography.hazmat.primitives.asymmetric import ec

    now = datetime.now(UTC)
    private = ec.generate_private_key(ec.SECP256R1())  # browsers know no certificates of Ed25519
    valid = now - timedelta(days=1), now + VALID  # clocks differ
    certificate, key = self_signed(private, "sixbench ui", serial=secrets.randbits(128) + 1, valid=valid, names=names)
    digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificate)).digest()
    held = os.memfd_create("certificate", os.MFD_CLOEXEC)  # what reads certificates takes files only
    try:
        os.write(held, (key + certificate).encode())
        context = _context(Path(f"/proc/self/fd/{held}"), None)
    finally:
        os.close(held)
    return Identity(context=context, names=tuple(names), fingerprint=digest.hex(":").upper())


def given_identity(certificate: Path, key: Path | None) -> Identity:
    """A certificate, and those between it and its authority, from a file of PEM. Raises `UsageError`.

    Args:
        key: the file of its private key. None: that is in the same file.
    """
    from cryptography import x509

    content = _read(certificate, is_secret=key is None)
    if key is not None:
        _read(key, is_secret=True)
    try:
        names = x509.load_pem_x509_certificates(content)[0].extensions.get_extension_for_class(
            x509.SubjectAlternativeName
        )
        found = [
            *names.value.get_values_for_type(x509.DNSName),
            *map(str, names.value.get_values_for_type(x509.IPAddress)),
        ]
    except x509.ExtensionNotFound:
        found = []
    except ValueError as error:
        raise UsageError(f"--certificate {certificate}: it is no certificate as PEM: {error}") from None
    return Identity(context=_context(certificate, key), names=tuple(name for name in found if "*" not in name))


def _context(certificate: Path, key: Path | None) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key, password=lambda: b"")  # without it, OpenSSL asks at the terminal
    except ssl.SSLError as error:
        raise UsageError(
            f"--certificate {certificate}: there is no private key for it in {key or certificate}, or that needs a "
            f"passphrase ({error.reason}); give an unencrypted one with --key FILE"
        ) from None
    return context


def _read(file: Path, *, is_secret: bool) -> bytes:
    try:
        with open_regular(file) as opened:
            content = opened.read(_MOST_BYTES)
            mode = os.fstat(opened.fileno()).st_mode
    except OSError as error:
        raise UsageError(f"reading {file}: {error.strerror}") from error
    if is_secret and mode & stat.S_IRWXO:
        raise UsageError(f"others may read the private key in {file}; keep it to yourself with: chmod 600 {file}")
    return content
