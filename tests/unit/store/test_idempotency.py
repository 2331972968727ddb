"""Claims: found again, told apart, forgotten when old."""

from collections.abc import Iterator
from uuid import UUID, uuid4

import pytest

from kbstore.domain.decision import Subject
from kbstore.errors import IdempotencyKeyReusedError
from kbstore.limits import IDEMPOTENCY_KEPT_HOURS_MIN
from kbstore.store.connection import Connection
from kbstore.store.database import Database
from kbstore.store.idempotency import Claim, StoredClaim, find_claim, store_claim

DAY = IDEMPOTENCY_KEPT_HOURS_MIN * 3_600 * 1_000_000
STORED = StoredClaim(7, (Subject("page", UUID(int=3), True, ((UUID(int=4), "a", "a-2"),)),))


@pytest.fixture
def connection(database: Database) -> Iterator[Connection]:
    opened = database.connect()
    yield opened
    opened.close()


def claim(key: str, request: bytes = b"r" * 32, *, kept: bool = False) -> Claim:
    return Claim(principal="agent:a", key=key, request_sha256=request, kept=kept)


def test_a_claim_is_found_again(connection: Connection, kb_id: UUID) -> None:
    store_claim(connection, kb_id, claim("k"), STORED, now=1)
    assert find_claim(connection, kb_id, claim("k")) == STORED
    assert find_claim(connection, uuid4(), claim("k")) is None
    other = Claim(principal="agent:b", key="k", request_sha256=b"r" * 32)
    assert find_claim(connection, kb_id, other) is None


def test_one_that_changed_nothing_has_no_revision(connection: Connection, kb_id: UUID) -> None:
    nothing = StoredClaim(None, (Subject("page", UUID(int=3)),))
    store_claim(connection, kb_id, claim("k"), nothing, now=1)
    assert find_claim(connection, kb_id, claim("k")) == nothing


def test_another_request_under_the_same_key_is_refused(connection: Connection, kb_id: UUID) -> None:
    store_claim(connection, kb_id, claim("k"), STORED, now=1)
    with pytest.raises(IdempotencyKeyReusedError):
        find_claim(connection, kb_id, claim("k", b"s" * 32))


def test_old_claims_go_and_kept_ones_stay(connection: Connection, kb_id: UUID) -> None:
    store_claim(connection, kb_id, claim("old"), STORED, now=0)
    store_claim(connection, kb_id, claim("kept", kept=True), STORED, now=0)
    store_claim(connection, kb_id, claim("young"), STORED, now=1)
    store_claim(connection, kb_id, claim("new"), StoredClaim(64, ()), now=DAY + 1)
    found = [find_claim(connection, kb_id, claim(key)) for key in ("old", "kept", "young")]
    assert found == [None, STORED, STORED]
