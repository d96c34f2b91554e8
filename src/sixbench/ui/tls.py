"""TLS for a page that is served beyond loopback: a certificate that the user gives, or a self-signed one.

A self-signed certificate is made at each start and not kept. The user compares the fingerprint in the browser with the
printed one.
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

from ..model.errors import UsageError
from ..model.files import open_regular
from ..workers.certificate import self_signed

VALID = timedelta(days=90)
"""Lifetime of a self-signed certificate. Browsers accept an unknown one, on request, only while it is valid."""

_MOST_BYTES = 2**20


@dataclass(frozen=True, kw_only=True)
class Identity:
    """The TLS identity of a server.

    Attributes:
        names: the names in its certificate, without wildcards (`*.example.org`).
        fingerprint: SHA-256 of a self-signed certificate, as browsers show it; None: an authority signed it.
    """

    context: ssl.SSLContext
    names: tuple[str, ...]
    fingerprint: str | None = None


def own_identity(names: Sequence[str]) -> Identity:
    """A new self-signed certificate for these names."""
    from cryptography.hazmat.primitives.asymmetric import ec

    now = datetime.now(UTC)
    private = ec.generate_private_key(ec.SECP256R1())  # browsers do not support Ed25519 certificates
    valid = now - timedelta(days=1), now + VALID  # the clock of the browser may be behind
    certificate, key = self_signed(private, "sixbench ui", serial=secrets.randbits(128) + 1, valid=valid, names=names)
    digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificate)).digest()
    held = os.memfd_create("certificate", os.MFD_CLOEXEC)  # OpenSSL reads certificates only from files
    try:
        os.write(held, (key + certificate).encode())
        context = _context(Path(f"/proc/self/fd/{held}"), None)
    finally:
        os.close(held)
    return Identity(context=context, names=tuple(names), fingerprint=digest.hex(":").upper())


def given_identity(certificate: Path, key: Path | None) -> Identity:
    """A certificate with its intermediate certificates, from a PEM file. Raises `UsageError`.

    Args:
        key: the file with its private key. None: the key is in the same file.
    """
    from cryptography import x509

    content = _read(certificate, is_secret=key is None)
    if key is not None:
        _read(key, is_secret=True)
    try:
        names = x509.load_pem_x509_certificates(content)[0].extensions.get_extension_for_class(
            x509.SubjectAlternativeName
        )
        alternatives = [
            *names.value.get_values_for_type(x509.DNSName),
            *map(str, names.value.get_values_for_type(x509.IPAddress)),
        ]
    except x509.ExtensionNotFound:
        alternatives = []
    except ValueError as error:
        raise UsageError(f"--certificate {certificate}: the file has no certificate in PEM form: {error}") from None
    return Identity(context=_context(certificate, key), names=tuple(name for name in alternatives if "*" not in name))


def _context(certificate: Path, key: Path | None) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key, password=lambda: b"")  # or else OpenSSL asks at the terminal
    except ssl.SSLError as error:
        raise UsageError(
            f"--certificate {certificate}: there is no private key for it in {key or certificate}, or the key needs a "
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
