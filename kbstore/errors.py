"""Every refusal of the store, drawn as a tree.

    KBStoreError
    ├── InvalidError                       422  the request itself is wrong
    │   ├── ValidationError                422  VALIDATION_ERROR
    │   ├── ConfigurationInvalidError      422  CONFIGURATION_INVALID
    │   ├── IdempotencyKeyReusedError      422  IDEMPOTENCY_KEY_REUSED
    │   ├── NestingTooDeepError            422  NESTING_TOO_DEEP
    │   ├── TooManyPagesError              422  TOO_MANY_PAGES
    │   ├── ImportInvalidError             422  IMPORT_INVALID
    │   ├── MalformedRequestError          400  MALFORMED_REQUEST
    │   ├── RequestTimeoutError            408  REQUEST_TIMEOUT
    │   ├── RequestTooLargeError           413  REQUEST_TOO_LARGE
    │   ├── UnsupportedMediaTypeError      415  UNSUPPORTED_MEDIA_TYPE
    │   └── PreconditionRequiredError      428  PRECONDITION_REQUIRED
    ├── UnauthenticatedError               401  UNAUTHENTICATED
    ├── ForbiddenError                     403  the caller sees it, but may not do this
    │   ├── RoleTooWeakError               403  ROLE_TOO_WEAK
    │   ├── GrantMissingError              403  GRANT_MISSING
    │   └── RunScopesMissingError          403  RUN_SCOPES_MISSING
    ├── AbsentError                        404  missing, or hidden: the answer is the same
    │   ├── NotFoundError                  404  NOT_FOUND
    │   ├── ParentNotFoundError            404  PARENT_NOT_FOUND
    │   ├── RevisionNotReachedError        404  REVISION_NOT_REACHED
    │   ├── MethodNotAllowedError          405  METHOD_NOT_ALLOWED
    │   └── RevisionNotRetainedError       410  REVISION_NOT_RETAINED
    ├── ConflictError                      409  the state does not allow it
    │   ├── VersionConflictError           409  VERSION_CONFLICT
    │   ├── RevisionConflictError          409  REVISION_CONFLICT
    │   ├── KeyTakenError                  409  KEY_TAKEN
    │   ├── WouldCreateCycleError          409  WOULD_CREATE_CYCLE
    │   ├── ParentDeletedError             409  PARENT_DELETED
    │   ├── PageHasChildrenError           409  PAGE_HAS_CHILDREN
    │   ├── PageDeclaredError              409  PAGE_DECLARED
    │   ├── ScopePageError                 409  SCOPE_PAGE
    │   ├── AmbiguousReferenceError        409  AMBIGUOUS_REFERENCE
    │   ├── StaleCursorError               409  STALE_CURSOR
    │   ├── IdempotencyInProgressError     409  IDEMPOTENCY_IN_PROGRESS
    │   ├── SlugTakenError                 409  SLUG_TAKEN
    │   ├── TooManyWebhooksError           409  TOO_MANY_WEBHOOKS
    │   └── WebhookDisabledError           409  WEBHOOK_DISABLED
    ├── UnavailableError                   503  try again
    │   ├── OverloadedError                503  OVERLOADED
    │   ├── ProjectionBehindError          503  PROJECTION_BEHIND
    │   ├── SearchTimeoutError             503  SEARCH_TIMEOUT
    │   └── DatabaseUnavailableError       503  DATABASE_UNAVAILABLE
    ├── InternalError                      500  INTERNAL_ERROR
    └── StoreError                              STORE_ERROR
        ├── DatabaseInUseError                  DATABASE_IN_USE
        ├── DatabaseNotMigratedError            DATABASE_NOT_MIGRATED
        ├── UpcasterMissingError                UPCASTER_MISSING
        ├── UnknownTopicError                   UNKNOWN_TOPIC
        └── VerificationError                   VERIFICATION_FAILED

What stands under StoreError is for operators and never an answer over HTTP.

A class is a stable `code`; `details` carry what a caller, often a program, can act on.
`docs/reference/errors.md` explains each, and a test holds the two against each other.
"""

from collections.abc import Mapping
from typing import ClassVar

Detail = object


class KBStoreError(Exception):
    """A refusal with a stable code, a sentence for people and details to act on."""

    code: ClassVar[str] = "INTERNAL_ERROR"
    http_status: ClassVar[int] = 500
    retry_after_seconds: ClassVar[int | None] = None

    def __init__(self, message: str, **details: Detail) -> None:
        super().__init__(message)
        self.message = message
        self.details: dict[str, Detail] = {k: v for k, v in details.items() if v is not None}


# --- 4xx: the request itself is wrong -------------------------------------------------------


class InvalidError(KBStoreError):
    http_status = 422


class ValidationError(InvalidError):
    """A field is wrong; `details.field` names it and `details.reason` says how."""

    code = "VALIDATION_ERROR"

    def __init__(self, message: str, *, field: str, reason: str, **details: Detail) -> None:
        super().__init__(message, field=field, reason=reason, **details)


class ConfigurationInvalidError(InvalidError):
    """A configuration is wrong; `details.path` leads to the key at fault."""

    code = "CONFIGURATION_INVALID"

    def __init__(self, message: str, *, path: str, reason: str) -> None:
        super().__init__(message, path=path, reason=reason)


class IdempotencyKeyReusedError(InvalidError):
    code = "IDEMPOTENCY_KEY_REUSED"


class NestingTooDeepError(InvalidError):
    code = "NESTING_TOO_DEEP"


class TooManyPagesError(InvalidError):
    code = "TOO_MANY_PAGES"


class ImportInvalidError(InvalidError):
    """An import is refused before anything of it is written; names the line or the member."""

    code = "IMPORT_INVALID"

    def __init__(
        self, message: str, *, line: int | None = None, member: str | None = None, reason: str
    ) -> None:
        super().__init__(message, line=line, member=member, reason=reason)


class MalformedRequestError(InvalidError):
    code = "MALFORMED_REQUEST"
    http_status = 400


class RequestTimeoutError(InvalidError):
    """The body of a request did not arrive in time; nothing of it was used."""

    code = "REQUEST_TIMEOUT"
    http_status = 408


class RequestTooLargeError(InvalidError):
    code = "REQUEST_TOO_LARGE"
    http_status = 413


class UnsupportedMediaTypeError(InvalidError):
    code = "UNSUPPORTED_MEDIA_TYPE"
    http_status = 415


class PreconditionRequiredError(InvalidError):
    code = "PRECONDITION_REQUIRED"
    http_status = 428


# --- 401, 403, 404: who asks, and what he can see -------------------------------------------


class UnauthenticatedError(KBStoreError):
    code = "UNAUTHENTICATED"
    http_status = 401


class ForbiddenError(KBStoreError):
    http_status = 403


class RoleTooWeakError(ForbiddenError):
    """The caller can read the scope, but his role there does not allow this."""

    code = "ROLE_TOO_WEAK"

    def __init__(self, message: str, *, scope: str, needed: str, actual: str) -> None:
        super().__init__(message, scope=scope, needed=needed, actual=actual)


class GrantMissingError(ForbiddenError):
    """The key lacks a grant (`admin` or `auditor`)."""

    code = "GRANT_MISSING"


class RunScopesMissingError(ForbiddenError):
    """A tool was called by a run that holds no scopes, so there is nothing it could reach."""

    code = "RUN_SCOPES_MISSING"


class AbsentError(KBStoreError):
    http_status = 404


class NotFoundError(AbsentError):
    """Missing and hidden alike. `movedTo` or `mergedInto` only where the caller may read it."""

    code = "NOT_FOUND"


class ParentNotFoundError(AbsentError):
    code = "PARENT_NOT_FOUND"


class RevisionNotReachedError(AbsentError):
    code = "REVISION_NOT_REACHED"


class MethodNotAllowedError(AbsentError):
    code = "METHOD_NOT_ALLOWED"
    http_status = 405


class RevisionNotRetainedError(AbsentError):
    code = "REVISION_NOT_RETAINED"
    http_status = 410


# --- 409: the state does not allow it ---------------------------------------------------------


class ConflictError(KBStoreError):
    http_status = 409


class VersionConflictError(ConflictError):
    """The expected version is not the current one; the details are enough to go on."""

    code = "VERSION_CONFLICT"


class RevisionConflictError(ConflictError):
    """A commit expected another revision; `details.pages` lists every page that moved on."""

    code = "REVISION_CONFLICT"


class KeyTakenError(ConflictError):
    code = "KEY_TAKEN"


class WouldCreateCycleError(ConflictError):
    code = "WOULD_CREATE_CYCLE"


class ParentDeletedError(ConflictError):
    code = "PARENT_DELETED"


class PageHasChildrenError(ConflictError):
    code = "PAGE_HAS_CHILDREN"


class PageDeclaredError(ConflictError):
    """A template page is never moved, merged away or deleted: its declaration decides."""

    code = "PAGE_DECLARED"


class ScopePageError(ConflictError):
    """A scope page has only a body to write; all else of it comes from the configuration."""

    code = "SCOPE_PAGE"


class AmbiguousReferenceError(ConflictError):
    """A name fits several readable pages; `details.candidates` are their refs."""

    code = "AMBIGUOUS_REFERENCE"


class StaleCursorError(ConflictError):
    code = "STALE_CURSOR"


class IdempotencyInProgressError(ConflictError):
    code = "IDEMPOTENCY_IN_PROGRESS"
    retry_after_seconds = 1


class SlugTakenError(ConflictError):
    code = "SLUG_TAKEN"


class TooManyWebhooksError(ConflictError):
    code = "TOO_MANY_WEBHOOKS"


class WebhookDisabledError(ConflictError):
    """Nothing is sent to it any more; `details.reason` says why."""

    code = "WEBHOOK_DISABLED"


# --- 5xx ----------------------------------------------------------------------------------------


class UnavailableError(KBStoreError):
    http_status = 503
    retry_after_seconds = 1


class OverloadedError(UnavailableError):
    code = "OVERLOADED"


class ProjectionBehindError(UnavailableError):
    code = "PROJECTION_BEHIND"


class SearchTimeoutError(UnavailableError):
    code = "SEARCH_TIMEOUT"


class DatabaseUnavailableError(UnavailableError):
    code = "DATABASE_UNAVAILABLE"


class InternalError(KBStoreError):
    code = "INTERNAL_ERROR"


# --- for operators --------------------------------------------------------------------------------


class StoreError(KBStoreError):
    """Something only an operator can act on; the command line prints it and exits with 1."""

    code = "STORE_ERROR"


class DatabaseInUseError(StoreError):
    code = "DATABASE_IN_USE"


class DatabaseNotMigratedError(StoreError):
    code = "DATABASE_NOT_MIGRATED"


class UpcasterMissingError(StoreError):
    code = "UPCASTER_MISSING"


class UnknownTopicError(StoreError):
    code = "UNKNOWN_TOPIC"


class VerificationError(StoreError):
    code = "VERIFICATION_FAILED"


def describe(error: KBStoreError, request_id: str) -> Mapping[str, object]:
    """The error envelope of every door."""
    body: dict[str, object] = {
        "code": error.code,
        "message": error.message,
        "httpStatus": error.http_status,
    }
    if error.details:
        body["details"] = error.details
    return {"error": body, "requestId": request_id}
