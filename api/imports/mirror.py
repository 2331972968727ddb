"""The pages of a scope as an import finds them: those that are written, and those that are
declared and were never written, which it writes onto."""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from uuid import UUID

from msgspec import Struct

from api.imports.tree import ExistingPage, FolderTree, hash_of
from api.wiring import Services
from kbstore.access import declaration_of
from kbstore.domain.declared import DeclaredPage, declared_pages
from kbstore.store.commits import Head
from kbstore.store.connection import Connection
from kbstore.store.texts import TextReader
from kbstore.surroundings import committed_configuration
from projections.scope_pages import scope_pages


class Mirror(Struct, frozen=True):
    """`unwritten` has the bodies of the declared pages that nothing was written to."""

    tree: FolderTree
    unwritten: Mapping[UUID, str]


def read_mirror(services: Services, connection: Connection, head: Head, scope: str) -> Mirror:
    """The pages of a declared scope at a head; the caller holds a read transaction open."""
    configuration = committed_configuration(connection, head)
    texts = TextReader(connection, head.kb_id)
    lookup = services.projections.lookup(connection, head.kb_id, head.generation, texts)
    declared = declared_pages(configuration, head.kb_id, scope, lookup)
    written = list(_written(connection, head, scope, texts))
    pages = [*written, *map(_unwritten, declared)]
    # The top of the tree is the scope page, which no file stands for.
    tops = {page.page_id for page in pages if page.parent_id is None}
    declaration = declaration_of(configuration, scope)
    assert declaration is not None, "an import declares its scope first"
    tree = FolderTree(
        (page.below(tops) for page in pages if page.parent_id is not None),
        declared=(page.path for page in declaration.templates.pages),
    )
    return Mirror(tree, {page.page_id: page.body for page in declared if page.body is not None})


def _written(
    connection: Connection, head: Head, scope: str, texts: TextReader
) -> Iterator[ExistingPage]:
    for page in scope_pages(connection, head, scope):
        yield ExistingPage(
            page.page_id,
            page.parent_id,
            page.key,
            page.name,
            sha256(texts.text(page.body.text).encode()).digest() if page.body else None,
            page.version,
        )


def _unwritten(page: DeclaredPage) -> ExistingPage:
    state = page.state
    return ExistingPage(
        state.page_id, state.parent_id, state.key, state.name, hash_of(page.body), state.version
    )
