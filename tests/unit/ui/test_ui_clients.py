"""The command `sixbench ui` among clients that leave, or that are slow."""

from __future__ import annotations

import contextlib
import http.client
import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit


def test_clients_that_leave_in_the_midst_of_a_request_leave_no_traceback(directory: Path) -> None:
    command = [sys.executable, "-m", "sixbench", "ui", str(directory), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        address = urlsplit(process.stderr.readline().rpartition(" ")[2].strip())
        host, token = f"127.0.0.1:{address.port}", address.fragment.removeprefix("token=")
        head = f"host: {host}\r\norigin: http://{host}\r\nauthorization: Bearer {token}\r\n"
        for path in ("/api/start", "/api/check", "/api/measure/start", "/api/measure/check", "/api/runs/small/resume"):
            with socket.create_connection(("127.0.0.1", address.port), timeout=60) as client:
                client.sendall(f'POST {path} HTTP/1.1\r\n{head}content-length: 900\r\n\r\n{{"name": '.encode())
        actual_httpconnection = http.client.HTTPConnection(host, timeout=60)
        actual_httpconnection.request("GET", "/api/jobs", headers={"authorization": f"Bearer {token}"})
        assert json.loads(actual_httpconnection.getresponse().read()) == {"jobs": []}
        actual_httpconnection.close()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        assert "Traceback" not in process.stderr.read()


def test_whoever_was_served_stays_served_among_hundreds_of_slow_clients(directory: Path) -> None:
    command = [sys.executable, "-m", "sixbench", "ui", str(directory), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process, contextlib.ExitStack() as slow:
        assert process.stderr is not None
        address = urlsplit(process.stderr.readline().rpartition(" ")[2].strip())
        assert address.port is not None
        actual_httpconnection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=60)
        bearer = {"authorization": f"Bearer {address.fragment.removeprefix('token=')}"}
        actual_httpconnection.request("GET", "/api/jobs", headers=bearer)
        actual_httpconnection.getresponse().read()
        clients = []
        for _ in range(600):
            clients.append(slow.enter_context(socket.create_connection(("127.0.0.1", address.port), timeout=60)))
            clients[-1].sendall(b"GET /api/runs HTTP/1.1\r\nhost: 127.0.0.1\r\n")
        for connection in (actual_httpconnection, http.client.HTTPConnection("127.0.0.1", address.port, timeout=60)):
            connection.request("GET", "/api/runs", headers=bearer)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200
            connection.close()
        with contextlib.suppress(ConnectionResetError):
            received = clients[0].recv(100)
            assert received == b"" or received.startswith(b"HTTP/1.1 408 ")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
