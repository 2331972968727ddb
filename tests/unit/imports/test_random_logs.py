"""Random logs over few short paths, where collisions, swaps and circles are frequent."""

import random
from copy import deepcopy
from uuid import UUID

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.imports.oplog import DeleteFile, FileOperation, MoveFile, WriteFile
from api.imports.plan import PlanDelete, PlanMove
from api.imports.planner import FolderTree, plan_line
from kbstore.errors import ImportInvalidError
from tests.oplog_model import FolderModel
from tests.unit.imports.world import World

KEYS = "abc"
BODIES = st.sampled_from(["", "x", "y\nz", "# Title", "# a", "# b\n\ntext"])

Origins = dict[str, str | None]
"""For each file after a line the path it had before, None when it is new."""


def play_names(before: set[str], operations: list[FileOperation]) -> Origins:
    origins: Origins = {path: path for path in before}
    for operation in operations:
        match operation:
            case WriteFile():
                origins.setdefault(operation.path, None)
            case MoveFile():
                origins[operation.to] = origins.pop(operation.from_)
            case DeleteFile():
                del origins[operation.path]
    return origins


def draw_line(data: st.DataObject, files: set[str], keys: str = KEYS) -> list[FileOperation]:
    """A line that fits a folder with these files."""
    paths = st.lists(st.sampled_from(keys), min_size=1, max_size=3).map(
        lambda parts: "/".join(parts) + ".md"
    )
    present = set(files)
    operations: list[FileOperation] = []
    for _ in range(data.draw(st.integers(1, 20))):
        kind = data.draw(st.sampled_from(["write", "move", "move", "move", "delete"]))
        if kind == "write" or not present:
            path = data.draw(paths)
            operations.append(WriteFile(path, data.draw(BODIES)))
            present.add(path)
            continue
        path = data.draw(st.sampled_from(sorted(present)))
        present.discard(path)
        if kind == "delete":
            operations.append(DeleteFile(path))
        else:
            to = data.draw(paths)
            operations.append(MoveFile(path, to))
            present.add(to)
    return operations


@settings(max_examples=300)
@given(st.data())
def test_pages_follow_the_folder(data: st.DataObject) -> None:
    world, model = World(), FolderModel()
    for _ in range(data.draw(st.integers(1, 6))):
        before = world.store.by_path()
        files = set(model.texts)
        line = draw_line(data, files)
        shuffled = world.store.existing()
        random.Random(world.line).shuffle(shuffled)
        again = plan_line(FolderTree(shuffled), line, world.texts, line=1)
        plan = world.play(line)
        assert plan == again, "a resumed import plans the same"
        assert world.store.files() == model.play(msgspec.to_builtins(line))
        assert_mirror_agrees(world)
        assert_folders_are_needed(world, set(model.texts))
        assert_identity(before, world.store.by_path(), play_names(files, line), files, world)
        deletes = {step.page for step in plan.operations if isinstance(step, PlanDelete)}
        moves = [step.page for step in plan.operations if isinstance(step, PlanMove)]
        assert all(moves.count(page) <= 2 for page in moves), "at most one detour"
        assert plan.counts.deleted == len(deletes)
        same = [WriteFile(path, text) for path, text in model.texts.items()]
        assert plan_line(world.tree, same, world.texts, line=1).operations == ()


def assert_mirror_agrees(world: World) -> None:
    expected = FolderTree(world.store.existing())
    for page in world.store.pages:
        assert world.tree.node(page) == expected.node(page)


def assert_folders_are_needed(world: World, files: set[str]) -> None:
    needed = {path.removesuffix(".md") for path in files}
    needed |= {
        "/".join(path.split("/")[:n]) for path in needed for n in range(1, path.count("/") + 1)
    }
    assert world.paths() == needed


def assert_identity(
    before: dict[str, UUID],
    after: dict[str, UUID],
    origins: Origins,
    files: set[str],
    world: World,
) -> None:
    """The rules of identity, stated over paths."""
    was = {f"{path}.md": page for path, page in before.items()}
    now = {f"{path}.md": page for path, page in after.items()}
    owned = {was[path] for path in files}

    def a_child_stays(path: str) -> bool:
        below = path.removesuffix(".md") + "/"
        return any(to == origin and to.startswith(below) for to, origin in origins.items())

    for to, origin in origins.items():
        if origin is None:
            page = now[to]
            assert page not in owned or (was.get(to) == page and a_child_stays(to))
            assert page not in world.store.gone
        elif to == origin or not a_child_stays(origin):
            assert now[to] == was[origin], (to, origin)
        elif now[origin] == was[origin]:
            # New, or a page that only grouped what is below the path.
            assert now[to] not in owned or now[to] == was.get(to)
        else:
            taker = origins[origin]
            assert taker is not None
            assert now[origin] == was[taker]
    for path, page in was.items():
        if path not in files and a_child_stays(path) and origins.get(path) is None:
            assert now[path] == page, f"the folder {path} stays"


@settings(max_examples=150)
@given(st.data())
def test_pages_without_a_key_are_never_lost(data: st.DataObject) -> None:
    world, model = World(), FolderModel()
    keyless: set[UUID] = set()
    for _ in range(data.draw(st.integers(1, 4))):
        places = [None, *(page for page in world.store.pages if len(world.store.lineage(page)) < 6)]
        for _ in range(data.draw(st.integers(0, 3))):
            parent = data.draw(st.sampled_from(places))
            keyless.add(world.store.create(parent, None, "By hand", None))
        world.reload()
        line = draw_line(data, set(model.texts))
        world.play(line)
        assert world.store.files() == model.play(msgspec.to_builtins(line))
        assert_mirror_agrees(world)
        assert keyless <= world.store.pages.keys()


@settings(max_examples=150)
@given(st.data())
def test_keys_that_differ_in_case_alone_are_refused_and_nothing_else(data: st.DataObject) -> None:
    world, model = World(), FolderModel()
    for _ in range(data.draw(st.integers(1, 4))):
        line = draw_line(data, set(model.texts), "aAb")
        after = deepcopy(model)
        files = after.play(msgspec.to_builtins(line))
        if differ_in_case_alone(set(after.texts)):
            with pytest.raises(ImportInvalidError) as caught:
                world.play(line)
            assert caught.value.details["reason"] == "key_taken"
            continue
        world.play(line)
        model = after
        assert world.store.files() == files


def differ_in_case_alone(files: set[str]) -> bool:
    keys = [path.removesuffix(".md").split("/") for path in files]
    pages = {"/".join(parts[:n]) for parts in keys for n in range(1, len(parts) + 1)}
    return len(pages) != len({page.casefold() for page in pages})
