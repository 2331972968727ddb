"""What a knowledge base declares: its scopes, who has which role on them, its template pages.

A Configuration only ever comes out of `load_configuration`, so all in it is valid: whoever
holds one need not check again.
"""

import enum
from typing import Literal

import msgspec
from msgspec import Struct

from kbstore.access.addresses import Pattern
from kbstore.limits import PINNED_PAGES_DEFAULT, PINNED_TOKENS_DEFAULT, READ_TOKENS_DEFAULT

PinKind = Literal["page", "list"]


class Role(enum.IntEnum):
    """What a run may do in a scope; each role includes those before it."""

    VIEWER = 1
    CONTRIBUTOR = 2
    EDITOR = 3
    OWNER = 4

    @property
    def word(self) -> str:
        """The role as configurations and answers write it: `viewer` to `owner`."""
        return self.name.lower()


ROLE_WORDS: dict[str, Role] = {role.word: role for role in Role}


class AccessRule(Struct, frozen=True):
    """A run that holds `principal` has `role`; None stands for `self`, the scope itself."""

    principal: Pattern | None
    role: Role


class PinDeclaration(Struct, frozen=True):
    """A template page that every run holding the scope is given; `depth` counts for lists."""

    kind: PinKind = "page"
    depth: int = 1


class PageDeclaration(Struct, frozen=True, kw_only=True):
    """A template page; a `body` of None makes it one that only groups those below."""

    key: str
    name: str
    description: str = ""
    body: str | None = None
    pin: PinDeclaration | None = None
    pages: tuple["PageDeclaration", ...] = ()


class ChildDeclaration(Struct, frozen=True, kw_only=True):
    """A template child scope; `access` of None takes over the access of its parent."""

    name: str
    description: str | None = None
    display_label: str | None = None
    access: tuple[AccessRule, ...] | None = None
    pages: tuple[PageDeclaration, ...] = ()


class ScopeDeclaration(Struct, frozen=True, kw_only=True):
    """The scopes of a pattern, or one concrete scope. None: left to a wider declaration."""

    pattern: Pattern
    description: str | None = None
    display_label: str | None = None
    belongs_to: Pattern | None = None
    access: tuple[AccessRule, ...] = ()
    children: tuple[ChildDeclaration, ...] = ()
    pages: tuple[PageDeclaration, ...] = ()


class Settings(Struct, frozen=True, kw_only=True):
    """How the knowledge base behaves.

    With `require_expected_version` tools, too, must say which version of a page they change.
    `read_tokens` is what one read of a tool shows of a body, `pinned_tokens` and `pinned_pages`
    what the pinned context of a run may take.
    """

    require_expected_version: bool = False
    read_tokens: int = READ_TOKENS_DEFAULT
    pinned_tokens: int = PINNED_TOKENS_DEFAULT
    pinned_pages: int = PINNED_PAGES_DEFAULT


class Configuration(Struct, frozen=True, kw_only=True, cache_hash=True):
    """Scopes in the order of their patterns' text, child scopes in that of their names: two
    texts that say the same make equal Configurations. Template pages keep their order."""

    scopes: tuple[ScopeDeclaration, ...] = ()
    settings: Settings = Settings()

    @classmethod
    def empty(cls) -> "Configuration":
        """Declares no scope, so nobody but an auditor reads anything."""
        return cls()


def declare_scope(
    configuration: Configuration, scope: Pattern, access: tuple[AccessRule, ...] = ()
) -> Configuration:
    """The configuration with one more declaration, as an import of an undeclared scope needs.

    Without `access` holding the scope makes its owner. A scope declared under the same text
    stays as it is. `scope` has no child path: child scopes are declared by their parent.
    """
    assert not scope.child, "child scopes are declared by their parent"
    if any(declared.pattern == scope for declared in configuration.scopes):
        return configuration
    rules = access or (AccessRule(None, Role.OWNER),)
    added = ScopeDeclaration(pattern=scope, access=rules)
    scopes = sorted((*configuration.scopes, added), key=lambda d: d.pattern.text)
    return msgspec.structs.replace(configuration, scopes=tuple(scopes))


def dump_configuration(configuration: Configuration) -> str:
    """Canonical JSON: keys sorted, fields at their default left out, no white space.

    Equal configurations give equal bytes, and `load_configuration` reads them back.
    """
    scopes = {scope.pattern.text: _scope_fields(scope) for scope in configuration.scopes}
    given, default = configuration.settings, Settings()
    settings: dict[str, object] = {}
    if given.require_expected_version:
        settings["requireExpectedVersion"] = True
    numbers = (
        ("readTokens", given.read_tokens, default.read_tokens),
        ("pinnedTokens", given.pinned_tokens, default.pinned_tokens),
        ("pinnedPages", given.pinned_pages, default.pinned_pages),
    )
    settings |= {key: value for key, value, usual in numbers if value != usual}
    document = {"scopes": scopes, "settings": settings}
    present = {name: table for name, table in document.items() if table}
    return msgspec.json.encode(present, order="deterministic").decode()


def _scope_fields(scope: ScopeDeclaration) -> dict[str, object]:
    fields = _common_fields(scope)
    if scope.belongs_to is not None:
        fields["belongsTo"] = scope.belongs_to.text
    if scope.access:
        fields["access"] = [_rule_fields(rule) for rule in scope.access]
    if scope.children:
        fields["children"] = {child.name: _child_fields(child) for child in scope.children}
    return fields


def _child_fields(child: ChildDeclaration) -> dict[str, object]:
    fields = _common_fields(child)
    if child.access is not None:
        fields["access"] = [_rule_fields(rule) for rule in child.access]
    return fields


def _common_fields(declared: ScopeDeclaration | ChildDeclaration) -> dict[str, object]:
    fields: dict[str, object] = {}
    if declared.description is not None:
        fields["description"] = declared.description
    if declared.display_label is not None:
        fields["displayLabel"] = declared.display_label
    if declared.pages:
        fields["pages"] = [_page_fields(page) for page in declared.pages]
    return fields


def _rule_fields(rule: AccessRule) -> dict[str, object]:
    principal = "self" if rule.principal is None else rule.principal.text
    return {"principal": principal, "role": rule.role.word}


def _page_fields(page: PageDeclaration) -> dict[str, object]:
    """Recurses as deep as pages nest: NESTING_LEVELS_MAX."""
    fields: dict[str, object] = {"key": page.key, "name": page.name}
    if page.description:
        fields["description"] = page.description
    if page.body is not None:
        fields["body"] = page.body
    if page.pin is not None:
        fields["pin"] = _pin_fields(page.pin)
    if page.pages:
        fields["pages"] = [_page_fields(child) for child in page.pages]
    return fields


def _pin_fields(pin: PinDeclaration) -> dict[str, object]:
    fields: dict[str, object] = {"kind": pin.kind}
    if pin.kind == "list":
        fields["depth"] = pin.depth
    return fields
