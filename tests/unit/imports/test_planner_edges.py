"""Where a plan meets other pages, limits and refusals; and the plan of a folder."""

import pytest

from api.imports.folder import ImportedFile
from api.imports.oplog import FileOperation
from api.imports.plan import Counts, PlanDelete, PlanEdit, PlanMove
from api.imports.planner import FolderTree, plan_folder, plan_line
from kbstore.errors import ImportInvalidError
from tests.unit.imports.world import World, delete, move, write

# --- pages that are no files -------------------------------------------------------------------


def test_pages_without_a_key_go_with_their_page() -> None:
    world = World("a", "b/x")
    keyless = world.store.create(world.id_at("a"), None, "By hand", "text")
    world.reload()
    world.do(move("a", "c"))
    assert world.store.pages[keyless].parent == world.id_at("c")
    world.do(delete("c"))
    assert world.body_at("c") is None, "it cannot go while it has a child"
    world.do(move("b/x", "c"))
    assert world.store.pages[keyless].parent == world.id_at("c")


def test_a_folder_made_by_hand_stays_although_it_is_empty() -> None:
    world = World("a/x")
    world.store.create(world.id_at("a"), "empty", "empty", None)
    world.reload()
    world.do(delete("a/x"))
    assert world.paths() == {"a", "a/empty"}


# --- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operations", "reason"),
    [
        ([delete("zz")], "file"),
        ([move("zz", "a")], "file"),
        ([delete("d")], "file"),
        ([delete("a"), delete("a")], "file"),
        ([write("A")], "key_taken"),
        ([write("D/y")], "key_taken"),
        ([write("straße"), write("STRASSE")], "key_taken"),
        ([move("d/x", "D/y")], None),
        ([write("/".join("abcdefghij"))], None),
        ([write("/".join("abcdefghijk"))], "nesting"),
    ],
)
def test_lines_that_do_not_fit_name_themselves(
    operations: list[FileOperation], reason: str | None
) -> None:
    world = World("a", "d/x")
    if reason is None:
        world.do(*operations)
        return
    with pytest.raises(ImportInvalidError) as caught:
        plan_line(world.tree, operations, world.texts, line=17)
    assert caught.value.details == {"line": 17, "reason": reason}


def test_what_lies_below_a_page_counts_for_its_depth() -> None:
    world = World("a")
    page = world.store.create(world.id_at("a"), None, "By hand", "text")
    world.reload()
    world.do(move("a", "/".join("bcdefghij")))
    assert len(world.store.lineage(page)) == 10
    with pytest.raises(ImportInvalidError, match="deeper"):
        world.do(move("/".join("bcdefghij"), "/".join("bcdefghijk")))


def test_a_refused_line_leaves_the_mirror_alone() -> None:
    world = World("a", "b")
    before = [world.tree.node(page) for page in world.store.pages]
    with pytest.raises(ImportInvalidError):
        world.do(move("a", "c"), write("B"))
    assert [world.tree.node(page) for page in world.store.pages] == before
    assert world.paths() == {"a", "b"}


def test_a_mirror_is_a_tree() -> None:
    world = World("a/x")
    with pytest.raises(ValueError, match="not in the tree"):
        FolderTree([page for page in world.store.existing() if page.key == "x"])


# --- a folder ----------------------------------------------------------------------------------


def test_a_folder_leaves_other_pages_alone_and_changes_nothing_twice() -> None:
    world = World("README", "old/x")
    files = [ImportedFile(("readme",), "# New"), ImportedFile(("old", "y"), "y")]
    page = world.id_at("README")
    plan = plan_folder(world.tree, files, world.texts)
    world.commit(plan)
    assert world.paths() == {"README", "old", "old/x", "old/y"}, "folded names are the same page"
    assert (world.id_at("README"), world.body_at("README")) == (page, "# New")
    assert plan.counts == Counts(created=1, edited=1)
    again = plan_folder(world.tree, files, world.texts)
    assert (again.operations, again.counts) == ((), Counts(unchanged=2))


def test_operations_state_the_version_they_start_from() -> None:
    world = World("a", "b", "c/x")
    world.do(write("a", "2"), write("b", "2"))
    plan = world.do(move("a", "d"), write("d", "3"), delete("b"), delete("c/x"))
    versions = {
        type(step): step.version
        for step in plan.operations
        if isinstance(step, PlanMove | PlanEdit | PlanDelete)
    }
    assert versions == {PlanMove: 2, PlanEdit: 2, PlanDelete: 1}
