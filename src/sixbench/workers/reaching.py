"""Checks whether a scheduler with our key is at an address, found out before Dask tries for long."""

from __future__ import annotations

import socket
import ssl
from typing import TYPE_CHECKING

from ..model.errors import CapabilityError
from .address import Address

if TYPE_CHECKING:
    from distributed.security import Security

TIMEOUT_S = 5.0


def reach(address: Address, security: Security) -> str:
    """The address of this machine that the scheduler sees. Raises `CapabilityError` where no scheduler answers, or one
    without TLS, or with another key."""
    context: ssl.SSLContext = security.get_connection_args("client")["ssl_context"]  # type: ignore[no-untyped-call]
    try:
        with (
            socket.create_connection((address.host, address.port), timeout=TIMEOUT_S) as plain,
            context.wrap_socket(plain) as secret,
        ):
            return str(secret.getsockname()[0])
    except ssl.SSLCertVerificationError:
        raise CapabilityError(
            f"the scheduler at {address} has another key; copy its key to this machine, or name it with --key FILE"
        ) from None
    except socket.gaierror as error:
        raise CapabilityError(f"finding the scheduler {address}: {error.strerror}") from error
    except (ssl.SSLError, ConnectionResetError, EOFError):
        raise CapabilityError(
            f"the server at {address} does not use TLS, so it is not a scheduler of workers; start one with: "
            "sixbench scheduler"
        ) from None
    except OSError as error:
        why = error.strerror or f"no answer within {TIMEOUT_S:g} s"
        raise CapabilityError(
            f"reaching the scheduler at {address}: {why}; start one there with: sixbench scheduler"
        ) from error
