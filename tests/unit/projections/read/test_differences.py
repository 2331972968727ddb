"""Diffs, conflicts and links between pages."""

from uuid import UUID

import pytest

from kbstore.errors import NotFoundError, RevisionNotReachedError
from projections.read.backlinks import LinkKey, backlinks
from projections.read.conflict import conflict_details
from projections.read.diff import diff_revisions, diff_versions
from projections.read.pages import page_by_ref
from projections.snapshot import Snapshot
from projections.views import BacklinkView
from tests.unit.projections.read.world import ANA, EVE, ORG, RED, ROOT, VAULT, World


def all_backlinks(snapshot: Snapshot, page: UUID, limit: int = 2) -> list[BacklinkView]:
    found: list[BacklinkView] = []
    after: LinkKey | None = None
    while True:
        part = backlinks(snapshot, page, after, limit)
        found += part.items
        after = part.after
        if after is None:
            return found


def test_versions_are_compared(world: World) -> None:
    page = world.create("Page", key="p", body="one\ntwo\n")
    world.edit(page, body="one\nthree\n", name="Other")
    with world.reading() as snapshot:
        view = diff_versions(snapshot, page, 1, 2)
        same = diff_versions(snapshot, page, 2, 2)
        for wrong in (0, 3):
            with pytest.raises(NotFoundError):
                diff_versions(snapshot, page, 1, wrong)
    assert (view.from_version, view.to_version, view.place) == (1, 2, None)
    assert view.name is not None
    assert (view.name.before, view.name.after) == ("Page", "Other")
    assert "-two\n+three\n" in view.body
    assert view.body.startswith("--- org:acme#p version 1\n")
    assert (same.body, same.name, same.description) == ("", None, None)


def test_revisions_are_compared(world: World) -> None:
    page = world.create("Page", key="p", body="one")
    first = world.revision
    world.edit(page, body="two")
    world.rekey(page, "q")
    last = world.revision
    world.edit(page, body="three")
    with world.reading() as snapshot:
        view = diff_revisions(snapshot, page, first, last)
        with pytest.raises(NotFoundError):
            diff_revisions(snapshot, page, first - 1, last)
        with pytest.raises(RevisionNotReachedError):
            diff_revisions(snapshot, page, first, last + 2)
    assert view.place is not None
    assert (view.place.before, view.place.after) == ("org:acme#p", "org:acme#q")
    assert (view.from_version, view.to_version) == (1, 3)
    assert "-one\n" in view.body
    assert "+two\n" in view.body


def test_a_version_in_a_hidden_scope_is_not_compared(world: World) -> None:
    page = world.create("Page", scope=VAULT, body="secret")
    world.move(page, scope=RED)
    world.edit(page, body="open")
    with world.reading(EVE) as snapshot:
        with pytest.raises(NotFoundError):
            diff_versions(snapshot, page, 1, 3)
        details = conflict_details(snapshot, page, 1, "mine")
        assert "secret" in diff_versions(snapshot, page, 2, 3).body
    assert "diff" not in details
    assert details["currentVersion"] == 3


def test_a_conflict_tells_how_to_go_on(world: World) -> None:
    page = world.create("Page", key="p", body="a\nb\nc\n")
    world.edit(page, body="A\nb\nc\n", caller=ANA)
    with world.reading() as snapshot:
        merged = conflict_details(snapshot, page, 1, "a\nb\nC\n")
        clash = conflict_details(snapshot, page, 1, "x\nb\nc\n")
        bare = conflict_details(snapshot, page, 1)
        future = conflict_details(snapshot, page, 9, "x")
    assert merged["merged"] == {"body": "A\nb\nC\n", "expectedVersion": 2}
    assert {key: merged[key] for key in bare if key not in ("diff", "updatedAt")} == {
        "changes": {},
        "pageId": str(page),
        "ref": "org:acme#p",
        "expectedVersion": 1,
        "currentVersion": 2,
        "currentRevision": world.revision,
        "updatedBy": "user:ana",
    }
    assert isinstance(bare["diff"], str)
    assert "-a\n+A\n" in bare["diff"]
    assert "merged" not in clash
    assert "merged" not in bare
    assert "diff" not in future
    with world.reading(EVE) as snapshot, pytest.raises(NotFoundError):
        conflict_details(snapshot, page, 1)


def test_a_conflict_on_a_page_that_was_declared_starts_from_the_declaration(world: World) -> None:
    with world.reading() as snapshot:
        page = page_by_ref(snapshot, "org:acme#policies/refund").id
    world.edit(page, body="---\nowner: ana\n---\nPay twice.", caller=ANA)
    with world.reading() as snapshot:
        details = conflict_details(snapshot, page, 0)
    assert isinstance(details["diff"], str)
    assert "-Pay.\n" in details["diff"]


def test_bound_links_follow_their_page(world: World) -> None:
    target = world.create("Target", key="target")
    source = world.create("Source", key="source", body="x\n\n[[org:acme#target]] and [[Target]]")
    noted = world.note(source, "see [[Target]]", ORG)
    then = world.revision
    world.rekey(target, "moved")
    with world.reading() as snapshot:
        found = all_backlinks(snapshot, target)
        assert all_backlinks(snapshot, target, 100) == found
    assert {(link.page, link.note, link.target, link.line) for link in found} == {
        (source, None, "org:acme#target", 3),
        (source, None, "Target", 3),
        (source, noted, "Target", 1),
    }
    assert {link.ref for link in found} == {"org:acme#source"}
    into = world.create("Into")
    world.merge(target, into)
    with world.reading() as snapshot:
        assert len(all_backlinks(snapshot, into)) == 3
    world.edit(source, body="nothing")
    with world.reading() as snapshot:
        assert [link.note for link in all_backlinks(snapshot, into)] == [noted]
    with world.reading(revision=then) as snapshot, pytest.raises(NotFoundError):
        backlinks(snapshot, into, None, 5)
    with world.reading(ROOT, then) as snapshot:
        assert len(all_backlinks(snapshot, target)) == 3


def test_links_from_what_is_hidden_do_not_show(world: World) -> None:
    target = world.create("Target", scope=RED, key="target")
    world.create("Secret", scope=VAULT, body="[[team:acme:red#target]]")
    open_source = world.create("Open", scope=RED, body="[[team:acme:red#target]]")
    world.note(open_source, "secret [[team:acme:red#target]]", VAULT)
    with world.reading(EVE) as snapshot:
        assert [link.page for link in all_backlinks(snapshot, target)] == [open_source]
    with world.reading(ROOT) as snapshot:
        assert len(all_backlinks(snapshot, target)) == 3


def test_unbound_links_are_resolved_for_the_reader(world: World) -> None:
    above = world.create("Above", scope=RED, key="above")
    body = "[[Later]] [[team:acme:red#above/later]] [a](later.md#part) [b](./la%74er)"
    source = world.create("Source", scope=RED, parent=above, key="source", body=body)
    elsewhere = world.create("Elsewhere", scope=RED, body="[c](above/later.md) [d](later.md)")
    later = world.create("Later", scope=RED, parent=above, key="later")
    with world.reading(EVE) as snapshot:
        found = all_backlinks(snapshot, later)
    assert sorted((link.page == source, link.target) for link in found) == [
        (False, "above/later.md"),
        (True, "./la%74er"),
        (True, "Later"),
        (True, "later.md#part"),
        (True, "team:acme:red#above/later"),
    ]
    assert {link.page for link in found} == {source, elsewhere}
    # With a second readable page of that name it names neither of them.
    world.create("Later", scope=VAULT)
    with world.reading(EVE) as snapshot:
        assert len(all_backlinks(snapshot, later)) == 5
    with world.reading(ROOT) as snapshot:
        assert len(all_backlinks(snapshot, later)) == 4


def test_no_body_is_not_an_empty_one(world: World) -> None:
    page = world.create("Page", key="p")
    world.edit(page, body="")
    world.edit(page, body="x")
    with world.reading() as snapshot:
        emptied = diff_versions(snapshot, page, 1, 2).body
        back = diff_versions(snapshot, page, 2, 1).body
        filled = diff_versions(snapshot, page, 1, 3).body
        details = conflict_details(snapshot, page, 1)
        assert diff_versions(snapshot, page, 1, 1).body == ""
    assert emptied == "--- /dev/null\n+++ org:acme#p version 2\n"
    assert back == "--- org:acme#p version 2\n+++ /dev/null\n"
    assert filled.startswith("--- /dev/null\n+++ org:acme#p version 3\n@@ ")
    assert str(details["diff"]).startswith("--- /dev/null\n")


def test_a_version_is_read_in_the_scope_where_it_can_be(world: World) -> None:
    parent = world.create("Parent", scope=VAULT)
    page = world.create("Child", scope=VAULT, parent=parent, body="one")
    world.move(parent, scope=ORG)
    world.edit(page, body="two")
    with world.reading() as snapshot:
        view = diff_versions(snapshot, page, 1, 2)
        assert "-one" in view.body
        assert "-one" in str(conflict_details(snapshot, page, 1)["diff"])
    world.move(parent, scope=VAULT)
    with world.reading() as snapshot, pytest.raises(NotFoundError):
        diff_versions(snapshot, page, 1, 2)


def test_a_version_in_a_hidden_scope_is_none_and_a_deletion_is_one(world: World) -> None:
    page = world.create("Page", body="one")
    world.move(page, scope=VAULT)
    world.edit(page, body="two")
    world.delete(page)
    world.restore(page)
    world.move(page, scope=ORG)
    with world.reading() as snapshot:
        for hidden in (2, 3, 4, 5):
            with pytest.raises(NotFoundError):
                diff_versions(snapshot, page, 1, hidden)
        assert "+two" in diff_versions(snapshot, page, 1, 6).body
    with world.reading(ROOT) as snapshot:
        view = diff_versions(snapshot, page, 1, 4)
    assert (view.to_version, "+two" in view.body) == (4, True)


def test_the_version_of_a_deletion_says_what_was_deleted(world: World) -> None:
    page = world.create("Page", body="one")
    world.delete(page)
    world.restore(page)
    world.edit(page, body="two")
    with world.reading() as snapshot:
        deleted = diff_versions(snapshot, page, 2, 4)
        assert (deleted.from_version, deleted.to_version) == (2, 4)
        assert "-one" in deleted.body
        assert diff_versions(snapshot, page, 1, 2).body == ""
        for unknown in (0, 5, 6):
            with pytest.raises(NotFoundError):
                diff_versions(snapshot, page, 1, unknown)


def test_a_conflict_names_what_else_changed(world: World) -> None:
    page, into = world.create("Page", key="p", body="x"), world.create("Into", key="into")
    world.edit(page, name="Renamed")
    world.move(page, parent=into)
    with world.reading() as snapshot:
        first = conflict_details(snapshot, page, 1)
        second = conflict_details(snapshot, page, 2)
    assert first["diff"] == ""
    assert first["changes"] == {
        "name": {"before": "Page", "after": "Renamed"},
        "ref": {"before": "org:acme#p", "after": "org:acme#into/p"},
    }
    assert second["changes"] == {"ref": {"before": "org:acme#p", "after": "org:acme#into/p"}}
