"""Addresses and keys of workers: what is accepted, and the one sentence for everything else."""

from __future__ import annotations

import socket
import ssl
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sixbench.model.errors import CapabilityError, SixbenchError, UsageError
from sixbench.workers.address import Address, read_address
from sixbench.workers.key import default_key, make_default_key, read_key, security_of
from sixbench.workers.reaching import reach
from sixbench.workers.settings import why_missing

KEY = bytes(range(32))


@pytest.mark.parametrize(
    ("text", "host", "port", "uri"),
    [
        ("lab1", "lab1", 8786, "tls://lab1:8786"),
        ("192.0.2.1:5000", "192.0.2.1", 5000, "tls://192.0.2.1:5000"),
        ("[2001:db8::1]", "2001:db8::1", 8786, "tls://[2001:db8::1]:8786"),
        ("tls://[2001:DB8::1]:22", "2001:db8::1", 22, "tls://[2001:db8::1]:22"),
    ],
)
def test_addresses(text: str, host: str, port: int, uri: str) -> None:
    address = read_address(text)
    assert (address, address.uri) == (Address(host=host, port=port), uri)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no address"),
        ("2001:db8::1", "is no address"),
        ("lab1:0", "no port 0"),
        ("lab1:70000", "no port 70000"),
        ("[lab1]:1", "lab1"),
        ("tcp://lab1:8786", "over TLS only"),
        ("lab1:8786/x", "is no address"),
    ],
)
def test_what_is_no_address(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as error:
        read_address(text)
    assert len(str(error.value).splitlines()) == 1


def test_a_key_is_made_once_and_for_its_owner_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with pytest.raises(CapabilityError, match="copy it from the scheduler's machine"):
        read_key(None)
    actual_default_key = make_default_key()
    assert actual_default_key == default_key() == tmp_path / "sixbench" / "workers.key"
    assert stat.S_IMODE(actual_default_key.stat().st_mode) == 0o600
    key = read_key(None)
    assert make_default_key() is None
    assert read_key(None) == read_key(actual_default_key) == key
    assert len(key) == 32


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda file: None, "there is no key"),
        (lambda file: file.write_text("abc"), "is no key"),
        (lambda file: file.write_text("5a" * 32 + "\n" + "x" * 5000), "is no key"),
        (lambda file: (file.write_text("5a" * 32), file.chmod(0o640)), "others may read"),
        (lambda file: file.mkdir(), "Is a directory"),
    ],
)
def test_what_is_no_key(make: Callable[[Path], object], message: str, tmp_path: Path) -> None:
    file = tmp_path / "key"
    make(file)
    if file.is_file() and message != "others may read":
        file.chmod(0o600)
    with pytest.raises(SixbenchError, match=message) as error:
        read_key(file)
    assert len(str(error.value).splitlines()) == 1


def test_everyone_with_the_key_has_the_same_certificate() -> None:
    security, other, another = security_of(KEY), security_of(KEY), security_of(bytes(32))
    assert security.tls_ca_file == other.tls_ca_file == security.tls_worker_cert == security.tls_client_cert
    assert security.tls_ca_file != another.tls_ca_file
    assert KEY.hex() not in security.tls_client_key


def context(key: bytes, purpose: str) -> ssl.SSLContext:
    arguments = security_of(key)
    connection_args = (
        arguments.get_listen_args("scheduler") if purpose == "listen" else arguments.get_connection_args("client")
    )
    ssl_context: ssl.SSLContext = connection_args["ssl_context"]
    return ssl_context


@contextmanager
def listening(answer: Callable[[socket.socket], object]) -> Iterator[Address]:
    """One that answers a connection on loopback."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                answer(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        yield Address(host="127.0.0.1", port=server.getsockname()[1])
        thread.join()


def with_key(key: bytes) -> Callable[[socket.socket], object]:
    def answer(connection: socket.socket) -> None:
        try:
            context(key, "listen").wrap_socket(connection, server_side=True).close()
        except (ssl.SSLError, OSError):
            return

    return answer


def test_a_scheduler_with_the_key_is_reached() -> None:
    with listening(with_key(KEY)) as address:
        assert reach(address, security_of(KEY)) == "127.0.0.1"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (with_key(bytes(32)), "has another key"),
        (lambda connection: connection.sendall(b"\x00" * 64), "does not use TLS"),
        (lambda connection: connection.recv(1), "does not use TLS"),
    ],
)
def test_others_are_not(answer: Callable[[socket.socket], object], message: str) -> None:
    with listening(answer) as address, pytest.raises(CapabilityError, match=message) as error:
        reach(address, security_of(KEY))
    assert len(str(error.value).splitlines()) == 1


def test_where_nobody_listens_the_reason_is_told() -> None:
    refused = pytest.raises(CapabilityError, match="Connection refused; start one there with: sixbench scheduler")
    # It has the port, so that nobody else gets it, and does not listen.
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        with refused:
            reach(Address(host="127.0.0.1", port=holder.getsockname()[1]), security_of(KEY))


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert why_missing() is None
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert why_missing() == (
        "workers need distributed and cryptography, which are not installed; "
        "install with: pip install 'sixbench[workers]'"
    )
