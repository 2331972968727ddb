"""Declared pages: what stands before anything is written to it.

Every scope has a page at its top, and a configuration may declare template pages below it.
Unwritten they are virtual: they have an id, a place and version 0. A live page that stands at
a declared place adopts the declaration, so what is virtual follows from the positions alone
and is never stored.
"""

from collections.abc import Callable
from uuid import UUID

from msgspec import Struct

from kbstore.access import Configuration, ResolvedScope, TemplatePage, declaration_of
from kbstore.domain.lookup import Lookup
from kbstore.domain.state import PageState
from kbstore.ids import declared_page_id

KeyPath = tuple[str, ...]


class DeclaredPage(Struct, frozen=True, kw_only=True):
    """An unwritten page: `path` is empty for a scope page, `body` None where it only groups."""

    page_id: UUID
    scope: str
    path: KeyPath
    occurrence: int
    parent_id: UUID | None
    name: str
    description: str
    body: str | None

    @property
    def template(self) -> str:
        """The declared key path as `PageCreated.template` names it."""
        return "/".join(self.path)

    @property
    def state(self) -> PageState:
        """The page as rules see it before its first write: live, version 0, without texts."""
        return PageState(
            page_id=self.page_id,
            version=0,
            scope=self.scope,
            parent_id=self.parent_id,
            key=self.path[-1] if self.path else None,
            name=self.name,
            name_ref=None,
            description=self.description or None,
            description_ref=None,
            body=None,
            links=None,
            template=self.template,
        )


DeclaredOf = Callable[[UUID], DeclaredPage | None]
"""Finds the declaration an id may belong to. It may answer from an older state: a rule checks
that the page is still unwritten, so only its scope and path are believed."""


def nothing_declared(page_id: UUID) -> DeclaredPage | None:
    """The `DeclaredOf` of a knowledge base that declares nothing."""
    return None


def declared_pages(
    configuration: Configuration, kb_id: UUID, scope: str, lookup: Lookup
) -> tuple[DeclaredPage, ...]:
    """The unwritten declared pages of a scope, parents first; none of an undeclared scope.

    Asks the lookup once or twice for each declared page.
    """
    declaration = declaration_of(configuration, scope)
    if declaration is None:
        return ()
    found: list[DeclaredPage] = []
    standing: dict[KeyPath, PageState | DeclaredPage] = {}
    places = [(), *(page.path for page in declaration.templates.pages)]
    for path in places:
        above = standing[path[:-1]] if path else None
        here = _standing(declaration, kb_id, path, above, lookup)
        assert here is not None, "a template page is declared"
        standing[path] = here
        if isinstance(here, DeclaredPage):
            found.append(here)
    return tuple(found)


def way_down(
    configuration: Configuration, kb_id: UUID, scope: str, path: KeyPath, lookup: Lookup
) -> tuple[PageState | DeclaredPage, ...] | None:
    """What stands from the scope page down to this place, written or not.

    None when nothing stands there or the scope is not declared. Keys compare folded.
    """
    declaration = declaration_of(configuration, scope)
    if declaration is None:
        return None
    way: list[PageState | DeclaredPage] = []
    for levels in range(len(path) + 1):
        above = way[-1] if way else None
        here = _standing(declaration, kb_id, path[:levels], above, lookup)
        if here is None:
            return None
        way.append(here)
    return tuple(way)


def _standing(
    declaration: ResolvedScope,
    kb_id: UUID,
    path: KeyPath,
    above: PageState | DeclaredPage | None,
    lookup: Lookup,
) -> PageState | DeclaredPage | None:
    """The page at `path`, whose parent is `above`: the live one, else the declared one."""
    if above is None:
        live = lookup.scope_page(declaration.address)
        template = None
    else:
        # Nothing is ever written below a page that is not.
        live = None if isinstance(above, DeclaredPage) else _child(lookup, above, path[-1])
        template = declaration.templates.page(path)
        if live is None and template is None:
            return None
    return live or _declare(declaration, kb_id, template, above, lookup)


def _child(lookup: Lookup, parent: PageState, key: str) -> PageState | None:
    return lookup.child_by_key(parent.page_id, key)


def _declare(
    declaration: ResolvedScope,
    kb_id: UUID,
    template: TemplatePage | None,
    above: PageState | DeclaredPage | None,
    lookup: Lookup,
) -> DeclaredPage:
    path = () if template is None else template.path
    occurrence = lookup.declared_pages_gone(declaration.address, path)
    source = declaration if template is None else template
    return DeclaredPage(
        page_id=declared_page_id(kb_id, declaration.address, path, occurrence),
        scope=declaration.address,
        path=path,
        occurrence=occurrence,
        parent_id=None if above is None else above.page_id,
        name=source.name,
        description=source.description,
        body=None if template is None else template.body,
    )
