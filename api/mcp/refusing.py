"""Refusals of a whole request, before there is a message to answer: an HTTP status, and a
JSON-RPC error whose `data` is what HTTP answers elsewhere."""

import msgspec
from mcp_types import INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR

from api.answers import NO_CACHE, Answer, json_answer
from api.errors import error_answer
from kbstore.errors import MalformedRequestError
from projections.views import Json

_ABOUT_BODY = (b"content-type", b"content-length")
_DEFECT_STATUS = 500


def refuse(error: Exception, request_id: str) -> Answer:
    """The answer to a request that was refused, or that met a defect."""
    plain = error_answer(error, request_id)
    described = msgspec.json.decode(plain.body)
    headers = [header for header in plain.headers if header[0] not in _ABOUT_BODY]
    code = INVALID_REQUEST
    if isinstance(error, MalformedRequestError):
        code = PARSE_ERROR
    elif plain.status == _DEFECT_STATUS:
        code = INTERNAL_ERROR
    return _answer(plain.status, code, described["error"]["message"], described, headers)


def refuse_origin() -> Answer:
    """The answer to a web page that may not speak to this server."""
    return _answer(403, INVALID_REQUEST, "This origin is not allowed.", None, [NO_CACHE])


def refuse_message() -> Answer:
    """The answer to JSON that is not one message: a batch, or no object at all."""
    what = "The body must be one JSON-RPC request or notification."
    return _answer(400, INVALID_REQUEST, what, None, [NO_CACHE])


def _answer(
    status: int, code: int, message: str, data: Json, headers: list[tuple[bytes, bytes]]
) -> Answer:
    error = {"code": code, "message": message, **({} if data is None else {"data": data})}
    return json_answer(status, {"jsonrpc": "2.0", "id": None, "error": error}, headers)
