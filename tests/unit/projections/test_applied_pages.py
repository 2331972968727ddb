"""What page events leave in the tables."""

import pytest
from eventsourcing.persistence import IntegrityError

from kbstore.domain.events import NIL, PageEdited, PageRestored
from projections.tables import CURRENT
from tests.unit.projections.history import History
from tests.unit.projections.rows import rows_of


def test_each_event_of_a_live_page_opens_a_row_and_ends_the_one_before(history: History) -> None:
    page = history.create(name="Handbook", description="All of it", body="One")
    history.edit(page, body="Two")
    history.edit(page, name="The Handbook")
    rows = rows_of(history, "page_versions", page_id=page)
    assert [(r["version"], r["from_revision"], r["to_revision"]) for r in rows] == [
        (1, 1, 2),
        (2, 2, 3),
        (3, 3, CURRENT),
    ]
    assert [r["name"] for r in rows] == ["Handbook", "Handbook", "The Handbook"]
    assert rows[2]["name_fold"] == "the handbook"
    assert rows[0]["updated_at"] < rows[1]["updated_at"] < rows[2]["updated_at"]


def test_all_versions_of_one_commit_but_the_last_are_valid_nowhere(history: History) -> None:
    with history.commit(actor="user:ben") as revision:
        page = history.create(name="Draft")
        history.edit(page, name="Better")
        history.edit(page, name="Best")
    rows = rows_of(history, "page_versions", page_id=page)
    assert [(r["version"], r["from_revision"], r["to_revision"]) for r in rows] == [
        (1, revision, revision),
        (2, revision, revision),
        (3, revision, CURRENT),
    ]
    assert history.lookup().page_at_revision(page, revision) == history.page(page)


def test_a_template_page_is_the_configurations_work(history: History) -> None:
    with history.commit(actor="user:ana"):
        top = history.create(template="", author="service:config")
        page = history.create(parent=top, key="faq", template="faq", author="service:config")
        history.edit(page, body="Mine")
    row = rows_of(history, "pages", page_id=page)[0]
    assert row["created_by"] == "service:config"
    assert (row["template_scope"], row["template_path"]) == ("org:acme", "faq")
    versions = rows_of(history, "page_versions", page_id=page)
    assert [r["updated_by"] for r in versions] == ["service:config", "user:ana"]


def test_a_scope_is_listed_from_its_scope_page_on(history: History) -> None:
    top = history.create()
    history.create(parent=top)
    history.create(scope="team:acme:support")
    assert rows_of(history, "scopes") == [
        {"scope": "org:acme", "since": 1},
        {"scope": "team:acme:support", "since": 3},
    ]


def test_a_subtree_follows_into_another_scope_without_versions_of_its_own(
    history: History,
) -> None:
    org, team = history.create(), history.create(scope="team:acme:support")
    page = history.create(parent=org, key="a")
    child = history.create(parent=page, key="b")
    grandchild = history.create(parent=child, key="c")
    history.move(page, team, "a")
    revision = history.revision
    for below in (child, grandchild):
        rows = rows_of(history, "page_versions", page_id=below)
        assert [(r["version"], r["scope"], r["to_revision"]) for r in rows] == [
            (1, "org:acme", revision),
            (1, "team:acme:support", CURRENT),
        ]
        assert rows[0]["updated_at"] == rows[1]["updated_at"]
        assert rows_of(history, "pages", page_id=below)[0]["scope"] == "team:acme:support"
    assert len(rows_of(history, "activity", revision=revision)) == 1
    assert history.lookup().page_at_revision(grandchild, revision - 1) is not None


def test_a_page_that_changed_in_the_commit_that_moves_it_keeps_one_row(history: History) -> None:
    org, team = history.create(), history.create(scope="team:acme:support")
    page = history.create(parent=org)
    child = history.create(parent=page)
    with history.commit() as revision:
        history.edit(child, body="New")
        history.move(page, team)
        history.edit(child, body="Newer")
    rows = rows_of(history, "page_versions", page_id=child)
    assert [(r["version"], r["scope"], r["from_revision"], r["to_revision"]) for r in rows] == [
        (1, "org:acme", 4, revision),
        (2, "team:acme:support", revision, revision),
        (3, "team:acme:support", revision, CURRENT),
    ]


def test_a_move_inside_a_scope_leaves_what_is_below_alone(history: History) -> None:
    top = history.create()
    a, b = history.create(parent=top), history.create(parent=top)
    child = history.create(parent=a)
    history.move(a, b)
    assert len(rows_of(history, "page_versions", page_id=child)) == 1


def test_a_deletion_ends_the_row_and_a_restore_opens_one(history: History) -> None:
    top = history.create()
    page = history.create(parent=top, key="faq", name="FAQ")
    history.delete(page)
    deleted = history.revision
    row = rows_of(history, "pages", page_id=page)[0]
    assert (row["ended_at"], row["ended_how"], row["ended_version"]) == (deleted, "deleted", 2)
    assert history.lookup().child_by_key(top, "faq") is None
    history.restore(page, top, "faq")
    row = rows_of(history, "pages", page_id=page)[0]
    assert (row["ended_at"], row["ended_how"], row["ended_version"]) == (None, None, None)
    deletion = rows_of(history, "deletions")[0]
    assert deletion["deletion"] == deleted
    assert deletion["restored_at"] == deleted + 1
    found = history.lookup().child_by_key(top, "FAQ")
    assert found is not None
    assert (found.page_id, found.version) == (page, 3)


def test_deleted_restored_and_deleted_by_one_commit_is_one_deletion(history: History) -> None:
    top = history.create()
    page = history.create(parent=top)
    with history.commit() as revision:
        history.delete(page)
        history.restore(page, top)
        history.delete(page)
    deletions = rows_of(history, "deletions")
    assert [(r["deletion"], r["version"], r["restored_at"]) for r in deletions] == [
        (revision, 4, None)
    ]
    assert history.lookup().page_at_version(page, 2) == history.states.page_versions[page][2]


def test_a_chain_of_merges_collapses(history: History) -> None:
    top = history.create()
    a, b, c = (history.create(parent=top) for _ in range(3))
    history.merge_away(a, b)
    history.merge_away(b, c)
    for gone in (a, b):
        page = history.lookup().page(gone)
        assert page is not None
        assert (page.ended, page.merged_into) == ("merged", c)


def test_an_event_that_continues_nothing_is_refused(history: History) -> None:
    top = history.create()
    page = history.create(parent=top)
    unknown = PageEdited(originator_id=NIL, originator_version=2)
    with pytest.raises(AssertionError, match="does not continue"):
        history.emit(unknown)
    with pytest.raises(AssertionError, match="does not continue"):
        history.emit(PageEdited(originator_id=page, originator_version=3))
    state = history.page(page)
    assert state.name_ref is not None
    live = PageRestored(
        originator_id=page,
        originator_version=2,
        scope="org:acme",
        parent_id=top,
        name=state.name_ref,
        restored_version=1,
    )
    with pytest.raises(AssertionError, match="not deleted"):
        history.emit(live)
    history.delete(page)
    with pytest.raises(AssertionError, match="does not continue"):
        history.emit(PageEdited(originator_id=page, originator_version=3))
    assert history.revision == 3


def test_the_database_itself_refuses_a_second_holder_of_a_key(history: History) -> None:
    top = history.create()
    history.create(parent=top, key="straße")
    with pytest.raises(IntegrityError, match=r"(?i)unique constraint.*page_versions"):
        history.create(parent=top, key="STRASSE")
