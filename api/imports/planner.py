"""From a line of an operation log, or a folder, to the page operations of one commit."""

import re
from collections.abc import Callable, Iterable, Mapping
from unicodedata import normalize
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from api.filenames import SUFFIX
from api.imports.folder import ImportedFile
from api.imports.folding import Files, PlanError, fold
from api.imports.layout import Layout, lay_out
from api.imports.oplog import FileOperation, WriteFile
from api.imports.paths import Keys
from api.imports.plan import (
    Counts,
    Handle,
    Plan,
    PlanCreate,
    PlanDelete,
    PlanEdit,
    PlanMove,
    PlannedOperation,
)
from api.imports.schedule import Spot, Step, schedule
from api.imports.tree import ExistingPage, FolderTree, hash_of
from kbstore.errors import ImportInvalidError
from kbstore.limits import NAME_CODE_POINTS_MAX

__all__ = ["ExistingPage", "FolderTree", "Texts", "plan_folder", "plan_line"]

# A name holds none of these; a title may, written as a character reference.
_LINE_BREAKERS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


class Texts(Struct, frozen=True):
    """What the planner asks about texts.

    `title_of` gives a body's title, from its front matter or its first heading. `body_of`
    gives a page's body as it stands before the commit; it is asked only where a moved file
    becomes a new page, or where a page's name may come from its key.
    """

    title_of: Callable[[str], str | None]
    body_of: Callable[[UUID], str]

    def name_of(self, body: str, key: str) -> str:
        """The name of a file's page: its title, on one line and cut to a name's limit, else
        its key."""
        title = _LINE_BREAKERS.sub(" ", normalize("NFC", self.title_of(body) or "")).strip()
        return title[:NAME_CODE_POINTS_MAX].rstrip() or _name_from(key)


def plan_line(
    tree: FolderTree, operations: Iterable[FileOperation], texts: Texts, *, line: int
) -> Plan:
    """What one line of a log does to the pages in `tree`, which stays as it is.

    Raises ImportInvalidError with `line` where the line does not fit the pages: `file` (there
    is no such file), `key_taken`, `nesting`.
    """
    try:
        return _plan(tree, fold(tree, operations), texts)
    except PlanError as error:
        raise ImportInvalidError(
            f"line {line}: {error}; the lines before it are in the store",
            line=line,
            reason=error.reason,
        ) from None


def plan_folder(tree: FolderTree, files: Iterable[ImportedFile], texts: Texts) -> Plan:
    """What makes the pages hold what a folder's files hold; pages without a file stay.

    A file leads to the page that stands at its path, compared exactly, then folded. Raises
    ImportInvalidError for `key_taken` and `nesting`.
    """
    writes = [WriteFile("/".join(tree.resolve(file.keys)) + SUFFIX, file.body) for file in files]
    try:
        return _plan(tree, fold(tree, writes), texts)
    except PlanError as error:
        raise ImportInvalidError(str(error), reason=error.reason) from None


class _Content(Struct, frozen=True):
    """What a page gets; absent fields stay. A new page always gets both."""

    name: str | UnsetType = UNSET
    body: str | None | UnsetType = UNSET


def _plan(tree: FolderTree, files: Files, texts: Texts) -> Plan:
    layout = lay_out(tree, files)
    steps = schedule(tree, _targets(tree, layout))
    contents = {
        page: _content(tree, files, texts, keys, page) for keys, page in layout.places.items()
    }
    operations = [*_structure(tree, steps, contents), *_edits(tree, contents)]
    return Plan(operations=tuple(operations), counts=_count(tree, files, layout, operations))


def _targets(tree: FolderTree, layout: Layout) -> dict[Handle, Spot | None]:
    """Every page that is not yet where it belongs, parents first; then what ends, deepest first."""
    targets: dict[Handle, Spot | None] = {}
    for keys, page in layout.places.items():
        spot = Spot(layout.places[keys[:-1]] if len(keys) > 1 else None, keys[-1])
        if page not in tree or spot != Spot(tree.node(page).parent, tree.node(page).key):
            targets[page] = spot
    for page, heir in layout.adopted.items():
        targets[page] = Spot(heir, None)
    for page in sorted(layout.dead, key=lambda page: (-tree.level(page), page)):
        targets[page] = None
    return targets


def _content(tree: FolderTree, files: Files, texts: Texts, keys: Keys, page: Handle) -> _Content:
    key = keys[-1]
    file = files.get(keys)
    if file is not None and (file.text is not None or file.origin != page):
        if file.text is not None:
            body = file.text
        else:
            assert file.origin is not None, "a file without a text came from somewhere"
            body = texts.body_of(file.origin)
        return _changes(tree, page, texts.name_of(body, key), body)
    if isinstance(page, int):
        return _Content(name=_name_from(key), body=None)
    node = tree.node(page)
    if file is None and keys in files and node.body_sha256 is not None:
        return _Content(name=_name_from(key), body=None)
    if node.key is None or node.key == key or node.name != _name_from(node.key):
        return _Content()
    # The name was the key, or happened to be a title that reads like it.
    if node.body_sha256 is None:
        return _Content(name=_name_from(key))
    name = texts.name_of(texts.body_of(page), key)
    return _Content(name=UNSET if name == node.name else name)


def _name_from(key: str) -> str:
    return key.strip()


def _changes(tree: FolderTree, page: Handle, name: str, body: str) -> _Content:
    if isinstance(page, int):
        return _Content(name=name, body=body)
    node = tree.node(page)
    return _Content(
        name=UNSET if name == node.name else name,
        body=UNSET if hash_of(body) == node.body_sha256 else body,
    )


def _structure(
    tree: FolderTree, steps: list[Step], contents: Mapping[Handle, _Content]
) -> list[PlannedOperation]:
    """The steps as operations; each new page gets its content where it is created."""
    # Read backwards, so that the step that creates a page is the one that names it.
    created = {
        step.page: index
        for index, step in reversed(list(enumerate(steps)))
        if isinstance(step.page, int)
    }

    def named(page: Handle | None) -> Handle | None:
        return created[page] if isinstance(page, int) else page

    operations: list[PlannedOperation] = []
    for index, (page, spot) in enumerate((step.page, step.spot) for step in steps):
        if isinstance(page, UUID):
            version = tree.node(page).version
            operations.append(
                PlanDelete(page=page, version=version)
                if spot is None
                else PlanMove(page=page, version=version, parent=named(spot.parent), key=spot.key)
            )
            continue
        assert spot is not None, "a page is not created to be deleted"
        assert spot.key is not None, "a new page has a key"
        parent = named(spot.parent)
        if created[page] != index:
            operations.append(
                PlanMove(page=created[page], version=None, parent=parent, key=spot.key)
            )
            continue
        name, body = contents[page].name, contents[page].body
        assert name is not UNSET, "a new page has a name"
        assert body is not UNSET, "a new page has a body, if only None"
        operations.append(
            PlanCreate(token=index, parent=parent, key=spot.key, name=name, body=body)
        )
    return operations


def _edits(tree: FolderTree, contents: Mapping[Handle, _Content]) -> list[PlannedOperation]:
    return [
        PlanEdit(page=page, version=tree.node(page).version, name=content.name, body=content.body)
        for page, content in contents.items()
        if isinstance(page, UUID) and content != _Content()
    ]


def _count(
    tree: FolderTree, files: Files, layout: Layout, operations: Iterable[PlannedOperation]
) -> Counts:
    created = edited = deleted = 0
    touched: set[Handle] = set()
    moved: set[Handle] = set()
    for operation in operations:
        match operation:
            case PlanCreate():
                created += 1
            case PlanEdit():
                edited += 1
                touched.add(operation.page)
            case PlanMove():
                if isinstance(operation.page, UUID):
                    moved.add(operation.page)
            case PlanDelete():
                deleted += 1
    unchanged = followed = 0
    for keys, file in files.items():
        page = layout.places[keys] if file is not None else None
        if not isinstance(page, UUID) or page in moved:
            continue
        if tree.path(page) != keys:
            followed += 1
        elif page not in touched:
            unchanged += 1
    return Counts(
        created=created,
        edited=edited,
        moved=len(moved),
        deleted=deleted,
        unchanged=unchanged,
        followed=followed,
    )
