"""The pages of a scope, read from a database at any revision without the HTTP door."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from uuid import UUID

from api.wiring import open_database
from kbstore.store.catalogue import find_knowledge_base
from kbstore.store.connection import Connection
from kbstore.store.heads import read_head
from kbstore.store.texts import TextReader
from projections.scope_pages import ScopePage, scope_pages
from tests.acceptance.processes import url_of
from tests.oplog_model import State

Places = Mapping[str, tuple[UUID, str | None]]
"""Each page's path with its id and the SHA-256 of its body, None where it only groups."""


class Pages:
    """What stands in a scope, as of the head there was when this was made."""

    def __init__(self, reader: Connection, slug: str, scope: str) -> None:
        found = find_knowledge_base(reader, slug)
        assert found is not None
        head = read_head(reader, found.kb_id)
        assert head is not None
        texts = TextReader(reader, found.kb_id)
        self.head = head
        self._reader = reader
        self._scope = scope
        self._text = texts.text
        self._hash = lru_cache(None)(lambda ref: hash_of(texts.text(ref)))

    def places(self, revision: int | None = None) -> Places:
        return {
            path: (page.page_id, self._hash(page.body.text) if page.body else None)
            for path, page in self._walk(revision)
        }

    def ids(self, revision: int | None = None) -> dict[str, UUID]:
        return {path: page.page_id for path, page in self._walk(revision)}

    def names(self, revision: int | None = None) -> dict[str, str]:
        return {path: page.name for path, page in self._walk(revision)}

    def versions(self, revision: int | None = None) -> dict[str, int]:
        return {path: page.version for path, page in self._walk(revision)}

    def state(self, revision: int | None = None) -> State:
        return files_of(self.places(revision))

    def files(self, revision: int | None = None) -> dict[str, str]:
        """Each file's path with the body of its page."""
        return {
            f"{path}.md": self._text(page.body.text)
            for path, page in self._walk(revision)
            if page.body is not None
        }

    def _walk(self, revision: int | None) -> Iterator[tuple[str, ScopePage]]:
        paths: dict[UUID, str] = {}
        for page in scope_pages(self._reader, self.head, self._scope, revision):
            if page.parent_id is None:
                paths[page.page_id] = ""
                continue
            above = paths[page.parent_id]
            key = page.key or f"%{page.page_id}"
            path = paths[page.page_id] = f"{above}/{key}" if above else key
            yield path, page


@contextmanager
def open_pages(database: Path, slug: str, scope: str) -> Iterator[Pages]:
    opened = open_database(url_of(database))
    try:
        yield Pages(opened.reader(), slug, scope)
    finally:
        opened.close()


def files_of(places: Places) -> State:
    return frozenset((f"{path}.md", body) for path, (_, body) in places.items() if body is not None)


def hash_of(text: str) -> str:
    return sha256(text.encode()).hexdigest()
