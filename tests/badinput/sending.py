"""Sending a good request with one thing wrong, and holding the refusal against the contract."""

from collections.abc import Mapping
from http.client import HTTPConnection
from types import TracebackType
from urllib.parse import quote, urlencode, urlsplit

import msgspec
from msgspec import Struct

from kbstore.errors import KBStoreError
from tests.badinput.stock import Request, Stock
from tests.http.world import Json

Headers = Mapping[str, str | bytes]


class Answer(Struct, frozen=True):
    """What came back; `headers` in lower case."""

    status: int
    headers: dict[str, str]
    raw: bytes

    @property
    def code(self) -> str:
        return str(self.error["code"])

    @property
    def details(self) -> dict[str, Json]:
        details: dict[str, Json] = self.error.get("details", {})
        return details

    @property
    def error(self) -> dict[str, Json]:
        error: dict[str, Json] = msgspec.json.decode(self.raw)["error"]
        return error


class Sender:
    """Sends requests of one stock over one connection."""

    def __init__(self, stock: Stock, url: str | None = None) -> None:
        self.stock = stock
        # The one in the standard library sends header values and addresses as they stand.
        self._http = HTTPConnection(urlsplit(url or stock.url).netloc, timeout=20)

    def __enter__(self) -> "Sender":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.close()

    def good(self, name: str) -> Request:
        return self.stock.request(name)

    def __call__(
        self,
        request: Request,
        *,
        raw: bytes | None = None,
        headers: Headers | None = None,
        query: str | None = None,
        path: str | None = None,
        method: str | None = None,
    ) -> Answer:
        """Sends the request; `raw` replaces its body, `query` and `path` replace its address as
        they stand, and `headers` come on top: an empty one takes the header away."""
        sent: dict[str, str | bytes] = {**self.stock.headers_of(request)}
        if raw is not None:
            sent["content-type"] = "application/json"
        sent |= headers or {}
        sent = {name: value for name, value in sent.items() if value != ""}
        if query is None:
            query = urlencode(request.query)
        target = path if path is not None else quote(self.stock.path_of(request), safe="/%:")
        self._http.putrequest(
            method or request.operation.method,
            f"{target}?{query}" if query else target,
            skip_accept_encoding=True,
        )
        content = request.raw if raw is None else raw
        for name, value in sent.items():
            self._http.putheader(name, _bytes(value))
        if content or request.operation.body is not None:
            self._http.putheader("content-length", str(len(content)))
        self._http.endheaders(content)
        response = self._http.getresponse()
        answer_headers = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, answer_headers, response.read())

    def refused(
        self,
        request: Request,
        *expected: type[KBStoreError],
        raw: bytes | None = None,
        headers: Headers | None = None,
        query: str | None = None,
        path: str | None = None,
    ) -> Answer:
        """The refusal, which has to be one that the operation documents, and among
        `expected` where any are given."""
        answer = self(request, raw=raw, headers=headers, query=query, path=path)
        documented = {error.code: error.http_status for error in request.operation.errors}
        check_refusal(answer)
        assert documented.get(answer.code) == answer.status, answer
        if expected:
            assert answer.code in {error.code for error in expected}, answer
        return answer


def check_refusal(answer: Answer) -> None:
    """Holds a refusal against the shape every refusal has."""
    assert 400 <= answer.status < 500, answer
    assert answer.headers["content-type"] == "application/json"
    body = msgspec.json.decode(answer.raw)
    assert set(body) == {"error", "requestId"}
    assert set(body["error"]) - {"details"} == {"code", "message", "httpStatus"}
    assert body["error"]["httpStatus"] == answer.status
    assert body["requestId"] == answer.headers["x-request-id"]
    assert body["error"]["message"]
    assert len(answer.raw) < 4_000, "a refusal is short, whatever was sent"


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value
