"""The key that scheduler, workers and orchestrator have, and the TLS that it makes between them.

Whoever has the key has workers measure, mostly as root, and Dask trusts whoever reaches it. So there is a key in every
case, even on loopback, where other users are. It is the key of `sixbench key`: 32 bytes. From it everyone computes the
same pair of keys (Ed25519) and the same certificate, which signs itself and which alone is trusted. So each side proves
to the other that it has the key, and nobody has to make certificates or to copy them.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ..model.errors import CapabilityError, UsageError, WriteError
from ..model.files import open_regular
from ..store.atomic import create_file, make_parent
from .certificate import self_signed

if TYPE_CHECKING:
    from distributed.security import Security

KEY_BYTES = 32

_KEY = re.compile(rb"[0-9a-fA-F]{64}\s*")
_DERIVED = b"sixbench workers, TLS, 1"
"""The purpose of the key, so that the same key in another use is another one (RFC 5869 section 3.2)."""

_FROM, _UNTIL = datetime(2020, 1, 1, tzinfo=UTC), datetime(2120, 1, 1, tzinfo=UTC)
"""The certificate is as old as its key, whatever a machine's clock says."""


def default_key() -> Path:
    """The key of a user, in the configuration directory of the XDG Base Directory Specification."""
    given = os.environ.get("XDG_CONFIG_HOME", "")
    return (Path(given) if os.path.isabs(given) else Path.home() / ".config") / "sixbench" / "workers.key"


def make_default_key() -> Path | None:
    """Makes that key where there is none yet. Returns where it was made. Raises `WriteError`."""
    file = default_key()
    try:
        make_parent(file)
        create_file(file, secrets.token_hex(KEY_BYTES) + "\n", 0o600)
    except FileExistsError:
        return None
    except WriteError as error:
        raise WriteError(f"making the key {file}: {error}; name another one with --key FILE") from error
    return file


def read_key(file: Path | None) -> bytes:
    """The key in a file, or the user's own where none is named. Raises `UsageError`, and `CapabilityError` where there
    is none."""
    place = file or default_key()
    try:
        with open_regular(place) as opened:
            mode = os.fstat(opened.fileno()).st_mode
            content = opened.read(1024)
    except FileNotFoundError:
        if file is None:
            raise CapabilityError(
                f"there is no key {place}: copy it from the scheduler's machine, or name another one with --key FILE"
            ) from None
        raise UsageError(f"there is no key {place}; make one with: sixbench key {place}") from None
    except OSError as error:
        raise UsageError(f"reading the key {place}: {error.strerror}") from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UsageError(f"others may read the key {place}; keep it to yourself with: chmod 600 {place}")
    if not _KEY.fullmatch(content):
        raise UsageError(f"{place} is no key, which has 64 hexadecimal digits; make one with: sixbench key FILE")
    return bytes.fromhex(content.decode("ascii").strip())


def security_of(key: bytes) -> Security:
    """Dask's settings for connections that only holders of the key can make."""
    from distributed.security import Security

    certificate, private = _pair(key)
    roles = {
        f"tls_{role}_{what}": text
        for role in ("client", "scheduler", "worker")
        for what, text in (("cert", certificate), ("key", private))
    }
    return Security(require_encryption=True, tls_ca_file=certificate, **roles)  # type: ignore[no-untyped-call]


def _pair(key: bytes) -> tuple[str, str]:
    """The certificate and the private key, as PEM: the same for everyone who has the key."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    seed = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=_DERIVED).derive(key)
    private = Ed25519PrivateKey.from_private_bytes(seed)
    return self_signed(private, "sixbench workers", serial=1, valid=(_FROM, _UNTIL), is_authority=True)
