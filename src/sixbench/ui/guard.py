"""Who is served: a browser that has the token, asking for this server by one of its names, from its own page.

A page of another site can make a browser ask this server too, and a name of that site can be made to mean 127.0.0.1
(DNS rebinding). Hence the checks of `Host`, `Origin` and `Sec-Fetch-Site`, the token, and a cookie that only this
site's own requests carry.
"""

from __future__ import annotations

import hmac
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .site import Site

MOST_BODY_BYTES = 2**18
"""The largest experiment that the page takes."""

SERVED = "has-shown-the-token"
"""In the `state` of a request's scope: whether it was let in."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Nothing comes from elsewhere, and nothing is written into the page itself."""

_ALWAYS = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


class Guard:
    """Refuses all but the requests of the page, and adds the headers that every answer has.

    Args:
        token: what the printed address has.
    """

    def __init__(self, app: ASGIApp, token: str, site: Site) -> None:
        self._app = app
        self._token = token.encode()
        self._site = site
        self._hosts = frozenset(site.hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves a request, or says why not."""
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

        refusal = self._refusal(scope)
        scope.setdefault("state", {})[SERVED] = refusal is None
        if refusal is not None:
            code, words = refusal
            await PlainTextResponse(f"sixbench ui: {words}\n", code)(scope, receive, answer)
        elif scope["path"] == "/" and self._is_token(_asked_token(scope)):
            first = RedirectResponse("/", 303)
            token, is_tls = self._token.decode(), self._site.is_tls
            first.set_cookie(self._site.cookie, token, httponly=True, samesite="strict", secure=is_tls)
            await first(scope, receive, answer)
        else:
            await self._app(scope, receive, answer)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """The status and the words with which a request is refused; None: it is served."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host not in self._hosts or len(headers.getlist("host")) != 1:
            return 421, "this server is asked for by another name than its own"
        origin = headers.get("origin")
        if origin is not None and origin != f"{self._site.scheme}://{host}":
            return 403, "another site's page asks"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return 403, "another site's page asks"
        if scope["method"] == "POST":
            if origin is None:
                return 403, "a request that changes something has to name its origin"
            length = headers.get("content-length", "")
            if not length.isdecimal() or int(length) > MOST_BODY_BYTES:
                return 413, f"a request has at most {MOST_BODY_BYTES} bytes, and says how many"
        elif scope["method"] not in ("GET", "HEAD"):
            return 405, "there is GET and POST"
        has_cookie = self._is_token(cookie_parser(headers.get("cookie", "")).get(self._site.cookie, ""))
        if has_cookie or (scope["path"] == "/" and self._is_token(_asked_token(scope))):
            return None
        return 403, "the address has no token, or that of another server; use the address that sixbench ui printed"

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self._token)


def _asked_token(scope: Scope) -> str:
    found = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])
    return found[0] if len(found) == 1 else ""
