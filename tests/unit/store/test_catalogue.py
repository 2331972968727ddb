"""Knowledge bases and keys."""

from uuid import UUID, uuid4

import pytest

from kbstore.clock import SystemClock
from kbstore.errors import NotFoundError, SlugTakenError, ValidationError
from kbstore.limits import HELD_SCOPES_MAX, SLUG_CODE_POINTS_MAX
from kbstore.store import tables
from kbstore.store.catalogue import (
    Catalogue,
    find_api_key,
    find_knowledge_base,
    list_knowledge_bases,
)
from kbstore.store.database import Database
from kbstore.store.sqlite import SqliteDatabase
from tests.backends import on_sqlite, query

NO_SCOPES: frozenset[str] = frozenset()


@pytest.fixture
def catalogue(database: Database) -> Catalogue:
    return Catalogue(database, SystemClock())


def test_a_knowledge_base_is_found_by_each_of_its_addresses(
    database: Database, catalogue: Catalogue
) -> None:
    kb_id = uuid4()
    catalogue.register(kb_id, "handbook")
    for address in (str(kb_id), f"knowledge-base-{kb_id}", "handbook"):
        found = find_knowledge_base(database.reader(), address)
        assert found is not None
        assert (found.kb_id, found.slug) == (kb_id, "handbook")
    assert find_knowledge_base(database.reader(), "other") is None
    assert [found.slug for found in list_knowledge_bases(database.reader())] == ["handbook"]


def test_a_slug_is_taken_once(catalogue: Catalogue) -> None:
    catalogue.register(uuid4(), "handbook")
    with pytest.raises(SlugTakenError):
        catalogue.register(uuid4(), "handbook")


@pytest.mark.parametrize(
    "slug",
    ["", "-a", "a-", "A", "a b", "ä", "a" * (SLUG_CODE_POINTS_MAX + 1), str(UUID(int=1))],
)
def test_what_is_no_slug_is_refused(catalogue: Catalogue, slug: str) -> None:
    with pytest.raises(ValidationError):
        catalogue.register(uuid4(), slug)


def test_the_longest_slug_is_accepted(catalogue: Catalogue) -> None:
    catalogue.register(uuid4(), "a" * SLUG_CODE_POINTS_MAX)


def test_a_key_works_until_it_is_revoked(
    database: Database, catalogue: Catalogue, kb_id: UUID
) -> None:
    key, token = catalogue.create_key(
        kb_id, "agent:a", frozenset({"org:acme"}), frozenset({"auditor"})
    )
    assert find_api_key(database.reader(), token) == key
    assert catalogue.list_keys(kb_id) == [key]
    catalogue.revoke_key(key.key_id)
    assert find_api_key(database.reader(), token) is None
    with pytest.raises(NotFoundError):
        catalogue.revoke_key(key.key_id)


def test_a_wrong_secret_opens_nothing(
    database: Database, catalogue: Catalogue, kb_id: UUID
) -> None:
    key, token = catalogue.create_key(kb_id, "agent:a", NO_SCOPES, frozenset())
    wrong = [token + "x", token[:-1], f"kbs_{key.key_id}_", "kbs_", "", "x" * 100, "kbs_é_ü"]
    assert [find_api_key(database.reader(), token) for token in wrong] == [None] * len(wrong)


def test_the_secret_is_not_kept(database: Database, catalogue: Catalogue, kb_id: UUID) -> None:
    _, token = catalogue.create_key(kb_id, "agent:a", NO_SCOPES, frozenset())
    secret = token.rpartition("_")[2]
    rows = [
        row
        for table in tables.metadata.sorted_tables
        for row in query(database.reader(), f"SELECT * FROM {table.name}")
    ]
    assert any("agent:a" in row for row in rows)
    for value in (value for row in rows for value in row):
        told = value if isinstance(value, bytes) else str(value).encode()
        assert secret.encode() not in told


@on_sqlite
def test_the_secret_is_nowhere_in_the_file(
    database: Database, catalogue: Catalogue, kb_id: UUID
) -> None:
    assert isinstance(database, SqliteDatabase)
    _, token = catalogue.create_key(kb_id, "agent:a", NO_SCOPES, frozenset())
    secret = token.rpartition("_")[2].encode()
    files = list(database.path.parent.glob(f"{database.path.name}*"))
    assert any(b"agent:a" in file.read_bytes() for file in files)
    for file in files:
        assert secret not in file.read_bytes()


def test_a_key_holds_a_bounded_number_of_scopes(catalogue: Catalogue, kb_id: UUID) -> None:
    scopes = [f"org:o{n}" for n in range(HELD_SCOPES_MAX + 1)]
    catalogue.create_key(kb_id, "agent:a", frozenset(scopes[:-1]), frozenset())
    with pytest.raises(ValidationError):
        catalogue.create_key(kb_id, "agent:a", frozenset(scopes), frozenset())
