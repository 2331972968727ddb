"""`Origin`: which web pages may speak to this server.

A page of another site can reach a server on the reader's own machine, by its address or by a
name that is made to lead there. A browser names the page's origin in every POST, and only POST
is answered, so an origin that is not allowed ends both ways. `Host` is left alone: behind a
proxy it is the proxy's.
"""

from collections.abc import Collection

from litestar.types import HTTPScope

_LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")
_HTTP_PORT = 80


def is_origin_allowed(scope: HTTPScope, allowed: Collection[str]) -> bool:
    """Whether a request comes from no web page, from one that this port of this machine served,
    or from one of the origins in `allowed`, which are in lower case."""
    given = [value for name, value in scope["headers"] if name == b"origin"]
    if not given:
        return True
    origin = given[0].decode("latin-1").lower()
    return len(given) == 1 and (origin in allowed or origin in _own(scope))


def _own(scope: HTTPScope) -> tuple[str, ...]:
    """The loopback origins of the port that the request came to."""
    _, port = scope["server"] or ("", None)
    if port is None:
        return ()
    ending = "" if port == _HTTP_PORT else f":{port}"
    return tuple(f"http://{host}{ending}" for host in _LOOPBACK_HOSTS)
