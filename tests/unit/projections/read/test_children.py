"""Lists: children of a page, scopes, pages by name."""

from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kbstore.access import Caller
from kbstore.errors import AmbiguousReferenceError, NotFoundError, ValidationError
from projections.read.children import children
from projections.read.names import resolve_name
from projections.read.pages import page_by_ref
from projections.read.scopes import child_scopes, list_scopes, scope
from projections.snapshot import Snapshot
from projections.views import PageSummary
from tests.unit.projections.read.world import ANA, AUDITOR, EVE, ORG, RED, ROOT, VAULT, World


def walk(snapshot: Snapshot, page: UUID, limit: int) -> list[PageSummary]:
    found: list[PageSummary] = []
    after: UUID | None = None
    while True:
        part = children(snapshot, page, after, limit)
        assert len(part.items) <= limit
        found += part.items
        after = part.after
        if after is None:
            return found


def test_children_come_by_folded_name_with_declared_ones_among_them(world: World) -> None:
    for name in ("zebra", "Éclair", "apple", "policy", "Apple"):
        world.create(name)
    with world.reading() as snapshot:
        top = page_by_ref(snapshot, ORG).id
        names = [child.name for child in walk(snapshot, top, 50)]
        assert [name.lower() for name in names] == [
            "apple", "apple", "éclair", "policies", "policy", "zebra",
        ]  # fmt: skip
        for limit in (1, 2, 5):
            assert [child.name for child in walk(snapshot, top, limit)] == names
    policies = next(child for child in walk_now(world, top) if child.name == "Policies")
    assert (policies.version, policies.ref, policies.children) == (0, "org:acme#policies", 1)


def walk_now(world: World, page: UUID) -> list[PageSummary]:
    with world.reading() as snapshot:
        return walk(snapshot, page, 3)


def test_a_list_at_a_revision_is_as_it_was(world: World) -> None:
    top = world.create("Top", key="top")
    kept = [world.create(f"Page {n}", parent=top, key=f"k{n}") for n in range(5)]
    world.create("Below", parent=kept[0])
    then = world.revision
    world.edit(kept[1], name="Zzz")
    world.delete(kept[2])
    world.move(kept[3], scope=VAULT)
    world.create("New", parent=top)
    with world.reading(ROOT, then) as snapshot:
        before = walk(snapshot, top, 2)
        assert [child.id for child in before] == kept
        assert [child.children for child in before] == [1, 0, 0, 0, 0]
        assert before[3].ref == "org:acme#top/k3"
    with world.reading(EVE, then) as snapshot, pytest.raises(NotFoundError):
        children(snapshot, top, None, 5)
    with world.reading(ANA, then) as snapshot:
        # Ana owns the scope of the deleted page, and has no role where the moved one is.
        assert [child.id for child in walk(snapshot, top, 2)] == [*kept[:3], kept[4]]
        parent = page_by_ref(snapshot, ORG).id
        assert {c.name: c.children for c in walk(snapshot, parent, 9)} == {"Policies": 1, "Top": 4}
    assert [child.name for child in walk_now(world, top)] == ["New", "Page 0", "Page 4", "Zzz"]


def test_writing_a_declared_page_takes_its_place_in_the_list(world: World) -> None:
    with world.reading() as snapshot:
        refund = page_by_ref(snapshot, "org:acme#policies/refund")
    world.edit(refund.id, body="x")
    with world.reading() as snapshot:
        assert refund.parent is not None
        listed = walk(snapshot, refund.parent, 10)
    assert [(child.id, child.version > 0) for child in listed] == [(refund.id, True)]


def test_a_key_of_another_list_is_refused(world: World) -> None:
    top = world.create("Top")
    with world.reading() as snapshot, pytest.raises(ValidationError) as caught:
        children(snapshot, top, uuid4(), 5)
    assert caught.value.details["reason"] == "mismatch"


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(names=st.lists(st.text("aAbBéß\u0301ü ", min_size=1, max_size=3), max_size=8))
def test_walking_gives_each_child_once(world: World, names: list[str]) -> None:
    top = world.create("Top")
    made = [world.create(name.strip() or "x", parent=top) for name in names]
    with world.reading() as snapshot:
        whole = [child.id for child in walk(snapshot, top, 100)]
        assert sorted(whole) == sorted(made)
        for limit in (1, 3):
            assert [child.id for child in walk(snapshot, top, limit)] == whole


def test_listed_scopes_are_concrete_held_or_have_pages(world: World) -> None:
    world.create("Blue", scope="team:acme:red")
    world.create("Secret", scope=VAULT)

    def listed(caller: Caller, revision: int | None = None) -> list[str]:
        with world.reading(caller, revision) as snapshot:
            whole = list_scopes(snapshot, None, 100)
            assert whole.after is None
            first = list_scopes(snapshot, None, 1)
            rest = list_scopes(snapshot, first.after, 100) if first.after else None
            assert whole.items == first.items + (rest.items if rest else ())
            return [view.scope for view in whole.items]

    assert listed(ANA) == ["club:chess", ORG, RED]
    assert listed(ANA, 2) == ["club:chess", ORG]
    assert listed(EVE) == [RED]
    assert listed(AUDITOR) == ["club:chess", RED, VAULT]
    assert listed(Caller(principal="user:x")) == []


def test_a_scope_tells_what_it_is(world: World) -> None:
    with world.reading(EVE) as snapshot:
        view = scope(snapshot, RED)
        # What it belongs to is a scope Eve has no role on.
        assert (view.name, view.role, view.held, view.belongs_to) == (RED, "owner", True, None)
        for address in (ORG, "team:acme:blue", "nothing:here"):
            with pytest.raises(NotFoundError):
                scope(snapshot, address)
    with world.reading(ANA) as snapshot:
        view = scope(snapshot, "team:acme:blue")
        assert (view.role, view.held, view.belongs_to, view.version) == ("viewer", False, ORG, 0)
        assert [child.scope for child in child_scopes(snapshot, RED)] == [f"{RED}/support"]
        assert child_scopes(snapshot, VAULT) == ()


def test_a_name_finds_the_one_readable_page(world: World) -> None:
    first = world.create("Plan", key="plan")
    world.create("Plan", scope=VAULT, key="plan")
    with world.reading() as snapshot:
        assert resolve_name(snapshot, "Plan").page_id == first
        assert resolve_name(snapshot, "Refunds").page_id == (
            page_by_ref(snapshot, "org:acme#policies/refund").id
        )
        assert resolve_name(snapshot, "Handbook of acme").page_id == page_by_ref(snapshot, ORG).id
        for name in ("plan", "Plan ", "Nope", ""):
            with pytest.raises(NotFoundError):
                resolve_name(snapshot, name)
    with world.reading(ROOT) as snapshot, pytest.raises(AmbiguousReferenceError) as caught:
        resolve_name(snapshot, "Plan")
    assert caught.value.details == {"candidates": ["org:acme#plan", "vault:acme#plan"]}
