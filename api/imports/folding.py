"""Folding the file operations of one line: what each path they touch holds in the end."""

from collections.abc import Iterable
from uuid import UUID

from msgspec import Struct

from api.imports.oplog import FileOperation, MoveFile, WriteFile
from api.imports.paths import Keys, PathError, keys_of
from api.imports.tree import FolderTree


class PlanError(ValueError):
    """A line that cannot be done on the pages as they are; `reason` is stable."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class File(Struct, frozen=True):
    """A file after the line. `origin` is the page whose file it was before, None for a new
    one; `text` is None where the line writes none."""

    origin: UUID | None
    text: str | None


Files = dict[Keys, File | None]
"""The paths a line touches; None where there is no file any more."""


def fold(tree: FolderTree, operations: Iterable[FileOperation]) -> Files:
    """Plays the operations in order on file names alone: a -> b -> c becomes a -> c.

    As in a folder, a move onto a file replaces it. A file that is deleted and written again is
    a new one. Raises PlanError for a move or delete of a file that is not there.
    """
    files: Files = {}

    def current(keys: Keys) -> File | None:
        if keys not in files:
            page = tree.find(keys)
            is_file = page is not None and tree.node(page).body_sha256 is not None
            files[keys] = File(page, None) if is_file else None
        return files[keys]

    def take(path: str) -> File:
        keys = _keys(path)
        file = current(keys)
        if file is None:
            raise PlanError("file", f"there is no file {path!r}")
        files[keys] = None
        return file

    for operation in operations:
        if isinstance(operation, WriteFile):
            keys = _keys(operation.path)
            before = current(keys)
            files[keys] = File(before.origin if before else None, operation.text)
        elif isinstance(operation, MoveFile):
            moved = take(operation.from_)
            files[_keys(operation.to)] = moved
        else:
            take(operation.path)
    return files


def _keys(path: str) -> Keys:
    try:
        return keys_of(path)
    except PathError as error:
        raise PlanError(error.reason, str(error)) from None
