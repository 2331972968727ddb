"""Webhooks and dead letters in the store, on both back ends."""

from collections.abc import Callable
from typing import TypeVar
from uuid import UUID, uuid4

import pytest
from msgspec.structs import replace

from kbstore.clock import SystemClock
from kbstore.store.catalogue import Catalogue
from kbstore.store.connection import Connection
from kbstore.store.database import Database
from kbstore.store.dead_letters import (
    DeadLetter,
    count_letters,
    delete_letter,
    insert_letter,
    list_letters,
    request_letter,
    requested_letters,
    update_letter,
)
from kbstore.store.webhooks import (
    Progress,
    Standing,
    Webhook,
    claim,
    count_webhooks,
    delete_webhook,
    find_registered,
    find_webhook,
    insert_webhook,
    list_webhooks,
    lock_webhooks,
    record,
    release_all,
    standing_of,
    working_webhooks,
)

T = TypeVar("T")
FULL = Progress(
    position=9,
    trying=10,
    attempts=2,
    next_attempt_at=77,
    failing_since=55,
    attempted_at=66,
    last_status=503,
    last_error="status",
)


@pytest.fixture
def write(database: Database) -> Callable[[Callable[[Connection], T]], T]:
    def run(work: Callable[[Connection], T]) -> T:
        with database.connected() as connection:
            connection.begin_write()
            result = work(connection)
            connection.commit()
            return result

    return run


Write = Callable[[Callable[[Connection], object]], object]


@pytest.fixture
def key_id(database: Database, kb_id: UUID) -> str:
    catalogue = Catalogue(database, SystemClock())
    key, _ = catalogue.create_key(kb_id, "user:ann", frozenset({"org:acme"}), frozenset())
    return key.key_id


@pytest.fixture
def webhook(write: Write, kb_id: UUID, key_id: str) -> Webhook:
    made = webhook_of(kb_id, key_id)
    write(lambda connection: insert_webhook(connection, made))
    return made


def webhook_of(kb_id: UUID, key_id: str) -> Webhook:
    return Webhook(
        kb_id=kb_id,
        webhook_id=uuid4(),
        key_id=key_id,
        scopes=frozenset({"org:acme", "team:acme:é"}),
        url="https://receiver.example/",
        types=("page.created", "note.added"),
        secret=b"\0" * 32,
        created_at=1,
        progress=Progress(position=9),
    )


def test_a_webhook_is_found_as_it_was_entered(
    database: Database, webhook: Webhook, kb_id: UUID, key_id: str
) -> None:
    assert find_webhook(database.reader(), kb_id, webhook.webhook_id) == webhook
    found = find_registered(database.reader(), kb_id, webhook.webhook_id)
    assert found is not None
    assert found.webhook == webhook
    assert (found.principal, found.is_revoked, found.dead_letters) == ("user:ann", False, 0)
    assert find_webhook(database.reader(), uuid4(), webhook.webhook_id) is None
    assert find_registered(database.reader(), kb_id, uuid4()) is None


def test_webhooks_are_listed_part_by_part(
    database: Database, write: Write, kb_id: UUID, key_id: str
) -> None:
    other = Catalogue(database, SystemClock()).create_key(
        kb_id, "user:ben", frozenset(), frozenset()
    )[0]
    made = [webhook_of(kb_id, key) for key in (key_id, other.key_id, key_id, key_id)]

    def work(connection: Connection) -> None:
        lock_webhooks(connection, kb_id)
        for each in made:
            insert_webhook(connection, each)

    write(work)
    reader = database.reader()
    assert count_webhooks(reader, kb_id) == 4
    all_ids = sorted(each.webhook_id for each in made)
    own_ids = sorted(each.webhook_id for each in made if each.key_id == key_id)

    def listed(key: str | None, after: UUID | None, limit: int) -> list[UUID]:
        found = list_webhooks(reader, kb_id, key, after, limit)
        return [each.webhook.webhook_id for each in found]

    assert listed(None, None, 10) == all_ids
    assert listed(None, all_ids[1], 1) == [all_ids[2]]
    assert listed(key_id, None, 10) == own_ids
    assert listed(key_id, own_ids[0], 10) == own_ids[1:]
    assert list_webhooks(reader, uuid4(), None, None, 10) == []


def test_a_lease_is_held_by_one(database: Database, write: Write, webhook: Webhook) -> None:
    assert write(lambda c: claim(c, webhook, "one", now=100, until=200))
    assert not write(lambda c: claim(c, webhook, "two", now=199, until=300))
    assert write(lambda c: record(c, webhook, FULL, "one", 250))
    assert not write(lambda c: record(c, webhook, Progress(position=10), "two", 400))
    held = find_webhook(database.reader(), webhook.kb_id, webhook.webhook_id)
    assert held == replace(webhook, progress=FULL, lease_owner="one", lease_until=250)
    # It runs out.
    assert write(lambda c: claim(c, held, "two", now=250, until=300))
    assert not write(lambda c: record(c, webhook, Progress(position=11), "one", None))
    assert write(lambda c: record(c, webhook, FULL, "two", None))
    free = find_webhook(database.reader(), webhook.kb_id, webhook.webhook_id)
    assert free == replace(webhook, progress=FULL, lease_owner=None, lease_until=0)


def test_who_comes_late_takes_no_lease(write: Write, webhook: Webhook) -> None:
    """Another process delivered, and gave the lease back, since the webhook was read."""
    assert write(lambda c: claim(c, webhook, "one", now=100, until=200))
    assert write(lambda c: record(c, webhook, Progress(position=10), "one", None))
    assert not write(lambda c: claim(c, webhook, "two", now=100, until=200))


def test_a_disabled_webhook_has_no_lease(write: Write, webhook: Webhook) -> None:
    disabled = replace(webhook.progress, disabled_at=5, disabled_reason="gone")
    assert write(lambda c: claim(c, webhook, "one", now=100, until=200))
    assert write(lambda c: record(c, webhook, disabled, "one", None))
    assert not write(lambda c: claim(c, webhook, "one", now=100, until=200))


def test_all_leases_can_be_ended(database: Database, write: Write, webhook: Webhook) -> None:
    assert write(lambda c: claim(c, webhook, "one", now=100, until=200))
    write(release_all)
    assert find_webhook(database.reader(), webhook.kb_id, webhook.webhook_id) == webhook


def test_a_webhook_stands_while_it_and_its_key_work(
    database: Database, write: Write, webhook: Webhook
) -> None:
    reader = database.reader()
    these = (webhook.kb_id, webhook.webhook_id)
    assert standing_of(reader, *these) == Standing(0, 1)
    assert these in working_webhooks(reader)
    assert standing_of(reader, webhook.kb_id, uuid4()) is None
    disabled = replace(webhook.progress, disabled_at=5, disabled_reason="gone")
    write(lambda c: claim(c, webhook, "one", now=100, until=200))
    write(lambda c: record(c, webhook, disabled, "one", None))
    assert standing_of(reader, *these) is None
    assert these not in working_webhooks(reader)


def test_a_revoked_key_ends_it(database: Database, webhook: Webhook) -> None:
    Catalogue(database, SystemClock()).revoke_key(webhook.key_id)
    reader = database.reader()
    assert standing_of(reader, webhook.kb_id, webhook.webhook_id) is None
    assert (webhook.kb_id, webhook.webhook_id) not in working_webhooks(reader)
    found = find_registered(reader, webhook.kb_id, webhook.webhook_id)
    assert found is not None
    assert found.is_revoked


def letter_at(position: int) -> DeadLetter:
    return DeadLetter(
        position=position, attempts=10, failed_at=7, last_status=None, last_error="timeout"
    )


def test_dead_letters_come_and_go(database: Database, write: Write, webhook: Webhook) -> None:
    these = (webhook.kb_id, webhook.webhook_id)
    reader = database.reader()
    for position in (12, 10, 11):
        write(lambda c, at=position: insert_letter(c, *these, letter_at(at)))  # type: ignore[misc]
    assert list_letters(reader, *these, 0, 2) == [letter_at(10), letter_at(11)]
    assert list_letters(reader, *these, 11, 2) == [letter_at(12)]
    assert count_letters(reader, *these) == 3
    assert requested_letters(reader, *these, 5) == []
    asked = replace(letter_at(11), requested_at=99)
    assert write(lambda c: request_letter(c, *these, 11, 99)) == asked
    assert write(lambda c: request_letter(c, *these, 13, 99)) is None
    assert requested_letters(reader, *these, 5) == [asked]
    again = replace(letter_at(11), attempts=11, failed_at=100, last_status=500)
    write(lambda c: update_letter(c, *these, again))
    assert list_letters(reader, *these, 10, 1) == [again]
    write(lambda c: delete_letter(c, *these, 10))
    found = find_registered(reader, *these)
    assert found is not None
    assert found.dead_letters == 2
    assert list_letters(reader, webhook.kb_id, uuid4(), 0, 5) == []


def test_a_webhook_goes_with_its_dead_letters(
    database: Database, write: Write, webhook: Webhook
) -> None:
    these = (webhook.kb_id, webhook.webhook_id)
    write(lambda c: insert_letter(c, *these, letter_at(10)))
    assert write(lambda c: delete_webhook(c, *these)) is True
    assert count_letters(database.reader(), *these) == 0
    assert count_webhooks(database.reader(), webhook.kb_id) == 0
    assert write(lambda c: delete_webhook(c, *these)) is False
