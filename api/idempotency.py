"""`Idempotency-Key`: which request a key stands for, and what its first try came to."""

from hashlib import sha256

import msgspec

from api.calls import Call
from api.headers import raw_header, text_header
from api.reading import head_of
from kbstore.errors import ValidationError
from kbstore.limits import IDEMPOTENCY_KEY_CODE_POINTS_MAX
from kbstore.service import Outcome, replayed
from kbstore.store.idempotency import Claim, find_claim
from projections.views import Json

HEADER = b"idempotency-key"
EXPECTATIONS = frozenset(("expectedVersion", "intoVersion", "expectedRevision"))
"""What of a body may differ when it is sent again: the versions that are expected."""


def claim_of(call: Call, value: Json) -> Claim | None:
    """The claim of a request with this body; None without the header.

    The request is its method, its path below the knowledge base, its query and its body, the
    expected versions left out.
    """
    return claim_for(call, value, call.method, call.path_below_kb, call.scope["query_string"])


def claim_for(call: Call, value: Json, method: str, path: str, query: bytes) -> Claim | None:
    """The same for a request that came to another address than its own."""
    if raw_header(call.scope, HEADER) is None:
        return None
    key = text_header(call.scope, HEADER, IDEMPOTENCY_KEY_CODE_POINTS_MAX)
    if key is None:
        raise ValidationError("Idempotency-Key is empty.", field="Idempotency-Key", reason="empty")
    return Claim(
        principal=call.caller.principal,
        key=key,
        request_sha256=request_hash(method, path, query, value),
    )


def request_hash(method: str, path: str, query: bytes, value: Json) -> bytes:
    """32 bytes that two tries of one request share."""
    parts = [method, path, sorted(query.split(b"&")), _without_expectations(value)]
    # As JSON, because MessagePack has no room for the huge numbers that a body may hold.
    return sha256(msgspec.json.encode(parts, order="deterministic")).digest()


async def first_outcome(call: Call, claim: Claim) -> Outcome | None:
    """What the first request with this key came to; None when it is the first.

    Raises IdempotencyKeyReusedError when the key came with another request.
    """
    stored = await call.read(lambda connection: find_claim(connection, call.kb.kb_id, claim))
    return None if stored is None else replayed(stored, (await head_of(call)).revision)


def _without_expectations(value: Json) -> Json:
    """The body without expected versions, its own and those of its operations."""
    if not isinstance(value, dict):
        return value
    kept = {name: inner for name, inner in value.items() if name not in EXPECTATIONS}
    operations = kept.get("operations")
    if isinstance(operations, list):
        kept["operations"] = [_without_expectations(item) for item in operations]
    return kept
