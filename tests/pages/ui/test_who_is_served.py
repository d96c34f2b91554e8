"""Access to the page: reports, and servers on other ports of the same host."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from ui_browser import PATIENCE_MS, Served, show


def test_a_report_can_ask_nobody_anything(page: Page, served: Served) -> None:
    show(page, served, "result/small")
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("heading")).to_have_text("The report")
    [_, inside] = page.frames
    assert inside.evaluate("document.title") == "ran"
    assert inside.evaluate("window.origin") == "null"
    assert inside.evaluate("fetch('/api/runs').then(() => 'read', () => 'refused')") == "refused"
    served.wrong.clear()  # the browser tells of what it refused


ELSEWHERE = """<!doctype html><title>Elsewhere</title><script>
window.heard = [];
const others = new BroadcastChannel("sixbench-token");
others.onmessage = ({ data }) => heard.push(data);
addEventListener("message", ({ data }) => heard.push(data));
</script>"""
ATTEMPTS = """async (base) => {
  const tried = (asked) => asked.then((answer) => answer.type === "opaque" ? "opaque" : "read", () => "refused");
  others.postMessage({ wanted: true });
  const body = JSON.stringify({ name: "quickstart", quick: true });
  return {
    list: await tried(fetch(`${base}api/runs`, { credentials: "include" })),
    blind: await tried(fetch(`${base}api/runs`, { credentials: "include", mode: "no-cors" })),
    start: await tried(fetch(`${base}api/start`, { method: "POST", credentials: "include", mode: "no-cors", body })),
    bearer: await tried(fetch(`${base}api/runs`, { headers: { authorization: "Bearer x" } })),
    held: Object.keys(sessionStorage).length + Object.keys(localStorage).length,
    cookies: document.cookie,
  };
}"""


@pytest.fixture
def elsewhere() -> Iterator[tuple[str, list[str]]]:
    """A server of somebody else on another port of the same host: its address, and all that it is sent."""
    sent: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            sent.append(f"{self.requestline}\n{self.headers}")
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(ELSEWHERE.encode())

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/", sent
        server.shutdown()
        thread.join()


def test_a_server_on_another_port_of_the_same_host_gets_nothing_that_it_can_use(
    page: Page, served: Served, elsewhere: tuple[str, list[str]]
) -> None:
    address, sent = elsewhere
    show(page, served, "runs")
    assert page.context.cookies() == []
    assert served.token not in page.url
    with contextlib.closing(page.context.new_page()) as other:
        other.goto(address)
        assert other.evaluate(ATTEMPTS, served.base) == {
            "list": "refused",
            "blind": "refused",
            "start": "refused",
            "bearer": "refused",
            "held": 0,
            "cookies": "",
        }
        # A tab of the page itself asks the others in the same words, and is answered.
        with contextlib.closing(page.context.new_page()) as closing:
            closing.goto(f"{served.base}#/runs")
            expect(closing.get_by_role("link", name="Result of small")).to_be_visible(timeout=PATIENCE_MS)
        assert other.evaluate("heard") == []
    page.goto(address)
    page.go_back()
    expect(page.get_by_role("link", name="Result of small")).to_be_visible(timeout=PATIENCE_MS)
    assert len(sent) >= 2
    assert [item for item in sent if served.token in item or served.base in item or "cookie:" in item.lower()] == []
    assert page.evaluate("(name) => fetch(`/api/jobs`).then((answer) => answer.status)") == 403
    served.wrong.clear()  # the address elsewhere, and what the browser tells of the answer 403


def test_whoever_has_no_token_is_told_where_to_get_it(browser: Browser, served: Served) -> None:
    with contextlib.closing(browser.new_context()) as context:
        page = context.new_page()
        page.goto(f"{served.base}#/runs")
        expect(page.get_by_role("alert")).to_contain_text("open the address that sixbench ui printed")
        page.goto(served.address)
        expect(page.get_by_role("link", name="Result of small")).to_be_visible(timeout=PATIENCE_MS)


@pytest.mark.parametrize(
    ("address", "heading"),
    [
        ("%", "Runs"),
        ("constructor", "Runs"),
        ("live/%", "That did not work"),
        ("result/small/%E0%A4%A", "IPv4 and IPv6 through two routers"),
        ("compare/%/small", "That did not work"),
        ("learn/%/%", "A packet's path"),
    ],
)
def test_an_address_that_is_none_of_the_page_is_told(page: Page, served: Served, address: str, heading: str) -> None:
    page.goto(f"{served.base}#/{address}")
    expect(page.get_by_role("heading", level=1)).to_have_text(heading, timeout=PATIENCE_MS)
    assert [item for item in served.wrong if "status of 404" not in item and "status of 422" not in item] == []
    served.wrong.clear()  # the browser tells of answers 404 and 422
