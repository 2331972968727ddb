"""Who asks: the API key, looked up on every request, and what its headers say besides."""

from litestar.types import HTTPScope
from msgspec import Struct

from api.headers import text_header
from kbstore.access import Caller, parse_address
from kbstore.errors import NotFoundError, UnauthenticatedError, ValidationError
from kbstore.limits import (
    COMMIT_MESSAGE_CODE_POINTS_MAX,
    HELD_SCOPES_MAX,
    RUN_CODE_POINTS_MAX,
    TOOL_CALL_CODE_POINTS_MAX,
)
from kbstore.store.catalogue import (
    ApiKey,
    KnowledgeBase,
    find_api_key,
    find_knowledge_base,
)
from kbstore.store.commits import Origin
from kbstore.store.connection import Queryable


class Identity(Struct, frozen=True):
    """The knowledge base a request is for and who asks."""

    kb: KnowledgeBase
    caller: Caller


def authenticate(connection: Queryable, scope: HTTPScope, kb_address: str) -> Identity:
    """The caller behind `Authorization: Bearer kbs_...`, narrowed by `KB-Scopes`.

    Raises UnauthenticatedError without a working key. A knowledge base that is not the key's
    and one that does not exist raise the same NotFoundError.
    """
    key = find_api_key(connection, token_of(scope))
    if key is None:
        raise UnauthenticatedError("This needs a working API key: Authorization: Bearer kbs_...")
    kb = find_knowledge_base(connection, kb_address)
    if kb is None or kb.kb_id != key.kb_id:
        raise NotFoundError("Knowledge base not found.")
    return Identity(kb, _caller(key, scope))


def origin_of(scope: HTTPScope, caller: Caller) -> Origin:
    """What the commit of this request records: actor, `KB-Run`, `KB-Tool-Call`, `KB-Message`."""
    return Origin(
        actor=caller.principal,
        run=text_header(scope, b"kb-run", RUN_CODE_POINTS_MAX),
        tool_call=text_header(scope, b"kb-tool-call", TOOL_CALL_CODE_POINTS_MAX),
        message=text_header(scope, b"kb-message", COMMIT_MESSAGE_CODE_POINTS_MAX),
    )


def token_of(scope: HTTPScope) -> str:
    """The bearer token; empty without exactly one. No encoding is wrong for a wrong key."""
    values = [value for name, value in scope["headers"] if name == b"authorization"]
    scheme, _, token = values[0].partition(b" ") if len(values) == 1 else (b"", b"", b"")
    return token.strip().decode("latin-1") if scheme.lower() == b"bearer" else ""


def _caller(key: ApiKey, scope: HTTPScope) -> Caller:
    caller = Caller(principal=key.principal, held=key.held, grants=key.grants, key_id=key.key_id)
    if all(name != b"kb-scopes" for name, _ in scope["headers"]):
        return caller
    return caller.narrow(_named_scopes(text_header(scope, b"kb-scopes") or ""))


def _named_scopes(value: str) -> frozenset[str]:
    """The addresses between the commas of `KB-Scopes`; empty parts are passed over."""
    parts = [part for part in (part.strip() for part in value.split(",")) if part]
    if len(parts) > HELD_SCOPES_MAX:
        raise ValidationError(
            f"KB-Scopes names at most {HELD_SCOPES_MAX} scopes.",
            field="KB-Scopes",
            reason="tooMany",
            limit=HELD_SCOPES_MAX,
        )
    return frozenset(parse_address(part, "KB-Scopes") for part in parts)
