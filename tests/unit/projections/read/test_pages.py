"""Whole pages by id, by ref and at old revisions."""

from uuid import uuid4

import pytest

from kbstore.access import Caller
from kbstore.errors import NotFoundError
from projections.read.pages import page, page_at_version, page_by_ref
from projections.snapshot import Snapshot
from tests.unit.projections.read.world import (
    ANA,
    AUDITOR,
    CONFIGURATION,
    EVE,
    ORG,
    RED,
    ROOT,
    VAULT,
    World,
)


def refused(snapshot: Snapshot, ref: str) -> NotFoundError:
    with pytest.raises(NotFoundError) as caught:
        page_by_ref(snapshot, ref)
    return caught.value


def test_a_page_is_whole(world: World) -> None:
    top = world.create("Guides", key="guides")
    created = world.create("Start", parent=top, key="start", body="---\na: 1\n---\nHello")
    world.edit(created, name="Begin", caller=ANA)
    with world.reading() as snapshot:
        view = page(snapshot, created)
        assert view == page_by_ref(snapshot, "org:acme#guides/start")
        assert view == page_by_ref(snapshot, "org:acme#//Guides/START//")
        assert view == page_by_ref(snapshot, str(created))
    assert (view.ref, view.path, view.parent) == ("org:acme#guides/start", "guides/start", top)
    assert (view.name, view.version, view.key, view.scope) == ("Begin", 2, "start", ORG)
    assert view.body == "---\na: 1\n---\nHello"
    assert view.frontmatter == {"a": 1}
    assert view.updated_by == "user:ana"
    assert view.created_at < view.updated_at


def test_wrong_front_matter_says_so(world: World) -> None:
    created = world.create("Start", body="---\na: [\n---\nHello")
    with world.reading() as snapshot:
        view = page(snapshot, created)
    assert view.frontmatter is None
    assert isinstance(view.frontmatter_error, str)


def test_a_page_at_an_old_revision_is_as_it_was(world: World) -> None:
    top = world.create("Guides", key="guides")
    created = world.create("Start", parent=top, key="start", body="one")
    then = world.revision
    world.edit(created, body="two")
    world.rekey(top, "books")
    with world.reading(revision=then) as snapshot:
        old = page(snapshot, created)
    with world.reading() as snapshot:
        new = page(snapshot, created)
        assert page_at_version(snapshot, created, 1).body == "one"
        with pytest.raises(NotFoundError):
            page_at_version(snapshot, created, 3)
    assert (old.body, old.version, old.ref) == ("one", 1, "org:acme#guides/start")
    assert (new.body, new.version, new.ref) == ("two", 2, "org:acme#books/start")


def test_a_level_without_a_key_makes_the_id_the_ref(world: World) -> None:
    top = world.create("Guides")
    created = world.create("Start", parent=top, key="start")
    with world.reading() as snapshot:
        view = page(snapshot, created)
    assert (view.ref, view.path, view.parent) == (str(created), None, top)


def test_missing_and_hidden_are_the_same(world: World) -> None:
    hidden = world.create("Secret", scope=VAULT, key="plan")
    with world.reading() as snapshot:
        missing, secret = refused(snapshot, str(uuid4())), refused(snapshot, str(hidden))
        assert missing.details == secret.details == {}
        assert missing.message.replace(missing.message.split('"')[1], "") == (
            secret.message.replace(str(hidden), "")
        )
        assert refused(snapshot, "vault:acme#plan").details == {}
        assert refused(snapshot, "vault:acme").details == {}
    for caller in (ROOT, AUDITOR):
        with world.reading(caller) as snapshot:
            assert page_by_ref(snapshot, "vault:acme#plan").id == hidden


@pytest.mark.parametrize("ref", ["", "#", "nonsense", "org:acme#a/b#c", "org:", "\ud800", "#a/b"])
def test_what_is_no_ref_names_nothing(world: World, ref: str) -> None:
    with world.reading() as snapshot:
        assert refused(snapshot, ref).details == {}


def test_a_page_moved_out_of_reach_is_hidden_at_every_revision(world: World) -> None:
    created = world.create("Start", key="start", body="x")
    below = world.create("Below", parent=created, key="below")
    then = world.revision
    world.move(created, scope=VAULT)
    with world.reading(revision=then) as snapshot:
        assert refused(snapshot, "org:acme#start").details == {}
        assert refused(snapshot, str(below)).details == {}
    with world.reading(ROOT, then) as snapshot:
        assert page(snapshot, below).ref == "org:acme#start/below"


def test_below_a_hidden_page_a_page_goes_by_its_id(world: World) -> None:
    top = world.create("Top", key="top")
    middle = world.create("Middle", parent=top, key="middle")
    leaf = world.create("Leaf", parent=middle, key="leaf")
    then = world.revision
    world.move(middle, parent=top)
    with world.reading(ROOT) as snapshot:
        home = page_by_ref(snapshot, ORG).id
    world.move(leaf, parent=home)
    world.move(top, scope=VAULT)
    with world.reading(revision=then) as snapshot:
        view = page(snapshot, leaf)
        assert (view.ref, view.path, view.parent) == (str(leaf), None, None)
        assert refused(snapshot, "org:acme#top/middle/leaf").details == {}


def test_a_place_once_found_is_found_anew_for_another_head_and_another_reader(
    world: World,
) -> None:
    world.create("Secret", scope=VAULT)
    top = world.create("Top", key="top")
    leaf = world.create("Leaf", parent=top, key="leaf")
    then = world.revision
    with world.reading(ROOT) as snapshot:
        home = page_by_ref(snapshot, ORG).id
    with world.reading(revision=then) as snapshot:
        assert page(snapshot, leaf).ref == "org:acme#top/leaf"
    world.move(leaf, parent=home)
    world.move(top, scope=VAULT)
    for caller, ref in ((ROOT, "org:acme#top/leaf"), (ANA, str(leaf)), (ROOT, "org:acme#top/leaf")):
        with world.reading(caller, then) as snapshot:
            assert page(snapshot, leaf).ref == ref


def test_a_dead_path_tells_where_the_page_is(world: World) -> None:
    a = world.create("A", key="a")
    b = world.create("B", parent=a, key="b")
    other = world.create("Other", key="other")
    world.create("C", parent=b, key="c")
    world.move(b, parent=other)
    with world.reading() as snapshot:
        assert refused(snapshot, "org:acme#a/b").details == {"movedTo": "org:acme#other/b"}
        assert refused(snapshot, "org:acme#a/b/c").details == {"movedTo": "org:acme#other/b/c"}
        assert refused(snapshot, "org:acme#a/b/d").details == {}
    world.rekey(b, "b2")
    world.rekey(other, "o")
    with world.reading() as snapshot:
        assert refused(snapshot, "org:acme#a/b").details == {"movedTo": "org:acme#o/b2"}
    world.move(other, scope=VAULT)
    with world.reading() as snapshot:
        assert refused(snapshot, "org:acme#a/b").details == {}


def test_a_merged_page_names_its_successor(world: World) -> None:
    a, b, c = (world.create(name, key=name) for name in "abc")
    world.create("Child", parent=a, key="child")
    world.merge(a, into=b)
    between = world.revision
    world.merge(b, into=c)
    with world.reading() as snapshot:
        assert refused(snapshot, str(a)).details == {"mergedInto": str(c)}
        assert refused(snapshot, "org:acme#a").details == {"mergedInto": str(c)}
        assert refused(snapshot, "org:acme#a/child").details == {"movedTo": "org:acme#c/child"}
    with world.reading(revision=between) as snapshot:
        assert refused(snapshot, str(a)).details == {"mergedInto": str(b)}
    world.move(c, scope=VAULT)
    with world.reading() as snapshot:
        assert refused(snapshot, str(a)).details == {}


def test_a_deleted_page_shows_to_owners_and_auditors_before_its_end(world: World) -> None:
    created = world.create("Gone", scope=RED, key="gone")
    then = world.revision
    world.delete(created)
    for caller, sees in ((ANA, False), (EVE, True), (ROOT, True), (AUDITOR, True)):
        with world.reading(caller, then) as snapshot:
            if sees:
                assert page(snapshot, created).name == "Gone"
            else:
                assert refused(snapshot, str(created)).details == {}
        with world.reading(caller) as snapshot:
            assert refused(snapshot, str(created)).details == {}
    world.restore(created)
    with world.reading(ANA, then) as snapshot:
        assert page(snapshot, created).name == "Gone"


def test_a_scope_page_is_there_before_it_is_written(world: World) -> None:
    with world.reading(revision=world.revision) as snapshot:
        virtual = page_by_ref(snapshot, "org:acme")
        assert page(snapshot, virtual.id) == virtual
    assert (virtual.version, virtual.name, virtual.body) == (0, "Handbook of acme", None)
    assert (virtual.description, virtual.updated_by) == ("All of it", "service:config")
    assert (virtual.path, virtual.parent, virtual.key) == ("", None, None)
    world.edit(virtual.id, body="Welcome")
    with world.reading() as snapshot:
        written = page_by_ref(snapshot, "org:acme")
    assert (written.id, written.body, written.name) == (virtual.id, "Welcome", virtual.name)
    assert written.version > 0


def test_template_pages_are_virtual_until_written(world: World) -> None:
    with world.reading() as snapshot:
        refund = page_by_ref(snapshot, "org:acme#policies/refund")
        assert page(snapshot, refund.id) == refund
        policies = page(snapshot, refund.parent) if refund.parent else None
    assert policies is not None
    assert (policies.ref, policies.version, policies.body) == ("org:acme#policies", 0, None)
    assert (refund.frontmatter, refund.version) == ({"owner": "ana"}, 0)
    then = world.revision
    world.edit(refund.id, body="Never.")
    with world.reading() as snapshot:
        assert page(snapshot, refund.id).body == "Never."
        assert page_by_ref(snapshot, "org:acme#policies").version == 1
    with world.reading(revision=then) as snapshot:
        assert page(snapshot, refund.id) == refund


def test_names_show_as_configured_at_the_revision(world: World) -> None:
    then = world.revision
    relabelled: dict[str, object] = {
        "scopes": {
            "org:$org": {
                "displayLabel": "Book",
                "access": [{"principal": "self", "role": "owner"}],
            }
        }
    }
    world.configure(relabelled)
    with world.reading() as snapshot:
        assert page_by_ref(snapshot, ORG).name == "Book"
        assert refused(snapshot, "org:acme#policies").details == {}
    with world.reading(revision=then) as snapshot:
        assert page_by_ref(snapshot, ORG).name == "Handbook of acme"
        assert page_by_ref(snapshot, "org:acme#policies").version == 0


def test_a_place_that_a_template_page_left_gets_a_new_id(world: World) -> None:
    with world.reading() as snapshot:
        first = page_by_ref(snapshot, "org:acme#policies/refund").id
    world.edit(first, body="x")
    written = world.revision
    plain: dict[str, object] = {
        "scopes": {"org:$org": {"access": [{"principal": "self", "role": "owner"}]}}
    }
    world.configure(plain)
    world.rekey(first, "money")
    world.configure(CONFIGURATION)
    with world.reading() as snapshot:
        second = page_by_ref(snapshot, "org:acme#policies/refund")
        assert second.version == 0
        assert second.id != first
        assert page(snapshot, second.id) == second
        assert page(snapshot, first).ref == "org:acme#policies/money"
    with world.reading(revision=written) as snapshot:
        assert page_by_ref(snapshot, "org:acme#policies/refund").id == first
    world.edit(second.id, body="y")
    with world.reading() as snapshot:
        assert page(snapshot, second.id).body == "y"


def test_an_undeclared_key_of_nobody_reads_nothing(world: World) -> None:
    nobody = Caller(principal="user:nobody")
    with world.reading(nobody) as snapshot:
        assert refused(snapshot, "org:acme").details == {}
        assert refused(snapshot, "org:acme#policies").details == {}


def test_a_hidden_page_at_a_dead_path_changes_nothing(world: World) -> None:
    page = world.create("Page", key="a")
    world.rekey(page, "b")
    hidden = world.create("Hidden", key="a", body="x")
    world.move(hidden, scope=VAULT)
    with world.reading() as snapshot:
        assert refused(snapshot, "org:acme#a").details == {"movedTo": "org:acme#b"}
    with world.reading(ROOT) as snapshot:
        assert refused(snapshot, "org:acme#a").details == {"movedTo": "vault:acme#a"}
    world.merge(hidden, world.create("Vault", scope=VAULT))
    with world.reading() as snapshot:
        assert refused(snapshot, "org:acme#a").details == {"movedTo": "org:acme#b"}


def test_a_virtual_page_below_an_adopted_one_has_the_place_it_is_written_at(world: World) -> None:
    adopted = world.create("Own", key="Guide")
    declared: dict[str, object] = {
        "scopes": {
            "org:$org": {
                "access": [{"principal": "self", "role": "owner"}],
                "pages": [
                    {"key": "guide", "name": "G", "pages": [{"key": "other", "name": "Other"}]}
                ],
            }
        }
    }
    world.configure(declared)
    with world.reading() as snapshot:
        virtual = page_by_ref(snapshot, "org:acme#guide/other")
        assert page(snapshot, virtual.id) == virtual
    assert (virtual.version, virtual.parent) == (0, adopted)
    assert (virtual.ref, virtual.path) == ("org:acme#Guide/other", "Guide/other")
    world.edit(virtual.id, body="written")
    with world.reading() as snapshot:
        written = page(snapshot, virtual.id)
    assert (written.ref, written.path) == (virtual.ref, virtual.path)
