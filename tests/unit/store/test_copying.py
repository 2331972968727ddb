"""Copies of knowledge bases between back ends: the same rows, resumed after a kill, and nothing
to be seen before all of it is there."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import NamedTuple
from uuid import uuid4

import pytest

from api.wiring import Services
from kbstore.access import Caller
from kbstore.domain.commands import AddNote, Batch, CreatePage, DeletePage, EditPage, SetPin
from kbstore.domain.decision import Subject
from kbstore.errors import DatabaseInUseError, SlugTakenError, StoreError, VerificationError
from kbstore.store import copying as log_module
from kbstore.store.catalogue import KnowledgeBase as Entry
from kbstore.store.catalogue import find_api_key, find_knowledge_base
from kbstore.store.commits import Origin
from kbstore.store.heads import read_head
from kbstore.store.idempotency import Claim, StoredClaim, store_claim
from projections import copying as module
from projections import generation_progress
from projections.checksum import TABLES
from projections.copying import Copied, copy_knowledge_base, end_copying
from projections.pace import Pace
from projections.progress import Progress, no_progress
from projections.projector import Projections
from projections.rebuild import rebuild
from projections.verify import Report, verify
from tests.backends import Databases, change, query
from tests.knowledge import SCOPE, TEAM, KnowledgeBase, fast_services

PAIRS = [("sqlite", "postgresql"), ("postgresql", "sqlite"), ("sqlite", "sqlite")]
KEPT = ("commits", "events", "texts", "idempotency", "api_keys", "knowledge_bases")
STORED = (*KEPT, "heads", "rebuilds", *(table.name for table in TABLES))


class Killed(BaseException):
    """What a test ends a copy with, at a moment of its choice."""


class Sides(NamedTuple):
    source: Services
    target: Services


@pytest.fixture(scope="module", params=PAIRS, ids="-to-".join)
def sides(
    request: pytest.FixtureRequest, databases_of: Callable[[str], Databases]
) -> Iterator[Sides]:
    here, there = (databases_of(backend).new_database() for backend in request.param)
    with fast_services(here) as source, fast_services(there) as target:
        yield Sides(source, target)


@pytest.fixture
def kb(sides: Sides) -> KnowledgeBase:
    """With a commit of many events, large and small texts, notes, pins, claims and a key."""
    kb = KnowledgeBase(sides.source)
    kb.token()
    claim = Claim(principal="user:ana", key="once", request_sha256=bytes(32), kept=True)
    top = kb.run(
        CreatePage(scope=SCOPE, key="top", name=kb.text("Top"), body=kb.body("See [[Ü]]\n")),
        claim=claim,
    )
    kb.run(
        Batch(
            operations=tuple(
                CreatePage(scope=SCOPE, name=kb.text(f"Ü {n}"), body=kb.body(f"{n} " * 400))
                for n in range(40)
            )
        )
    )
    page = top.subjects[0].id
    kb.run(AddNote(page=page, text=kb.text("Ask Mo."), stamps=(SCOPE,)))
    kb.run(SetPin(page=page, kind="page", audience=(SCOPE,)))
    kb.run(EditPage(page=page, expected_version=1, body=kb.body("Plain.\n")))
    gone = kb.run(CreatePage(scope=TEAM, name=kb.text("Gone")))
    kb.run(DeletePage(page=gone.subjects[0].id, expected_version=1))
    return kb


@pytest.fixture(autouse=True)
def short_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "EVENTS_PER_BATCH", 10)
    monkeypatch.setattr(log_module, "TEXTS_READ_WITH_EVENTS", 4)
    monkeypatch.setattr(log_module, "CLAIMS_PER_BATCH", 1)
    monkeypatch.setattr(log_module, "ROWS_PER_DELETE", 7)
    monkeypatch.setattr(module, "pace_of", lambda database: Pace(0, 0))


def entry_of(sides: Sides, kb: KnowledgeBase) -> Entry:
    found = find_knowledge_base(sides.source.database.reader(), kb.slug)
    assert found is not None
    return found


def copy(sides: Sides, kb: KnowledgeBase, progress: Progress = no_progress) -> Copied:
    source, target = sides.source.database, sides.target.database
    return copy_knowledge_base(source, target, entry_of(sides, kb), Projections(), progress)


def copy_all(sides: Sides, kb: KnowledgeBase) -> Copied:
    copied = copy(sides, kb)
    end_copying(sides.target.database, [copied])
    return copied


def copy_until(sides: Sides, kb: KnowledgeBase, calls: int) -> None:
    """Killed the nth time that it tells how far it is."""
    heard: list[int] = []

    def progress(done: int, total: int | None) -> None:
        heard.append(done)
        if len(heard) == calls:
            raise Killed

    with pytest.raises(Killed):
        copy(sides, kb, progress)


def rows(services: Services, kb: KnowledgeBase, table: str) -> list[tuple[object, ...]]:
    """The rows of a table in any order, numbers for truth values as SQLite has them."""
    with closing(services.database.connect_reader()) as connection:
        found = query(connection, f"SELECT * FROM {table} WHERE kb_id = ?", kb.id.bytes)
    plain = [tuple(int(v) if isinstance(v, bool) else v for v in row) for row in found]
    return sorted(plain, key=repr)


def verified(services: Services, kb: KnowledgeBase) -> Report:
    report = verify(services.database, kb.id, Projections())
    assert report.failures == ()
    return report


def check_same(sides: Sides, kb: KnowledgeBase, copied: Copied) -> None:
    for table in KEPT:
        there = rows(sides.target, kb, table)
        assert there == rows(sides.source, kb, table) != [], table
    here, there_ = verified(sides.source, kb), verified(sides.target, kb)
    assert here == there_
    assert (copied.checksum, copied.content_checksum) == (here.checksum, here.content_checksum)
    assert copied.revision == here.revision
    assert rows(sides.target, kb, "copies") == rows(sides.target, kb, "rebuilds") == []


def check_unseen(sides: Sides, kb: KnowledgeBase) -> None:
    with closing(sides.target.database.connect_reader()) as connection:
        assert find_knowledge_base(connection, kb.slug) is None
        assert find_knowledge_base(connection, str(kb.id)) is None
        assert read_head(connection, kb.id) is None
    assert rows(sides.target, kb, "api_keys") == []


def test_a_copy_is_the_same_on_the_other_side(sides: Sides, kb: KnowledgeBase) -> None:
    with kb.nothing_written():
        copied = copy_all(sides, kb)
    assert copied.resumed_from is None
    head = read_head(sides.source.database.reader(), kb.id)
    assert head is not None
    assert copied.digest == head.digest
    assert read_head(sides.target.database.reader(), kb.id) == head
    check_same(sides, kb, copied)


def test_a_copy_is_taken_from_whatever_generation_is_active(
    sides: Sides, kb: KnowledgeBase
) -> None:
    rebuild(sides.source.database, kb.id, Projections())
    check_same(sides, kb, copy_all(sides, kb))


def test_keys_claims_and_writes_go_on_there(sides: Sides, kb: KnowledgeBase) -> None:
    token = kb.token()
    copy_all(sides, kb)
    there = KnowledgeBase.opened(sides.target, kb)
    key = find_api_key(sides.target.database.reader(), token)
    assert key is not None
    assert key.kb_id == kb.id
    claim = Claim(principal="user:ana", key="once", request_sha256=bytes(32), kept=True)
    again = CreatePage(scope=SCOPE, key="top", name=there.text("Top"))
    assert there.run(again, claim=claim).replayed
    revision = there.revision
    there.run(CreatePage(scope=SCOPE, name=there.text("Later")))
    assert there.revision == revision + 1
    assert kb.revision == revision
    verified(sides.target, kb)


def test_claims_of_webhooks_stay_behind_as_these_do(sides: Sides, kb: KnowledgeBase) -> None:
    claim = Claim(principal="user:ana", key="hook", request_sha256=bytes(32))
    stored = StoredClaim(None, (Subject("webhook", uuid4(), created=True),))
    with sides.source.database.connected() as connection, connection.writing():
        store_claim(connection, kb.id, claim, stored, 1)
    before = len(rows(sides.source, kb, "idempotency"))
    copy_all(sides, kb)
    assert len(rows(sides.target, kb, "idempotency")) == before - 1


def test_what_is_written_meanwhile_is_not_copied(sides: Sides, kb: KnowledgeBase) -> None:
    before, number = kb.revision, iter(range(1_000))

    def progress(done: int, total: int | None) -> None:
        claim = Claim(principal="user:ana", key=f"k{next(number)}", request_sha256=bytes(32))
        kb.run(CreatePage(scope=SCOPE, name=kb.text("Meanwhile")), claim=claim)

    report = verified(sides.source, kb)
    copied = copy(sides, kb, progress)
    end_copying(sides.target.database, [copied])
    assert kb.revision > before
    assert copied.revision == before
    assert verified(sides.target, kb) == report
    assert copied.checksum == report.checksum
    assert len(rows(sides.target, kb, "idempotency")) == 1


# Five batches of the log; then the generation is filled.
@pytest.mark.parametrize("calls", [1, 3, 5, 6, 8])
def test_a_killed_copy_is_unseen_and_goes_on(sides: Sides, kb: KnowledgeBase, calls: int) -> None:
    copy_until(sides, kb, calls)
    check_unseen(sides, kb)
    assert rows(sides.target, kb, "events") != []
    kb.run(CreatePage(scope=SCOPE, name=kb.text("Since")))
    written: list[int] = []
    write = log_module.LogCopier._write

    def noted(self: log_module.LogCopier, mark: object, batch: log_module._Batch) -> None:
        written.extend(int(str(event["position"])) for event in batch.events)
        write(self, mark, batch)  # type: ignore[arg-type]

    position = len(rows(sides.target, kb, "events"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_module.LogCopier, "_write", noted)
        copied = copy_all(sides, kb)
    # Nothing was copied twice, and what came since was.
    assert written == list(range(position + 1, len(kb.log()) + 1))
    assert copied.resumed_from is not None
    assert copied.revision == kb.revision
    check_same(sides, kb, copied)


def test_a_copy_killed_before_its_entry_goes_on(
    sides: Sides, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter = log_module.LogCopier.enter

    def entered(self: log_module.LogCopier, *arguments: object) -> None:
        enter(self, *arguments)  # type: ignore[arg-type]
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(log_module.LogCopier, "enter", entered)
        with pytest.raises(Killed):
            copy(sides, kb)
    check_unseen(sides, kb)
    check_same(sides, kb, copy_all(sides, kb))


def test_another_program_fills_anew(
    sides: Sides, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_until(sides, kb, 8)
    monkeypatch.setattr(generation_progress, "program", lambda: "another")
    check_same(sides, kb, copy_all(sides, kb))


def test_half_a_copy_of_something_else_is_replaced(sides: Sides, kb: KnowledgeBase) -> None:
    copy_until(sides, kb, 6)
    with closing(sides.target.database.connect()) as connection:
        sql = "UPDATE commits SET digest = ? WHERE kb_id = ?"
        assert change(connection, sql, bytes(32), kb.id.bytes) > 0
    copied = copy_all(sides, kb)
    assert copied.resumed_from is None
    check_same(sides, kb, copied)


def test_half_a_copy_that_was_damaged_is_found_out_and_deleted(
    sides: Sides, kb: KnowledgeBase
) -> None:
    copy_until(sides, kb, 3)
    with closing(sides.target.database.connect()) as connection:
        sql = "UPDATE events SET payload = ? WHERE kb_id = ? AND position = 2"
        payload = rows(sides.target, kb, "events")[4][5]
        assert change(connection, sql, payload, kb.id.bytes) == 1
    with pytest.raises(VerificationError, match="is not what was copied"):
        copy(sides, kb)
    check_unseen(sides, kb)


def lose_texts(sides: Sides, kb: KnowledgeBase, patch: pytest.MonkeyPatch) -> None:
    def texts_of(self: log_module.LogCopier, events: object) -> dict[object, object]:
        return {}

    patch.setattr(log_module.LogCopier, "_texts_of", texts_of)


def forge_rows(sides: Sides, kb: KnowledgeBase, patch: pytest.MonkeyPatch) -> None:
    sql = "UPDATE page_versions SET name = 'forged' WHERE kb_id = ? AND name = 'Top'"
    with closing(sides.source.database.connect()) as connection:
        assert change(connection, sql, kb.id.bytes) > 0


@pytest.mark.parametrize("damage", [lose_texts, forge_rows])
def test_sides_that_differ_leave_nothing(
    sides: Sides,
    kb: KnowledgeBase,
    damage: Callable[[Sides, KnowledgeBase, pytest.MonkeyPatch], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    damage(sides, kb, monkeypatch)
    with pytest.raises(VerificationError, match="checksum"):
        copy(sides, kb)
    check_unseen(sides, kb)
    for table in (*STORED, "copies"):
        assert rows(sides.target, kb, table) == [], table


def test_a_knowledge_base_that_is_there_is_left_alone(sides: Sides, kb: KnowledgeBase) -> None:
    copied = copy_all(sides, kb)
    kb.run(CreatePage(scope=SCOPE, name=kb.text("Since")))
    before = {table: rows(sides.target, kb, table) for table in STORED}
    with pytest.raises(StoreError, match="holds the knowledge base") as refused:
        copy(sides, kb)
    assert refused.value.details == {"slug": kb.slug}
    assert {table: rows(sides.target, kb, table) for table in STORED} == before
    assert verified(sides.target, kb).revision == copied.revision


def test_a_database_is_not_copied_onto_itself(sides: Sides, kb: KnowledgeBase) -> None:
    same = Sides(sides.source, sides.source)
    with kb.nothing_written(), pytest.raises(StoreError, match="holds the knowledge base"):
        copy(same, kb)


def test_another_one_with_the_slug_is_refused(sides: Sides, kb: KnowledgeBase) -> None:
    other = sides.target.commands.create_knowledge_base(kb.slug, Origin(actor="user:root"))
    with pytest.raises(SlugTakenError):
        copy(sides, kb)
    assert rows(sides.target, kb, "events") == []
    found = find_knowledge_base(sides.target.database.reader(), kb.slug)
    assert found is not None
    assert found.kb_id == other


def test_a_run_of_several_goes_on_with_the_next(sides: Sides, kb: KnowledgeBase) -> None:
    first = copy(sides, kb)
    # Killed here, before the run has ended: the next one knows this copy for its own.
    second_kb = KnowledgeBase(sides.source)
    kb.run(CreatePage(scope=SCOPE, name=kb.text("Since")))
    again = copy(sides, kb)
    assert (again.revision, again.digest) == (first.revision, first.digest)
    assert (again.checksum, again.content_checksum) == (first.checksum, first.content_checksum)
    end_copying(sides.target.database, [again, copy(sides, second_kb)])
    with pytest.raises(StoreError, match="holds the knowledge base"):
        copy(sides, kb)


def test_two_copies_at_once_are_refused(sides: Sides, kb: KnowledgeBase) -> None:
    with (
        sides.target.database.alone("copying", kb.id),
        pytest.raises(DatabaseInUseError),
    ):
        copy(sides, kb)
    check_unseen(sides, kb)


def test_neighbours_are_untouched(sides: Sides, kb: KnowledgeBase) -> None:
    neighbour = KnowledgeBase(sides.target)
    neighbour.run(
        CreatePage(scope=SCOPE, name=neighbour.text("Mine")),
        Caller(principal="user:ana", held=frozenset({SCOPE})),
    )
    other = KnowledgeBase(sides.source)
    with neighbour.nothing_written():
        copy_all(sides, kb)
    check_unseen(sides, other)
    verified(sides.target, neighbour)


def test_a_gap_in_the_log_ends_the_copy(sides: Sides, kb: KnowledgeBase) -> None:
    with closing(sides.source.database.connect()) as connection:
        sql = "DELETE FROM events WHERE kb_id = ? AND position >= 7"
        assert change(connection, sql, kb.id.bytes) > 0
    with pytest.raises(StoreError, match="nothing at position 7"):
        copy(sides, kb)
    check_unseen(sides, kb)
