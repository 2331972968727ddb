"""The template pages of a scope, joined over all declarations that match it."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from kbstore.access.configuration import PageDeclaration, PinDeclaration
from kbstore.text.normalise import fold_key

KeyPath = tuple[str, ...]


class TemplatePage(Struct, frozen=True, kw_only=True):
    """A declared page at its place: `path` holds the keys from the scope page down."""

    path: KeyPath
    name: str
    description: str
    body: str | None
    pin: PinDeclaration | None


class TemplateTree:
    """The template pages of a scope; immutable, and shared by all scopes of one declaration."""

    __slots__ = ("_below", "_by_path", "pages")

    def __init__(self, declared: Iterable[tuple[PageDeclaration, ...]]) -> None:
        """`declared` lists the pages of each matching declaration, the widest first."""
        joined: tuple[PageDeclaration, ...] = ()
        for pages in declared:
            joined = _overlay(joined, pages)
        self.pages = tuple(_walk(joined, ()))
        """Parents first, siblings in the order they are declared in."""
        self._by_path = {_folded(page.path): page for page in self.pages}
        self._below: dict[KeyPath, list[TemplatePage]] = {}
        for page in self.pages:
            self._below.setdefault(_folded(page.path[:-1]), []).append(page)

    def page(self, path: KeyPath) -> TemplatePage | None:
        """The page at this path; keys compare as those of siblings do, by `fold_key`."""
        return self._by_path.get(_folded(path))

    def below(self, path: KeyPath) -> tuple[TemplatePage, ...]:
        """The pages directly below this path; `()` is that of the scope page."""
        return tuple(self._below.get(_folded(path), ()))


def _folded(path: KeyPath) -> KeyPath:
    return tuple(fold_key(key) for key in path)


def _overlay(
    wide: tuple[PageDeclaration, ...], narrow: tuple[PageDeclaration, ...]
) -> tuple[PageDeclaration, ...]:
    """Recurses as deep as pages nest: NESTING_LEVELS_MAX."""
    pages = {fold_key(page.key): page for page in wide}
    for page in narrow:
        key = fold_key(page.key)
        pages[key] = _joined(pages[key], page) if key in pages else page
    return tuple(pages.values())


def _joined(wide: PageDeclaration, narrow: PageDeclaration) -> PageDeclaration:
    """The narrower declaration, with what it leaves out taken from the wider one."""
    return PageDeclaration(
        key=narrow.key,
        name=narrow.name,
        description=narrow.description or wide.description,
        body=wide.body if narrow.body is None else narrow.body,
        pin=narrow.pin or wide.pin,
        pages=_overlay(wide.pages, narrow.pages),
    )


def _walk(pages: tuple[PageDeclaration, ...], above: KeyPath) -> Iterator[TemplatePage]:
    """Recurses as deep as pages nest: NESTING_LEVELS_MAX."""
    for page in pages:
        path = (*above, page.key)
        yield TemplatePage(
            path=path,
            name=page.name,
            description=page.description,
            body=page.body,
            pin=page.pin,
        )
        yield from _walk(page.pages, path)
