"""Exporting a scope as a folder of Markdown files, as of any revision."""

import os
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from uuid import UUID

from msgspec import Struct

from api.filenames import SCOPE_PAGE, SUFFIX, page_name, path_of
from kbstore.domain.events import TextRef
from kbstore.errors import NotFoundError, RevisionNotReachedError, StoreError
from kbstore.store.database import Database
from kbstore.store.heads import read_head
from kbstore.store.texts import TextReader
from projections.scope_pages import ScopePage, scope_pages

Progress = Callable[[int, int | None], None]
PATH_BYTES_MAX = 4_095
"""What systems take for a whole path, in bytes."""


class ExportReport(Struct, frozen=True, kw_only=True):
    """What was written. `sha256` is over the lines `<SHA-256 of the file>  <path>`, sorted by
    path, as `sha256sum` prints them: the same content gives the same hash anywhere."""

    revision: int
    files: int
    sha256: str


class _File(Struct, frozen=True):
    """A file to write; nothing is written before all of them are known."""

    path: str
    text: TextRef


def export_scope(
    database: Database,
    kb_id: UUID,
    scope: str,
    revision: int | None,
    folder: Path,
    progress: Progress,
) -> ExportReport:
    """Writes every page of the scope that has a body, named as `api.filenames` says.

    One snapshot, streamed. No name leads out of the folder on any system. Raises NotFoundError
    for a scope without pages, RevisionNotReachedError above the head, and StoreError where a
    path would be longer than a system takes; nothing is written then.
    """
    reader = database.reader()
    with reader.reading():
        head = read_head(reader, kb_id)
        assert head is not None, "a registered knowledge base has a head"
        shown = head.revision if revision is None else revision
        if shown > head.revision:
            raise RevisionNotReachedError(
                f"Revision {shown} is not reached; the newest is {head.revision}.",
                revision=shown,
                activeContentRevision=head.revision,
            )
        files, has_pages = _planned(scope_pages(reader, head, scope, shown))
        if not has_pages:
            raise NotFoundError(f"{scope} has no pages at revision {shown}.")
        _check_lengths(folder, files)
        texts = TextReader(reader, kb_id)
        lines = []
        for file in files:
            raw = texts.text(file.text).encode()
            target = folder / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(raw)
            lines.append((file.path, sha256(raw).hexdigest()))
            progress(len(lines), len(files))
    listing = "".join(f"{digest}  {path}\n" for path, digest in sorted(lines))
    return ExportReport(
        revision=shown, files=len(lines), sha256=sha256(listing.encode()).hexdigest()
    )


def _planned(pages: Iterable[ScopePage]) -> tuple[list[_File], bool]:
    """The files of the pages with a body, and whether there are pages at all; parents come
    before their children."""
    names: dict[UUID, tuple[str, ...]] = {}
    files: list[_File] = []
    for page in pages:
        above = None if page.parent_id is None else names[page.parent_id]
        # What lies below the scope page lies beside its file.
        own = () if above is None else (*above, page_name(page.key, page.page_id))
        names[page.page_id] = own
        if page.body is not None:
            files.append(_File(f"{path_of(own or (SCOPE_PAGE,))}{SUFFIX}", page.body.text))
    return files, bool(names)


def _check_lengths(folder: Path, files: list[_File]) -> None:
    top = len(os.fsencode(folder.absolute()))
    for file in files:
        size = top + 1 + len(file.path.encode())
        if size > PATH_BYTES_MAX:
            raise StoreError(
                f"{file.path[:100]}... would have a path of {size} bytes; at most "
                f"{PATH_BYTES_MAX} can be written. Export into a folder with a shorter path, or "
                "shorten the keys.",
                limit=PATH_BYTES_MAX,
                actual=size,
            )
