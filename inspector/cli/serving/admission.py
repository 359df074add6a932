"""Who may see the screen: whoever opened the printed address first, and nobody else.

The address holds a token that works once. Whoever brings it gets a cookie, which scripts cannot read and other sites'
pages do not send; everything after that needs the cookie. Requests that name another host are refused, or a page could
point its own name at this machine (DNS rebinding), and so are sockets opened by other sites' pages, which browsers
allow otherwise.
"""

from __future__ import annotations

import hmac
import secrets
from typing import TYPE_CHECKING

from aiohttp import web

if TYPE_CHECKING:
    from aiohttp.typedefs import Handler, Middleware

COOKIE = "inspector"
TOKEN = "token"  # noqa: S105  the name of a parameter
TOKEN_BYTES = 24

REFUSED = "This address was used already, or is not whole. Start `inspector serve` again for a new one.\n"


class Admission:
    """One token, and the cookie it is exchanged for."""

    def __init__(self, hosts: frozenset[str]) -> None:
        """Make a new token.

        Args:
            hosts: Names with port by which the server may be asked.
        """
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        self._cookie = secrets.token_urlsafe(TOKEN_BYTES)
        self._hosts = hosts
        self._is_spent = False

    def middleware(self) -> Middleware:
        """What every request passes through."""

        @web.middleware
        async def admit(request: web.Request, handler: Handler) -> web.StreamResponse:
            if request.host not in self._hosts:
                return _refused()
            if request.path == "/" and self._spend(request.query.get(TOKEN, "")):
                welcome = web.Response(status=303, headers={"Location": "/"})
                welcome.set_cookie(COOKIE, self._cookie, httponly=True, samesite="Strict", path="/")
                return welcome
            if not hmac.compare_digest(request.cookies.get(COOKIE, "").encode(), self._cookie.encode()):
                return _refused()
            origin = request.headers.get("Origin")
            if origin is not None and origin.partition("://")[2] not in self._hosts:
                return _refused()
            return await handler(request)

        return admit

    def _spend(self, token: str) -> bool:
        if self._is_spent or not hmac.compare_digest(token.encode(), self.token.encode()):
            return False
        self._is_spent = True
        return True


def _refused() -> web.Response:
    return web.Response(status=403, text=REFUSED)
