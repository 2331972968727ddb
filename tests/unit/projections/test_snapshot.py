"""Opening snapshots, and what is kept between them."""

from collections.abc import Iterator
from contextlib import closing
from uuid import uuid4

import pytest

from kbstore.access import Caller
from kbstore.errors import NotFoundError, RevisionNotReachedError, RevisionNotRetainedError
from kbstore.store.catalogue import find_knowledge_base
from projections.caching import LruCache
from projections.read.pages import page_by_ref
from projections.read.scopes import list_scopes
from projections.snapshot import open_snapshot, revision_at
from tests.backends import Databases, change
from tests.unit.projections.read.world import ANA, ORG, ROOT, VAULT, World


@pytest.fixture
def world(database_url: str) -> Iterator[World]:
    with closing(World(database_url)) as world:
        yield world


def test_a_snapshot_is_of_the_head_or_of_a_revision_there_was(world: World) -> None:
    head = world.revision
    with world.reading() as snapshot:
        assert (snapshot.revision, snapshot.is_head, snapshot.configured_at) == (head, True, 2)
    with world.reading(revision=1) as snapshot:
        assert (snapshot.revision, snapshot.is_head, snapshot.configured_at) == (1, False, 0)
        assert list_scopes(snapshot, None, 10).items == ()
    with pytest.raises(RevisionNotReachedError) as above, world.reading(revision=head + 1):
        pass
    assert above.value.details == {"revision": head + 1, "activeContentRevision": head}
    for revision in (0, -1):
        with pytest.raises(RevisionNotRetainedError), world.reading(revision=revision):
            pass
    with pytest.raises(NotFoundError):
        open_snapshot(world.database.reader(), uuid4(), ANA)


def test_access_follows_every_write_of_whoever_wrote_it(world: World) -> None:
    def scopes(caller: Caller) -> list[str]:
        with world.reading(caller) as snapshot:
            return [view.scope for view in list_scopes(snapshot, None, 50).items]

    assert VAULT in scopes(ROOT)
    assert scopes(ANA) == ["club:chess", ORG]
    world.create("Page", scope="team:acme:red")
    assert scopes(ANA) == ["club:chess", ORG, "team:acme:red"]
    nothing: dict[str, object] = {"scopes": {"org:$org": {}}}
    world.configure(nothing)
    assert scopes(ANA) == []


def test_equal_ids_in_two_databases_are_kept_apart(databases: Databases, world: World) -> None:
    """Whoever fixes ids and clock gets two databases that only contents tell apart."""
    with databases.lent() as url, closing(World(url)) as second:
        second.kb_id, reader = world.kb_id, second.database.reader()
        with second.database.connected() as connection:
            for table in ("heads", "commits", "configurations", "scopes", "page_versions", "pages"):
                change(connection, f"UPDATE {table} SET kb_id = ?", world.kb_id.bytes)
        top = world.create("Top", key="top")
        with world.reading() as snapshot:
            assert page_by_ref(snapshot, "org:acme#top").id == top
        with reader.reading(), pytest.raises(NotFoundError):
            page_by_ref(open_snapshot(reader, world.kb_id, ANA), "org:acme#top")


def test_a_time_names_the_last_revision_up_to_it(world: World) -> None:
    world.create("Page")
    reader = world.database.reader()
    with world.reading() as snapshot:
        head = snapshot.head
    at_head = revision_at(reader, world.kb_id, head.committed_at)
    assert (at_head.revision, at_head.final) == (head.revision, False)
    assert revision_at(reader, world.kb_id, head.committed_at + 10**9).final is False
    before = revision_at(reader, world.kb_id, head.committed_at - 1)
    assert (before.revision, before.final) == (head.revision - 1, True)
    with pytest.raises(RevisionNotRetainedError):
        revision_at(reader, world.kb_id, 0)
    with pytest.raises(NotFoundError):
        revision_at(reader, uuid4(), 0)


def test_a_knowledge_base_is_found_by_id_or_slug(world: World) -> None:
    reader = world.database.reader()
    found = find_knowledge_base(reader, "handbook")
    assert found is not None
    assert found.kb_id == world.kb_id
    assert find_knowledge_base(reader, f"knowledge-base-{world.kb_id}") == found
    assert find_knowledge_base(reader, str(world.kb_id)) == found
    assert find_knowledge_base(reader, "nothing") is None


def test_a_cache_keeps_what_was_used_last() -> None:
    cache: LruCache[str, str] = LruCache(6, len)
    cache.put("a", "aa")
    cache.put("b", "bb")
    cache.put("c", "cc")
    assert cache.get("a") == "aa"
    cache.put("d", "dd")
    assert (cache.get("b"), cache.get("a"), len(cache)) == (None, "aa", 3)
    cache.put("a", "aaaaaaa")
    assert cache.get("a") == "aa"
    cache.put("a", "aaaa")
    assert (cache.get("a"), len(cache)) == ("aaaa", 2)
    cache.clear()
    assert len(cache) == 0
