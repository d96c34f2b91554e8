"""Certificates that sign themselves (RFC 5280)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from ipaddress import ip_address
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.x509 import GeneralName


def self_signed(
    private: Ed25519PrivateKey | EllipticCurvePrivateKey,
    common_name: str,
    *,
    serial: int,
    valid: tuple[datetime, datetime],
    names: Sequence[str] = (),
    is_authority: bool = False,
) -> tuple[str, str]:
    """The certificate and the private key, as PEM.

    Args:
        valid: from when, and until when.
        names: host names and addresses that it is for.
        is_authority: whether others verify it as the authority that has signed it.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    public = private.public_key()
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name)])
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=is_authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(public)
        .serial_number(serial)
        .not_valid_before(valid[0])
        .not_valid_after(valid[1])
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=0 if is_authority else None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(public), critical=False)
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(map(_general_name, names)), critical=False)
    algorithm = None if isinstance(private, Ed25519PrivateKey) else hashes.SHA256()
    text = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    certificate = builder.sign(private, algorithm).public_bytes(serialization.Encoding.PEM)
    return certificate.decode(), text.decode()


def _general_name(name: str) -> GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
