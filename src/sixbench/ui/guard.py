"""Access to the server: for a browser with the token that asks for one of the server's names from the server's page.

A page of another site can make a browser ask this server too, and a name of that site can be made to mean 127.0.0.1
(DNS rebinding). Hence the checks of `Host`, `Origin` and `Sec-Fetch-Site`, and the token.

The page sends the token in the header `Authorization` of each request, and keeps it for its origin, which includes the
port. There is no cookie, because browsers send the cookies of a host to the servers on all of its ports.
"""

from __future__ import annotations

import hmac

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .site import Site

MOST_BODY_BYTES = 2**18
"""The largest experiment that the page takes."""

SERVED = "has-shown-the-token"
"""Key in the `state` of a request's scope: true if the request has shown the token."""

OPEN = ("/", "/report")
OPEN_BELOW = "/static/"
"""Files that are served without a token: the page without any data."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Nothing is loaded from elsewhere, and the page has no inline script."""

_ALWAYS = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


class Guard:
    """Refuses all requests but those of the page, and adds the headers of every answer.

    Args:
        token: the part of the printed address after `#`.
    """

    def __init__(self, app: ASGIApp, token: str, site: Site) -> None:
        self._app = app
        self._token = token.encode()
        self._site = site
        self._hosts = frozenset(site.hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves a request, or refuses it with the reason."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _ALWAYS.items():
                    headers[name] = value
                headers.setdefault("content-security-policy", POLICY)
            await send(message)

        is_open = scope["path"] in OPEN or scope["path"].startswith(OPEN_BELOW)
        has_token = self._has_token(scope)
        refusal = self._refusal(scope)
        if refusal is None and not is_open and not has_token:
            refusal = (
                403,
                "the page has no token, or the token of another server; open the address that sixbench ui printed",
            )
        scope.setdefault("state", {})[SERVED] = refusal is None and has_token
        if refusal is None:
            await self._app(scope, receive, answer)
        else:
            await _refuse(*refusal, is_open)(scope, receive, answer)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """The status and the reason with which a request is refused; None: it is served."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host not in self._hosts or len(headers.getlist("host")) != 1:
            return 421, "the request is for another server name"
        origin = headers.get("origin")
        if origin is not None and origin != f"{self._site.scheme}://{host}":
            return 403, "the request comes from the page of another site"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return 403, "the request comes from the page of another site"
        if scope["method"] == "POST":
            if origin is None:
                return 403, "a request that changes something must name its origin"
            length = headers.get("content-length", "")
            if not length.isdecimal() or int(length) > MOST_BODY_BYTES:
                return 413, f"a request must state its length, of at most {MOST_BODY_BYTES} bytes"
        elif scope["method"] not in ("GET", "HEAD"):
            return 405, "only GET, HEAD and POST are allowed"
        return None

    def _has_token(self, scope: Scope) -> bool:
        scheme, _, given = Headers(scope=scope).get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(given.encode(), self._token)


def _refuse(code: int, words: str, is_page: bool) -> Response:
    return PlainTextResponse(f"sixbench ui: {words}\n", code) if is_page else JSONResponse({"error": words}, code)
