"""What single lines do: the rules of identity, one by one, on small trees."""

import pytest

from api.imports.oplog import FileOperation
from api.imports.plan import Counts, PlanCreate, PlanMove
from api.imports.planner import FolderTree, plan_line
from kbstore.limits import NAME_CODE_POINTS_MAX, PAGES_PER_OPERATION_MAX
from tests.unit.imports.world import World, delete, move, write


def kinds(world: World, *operations: FileOperation) -> list[str]:
    plan = world.do(*operations)
    return [type(step).__name__.removeprefix("Plan").lower() for step in plan.operations]


# --- files, folders and names ------------------------------------------------------------------


def test_folders_come_on_demand_and_parents_first() -> None:
    world = World()
    plan = world.do(write("a/b/c", "# Hello\n"))
    assert [step.key for step in plan.operations if isinstance(step, PlanCreate)] == ["a", "b", "c"]
    assert [world.body_at(path) for path in ("a", "a/b", "a/b/c")] == [None, None, "# Hello\n"]
    assert [world.name_at(path) for path in ("a", "a/b", "a/b/c")] == ["a", "b", "Hello"]
    assert plan.counts == Counts(created=3)


def test_empty_folders_go_children_first() -> None:
    world = World("a/b/c")
    plan = world.do(delete("a/b/c"))
    assert len(plan.operations) == 3
    assert world.paths() == set()


def test_a_file_beside_its_folder_is_one_page() -> None:
    world = World("a/x")
    folder = world.id_at("a")
    assert kinds(world, write("a", "# A")) == ["edit"]
    assert (world.id_at("a"), world.body_at("a"), world.name_at("a")) == (folder, "# A", "A")
    assert kinds(world, delete("a")) == ["edit"]
    assert (world.id_at("a"), world.body_at("a"), world.name_at("a")) == (folder, None, "a")
    assert kinds(world, write("a", "again")) == ["edit"]
    assert world.id_at("a") == folder


def test_the_same_bytes_change_nothing() -> None:
    world = World("a", "b")
    plan = world.do(write("a", "text of a"), write("b", "text of b"))
    assert plan.operations == ()
    assert plan.counts == Counts(unchanged=2)


def test_the_last_write_of_a_line_counts() -> None:
    world = World("a")
    assert kinds(world, write("a", "other"), write("a", "text of a")) == []


def test_a_title_gone_leaves_the_key() -> None:
    world = World()
    world.do(write("a", "# Title\nx"))
    plan = world.do(write("a", "x"))
    assert world.name_at("a") == "a"
    assert plan.counts == Counts(edited=1)


def test_a_name_from_the_key_follows_the_key() -> None:
    world = World()
    world.do(write("a", "no title"), write("b", "# b"), write("c", "# Title"))
    assert kinds(world, move("a", "x"), move("b", "y"), move("c", "z")) == ["move"] * 3 + ["edit"]
    assert [world.name_at(path) for path in "xyz"] == ["x", "b", "Title"]
    assert len(world.asked) == 2, "only bodies whose name may be the key are read"


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("n" * NAME_CODE_POINTS_MAX, "n" * NAME_CODE_POINTS_MAX),
        ("n" * (NAME_CODE_POINTS_MAX + 1), "n" * NAME_CODE_POINTS_MAX),
        ("cafe\u0301", "caf\u00e9"),
        ("  ", "a"),
        ("one\ttwo\x00\u2028three", "one two three"),
        ("👩‍💻", "👩‍💻"),
    ],
)
def test_names_keep_the_limits_of_names(title: str, name: str) -> None:
    world = World()
    world.do(write("a", f"# {title}"))
    assert world.name_at("a") == name


# --- moves -------------------------------------------------------------------------------------


def test_a_chain_of_moves_is_one_move() -> None:
    world = World("a")
    page = world.id_at("a")
    assert kinds(world, move("a", "b"), move("b", "c/d")) == ["create", "move", "edit"]
    assert world.id_at("c/d") == page


def test_there_and_back_is_nothing() -> None:
    world = World("a")
    assert kinds(world, move("a", "b"), move("b", "a")) == []
    assert kinds(world, move("a", "a")) == []


@pytest.mark.parametrize(
    "operations",
    [(write("a", "new"), move("a", "b")), (move("a", "b"), write("b", "new"))],
    ids=["write then move", "move then write"],
)
def test_moves_and_writes_fold(operations: tuple[FileOperation, ...]) -> None:
    world = World("a")
    page = world.id_at("a")
    assert kinds(world, *operations) == ["move", "edit"]
    assert (world.id_at("b"), world.body_at("b")) == (page, "new")
    assert world.paths() == {"b"}


def test_a_new_file_at_the_old_path_is_a_new_page() -> None:
    world = World("a")
    page = world.id_at("a")
    assert kinds(world, move("a", "b"), write("a", "new")) == ["move", "create", "edit"]
    assert world.id_at("b") == page != world.id_at("a")


def test_two_files_trade_places() -> None:
    world = World("a", "b", "c")
    was = {path: world.id_at(path) for path in "abc"}
    plan = world.do(move("a", "tmp"), move("b", "a"), move("tmp", "b"))
    assert (world.id_at("a"), world.id_at("b")) == (was["b"], was["a"])
    moves = [step for step in plan.operations if isinstance(step, PlanMove)]
    assert len(moves) == 3
    assert plan.counts.moved == 2


def test_a_circle_of_many_needs_one_detour() -> None:
    names = [f"p{number}" for number in range(20)]
    world = World(*names)
    was = {name: world.id_at(name) for name in names}
    around = [move(one, f"t/{one}") for one in names]
    around += [
        move(f"t/{one}", other) for one, other in zip(names, names[1:] + names[:1], strict=True)
    ]
    plan = world.do(*around)
    assert sum(isinstance(step, PlanMove) for step in plan.operations) == len(names) + 1
    assert all(
        world.id_at(other) == was[one]
        for one, other in zip(names, names[1:] + names[:1], strict=True)
    )


def test_folders_trade_places_as_two_pages() -> None:
    world = World("a/x", "a/y", "b/z")
    was = {path: world.id_at(path) for path in world.paths()}
    plan = world.do(
        move("a/x", "t/x"),
        move("a/y", "t/y"),
        move("b/z", "a/z"),
        move("t/x", "b/x"),
        move("t/y", "b/y"),
    )
    assert [type(step) for step in plan.operations[:3]] == [PlanMove] * 3
    assert world.id_at("b/x") == was["a/x"]
    assert (world.id_at("a"), world.id_at("b")) == (was["b"], was["a"])
    assert plan.counts.followed == 3


@pytest.mark.parametrize("taken", ["moving-1", "MOVING-1"])
def test_a_detour_takes_a_free_key(taken: str) -> None:
    world = World("a", "b", taken)
    world.do(move("a", "t"), move("b", "a"), move("t", "b"))
    assert world.paths() == {"a", "b", taken}


def test_a_detour_leaves_free_the_keys_the_line_needs() -> None:
    world = World("a", "b")
    plan = world.do(move("a", "t"), move("b", "a"), move("t", "b"), write("moving-1"))
    assert world.paths() == {"a", "b", "moving-1"}
    assert "moving-1" not in {step.key for step in plan.operations if isinstance(step, PlanMove)}


def test_the_order_of_the_pages_given_does_not_matter() -> None:
    """Two folders end that wait for pages in a circle; after a restart the steps are the same."""
    world = World("a/a", "a/b/c", "b", "c/a/c")
    line = [move("c/a/c", "a"), move("a/b/c", "c"), move("b", "b/a"), move("a/a", "b/b")]
    existing = world.store.existing()
    forwards, backwards = (
        plan_line(FolderTree(pages), line, world.texts, line=1)
        for pages in (existing, existing[::-1])
    )
    assert forwards == backwards


def test_letter_case_alone_is_a_move() -> None:
    world = World("docs/TOOL", "Guide/x")
    pages = {world.id_at("docs/TOOL"), world.id_at("Guide"), world.id_at("Guide/x")}
    plan = world.do(move("docs/TOOL", "docs/tool"), move("Guide/x", "guide/x"))
    assert {world.id_at("docs/tool"), world.id_at("guide"), world.id_at("guide/x")} == pages
    assert plan.counts == Counts(moved=2, edited=2, followed=1)


def test_a_renamed_folder_is_one_move() -> None:
    world = World("a", "a/x", "a/y/z", "b/p", "b/q")
    was = {path: world.id_at(path) for path in world.paths()}
    plan = world.do(
        move("a/y/z", "n/a/y/z"),
        move("a", "n/a"),
        move("a/x", "n/a/x"),
        move("b/p", "c/p"),
        move("b/q", "c/q"),
    )
    assert {path: world.id_at(path) for path in world.paths() - {"n"}} == {
        "n/a": was["a"],
        "n/a/x": was["a/x"],
        "n/a/y": was["a/y"],
        "n/a/y/z": was["a/y/z"],
        "c": was["b"],
        "c/p": was["b/p"],
        "c/q": was["b/q"],
    }
    assert plan.counts == Counts(created=1, moved=2, followed=4, edited=1)


def test_a_folder_that_parts_goes_file_by_file() -> None:
    world = World("a/x", "a/y")
    assert kinds(world, move("a/x", "b/x"), move("a/y", "c/y")) == [
        "create", "create", "move", "move", "delete",
    ]  # fmt: skip


def test_a_folder_whose_files_get_other_keys_stays_behind() -> None:
    world = World("a/x")
    folder = world.id_at("a")
    assert kinds(world, move("a/x", "b/y")) == ["create", "move", "delete", "edit"]
    assert folder in world.store.gone


def test_a_folder_does_not_move_below_itself() -> None:
    world = World("a/x")
    folder = world.id_at("a")
    assert kinds(world, move("a/x", "a/b/x")) == ["create", "move"]
    assert world.id_at("a") == folder


@pytest.mark.parametrize("larger", ["a", "b"])
def test_where_two_folders_become_one_the_larger_goes(larger: str) -> None:
    world = World("a/1", "b/2", f"{larger}/3", f"{larger}/4")
    folder = world.id_at(larger)
    files = [path for path in sorted(world.paths()) if "/" in path]
    plan = world.do(*(move(path, f"c/{path[-1]}") for path in files))
    assert world.id_at("c") == folder
    assert plan.counts == Counts(moved=2, followed=3, deleted=1, edited=1)


@pytest.mark.parametrize(
    ("files", "moves"),
    [(PAGES_PER_OPERATION_MAX - 1, 1), (PAGES_PER_OPERATION_MAX, PAGES_PER_OPERATION_MAX)],
)
def test_a_folder_over_the_limit_of_one_move_goes_file_by_file(files: int, moves: int) -> None:
    world = World(*(f"a/p{number}" for number in range(files)))
    lines = [move(f"a/p{number}", f"b/p{number}") for number in range(files)]
    plan = plan_line(world.tree, lines, world.texts, line=1)
    assert plan.counts.moved == moves


# --- a child stays -----------------------------------------------------------------------------


def test_where_a_child_stays_the_file_becomes_a_new_page() -> None:
    world = World("a", "a/x")
    was = {path: world.id_at(path) for path in world.paths()}
    plan = world.do(move("a", "b"))
    assert (world.id_at("a"), world.body_at("a")) == (was["a"], None)
    assert world.id_at("b") not in was.values()
    assert world.body_at("b") == "text of a"
    assert world.name_at("a") == "a"
    assert plan.counts == Counts(created=1, edited=1)


@pytest.mark.parametrize(
    "elsewhere",
    [delete("a/x"), move("a/x", "z"), move("a/x", "b/x")],
    ids=["ends", "goes", "along"],
)
def test_where_no_child_stays_the_page_goes(elsewhere: FileOperation) -> None:
    world = World("a", "a/x")
    page = world.id_at("a")
    kinds(world, move("a", "b"), elsewhere)
    assert world.id_at("b") == page


def test_a_child_that_is_new_does_not_hold_the_page() -> None:
    world = World("a")
    page = world.id_at("a")
    world.do(move("a", "b"), write("a/x"))
    assert world.id_at("b") == page
    assert world.body_at("a") is None


def test_a_page_goes_under_a_folder_of_its_own_name() -> None:
    world = World("a")
    page = world.id_at("a")
    plan = world.do(move("a", "a/a"))
    assert world.id_at("a/a") == page
    history = [step for step in plan.operations if isinstance(step, PlanMove) and step.page == page]
    assert len(history) == 1, "the new folder takes the detour"


def test_a_file_that_comes_to_a_folder_takes_its_children_over() -> None:
    world = World("a/x", "a/y/z", "b")
    was = {path: world.id_at(path) for path in world.paths()}
    world.do(move("b", "a"))
    assert world.id_at("a") == was["b"]
    assert world.paths() == {"a", "a/x", "a/y", "a/y/z"}
    assert [world.id_at(path) for path in ("a/x", "a/y", "a/y/z")] == [
        was[path] for path in ("a/x", "a/y", "a/y/z")
    ]
    assert was["a"] in world.store.gone


def test_trading_places_with_a_page_whose_child_stays_keeps_both() -> None:
    world = World("a", "a/x", "b")
    was = {path: world.id_at(path) for path in world.paths()}
    world.do(move("a", "t"), move("b", "a"), move("t", "b"))
    assert (world.id_at("a"), world.id_at("b")) == (was["b"], was["a"])
    assert world.id_at("a/x") == was["a/x"]


# --- paths that return -------------------------------------------------------------------------


def test_a_path_that_returns_is_a_new_page() -> None:
    world = World("a")
    first = world.id_at("a")
    world.do(delete("a"))
    world.do(write("a", "text of a"))
    second = world.id_at("a")
    assert kinds(world, delete("a"), write("a", "text of a")) == ["delete", "create"]
    assert len({first, second, world.id_at("a")}) == 3


def test_a_move_onto_a_file_replaces_it() -> None:
    world = World("a", "b")
    was = {path: world.id_at(path) for path in world.paths()}
    assert kinds(world, move("a", "b")) == ["delete", "move", "edit"]
    assert world.id_at("b") == was["a"]
    assert was["b"] in world.store.gone


def test_a_deleted_file_goes_on_as_the_folder_of_new_ones() -> None:
    world = World("a")
    page = world.id_at("a")
    assert kinds(world, delete("a"), write("a/x")) == ["create", "edit"]
    assert (world.id_at("a"), world.body_at("a")) == (page, None)


def test_what_comes_and_goes_within_a_line_is_nothing() -> None:
    world = World("a")
    assert kinds(world, write("b/c"), move("b/c", "d"), delete("d")) == []
