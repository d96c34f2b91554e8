"""The page beyond loopback: TLS, the names by which it is asked for, and what is refused."""

from __future__ import annotations

import datetime
import hashlib
import socket
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from served import BEARER, stranger_to

from sixbench.model.errors import CapabilityError, UsageError
from sixbench.ui.listening import identity_for, listen
from sixbench.ui.site import Site
from sixbench.ui.tls import Identity
from sixbench.workers.certificate import self_signed

Given = Callable[..., tuple[Path, Path]]


@pytest.fixture
def given(tmp_path: Path) -> Given:
    """Makes a certificate for some names, and its key, in files."""

    def make(*names: str) -> tuple[Path, Path]:
        now = datetime.datetime.now(datetime.UTC)
        valid = now - datetime.timedelta(days=1), now + datetime.timedelta(days=1)
        texts = self_signed(ec.generate_private_key(ec.SECP256R1()), "test", serial=1, valid=valid, names=names)
        files = tmp_path / "certificate.pem", tmp_path / "key.pem"
        for file, text in zip(files, texts, strict=True):
            file.touch(0o600)
            file.write_text(text)
        return files

    return make


def identity(
    bind: str, name: str | None = None, *, tls: bool = False, files: tuple[Path | None, Path | None] = (None, None)
) -> tuple[tuple[str, ...], Identity | None]:
    return identity_for(bind, name, is_own=tls, certificate=files[0], key=files[1])


@pytest.mark.parametrize("bind", ["0.0.0.0", "192.0.2.1", "::", "2001:db8::1"])
def test_without_tls_it_is_served_on_loopback_only(bind: str) -> None:
    with pytest.raises(UsageError) as refused:
        identity(bind)
    words = str(refused.value)
    assert words.startswith(f"--bind {bind}: beyond loopback the page is served over TLS only; add --tls")
    assert "\n" not in words


@pytest.mark.parametrize(
    ("bind", "name", "names"),
    [
        ("127.0.0.1", None, ("127.0.0.1", "localhost")),
        ("::1", None, ("::1", "localhost")),
        ("192.0.2.1", None, ("192.0.2.1",)),
        ("192.0.2.1", "lab.example", ("lab.example", "192.0.2.1")),
        ("::", "lab.example", ("lab.example",)),
        ("0.0.0.0", "2001:db8::1", ("2001:db8::1",)),
    ],
)
def test_its_own_certificate_is_for_the_names_by_which_it_is_asked_for(
    bind: str, name: str | None, names: tuple[str, ...]
) -> None:
    result, own_names = identity(bind, name, tls=True)
    assert result == own_names.names == names


@pytest.mark.parametrize(
    ("bind", "name", "words"),
    [
        ("0.0.0.0", None, "give the name or the address that browsers use with --name"),
        ("example.org", None, "that is not an address"),
        ("::", "a b", "neither a host name nor an address"),
        ("::", "*.example", "neither a host name nor an address"),
        ("::", "", "neither a host name nor an address"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(bind: str, name: str | None, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        identity(bind, name, tls=True)


def test_a_given_certificate_says_by_which_names_it_is_asked_for(given: Given) -> None:
    names, result = identity("0.0.0.0", files=given("lab.example", "*.lab.example", "192.0.2.1"))
    assert names == ("lab.example", "192.0.2.1")
    assert result.fingerprint is None
    assert identity("127.0.0.1", "other.example", files=given("lab.example"))[0][0] == "other.example"
    with pytest.raises(UsageError, match="--name"):
        identity("0.0.0.0", files=given())


def test_a_certificate_and_its_key_may_be_in_one_file(given: Given) -> None:
    certificate, key = given("lab.example")
    certificate.write_text(certificate.read_text() + key.read_text())
    assert identity("0.0.0.0", files=(certificate, None))[0] == ("lab.example",)


def test_certificates_that_cannot_be_used_are_refused_in_words(tmp_path: Path, given: Given) -> None:
    certificate, key = given("lab.example")
    with pytest.raises(UsageError, match="there is no private key for it in"):
        identity("0.0.0.0", files=(certificate, None))
    with pytest.raises(UsageError, match="No such file"):
        identity("0.0.0.0", files=(certificate, tmp_path / "none"))
    with pytest.raises(UsageError, match="--key belongs to a certificate"):
        identity_for("::", "x", is_own=False, certificate=None, key=key)
    with pytest.raises(UsageError, match="leave one of them out"):
        identity("::", tls=True, files=(certificate, key))
    (tmp_path / "no.pem").write_text("nonsense")
    with pytest.raises(UsageError, match="has no certificate in PEM form"):
        identity("::", files=(tmp_path / "no.pem", key))
    key.chmod(0o644)
    with pytest.raises(UsageError, match="others may read the private key"):
        identity("::", files=(certificate, key))


def test_a_port_that_is_taken_is_told() -> None:
    with listen("127.0.0.1", 0) as listener, pytest.raises(CapabilityError, match="give another --port"):
        listen("127.0.0.1", listener.getsockname()[1])


@pytest.mark.parametrize("port", [443, 8066])
def test_host_and_origin_are_those_of_its_names_over_tls(tmp_path: Path, port: int) -> None:
    site = Site(names=("lab.example", "2001:db8::1"), port=port, is_tls=True)
    first, second = (f"https://{host}" for host in site.hosts)
    assert first == ("https://lab.example" if port == 443 else "https://lab.example:8066")
    with stranger_to(tmp_path, site) as client:
        client.headers.update(BEARER)
        ask = {"name": "quickstart"}
        assert client.post("/api/check", json=ask, headers={"origin": first}).status_code == 200
        for origin in (second, first.replace("https", "http"), "https://lab.example:1", "https://evil.example"):
            assert client.post("/api/check", json=ask, headers={"origin": origin}).status_code == 403
        host = site.hosts[1]
        for asked, code in ((host, 200), ("evil.example", 421), ("127.0.0.1:8066", 421), ("lab.example:1", 421)):
            assert client.get("/api/jobs", headers={"host": asked}).status_code == code


def test_it_is_served_over_tls_to_whoever_trusts_the_fingerprint(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sixbench", "ui", str(tmp_path), "--port", "0", "--tls"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        address = process.stderr.readline().rpartition(" ")[2].strip()
        printed = process.stderr.readline().rpartition(" ")[2].strip()
        assert address.startswith("https://127.0.0.1:")
        port = int(address.split(":")[2].partition("/")[0])
        with socket.create_connection(("127.0.0.1", port)) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            assert b"HTTP" not in plain.recv(100)
        certificate = ssl.get_server_certificate(("127.0.0.1", port))
        digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificate)).hexdigest()
        assert printed.replace(":", "").lower() == digest
        trusting = ssl.create_default_context(cadata=certificate)
        opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=trusting))
        with opener.open(address, timeout=60) as answer:
            assert b"<title>sixbench</title>" in answer.read()
        process.terminate()
        assert process.wait(60) == 0
