"""Exporting a scope as a folder of Markdown files, as of any revision."""

import re
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from uuid import UUID

from msgspec import Struct

from kbstore.errors import NotFoundError, RevisionNotReachedError
from kbstore.store.connection import Connection
from kbstore.store.database import Database
from kbstore.store.heads import read_head
from kbstore.store.texts import TextReader
from kbstore.text import fold_key
from projections.scope_pages import ScopePage, scope_pages

Progress = Callable[[int, int | None], None]
_SCOPE_PAGE = "index"
_DRIVE = re.compile(r"^([A-Za-z]):")


class ExportReport(Struct, frozen=True, kw_only=True):
    """What was written. `sha256` is over the lines `<SHA-256 of the file>  <path>`, sorted by
    path, as `sha256sum` prints them: the same content gives the same hash anywhere."""

    revision: int
    files: int
    sha256: str


def export_scope(
    database: Database,
    kb_id: UUID,
    scope: str,
    revision: int | None,
    folder: Path,
    progress: Progress,
) -> ExportReport:
    """Writes every page of the scope that has a body; one snapshot, streamed.

    The page with the keys a, b is `a/b.md`, a keyless one `%<id>.md`. The scope page, when it
    has a body, is `index.md`, or `%<id>.md` where a page has that key. No name leads out of
    the folder on any system. Raises NotFoundError for a scope without pages and
    RevisionNotReachedError above the head.
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
        pages = list(scope_pages(reader, head, scope, shown))
        if not pages:
            raise NotFoundError(f"{scope} has no pages at revision {shown}.")
        lines = []
        for path, raw in _files(reader, kb_id, pages):
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(raw)
            lines.append((path, sha256(raw).hexdigest()))
            progress(len(lines), len(pages))
    listing = "".join(f"{digest}  {path}\n" for path, digest in sorted(lines))
    return ExportReport(
        revision=shown, files=len(lines), sha256=sha256(listing.encode()).hexdigest()
    )


def _files(reader: Connection, kb_id: UUID, pages: list[ScopePage]) -> Iterator[tuple[str, bytes]]:
    """Path and content of each page with a body; parents come before their children."""
    texts = TextReader(reader, kb_id)
    paths: dict[UUID, str] = {}
    tops = {page.page_id for page in pages if page.parent_id is None}
    taken = any(
        page.parent_id in tops and page.key is not None and fold_key(page.key) == _SCOPE_PAGE
        for page in pages
    )
    for page in pages:
        if page.parent_id is None:
            paths[page.page_id] = ""
            path = f"%{page.page_id}" if taken else _SCOPE_PAGE
        else:
            path = f"{paths[page.parent_id]}{_name_of(page)}"
            paths[page.page_id] = f"{path}/"
        if page.body is not None:
            yield f"{path}.md", texts.text(page.body.text).encode()


def _name_of(page: ScopePage) -> str:
    """The page's key, but for what another system would read as a path; `%` is in no key."""
    if page.key is None:
        return f"%{page.page_id}"
    return _DRIVE.sub(r"\1%3A", page.key.replace("\\", "%5C"))
