"""From a refusal to its answer: one envelope for every door, and nothing said by accident."""

import structlog
from eventsourcing.persistence import PersistenceError
from litestar.exceptions import HTTPException, MethodNotAllowedException, NotFoundException

from api.answers import NO_CACHE, NO_STORE, Answer, json_answer
from kbstore.errors import (
    DatabaseUnavailableError,
    InternalError,
    KBStoreError,
    MalformedRequestError,
    MethodNotAllowedError,
    NotFoundError,
    RequestTimeoutError,
    RequestTooLargeError,
    RevisionNotReachedError,
    UnauthenticatedError,
    describe,
)

log = structlog.get_logger(__name__)

# The rest of the request was not read: what follows on this connection is not a request.
_CLOSING = (RequestTooLargeError, RequestTimeoutError)


def refusal_of(error: BaseException) -> KBStoreError:
    """The refusal that answers an exception; a defect says nothing of itself."""
    if isinstance(error, KBStoreError):
        return error if error.http_status < 500 or error.http_status == 503 else _internal()
    if isinstance(error, PersistenceError):
        log.warning("database_unavailable", error=str(error))
        return DatabaseUnavailableError("The database cannot answer now; try again.")
    if isinstance(error, NotFoundException):
        return NotFoundError("There is nothing at this address.")
    if isinstance(error, MethodNotAllowedException):
        return MethodNotAllowedError("This address does not take this method.")
    if isinstance(error, HTTPException) and 400 <= error.status_code < 500:
        return MalformedRequestError("The request cannot be read.")
    return _internal()


def error_answer(error: BaseException, request_id: str) -> Answer:
    """The answer to a request that was refused, or that met a defect."""
    refusal = refusal_of(error)
    if isinstance(refusal, InternalError):
        log.error("request_failed", request_id=request_id, exc_info=error)
    headers = [NO_STORE if isinstance(refusal, RevisionNotReachedError) else NO_CACHE]
    if refusal.retry_after_seconds is not None:
        headers.append((b"retry-after", b"%d" % refusal.retry_after_seconds))
    if isinstance(refusal, UnauthenticatedError):
        headers.append((b"www-authenticate", b"Bearer"))
    if isinstance(refusal, _CLOSING):
        headers.append((b"connection", b"close"))
    if isinstance(error, MethodNotAllowedException) and error.headers:
        headers.append((b"allow", error.headers["allow"].encode()))
    return json_answer(refusal.http_status, describe(refusal, request_id), headers)


def _internal() -> InternalError:
    return InternalError("Something went wrong here; the log has it under the request's id.")
