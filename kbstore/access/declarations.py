"""What a configuration says about one address: whether it is declared, as what, with which pages.

Several declarations can match an address; the most specific one that states a field decides
it. Template pages are joined by key: a page declared again for a narrower set of scopes
replaces the fields it states and adds pages below.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec import Struct

from kbstore.access.addresses import (
    Pattern,
    child_address,
    fill_parameters,
    parent_address,
    split_address,
)
from kbstore.access.configuration import ChildDeclaration, Configuration, ScopeDeclaration
from kbstore.access.matching import PatternIndex
from kbstore.access.templates import TemplateTree
from kbstore.limits import NAME_CODE_POINTS_MAX

_CONFIGURATIONS_CACHED_MAX = 16
_ADDRESSES_CACHED_MAX = 20_000


class ResolvedScope(Struct, frozen=True, kw_only=True):
    """A declared scope; `children` are the addresses of its child scopes, sorted, and
    `belongs_to` that of the scope above it: the parent of a child scope, else as declared."""

    address: str
    name: str
    description: str
    belongs_to: str | None
    templates: TemplateTree
    children: tuple[str, ...]


def declaration_of(configuration: Configuration, address: str) -> ResolvedScope | None:
    """The scope as declared; None for an address that matches no declaration.

    Its name is the display label, filled in and at most NAME_CODE_POINTS_MAX long, or else
    the address.
    """
    return _declarations(configuration).resolve(address)


def is_declared(configuration: Configuration, address: str) -> bool:
    """Whether the address matches a declaration or is a declared child of one that does."""
    return declaration_of(configuration, address) is not None


def declared_concrete_addresses(configuration: Configuration) -> tuple[str, ...]:
    """The addresses that exist by declaration alone, sorted: concrete ones and their children."""
    return _declarations(configuration).concrete_addresses


class _Declarations:
    """The declarations of one configuration, indexed."""

    def __init__(self, configuration: Configuration) -> None:
        self._index: PatternIndex[ScopeDeclaration] = PatternIndex(
            (scope.pattern, scope) for scope in configuration.scopes
        )
        # Scopes of one pattern share their pages, so these are joined once, not per address.
        self._templates: dict[tuple[Pattern, ...], TemplateTree] = {}
        self.resolve = lru_cache(maxsize=_ADDRESSES_CACHED_MAX)(self._resolve)
        self.concrete_addresses = tuple(sorted(self._concrete(configuration)))

    def _concrete(self, configuration: Configuration) -> Iterator[str]:
        for scope in configuration.scopes:
            if scope.pattern.is_concrete:
                address = scope.pattern.text
                yield address
                yield from _child_addresses(address, self._matching(address))

    def _matching(self, address: str) -> list[ScopeDeclaration]:
        """The declarations of a scope without its child path, most specific first."""
        return [scope for _, scope in self._index.find(address)]

    def _resolve(self, address: str) -> ResolvedScope | None:
        _, child = split_address(address)
        if child:
            return self._resolve_child(address, child)
        scopes = self._matching(address)
        if not scopes:
            return None
        return ResolvedScope(
            address=address,
            name=_label(address, [(scope, scope) for scope in scopes]),
            description=_description(scopes),
            belongs_to=_parent(address, scopes),
            templates=self._joined("", [(scope, scope) for scope in scopes]),
            children=_child_addresses(address, scopes),
        )

    def _resolve_child(self, address: str, name: str) -> ResolvedScope | None:
        declared = [
            (scope, child)
            for scope in self._matching(address.partition("/")[0])
            for child in scope.children
            if child.name == name
        ]
        if not declared:
            return None
        return ResolvedScope(
            address=address,
            name=_label(address, declared),
            description=_description([child for _, child in declared]),
            belongs_to=parent_address(address),
            templates=self._joined(name, declared),
            children=(),
        )

    def _joined(self, child: str, layers: "_Layers") -> TemplateTree:
        key = tuple(Pattern(scope.pattern.segments, child) for scope, _ in layers)
        templates = self._templates.get(key)
        if templates is None:
            templates = TemplateTree(declared.pages for _, declared in reversed(layers))
            self._templates[key] = templates
        return templates


_Declared = ScopeDeclaration | ChildDeclaration
_Layers = Sequence[tuple[ScopeDeclaration, _Declared]]
"""What matches an address, most specific first, each with the declaration whose pattern it is."""


@lru_cache(maxsize=_CONFIGURATIONS_CACHED_MAX)
def _declarations(configuration: Configuration) -> _Declarations:
    return _Declarations(configuration)


def _description(declared: list[ScopeDeclaration] | list[ChildDeclaration]) -> str:
    return next((d.description for d in declared if d.description is not None), "")


def _label(address: str, layers: _Layers) -> str:
    for scope, declared in layers:
        if declared.display_label is not None:
            bindings = scope.pattern.match(address.partition("/")[0]) or {}
            filled = fill_parameters(declared.display_label, bindings)
            return unicodedata.normalize("NFC", filled)[:NAME_CODE_POINTS_MAX]
    return address


def _parent(address: str, scopes: list[ScopeDeclaration]) -> str | None:
    for scope in scopes:
        if scope.belongs_to is not None:
            return scope.belongs_to.substitute(scope.pattern.match(address) or {}).text
    return None


def _child_addresses(address: str, scopes: list[ScopeDeclaration]) -> tuple[str, ...]:
    names = {child.name for scope in scopes for child in scope.children}
    return tuple(child_address(address, name) for name in sorted(names))
